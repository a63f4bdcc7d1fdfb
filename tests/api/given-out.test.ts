import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { account, apikey, session, user, verification } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

/** What was given out to a person (a mailed link, a visit, a proof) ends with the reason that it was given for. */

const password = "correct horse battery";
const newPassword = "another horse battery";
let floe: Accounts;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
});
afterAll(() => floe.close());

type Person = Visitor & { email: string; id: string };
const newEmail = () => `new-${newId().slice(-12)}@example.com`;
const post = (who: Visitor, path: string, body: object = {}) => who.go("POST", `/api/auth${path}`, { body });
const rowOf = async (id: string) => (await floe.deps.db.select().from(user).where(eq(user.id, id)))[0];
const pathOf = (link: string) => new URL(link).pathname + new URL(link).search;

async function signUp(email = newEmail()): Promise<Person> {
  const who = visitor(floe.url);
  const made = await post(who, "/sign-up/email", { name: "Ada", email, password });
  expect(made.status).toBe(200);
  return { ...who, email, id: (made.json as { user: { id: string } }).user.id };
}
async function confirmed(): Promise<Person> {
  const who = await signUp();
  await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, who.id));
  return who;
}
/** Another browser of the same person. */
async function again({ email }: Person, given = password): Promise<Visitor> {
  const who = visitor(floe.url);
  expect((await post(who, "/sign-in/email", { email, password: given })).status).toBe(200);
  return who;
}
async function resetToken({ email }: Person): Promise<string> {
  expect((await post(visitor(floe.url), "/request-password-reset", { email })).status).toBe(200);
  return /reset-password\/([^?]+)/.exec(await linkTo(floe, email, /Choose a new password/))?.[1] ?? "";
}
const reset = (token: string, to: string) => post(visitor(floe.url), "/reset-password", { token, newPassword: to });
async function changeLink(who: Person): Promise<string> {
  expect((await post(who, "/change-email", { newEmail: newEmail() })).status).toBe(200);
  return pathOf(await linkTo(floe, who.email, /Change your e-mail address/));
}
const verificationLink = async ({ email }: Person) => pathOf(await linkTo(floe, email, /Confirm your/));
async function deletionToken(who: Person): Promise<string> {
  expect((await post(who, "/delete-user")).status).toBe(200);
  return new URL(await linkTo(floe, who.email, /Delete your account/)).searchParams.get("token") ?? "";
}

describe("a change of what lets a person in", () => {
  const changePassword = (who: Person) => post(who, "/change-password", { currentPassword: password, newPassword });
  const changes: Record<string, (who: Person) => Promise<unknown>> = {
    "a new password": changePassword,
    "a reset": async (who) => reset(await resetToken(who), newPassword),
    "signing out elsewhere": (who) => post(who, "/revoke-other-sessions"),
    "signing out everywhere": (who) => post(who, "/revoke-sessions"),
  };
  test.each(Object.keys(changes))("%s ends every link that was mailed before", async (name) => {
    const who = await confirmed();
    const token = await resetToken(who);
    const change = await changeLink(who);
    const deletion = await deletionToken(who);
    const unconfirmed = await signUp();
    const verification = await verificationLink(unconfirmed);
    await changes[name]?.(who);
    await changes[name]?.(unconfirmed);

    expect((await reset(token, "a third horse battery")).json).toMatchObject({ code: "INVALID_TOKEN" });
    const owner = await again(who, /password|reset/.test(name) ? newPassword : password);
    expect((await owner.go("GET", change)).location?.searchParams.get("error")).toBe("invalid_token");
    expect((await rowOf(who.id))?.email).toBe(who.email);
    expect((await post(owner, "/delete-user", { token: deletion })).status).toBe(404);
    expect(await rowOf(who.id)).toBeDefined();
    expect(
      (await post(unconfirmed, "/verify-email", { token: new URL(verification, floe.url).searchParams.get("token") }))
        .json,
    ).toMatchObject({ code: "INVALID_TOKEN" });
  });

  test("a new address ends the links at the old one", async () => {
    const who = await confirmed();
    const token = await resetToken(who);
    await who.go("GET", await changeLink(who));
    expect((await rowOf(who.id))?.email).not.toBe(who.email);
    expect((await reset(token, newPassword)).json).toMatchObject({ code: "INVALID_TOKEN" });
  });

  test("a link is for the account that asked for it, not for the next one with the address", async () => {
    const gone = await confirmed();
    const change = await changeLink(gone);
    expect((await post(gone, "/delete-user", { password })).status).toBe(200);
    const next = await signUp(gone.email);
    for (const who of [next, visitor(floe.url)]) {
      const followed = await who.go("GET", change);
      expect(followed.location?.searchParams.get("error")).toBe("invalid_token");
    }
    expect((await rowOf(next.id))?.email).toBe(gone.email);

    const squatter = await signUp();
    const link = await verificationLink(squatter);
    expect((await post(squatter, "/change-email", { newEmail: newEmail() })).status).toBe(200);
    const owner = await signUp(squatter.email);
    await visitor(floe.url).go("GET", link);
    await owner.go("GET", link);
    await post(owner, "/verify-email", { token: new URL(link, floe.url).searchParams.get("token") });
    expect((await rowOf(owner.id))?.emailVerified).toBe(false);
  });
});

