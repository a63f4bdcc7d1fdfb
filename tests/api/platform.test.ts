import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { session, user } from "../../server/identity/accounts/tables.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, start } from "../support/floe.ts";
import { callsOf, organizationOf, type Person, person } from "../support/people.ts";

/** The id of a configured admin must be known before the server starts. */
const configuredId = "configured-admin";
let floe: Floe;
let call: ReturnType<typeof callsOf>;
let admin: Person;
let configured: Person;
let plain: Person;
beforeAll(async () => {
  floe = await start({
    settings: { TRUST_PROXY: "127.0.0.1", FLOE_ADMIN_USER_IDS: `${configuredId},somebody-else` },
    development: true,
  });
  call = callsOf(floe);
  admin = await person(floe, "admin");
  await setRole(admin, "admin");
  plain = await person(floe, "plain");
  const one = await person(floe, "configured");
  // The same person under the configured id, and with no role at all.
  await floe.deps.db.delete(user).where(eq(user.id, one.user_id));
  const now = new Date();
  await floe.deps.db.insert(user).values({
    id: configuredId,
    name: "configured",
    email: one.email,
    emailVerified: true,
    createdAt: now,
    updatedAt: now,
  });
  const made = await call(admin, "POST", "/admin/set-user-password", {
    userId: configuredId,
    newPassword: one.password,
  });
  if (made.status !== 200) throw new Error(made.text);
  const signedIn = await call(null, "POST", "/sign-in/email", { email: one.email, password: one.password });
  configured = { ...one, user_id: configuredId, session: String(signedIn.json.token) };
});
afterAll(() => floe.close());

const setRole = (one: Person, role: string) => floe.deps.db.update(user).set({ role }).where(eq(user.id, one.user_id));
const kindOf = async (token: string) =>
  (await floe.auth.identify({ method: "GET", headers: { authorization: `Bearer ${token}` } })).kind;
const signIn = ({ email, password }: Person) => call(null, "POST", "/sign-in/email", { email, password });

/** Section 6, row by row: the permission, a call that needs it, and what it answers to who lacks it. */
const rows: [string, string, (target: Person) => ["GET" | "POST", string, object?], string][] = [
  [
    "user",
    "create",
    () => [
      "POST",
      "/admin/create-user",
      { email: `${newAddress()}@example.com`, name: "New", password: "correct horse 99" },
    ],
    "CREATE_USERS",
  ],
  ["user", "list", () => ["GET", "/admin/list-users?limit=1"], "LIST_USERS"],
  [
    "user",
    "set-role",
    ({ user_id }) => ["POST", "/admin/set-role", { userId: user_id, role: "user" }],
    "CHANGE_USERS_ROLE",
  ],
  ["user", "get", ({ user_id }) => ["GET", `/admin/get-user?id=${user_id}`], "GET_USER"],
  [
    "user",
    "update",
    ({ user_id }) => ["POST", "/admin/update-user", { userId: user_id, data: { name: "X" } }],
    "UPDATE_USERS",
  ],
  [
    "user",
    "set-password",
    ({ user_id }) => ["POST", "/admin/set-user-password", { userId: user_id, newPassword: "correct horse 98" }],
    "SET_USERS_PASSWORD",
  ],
  [
    "session",
    "list",
    ({ user_id }) => ["POST", "/admin/list-user-sessions", { userId: user_id }],
    "LIST_USERS_SESSIONS",
  ],
  [
    "session",
    "revoke",
    ({ user_id }) => ["POST", "/admin/revoke-user-sessions", { userId: user_id }],
    "REVOKE_USERS_SESSIONS",
  ],
  [
    "user",
    "impersonate",
    ({ user_id }) => ["POST", "/admin/impersonate-user", { userId: user_id }],
    "IMPERSONATE_USERS",
  ],
  ["user", "ban", ({ user_id }) => ["POST", "/admin/ban-user", { userId: user_id }], "BAN_USERS"],
  ["user", "delete", ({ user_id }) => ["POST", "/admin/remove-user", { userId: user_id }], "DELETE_USERS"],
];

