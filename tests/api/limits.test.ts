import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { accountCleanup } from "../../server/identity/accounts/jobs.ts";
import { verification } from "../../server/identity/accounts/tables.ts";
import { attempts } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { createLimiter } from "../../server/platform/limits/attempts.ts";
import { countInMemory } from "../../server/platform/limits/limits.ts";
import { newAddress } from "../support/accounts.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { atOnce, startOnPostgres } from "../support/races.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());

const minute = { max: 3, window_seconds: 60 };
const backoff = { free: 5, longest_seconds: 900 };

describe("a limit", () => {
  test("lets through as many as it says, tells how long to wait, and opens again by our clock", async () => {
    const { hit } = createLimiter(floe.deps);
    const waits = [];
    for (let i = 0; i < 5; i += 1) waits.push(await hit("test:a", minute));
    expect(waits).toEqual([0, 0, 0, 60, 60]);
    expect(await hit("test:b", minute)).toBe(0);
    floe.clock.advance(59_500);
    expect(await hit("test:a", minute)).toBe(1);
    floe.clock.advance(500);
    expect(await hit("test:a", minute)).toBe(0);
  });

  test("what is counted for cannot be read in the table, and goes when its time is over", async () => {
    await createLimiter(floe.deps).hit("mail:somebody@example.com", minute);
    const rows = await floe.deps.db.select().from(attempts);
    expect(JSON.stringify(rows)).not.toContain("somebody");
    expect(rows.some(({ key }) => /^mail:[0-9a-f]{32}$/.test(key))).toBe(true);
    floe.clock.advance(61_000);
    expect(await runWorkers(floe.deps, accountCleanup)).toBeGreaterThan(0);
    expect(await floe.deps.db.select().from(attempts)).toHaveLength(0);
  });
});

