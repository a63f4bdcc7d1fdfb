import { and, desc, eq, sql } from "drizzle-orm";
import { Events } from "oauth2-mock-server";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { account, user, verification } from "../../../server/identity/accounts/tables.ts";
import { errors } from "../../fixtures/accounts-rows.ts";
import { type Catalogue, refuses, type Someone, startCatalogue, unique } from "../../support/catalogue.ts";
import { startOpenId, startServices } from "../../support/oauth-stand-in.ts";
import { checkTable } from "../../support/table.ts";
import type { Visitor } from "../../support/visitor.ts";

let floe: Catalogue;
let acme: Awaited<ReturnType<typeof startOpenId>>;
let services: Awaited<ReturnType<typeof startServices>>;
beforeAll(async () => {
  services = await startServices();
  acme = await startOpenId({});
  floe = await startCatalogue({ ...services.settings, ...acme.settings });
});
afterAll(async () => {
  await floe.close();
  await Promise.all([acme.stop(), services.stop()]);
});
beforeEach(() => {
  const sub = unique();
  acme.state.claims = {};
  isKnownAs({ sub, email: `${sub}@example.com`, email_verified: true, name: "Ada" });
});

/** Who the provider says it is. */
function isKnownAs(claims: Record<string, unknown>): void {
  acme.state.claims = { ...acme.state.claims, ...claims };
  acme.state.userinfo = { ...acme.state.claims };
}
const idToken = async () => ({ token: await acme.token({ nonce: "n" }), nonce: "n" });
/** Somebody, whom the provider knows by the same address. */
async function knownPerson(): Promise<Someone> {
  const someone = await floe.person({ verified: true });
  isKnownAs({ email: someone.email });
  return someone;
}
const accountOf = ({ id }: Pick<Someone, "id">, providerId = "acme") =>
  and(eq(account.userId, id), eq(account.providerId, providerId));
/** Somebody with the provider's account linked, and what is kept of it changed. */
async function linkedPerson(kept: Partial<typeof account.$inferInsert> = {}): Promise<Someone> {
  const someone = await knownPerson();
  expect((await someone.browser.link("acme")).location?.pathname).toBe("/home");
  if (Object.keys(kept).length > 0) await floe.deps.db.update(account).set(kept).where(accountOf(someone));
  return someone;
}

