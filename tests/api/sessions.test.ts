import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { session, user } from "../../server/identity/accounts/tables.ts";
import { type Accounts, type Answer, newAddress, startAccounts } from "../support/accounts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const cookieBytesMax = 4093;
const cookieAgeSecondsMax = 34_560_000;

let floe: Accounts;
let seller: Seller;
beforeAll(async () => {
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1" });
});
afterAll(() => floe?.close());
afterEach(() => void vi.useRealTimers());

/** Let time pass, for the server too, which runs in this process. */
const wait = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
const call = (method: string, path: string, cookie?: string, body?: unknown): Promise<Answer> =>
  floe.page(method, path, body, cookie);
const signIn = (fields: Record<string, unknown> = {}, cookie?: string) =>
  call("POST", "/sign-in/email", cookie, { email: seller.email, password: seller.password, ...fields });
const setBy = (answer: Answer, name: string) =>
  answer.headers.getSetCookie().find((one) => one.startsWith(`floe.${name}=`));
/** What a browser holds after an answer: of one name the last, unless it takes it back. */
function jar(answer: Answer): string {
  const held = new Map<string, string>();
  for (const cookie of answer.headers.getSetCookie()) {
    const [pair = "", ...attributes] = cookie.split("; ");
    held.set(pair.split("=")[0] ?? "", attributes.includes("Max-Age=0") ? "" : pair);
  }
  return [...held.values()].filter((pair) => pair !== "").join("; ");
}
/** A browser's cookies without its copy of the session. */
const withoutCopy = (cookies: string) =>
  cookies
    .split("; ")
    .filter((one) => !one.startsWith("floe.session_data"))
    .join("; ");
const tokenOf = (answer: Answer): string => (answer.json as { token: string }).token;
const rowsOf = () => floe.deps.db.select().from(session).where(eq(session.userId, seller.user_id));
const isAlive = async (cookie: string) => (await call("GET", "/list-sessions", cookie)).status === 200;
type Listed = { id: string; token: string; expiresAt: string }[];

beforeAll(async () => {
  seller = await floe.seller();
});

describe("a browser's copy of its session (product.md 9)", () => {
  test("is believed by nothing: whoever kept the cookies of a sign-in is nobody once it is signed out", async () => {
    const cookies = jar(await signIn());
    expect(cookies).toContain("floe.session_data=");
    expect((await call("GET", "/get-session", cookies)).json).toMatchObject({ user: { email: seller.email } });
    expect((await call("POST", "/sign-out", cookies)).json).toEqual({ success: true });
    for (const path of ["/get-session", "/get-session?disableCookieCache=false", "/get-session?disableRefresh=true"])
      expect((await call("GET", path, cookies)).json, path).toBeNull();
  });

  test("fits into cookies of 4093 bytes with the longest name, picture and browser, and the next request is read", async () => {
    const changed = await call("POST", "/update-user", jar(await signIn()), {
      name: "\u{1F9FE}".repeat(127),
      image: `https://example.com/${"\u00fc".repeat(2000)}`,
    });
    expect(changed.status).toBe(200);
    const signed = await floe.request("POST", "/api/auth/sign-in/email", {
      body: { email: seller.email, password: seller.password },
      headers: { origin: floe.url, "x-forwarded-for": newAddress(), "user-agent": "browser ".repeat(1000) },
    });
    const cookies = signed.headers.getSetCookie();
    expect(cookies.filter((one) => one.startsWith("floe.session_data")).length).toBeGreaterThan(1);
    for (const cookie of cookies) expect(Buffer.byteLength(cookie)).toBeLessThanOrEqual(cookieBytesMax);
    expect((await call("GET", "/get-session", jar(signed))).json).toMatchObject({ user: { email: seller.email } });
    // What has become short again takes back the pieces of what was long.
    const shorter = await call("POST", "/update-user", jar(signed), { name: "Ada", image: null });
    expect(shorter.headers.getSetCookie().some((one) => /^floe\.session_data\.1=;.*Max-Age=0/.test(one))).toBe(true);
  });

  test("a picture's address is at most 2048 characters", async () => {
    const long = await call("POST", "/update-user", jar(await signIn()), { image: `https://${"x".repeat(2048)}` });
    expect([long.status, long.json]).toMatchObject([400, { code: "VALIDATION_ERROR" }]);
  });

  test("a session that was ended does nothing from the next call on, and is nobody's", async () => {
    const [ended, other] = [jar(await signIn()), jar(await signIn())];
    const v1 = (cookie: string) => floe.request("GET", "/v1/products/", { cookie, headers: { origin: floe.url } });
    const others = (cookie: string) =>
      Promise.all([
        call("GET", "/list-sessions", cookie),
        call("GET", "/list-accounts", cookie),
        call("GET", "/organization/list", cookie),
        call("GET", "/api-key/list", cookie),
        call("POST", "/update-user", cookie, { name: "Mallory" }),
        call("POST", "/api-key/create", cookie, { name: "mallory" }),
        call("POST", "/change-email", cookie, { newEmail: "mallory@example.com" }),
        v1(cookie),
      ]);
    expect((await v1(ended)).status).toBe(200);
    expect((await call("POST", "/revoke-other-sessions", other)).json).toEqual({ status: true });
    expect((await others(ended)).map(({ status }) => status)).toEqual(Array(8).fill(401));
    expect((await call("GET", "/get-session?disableCookieCache=true", ended)).json).toBeNull();
    expect((await call("GET", "/get-session", ended)).json).toBeNull();
  });

  test("a copy that was changed, or is another session's, counts for nothing", async () => {
    const [signed, other] = [await signIn(), await signIn()];
    const copyOf = (answer: Answer) => setBy(answer, "session_data")?.split(";")[0] ?? "";
    const revoked = withoutCopy(jar(signed));
    await call("POST", "/revoke-session", jar(other), { token: tokenOf(signed) });
    expect((await call("GET", "/get-session", `${revoked}; ${copyOf(other)}`)).json).toBeNull();
    const content = JSON.parse(Buffer.from(copyOf(signed).split("=")[1] ?? "", "base64url").toString("utf8"));
    content.session.user.role = "admin";
    const forged = `floe.session_data=${Buffer.from(JSON.stringify(content)).toString("base64url")}`;
    expect((await call("GET", "/get-session", `${revoked}; ${forged}`)).json).toBeNull();
  });
});

