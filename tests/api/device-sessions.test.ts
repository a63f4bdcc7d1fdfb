import { desc, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { member, session, user } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { scopes } from "../../shared/scopes.ts";
import { newAddress } from "../support/accounts.ts";
import { type Browser, devicesOf } from "../support/devices.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
let stranger: Seller;
let devices: ReturnType<typeof devicesOf>;
let me: Browser;
let other: Browser;

beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  devices = devicesOf(floe);
  seller = await floe.seller();
  stranger = await floe.seller("stranger");
  me = await devices.browser(seller);
  other = await devices.browser(stranger);
});
afterAll(() => floe.close());

type Device = { id: string; scope: string | null; current: boolean };
const list = async (who: Browser): Promise<Device[]> => (await devices.request("GET", "/device/list", who)).json;
const at = (token: string): Browser => ({ token, address: newAddress() });
const isSignedIn = async (token: string) => (await floe.request("GET", "/v1/products/", { token })).status === 200;

describe("approved devices", () => {
  test("are listed for the person who approved them, and for nobody else", async () => {
    const token = await devices.connect(me);
    const found = (await list(at(token))).find(({ current }) => current);
    expect(found).toEqual({
      id: expect.any(String),
      clientId: "floe-cli",
      clientName: "floe command line",
      scope: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      expiresAt: expect.any(String),
      ipAddress: expect.stringMatching(/^10\./),
      userAgent: "floe-cli/0.1.0 (Linux)",
      current: true,
    });
    expect((await list(me)).find(({ id }) => id === found?.id)).toMatchObject({ current: false });
    expect((await list(other)).map(({ id }) => id)).not.toContain(found?.id);
    expect((await floe.request("GET", "/api/auth/device/list")).status).toBe(401);
  });

  test("stand among the person's sessions, with their client; a browser's session has none and is no device", async () => {
    await devices.connect(me, { scope: "products:read" });
    const all = (await devices.request("GET", "/list-sessions", me)).json as (Device & { clientId: string | null })[];
    const ids = (await list(me)).map(({ id }) => id);
    expect(
      all
        .filter(({ clientId }) => clientId === "floe-cli")
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...ids].sort());
    expect(all.find(({ scope }) => scope === "products:read")).toBeDefined();
    expect(all.some(({ clientId }) => clientId === null)).toBe(true);
  });

  test("are revoked at once, on every path, and only those of one's own", async () => {
    const [token, kept] = [await devices.connect(me), await devices.connect(me)];
    const id = (await list(at(token))).find(({ current }) => current)?.id ?? "";
    const stranger = await devices.request("POST", "/device/revoke", other, { id });
    expect([stranger.status, stranger.json]).toEqual([404, { code: "DEVICE_NOT_FOUND", message: "Device not found" }]);
    expect(await isSignedIn(token)).toBe(true);
    const revoked = await devices.request("POST", "/device/revoke", me, { id });
    expect([revoked.status, revoked.json]).toEqual([200, { status: true }]);
    expect(await isSignedIn(token)).toBe(false);
    expect((await devices.request("GET", "/get-session", at(token))).json).toBeNull();
    expect((await devices.request("GET", "/device/list", at(token))).status).toBe(401);
    expect(await isSignedIn(kept)).toBe(true);
    expect((await devices.request("POST", "/device/revoke", me, { id })).status).toBe(404);
  });

  test("a browser's session is not ended as a device", async () => {
    const mine = (await devices.request("GET", "/get-session", me)).json as { session: { id: string } };
    expect((await devices.request("POST", "/device/revoke", me, { id: mine.session.id })).status).toBe(404);
    expect(await isSignedIn(me.token)).toBe(true);
  });

  test("a revocation is in the person's audit log", async () => {
    await devices.connect(me);
    const [device] = await list(me);
    await devices.request("POST", "/device/revoke", me, { id: device?.id });
    const log = (await devices.request("GET", "/audit/list?action=device.", me)).json as {
      entries: { action: string; subject: { id: string } }[];
    };
    expect(log.entries[0]).toMatchObject({ action: "device.revoked", subject: { id: device?.id } });
  });

  test.each([
    ["ended all sessions", (who: Browser) => devices.request("POST", "/revoke-sessions", who, {})],
    ["signed out", (who: Browser) => devices.request("POST", "/sign-out", who, {})],
  ])("whoever %s before the device fetched its token has taken the approval back", async (_name, end) => {
    const browser = await devices.browser(seller);
    const { device_code, user_code } = await devices.ask();
    await devices.look(browser, user_code);
    expect((await devices.approve(browser, user_code)).status).toBe(200);
    expect((await end(browser)).status).toBe(200);
    const answer = await devices.poll(device_code);
    expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_grant" }]);
    me = await devices.browser(seller);
  });

  test("who was banned between approval and token gets none", async () => {
    const banned = await floe.seller("banned");
    const browser = await devices.browser(banned);
    const { device_code, user_code } = await devices.ask();
    await devices.look(browser, user_code);
    await devices.approve(browser, user_code);
    await floe.deps.db.update(user).set({ banned: true }).where(eq(user.id, banned.user_id));
    const answer = await devices.poll(device_code);
    expect([answer.status, answer.json]).toMatchObject([400, { error: "access_denied" }]);
    const rows = await floe.deps.db.select().from(session).where(eq(session.userId, banned.user_id));
    expect(rows.filter(({ clientId }) => clientId !== null)).toHaveLength(0);
  });
});

