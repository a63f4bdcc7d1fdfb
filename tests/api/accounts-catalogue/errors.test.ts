import { createAuthEndpoint, createEmailVerificationToken } from "better-auth/api";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mapErrors } from "../../../server/identity/accounts/http/error-mapping.ts";
import { session, user } from "../../../server/identity/accounts/tables.ts";
import { listMails } from "../../../server/platform/mail-transport/mail.ts";
import { errors } from "../../fixtures/accounts-rows.ts";
import { newAddress } from "../../support/accounts.ts";
import { type Catalogue, refuses, type Someone, startCatalogue, unique } from "../../support/catalogue.ts";
import { endpointsOf } from "../../support/endpoints.ts";
import { newId } from "../../support/ids.ts";
import { startOpenId } from "../../support/oauth-stand-in.ts";
import { checkTable } from "../../support/table.ts";

const dayMs = 86_400_000;
let floe: Catalogue;
/** One where everything that can be switched off is, but signing up. */
let bare: Catalogue;
/** One without passwords, one where nobody signs up, one where addresses are to be confirmed first and a company is given. */
let passwordless: Catalogue;
let closed: Catalogue;
let strict: Catalogue;
let acme: Awaited<ReturnType<typeof startOpenId>>;
beforeAll(async () => {
  acme = await startOpenId({ sub: "1", email: "social@example.com", email_verified: true, name: "Ada" });
  floe = await startCatalogue(acme.settings);
  bare = await startCatalogue({
    FLOE_PASSWORD_RESET: "off",
    FLOE_CHANGE_EMAIL: "off",
    FLOE_DELETE_USER: "off",
    FLOE_EMAIL_VERIFICATION: "off",
  });
  passwordless = await startCatalogue({ FLOE_PASSWORD_SIGN_IN: "off" });
  closed = await startCatalogue({ FLOE_SIGN_UP: "closed" });
  strict = await startCatalogue({
    FLOE_EMAIL_VERIFICATION: "required",
    FLOE_USER_FIELDS: JSON.stringify({ company: { type: "string", required: true } }),
  });
});
afterAll(async () => {
  for (const one of [floe, bare, passwordless, closed, strict]) await one.close();
  await acme.stop();
});

const newAccount = () => ({ name: "Ada", email: `ada-${unique()}@example.com`, password: `correct horse ${unique()}` });
const age = (days: number, { id }: Someone) =>
  floe.deps.db
    .update(session)
    .set({ createdAt: new Date(Date.now() - days * dayMs) })
    .where(eq(session.userId, id));
const bearer = (token: string) => new Headers({ authorization: `Bearer ${token}` });
/** What a call within the process fails with, as an answer. */
async function failureOf(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown as { statusCode: number; body: unknown },
  );
  return { status: error?.statusCode ?? 200, json: error?.body, text: JSON.stringify(error?.body) };
}

