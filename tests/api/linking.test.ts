import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { account, session, user } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { mailsTo } from "../support/mails.ts";
import { startOpenId, startServices } from "../support/oauth-stand-in.ts";
import { startOnPostgres } from "../support/races.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

let floe: Accounts;
let services: Awaited<ReturnType<typeof startServices>>;
let openid: Awaited<ReturnType<typeof startOpenId>>;
let alice: Visitor;
let email: string;

const password = "a fine long password 7";
const settings = () => ({ TRUST_PROXY: "127.0.0.1", ...services.settings, ...openid.settings });

/** Somebody with a password, signed in, whose accounts at the services have the same address. */
async function newPerson(at: Accounts): Promise<Visitor> {
  const person = visitor(at.url);
  const id = newId();
  email = `${id.slice(-12)}@example.com`;
  openid.state.claims = { sub: id, email, email_verified: true, name: "Ada" };
  openid.state.userinfo = {};
  Object.assign(services.state.github, {
    id: Math.trunc(Math.random() * 1e9),
    emails: [{ email, primary: true, verified: true, visibility: null }],
  });
  Object.assign(services.state.discord, { id: `8${id}`, email, verified: true });
  const answer = await person.go("POST", "/api/auth/sign-up/email", { body: { name: "Ada", email, password } });
  if (answer.status !== 200) throw new Error(answer.text);
  return person;
}

beforeAll(async () => {
  services = await startServices();
  openid = await startOpenId({});
  floe = await startAccounts(settings());
});
beforeEach(async () => {
  alice = await newPerson(floe);
});
afterAll(async () => {
  await floe.close();
  await Promise.all([services.stop(), openid.stop()]);
});

type Listed = { id: string; providerId: string; accountId: string; scopes: string[] };
const listOf = async (person: Visitor): Promise<Listed[]> => (await person.go("GET", "/api/auth/list-accounts")).json;
const providersOf = async (person: Visitor) => (await listOf(person)).map((one) => one.providerId).sort();
const errorOf = (location: URL | undefined) => location && [location.pathname, location.searchParams.get("error")];
const post = (path: string, body: unknown, person = alice) => person.go("POST", `/api/auth/${path}`, { body });

describe("linking", () => {
  test("adds a service to the account, by which one is the same person", async () => {
    const { location } = await alice.link("github", { callbackURL: "/account" });
    expect(location?.href).toBe(`${floe.url}/account`);
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
    expect((await mailsTo(floe, email)).map(({ subject }) => subject)).toContain(
      "A service was linked to your account",
    );
    const again = visitor(floe.url);
    await again.signIn("github");
    expect((await again.me())?.user.id).toBe((await alice.me())?.user.id);
  });

  test("list-accounts tells each with its scopes in an array, and no secret", async () => {
    await alice.link("github", { scopes: ["repo"] });
    const found = (await listOf(alice)).find((one) => one.providerId === "github");
    expect(found).toMatchObject({
      id: expect.any(String),
      accountId: String(services.state.github.id),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      scopes: ["read:user", "user:email", "repo"],
    });
    expect(Object.keys(found ?? {}).filter((name) => /token|password/i.test(name))).toEqual([]);
  });

  test("linking again adds scopes to the same account", async () => {
    await alice.link("github");
    await alice.link("github", { scopes: ["repo"] });
    const linked = (await listOf(alice)).filter((one) => one.providerId === "github");
    expect(linked.map((one) => one.scopes)).toEqual([["read:user", "user:email", "repo"]]);
  });

  test("by an ID token answers status", async () => {
    const body = { provider: "acme", idToken: { token: await openid.token() } };
    expect(await post("link-social", body)).toMatchObject({ status: 200, json: { status: true, redirect: false } });
    expect(await providersOf(alice)).toEqual(["acme", "credential"]);
  });

  test("is for whoever is signed in", async () => {
    expect((await post("link-social", { provider: "github" }, visitor(floe.url))).status).toBe(401);
  });
});