describe("following a link without being signed in", () => {
  test.each(["text/html", "*/*"])(
    "confirms nothing and signs nobody in, but leads to a button (%s)",
    async (accept) => {
      const unconfirmed = await signUp();
      const who = await confirmed();
      for (const link of [await verificationLink(unconfirmed), await changeLink(who)]) {
        for (const scanner of [visitor(floe.url), await confirmed()]) {
          const { status, location, cookies } = await scanner.go("GET", link, {
            headers: { accept, "x-floe-posted": "1" },
          });
          const isRefused = location?.searchParams.get("error") === "unauthorized";
          expect([status, isRefused || location?.pathname]).toEqual([302, isRefused || "/verify-email"]);
          expect(cookies.filter((cookie) => cookie.includes("session_token"))).toEqual([]);
        }
      }
      expect((await rowOf(unconfirmed.id))?.emailVerified).toBe(false);
      expect((await rowOf(who.id))?.email).toBe(who.email);
      const token = new URL(await verificationLink(unconfirmed), floe.url).searchParams.get("token");
      const clicked = await post(visitor(floe.url), "/verify-email", { token });
      expect([clicked.status, clicked.cookies.filter((cookie) => cookie.includes("session_token="))]).toEqual([
        200,
        [],
      ]);
      expect((await rowOf(unconfirmed.id))?.emailVerified).toBe(true);
    },
  );

  test("opened in a browser, the link of a deletion asks first", async () => {
    const who = await confirmed();
    const token = await deletionToken(who);
    const opened = await who.go("GET", `/api/auth/delete-user/callback?token=${token}&callbackURL=/gone`, {
      headers: { accept: "text/html" },
    });
    expect([opened.location?.pathname, opened.location?.searchParams.get("token")]).toEqual(["/account/delete", token]);
    expect(await rowOf(who.id)).toBeDefined();
    expect((await post(who, "/delete-user", { token })).status).toBe(200);
    expect(await rowOf(who.id)).toBeUndefined();
  });
});

