import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { desc, eq } from "drizzle-orm";
import { Events } from "oauth2-mock-server";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { account, user, verification } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { newId } from "../support/ids.ts";
import { client, startOpenId, startServices } from "../support/oauth-stand-in.ts";
import { type Visitor, visitor } from "../support/visitor.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

let floe: Accounts;
let services: Awaited<ReturnType<typeof startServices>>;
let google: Awaited<ReturnType<typeof startOpenId>>;
let apple: Awaited<ReturnType<typeof startOpenId>>;
let company: Awaited<ReturnType<typeof startOpenId>>;
let alice: Visitor;

/** Somebody whom the service has never sent before. */
const person = (more: Record<string, unknown> = {}) => {
  const id = newId();
  return { sub: id, email: `${id.slice(-12)}@example.com`, email_verified: true, name: "Ada", ...more };
};

beforeAll(async () => {
  services = await startServices();
  [google, apple, company] = await Promise.all([startOpenId(person()), startOpenId(person()), startOpenId(person())]);
  floe = await startAccounts({
    TRUST_PROXY: "127.0.0.1",
    ...services.settings,
    GOOGLE_CLIENT_ID: client.id,
    GOOGLE_CLIENT_SECRET: client.secret,
    GOOGLE_URL: google.issuer,
    APPLE_CLIENT_ID: client.id,
    APPLE_TEAM_ID: "TEAM123456",
    APPLE_KEY_ID: "KEY1234567",
    APPLE_PRIVATE_KEY: pem.trim().replaceAll("\n", "\\n"),
    APPLE_URL: apple.issuer,
    FLOE_OIDC: "acme,lost-one",
    OIDC_ACME_ISSUER: company.issuer,
    OIDC_ACME_CLIENT_ID: client.id,
    OIDC_ACME_CLIENT_SECRET: client.secret,
    OIDC_ACME_NAME: "Acme",
    OIDC_ACME_SCOPES: "email groups",
    // Nobody answers there.
    OIDC_LOST_ONE_ISSUER: "http://127.0.0.1:1",
    OIDC_LOST_ONE_CLIENT_ID: client.id,
    OIDC_LOST_ONE_CLIENT_SECRET: client.secret,
  });
});
beforeEach(() => {
  alice = visitor(floe.url);
  google.state.claims = person();
  apple.state.claims = person();
  company.state.claims = person();
  const id = Math.trunc(Math.random() * 1e9);
  services.state.refuse = undefined;
  Object.assign(services.state.github, {
    id,
    emails: [{ email: `git-${id}@example.com`, primary: true, verified: true, visibility: null }],
  });
  Object.assign(services.state.discord, { id: `8${id}`, email: `discord-${id}@example.com`, verified: true });
});
afterAll(async () => {
  await floe.close();
  await Promise.all([services.stop(), google.stop(), apple.stop(), company.stop()]);
});

const errorOf = (location: URL | undefined) => ({
  at: location && location.origin + location.pathname,
  code: location?.searchParams.get("error"),
});
const errorPage = (code: string) => ({ at: `${floe.url}/error`, code });

test("a page learns which ways of signing in are on", async () => {
  const { status, json } = await alice.go("GET", "/api/auth/methods");
  expect({ status, json }).toEqual({
    status: 200,
    json: {
      password: true,
      username: true,
      anonymous: true,
      providers: [
        { id: "google", name: "Google" },
        { id: "github", name: "GitHub" },
        { id: "apple", name: "Apple" },
        { id: "discord", name: "Discord" },
        { id: "acme", name: "Acme" },
        { id: "lost-one", name: "lost-one" },
      ],
      signUp: { password: true, providers: true },
      fields: [],
    },
  });
});

test("what is switched off is not offered, and refused", async () => {
  const strict = await startAccounts({ FLOE_ANONYMOUS_SIGN_IN: "off", FLOE_PASSWORD_SIGN_IN: "off" });
  try {
    const { json } = await strict.request("GET", "/api/auth/methods");
    expect(json).toEqual({
      password: false,
      username: false,
      anonymous: false,
      providers: [],
      signUp: { password: false, providers: false },
      fields: [],
    });
    const post = (path: string, body: unknown) =>
      strict.request("POST", `/api/auth/${path}`, { body, headers: { origin: strict.url } });
    expect(await post("sign-in/anonymous", {})).toMatchObject({
      status: 400,
      json: { code: "ANONYMOUS_SIGN_IN_DISABLED", detail: "Anonymous sign-in is not enabled" },
    });
    const password = "a fine long password 7";
    const off = { status: 400, json: { message: "Email and password is not enabled" } };
    expect(await post("sign-in/email", { email: "ada@example.com", password })).toMatchObject(off);
    expect(await post("sign-in/username", { username: "ada", password })).toMatchObject(off);
  } finally {
    await strict.close();
  }
});

