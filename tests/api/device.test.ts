import { eq } from "drizzle-orm";
import * as oauth from "openid-client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { accountCleanup } from "../../server/identity/accounts/jobs.ts";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { deviceCode, user as users } from "../../server/identity/accounts/tables.ts";
import { hashToken } from "../../server/platform/crypto/secrets.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import type { Seller } from "../support/floe.ts";

let floe: Accounts;
let seller: Seller;
let stranger: Seller;
let browser: string;
let standard: oauth.Configuration;

beforeAll(async () => {
  floe = await startAccounts();
  seller = await floe.seller();
  stranger = await floe.seller("stranger");
  browser = await floe.browser(seller);
});
afterAll(() => floe.close());

/** A client of the published library, told nothing but the server's address. */
const discover = (issuer: string) =>
  oauth.discovery(new URL(issuer), "floe-cli", undefined, oauth.None(), {
    algorithm: "oauth2",
    execute: [oauth.allowInsecureRequests],
  });
beforeEach(async () => {
  standard = await discover(floe.url);
});

const asBrowser = (method: string, path: string, body?: unknown, cookie = browser) =>
  floe.request(method, path, { cookie, ...(body === undefined ? {} : { body }), headers: { origin: floe.url } });
const claim = (user_code: string, cookie = browser) =>
  asBrowser("GET", `/api/auth/device?user_code=${user_code}`, undefined, cookie);
const approve = (userCode: string, cookie = browser) =>
  asBrowser("POST", "/api/auth/device/approve", { userCode }, cookie);