describe("an address that is confirmed by the button of the page", () => {
  const tokenOf = async (person: { email: string }) =>
    new URL(await linkTo(floe, person.email, /Confirm your/)).searchParams.get("token");
  const confirm = async (who: Visitor, person: { email: string }) =>
    post(who, "/verify-email", { token: await tokenOf(person), revokeUnproven: true });
  /** Somebody with every way into an account of an address that is not theirs. */
  async function squat(): Promise<{ squatter: Person; key: string }> {
    const squatter = await signUp();
    const made = await post(squatter, "/api-key/create", { name: "k", configId: "default" });
    const row = { id: newId(), accountId: newId(), providerId: "github", userId: squatter.id };
    await floe.deps.db.insert(account).values({ ...row, createdAt: new Date(), updatedAt: new Date() });
    return { squatter, key: (made.json as { key: string }).key };
  }

  test("in a browser that never entered the account ends all earlier access, and its owner chooses a password", async () => {
    const { squatter, key } = await squat();
    const waiting = await resetToken(squatter);
    const link = await verificationLink(squatter);
    const owner = visitor(floe.url);
    const [first, second] = [await confirm(owner, squatter), await confirm(owner, squatter)];
    expect(first).toMatchObject({
      status: 200,
      json: { status: true, user: { id: squatter.id, emailVerified: true } },
    });
    expect([second.json, first.cookies]).toEqual([{ code: "INVALID_TOKEN", message: "Invalid token" }, []]);
    expect(await squatter.me()).toBeNull();
    expect((await post(visitor(floe.url), "/sign-in/email", { email: squatter.email, password })).status).toBe(401);
    expect((await reset(waiting, newPassword)).status).toBe(400);
    expect((await squatter.go("GET", link)).location?.searchParams.get("error")).toBe("invalid_token");
    const keyed = { headers: { authorization: `Bearer ${key}` } };
    expect((await visitor(floe.url).go("GET", "/v1/organizations/", keyed)).status).toBe(401);
    expect(await floe.deps.db.$count(account, eq(account.userId, squatter.id))).toBe(0);
    expect(await floe.deps.db.$count(apikey, eq(apikey.userId, squatter.id))).toBe(0);
    expect((await mailsTo(floe, squatter.email)).map(({ subject }) => subject)).toContain(
      "Your address was confirmed, and earlier access to the account has ended",
    );
    const { resetToken: token } = first.json as { resetToken: string };
    expect((await reset(token, newPassword)).status).toBe(200);
    expect((await reset(token, "a third horse battery")).status).toBe(400);
    await again(squatter, newPassword);
    const [entry] = await floe.deps.db
      .select({ details: auditLog.details, user_id: auditLog.user_id, ip_address: auditLog.ip_address })
      .from(auditLog)
      .where(and(eq(auditLog.action, "user.access_revoked"), eq(auditLog.subject_id, squatter.id)));
    expect(entry).toEqual({
      details: { sessions: 1, accounts: ["credential", "github"], apiKeys: 1 },
      user_id: squatter.id,
      ip_address: expect.stringMatching(/^[\da-f.:]+$/),
    });
  });

  test("somebody else's session in that browser changes nothing of it", async () => {
    const squatter = await signUp();
    expect((await confirm(await confirmed(), squatter)).json).toHaveProperty("resetToken");
    expect(await squatter.me()).toBeNull();
  });

  test.each<[string, (person: Person) => Promise<Visitor>]>([
    ["with the account's session", async (person) => person],
    [
      "where the account was signed in to before",
      async (person) => {
        expect((await post(person, "/sign-out")).status).toBe(200);
        return person;
      },
    ],
  ])("%s keeps everything", async (_name, choose) => {
    const { squatter: person, key } = await squat();
    const other = await again(person);
    const { status, json } = await confirm(await choose(person), person);
    expect([status, json]).toMatchObject([200, { user: { id: person.id, emailVerified: true } }]);
    expect(json).not.toHaveProperty("resetToken");
    expect(await other.me()).not.toBeNull();
    const keyed = { headers: { authorization: `Bearer ${key}` } };
    // The key is good; its person is in no organization.
    expect((await visitor(floe.url).go("GET", "/v1/organizations/", keyed)).status).toBe(403);
    expect(await floe.deps.db.$count(account, eq(account.userId, person.id))).toBe(2);
  });

  test("a second time, after another browser, revokes nothing", async () => {
    const person = await signUp();
    expect((await confirm(person, person)).status).toBe(200);
    const later = await confirm(visitor(floe.url), person);
    expect([later.status, later.json]).toMatchObject([200, { status: true }]);
    expect(later.json).not.toHaveProperty("resetToken");
    expect(await person.me()).not.toBeNull();
  });

  test("a sign-up that signs nobody in makes its browser known, whether the address has an account or not", async () => {
    const strict = await startAccounts({ TRUST_PROXY: "127.0.0.1", FLOE_EMAIL_VERIFICATION: "required" });
    try {
      const email = newEmail();
      const [owner, stranger] = [visitor(strict.url), visitor(strict.url)];
      for (const who of [owner, stranger]) {
        const made = await post(who, "/sign-up/email", { name: "Ada", email, password });
        expect([made.status, made.json]).toMatchObject([200, { token: null }]);
        expect(who.jar.get("floe.known")).toMatch(/^.{60,}$/);
      }
      const link = await linkTo(strict, email, /Confirm your/);
      const opened = await Promise.all([owner, stranger].map((who) => who.go("GET", pathOf(link))));
      expect(opened.map(({ location }) => location?.searchParams.get("known"))).toEqual(["1", null]);
      const body = { token: new URL(link).searchParams.get("token"), revokeUnproven: true };
      expect((await post(owner, "/verify-email", body)).json).not.toHaveProperty("resetToken");
      expect((await post(visitor(strict.url), "/sign-in/email", { email, password })).status).toBe(200);
    } finally {
      await strict.close();
    }
  });
});

