import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { startServices } from "../support/oauth-stand-in.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

let floe: Accounts;
let services: Awaited<ReturnType<typeof startServices>>;
let ada: Visitor;
/** A name that nobody has. */
let name: string;

const password = "a fine long password 7";
const post = (who: Visitor, path: string, body: unknown) => who.go("POST", `/api/auth/${path}`, { body });
const signUp = (who: Visitor, more: Record<string, unknown> = {}) =>
  post(who, "sign-up/email", { name: "Ada", email: `${newId().slice(-12)}@example.com`, password, ...more });
const signIn = (username: unknown, given: unknown = password, more = {}) =>
  post(visitor(floe.url), "sign-in/username", { username, password: given, ...more });
const isFree = (username: unknown) => post(visitor(floe.url), "is-username-available", { username });
const wrong = {
  status: 401,
  json: { code: "INVALID_USERNAME_OR_PASSWORD", message: "Invalid username or password" },
};

beforeAll(async () => {
  services = await startServices();
  floe = await startAccounts({ TRUST_PROXY: "127.0.0.1", ...services.settings }, {}, { productionPasswords: true });
});
beforeEach(() => {
  ada = visitor(floe.url);
  name = `Ada_${newId().slice(-12)}`;
});
afterAll(async () => {
  await floe.close();
  await services.stop();
});

describe("a name to sign in by", () => {
  test("is given on sign-up, kept in small letters, and shown as it was written", async () => {
    expect(await signUp(ada, { username: name })).toMatchObject({
      status: 200,
      json: { user: { username: name.toLowerCase(), displayUsername: name } },
    });
    for (const written of [name, name.toUpperCase()])
      expect(await signIn(written)).toMatchObject({
        status: 200,
        json: { redirect: false, token: expect.any(String), user: { username: name.toLowerCase() } },
      });
  });

  test("leads where the page asks, and lasts as it asks", async () => {
    await signUp(ada, { username: name });
    const answer = await signIn(name, password, { callbackURL: "/home", rememberMe: false });
    expect(answer.json).toMatchObject({ redirect: true, url: "/home" });
    expect(answer.cookies.find((one) => one.startsWith("floe.session_token="))).not.toContain("Max-Age");
    expect((await signIn(name, password, { callbackURL: "https://evil.example.com" })).status).toBe(403);
  });

  test("can be changed to one that is free; the old one is free then", async () => {
    await signUp(ada, { username: name });
    expect((await post(ada, "update-user", { username: `${name}2` })).status).toBe(200);
    expect((await ada.go("GET", "/api/auth/get-session?disableCookieCache=true")).json).toMatchObject({
      user: { username: `${name}2`.toLowerCase() },
    });
    expect((await isFree(name)).json).toEqual({ available: true });
    expect(await signIn(name)).toMatchObject(wrong);
    expect((await signIn(`${name}2`)).status).toBe(200);
  });

  test("is one person's, in any letters, and by two at once too", async () => {
    await signUp(ada, { username: name });
    expect((await isFree(name.toUpperCase())).json).toEqual({ available: false });
    const taken = { status: 400, json: { code: "USERNAME_IS_ALREADY_TAKEN" } };
    expect(await signUp(visitor(floe.url), { username: name.toUpperCase() })).toMatchObject(taken);
    const other = visitor(floe.url);
    await signUp(other);
    expect(await post(other, "update-user", { username: name })).toMatchObject(taken);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => signUp(visitor(floe.url), { username: `${name}3` })),
    );
    expect(answers.filter((one) => one.status === 200)).toHaveLength(1);
    expect(answers.every((one) => one.status < 500)).toBe(true);
    expect(await floe.deps.db.$count(user, eq(user.username, `${name}3`.toLowerCase()))).toBe(1);
  });

  test.each([
    ["too short", "ab", "USERNAME_TOO_SHORT"],
    ["too long", "a".repeat(31), "USERNAME_TOO_LONG"],
    ["of other signs", "ada lovelace", "INVALID_USERNAME"],
    ["of letters that look like others", "аda_lovelace", "INVALID_USERNAME"],
  ])("is refused when it is %s", async (_why, given, code) => {
    expect(await signUp(ada, { username: given })).toMatchObject({ status: 400, json: { code } });
    expect(await isFree(given)).toMatchObject({ json: { code } });
    expect((await isFree(given)).status).toBe(422);
    expect(await signIn(given)).toMatchObject({ status: 422, json: { code } });
  });

  test.each(["abc", "a".repeat(30), "a.b_c9"])("may be %s", async (given) => {
    expect((await isFree(given)).json).toEqual({ available: true });
  });
});

describe("who guesses a name learns nothing", () => {
  test("a wrong password, an unknown name and a name without a password answer the same, in the same time", async () => {
    await signUp(ada, { username: name });
    const social = visitor(floe.url);
    Object.assign(services.state.discord, { id: newId(), email: `${newId().slice(-12)}@example.com` });
    await social.signIn("discord");
    expect((await post(social, "update-user", { username: `${name}_s` })).status).toBe(200);
    // The work of this process, which others on the machine do not change: a password is hashed, or it is not.
    const work = new Map([name, `${name}_u`, `${name}_s`].map((given) => [given, Number.POSITIVE_INFINITY]));
    for (let tries = 0; tries < 4; tries += 1)
      for (const [given, least] of work) {
        const before = process.cpuUsage();
        const { status, json } = await signIn(given, "not the password");
        const { user: own, system } = process.cpuUsage(before);
        work.set(given, Math.min(least, own + system));
        expect({ status, json }).toEqual(wrong);
      }
    const [known = 0, ...others] = work.values();
    for (const one of others) {
      expect(one / known).toBeGreaterThan(0.6);
      expect(one / known).toBeLessThan(1.7);
    }
  });

  test.each([
    ["no name", { password }],
    ["no password", { username: "somebody" }],
    ["an empty password", { username: "somebody", password: "" }],
  ])("%s is refused", async (_why, body) => {
    const { status } = await post(visitor(floe.url), "sign-in/username", body);
    expect([400, 401]).toContain(status);
  });
});