describe("platform roles (product.md 6)", () => {
  test.each(rows)(
    "%s: %s is the admin's and the configured admin's, and nobody else's",
    async (resource, action, ask, code) => {
      for (const as of [admin, configured]) {
        const target = await person(floe, "target");
        const { status, text } = await call(as, ...ask(target));
        expect([status, text.slice(0, 200)]).toEqual([200, expect.any(String)]);
      }
      const target = await person(floe, "target");
      const refused = await call(plain, ...ask(target));
      expect([refused.status, refused.json.code]).toEqual([403, `YOU_ARE_NOT_ALLOWED_TO_${code}`]);
      expect((await call(null, ...ask(target))).status).toBe(401);
      const has = async (as: Person) =>
        (await call(as, "POST", "/admin/has-permission", { permissions: { [resource]: [action] } })).json.success;
      expect([await has(admin), await has(configured), await has(plain)]).toEqual([true, true, false]);
    },
  );

  test("session: delete is the admin's; user: set-email, and impersonating admins, only the configured admin's", async () => {
    for (const name of ["constructor", "toString"]) {
      const { status, json } = await call(admin, "POST", "/admin/has-permission", {
        permissions: { [name]: ["call"] },
      });
      expect([status, json.success], name).toEqual([200, false]);
    }
    const has = async (as: Person, permissions: object) =>
      (await call(as, "POST", "/admin/has-permission", { permissions })).json.success;
    expect([await has(admin, { session: ["delete"] }), await has(plain, { session: ["delete"] })]).toEqual([
      true,
      false,
    ]);
    for (const action of ["set-email", "impersonate-admins"]) {
      expect([await has(admin, { user: [action] }), await has(configured, { user: [action] })]).toEqual([false, true]);
    }
    const target = await person(floe, "target");
    const change = (as: Person) =>
      call(as, "POST", "/admin/update-user", { userId: target.user_id, data: { email: `new-${target.email}` } });
    expect((await change(admin)).status).toBe(403);
    expect((await change(configured)).status).toBe(200);
  });

  test("a new person has the role user, and an unknown role is not given", async () => {
    const one = await call(admin, "GET", `/admin/get-user?id=${plain.user_id}`);
    expect(one.json).toMatchObject({ id: plain.user_id, role: "user", banned: false });
    const odd = await call(admin, "POST", "/admin/set-role", { userId: plain.user_id, role: "emperor" });
    expect([odd.status, odd.json.code]).toEqual([400, "YOU_ARE_NOT_ALLOWED_TO_SET_NON_EXISTENT_VALUE"]);
  });

  test("an admin neither bans nor removes themselves", async () => {
    const ban = await call(admin, "POST", "/admin/ban-user", { userId: admin.user_id });
    const remove = await call(admin, "POST", "/admin/remove-user", { userId: admin.user_id });
    expect([ban.json.code, remove.json.code]).toEqual(["YOU_CANNOT_BAN_YOURSELF", "YOU_CANNOT_REMOVE_YOURSELF"]);
    expect((await call(admin, "POST", "/admin/remove-user", { userId: "nobody" })).status).toBe(404);
  });
});