describe("an administrator's visit in somebody's name", () => {
  type Visiting = { admin: Person; browser: Visitor; own: string; visit: string };
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, cookieless: true });
  const who = async (token: string) =>
    (
      (await visitor(floe.url).go("GET", "/api/auth/get-session", bearer(token))).json as {
        user: { id: string };
      } | null
    )?.user.id ?? null;
  /** A visit begun in a second browser of an administrator's. */
  async function visiting(): Promise<Visiting> {
    const [admin, visited] = [await confirmed(), await confirmed()];
    await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.id));
    const browser = visitor(floe.url);
    const signedIn = await post(browser, "/sign-in/email", { email: admin.email, password });
    const begun = await post(browser, "/admin/impersonate-user", { userId: visited.id });
    expect(begun.status).toBe(200);
    const visit = decodeURIComponent(browser.jar.get("floe.session_token") ?? "");
    expect(await who(visit)).toBe(visited.id);
    return { admin, browser, own: (signedIn.json as { token: string }).token, visit };
  }

  test.each<[string, (given: Visiting) => Promise<unknown>]>([
    ["other sessions end", ({ admin }) => post(admin, "/revoke-other-sessions")],
    ["that session ends", ({ admin, own }) => post(admin, "/revoke-session", { token: own })],
    [
      "the password changes",
      ({ admin }) => post(admin, "/change-password", { currentPassword: password, newPassword }),
    ],
    ["the password is reset", async ({ admin }) => reset(await resetToken(admin), newPassword)],
    ["the address changes", async ({ admin }) => admin.go("GET", await changeLink(admin))],
  ])("ends when %s", async (_name, end) => {
    const given = await visiting();
    await end(given);
    expect(await who(given.visit)).toBeNull();
  });

  test("is ended by its token too, and the administrator's session goes on", async () => {
    const { admin, own, visit } = await visiting();
    const ended = await visitor(floe.url).go("POST", "/api/auth/admin/stop-impersonating", {
      ...bearer(visit),
      body: {},
    });
    expect([ended.status, ended.json]).toMatchObject([200, { user: { id: admin.id } }]);
    expect(ended.text).not.toMatch(/"token"/);
    expect([await who(visit), await who(own)]).toEqual([null, admin.id]);
  });

  test("signing out ends it and the administrator's session, and leaves no cookie", async () => {
    const { browser, own, visit } = await visiting();
    const kept = decodeURIComponent(browser.jar.get("floe.admin_session") ?? "").split(":")[0] ?? "";
    expect(kept).toBe(own);
    expect((await post(browser, "/sign-out")).status).toBe(200);
    expect([await who(visit), await who(own)]).toEqual([null, null]);
    expect([...browser.jar].filter(([name, value]) => value !== "" && !name.endsWith(".known"))).toEqual([]);
    expect(browser.jar.get("floe.admin_session") ?? "").toBe("");
  });
});

