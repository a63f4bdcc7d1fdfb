import { createServer } from "node:http";
import { Events } from "oauth2-mock-server";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openIdProvider } from "../../server/identity/accounts/sign-in/openid.ts";
import { account, user } from "../../server/identity/accounts/tables.ts";
import { TestClock } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { client, startOpenId } from "../support/oauth-stand-in.ts";
import { startOnPostgres } from "../support/races.ts";

let openid: Awaited<ReturnType<typeof startOpenId>>;
const warned: string[] = [];
const log = {
  info: () => undefined,
  warn: (fields: object) => void warned.push(JSON.stringify(fields)),
  error: () => undefined,
};
const clock = new TestClock(new Date());
const providerAt = (issuer: string) =>
  openIdProvider(
    { log, clock },
    {
      id: "acme",
      name: "Acme",
      issuer,
      client: { clientId: client.id, clientSecret: () => client.secret },
      scopes: ["openid"],
      signUp: "open",
    },
  );
const ask = (provider: ReturnType<typeof providerAt>) =>
  provider.createAuthorizationURL({ state: "s", codeVerifier: "v".repeat(128), redirectURI: "http://localhost/back" });
const keyOf = async (provider: ReturnType<typeof providerAt>, kid: string) => {
  const config = provider.idToken;
  if (!config || !("jwks" in config)) throw new Error("It checks no ID tokens.");
  return config.jwks({ kid, alg: "RS256" }, { payload: "", signature: "" });
};

beforeAll(async () => {
  openid = await startOpenId({ sub: "ada" });
});
afterEach(() => {
  openid.server.service.removeAllListeners(Events.BeforeWellKnownOpenIdConfiguration);
});
afterAll(() => openid.stop());

test("a provider that was down is asked again, and answers once it is up", async () => {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = providerAt(issuer);
  await expect(ask(provider)).rejects.toMatchObject({ statusCode: 503, body: { code: "PROVIDER_UNAVAILABLE" } });
  expect(warned.at(-1)).toContain("acme");
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.setHeader("content-type", "application/json").end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  try {
    expect((await ask(provider)).pathname).toBe("/authorize");
    await ask(provider);
    expect(asked).toBe(1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test.each([
  ["speaks in another's name", { issuer: "https://accounts.google.com" }],
  ["writes its name in another way", { issuer: "http://127.0.0.1/" }],
  ["leaves out where its keys are", { jwks_uri: undefined }],
  ["leaves out where to be sent", { authorization_endpoint: undefined }],
])("a provider that %s is not used", async (_what, more) => {
  openid.server.service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }) => Object.assign(body, more));
  await expect(ask(providerAt(openid.issuer))).rejects.toMatchObject({ statusCode: 503 });
});

test("the client names itself in the way that the provider takes", async () => {
  const seen: (string | undefined)[] = [];
  openid.server.service.on(Events.BeforeResponse, (_answer, { headers }) => seen.push(headers.authorization));
  const exchange = async (methods: string[] | undefined) => {
    openid.server.service.removeAllListeners(Events.BeforeWellKnownOpenIdConfiguration);
    openid.server.service.on(Events.BeforeWellKnownOpenIdConfiguration, ({ body }) =>
      Object.assign(body, { token_endpoint_auth_methods_supported: methods }),
    );
    const provider = providerAt(openid.issuer);
    const back = (await fetch(await ask(provider), { redirect: "manual" })).headers.get("location") ?? "";
    const code = new URL(back).searchParams.get("code") ?? "";
    await provider.validateAuthorizationCode({
      code,
      codeVerifier: "v".repeat(128),
      redirectURI: "http://localhost/back",
    });
    return [seen.at(-1)?.split(" ")[0], openid.state.exchanges.at(-1)?.client_secret];
  };
  expect(await exchange(undefined)).toEqual(["Basic", undefined]);
  expect(await exchange(["client_secret_basic"])).toEqual(["Basic", undefined]);
  expect(await exchange(["client_secret_post", "client_secret_basic"])).toEqual([undefined, client.secret]);
});

test("keys that the provider changes are found, and it is not asked for every token that names an unknown one", async () => {
  const provider = providerAt(openid.issuer);
  const [first] = openid.server.issuer.keys.toJSON();
  expect(await keyOf(provider, String(first?.kid))).toMatchObject({ kid: first?.kid });
  const added = await openid.server.issuer.keys.generate("RS256");
  await expect(keyOf(provider, added.kid)).rejects.toThrow("does not show");
  clock.advance(10_000);
  expect(await keyOf(provider, added.kid)).toMatchObject({ kid: added.kid });
  await expect(keyOf(provider, "forged")).rejects.toThrow("does not show");
});

test("20 who come at once with one account of the service are one user", async () => {
  const races = await startOnPostgres({ settings: openid.settings });
  try {
    openid.state.claims = { sub: "ada", email: "ada@example.com", email_verified: true, name: "Ada" };
    const idToken = { token: await openid.token() };
    const signIn = () =>
      races.request("POST", "/api/auth/sign-in/social", {
        body: { provider: "acme", idToken },
        headers: { origin: races.url },
      });
    const answers = await Promise.all(Array.from({ length: 20 }, signIn));
    expect(await races.deps.db.select({ email: user.email }).from(user)).toEqual([{ email: "ada@example.com" }]);
    expect(await races.deps.db.$count(account)).toBe(1);
    expect(answers.map((one) => one.status).filter((status) => status !== 200 && status !== 401)).toEqual([]);
    expect((await signIn()).status).toBe(200);
  } finally {
    await races.close();
  }
});