const deny = (userCode: string) => asBrowser("POST", "/api/auth/device/deny", { userCode });
const poll = (fields: Record<string, string>) =>
  floe.request("POST", "/api/auth/device/token", {
    body: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
const grantType = "urn:ietf:params:oauth:grant-type:device_code";
const code = async (body: Record<string, unknown> = { client_id: "floe-cli" }) =>
  (await floe.request("POST", "/api/auth/device/code", { body })).json as { device_code: string; user_code: string };
/** The interval is shortened in the row, so that a test need not wait five seconds between two polls. */
const hurry = (device_code: string) =>
  floe.deps.db
    .update(deviceCode)
    .set({ pollingInterval: 1 })
    .where(eq(deviceCode.deviceCode, hashSecret(device_code)));

describe("a standard RFC 8628 client (openid-client), unchanged", () => {
  test("finds the flow by its metadata, at the root and under the base path (accounts.md list 8)", async () => {
    for (const issuer of [floe.url, `${floe.url}/api/auth`]) {
      const found = (await discover(issuer)).serverMetadata();
      expect(found.issuer.replace(/\/$/, "")).toBe(issuer);
      expect(found.device_authorization_endpoint).toBe(`${floe.url}/api/auth/device/code`);
      expect(found.token_endpoint).toBe(`${floe.url}/api/auth/device/token`);
      expect(found.grant_types_supported).toContain(grantType);
    }
  });

  test("asks for a code with the published constants: 30 minutes, 5 seconds, 40 and 8 characters", async () => {
    const asked = await oauth.initiateDeviceAuthorization(standard, { scope: "products:read" });
    expect(asked).toMatchObject({ expires_in: 1800, interval: 5, verification_uri: `${floe.url}/device` });
    expect(asked.device_code).toMatch(/^[A-Za-z0-9]{40}$/);
    expect(asked.user_code).toMatch(/^[A-HJ-NP-Z2-9]{8}$/);
    expect(asked.verification_uri_complete).toBe(`${floe.url}/device?user_code=${asked.user_code}`);
  });

  test("is signed in when the person approves; its token is a session that works as a bearer", async () => {
    const asked = await oauth.initiateDeviceAuthorization(standard, {});
    await hurry(asked.device_code);
    const agree = async () => {
      expect((await claim(asked.user_code)).json).toMatchObject({
        status: "pending",
        client_id: "floe-cli",
        client_name: "floe command line",
      });
      expect((await approve(asked.user_code)).json).toEqual({ success: true });
    };
    const [tokens] = await Promise.all([
      oauth.pollDeviceAuthorizationGrant(standard, { ...asked, interval: 1 }),
      agree(),
    ]);
    expect(tokens.token_type).toBe("bearer");
    expect(tokens.expires_in).toBeGreaterThan(6 * 86_400);
    const who = await floe.request("GET", "/api/auth/get-session", { token: tokens.access_token });
    expect(who.json).toMatchObject({ user: { email: seller.email } });
    const list = await floe.request("GET", "/v1/products/", { token: tokens.access_token });
    expect([list.status, list.json]).toMatchObject([200, { items: [] }]);
  });

  test("is told access_denied when the person denies, who has seen what it asked for", async () => {
    const asked = await oauth.initiateDeviceAuthorization(standard, { scope: "products:read" });
    await hurry(asked.device_code);
    expect((await claim(asked.user_code)).json).toMatchObject({ scope: "products:read" });
    expect((await deny(asked.user_code)).json).toEqual({ success: true });
    await expect(oauth.pollDeviceAuthorizationGrant(standard, { ...asked, interval: 1 })).rejects.toMatchObject({
      error: "access_denied",
    });
  });

  test("is told expired_token when nobody answers in time", async () => {
    const asked = await oauth.initiateDeviceAuthorization(standard, {});
    await floe.deps.db
      .update(deviceCode)
      .set({ expiresAt: new Date(Date.now() - 1000) })
      .where(eq(deviceCode.deviceCode, hashSecret(asked.device_code)));
    await expect(oauth.pollDeviceAuthorizationGrant(standard, { ...asked, interval: 1 })).rejects.toMatchObject({
      error: "expired_token",
    });
    expect((await claim(asked.user_code)).status).toBe(400);
  });

  test("is told slow_down when it asks too often, and still gets its token", async () => {
    const asked = await oauth.initiateDeviceAuthorization(standard, {});
    const fields = { grant_type: grantType, device_code: asked.device_code, client_id: "floe-cli" };
    expect((await poll(fields)).json).toMatchObject({ error: "authorization_pending" });
    const hasty = await poll(fields);
    expect([hasty.status, hasty.json]).toMatchObject([
      400,
      { error: "slow_down", error_description: expect.any(String) },
    ]);
    await hurry(asked.device_code);
    await claim(asked.user_code);
    await approve(asked.user_code);
    expect((await oauth.pollDeviceAuthorizationGrant(standard, { ...asked, interval: 1 })).access_token).toBeTruthy();
  });
});

describe("the token endpoint, in the words of RFC 6749", () => {
  test.each([
    ["another grant", { grant_type: "password", device_code: "x", client_id: "floe-cli" }, "unsupported_grant_type"],
    ["no device code", { grant_type: grantType, client_id: "floe-cli" }, "invalid_request"],
    ["no client", { grant_type: grantType, device_code: "x" }, "invalid_request"],
    ["an unknown client", { grant_type: grantType, device_code: "x", client_id: "somebody" }, "invalid_client"],
    ["an unknown code", { grant_type: grantType, device_code: "x", client_id: "floe-cli" }, "invalid_grant"],
    ["a code with a NUL", { grant_type: grantType, device_code: "x\0", client_id: "floe-cli" }, "invalid_request"],
  ])("%s", async (_name, fields, error) => {
    for (const answer of [
      await poll(fields as Record<string, string>),
      await floe.request("POST", "/api/auth/device/token", { body: fields }),
    ]) {
      expect([answer.status, answer.json]).toMatchObject([400, { error, error_description: expect.any(String) }]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });

  test.each(["{", "", "[]", "null"])("a body of %j", async (body) => {
    for (const path of ["/api/auth/device/token", "/api/auth/device/code"]) {
      const answer = await floe.request("POST", path, { body });
      expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_request" }]);
    }
  });

  test("a code buys one token", async () => {
    const { device_code, user_code } = await code();
    await hurry(device_code);
    await claim(user_code);
    await approve(user_code);
    const fields = { grant_type: grantType, device_code, client_id: "floe-cli" };
    const answers = await Promise.all([poll(fields), poll(fields), poll(fields)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400]);
    expect((await poll(fields)).json).toMatchObject({ error: "invalid_grant" });
  });
});

describe("who may ask, and who may approve", () => {
  test.each([{ client_id: "somebody" }, { client_id: "" }, { client_id: 7 }, {}, { client_id: "constructor" }])(
    "no code for %j",
    async (body) => {
      const answer = await floe.request("POST", "/api/auth/device/code", { body });
      expect(answer.status).toBe(400);
      expect(["invalid_client", "invalid_request"]).toContain((answer.json as { error: string }).error);
    },
  );

  test("an unknown client is told invalid_client", async () => {
    const other = await oauth.discovery(new URL(floe.url), "somebody", undefined, oauth.None(), {
      algorithm: "oauth2",
      execute: [oauth.allowInsecureRequests],
    });
    await expect(oauth.initiateDeviceAuthorization(other, {})).rejects.toMatchObject({ error: "invalid_client" });
  });

  test("approval without a sign-in, or without a claim, is refused", async () => {
    const { user_code } = await code();
    expect((await approve(user_code)).status).toBe(400);
    expect((await floe.request("POST", "/api/auth/device/approve", { body: { userCode: user_code } })).status).toBe(
      401,
    );
    const unsigned = await floe.request("GET", `/api/auth/device?user_code=${user_code}`);
    expect(unsigned.json).not.toMatchObject({ client_id: expect.anything() });
  });

  test("another person than the one who claimed it may neither approve nor see who asks (CVE-2026-45337)", async () => {
    const { user_code } = await code();
    await claim(user_code);
    const other = await floe.browser(stranger);
    const seen = await claim(user_code, other);
    expect([seen.status, seen.json]).not.toMatchObject([200, { client_id: "floe-cli" }]);
    const answer = await approve(user_code, other);
    expect([answer.status, answer.json]).toMatchObject([403, { error: "access_denied" }]);
    const [row] = await floe.deps.db
      .select({ status: deviceCode.status, userId: deviceCode.userId })
      .from(deviceCode)
      .where(eq(deviceCode.userCode, hashToken(floe.deps.config.secret, user_code)));
    expect(row).toEqual({ status: "pending", userId: seller.user_id });
  });

  test("a code cannot be bound to a person who never saw it (accounts.md trap 12)", async () => {
    const { user_code } = await code({ client_id: "floe-cli", user_id: seller.user_id });
    const [row] = await floe.deps.db
      .select({ userId: deviceCode.userId })
      .from(deviceCode)
      .where(eq(deviceCode.userCode, hashToken(floe.deps.config.secret, user_code)));
    expect(row).toEqual({ userId: null });
    expect((await approve(user_code)).status).toBe(400);
  });

  test("approval from a page elsewhere is refused, cookie or not", async () => {
    const { user_code } = await code();
    await claim(user_code);
    const answer = await floe.request("POST", "/api/auth/device/approve", {
      cookie: browser,
      body: { userCode: user_code },
      headers: { origin: "https://evil.example" },
    });
    expect([answer.status, answer.json]).toMatchObject([403, { code: "INVALID_ORIGIN" }]);
  });

  test("a person may type it in lower case with a dash", async () => {
    const { user_code } = await code();
    const typed = `${user_code.slice(0, 4)}-${user_code.slice(4)}`.toLowerCase();
    expect((await claim(typed)).json).toMatchObject({ client_id: "floe-cli" });
    expect((await approve(typed)).json).toEqual({ success: true });
  });
});

test("rows nobody will ask for again are swept", async () => {
  const { device_code } = await code();
  const fresh = await code();
  await floe.deps.db
    .update(deviceCode)
    .set({ expiresAt: new Date(Date.now() - 25 * 3_600_000) })
    .where(eq(deviceCode.deviceCode, hashSecret(device_code)));
  expect(await runWorkers(floe.deps, accountCleanup)).toBeGreaterThanOrEqual(1);
  const left = (await floe.deps.db.select({ code: deviceCode.deviceCode }).from(deviceCode)).map((row) => row.code);
  expect([left.includes(hashSecret(device_code)), left.includes(hashSecret(fresh.device_code))]).toEqual([false, true]);
  expect((await floe.deps.db.select({ id: users.id }).from(users)).length).toBeGreaterThanOrEqual(2);
});