describe("a device asks for scopes", () => {
  test.each(["products:read nonsense", "openid", "products:*", "constructor", "*"])(
    "%j: invalid_scope",
    async (scope) => {
      const answer = await floe.request("POST", "/api/auth/device/code", { body: { client_id: "floe-cli", scope } });
      expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_scope" }]);
    },
  );
  test.each([undefined, "", "  "])("none (%j): all that the person may do", async (scope) => {
    const token = await devices.connect(me, { scope });
    expect((await list(at(token))).find(({ current }) => current)?.scope).toBeNull();
    expect((await floe.request("GET", "/v1/customers/", { token })).status).toBe(200);
  });

  test("gets these and no others on /v1; a write scope includes its read scope", async () => {
    const token = await devices.connect(me, { scope: "products:write orders:read" });
    const status = async (path: string, method = "GET", body?: unknown) =>
      (await floe.request(method, path, { token, ...(body === undefined ? {} : { body }) })).status;
    expect(await status("/v1/products/")).toBe(200);
    expect(await status("/v1/orders/")).toBe(200);
    expect(await status("/v1/customers/")).toBe(403);
    expect(await status("/v1/customers/", "POST", { email: "a@example.com" })).toBe(403);
    expect(await status("/v1/products/", "POST", {})).toBe(422);
    const refused = await floe.request("GET", "/v1/customers/", { token });
    expect(refused.json).toMatchObject({ error: "insufficient_scope" });
    expect(refused.headers["www-authenticate"]).toContain('error="insufficient_scope"');
  });

  test("never gets more than the person's role gives: a member's device may read, whatever it asks for", async () => {
    const token = await devices.connect(me, { scope: scopes.join(" ") });
    const foreign = await floe.request("GET", `/v1/products/?organization_id=${stranger.organization_id}`, { token });
    expect([foreign.status, foreign.json]).toMatchObject([200, { items: [] }]);
    const header = { "polar-organization": stranger.organization_id };
    expect((await floe.request("GET", "/v1/products/", { token, headers: header })).status).toBe(404);
    const colleague = await floe.seller("colleague");
    const membership = { organizationId: seller.organization_id, userId: colleague.user_id, role: "member" };
    await floe.deps.db.insert(member).values({ id: newId(), ...membership, createdAt: floe.clock.now() });
    const theirs = await devices.connect(await devices.browser(colleague), { scope: "products:write" });
    const there = { token: theirs, headers: { "polar-organization": seller.organization_id } };
    expect((await floe.request("GET", "/v1/products/", there)).status).toBe(200);
    expect((await floe.request("POST", "/v1/products/", { ...there, body: {} })).status).toBe(403);
  });

  const limited: [string, string, unknown?][] = [
    ["GET", "/list-sessions"],
    ["POST", "/revoke-sessions", {}],
    ["POST", "/change-password", { currentPassword: "x", newPassword: "long enough 1" }],
    ["POST", "/change-email", { newEmail: "thief@example.com" }],
    ["POST", "/update-user", { name: "Thief" }],
    ["POST", "/delete-user", { password: "x" }],
    ["GET", "/list-accounts"],
    ["POST", "/organization/create", { name: "Thief", slug: "thief" }],
    ["POST", "/organization/invite-member", { email: "thief@example.com", role: "owner" }],
    ["POST", "/api-key/create", { name: "thief" }],
    ["GET", "/api-key/list"],
    ["GET", "/audit/list"],
    ["GET", "/device?user_code=ABCDEFGH"],
    ["POST", "/device/approve", { userCode: "ABCDEFGH" }],
    ["GET", "/device/list"],
    ["POST", "/device/revoke", { id: "x" }],
    ["GET", "//list-sessions"],
    ["GET", "/list-sessions/"],
  ];
  test.each(limited)("and nothing of the account: %s %s", async (method, path, body) => {
    const token = await devices.connect(me, { scope: "products:read" });
    const answer = await devices.request(method, path, at(token), body);
    expect([403, 404]).toContain(answer.status);
    if (!path.startsWith("//")) expect(answer.json).toMatchObject({ code: "INSUFFICIENT_SCOPE" });
  });

  test("but it may say whose it is, list the organizations, and end itself", async () => {
    const token = await devices.connect(me, { scope: "products:read" });
    expect((await devices.request("GET", "/get-session", at(token))).json).toMatchObject({
      user: { email: seller.email },
      session: { clientId: "floe-cli", scope: "products:read" },
    });
    expect((await devices.request("GET", "/organization/list", at(token))).json).toHaveLength(1);
    expect((await devices.request("POST", "/sign-out", at(token), {})).status).toBe(200);
    expect(await isSignedIn(token)).toBe(false);
  });

  test("is ended by its token (RFC 7009), which a form or JSON names; any other token is answered alike and goes on", async () => {
    const revoke = (body: unknown, headers: Record<string, string> = {}) =>
      floe.request("POST", "/api/auth/device/token/revoke", {
        body,
        headers: { "x-forwarded-for": newAddress(), ...headers },
      });
    const [first, second] = [await devices.connect(me), await devices.connect(me, { scope: "products:read" })];
    const client_id = "floe-cli";
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect(await revoke({ token: first, client_id })).toMatchObject({ status: 200, text: "" });
    expect([await isSignedIn(first), await isSignedIn(second)]).toEqual([false, true]);
    const typed = new URLSearchParams({ token: second, token_type_hint: "access_token", client_id }).toString();
    expect((await revoke(typed, form)).status).toBe(200);
    expect(await isSignedIn(second)).toBe(false);
    // A browser's session, a key and nothing at all.
    for (const token of [me.token, seller.key, first, "none", `${first}.x`])
      expect(await revoke({ token, client_id })).toMatchObject({ status: 200, text: "" });
    expect([await isSignedIn(me.token), await isSignedIn(seller.key)]).toEqual([true, true]);
    const third = await devices.connect(me);
    for (const [body, error] of [
      [{ token: third }, "invalid_request"],
      [{ client_id }, "invalid_request"],
      [{ token: third, client_id: "another" }, "invalid_client"],
      [{ token: { a: 1 }, client_id }, "invalid_request"],
      ["[", "invalid_request"],
    ] as const)
      expect(await revoke(body)).toMatchObject({ status: 400, json: { error } });
    expect(await isSignedIn(third)).toBe(true);
    const metadata = (await floe.request("GET", "/.well-known/oauth-authorization-server")).json;
    expect(metadata).toMatchObject({ revocation_endpoint: `${floe.url}/api/auth/device/token/revoke` });
    const [entry] = await floe.deps.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.action, "device.revoked"))
      .orderBy(desc(auditLog.id));
    expect(entry).toMatchObject({ user_id: seller.user_id, details: { clientId: client_id, via: "token" } });
  });

  test("is no more recently proven than the browser's session that approved it", async () => {
    const browser = await devices.browser(seller);
    const hour_ms = 3_600_000;
    const old = new Date(floe.clock.now().getTime() - hour_ms);
    await floe.deps.db
      .update(session)
      .set({ provenAt: old })
      .where(eq(session.token, hashSecret(browser.token)));
    const makeKey = (token: string) =>
      devices.request("POST", "/api-key/create", at(token), { name: "k", configId: "default" });
    const stale = await devices.connect(browser);
    expect(await makeKey(stale)).toMatchObject({ status: 403, json: { code: "PASSWORD_CONFIRMATION_REQUIRED" } });
    const fresh = await devices.connect(await devices.browser(seller));
    expect((await makeKey(fresh)).status).toBe(200);
  });

  test("a session cannot be given a client or scopes from outside", async () => {
    for (const path of ["/update-session", "/update-user"]) {
      await devices.request("POST", path, other, { clientId: "floe-cli", scope: "products:read" });
    }
    const rows = await floe.deps.db.select().from(session).where(eq(session.userId, stranger.user_id));
    expect(rows.filter(({ clientId, scope }) => clientId !== null || scope !== null)).toHaveLength(0);
    const token = await devices.connect(me, { scope: "products:read" });
    await devices.request("POST", "/update-session", at(token), { scope: null });
    expect((await list(me)).some(({ scope }) => scope === "products:read")).toBe(true);
    expect((await devices.request("GET", "/list-sessions", at(token))).status).toBe(403);
  });
});