checkTable("8. Sign-in and account", errors.accounts, {
  "Wrong credentials": async (row) => {
    const { email } = await floe.person();
    refuses(row, await floe.stranger().post("/sign-in/email", { email, password: "wrong horse wrong" }));
    const nobody = { email: `nobody-${unique()}@example.com`, password: "wrong horse wrong" };
    refuses(row, await floe.stranger().post("/sign-in/email", nobody));
  },
  "Malformed email": async (row) => {
    const someone = await floe.person();
    const account = { ...newAccount(), email: "nobody" };
    refuses(row, await floe.stranger().post("/sign-in/email", account));
    refuses(row, await floe.stranger().post("/sign-up/email", account));
    refuses(row, await someone.post("/change-email", { newEmail: "nobody" }));
  },
  // Chosen: 403, because who they are is known and does not let them in.
  "Email not verified": async (row) => {
    const account = { ...newAccount(), company: "Acme" };
    const made = await strict.stranger().post("/sign-up/email", account);
    expect(made).toMatchObject({ status: 200, json: { token: null } });
    refuses(row, await strict.stranger().post("/sign-in/email", account), { status: 403 });
    const link = await strict.linkTo(account.email, "/verify-email");
    await strict.stranger().post("/verify-email", { token: link.searchParams.get("token") });
    expect((await strict.stranger().post("/sign-in/email", account)).status).toBe(200);
  },
  // Chosen: 400, as its neighbour, sign-up, has it.
  "Password sign-in off": async (row) => {
    refuses(row, await passwordless.stranger().post("/sign-in/email", newAccount()), { status: 400 });
  },
  "Password sign-up off": async (row) => {
    refuses(row, await closed.stranger().post("/sign-up/email", newAccount()));
    refuses(row, await passwordless.stranger().post("/sign-up/email", newAccount()));
  },
  "User already exists": async (row) => {
    const { name, email, password } = await floe.person();
    refuses(row, await floe.stranger().post("/sign-up/email", { name, email: email.toUpperCase(), password }));
  },
  "Failed to create user": async (row) => {
    await floe.deps.db.execute(sql`alter table "user" add check (email not like 'refused-%')`);
    const account = { ...newAccount(), email: `refused-${unique()}@example.com` };
    refuses(row, await floe.stranger().post("/sign-up/email", account));
  },
  // Chosen: 500, because nothing that the person sent is wrong.
  "Session failure: create": async (row) => {
    await floe.deps.db.execute(sql`alter table "session" add check ("userAgent" <> 'refused')`);
    const { email, password } = await floe.person();
    const answer = await floe.stranger().post("/sign-in/email", { email, password }, { "user-agent": "refused" });
    refuses(row, answer, { status: 500 });
  },
  "Session failure: get": async (row) => {
    const broken = await startCatalogue();
    const { token } = await broken.person();
    await broken.deps.db.execute(sql`alter table "session" rename to "elsewhere"`);
    refuses(row, await broken.request("GET", "/api/auth/get-session", { token }), { status: 500 });
    await broken.close();
  },
  "Field not settable": async (row) => {
    const someone = await floe.person();
    const fields = { role: "admin", banned: false, isAnonymous: true, emailVerified: true };
    for (const [field, value] of Object.entries(fields)) {
      const fills = { field };
      refuses(row, await someone.post("/update-user", { [field]: value }), { fills });
      refuses(row, await floe.stranger().post("/sign-up/email", { ...newAccount(), [field]: value }), { fills });
    }
  },
  "Field missing": async (row) => {
    const fills = { field: "company" };
    for (const company of [undefined, null, "", "  "])
      refuses(row, await strict.stranger().post("/sign-up/email", { ...newAccount(), company }), { fills });
  },
  "Email change through update-user": async (row) => {
    const someone = await floe.person();
    refuses(row, await someone.post("/update-user", { email: "other@example.com" }));
  },
  "Password out of bounds: too short": async (row) => {
    const someone = await floe.person();
    refuses(row, await floe.stranger().post("/sign-up/email", { ...newAccount(), password: "f9 k2!x" }));
    const body = { currentPassword: someone.password, newPassword: "f9 k2!x" };
    refuses(row, await someone.post("/change-password", body));
  },
  "Password out of bounds: too long": async (row) => {
    const password = "f9 k2!x ".repeat(16);
    expect((await floe.stranger().post("/sign-up/email", { ...newAccount(), password })).status).toBe(200);
    refuses(row, await floe.stranger().post("/sign-up/email", { ...newAccount(), password: `${password}-` }));
  },
  "No password credential": async (row) => {
    const who = floe.stranger();
    await who.browser.signIn("acme");
    const body = { currentPassword: "none was ever set", newPassword: `new horse ${unique()}` };
    refuses(row, await who.post("/change-password", body), { says: "Credential account not found" });
    refuses(row, await who.post("/delete-user", { password: "none was ever set" }), {
      says: "Credential account not found",
    });
  },
  "Invalid password": async (row) => {
    const someone = await floe.person();
    const body = { currentPassword: "wrong horse wrong", newPassword: `new horse ${unique()}` };
    refuses(row, await someone.post("/change-password", body));
    refuses(row, await someone.post("/delete-user", { password: "wrong horse wrong" }));
  },
  "Password already set": async (row) => {
    const { token } = await floe.person();
    const body = { newPassword: `new horse ${unique()}` };
    refuses(row, await failureOf(floe.auth.api.setPassword({ body, headers: bearer(token) })));
  },
  "Reset off": async (row) => {
    const { email } = await bare.person();
    refuses(row, await bare.stranger().post("/request-password-reset", { email }));
    refuses(row, await bare.stranger().post("/forget-password", { email }));
  },
  "Invalid or expired token": async (row) => {
    const body = { newPassword: `new horse ${unique()}`, token: "x".repeat(24) };
    refuses(row, await floe.stranger().post("/reset-password", body));
  },
  "Invalid or expired token: redirect": async ({ cells: [, code] }) => {
    const { location } = await floe.stranger().get(`/reset-password/${"x".repeat(24)}?callbackURL=/reset`);
    expect(location?.href).toBe(`${floe.url}/reset?error=${code}`);
  },
  "Change email off": async (row) => {
    const someone = await bare.person();
    refuses(row, await someone.post("/change-email", { newEmail: newAccount().email }));
  },
  "Same email": async (row) => {
    const someone = await floe.person();
    refuses(row, await someone.post("/change-email", { newEmail: someone.email.toUpperCase() }));
  },
  "Email update failed": async (row) => {
    const [someone, other] = [await floe.person(), await floe.person()];
    refuses(row, await someone.post("/change-email", { newEmail: other.email }));
  },
  "Verification off": async (row) => {
    const someone = await bare.person();
    refuses(row, await someone.post("/send-verification-email", { email: someone.email }));
  },
  // Chosen for these two: 400, as all that is wrong with what was sent.
  "Verification to another address": async (row) => {
    const [someone, other] = [await floe.person(), await floe.person()];
    refuses(row, await someone.post("/send-verification-email", { email: other.email }), { status: 400 });
  },
  "Verification to a verified address": async (row) => {
    const someone = await floe.person({ verified: true });
    refuses(row, await someone.post("/send-verification-email", { email: someone.email }), { status: 400 });
  },
  // Chosen: 400. Only the link to a new password cannot do without: it has nowhere else to lead.
  "Missing callback": async (row) => {
    refuses(row, await floe.stranger().get(`/reset-password/${"x".repeat(24)}`), { status: 400 });
  },
  "Delete user off": async (row) => {
    const someone = await bare.person();
    refuses(row, await someone.post("/delete-user", { password: someone.password }));
    expect(await bare.deps.db.select().from(user).where(eq(user.id, someone.id))).toHaveLength(1);
  },
  "Delete callback with a bad token": async (row) => {
    const someone = await floe.person();
    refuses(row, await someone.get(`/delete-user/callback?token=${"x".repeat(32)}&callbackURL=/`));
  },
  "Stale session: expired": async (row) => {
    const someone = await floe.person();
    await age(2, someone);
    refuses(row, await someone.post("/delete-user", { password: someone.password }));
    // Without the password too: before a mail is sent.
    refuses(row, await someone.post("/delete-user", {}));
    const mails = (await listMails(floe.deps)).filter(({ to }) => to === someone.email);
    expect(mails.map(({ subject }) => subject)).not.toContain("Delete your account");
  },
  "Stale session: not fresh": async (row) => {
    const someone = await floe.person();
    await age(2, someone);
    refuses(row, await someone.post("/unlink-account", { providerId: "credential" }));
  },
  // Chosen: 401, for every call that needs somebody signed in.
  "Session missing": async (row) => {
    const id = newId();
    const ids = { id, organizationId: id, invitationId: id, memberId: id, memberIdOrEmail: id, teamId: id, userId: id };
    const texts = { name: "Eve", slug: "eves-shop", role: "member", roleName: "eve", email: "eve@example.com" };
    const given = { token: "x", newEmail: "new@example.com", currentPassword: "a", newPassword: "another horse 77" };
    const asked = { permission: {}, permissions: { member: ["create"] }, data: { name: "Eve" }, provider: "acme" };
    const body = { ...ids, ...texts, ...given, ...asked, sessionToken: "x", password: "a", accountId: id };
    // What needs nobody signed in, or is opened by a mailed link; keys and the audit log have words of their own, and where
    // one field excludes another the rest is sent.
    const open =
      /^\/(\.well-known|sign-|request-|forget-|reset-|send-|verify-email|get-session|ok$|error$|methods$|callback\/|device|checkout|is-username|api-key\/|audit\/|delete-user\/callback|admin\/has-permission|get-access-token|refresh-token|update-session|end-sessions)/;
    const bound = endpointsOf(floe).filter(({ path }) => !open.test(path));
    expect(bound.length).toBeGreaterThan(65);
    const others: string[] = [];
    for (const { method, path } of bound) {
      const query = new URLSearchParams({ ...ids, roleId: id, token: "x" });
      const ask = floe.stranger();
      const answer = method === "GET" ? await ask.get(`${path}?${query}`) : await ask.post(path, body);
      if (answer.status === 401) refuses(row, answer, { status: 401 });
      else others.push(`${method} ${path}: ${answer.text}`);
    }
    expect(others, others.join("\n")).toEqual([]);
  },
});