describe("a guesser", () => {
  test("waits from the sixth try on: 1 s, doubling up to the longest", async () => {
    const { guess } = createLimiter(floe.deps);
    for (let i = 0; i < 5; i += 1) expect(await guess("guess:a", backoff)).toBe(0);
    const waits = [];
    for (let i = 0; i < 13; i += 1) {
      const wait = await guess("guess:a", backoff);
      waits.push(wait);
      expect(await guess("guess:a", backoff), "asking meanwhile costs nothing").toBe(wait);
      floe.clock.advance(wait * 1000);
      expect(await guess("guess:a", backoff)).toBe(0);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
  });

  test("who was right starts anew", async () => {
    const { guess, forget } = createLimiter(floe.deps);
    for (let i = 0; i < 5; i += 1) await guess("guess:b", backoff);
    expect(await guess("guess:b", backoff)).toBe(1);
    await forget("guess:b");
    expect(await guess("guess:b", backoff)).toBe(0);
  });

  test("waits a day from the hundredth wrong guess in a row on, and starts anew after a week of quiet (NIST)", async () => {
    const { guess } = createLimiter(floe.deps);
    for (let i = 0; i < 100; i += 1) {
      expect(await guess("guess:c", backoff)).toBe(0);
      if (i < 99) floe.clock.advance(900_000);
    }
    expect(await guess("guess:c", backoff)).toBe(86_400);
    floe.clock.advance(8 * 86_400_000);
    for (let i = 0; i < 5; i += 1) expect(await guess("guess:c", backoff)).toBe(0);
    expect(await guess("guess:c", backoff)).toBe(1);
  });
});

describe("the limit of everything else", () => {
  test("counts in this process, each address by itself, and forgets", () => {
    const count = countInMemory(floe.clock);
    for (let i = 0; i < 3; i += 1) expect(count("a", minute)).toBe(0);
    expect(count("a", minute)).toBeGreaterThan(0);
    expect(count("b", minute)).toBe(0);
    floe.clock.advance(60_000);
    expect(count("a", minute)).toBe(0);
  });
});

/** What a mailed link carries: its token, for this person. */
async function allowReset({ deps }: Floe, user_id: string, token: string): Promise<void> {
  const identifier = createHash("sha256").update(`reset-password:${token}`).digest("base64url");
  const expiresAt = new Date(Date.now() + 3_600_000);
  const stamps = { createdAt: new Date(), updatedAt: new Date() };
  await deps.db.insert(verification).values({ id: newId(), identifier, value: user_id, expiresAt, ...stamps });
}

type Answer = Awaited<ReturnType<Floe["request"]>>;
const refusal = { code: "TOO_MANY_REQUESTS", message: "Too many requests" };
const expectRefused = (answer: Answer) => {
  expect([answer.status, answer.json]).toEqual([429, refusal]);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
  expect(answer.headers["content-type"]).toContain("application/json");
};

describe("by address", () => {
  /** Ways to sign in that fail for reasons of their own, until one is refused for its address. */
  async function triesOf(at: Floe, from: (n: number) => Record<string, string>): Promise<number> {
    for (let n = 0; n < 60; n += 1) {
      const path = n % 2 ? "/sign-in/social" : "/sign-in/username";
      const answer = await at.request("POST", `/api/auth${path}`, { body: {}, headers: from(n) });
      if (answer.status !== 429) continue;
      expectRefused(answer);
      return n;
    }
    return Number.POSITIVE_INFINITY;
  }

  test("a forged X-Forwarded-For changes nothing where no proxy is trusted", async () => {
    const plain = await start();
    try {
      const forged = (n: number) => ({ "x-forwarded-for": `203.0.113.${n}`, "x-client-ip": `203.0.113.${n}` });
      expect(await triesOf(plain, forged)).toBe(30);
    } finally {
      await plain.close();
    }
  });

  describe("behind a proxy", () => {
    let proxied: Floe;
    beforeAll(async () => {
      proxied = await start({ settings: { TRUST_PROXY: "127.0.0.1, 10.0.0.0/8" } });
    });
    afterAll(() => proxied?.close());

    test("only the right-most hop that is not a proxy counts, whatever stands before it", async () => {
      const behind = (n: number) => ({ "x-forwarded-for": `203.0.113.${n}, 198.51.100.7, 10.1.2.3` });
      expect(await triesOf(proxied, behind)).toBe(30);
      expect(await triesOf(proxied, (n) => ({ "x-forwarded-for": `198.51.101.${n}` }))).toBe(Number.POSITIVE_INFINITY);
    });

    test("rotating through one's /64 or spelling the address otherwise passes nothing (CVE-2026-45364)", async () => {
      const rotating = (n: number) => ({ "x-forwarded-for": `2001:DB8:0:7::${(n + 1).toString(16)}` });
      expect(await triesOf(proxied, rotating)).toBe(30);
      const dressed = (n: number) => ({ "x-forwarded-for": n % 2 ? "192.0.2.9" : "::ffff:192.0.2.9" });
      expect(await triesOf(proxied, dressed)).toBe(30);
    });

    test.each(["/sign-in/email/", "//sign-in/email", "/sign-in/%65mail", "/Sign-In/email"])(
      "%s counts as /sign-in/email",
      async (path) => {
        const headers = { "x-forwarded-for": newAddress() };
        for (let n = 0; n < 30; n += 1)
          await proxied.request("POST", "/api/auth/sign-in/social", { body: {}, headers });
        expectRefused(await proxied.request("POST", `/api/auth${path}`, { body: {}, headers }));
      },
    );

    test.each([
      ["/sign-up/email", 30],
      ["/forget-password", 30],
      ["/send-verification-email", 30],
      ["/change-email", 30],
      ["/change-password", 30],
      ["/delete-user", 30],
      ["/reset-password", 30],
      ["/is-username-available", 30],
      ["/verify-password", 30],
      ["/api-key/create", 300],
      ["/organization/create", 300],
    ])("%s is refused from the %i. call of a minute on", async (path, max) => {
      const headers = { "x-forwarded-for": newAddress() };
      const calls = Array.from({ length: max }, () =>
        proxied.request("POST", `/api/auth${path}`, { body: {}, headers }),
      );
      for (const { status } of await Promise.all(calls)) expect(status).not.toBe(429);
      expectRefused(await proxied.request("POST", `/api/auth${path}`, { body: {}, headers }));
      proxied.clock.advance(10 * 60_000);
      expect((await proxied.request("POST", `/api/auth${path}`, { body: {}, headers })).status).not.toBe(429);
    });

    test("opening checkouts is refused from the 61st of a minute on, by address; whoever is signed in counts alone", async () => {
      const headers = { "x-forwarded-for": newAddress() };
      const buy = (more: object = {}) => proxied.request("GET", "/buy/nobody", { headers: { ...headers, ...more } });
      const ask = (more: object = {}) =>
        proxied.request("POST", "/api/auth/checkout", { body: { slug: "nothing" }, headers, ...more });
      for (let n = 0; n < 30; n += 1) {
        expect((await buy()).status).toBe(404);
        expect((await ask()).status).toBe(400);
      }
      const refused = await buy();
      expect([refused.status, (refused.json as { error: string }).error]).toEqual([429, "TooManyRequests"]);
      expect(refused.headers["retry-after"]).toBe("61");
      const page = await buy({ accept: "text/html" });
      expect([page.status, page.headers["content-type"]]).toEqual([429, "text/plain; charset=utf-8"]);
      expect(page.text).toContain("Try again in 61 s");
      const session = await ask();
      expect(session.json).toMatchObject({ code: "TOO_MANY_REQUESTS" });
      expect([session.status, session.headers["retry-after"]]).toEqual([429, "61"]);
      const person = await proxied.seller("person");
      expect((await ask({ token: person.session })).status).toBe(400);
      expect((await buy({ "x-forwarded-for": newAddress() })).status).toBe(404);
      proxied.clock.advance(60_000);
      expect((await buy()).status).toBe(404);
    });
  });
});

describe("by account", () => {
  let open: Floe;
  beforeAll(async () => {
    open = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  });
  afterAll(() => open?.close());

  test("asking who is signed in writes nothing", async () => {
    const seller = await open.seller();
    const before = await open.deps.db.select().from(attempts);
    await open.request("GET", "/api/auth/get-session", { token: seller.session });
    expect(await open.deps.db.select().from(attempts)).toEqual(before);
  });

  const ask = (path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    open.request("POST", `/api/auth${path}`, {
      body,
      headers: { origin: open.url, "x-forwarded-for": newAddress(), ...headers },
    });
  const signIn = (email: string, password: string, cookie?: string) =>
    ask("/sign-in/email", { email, password }, cookie === undefined ? {} : { cookie });
  const statuses = async (times: number, call: () => Promise<Answer>) => {
    const seen = [];
    for (let n = 0; n < times; n += 1) seen.push((await call()).status);
    return seen;
  };
  const cookieOf = (answer: Answer, name: string) =>
    [answer.headers["set-cookie"] ?? []]
      .flat()
      .map((one) => String(one).split(";")[0] ?? "")
      .find((one) => one.startsWith(`${name}=`)) ?? "";

  test("five wrong passwords from anywhere: then the right one waits too, as for an account that does not exist", async () => {
    const { email, password } = await open.seller();
    const nobody = "nobody-at-all@example.com";
    const wrong = [401, 401, 401, 401, 401, 429];
    expect(await statuses(6, () => signIn(email.toUpperCase(), "wrong wrong"))).toEqual(wrong);
    expect(await statuses(6, () => signIn(nobody, "wrong wrong"))).toEqual(wrong);
    const [right, unknown] = [await signIn(email, password), await signIn(nobody, password)];
    expectRefused(right);
    expect([unknown.json, unknown.headers["retry-after"]]).toEqual([right.json, right.headers["retry-after"]]);
    open.clock.advance(1000);
    expect((await signIn(email, password)).status).toBe(200);
    expect(await statuses(5, () => signIn(email, "wrong wrong")), "a right password starts anew").not.toContain(429);
  });

  test("the right password of an address that waits to be confirmed is no guess", async () => {
    const strict = await start({ settings: { FLOE_EMAIL_VERIFICATION: "required" } });
    const body = { email: `waiting-${newId()}@example.com`, password: "correct horse waits", name: "Waiting" };
    await strict.request("POST", "/api/auth/sign-up/email", { body });
    const statuses = [];
    for (let i = 0; i < 7; i += 1)
      statuses.push((await strict.request("POST", "/api/auth/sign-in/email", { body })).status);
    await strict.close();
    expect(new Set(statuses)).toEqual(new Set([403]));
  });

  test("a username is the same account as its address", async () => {
    const { email, session, password } = await open.seller();
    const named = await open.request("POST", "/api/auth/update-user", {
      token: session,
      body: { username: "ada_lov" },
    });
    expect(named.status).toBe(200);
    for (let n = 0; n < 3; n += 1) await signIn(email, "wrong wrong");
    for (let n = 0; n < 2; n += 1) await ask("/sign-in/username", { username: "Ada_Lov", password: "wrong wrong" });
    expectRefused(await ask("/sign-in/username", { username: "ada_lov", password }));
    expectRefused(await signIn(email, password));
  });

  test("a form counts as JSON does", async () => {
    const { email } = await open.seller();
    const headers = { "content-type": "application/x-www-form-urlencoded", origin: open.url };
    const form = () =>
      open.request("POST", "/api/auth/sign-in/email", {
        body: new URLSearchParams({ email, password: "wrong wrong" }).toString(),
        headers: { ...headers, "x-forwarded-for": newAddress() },
      });
    expect(await statuses(6, form)).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test("a browser that the account knows is not locked out by a stranger, and a stranger's cookie is not known", async () => {
    const [victim, attacker] = [await open.seller(), await open.seller()];
    const known = cookieOf(await signIn(victim.email, victim.password), "floe.known");
    const foreign = cookieOf(await signIn(attacker.email, attacker.password), "floe.known");
    expect(known).toMatch(/^floe\.known=.{40,}$/);
    for (let n = 0; n < 5; n += 1) await signIn(victim.email, "wrong wrong");
    expectRefused(await signIn(victim.email, victim.password));
    expectRefused(await signIn(victim.email, victim.password, foreign));
    expectRefused(await signIn(victim.email, victim.password, known.replace(/.{4}$/, "AAA%3D")));
    expect((await signIn(victim.email, victim.password, known)).status).toBe(200);
    // It has a count of its own, and does not open the account to others.
    expectRefused(await signIn(victim.email, victim.password));
    expect(await statuses(6, () => signIn(victim.email, "wrong wrong", known))).toContain(429);
  });

  test("a browser knows several accounts, and says nothing of them to who reads the cookie", async () => {
    const [one, two] = [await open.seller(), await open.seller()];
    const first = cookieOf(await signIn(one.email, one.password), "floe.known");
    const both = cookieOf(await signIn(two.email, two.password, first), "floe.known");
    for (const { email, password } of [one, two]) {
      for (let n = 0; n < 5; n += 1) await signIn(email, "wrong wrong");
      expect((await signIn(email, password, both)).status).toBe(200);
    }
    for (const { user_id, email } of [one, two]) expect(decodeURIComponent(both)).not.toMatch(`${user_id}|${email}`);
  });

  test("a new password by mail ends the wait, on a known browser too", async () => {
    const { email, user_id, password } = await open.seller();
    const known = cookieOf(await signIn(email, password), "floe.known");
    for (let n = 0; n < 6; n += 1) await signIn(email, "wrong wrong");
    for (let n = 0; n < 6; n += 1) await signIn(email, "wrong wrong", known);
    expectRefused(await signIn(email, password));
    expectRefused(await signIn(email, password, known));
    const token = "a token for a password, 1";
    await allowReset(open, user_id, token);
    const reset = await ask("/reset-password", { token, newPassword: "another horse entirely" });
    expect([reset.status, reset.json]).toEqual([200, { status: true }]);
    expect((await signIn(email, "another horse entirely")).status).toBe(200);
    expect((await signIn(email, "another horse entirely", known)).status).toBe(200);
  });

  test("who holds a session guesses its password no faster", async () => {
    const { session, password } = await open.seller();
    const change = (currentPassword: string) =>
      open.request("POST", "/api/auth/change-password", {
        token: session,
        body: { currentPassword, newPassword: "another horse entirely" },
      });
    expect(await statuses(6, () => change("wrong wrong"))).toEqual([400, 400, 400, 400, 400, 429]);
    expectRefused(await change(password));
    open.clock.advance(1000);
    expect((await change(password)).status).toBe(200);
    expect(await statuses(4, () => change("wrong wrong")), "starts anew").toEqual([400, 400, 400, 400]);
  });

  test("nobody has more than twenty mails an hour sent to one address, known or not", async () => {
    const { email } = await open.seller();
    for (const to of [email, "stranger@example.com"]) {
      const asked = Array.from({ length: 21 }, () => ask("/request-password-reset", { email: to }));
      const seen = (await Promise.all(asked)).map(({ status }) => status);
      expect(seen.sort()).toEqual([...Array(20).fill(200), 429]);
      expect((await ask("/request-password-reset", { email: to.toUpperCase() })).status).toBe(429);
    }
    const rows = JSON.stringify(await open.deps.db.select().from(attempts));
    expect(rows).not.toMatch(/@|seller|stranger/);
  });

  test("a mail of another kind does not count, so that a new account is told by nothing; strangers keep no owner out", async () => {
    const account = { name: "New", email: "new-account@example.com", password: "correct horse 77" };
    const signed = await ask("/sign-up/email", account);
    expect(signed.status).toBe(200);
    const tries = Array.from({ length: 21 }, () => ask("/request-password-reset", { email: account.email }));
    const seen = (await Promise.all(tries)).map(({ status }) => status);
    expect(seen.sort()).toEqual([...Array(20).fill(200), 429]);
    const cookie = cookieOf(signed, "floe.known");
    expect((await ask("/request-password-reset", { email: account.email }, { cookie })).status).toBe(200);
  });
});

describe("on PostgreSQL, with 50 at once", () => {
  let shared: Floe;
  let url: string;
  beforeAll(async () => {
    shared = await startOnPostgres({ settings: { TRUST_PROXY: "127.0.0.1" } });
    url = String(shared.deps.config.DATABASE_URL);
  });
  afterAll(() => shared?.close());
  const through = async (tries: () => Promise<number>) => (await atOnce(50, tries)).filter((wait) => wait === 0).length;

  test("exactly as many get through as the limit says", async () => {
    const { hit, guess } = createLimiter(shared.deps);
    expect(await through(() => hit("race:a", { max: 7, window_seconds: 60 }))).toBe(7);
    expect(await through(() => guess("race:b", backoff))).toBe(5);
  });

  test("of 50 wrong passwords five reach the check of the password, and each server counts the others' tries", async () => {
    const other = await start({ databaseUrl: url, settings: { TRUST_PROXY: "127.0.0.1" } });
    other.clock.time = shared.clock.time;
    try {
      const { email, password } = await shared.seller();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          (n % 2 ? shared : other).request("POST", "/api/auth/sign-in/email", {
            body: { email, password: n < 25 ? "wrong wrong" : `wrong ${password}` },
            headers: { "x-forwarded-for": newAddress() },
          }),
        ),
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(45);
    } finally {
      await other.close();
    }
  });
});