describe.each(["github", "discord", "google", "acme", "apple"])("signing in with %s", (provider) => {
  test("makes a user, then finds the same one again", async () => {
    const first = await alice.signIn(provider, { newUserCallbackURL: "/welcome" });
    expect(first.location?.href).toBe(`${floe.url}/welcome`);
    const made = await alice.me();
    expect(made?.user).toMatchObject({ emailVerified: true, isAnonymous: false, role: "user" });
    const again = visitor(floe.url);
    expect((await again.signIn(provider, { newUserCallbackURL: "/welcome" })).location?.href).toBe(`${floe.url}/home`);
    expect((await again.me())?.user.id).toBe(made?.user.id);
    const accounts = await floe.deps.db
      .select()
      .from(account)
      .where(eq(account.userId, String(made?.user.id)));
    expect(accounts.map((one) => one.providerId)).toEqual([provider]);
  });
});

describe("what the person is called and looks like", () => {
  test("GitHub: name, picture, and the primary address, proved or not", async () => {
    const [email = { email: "" }] = services.state.github.emails;
    await alice.signIn("github");
    expect((await alice.me())?.user).toMatchObject({
      name: "The Octocat",
      email: email.email,
      emailVerified: true,
      image: "https://avatars.githubusercontent.com/u/583231",
    });
    const bob = visitor(floe.url);
    services.state.github.id += 1;
    services.state.github.emails = [
      { email: `x${email.email}`, primary: true, verified: false, visibility: null },
      { email: `y${email.email}`, primary: false, verified: true, visibility: null },
    ];
    await bob.signIn("github");
    expect((await bob.me())?.user).toMatchObject({ email: `x${email.email}`, emailVerified: false });
  });

  test("Discord: name, picture and address", async () => {
    await alice.signIn("discord");
    const { id, email } = services.state.discord;
    expect((await alice.me())?.user).toMatchObject({
      name: "Nelly",
      email,
      emailVerified: true,
      image: `https://cdn.discordapp.com/avatars/${id}/8342729096ea3675442027381ff50dfe.png`,
    });
  });

  test("OpenID: what the ID token leaves out comes from the userinfo endpoint, of the same person only", async () => {
    const sub = newId();
    company.state.claims = { sub };
    company.state.userinfo = { email: `${sub}@example.com`, email_verified: true, name: "Grace" };
    await alice.signIn("acme");
    expect((await alice.me())?.user).toMatchObject({ name: "Grace", email: `${sub}@example.com`, emailVerified: true });
    company.state.userinfo = { sub: "somebody else", email: `other-${sub}@example.com`, email_verified: true };
    company.state.claims = { sub: newId() };
    expect(errorOf((await visitor(floe.url).signIn("acme")).location)).toEqual(errorPage("email_not_found"));
  });
});