/** What a link of a mail says on the page that it leads to. */
async function verified(token: string, who: Pick<Someone, "get"> = floe.stranger()) {
  const answer = await who.get(`/verify-email?token=${token}&callbackURL=/home`);
  expect([answer.status, answer.location?.pathname]).toEqual([302, "/home"]);
  return answer.location?.searchParams.get("error");
}
const tokenFor = (email: string, { to, lasts, userId }: { to?: string; lasts?: number; userId?: string } = {}) =>
  createEmailVerificationToken(floe.deps.config.secret, email, to, lasts, { userId });

checkTable("8. Email-verification callback codes", errors.verification, {
  token_expired: async ({ name }) => {
    const { email } = await floe.person();
    expect(await verified(await tokenFor(email, { lasts: -1 }))).toBe(name);
  },
  invalid_token: async ({ name }) => {
    expect(await verified("garbage")).toBe(name);
    const { email } = await floe.person();
    expect(await verified(`${await tokenFor(email)}x`)).toBe(name);
  },
  user_not_found: async ({ name }) => {
    expect(await verified(await tokenFor(`nobody-${unique()}@example.com`))).toBe(name);
  },
  // Somebody else is signed in than whose address would change.
  unauthorized: async ({ name }) => {
    const [someone, other] = [await floe.person(), await floe.person()];
    const to = newAccount().email;
    expect(await verified(await tokenFor(someone.email, { to, userId: someone.id }), other)).toBe(name);
  },
});