describe("a session", () => {
  const age = (id: string, hours: number) =>
    floe.deps.db
      .update(session)
      .set({ createdAt: new Date(Date.now() - hours * 3_600_000) })
      .where(eq(session.userId, id));
  const makeKey = (who: Visitor) => post(who, "/api-key/create", { name: "ci", configId: "default" });

  test("makes keys and changes the address for an hour, then asks for the password", async () => {
    const who = await confirmed();
    const slug = `shop-${newId().slice(-12)}`;
    expect((await post(who, "/organization/create", { name: "Shop", slug })).status).toBe(200);
    const made = await makeKey(who);
    expect(made.status).toBe(200);
    await age(who.id, 1);
    const keyId = (made.json as { id: string }).id;
    // Being used proves nothing.
    expect(await who.me()).not.toBeNull();
    expect((await post(who, "/update-user", { name: "Ada L." })).status).toBe(200);
    // A narrower key needs no proof; a wider one is as good as a new one.
    const narrow = { keyId, scopes: ["products:read"], enabled: false };
    expect((await post(who, "/api-key/update", narrow)).status).toBe(200);
    for (const asked of [
      await makeKey(who),
      await post(who, "/api-key/rotate", { keyId }),
      await post(who, "/change-email", { newEmail: newEmail() }),
      await post(who, "/link-social", { provider: "github" }),
      await post(who, "/api-key/update", { keyId, scopes: ["products:read", "orders:read"] }),
      await post(who, "/api-key/update", { keyId, enabled: true }),
    ])
      expect([asked.status, asked.json]).toMatchObject([403, { code: "PASSWORD_CONFIRMATION_REQUIRED" }]);
    expect((await post(who, "/verify-password", { password: "not the password" })).status).toBe(400);
    expect((await makeKey(who)).status).toBe(403);
    expect((await post(who, "/verify-password", { password })).status).toBe(200);
    expect((await makeKey(who)).status).toBe(200);
    // What the other browser proved is worth nothing after a new password.
    const other = await again(who);
    await post(who, "/change-password", { currentPassword: password, newPassword });
    expect([(await makeKey(other)).status, (await makeKey(who)).status]).toEqual([403, 200]);
  });

  test("ends 30 days after it began, however much it is used", async () => {
    const who = await confirmed();
    const endOf = async () => (await floe.deps.db.select().from(session).where(eq(session.userId, who.id)))[0];
    await age(who.id, 29 * 24);
    await floe.deps.db
      .update(session)
      .set({ expiresAt: new Date(Date.now() + 3_600_000) })
      .where(eq(session.userId, who.id));
    expect(await who.me()).not.toBeNull();
    const row = await endOf();
    expect((row?.expiresAt.getTime() ?? 0) - (row?.createdAt.getTime() ?? 0)).toBe(30 * 24 * 3_600_000);
    await age(who.id, 30 * 24);
    await floe.deps.db
      .update(session)
      .set({ expiresAt: new Date(Date.now() + 1000) })
      .where(eq(session.userId, who.id));
    await who.me();
    expect((await endOf())?.expiresAt.getTime()).toBeLessThan(Date.now() + 1001);
  });
});