describe("the request that is sent to the service", () => {
  test("state has 32 characters, the PKCE verifier 128, and the state's cookie lives 5 minutes, the stored state 10", async () => {
    const before = Date.now();
    const answer = await alice.go("POST", "/api/auth/sign-in/social", { body: { provider: "acme" } });
    const url = new URL((answer.json as { url: string }).url);
    expect(url.searchParams.get("state")).toHaveLength(32);
    const cookie = answer.cookies.find((one) => one.startsWith("floe.state="));
    expect(cookie).toMatch(/; Max-Age=300;.*HttpOnly; SameSite=Lax/);
    const [kept] = await floe.deps.db.select().from(verification).orderBy(desc(verification.createdAt)).limit(1);
    expect(JSON.parse(kept?.value ?? "").codeVerifier).toHaveLength(128);
    expect(kept?.identifier).not.toContain(url.searchParams.get("state"));
    const life = Number(kept?.expiresAt) - before;
    expect(life).toBeGreaterThan(599_000);
    expect(life).toBeLessThan(605_000);
    // The provider checks the verifier itself; here is that it was the one of 128.
    await alice.go("GET", (await alice.agree(url)).href);
    expect(company.state.exchanges.at(-1)).toMatchObject({
      grant_type: "authorization_code",
      code_verifier: JSON.parse(kept?.value ?? "").codeVerifier,
      client_id: client.id,
      client_secret: client.secret,
      redirect_uri: `${floe.url}/api/auth/callback/acme`,
    });
  });

  test("scopes are those of the service, of its settings and of the page, once each", async () => {
    const scope = async (provider: string, scopes: string[]) =>
      (await alice.ask("/api/auth/sign-in/social", { provider, scopes })).searchParams.get("scope");
    expect(await scope("acme", ["email", "calendar"])).toBe("openid email groups calendar");
    expect(await scope("google", [])).toBe("openid email profile");
    expect(await scope("github", ["repo"])).toBe("read:user user:email repo");
    expect(await scope("discord", [])).toBe("identify email");
    expect(await scope("apple", [])).toBe("openid email name");
  });

  test("loginHint reaches the service in its own words", async () => {
    const asked = async (provider: string) =>
      (await alice.ask("/api/auth/sign-in/social", { provider, loginHint: "ada@example.com" })).searchParams;
    expect((await asked("google")).get("login_hint")).toBe("ada@example.com");
    expect((await asked("acme")).get("login_hint")).toBe("ada@example.com");
    expect((await asked("github")).get("login")).toBe("ada@example.com");
  });

  test("disableRedirect leaves going there to the page", async () => {
    const body = { provider: "github" };
    expect(await alice.go("POST", "/api/auth/sign-in/social", { body })).toMatchObject({
      json: { redirect: true, url: expect.stringContaining("/login/oauth/authorize?") },
      location: expect.any(URL),
    });
    expect(
      await alice.go("POST", "/api/auth/sign-in/social", { body: { ...body, disableRedirect: true } }),
    ).toMatchObject({ json: { redirect: false, url: expect.any(String) }, location: undefined });
  });

  test("a service out of reach is 503, and the others go on", async () => {
    const answer = await alice.go("POST", "/api/auth/sign-in/social", { body: { provider: "lost-one" } });
    expect(answer).toMatchObject({ status: 503, json: { code: "PROVIDER_UNAVAILABLE" } });
    expect((await alice.signIn("acme")).location?.pathname).toBe("/home");
  });
});