/** A member of somebody's organization, whose role permits no keys: `clerk` has nothing to do with them at all. */
async function memberAs(role: "member" | "clerk") {
  const [owner, guest] = [await floe.person({ verified: true }), await floe.person({ verified: true })];
  const { json: made } = await owner.post("/organization/create", { name: "Shop", slug: `shop-${unique()}` });
  const organizationId = String(made.id);
  if (role === "clerk")
    await owner.post("/organization/create-role", { organizationId, role, permission: { ac: ["read"] } });
  const { json: invited } = await owner.post("/organization/invite-member", {
    organizationId,
    email: guest.email,
    role,
  });
  await guest.post("/organization/accept-invitation", { invitationId: invited.id });
  return { guest, organizationId };
}

checkTable("8. Requests and permissions", errors.requests, {
  "Invalid input: body": async (row) => {
    const says = { code: "VALIDATION_ERROR", message: JSON.parse(row.cells[1] ?? "") };
    const someone = await floe.person();
    const wrong: [string, unknown][] = [
      ["/sign-up/email", { ...newAccount(), name: 7 }],
      ["/sign-up/email", { ...newAccount(), name: "" }],
      ["/sign-up/email", { ...newAccount(), name: "   " }],
      ["/update-user", { name: " " }],
      ["/sign-up/email", undefined],
      ["/change-password", { newPassword: 1 }],
      ["/sign-in/email", "text"],
      ["/organization/create", { name: "" }],
      ["/api-key/create", { name: "" }],
    ];
    for (const [path, body] of wrong)
      expect(await someone.post(path, body), path).toMatchObject({ status: Number(row.cells[0]), json: says });
  },
  "Invalid input: query": async (row) => {
    const says = { code: "VALIDATION_ERROR", message: JSON.parse(row.cells[1] ?? "") };
    const someone = await floe.person();
    for (const path of ["/verify-email", "/delete-user/callback", "/audit/list?limit=none"])
      expect(await someone.get(path), path).toMatchObject({ status: Number(row.cells[0]), json: says });
  },
  // Calls within the process; over HTTP a request has both. Chosen: 400.
  "Missing request parts: headers": async (row) => {
    const given = {} as { headers: Headers };
    refuses(row, await failureOf(floe.auth.api.getSession(given)), { status: 400 });
  },
  // floe has no call that needs the request itself; one that had fails in these words.
  "Missing request parts: request": async (row) => {
    const endpoint = createAuthEndpoint("/needs", { method: "GET", requireRequest: true }, async () => ({ ok: true }));
    const work = mapErrors(endpoint)({ headers: new Headers() } as never);
    refuses(row, await failureOf(work), { status: 400 });
  },
  // Looked at wherever a test is refused anything (tests/support/refusals.ts); here by every call there is.
  "An error's code is the upper-cased form of its message": async () => {
    const someone = await floe.person({ verified: true });
    const { json: shop } = await someone.post("/organization/create", { name: "Shop", slug: `shop-${unique()}` });
    const ending = /^\/(sign-out|revoke-|delete-user|admin\/(remove|stop))|\/delete$/;
    const texts = ["name", "token", "id", "userId", "keyId", "invitationId", "memberId", "memberIdOrEmail", "teamId"];
    const more = ["roleName", "userCode", "sessionToken", "provider", "providerId", "username", "slug", "role"];
    const named = Object.fromEntries([...texts, ...more].map((name) => [name, `no-${name}`]));
    const password = "wrong horse wrong";
    const mine = { organizationId: shop.id, email: someone.email, newEmail: someone.email, data: {}, permission: {} };
    const full = { ...named, ...mine, password, currentPassword: password, newPassword: "another horse 77" };
    const bodies = [undefined, { email: 7, id: [] }, full];
    const codes = new Set<unknown>();
    const calls = endpointsOf(floe).filter(({ path }) => !ending.test(path));
    expect(calls.length).toBeGreaterThan(80);
    for (const { method, path } of calls) {
      for (const who of [someone, floe.stranger()]) {
        const at = path.replace(/:\w+/g, "x");
        const asked =
          method === "GET" ? [who.get(at), who.get(`${at}?id=x&token=x`)] : bodies.map((one) => who.post(at, one));
        for (const { status, json } of await Promise.all(asked))
          if (status >= 400) codes.add(json?.code ?? json?.error);
      }
    }
    expect(codes.size, [...codes].join(" ")).toBeGreaterThan(30);
  },
  // Chosen for these two: 403.
  "Forbidden: callback": async (row) => {
    for (const callbackURL of ["https://evil.example.com/", "//evil.example.com", "javascript:alert(1)"])
      refuses(row, await floe.stranger().post("/sign-in/email", { ...newAccount(), callbackURL }), { status: 403 });
    expect((await floe.person()).browser.jar.size).toBeGreaterThan(0);
  },
  "Forbidden: origin": async (row) => {
    const someone = await floe.person();
    const headers = { origin: "https://evil.example.com" };
    refuses(row, await someone.post("/update-user", { name: "Eve" }, headers), { status: 403 });
    refuses(row, await someone.post("/api-key/create", { name: "evil" }, headers), { status: 403 });
  },
  // Chosen for these two: 403 where something was to be done; who only asks is told the same words.
  "Permission denied: resource": async (row) => {
    const { guest, organizationId } = await memberAs("clerk");
    const answer = await guest.post("/api-key/create", { name: "ci", organizationId });
    refuses(row, answer, { status: 403, fills: { resource: "apiKey" } });
    const asked = await guest.post("/organization/has-permission", {
      organizationId,
      permissions: { apiKey: ["read"] },
    });
    expect(asked.json).toEqual({ success: false, error: answer.json.message });
  },
  "Permission denied: action": async (row) => {
    const { guest, organizationId } = await memberAs("member");
    const answer = await guest.post("/api-key/create", { name: "ci", organizationId });
    const fills = { resource: "apiKey" };
    refuses({ ...row, cells: row.cells.map((cell) => cell.replaceAll('\\"', '"')) }, answer, { status: 403, fills });
    const asked = await guest.post("/organization/has-permission", { organizationId, permissions: { ac: ["delete"] } });
    expect(asked.json).toEqual({ success: false, error: 'unauthorized to access resource "ac"' });
  },
});