checkTable("8. Social sign-in and linked accounts", errors.social, {
  "Unknown provider": async (row) => {
    refuses(row, await floe.stranger().post("/sign-in/social", { provider: "nobody" }));
    refuses(row, await (await floe.person()).post("/link-social", { provider: "nobody" }));
  },
  "ID token not supported": async (row) => {
    const body = { provider: "github", idToken: { token: "x" } };
    refuses(row, await floe.stranger().post("/sign-in/social", body));
    refuses(row, await (await floe.person()).post("/link-social", body));
  },
  "Bad ID token": async (row) => {
    const body = { provider: "acme", idToken: { token: "garbage", nonce: "n" } };
    refuses(row, await floe.stranger().post("/sign-in/social", body));
    refuses(row, await (await floe.person()).post("/link-social", body));
  },
  // The provider knows nothing by the token that is kept.
  "User info failure": async (row) => {
    const { id, email, browser, post } = await floe.person({ verified: true });
    services.state.github.emails = [{ email, primary: true, verified: true, visibility: null }];
    services.state.github.id += 1;
    expect((await browser.link("github")).location?.pathname).toBe("/home");
    const accountId = String(services.state.github.id);
    expect((await post("/account-info", { accountId })).status).toBe(200);
    await floe.deps.db.update(account).set({ accessToken: "unknown" }).where(accountOf({ id }, "github"));
    refuses(row, await post("/account-info", { accountId }));
  },
  "Email not found": async (row) => {
    isKnownAs({ email: undefined });
    refuses(row, await floe.stranger().post("/sign-in/social", { provider: "acme", idToken: await idToken() }));
    refuses(row, await (await floe.person()).post("/link-social", { provider: "acme", idToken: await idToken() }));
  },
  "Linking refused: not allowed": async (row) => {
    const someone = await knownPerson();
    isKnownAs({ email_verified: false });
    refuses(row, await someone.post("/link-social", { provider: "acme", idToken: await idToken() }));
  },
  "Linking refused: different emails": async (row) => {
    const someone = await floe.person({ verified: true });
    refuses(row, await someone.post("/link-social", { provider: "acme", idToken: await idToken() }));
  },
  "Linked account cannot be created": async (row) => {
    await floe.deps.db.execute(sql`alter table "account" add check ("accountId" not like 'refused-%')`);
    const someone = await knownPerson();
    isKnownAs({ sub: `refused-${unique()}` });
    refuses(row, await someone.post("/link-social", { provider: "acme", idToken: await idToken() }));
  },
  "Last account": async (row) => {
    refuses(row, await (await floe.person()).post("/unlink-account", { providerId: "credential" }));
  },
  "Account missing": async (row) => {
    const someone = await linkedPerson();
    refuses(row, await someone.post("/unlink-account", { providerId: "github" }));
    for (const path of ["/get-access-token", "/refresh-token"])
      refuses(row, await someone.post(path, { providerId: "github" }));
    refuses(row, await someone.post("/account-info", { accountId: "nobody's" }));
  },
  // Naming a user without being signed in says no more than that somebody must be: 401.
  "Neither user nor session": async (row) => {
    const someone = await linkedPerson();
    for (const path of ["/get-access-token", "/refresh-token"]) {
      refuses(row, await floe.stranger().post(path, { providerId: "acme" }));
      const named = await floe.stranger().post(path, { providerId: "acme", userId: someone.id });
      expect(named).toMatchObject({ status: 401, json: { code: "SESSION_NOT_FOUND" } });
    }
  },
  "Provider problems: not supported": async (row) => {
    const someone = await linkedPerson();
    const fills = { id: "nobody" };
    refuses(row, await someone.post("/get-access-token", { providerId: "nobody" }), { fills });
    // One that was set up when the account was linked, and is no more.
    await floe.deps.db.update(account).set({ providerId: "gone" }).where(accountOf(someone));
    const accountId = acme.state.claims.sub;
    refuses(row, await someone.post("/get-access-token", { accountId }), { fills: { id: "gone" } });
  },
  "Provider problems: not found": async (row) => {
    const someone = await floe.person();
    refuses(row, await someone.post("/refresh-token", { providerId: "nobody" }), { fills: { id: "nobody" } });
  },
  // Every service that can be set up refreshes; a password has nothing to refresh.
  "Provider problems: no refreshing": async (row) => {
    const someone = await floe.person();
    const answer = await someone.post("/refresh-token", { providerId: "credential" });
    refuses(row, answer, { fills: { id: "credential" } });
  },
  "Token problems: no valid one": async (row) => {
    const someone = await linkedPerson({ accessTokenExpiresAt: new Date(), refreshToken: "unknown" });
    acme.server.service.once(Events.BeforeResponse, (answer: object) => {
      Object.assign(answer, { statusCode: 400, body: { error: "invalid_grant" } });
    });
    refuses(row, await someone.post("/get-access-token", { providerId: "acme" }));
  },
  "Token problems: not refreshed": async (row) => {
    const someone = await linkedPerson();
    acme.server.service.once(Events.BeforeResponse, (answer: object) => {
      Object.assign(answer, { statusCode: 400, body: { error: "invalid_grant" } });
    });
    refuses(row, await someone.post("/refresh-token", { providerId: "acme" }));
  },
  "Token problems: none": async (row) => {
    const someone = await linkedPerson({ accessToken: null });
    refuses(row, await someone.post("/account-info", { accountId: acme.state.claims.sub }));
  },
});

/** Where the provider sends somebody back to who wants to sign in. */
const back = async (browser: Visitor, provider = "acme") =>
  browser.agree(await browser.ask("/api/auth/sign-in/social", { provider, callbackURL: "/home" }));