describe("a mail about a change of what lets a person in", () => {
  const agent = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0";
  const endWith = (token: string) => post(visitor(floe.url), "/end-sessions", { token });
  const tokenIn = async (address: string, subject: RegExp) =>
    new URL(await linkTo(floe, address, subject)).hash.replace("#token=", "");
  const sentTo = async (address: string, subject: RegExp) =>
    (await mailsTo(floe, address)).filter((mail) => subject.test(mail.subject));
  const makeKey = (who: Visitor) =>
    who.go("POST", "/api/auth/api-key/create", {
      body: { name: "ci", configId: "default" },
      headers: { "user-agent": agent },
    });
  const changePassword = (who: Visitor) =>
    who.go("POST", "/api/auth/change-password", {
      body: { currentPassword: password, newPassword },
      headers: { "user-agent": agent },
    });

  test.each<[string, RegExp, (who: Person) => Promise<unknown>]>([
    ["a new password", /^Your password was changed/, changePassword],
    ["a reset", /^Your password was changed/, async (who) => reset(await resetToken(who), newPassword)],
    ["a new address", /^The address of your account/, async (who) => who.go("GET", await changeLink(who))],
    [
      "a new address in place of an unconfirmed one",
      /^The address of your account/,
      async (who) => {
        await floe.deps.db.update(user).set({ emailVerified: false }).where(eq(user.id, who.id));
        await post(who, "/change-email", { newEmail: newEmail() });
      },
    ],
    ["a new key", /^An API key was made/, makeKey],
  ])("after %s has a link that ends all sessions, once", async (name, subject, change) => {
    const who = await confirmed();
    const bystander = await confirmed();
    await change(who);
    expect(await sentTo(who.email, subject)).toHaveLength(1);
    const address = (await rowOf(who.id))?.email ?? "";
    if (address !== who.email) expect(await sentTo(address, subject)).toEqual([]);
    const token = await tokenIn(who.email, subject);
    // A page asks first; fetching it does nothing.
    await visitor(floe.url).go("GET", `/end-sessions#token=${token}`);
    const now = /password|reset/.test(name) ? newPassword : password;
    const other = await again({ ...who, email: address }, now);
    // Whoever took the account over cannot end the link with a further change.
    await post(other, "/revoke-other-sessions");
    expect(await other.me()).not.toBeNull();

    expect((await endWith(token)).status).toBe(200);
    expect([await who.me(), await other.me()]).toEqual([null, null]);
    expect(await bystander.me()).not.toBeNull();
    const later = await again({ ...who, email: address }, now);
    expect((await endWith(token)).json).toMatchObject({ code: "INVALID_TOKEN" });
    expect(await later.me()).not.toBeNull();
  });

  test("says when, from where and with which browser, and nothing that the program says of itself", async () => {
    const who = await confirmed();
    await changePassword(who);
    expect((await sentTo(who.email, /^Your password/))[0]?.text).toMatch(
      /on \d{4}-\d\d-\d\d \d\d:\d\d UTC, from 10\.[\d.]+, with Firefox on Linux\./,
    );
    await who.go("POST", "/api/auth/api-key/create", {
      body: { name: "ci", configId: "default" },
      headers: { "user-agent": "evil.example.com" },
    });
    const [told] = await sentTo(who.email, /^An API key/);
    expect(told?.text).toContain("with an unknown program.");
    expect(told?.text).not.toContain("evil");
  });

  test("has a link that ends what waits to let somebody in, after seven days is over, and is kept as a hash", async () => {
    const who = await confirmed();
    await makeKey(who);
    const link = await changeLink(who);
    const token = await tokenIn(who.email, /^An API key/);
    const rows = await floe.deps.db.select().from(verification);
    expect(JSON.stringify(rows)).not.toContain(token);
    const own = eq(verification.value, `sessions-of:${who.id}`);
    const [row] = await floe.deps.db.select().from(verification).where(own);
    expect((row?.expiresAt.getTime() ?? 0) - (row?.createdAt.getTime() ?? 0)).toBe(7 * 24 * 3_600_000);
    await floe.deps.db.update(verification).set({ expiresAt: new Date() }).where(own);
    for (const none of [token, "x", ""]) expect((await endWith(none)).status).toBe(400);
    expect(await who.me()).not.toBeNull();

    await makeKey(who);
    expect((await endWith(await tokenIn(who.email, /^An API key/))).status).toBe(200);
    const owner = await again(who);
    expect((await owner.go("GET", link)).location?.searchParams.get("error")).toBe("invalid_token");
    const [entry] = await floe.deps.db
      .select()
      .from(auditLog)
      .where(and(eq(auditLog.action, "user.sessions_ended"), eq(auditLog.subject_id, who.id)));
    expect(entry).toMatchObject({ user_id: who.id, details: { sessions: 1 } });
  });

  test("tells of an administrator's change without where they were, and of no more than twenty changes an hour", async () => {
    const [admin, who] = [await confirmed(), await confirmed()];
    await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.id));
    expect((await post(admin, "/admin/set-user-password", { userId: who.id, newPassword })).status).toBe(200);
    const [told] = await sentTo(who.email, /^Your password/);
    expect(told?.text).toContain("An administrator of this server did it");
    expect(told?.text).not.toContain("10.");
    const many = await confirmed();
    for (let count = 0; count < 21; count += 1) expect((await makeKey(many)).status).toBe(200);
    expect(await sentTo(many.email, /^An API key/)).toHaveLength(20);
  });
});