const shaped = { code: expect.stringMatching(/^[A-Z_]+$/), message: expect.any(String) };

checkTable("8. Generic statuses", errors.statuses, {
  "400": async () => {
    const answer = await floe.request("POST", "/api/auth/sign-in/email", { body: "{ not JSON" });
    expect(answer).toMatchObject({ status: 400, json: shaped });
  },
  "401": async () => expect(await floe.stranger().get("/list-sessions")).toMatchObject({ status: 401, json: shaped }),
  "403": async () => {
    const answer = await floe.stranger().post("/sign-out", {}, { origin: "null", cookie: "floe.x=1" });
    expect(answer).toMatchObject({ status: 403, json: shaped });
  },
  "404": async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"])
      for (const path of ["there-is-no-such-call", "sign-out", "%E0%A4%A"])
        if (method !== "POST" || path !== "sign-out")
          expect(await floe.request(method, `/api/auth/${path}`)).toMatchObject({
            status: 404,
            json: { code: "NOT_FOUND", message: "Not found" },
          });
  },
  "429": async () => {
    const headers = { origin: floe.url, "x-forwarded-for": newAddress() };
    const tries = async () => floe.request("POST", "/api/auth/sign-in/email", { body: {}, headers });
    let answer = await tries();
    for (let n = 0; n < 60 && answer.status !== 429; n += 1) answer = await tries();
    expect(answer).toMatchObject({ status: 429, json: shaped });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  },
  "500": async () => {
    const broken = await startCatalogue();
    const { email } = await broken.person();
    await broken.deps.db.execute(sql`alter table "user" rename to "elsewhere"`);
    const answer = await broken.stranger().post("/sign-in/email", { email, password: "wrong horse wrong" });
    expect(answer).toMatchObject({
      status: 500,
      json: { code: "INTERNAL_SERVER_ERROR", message: "Internal server error" },
    });
    await broken.close();
  },
});

test("a body that is neither JSON nor a form is 415, in the same shape", async () => {
  const answer = await floe.request("POST", "/api/auth/sign-in/email", {
    body: "<xml/>",
    headers: { "content-type": "text/xml", origin: floe.url },
  });
  expect(answer).toMatchObject({ status: 415, json: shaped });
});