describe("linking is refused", () => {
  test("by a token that was issued to another client, and so is signing in", async () => {
    openid.state.claims.azp = "another-client";
    const body = { provider: "acme", idToken: { token: await openid.token() } };
    expect((await post("link-social", body)).status).toBe(401);
    expect((await post("sign-in/social", body, visitor(floe.url))).status).toBe(401);
    expect(errorOf((await alice.link("acme")).location)?.[0]).toBe("/error");
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("where it was begun before the password was changed", async () => {
    const newPassword = "another long password 8";
    const back = await alice.agree(
      await alice.ask("/api/auth/link-social", { provider: "github", callbackURL: "/home" }),
    );
    const changed = await post("change-password", { currentPassword: password, newPassword });
    expect(changed.status).toBe(200);
    expect(errorOf((await alice.go("GET", back.href)).location)?.[0]).toBe("/error");
    expect(await providersOf(alice)).toEqual(["credential"]);
    // One that is begun afterwards is as any other.
    await alice.link("github");
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
  });

  test("to an address that the service has not proved", async () => {
    Object.assign(services.state.discord, { verified: false });
    expect(errorOf((await alice.link("discord")).location)).toEqual(["/error", "unable_to_link_account"]);
    openid.state.claims.email_verified = false;
    const answer = await post("link-social", { provider: "acme", idToken: { token: await openid.token() } });
    expect(answer).toMatchObject({ status: 401, json: { message: "Account not linked - linking not allowed" } });
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("to another address than one's own", async () => {
    services.state.discord.email = `other-${email}`;
    expect(errorOf((await alice.link("discord")).location)).toEqual(["/error", "email_doesn't_match"]);
    openid.state.claims.email = `other-${email}`;
    const answer = await post("link-social", { provider: "acme", idToken: { token: await openid.token() } });
    expect(answer).toMatchObject({
      status: 401,
      json: { message: "Account not linked - different emails not allowed" },
    });
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("to an account that is somebody else's", async () => {
    await alice.link("github");
    await alice.link("acme");
    const [linked, claims] = [services.state.github.id, openid.state.claims];
    const bob = await newPerson(floe);
    services.state.github.id = linked;
    openid.state.claims = { ...claims, email };
    expect(errorOf((await bob.link("github", { errorCallbackURL: "/account" })).location)).toEqual([
      "/account",
      "account_already_linked_to_different_user",
    ]);
    const answer = await post("link-social", { provider: "acme", idToken: { token: await openid.token() } }, bob);
    expect(answer).toMatchObject({ status: 409, json: { code: "SOCIAL_ACCOUNT_ALREADY_LINKED" } });
    expect(await providersOf(bob)).toEqual(["credential"]);
  });
});

describe("an account that somebody made with an address and never proved", () => {
  test("is not joined by a sign-in with a service, and its person keeps what is theirs", async () => {
    const owner = visitor(floe.url);
    await owner.signIn("github");
    expect(await owner.me()).toBeNull();
    expect(await alice.me()).not.toBeNull();
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("stays as it is where the service has not proved the address, and where its own person links the service", async () => {
    Object.assign(services.state.discord, { verified: false });
    await visitor(floe.url).signIn("discord");
    expect(await alice.me()).not.toBeNull();
    await alice.link("github");
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
    expect((await post("sign-in/email", { email, password }, visitor(floe.url))).status).toBe(200);
  });

  test("keeps its password once the address is confirmed", async () => {
    await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.email, email));
    await visitor(floe.url).signIn("github");
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
  });
});

describe("where the settings allow more", () => {
  let open: Accounts;
  beforeAll(async () => {
    open = await startAccounts({
      ...settings(),
      FLOE_LINK_DIFFERENT_EMAILS: "true",
      FLOE_TRUSTED_PROVIDERS: "discord",
      FLOE_SOCIAL_SIGN_UP: "requested",
    });
  });
  afterAll(() => open.close());

  test("another address is linked, and a trusted service's unproved one; the address of the account stays", async () => {
    const bob = await newPerson(open);
    const own = email;
    Object.assign(services.state.discord, { verified: false, email: `other-${email}` });
    expect((await bob.link("discord")).location?.pathname).toBe("/home");
    expect(await providersOf(bob)).toEqual(["credential", "discord"]);
    expect((await bob.me())?.user).toMatchObject({ email: own, emailVerified: false });
    Object.assign(services.state.github, {
      emails: [{ email: `other-${email}`, primary: true, verified: false, visibility: null }],
    });
    expect(errorOf((await bob.link("github")).location)).toEqual(["/error", "unable_to_link_account"]);
  });

  test("an account is made only where the page asks for it (requestSignUp)", async () => {
    Object.assign(services.state.discord, { id: newId(), email: `new-${newId()}@example.com` });
    const bob = visitor(open.url);
    expect(errorOf((await bob.signIn("discord")).location)).toEqual(["/error", "signup_disabled"]);
    expect((await bob.signIn("discord", { requestSignUp: true })).location?.pathname).toBe("/home");
    expect((await visitor(open.url).signIn("discord")).location?.pathname).toBe("/home");
    openid.state.claims = { sub: newId(), email: `${newId()}@example.com`, email_verified: true };
    const idToken = { token: await openid.token() };
    const body = { provider: "acme", idToken };
    expect(await post("sign-in/social", body, visitor(open.url))).toMatchObject({ status: 401 });
    expect(await post("sign-in/social", { ...body, requestSignUp: true }, visitor(open.url))).toMatchObject({
      status: 200,
    });
  });

  test("and nowhere where it is closed", async () => {
    const closed = await startAccounts({ ...settings(), FLOE_SOCIAL_SIGN_UP: "closed" });
    try {
      Object.assign(services.state.discord, { id: newId(), email: `new-${newId()}@example.com`, verified: true });
      const more = { requestSignUp: true };
      expect(errorOf((await visitor(closed.url).signIn("discord", more)).location)).toEqual([
        "/error",
        "signup_disabled",
      ]);
      openid.state.claims = { sub: newId(), email: `${newId()}@example.com`, email_verified: true };
      const body = { provider: "acme", idToken: { token: await openid.token() }, ...more };
      expect(await post("sign-in/social", body, visitor(closed.url))).toMatchObject({ status: 401 });
    } finally {
      await closed.close();
    }
  });
});

describe("unlinking", () => {
  test.each([
    ["the provider", (one: Listed) => ({ providerId: one.providerId })],
    ["the provider and its account", (one: Listed) => ({ providerId: one.providerId, accountId: one.accountId })],
    ["the account's id", (one: Listed) => ({ accountId: one.id })],
  ])("by %s", async (_name, bodyOf) => {
    await alice.link("github");
    const linked = (await listOf(alice)).find((one) => one.providerId === "github");
    if (!linked) throw new Error("It is not linked.");
    expect(await post("unlink-account", bodyOf(linked))).toMatchObject({ status: 200, json: { status: true } });
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("the last account stays", async () => {
    expect(await post("unlink-account", { providerId: "credential" })).toMatchObject({
      status: 400,
      json: { message: "You can't unlink your last account" },
    });
    expect(await providersOf(alice)).toEqual(["credential"]);
  });

  test("an account with a service that is not set up any more is no way to sign in", async () => {
    const id = String((await alice.me())?.user.id);
    const now = new Date();
    const row = { id: newId(), userId: id, providerId: "gone", accountId: newId(), createdAt: now, updatedAt: now };
    await floe.deps.db.insert(account).values(row);
    expect((await post("unlink-account", { providerId: "credential" })).status).toBe(400);
    expect((await post("unlink-account", { providerId: "gone" })).status).toBe(200);
  });

  test("one that is not there, or is another's, is 400", async () => {
    await alice.link("github");
    const bob = await newPerson(floe);
    const [hers] = (await listOf(alice)).filter((one) => one.providerId === "github");
    await bob.link("github");
    for (const body of [
      { providerId: "discord" },
      { accountId: hers?.id },
      { providerId: "github", accountId: hers?.id },
    ])
      expect(await post("unlink-account", body, bob)).toMatchObject({
        status: 400,
        json: { code: "ACCOUNT_NOT_FOUND", message: "Account not found" },
      });
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
  });

  test("asks for a fresh session", async () => {
    await alice.link("github");
    const id = String((await alice.me())?.user.id);
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await floe.deps.db.update(session).set({ createdAt: old }).where(eq(session.userId, id));
    expect(await post("unlink-account", { providerId: "github" })).toMatchObject({
      status: 400,
      json: { message: "Session is not fresh" },
    });
    expect(await providersOf(alice)).toEqual(["credential", "github"]);
  });

  test("of two accounts unlinked at once, one stays", async () => {
    const races = await startOnPostgres();
    try {
      const { deps } = races;
      const seller = await races.seller();
      for (let round = 0; round < 10; round += 1) {
        await deps.db.delete(account).where(eq(account.userId, seller.user_id));
        const now = new Date();
        const rows = ["credential", "credential"].map((providerId) => ({
          id: newId(),
          userId: seller.user_id,
          providerId,
          accountId: newId(),
          createdAt: now,
          updatedAt: now,
        }));
        await deps.db.insert(account).values(rows);
        const answers = await Promise.all(
          rows.map(({ id }) =>
            races.request("POST", "/api/auth/unlink-account", { token: seller.session, body: { accountId: id } }),
          ),
        );
        expect(answers.map((one) => one.status).sort()).toEqual([200, 400]);
        expect(await deps.db.$count(account, eq(account.userId, seller.user_id))).toBe(1);
      }
    } finally {
      await races.close();
    }
  });
});

describe("tokens of the services", () => {
  const rowOf = async (providerId: string) => {
    const id = String((await alice.me())?.user.id);
    const rows = await floe.deps.db.select().from(account).where(eq(account.userId, id));
    const row = rows.find((one) => one.providerId === providerId);
    if (!row) throw new Error("It is not linked.");
    return row;
  };
  const expireIn = async (id: string, ms: number) =>
    floe.deps.db
      .update(account)
      .set({ accessTokenExpiresAt: new Date(Date.now() + ms) })
      .where(eq(account.id, id));

  test("are kept encrypted, and read again as they were", async () => {
    await alice.link("acme");
    const row = await rowOf("acme");
    const { accessToken, idToken } = (await post("get-access-token", { providerId: "acme" })).json as Record<
      string,
      string
    >;
    const issued = [accessToken, idToken];
    for (const token of issued) expect(token).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    const kept = JSON.stringify(row);
    for (const token of [...issued, ...issued.map((one) => String(one).split(".")[1])])
      expect(kept).not.toContain(token);
    for (const column of [row.accessToken, row.refreshToken, row.idToken]) {
      expect(column).toEqual(expect.any(String));
      expect(column).not.toMatch(/^eyJ|^[0-9a-f]{8}-/);
    }
  });

  test("get-access-token answers the token, its end, its scopes and the ID token", async () => {
    await alice.link("acme");
    expect(await post("get-access-token", { providerId: "acme" })).toMatchObject({
      status: 200,
      json: {
        accessToken: expect.stringMatching(/^eyJ/),
        accessTokenExpiresAt: expect.any(String),
        scopes: expect.any(Array),
        idToken: expect.stringMatching(/^eyJ/),
      },
    });
  });

  test("one that runs out within 5 seconds is renewed, one that has longer is not", async () => {
    await alice.link("github");
    const row = await rowOf("github");
    const get = async () =>
      ((await post("get-access-token", { providerId: "github" })).json as { accessToken: string }).accessToken;
    const first = await get();
    await expireIn(row.id, 8000);
    expect(await get()).toBe(first);
    await expireIn(row.id, 4000);
    const renewed = await get();
    expect(renewed).not.toBe(first);
    expect(services.exchanges.at(-1)).toMatchObject({ grant_type: "refresh_token", refresh_token: expect.any(String) });
    // And the new refresh token is kept, for the next time: the old one is good once.
    await expireIn(row.id, 0);
    expect(await get()).not.toBe(renewed);
  });

  test("refresh-token answers a new set", async () => {
    await alice.link("github");
    const answer = await post("refresh-token", { providerId: "github", accountId: String(services.state.github.id) });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        accessToken: expect.stringMatching(/^gho_/),
        refreshToken: expect.stringMatching(/^ghr_/),
        providerId: "github",
      },
    });
  });

  test("what cannot be renewed is 400", async () => {
    await alice.link("github");
    const row = await rowOf("github");
    expect(await post("refresh-token", { providerId: "credential" })).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining("Provider credential ") },
    });
    await floe.deps.db.update(account).set({ refreshToken: null }).where(eq(account.id, row.id));
    expect(await post("refresh-token", { providerId: "github" })).toMatchObject({
      status: 400,
      json: { message: "Refresh token not found" },
    });
    await floe.deps.db.update(account).set({ refreshToken: "forged" }).where(eq(account.id, row.id));
    expect(await post("refresh-token", { providerId: "github" })).toMatchObject({
      status: 400,
      json: { message: "Failed to refresh access token" },
    });
    await expireIn(row.id, 0);
    expect(await post("get-access-token", { providerId: "github" })).toMatchObject({
      status: 400,
      json: { message: "Failed to get a valid access token" },
    });
  });

  test("account-info is what the service says now, by GET and by POST", async () => {
    await alice.link("github");
    services.state.github.name = "Renamed";
    const id = String(services.state.github.id);
    const wanted = {
      status: 200,
      json: {
        user: { name: "Renamed", email, emailVerified: true },
        data: { id: services.state.github.id, login: "octocat" },
      },
    };
    expect(await post("account-info", { accountId: id })).toMatchObject(wanted);
    expect(await alice.go("GET", `/api/auth/account-info?accountId=${id}`)).toMatchObject(wanted);
    services.state.github.name = "The Octocat";
  });

  test("account-info of an OpenID account works long after its ID token ran out", async () => {
    openid.state.claims.exp = Math.trunc(Date.now() / 1000) + 120;
    await alice.link("acme");
    openid.state.userinfo = { name: "Renamed", email, email_verified: true };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    try {
      expect(await post("account-info", { providerId: "acme" })).toMatchObject({
        status: 200,
        json: { user: { name: "Renamed", email } },
      });
    } finally {
      vi.useRealTimers();
    }
  });

  test("are nobody else's, signed in or not", async () => {
    await alice.link("github");
    const row = await rowOf("github");
    const bob = await newPerson(floe);
    for (const path of ["get-access-token", "refresh-token", "account-info"]) {
      expect(await post(path, { accountId: row.id }, bob)).toMatchObject({
        status: 400,
        json: { message: "Account not found" },
      });
      expect(await post(path, { providerId: "github", userId: row.userId }, bob)).toMatchObject({ status: 400 });
      expect(await post(path, { accountId: row.id, userId: row.userId }, visitor(floe.url))).toMatchObject({
        status: 401,
      });
    }
    expect(await floe.deps.db.$count(user, eq(user.id, row.userId))).toBe(1);
  });
});