describe("a ban", () => {
  const ban = (one: Person, more: object = {}) =>
    call(admin, "POST", "/admin/ban-user", { userId: one.user_id, banReason: "Spam", ...more });

  test("ends sessions and keys at once, keeps the person out with a clear text, and is lifted", async () => {
    const one = await person(floe, "banned");
    const organizationId = await organizationOf(floe, one);
    const keys = [];
    for (const body of [{ configId: "default" }, { organizationId }])
      keys.push(String((await call(one, "POST", "/api-key/create", { name: "Mine", ...body })).json.key));
    const [own = "", shared = ""] = keys;
    expect([await kindOf(own), await kindOf(shared)]).toEqual(["personal_key", "key"]);
    expect((await ban(one)).json).toMatchObject({ user: { banned: true, banReason: "Spam", banExpires: null } });
    // A key of the organization is not the person's.
    expect([await kindOf(one.session), await kindOf(own), await kindOf(shared)]).toEqual(["invalid", "invalid", "key"]);
    expect((await call(one, "GET", "/get-session")).text).toBe("null");
    const refused = await signIn(one);
    expect([refused.status, refused.json]).toEqual([
      403,
      {
        code: "BANNED_USER",
        message: "Banned user",
        detail: "You have been banned from this application. Please contact support if you believe this is an error.",
      },
    ]);
    await call(admin, "POST", "/admin/unban-user", { userId: one.user_id });
    expect((await signIn(one)).status).toBe(200);
    expect(await kindOf(own)).toBe("personal_key");
  });

  test("that runs out restores the person by itself", async () => {
    const one = await person(floe, "banned");
    const key = String((await call(one, "POST", "/api-key/create", { name: "Mine", configId: "default" })).json.key);
    const banned = await ban(one, { banExpiresIn: 3600 });
    const until = (banned.json.user as { banExpires: string }).banExpires;
    expect((Date.parse(until) - Date.now()) / 60_000).toBeCloseTo(60, 0);
    expect([(await signIn(one)).status, await kindOf(key)]).toEqual([403, "invalid"]);
    await floe.deps.db
      .update(user)
      .set({ banExpires: new Date(0) })
      .where(eq(user.id, one.user_id));
    expect([(await signIn(one)).status, await kindOf(key)]).toEqual([200, "personal_key"]);
    const [row] = await floe.deps.db.select().from(user).where(eq(user.id, one.user_id));
    expect(row).toMatchObject({ banned: false, banReason: null, banExpires: null });
  });

  test("written to the row alone, it ends a session that is still there", async () => {
    const one = await person(floe, "banned");
    await floe.deps.db.update(user).set({ banned: true }).where(eq(user.id, one.user_id));
    expect(await kindOf(one.session)).toBe("invalid");
  });
});