/** Change what is kept of the state that was made last. */
async function keep(change: (value: Record<string, unknown>) => string): Promise<void> {
  const [kept] = await floe.deps.db.select().from(verification).orderBy(desc(verification.createdAt)).limit(1);
  await floe.deps.db
    .update(verification)
    .set({ value: change(JSON.parse(kept?.value ?? "")) })
    .where(eq(verification.id, kept?.id ?? ""));
}
/** The error page shows a code, and nobody is signed in whom it concerns. */
async function endsWith(code: string, browser: Visitor, url: URL | string): Promise<void> {
  const { status, location } = await browser.go("GET", String(url));
  expect([status, location && location.origin + location.pathname]).toEqual([302, `${floe.url}/error`]);
  expect(location?.searchParams.get("error")).toBe(code);
}

checkTable("8. Error codes of the social sign-in callback", errors.callback, {
  invalid_callback_request: async ({ name }) => {
    const { browser } = floe.stranger();
    await endsWith(name, browser, "/api/auth/callback/acme");
    await endsWith(name, browser, "/api/auth/callback/acme?code=a&code=b&state=c");
    await endsWith(name, browser, "/api/auth/callback/acme?unrelated=1");
  },
  state_not_found: async ({ name }) => {
    const { browser } = floe.stranger();
    await endsWith(name, browser, "/api/auth/callback/acme?code=x");
    await endsWith(name, browser, "/api/auth/callback/acme?error=access_denied");
  },
  // A state that is kept, in another browser than the one that asked.
  state_mismatch: async ({ name }) => {
    const url = await back(floe.stranger().browser);
    await endsWith(name, floe.stranger().browser, url);
  },
  // A state that is not kept, not any more, or kept for too long.
  please_restart_the_process: async ({ name }) => {
    const { browser } = floe.stranger();
    await endsWith(name, browser, `/api/auth/callback/acme?code=x&state=${"a".repeat(32)}`);
    const url = await back(browser);
    await keep((value) => JSON.stringify({ ...value, expiresAt: Date.now() - 1 }));
    await endsWith(name, browser, url);
  },
  no_code: async ({ name }) => {
    const { browser } = floe.stranger();
    const url = await back(browser);
    url.searchParams.delete("code");
    await endsWith(name, browser, url);
  },
  oauth_provider_not_found: async ({ name }) => {
    const { browser } = floe.stranger();
    await endsWith(name, browser, (await back(browser)).href.replace("/callback/acme", "/callback/nobody"));
  },
  invalid_code: async ({ name }) => {
    const { browser } = floe.stranger();
    const url = await back(browser, "github");
    url.searchParams.set("code", "forged");
    await endsWith(name, browser, url);
  },
  unable_to_get_user_info: async ({ name }) => {
    const { browser } = floe.stranger();
    isKnownAs({ nonce: "of another request" });
    await endsWith(name, browser, await back(browser));
  },
  // Without one the product's own address is kept; this is a state that has lost it.
  no_callback_url: async ({ name }) => {
    const { browser } = floe.stranger();
    const url = await back(browser);
    await keep((value) => JSON.stringify({ ...value, callbackURL: "" }));
    await endsWith(name, browser, url);
  },
  unable_to_link_account: async ({ name }) => {
    const { browser } = await knownPerson();
    isKnownAs({ email_verified: false });
    const { location } = await browser.link("acme");
    expect(location?.href).toBe(`${floe.url}/error?error=${name}`);
  },
  "email_doesn't_match": async ({ name }) => {
    const { browser } = await floe.person({ verified: true });
    const { location } = await browser.link("acme");
    expect(location?.searchParams.get("error")).toBe(name);
  },
  account_already_linked_to_different_user: async ({ name }) => {
    const { id, email } = await linkedPerson();
    await floe.deps.db
      .update(user)
      .set({ email: `moved-${email}` })
      .where(eq(user.id, id));
    const other = await floe.person({ verified: true });
    await floe.deps.db.update(user).set({ email }).where(eq(user.id, other.id));
    const { location } = await other.browser.link("acme");
    expect(location?.searchParams.get("error")).toBe(name);
  },
  email_not_found: async ({ name }) => {
    const { browser } = floe.stranger();
    isKnownAs({ email: undefined });
    await endsWith(name, browser, await back(browser));
  },
  internal_server_error: async ({ name }) => {
    const { browser } = floe.stranger();
    const url = await back(browser);
    await keep(() => "not what was kept");
    await endsWith(name, browser, url);
  },
});