describe("how long a session lasts (product.md 4)", () => {
  test("seven days; used after a day, seven days from then", async () => {
    const signed = await signIn();
    const cookies = withoutCopy(jar(signed));
    expect(setBy(signed, "session_token")).toMatch(/Max-Age=604800/);
    const [first] = (await rowsOf()).filter(({ expiresAt }) => expiresAt.getTime() > Date.now() + 7 * dayMs - minuteMs);
    wait(23 * hourMs);
    expect(setBy(await call("GET", "/get-session", cookies), "session_token")).toBeUndefined();
    wait(2 * hourMs);
    const unchanged = await call("GET", "/get-session?disableRefresh=true", cookies);
    expect(setBy(unchanged, "session_token")).toBeUndefined();
    const used = await call("GET", "/get-session", cookies);
    expect(setBy(used, "session_token")).toMatch(/Max-Age=604800/);
    const until = new Date((used.json as { session: { expiresAt: string } }).session.expiresAt).getTime();
    expect(Math.abs(until - (Date.now() + 7 * dayMs))).toBeLessThan(minuteMs);
    expect(until).toBeGreaterThan(first?.expiresAt.getTime() ?? Number.POSITIVE_INFINITY);
  });

  test("who is not to be remembered is for a day at most, until the browser closes, and never longer by use", async () => {
    const signed = await signIn({ rememberMe: false });
    for (const name of ["session_token", "session_data", "dont_remember"])
      expect(setBy(signed, name)).not.toMatch(/Max-Age|Expires/);
    const cookies = withoutCopy(jar(signed));
    wait(23 * hourMs);
    const used = await call("GET", "/get-session", cookies);
    expect(used.json).toMatchObject({ user: { email: seller.email } });
    expect(setBy(used, "session_token")).toBeUndefined();
    wait(2 * hourMs);
    expect((await call("GET", "/get-session", cookies)).json).toBeNull();
  });

  const uses: [string, (cookie: string, token: string) => Promise<Answer>][] = [
    ["/v1 by its token", (_, token) => floe.request("GET", "/v1/organizations/", { token })],
    ["/v1 by its cookie", (cookie) => floe.request("GET", "/v1/products/", { cookie, headers: { origin: floe.url } })],
    ["a list of keys", (cookie) => call("GET", "/api-key/list", cookie)],
    ["a list of organizations", (cookie) => call("GET", "/organization/list", cookie)],
    ["the question who is signed in", (cookie) => call("GET", "/get-session", cookie)],
    ["that question by its token", (_, token) => floe.request("GET", "/api/auth/get-session", { token })],
    ["a change", (cookie) => call("POST", "/update-user", cookie, { name: "Ada" })],
  ];
  /** As if a session had been used last so long ago that a use renews it. */
  const age = async (token: string, left_ms: number) => {
    const of = eq(session.token, hashSecret(token));
    const expiresAt = new Date(Date.now() + left_ms);
    await floe.deps.db.update(session).set({ expiresAt }).where(of);
    const ends = async () => (await floe.deps.db.select().from(session).where(of))[0]?.expiresAt.getTime() ?? 0;
    return { before: expiresAt.getTime(), ends };
  };

  test.each(uses)("renewed by any use: by %s", async (_name, use) => {
    const signed = await signIn();
    const [cookies, token] = [withoutCopy(jar(signed)), tokenOf(signed)];
    const young = await age(token, 6 * dayMs + hourMs);
    const early = await use(cookies, token);
    expect([early.status, await young.ends()]).toEqual([200, young.before]);
    const old = await age(token, 6 * dayMs - hourMs);
    const used = await use(cookies, token);
    expect(used.status).toBe(200);
    expect(Math.abs((await old.ends()) - (Date.now() + 7 * dayMs))).toBeLessThan(minuteMs);
  });

  test.each(uses.filter((_, at) => at > 0 && at !== 5))(
    "and the browser keeps it as long: by %s",
    async (_name, use) => {
      const signed = await signIn();
      const token = tokenOf(signed);
      await age(token, 6 * dayMs - hourMs);
      const cookie = setBy(await use(withoutCopy(jar(signed)), token), "session_token") ?? "";
      const [, until = "", seconds = ""] = /(?:Expires=([^;]+)|Max-Age=(\d+))/.exec(cookie) ?? [];
      const kept_ms = until === "" ? Number(seconds) * 1000 : new Date(until).getTime() - Date.now();
      expect(Math.abs(kept_ms - 7 * dayMs)).toBeLessThan(minuteMs);
      expect(await isAlive(cookie.split(";")[0] ?? "")).toBe(true);
    },
  );

  test("one that has ended is nobody's on any path, and is not renewed", async () => {
    const signed = await signIn();
    const [cookies, token] = [withoutCopy(jar(signed)), tokenOf(signed)];
    const ended = await age(token, -1);
    for (const [, use] of uses) {
      const { status, json } = await use(cookies, token);
      expect(status === 401 || json === null).toBe(true);
      expect(await ended.ends()).toBeLessThanOrEqual(ended.before);
    }
  });

  test.each(uses)("one that is not to be remembered never, whatever is sent along: by %s", async (_name, use) => {
    const signed = await signIn({ rememberMe: false });
    const token = tokenOf(signed);
    const alone = `${setBy(signed, "session_token")?.split(";")[0]}`;
    const { before, ends } = await age(token, 2 * hourMs);
    for (const cookies of [withoutCopy(jar(signed)), alone]) {
      const used = await use(cookies, token);
      expect([used.status, await ends()]).toEqual([200, before]);
    }
  });

  test("nor does a new password make it last longer, nor the token of an admin's visit", async () => {
    const person = await floe.seller("forgotten");
    const given = { email: person.email, password: person.password };
    const signed = await call("POST", "/sign-in/email", undefined, { ...given, rememberMe: false });
    const body = { currentPassword: person.password, newPassword: "quite another horse 77", revokeOtherSessions: true };
    const changed = await floe.request("POST", "/api/auth/change-password", { token: tokenOf(signed), body });
    const { before, ends } = await age(tokenOf(changed), 2 * hourMs);
    const ended = await floe.deps.db.select().from(session).where(eq(session.userId, person.user_id));
    expect(ended.map(({ remembered }) => remembered)).toEqual([false]);
    await floe.request("GET", "/v1/products/", { token: tokenOf(changed) });
    expect(await ends()).toBe(before);
    await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, seller.user_id));
    const visit = await call("POST", "/admin/impersonate-user", jar(await signIn()), { userId: person.user_id });
    await floe.deps.db.update(user).set({ role: "user" }).where(eq(user.id, seller.user_id));
    const { token } = (visit.json as { session: { token: string } }).session;
    await floe.request("GET", "/api/auth/get-session", { token });
    await floe.request("GET", "/v1/products/", { token });
    const [visiting] = await floe.deps.db
      .select()
      .from(session)
      .where(eq(session.token, hashSecret(token)));
    expect(visiting?.expiresAt.getTime()).toBeLessThan(Date.now() + hourMs + minuteMs);
  });

  test("signing in with an old session's cookie gives the new session's", async () => {
    const [first, second] = [await signIn(), await floe.seller("second")];
    await age(tokenOf(first), 6 * dayMs - hourMs);
    const { email, password } = second;
    const then = await call("POST", "/sign-in/email", jar(first), { email, password });
    expect(decodeURIComponent(jar(then))).toContain(`floe.session_token=${tokenOf(then)}.`);
  });

  test("one that has run out is deleted when it is next read", async () => {
    const cookies = withoutCopy(jar(await signIn()));
    const before = (await rowsOf()).length;
    wait(8 * dayMs);
    const read = await call("GET", "/get-session", cookies);
    expect(read.json).toBeNull();
    expect(setBy(read, "session_token")).toMatch(/Max-Age=0/);
    vi.useRealTimers();
    expect(await rowsOf()).toHaveLength(before - 1);
  });

  test("no cookie is kept for more than 400 days", async () => {
    const answers = [await signIn(), await signIn({ rememberMe: false }), await call("POST", "/sign-in/anonymous")];
    const ages = answers
      .flatMap((answer) => answer.headers.getSetCookie())
      .map((one) => Number(/Max-Age=(\d+)/.exec(one)?.[1] ?? 0));
    expect(Math.max(...ages)).toBeGreaterThan(0);
    expect(Math.max(...ages)).toBeLessThanOrEqual(cookieAgeSecondsMax);
  });
});

