/** Services to sign in with, on this machine: GitHub's and Discord's documented API, and OpenID Connect. */
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Events, OAuth2Server } from "oauth2-mock-server";
import { handling } from "./handling.ts";
import { newId } from "./ids.ts";

/** What a service is asked to exchange a code for tokens with. */
export type Exchange = Record<string, string>;
export const bot = { id: "9001", token: "the token of the bot" };
const appId = "4455";
export const client = { id: "the-client", secret: "the secret of the client" };

export type GitHubPerson = {
  id: number;
  login: string;
  name: string | null;
  email: string | null;
  avatar_url: string;
  emails: { email: string; primary: boolean; verified: boolean; visibility: string | null }[];
};
export type DiscordPerson = {
  id: string;
  username: string;
  global_name: string | null;
  avatar: string | null;
  email: string | null;
  verified: boolean;
};

type Granted = { redirect_uri: string; challenge: string | null; scope: string };

/**
 * GitHub and Discord as their documentation has them: what they are asked with is checked as they check it. Whoever is
 * sent there agrees at once, as `github` or `discord`; `refuse` makes them refuse with that error.
 */
export async function startServices() {
  const codes = new Map<string, Granted>();
  const tokens = new Map<string, string>();
  const exchanges: Exchange[] = [];
  const state = {
    refuse: undefined as string | undefined,
    expires_in: 28_800 as number | undefined,
    github: {
      id: 583231,
      login: "octocat",
      name: "The Octocat",
      email: null,
      avatar_url: "https://avatars.githubusercontent.com/u/583231",
      emails: [
        { email: "octocat@users.noreply.github.com", primary: false, verified: true, visibility: null },
        { email: "octocat@example.com", primary: true, verified: true, visibility: "private" },
      ],
    } as GitHubPerson,
    discord: {
      id: "80351110224678912",
      username: "nelly",
      global_name: "Nelly",
      avatar: "8342729096ea3675442027381ff50dfe",
      email: "nelly@example.com",
      verified: true,
    } as DiscordPerson,
    /** The guild that whoever is sent to let the bot in chooses. */
    guild: {
      id: "197038439483310086",
      name: "Testers & <friends>",
      present: true,
      roles: [
        { id: "1", name: "@everyone", position: 0 },
        { id: "10", name: "Buyers", position: 1 },
        { id: "20", name: "The bot", position: 2 },
        { id: "30", name: "Owners", position: 3 },
      ],
      bot_roles: ["20"],
    },
    /** The repository that the app is asked about, and what the person above may do there. */
    repository: { owner: "floe", name: "book", installed: true, target_type: "Organization", permission: "admin" },
    /** What the app asked. */
    app_calls: [] as string[],
    /** Paths of the calls that the bot made. */
    bot_calls: [] as string[],
  };

  const json = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
  const bodyOf = async (request: IncomingMessage): Promise<Exchange> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    return Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()));
  };
  const authorize = (asked: URLSearchParams, response: ServerResponse, needed: string[]) => {
    const missing = needed.find((name) => !asked.get(name));
    const back = new URL(asked.get("redirect_uri") ?? "http://nowhere.invalid");
    if (missing || asked.get("client_id") !== client.id) return json(response, 400, { message: `${missing} is wrong` });
    if (state.refuse !== undefined) back.searchParams.set("error", state.refuse);
    else {
      const code = newId();
      const challenge = asked.get("code_challenge");
      codes.set(code, { redirect_uri: back.href, challenge, scope: asked.get("scope") ?? "" });
      back.searchParams.set("code", code);
    }
    back.searchParams.set("state", asked.get("state") ?? "");
    response.writeHead(302, { location: back.href }).end();
  };
  /** The scope of the tokens that are given, or what is wrong. */
  const exchange = (given: Exchange): { scope: string } | { error: string } => {
    exchanges.push(given);
    if (given.client_id !== client.id || given.client_secret !== client.secret)
      return { error: "incorrect_client_credentials" };
    if (given.grant_type === "refresh_token") {
      const scope = tokens.get(`refresh ${given.refresh_token}`);
      // Each is good once.
      tokens.delete(`refresh ${given.refresh_token}`);
      return scope === undefined ? { error: "bad_refresh_token" } : { scope };
    }
    const granted = codes.get(given.code ?? "");
    codes.delete(given.code ?? "");
    if (!granted) return { error: "bad_verification_code" };
    if (granted.redirect_uri !== given.redirect_uri) return { error: "redirect_uri_mismatch" };
    const shown = createHash("sha256")
      .update(given.code_verifier ?? "")
      .digest("base64url");
    return granted.challenge === null || shown === granted.challenge
      ? { scope: granted.scope }
      : { error: "bad_verification_code" };
  };
  const issue = (scope: string) => {
    const [access_token, refresh_token] = [`gho_${newId()}`, `ghr_${newId()}`];
    tokens.set(access_token, scope);
    tokens.set(`refresh ${refresh_token}`, scope);
    return { access_token, refresh_token, token_type: "bearer", scope, expires_in: state.expires_in };
  };
  const scopeOf = (request: IncomingMessage): string | undefined => {
    const [scheme, token] = (request.headers.authorization ?? "").split(" ");
    return scheme === "Bearer" && token ? tokens.get(token) : undefined;
  };

  const app = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const installation_token = "ghs_of_the_installation";
  /** Whether a call shows the app's own token, as GitHub checks it: its key, its number, its time. */
  const isApp = (request: IncomingMessage): boolean => {
    const [head = "", claims = "", signature = ""] = (request.headers.authorization ?? "").slice(7).split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString() || "{}");
    const { iss, iat, exp } = read(claims);
    const now = Date.now() / 1000;
    const signed = verify(
      "sha256",
      Buffer.from(`${head}.${claims}`),
      app.publicKey,
      Buffer.from(signature, "base64url"),
    );
    return signed && read(head).alg === "RS256" && iss === appId && iat <= now && exp > now && exp - iat <= 600;
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    switch (`${request.method} ${pathname}`) {
      case "GET /github/login/oauth/authorize":
        return authorize(searchParams, response, ["client_id", "redirect_uri", "state", "code_challenge"]);
      case "POST /github/login/oauth/access_token": {
        const outcome = exchange(await bodyOf(request));
        // GitHub answers in a form unless JSON is asked for, writes scopes by commas, and tells errors with status 200.
        const answer =
          "error" in outcome
            ? { ...outcome, error_description: "The code passed is incorrect or expired." }
            : issue(outcome.scope.replaceAll(" ", ","));
        if (request.headers.accept === "application/json") return json(response, 200, answer);
        return response.end(new URLSearchParams(Object.entries(answer).map(([k, v]) => [k, String(v)])).toString());
      }
      case "GET /github-api/user":
        if (!request.headers["user-agent"]) return json(response, 403, { message: "User-Agent is required" });
        if (scopeOf(request) === undefined) return json(response, 401, { message: "Bad credentials" });
        return json(response, 200, { ...state.github, emails: undefined });
      case "GET /github-api/user/emails":
        if (!scopeOf(request)?.includes("user:email")) return json(response, 404, { message: "Not Found" });
        return json(response, 200, state.github.emails);
      case `GET /github-api/repos/${state.repository.owner}/${state.repository.name}/installation`: {
        const { installed, target_type } = state.repository;
        state.app_calls.push(pathname);
        if (!isApp(request)) return json(response, 401, { message: "A JSON web token could not be decoded" });
        return installed ? json(response, 200, { id: 77, target_type }) : json(response, 404, { message: "Not Found" });
      }
      case "POST /github-api/app/installations/77/access_tokens":
        if (!isApp(request)) return json(response, 401, { message: "A JSON web token could not be decoded" });
        return json(response, 201, { token: installation_token, expires_at: "2099-01-01T00:00:00Z" });
      case `GET /github-api/user/${state.github.id}`:
      case `GET /github-api/repos/${state.repository.owner}/${state.repository.name}/collaborators/${state.github.login}/permission`: {
        if (request.headers.authorization !== `Bearer ${installation_token}`)
          return json(response, 401, { message: "Bad credentials" });
        const { permission } = state.repository;
        return json(response, 200, pathname.includes("/user/") ? { login: state.github.login } : { permission });
      }
      case "GET /discord/oauth2/authorize":
        return authorize(searchParams, response, ["client_id", "redirect_uri", "state", "scope", "response_type"]);
      case "POST /discord/api/oauth2/token": {
        const outcome = exchange(await bodyOf(request));
        if ("error" in outcome) return json(response, 400, { error: "invalid_grant" });
        return json(response, 200, { ...issue(outcome.scope), token_type: "Bearer", expires_in: 604_800 });
      }
      case "GET /discord/api/users/@me":
        if (!scopeOf(request)?.includes("identify"))
          return json(response, 401, { message: "401: Unauthorized", code: 0 });
        return json(response, 200, state.discord);
      case "POST /discord/api/v10/oauth2/token": {
        const outcome = exchange(await bodyOf(request));
        if ("error" in outcome || !outcome.scope.split(" ").includes("bot"))
          return json(response, 400, { error: "invalid_grant" });
        return json(response, 200, { ...issue(outcome.scope), guild: state.guild });
      }
      default: {
        const path = /^\/discord\/api\/v10(\/.*)$/.exec(pathname)?.[1];
        if (path === undefined) return json(response, 404, { message: "Not Found" });
        state.bot_calls.push(path);
        if (request.headers.authorization !== `Bot ${bot.token}`)
          return json(response, 401, { message: "401: Unauthorized", code: 0 });
        const { id, roles, bot_roles, present } = state.guild;
        if (path === "/users/@me") return json(response, 200, { id: bot.id, username: "floe", bot: true });
        if (!present || !path.startsWith(`/guilds/${id}/`))
          return json(response, 404, { message: "Unknown Guild", code: 10004 });
        if (path === `/guilds/${id}/roles`) return json(response, 200, roles);
        if (path === `/guilds/${id}/members/${bot.id}`)
          return json(response, 200, { user: { id: bot.id }, roles: bot_roles });
        return json(response, 404, { message: "404: Not Found", code: 0 });
      }
    }
  };
  const server = createServer(handling(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  return {
    state,
    exchanges,
    /** What a server needs to speak as the app. */
    app: {
      GITHUB_APP_ID: appId,
      GITHUB_APP_PRIVATE_KEY: String(app.privateKey.export({ type: "pkcs1", format: "pem" })),
    },
    settings: {
      GITHUB_CLIENT_ID: client.id,
      GITHUB_CLIENT_SECRET: client.secret,
      GITHUB_URL: `${url}/github`,
      GITHUB_API_URL: `${url}/github-api`,
      DISCORD_CLIENT_ID: client.id,
      DISCORD_CLIENT_SECRET: client.secret,
      DISCORD_URL: `${url}/discord/`,
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An OpenID provider with real keys. Whoever is sent there agrees at once, as `claims` has them. */
export async function startOpenId(claims: Record<string, unknown>) {
  const server = new OAuth2Server();
  await server.issuer.keys.generate("RS256");
  await server.start(0, "127.0.0.1");
  const issuer = `http://127.0.0.1:${server.address().port}`;
  server.issuer.url = issuer;
  const state = {
    claims,
    userinfo: {} as Record<string, unknown>,
    asked: [] as URLSearchParams[],
    exchanges: [] as Exchange[],
  };
  server.service.on(Events.BeforeTokenSigning, (token) => Object.assign(token.payload, state.claims));
  server.service.on(Events.BeforeUserinfo, (answer) => {
    answer.body = { sub: state.claims.sub, ...state.userinfo };
  });
  server.service.on(Events.BeforeAuthorizeRedirect, (_redirect, request) => {
    state.asked.push(new URL(request.url ?? "/", issuer).searchParams);
  });
  server.service.on(Events.BeforeResponse, (_answer, request) => {
    state.exchanges.push({ ...(request.body as Exchange) });
  });
  return {
    issuer,
    server,
    state,
    /** What a server needs to know it as `acme`. */
    settings: {
      FLOE_OIDC: "acme",
      OIDC_ACME_ISSUER: issuer,
      OIDC_ACME_CLIENT_ID: client.id,
      OIDC_ACME_CLIENT_SECRET: client.secret,
    },
    /** An ID token as it gives to a page. */
    token: (more: Record<string, unknown> = {}) =>
      server.issuer.buildToken({
        scopesOrTransform: (_header, payload) => {
          Object.assign(payload, { aud: client.id, ...state.claims, ...more });
        },
      }),
    stop: () => server.stop(),
  };
}