describe("coming back from the service", () => {
  const back = async (provider = "acme", more: Record<string, unknown> = {}) =>
    alice.agree(await alice.ask("/api/auth/sign-in/social", { provider, callbackURL: "/home", ...more }));

  type Case = [code: string, why: string, come: () => Promise<{ location: URL | undefined }>];
  const cases: Case[] = [
    ["state_not_found", "no state", () => alice.go("GET", "/api/auth/callback/acme?code=x")],
    ["state_mismatch", "another browser's state", async () => visitor(floe.url).go("GET", (await back()).href)],
    [
      "please_restart_the_process",
      "a state nobody knows",
      () => alice.go("GET", `/api/auth/callback/acme?code=x&state=${"a".repeat(32)}`),
    ],
    [
      "please_restart_the_process",
      "the state ran out after 10 minutes",
      async () => {
        const url = await back();
        const [kept] = await floe.deps.db.select().from(verification).orderBy(desc(verification.createdAt)).limit(1);
        const value = JSON.stringify({ ...JSON.parse(kept?.value ?? ""), expiresAt: Date.now() - 1 });
        await floe.deps.db
          .update(verification)
          .set({ value })
          .where(eq(verification.id, kept?.id ?? ""));
        return alice.go("GET", url.href);
      },
    ],
    [
      "please_restart_the_process",
      "the same answer again",
      async () => {
        const url = await back();
        await alice.go("GET", url.href);
        alice.jar.clear();
        return alice.go("GET", url.href);
      },
    ],
    [
      "no_code",
      "no code",
      async () => {
        const url = await back();
        url.searchParams.delete("code");
        return alice.go("GET", url.href);
      },
    ],
    [
      "oauth_provider_not_found",
      "a service that is not set up",
      async () => alice.go("GET", (await back()).href.replace("/callback/acme", "/callback/nowhere")),
    ],
    [
      "invalid_code",
      "a code the service does not know",
      async () => {
        const url = await back("github");
        url.searchParams.set("code", "forged");
        return alice.go("GET", url.href);
      },
    ],
    [
      "unable_to_get_user_info",
      "an ID token of another request",
      async () => {
        company.server.service.once(Events.BeforeTokenSigning, () => undefined);
        company.state.claims = person({ nonce: "of another request" });
        return alice.go("GET", (await back()).href);
      },
    ],
    [
      "unable_to_get_user_info",
      "an ID token for another client",
      async () => {
        company.state.claims = person({ aud: "another client" });
        return alice.go("GET", (await back()).href);
      },
    ],
    [
      "unable_to_get_user_info",
      "an ID token of another issuer",
      async () => {
        company.state.claims = person({ iss: "https://elsewhere.example.com" });
        return alice.go("GET", (await back()).href);
      },
    ],
    [
      "unable_to_get_user_info",
      "no ID token",
      async () => {
        company.server.service.once(Events.BeforeResponse, ({ body }) => {
          (body as Record<string, unknown>).id_token = undefined;
        });
        return alice.go("GET", (await back()).href);
      },
    ],
    [
      "email_not_found",
      "no address",
      async () => {
        services.state.discord.email = null;
        return alice.go("GET", (await back("discord")).href);
      },
    ],
    [
      "access_denied",
      "the person refused",
      async () => {
        services.state.refuse = "access_denied";
        return alice.go("GET", (await back("github")).href);
      },
    ],
    [
      "unable_to_link_account",
      "the address is a user's who has not proved it",
      async () => {
        const { email } = services.state.discord;
        await visitor(floe.url).go("POST", "/api/auth/sign-up/email", {
          body: { name: "Owner", email, password: "a fine long password 7" },
        });
        return alice.go("GET", (await back("discord")).href);
      },
    ],
    [
      "internal_server_error",
      "what was kept of the request cannot be read",
      async () => {
        const url = await back();
        const [kept] = await floe.deps.db.select().from(verification).orderBy(desc(verification.createdAt)).limit(1);
        await floe.deps.db
          .update(verification)
          .set({ value: "{" })
          .where(eq(verification.id, kept?.id ?? ""));
        return alice.go("GET", url.href);
      },
    ],
    [
      "invalid_callback_request",
      "the answer of another provider",
      async () => {
        const url = await back();
        url.searchParams.set("iss", "https://elsewhere.example.com");
        return alice.go("GET", url.href);
      },
    ],
    [
      "invalid_callback_request",
      "the same parameter twice",
      () => alice.go("GET", "/api/auth/callback/acme?code=x&state=y&state=z"),
    ],
  ];
  test.each(cases)("%s is on the error page: %s", async (code, _why, come) => {
    const { location } = await come();
    expect(errorOf(location)).toEqual(errorPage(code));
    expect(await alice.me()).toBeNull();
  });

  test("errorCallbackURL is where errors go once it is known", async () => {
    services.state.refuse = "access_denied";
    const url = await back("github", { errorCallbackURL: "/sign-in" });
    expect((await alice.go("GET", url.href)).location?.href).toBe(`${floe.url}/sign-in?error=access_denied`);
  });

  test("an address that the service has proved joins the account that has proved it too", async () => {
    const { email } = services.state.discord;
    const owner = visitor(floe.url);
    await owner.go("POST", "/api/auth/sign-up/email", {
      body: { name: "O", email, password: "a fine long password 7" },
    });
    await floe.deps.db
      .update(user)
      .set({ emailVerified: true })
      .where(eq(user.email, String(email)));
    await alice.signIn("discord");
    expect((await alice.me())?.user.id).toBe((await owner.me())?.user.id);
  });

  test("one that the service has not proved does not", async () => {
    Object.assign(services.state.discord, { verified: false });
    const email = String(services.state.discord.email);
    await visitor(floe.url).go("POST", "/api/auth/sign-up/email", {
      body: { name: "O", email, password: "a fine long password 7" },
    });
    await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.email, email));
    expect(errorOf((await alice.signIn("discord")).location)).toEqual(errorPage("unable_to_link_account"));
  });
});