describe("seeing and ending sessions (product.md 7)", () => {
  const listed = async (cookie: string): Promise<Listed> => (await call("GET", "/list-sessions", cookie)).json as never;

  test("others' tokens are named by a hash, which ends them and lets nobody in", async () => {
    const [own, other] = [await signIn(), await signIn()];
    const sessions = await listed(jar(own));
    expect(sessions.map(({ token }) => token)).toContain(tokenOf(own));
    expect(JSON.stringify(sessions)).not.toContain(tokenOf(other));
    const [row] = (await rowsOf()).filter(({ id }) => id === sessions.find(({ token }) => token !== tokenOf(own))?.id);
    const handle = row?.token ?? "";
    expect(handle).toMatch(/^sha256:[0-9a-f]{64}$/);
    for (const token of [handle, encodeURIComponent(handle)]) {
      expect((await floe.request("GET", "/api/auth/list-sessions", { token })).status).toBe(401);
      expect((await floe.request("GET", "/v1/products/", { token })).status).toBe(401);
    }
    expect((await call("POST", "/revoke-session", jar(own), { token: handle })).json).toEqual({ status: true });
    expect((await listed(jar(own))).some(({ id }) => id === row?.id)).toBe(false);
  });

  test("one, the others, all", async () => {
    const [a, b, c] = [await signIn(), await signIn(), await signIn()].map(jar) as [string, string, string];
    const second = (await listed(b)).find(({ token }) => b.includes(token))?.token;
    await call("POST", "/revoke-session", a, { token: second });
    expect([await isAlive(a), await isAlive(b), await isAlive(c)]).toEqual([true, false, true]);
    await call("POST", "/revoke-other-sessions", a);
    expect([await isAlive(a), await isAlive(c)]).toEqual([true, false]);
    await call("POST", "/revoke-sessions", a);
    expect(await isAlive(a)).toBe(false);
    expect(await rowsOf()).toEqual([]);
  });

  test("another person's session is not ended, by token or by hash", async () => {
    const stranger = await floe.seller("stranger");
    const own = jar(await signIn());
    const [row] = await floe.deps.db.select().from(session).where(eq(session.userId, stranger.user_id));
    for (const token of [stranger.session, row?.token])
      expect((await call("POST", "/revoke-session", own, { token })).json).toEqual({ status: true });
    expect((await floe.request("GET", "/api/auth/list-sessions", { token: stranger.session })).status).toBe(200);
  });

  test("a new password ends the others and gives a new token; the old one is nobody's", async () => {
    const person = await floe.seller("changes");
    const [here, there] = [await floe.browser(person), await floe.browser(person)];
    const newPassword = "quite another horse 77";
    const changed = await call("POST", "/change-password", here, {
      currentPassword: person.password,
      newPassword,
      revokeOtherSessions: true,
    });
    expect(changed.json).toMatchObject({ token: expect.stringMatching(/^\w{32}$/) });
    expect([await isAlive(here), await isAlive(there), await isAlive(jar(changed))]).toEqual([false, false, true]);
    const rows = await floe.deps.db.select().from(session).where(eq(session.userId, person.user_id));
    expect(rows).toHaveLength(1);
  });
});

