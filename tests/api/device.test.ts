import { eq } from "drizzle-orm";
import { allowInsecureRequests, discovery, initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deviceCode } from "../../server/auth/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start({ listen: true, realTime: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());

const grant_type = "urn:ietf:params:oauth:grant-type:device_code";
const client = (issuer = floe.url) =>
  discovery(new URL(issuer), "floe-cli", undefined, undefined, { algorithm: "oauth2", execute: [allowInsecureRequests] });
const ask = async (scope?: string) => {
  const config = await client();
  return { config, device: await initiateDeviceAuthorization(config, scope === undefined ? {} : { scope }) };
};
/** What the page does: look the code up, which claims it, then decide. */
const decide = async (user_code: string, what: "approve" | "deny", token = seller.session) => {
  const claimed = await floe.request("GET", `/api/auth/device?user_code=${user_code}`, { token });
  const decided = await floe.request("POST", `/api/auth/device/${what}`, { token, body: { userCode: user_code } });
  return { claimed, decided };
};
const poll = (body: Record<string, string>, form = true) =>
  floe.app.inject({
    method: "POST",
    url: "/api/auth/device/token",
    headers: { "content-type": form ? "application/x-www-form-urlencoded" : "application/json" },
    payload: form ? new URLSearchParams(body).toString() : JSON.stringify(body),
  });

describe("a standard RFC 8628 client, unchanged (accounts: device flow)", () => {
  test("approve: the token is a session of the one who approved", async () => {
    const { config, device } = await ask();
    expect(device).toMatchObject({ expires_in: 1800, interval: 5, verification_uri: `${floe.url}/device` });
    expect(device.device_code).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(device.user_code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
    const waiting = pollDeviceAuthorizationGrant(config, device);
    const { claimed, decided } = await decide(device.user_code, "approve");
    expect([claimed.status, decided.status]).toEqual([200, 200]);
    const tokens = await waiting;
    const listed = await floe.request("GET", "/v1/organizations/", { token: tokens.access_token });
    expect(listed.json).toMatchObject({ items: [{ id: seller.organization_id }] });
    const again = await poll({ grant_type, device_code: device.device_code, client_id: "floe-cli" });
    expect([again.statusCode, again.json()]).toMatchObject([400, { error: "invalid_grant" }]);
  });

  test("deny: access_denied", async () => {
    const { config, device } = await ask("orders:read");
    const waiting = pollDeviceAuthorizationGrant(config, device);
    const seen = expect(waiting).rejects.toMatchObject({ error: "access_denied" });
    await decide(device.user_code, "deny");
    await seen;
  });

  test("expire: expired_token", async () => {
    const { config, device } = await ask();
    await floe.deps.db.update(deviceCode).set({ expiresAt: new Date(0) }).where(eq(deviceCode.deviceCode, device.device_code));
    await expect(pollDeviceAuthorizationGrant(config, device)).rejects.toMatchObject({ error: "expired_token" });
  });

  test("polling too fast: slow_down", async () => {
    const { device } = await ask();
    const body = { grant_type, device_code: device.device_code, client_id: "floe-cli" };
    expect((await poll(body)).json()).toMatchObject({ error: "authorization_pending" });
    expect((await poll(body)).json()).toMatchObject({ error: "slow_down" });
  });

  test("it is found by metadata, at the root and under the account side's own issuer", async () => {
    for (const issuer of [floe.url, `${floe.url}/api/auth`]) {
      const server = (await client(issuer)).serverMetadata();
      expect(server).toMatchObject({ issuer, token_endpoint: `${floe.url}/api/auth/device/token`, grant_types_supported: [grant_type] });
    }
  });
});

describe("faults are RFC-shaped, in form and JSON alike", () => {
  test.each([
    [{}, "invalid_request"],
    [{ grant_type: "password", device_code: "x", client_id: "floe-cli" }, "unsupported_grant_type"],
    [{ grant_type, device_code: "unknown", client_id: "floe-cli" }, "invalid_grant"],
    [{ grant_type, device_code: "x", client_id: "someone" }, "invalid_client"],
    [{ grant_type, client_id: "floe-cli" }, "invalid_request"],
  ])("%j → %s", async (body, error) => {
    for (const form of [true, false]) {
      const answer = await poll(body as Record<string, string>, form);
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { error, error_description: expect.any(String) }]);
    }
  });

  test("an unknown client gets no code", async () => {
    const answer = await floe.request("POST", "/api/auth/device/code", { body: { client_id: "someone" } });
    expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_client" }]);
  });
});

describe("approval", () => {
  test("the page learns which client asks and for what", async () => {
    const { device } = await ask("products:read");
    const { claimed } = await decide(device.user_code, "deny");
    expect(claimed.json).toMatchObject({ status: "pending", client_id: "floe-cli", client_name: "floe command line", scope: "products:read" });
  });

  test("another person cannot approve a claimed code (CVE-2026-45337)", async () => {
    const other = await floe.seller("other");
    const { device } = await ask();
    await floe.request("GET", `/api/auth/device?user_code=${device.user_code}`, { token: seller.session });
    const stolen = await floe.request("POST", "/api/auth/device/approve", { token: other.session, body: { userCode: device.user_code } });
    expect(stolen.status).toBe(403);
  });

  test("a code cannot be bound to a user beforehand (accounts, trap 12)", async () => {
    const answer = await floe.request("POST", "/api/auth/device/code", { body: { client_id: "floe-cli", user_id: seller.user_id } });
    const [row] = await floe.deps.db.select().from(deviceCode).where(eq(deviceCode.deviceCode, (answer.json as { device_code: string }).device_code));
    expect(row?.userId).toBeNull();
  });

  test("without a session nothing is approved", async () => {
    const { device } = await ask();
    const answer = await floe.request("POST", "/api/auth/device/approve", { body: { userCode: device.user_code } });
    expect(answer.status).toBe(401);
  });
});