describe("a sign-in from a new browser", () => {
  const isNew = (mail: { subject: string }) => /new browser/.test(mail.subject);
  const count = async ({ email }: { email: string }) => (await mailsTo(floe, email)).filter(isNew).length;

  test("is mailed, with the link that ends all sessions; the first one of an account and a known browser's are not", async () => {
    const who = await confirmed();
    const signIn = (as: Visitor, headers: Record<string, string> = {}) =>
      as.go("POST", "/api/auth/sign-in/email", { body: { email: who.email, password }, headers });
    expect((await signIn(who)).status).toBe(200);
    expect(await count(who)).toBe(0);
    const [thief, from] = [visitor(floe.url), { "x-forwarded-for": "203.0.113.9", "user-agent": "curl/8" }];
    expect((await signIn(visitor(floe.url), from)).status).toBe(200);
    expect(await count(who)).toBe(1);
    // A program without cookies, from the same network, and the first browser go on in silence.
    expect((await signIn(visitor(floe.url), from)).status).toBe(200);
    expect((await signIn(who)).status).toBe(200);
    expect(await count(who)).toBe(1);
    expect(
      (await thief.go("POST", "/api/auth/sign-in/email", { body: { email: who.email, password: "wrong one" } })).status,
    ).toBe(401);
    expect(await count(who)).toBe(1);
    expect((await signIn(thief)).status).toBe(200);
    expect(await count(who)).toBe(2);
    const [mail] = (await mailsTo(floe, who.email)).filter(isNew);
    const [, token] = /end-sessions#token=(\S+)/.exec(mail?.text ?? "") ?? [];
    expect((await post(visitor(floe.url), "/end-sessions", { token })).status).toBe(200);
    for (const as of [who, thief]) expect(await as.me()).toBeNull();
  });

  test("that is the first, after a sign-up that signed nobody in, is not mailed", async () => {
    const who = await signUp();
    await floe.deps.db.delete(session).where(eq(session.userId, who.id));
    await floe.deps.db.execute(sql`alter table audit_log disable trigger user`);
    await floe.deps.db
      .delete(auditLog)
      .where(and(eq(auditLog.subject_id, who.id), eq(auditLog.action, "user.signed_in")));
    await floe.deps.db.execute(sql`alter table audit_log enable trigger user`);
    await again(who);
    expect(await count(who)).toBe(0);
    await again(who);
    expect(await count(who)).toBe(1);
  });
});

test("a plain member reads no invitations", async () => {
  const [owner, member] = [await confirmed(), await confirmed()];
  const slug = `inv-${newId().slice(-12)}`;
  const { id } = (await post(owner, "/organization/create", { name: "Acme", slug })).json as { id: string };
  const invite = (email: string, role: string) =>
    post(owner, "/organization/invite-member", { organizationId: id, email, role });
  const invited = (await invite(member.email, "member")).json as { id: string };
  await post(member, "/organization/accept-invitation", { invitationId: invited.id });
  const secret = newEmail();
  expect((await invite(secret, "owner")).status).toBe(200);
  const listed = await member.go("GET", `/api/auth/organization/list-invitations?organizationId=${id}`);
  const whole = await member.go("GET", `/api/auth/organization/get-full-organization?organizationId=${id}`);
  expect([listed.status, whole.status]).toEqual([403, 200]);
  expect(listed.text + whole.text).not.toContain(secret);
  expect((await owner.go("GET", `/api/auth/organization/list-invitations?organizationId=${id}`)).text).toContain(
    secret,
  );
});

test("names that nobody can read and addresses that nobody can have are refused", async () => {
  const who = await confirmed();
  for (const name of ["\u200b", "\u2800\u3164", "Ada \u202etxt.exe", "\u2066Ada"])
    expect((await post(who, "/update-user", { name })).json).toMatchObject({ code: "VALIDATION_ERROR" });
  for (const name of ["👩‍👩‍👧", "عائشة", "José"]) expect((await post(who, "/update-user", { name })).status).toBe(200);
  expect((await post(who, "/organization/create", { name: "\u200b", slug: "invisible-shop" })).status).toBe(400);
  const at = (letters: number) => `${"a".repeat(letters)}@${newId().slice(-12)}.example.com`;
  const signUpAs = (email: string) => post(visitor(floe.url), "/sign-up/email", { name: "A", email, password });
  expect((await signUpAs(at(65))).json).toMatchObject({ code: "INVALID_EMAIL" });
  expect((await signUpAs(at(64))).status).toBe(200);
});

test("an administrator's slip is refused, and nothing changes", async () => {
  const [admin, someone] = [await confirmed(), await confirmed()];
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.id));
  const before = await rowOf(someone.id);
  for (const data of [
    { id: newId() },
    { createdAt: "garbage" },
    { banExpires: "garbage" },
    { banExpires: "+200000-01-01T00:00:00Z" },
    { isAnonymous: true },
  ])
    expect([(await post(admin, "/admin/update-user", { userId: someone.id, data })).status, data]).toEqual([400, data]);
  for (const banExpiresIn of [1e12, -1, 1e300])
    expect((await post(admin, "/admin/ban-user", { userId: someone.id, banExpiresIn })).status).toBe(400);
  expect(await rowOf(someone.id)).toEqual(before);
});