describe("platform admins (product.md 6)", () => {
  let admin: Seller;
  let cookies: string;
  beforeAll(async () => {
    admin = await floe.seller("admin");
    await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.user_id));
    cookies = await floe.browser(admin);
  });

  test("see a person's sessions by their hashes and end one by it", async () => {
    const [one, two] = [jar(await signIn()), jar(await signIn())];
    const seen = await call("POST", "/admin/list-user-sessions", cookies, { userId: seller.user_id });
    const { sessions } = seen.json as { sessions: Listed };
    expect(sessions.length).toBeGreaterThanOrEqual(2);
    for (const { token } of sessions) expect(token).toMatch(/^sha256:[0-9a-f]{64}$/);
    const mine = (await call("GET", "/get-session", one)).json as { session: { id: string } };
    const sessionToken = sessions.find(({ id }) => id === mine.session.id)?.token;
    await call("POST", "/admin/revoke-user-session", cookies, { sessionToken });
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
    await call("POST", "/admin/revoke-user-sessions", cookies, { userId: seller.user_id });
    expect(await isAlive(two)).toBe(false);
  });

  test("act as a person, and are themselves again afterwards", async () => {
    const acting = await call("POST", "/admin/impersonate-user", cookies, { userId: seller.user_id });
    expect(acting.status).toBe(200);
    // As the person the browser is not known to the person's account.
    expect(setBy(acting, "known")).toBeUndefined();
    const as = withoutCopy(jar(acting));
    expect((await call("GET", "/get-session", as)).json).toMatchObject({
      user: { id: seller.user_id },
      session: { impersonatedBy: admin.user_id },
    });
    const back = await call("POST", "/admin/stop-impersonating", as, {});
    expect([back.status, back.json]).toMatchObject([200, { user: { id: admin.user_id } }]);
    const again = withoutCopy(jar(back));
    expect((await call("GET", "/get-session", again)).json).toMatchObject({ user: { id: admin.user_id } });
    expect(await isAlive(as)).toBe(false);
  });
});