describe("Apple", () => {
  const posted = async (more: Record<string, string> = {}) => {
    const asked = await alice.ask("/api/auth/sign-in/social", { provider: "apple", callbackURL: "/home" });
    expect(asked.searchParams.get("response_mode")).toBe("form_post");
    const back = await alice.agree(asked);
    // A form from Apple's page: no cookies come with it, and its origin is Apple's.
    const headers = {
      origin: "https://appleid.apple.com",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
    };
    const body = new URLSearchParams([...back.searchParams, ...Object.entries(more)]);
    return alice.go("POST", back.pathname, { body, headers, cookieless: true });
  };

  test("its answer by POST signs in, with the name that Apple tells once", async () => {
    apple.state.claims = { ...person(), name: undefined, email_verified: "true" };
    const moved = await posted({ user: JSON.stringify({ name: { firstName: "Ada", lastName: "Lovelace" } }) });
    expect(moved.status).toBe(302);
    expect(moved.location?.origin).toBe(floe.url);
    const done = await alice.go("GET", moved.location?.href ?? "");
    expect(done.location?.href).toBe(`${floe.url}/home`);
    expect((await alice.me())?.user).toMatchObject({ name: "Ada Lovelace", emailVerified: true });
  });

  test("the client secret is a token signed with Apple's key, for minutes", async () => {
    await alice.signIn("apple");
    const [header = "", payload = "", signature = ""] = (apple.state.exchanges.at(-1)?.client_secret ?? "").split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(read(header)).toEqual({ alg: "ES256", kid: "KEY1234567", typ: "JWT" });
    const claims = read(payload);
    expect(claims).toMatchObject({ iss: "TEAM123456", sub: client.id, aud: apple.issuer });
    expect(claims.exp - claims.iat).toBe(300);
    const key = {
      key: createPublicKey(publicKey.export({ type: "spki", format: "pem" })),
      dsaEncoding: "ieee-p1363" as const,
    };
    expect(verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  });
});

describe("signing in with an ID token that the page has", () => {
  const give = (provider: string, idToken: Record<string, unknown>, more = {}) =>
    alice.go("POST", "/api/auth/sign-in/social", { body: { provider, idToken, ...more } });

  test("answers a session", async () => {
    const answer = await give("google", { token: await google.token({ nonce: "n" }), nonce: "n" });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        redirect: false,
        token: expect.any(String),
        user: { email: google.state.claims.email, emailVerified: true },
      },
    });
    expect((await alice.me())?.user.email).toBe(google.state.claims.email);
  });

  test.each([
    ["for another client", { aud: "another" }],
    ["of another issuer", { iss: "https://evil.example.com" }],
    ["that ran out", { exp: Math.trunc(Date.now() / 1000) - 60 }],
    ["given out long ago", { iat: Math.trunc(Date.now() / 1000) - 7200 }],
    ["with another nonce", { nonce: "another" }],
  ])("one %s is 401 Invalid token", async (_name, claims) => {
    expect(await give("google", { token: await google.token(claims), nonce: "n" })).toMatchObject({
      status: 401,
      json: { code: "INVALID_TOKEN", message: "Invalid token" },
    });
  });

  test("one signed by somebody else, or by nobody, is 401", async () => {
    const [, payload] = (await google.token()).split(".");
    const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
    for (const token of [`${none}.${payload}.`, await company.token({ iss: google.issuer }), "nothing"])
      expect(await give("google", { token })).toMatchObject({ status: 401, json: { code: "INVALID_TOKEN" } });
  });

  test("one without an address is 401; a service without ID tokens, or none, is 404", async () => {
    google.state.claims = { sub: newId() };
    expect(await give("google", { token: await google.token() })).toMatchObject({
      status: 401,
      json: { code: "USER_EMAIL_NOT_FOUND", message: "User email not found" },
    });
    expect(await give("github", { token: "x" })).toMatchObject({
      status: 404,
      json: { code: "ID_TOKEN_NOT_SUPPORTED" },
    });
    expect(await give("nowhere", { token: "x" })).toMatchObject({ status: 404, json: { code: "PROVIDER_NOT_FOUND" } });
  });
});

describe("pages of others", () => {
  test.each([
    ["callbackURL", "Invalid callbackURL"],
    ["errorCallbackURL", "Invalid errorCallbackURL"],
    ["newUserCallbackURL", "Invalid newUserCallbackURL"],
  ])("a %s elsewhere is 403", async (name, message) => {
    for (const path of ["sign-in/social", "link-social"])
      for (const url of [
        "https://evil.example.com/",
        "//evil.example.com",
        "/\\evil.example.com",
        "javascript:alert(1)",
      ]) {
        const answer = await alice.go("POST", `/api/auth/${path}`, { body: { provider: "github", [name]: url } });
        expect({ url, status: answer.status, json: answer.json }).toMatchObject({ status: 403, json: { message } });
      }
  });

  test("a request from one of theirs is 403, its cookies or not", async () => {
    await alice.signIn("github");
    const answer = await alice.go("POST", "/api/auth/sign-in/social", {
      body: { provider: "github" },
      headers: { origin: "https://evil.example.com" },
    });
    expect(answer).toMatchObject({ status: 403, json: { code: "INVALID_ORIGIN", message: "Invalid origin" } });
  });
});