describe("impersonation", () => {
  const impersonate = async (target: Person) => {
    const { status, json } = await call(admin, "POST", "/admin/impersonate-user", { userId: target.user_id });
    expect(status).toBe(200);
    return (json as { session: { token: string; impersonatedBy: string; expiresAt: string; id: string } }).session;
  };

  test("is a session of the person that names the admin and ends after an hour", async () => {
    const target = await person(floe, "target");
    const made = await impersonate(target);
    expect(made.impersonatedBy).toBe(admin.user_id);
    expect((Date.parse(made.expiresAt) - Date.now()) / 60_000).toBeCloseTo(60, 0);
    const as = { ...target, session: made.token };
    expect((await call(as, "GET", "/get-session")).json).toMatchObject({
      user: { id: target.user_id },
      session: { impersonatedBy: admin.user_id },
    });
    // The person does not see it among their own sessions.
    const own = (await call(target, "GET", "/list-sessions")).json as unknown as { id: string }[];
    expect(own.map(({ id }) => id)).not.toContain(made.id);
    await floe.deps.db
      .update(session)
      .set({ expiresAt: new Date(0) })
      .where(eq(session.id, made.id));
    expect(await kindOf(made.token)).toBe("invalid");
  });

  test("ends when the admin stops it, who then is themselves again", async () => {
    const target = await person(floe, "target");
    const cookieOf = (headers: Record<string, unknown>) =>
      [headers["set-cookie"] ?? []]
        .flat()
        .map((one) => String(one).split(";")[0] ?? "")
        .filter((one) => !one.endsWith("="))
        .join("; ");
    const browser = (path: string, cookie: string, body: object) =>
      floe.request("POST", `/api/auth${path}`, {
        body,
        headers: { origin: floe.url, cookie, "x-forwarded-for": newAddress() },
      });
    const { email, password } = admin;
    const signedIn = await browser("/sign-in/email", "", { email, password });
    const visiting = await browser("/admin/impersonate-user", cookieOf(signedIn.headers), { userId: target.user_id });
    expect([visiting.status, visiting.json]).toMatchObject([200, { user: { id: target.user_id } }]);
    const stopped = await browser("/admin/stop-impersonating", cookieOf(visiting.headers), {});
    expect([stopped.status, stopped.json]).toMatchObject([200, { user: { id: admin.user_id } }]);
    const left = and(eq(session.userId, target.user_id), eq(session.impersonatedBy, admin.user_id));
    expect(await floe.deps.db.select().from(session).where(left)).toEqual([]);
    const self = await call(plain, "POST", "/admin/stop-impersonating");
    expect([self.status, self.json.message]).toEqual([400, "You are not impersonating anyone"]);
  });

  test.each([
    ["is banned", (one: Person) => call(configured, "POST", "/admin/ban-user", { userId: one.user_id })],
    [
      "has another role",
      (one: Person) => call(admin, "POST", "/admin/set-role", { userId: one.user_id, role: "user" }),
    ],
    ["is deleted", (one: Person) => call(one, "POST", "/delete-user", { password: one.password })],
  ])("ends with the power of the admin, who %s", async (_, end) => {
    const other = await person(floe, "other");
    await setRole(other, "admin");
    const target = await person(floe, "target");
    const { json } = await call(other, "POST", "/admin/impersonate-user", { userId: target.user_id });
    const { token } = (json as { session: { token: string } }).session;
    expect(await kindOf(token)).toBe("user");
    expect((await end(other)).status).toBe(200);
    expect([await kindOf(token), await kindOf(target.session)]).toEqual(["invalid", "user"]);
  });

  test("of an admin, by role or configured, is the configured admin's alone", async () => {
    const other = await person(floe, "other");
    await setRole(other, "admin");
    for (const { user_id } of [other, configured]) {
      const { status, json } = await call(admin, "POST", "/admin/impersonate-user", { userId: user_id });
      expect([status, json.code]).toEqual([403, "YOU_CANNOT_IMPERSONATE_ADMINS"]);
    }
    const allowed = await call(configured, "POST", "/admin/impersonate-user", { userId: other.user_id });
    expect(allowed.status).toBe(200);
  });

  test("does not reach what would outlast it or is the person's alone to decide", async () => {
    const target = await person(floe, "target");
    const organizationId = await organizationOf(floe, target);
    const as = { ...target, session: (await impersonate(target)).token };
    for (const [path, body] of [
      ["/delete-user", { password: target.password }],
      ["/delete-user", {}],
      ["/change-email", { newEmail: "taken-over@example.com" }],
      ["/change-password", { currentPassword: target.password, newPassword: "correct horse 97" }],
      ["/organization/delete", { organizationId }],
      ["/api-key/create", { name: "Mine", organizationId }],
      ["/api-key/create", { name: "Mine", configId: "default" }],
      ["/link-social", { provider: "github", callbackURL: "/" }],
      ["/unlink-account", { providerId: "credential" }],
      ["/device/approve", { userCode: "ABCDEFGH" }],
    ] as const) {
      const { status, json } = await call(as, "POST", path, body);
      expect([path, status, json.code]).toEqual([path, 403, "NOT_WHILE_IMPERSONATING"]);
    }
    expect((await call(as, "GET", "/delete-user/callback?token=x")).json.code).toBe("NOT_WHILE_IMPERSONATING");
    // Helping is what it is for.
    expect((await call(as, "POST", "/update-user", { name: "Helped" })).status).toBe(200);
    expect((await call(target, "POST", "/api-key/create", { name: "Mine", organizationId })).status).toBe(200);
  });
});