describe("signing in", () => {
  test("gives a new session each time, whatever the browser brought along (fixation)", async () => {
    const first = await signIn();
    const planted = jar(first);
    const second = await signIn({}, planted);
    expect(tokenOf(second)).not.toBe(tokenOf(first));
    const anonymous = await call("POST", "/sign-in/anonymous", undefined, {});
    const then = await signIn({}, jar(anonymous));
    expect(tokenOf(then)).not.toBe(tokenOf(anonymous));
    const chosen = "a-token-of-the-attackers-choice-1";
    const forced = await signIn({}, `floe.session_token=${chosen}.${"A".repeat(43)}%3D`);
    expect(jar(forced)).not.toContain(chosen);
    expect((await floe.request("GET", "/api/auth/list-sessions", { token: chosen })).status).toBe(401);
  });

  test("a token is in the database as a hash alone, and never in the log", async () => {
    const token = tokenOf(await signIn());
    expect((await floe.request("GET", "/v1/products/", { token })).status).toBe(200);
    await floe.request("POST", "/api/auth/change-email", { token, body: "not json" });
    await floe.request("GET", "/v1/nothing-of-the-kind/", { token });
    const tables = await floe.deps.db.execute(`select * from session`);
    expect(JSON.stringify(tables)).toContain("sha256:");
    expect(JSON.stringify(tables)).not.toContain(token);
    expect(floe.logged.join("\n")).not.toContain(token);
  });
});

describe("under https", () => {
  let shop: Floe;
  beforeAll(async () => {
    shop = await start({ settings: { FLOE_URL: "https://shop.example", HOST: "0.0.0.0" } });
  });
  afterAll(() => shop?.close());

  test("cookies are Secure and named so, and what they sign in is accepted everywhere", async () => {
    const { email, password } = await shop.seller();
    const headers = { origin: "https://shop.example" };
    const signed = await shop.request("POST", "/api/auth/sign-in/email", { body: { email, password }, headers });
    const cookies = [signed.headers["set-cookie"] ?? []].flat().map(String);
    expect(cookies.length).toBeGreaterThanOrEqual(3);
    for (const cookie of cookies)
      expect(cookie).toMatch(/^__Host-floe\.\w+=(?!.*; Domain)(?=.*; Path=\/(;|$)).*; Secure/i);
    const cookie = cookies.map((one) => one.split(";")[0]).join("; ");
    const get = (path: string, more: Record<string, string>) =>
      shop.request("GET", path, { headers: { ...headers, ...more } });
    expect((await get("/v1/products/", { cookie })).status).toBe(200);
    expect((await get("/api/auth/list-sessions", { cookie })).status).toBe(200);
    const plain = cookie.replaceAll("__Host-", "");
    expect((await get("/v1/products/", { cookie: plain })).status).toBe(401);
    expect((await get("/api/auth/list-sessions", { cookie: plain })).status).toBe(401);
  });
});
