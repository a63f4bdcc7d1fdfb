/**
 * Discord and GitHub as far as floe gives something there. Every request is judged by what they publish: one that they would not know
 * is refused, and fails the test when the stand-in is stopped. What goes wrong is asked for beforehand, call by call.
 */
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { handling } from "./handling.ts";
import { newId } from "./ids.ts";
import { openDescription } from "./platform-description.ts";

/**
 * How a call goes wrong: it never arrives, its answer is lost or never comes, something breaks, it is one too many, or it is
 * answered otherwise than it should be. `times` says how often; once where nothing is said.
 */
export type Trouble = { call: RegExp; times?: number } & (
  | { how: "unreached" | "lost" | "silent" | "broken" }
  | { how: "limited"; seconds: number }
  // It is done, and whoever asked is not told: `done` is called instead.
  | { how: "untold"; done(): void }
  | { how: "answers"; status: number; json?: unknown; headers?: Record<string, string>; raw?: string }
);
type Answer = { status: number; json?: unknown; headers?: Record<string, string> };
export type Platforms = Awaited<ReturnType<typeof startPlatforms>>;

const client = { id: "44551", secret: "the secret of the client" };
const botToken = "the token of the bot";
const [app_id, installation_id, bot_id] = ["4455", 77, "9001"];

/** Start them on a free port of this machine. */
export async function startPlatforms() {
  const described = { discord: openDescription("discord"), github: openDescription("github") };
  const faults: string[] = [];
  const calls: string[] = [];
  const troubles: Trouble[] = [];
  const codes = new Map<string, { person: string; redirect_uri: string; challenge: string | null }>();
  const tokens = new Map<string, string>();
  const app = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const state = {
    /** Who is signed in, in the browser that is sent there. */
    person: { discord: "80351110224678912", github: "583231" },
    names: new Map([
      ["80351110224678912", "nelly"],
      ["80351110224678913", "nora"],
      ["583231", "octocat"],
      ["583232", "hubot"],
    ]),
    /** Tokens that were given are good for so long. */
    expires_in: 604_800 as number | undefined,
    guild: { id: "197038439483310086", roles: ["10", "11"], isBotIn: true, members: new Map<string, Set<string>>() },
    repository: {
      whole: "floe/book",
      isInstalled: true,
      /** Until when tokens of the installation that are given are good. */
      token_ends: "2099-01-01T00:00:00Z",
      collaborators: new Map<string, string>(),
      invitations: new Map<number, { account: string; permission: string }>(),
    },
    /** Everybody who is invited accepts at once. */
    accepts: false,
  };
  let invited = 0;

  const loginOf = (account: string) => state.names.get(account) ?? "";
  const accountOf = (login: string) => [...state.names].find(([, name]) => name === login)?.[0];
  const issue = (person: string) => {
    const [access_token, refresh_token] = [`at_${newId()}`, `rt_${newId()}`];
    tokens.set(access_token, person).set(`refresh ${refresh_token}`, person);
    return { access_token, refresh_token };
  };
  /** What a code or a refresh token is exchanged for, once. */
  function exchange(given: Record<string, unknown>): { access_token: string; refresh_token: string } | undefined {
    if (given.client_id !== client.id || given.client_secret !== client.secret) return undefined;
    const key = `refresh ${given.refresh_token}`;
    const renewed = given.grant_type === "refresh_token" ? tokens.get(key) : undefined;
    tokens.delete(key);
    if (renewed) return issue(renewed);
    const code = codes.get(String(given.code));
    codes.delete(String(given.code));
    if (code?.redirect_uri !== given.redirect_uri || !code) return undefined;
    const shown = createHash("sha256").update(String(given.code_verifier)).digest("base64url");
    return code.challenge === null || code.challenge === shown ? issue(code.person) : undefined;
  }

  const { sampleOf: ofDiscord } = described.discord;
  const discordError = (status: number, code: number, message: string): Answer => ({ status, json: { code, message } });
  const member = (id: string, roles: Iterable<string>) =>
    ofDiscord("GuildMemberResponse", {
      user: ofDiscord("UserResponse", { id, username: loginOf(id) }),
      roles: [...roles],
    });
  function askDiscord(
    operation: string,
    params: Record<string, string>,
    body: Record<string, unknown>,
    auth: string,
  ): Answer {
    if (operation === "POST /oauth2/token") {
      const given = exchange(body);
      if (!given) return { status: 400, json: { error: "invalid_grant" } };
      const { expires_in } = state;
      return { status: 200, json: { ...given, token_type: "Bearer", expires_in, scope: "identify email guilds.join" } };
    }
    if (operation === "GET /users/@me" && auth.startsWith("Bearer ")) {
      const id = tokens.get(auth.slice(7));
      if (!id) return discordError(401, 0, "401: Unauthorized");
      return { status: 200, json: ofDiscord("UserPIIResponse", { id, username: loginOf(id) }) };
    }
    if (auth !== `Bot ${botToken}`) return discordError(401, 0, "401: Unauthorized");
    if (operation === "GET /users/@me")
      return { status: 200, json: ofDiscord("UserPIIResponse", { id: bot_id, username: "floe" }) };
    const { id, roles, isBotIn, members } = state.guild;
    if (params.guild_id !== id || !isBotIn) return discordError(404, 10_004, "Unknown Guild");
    if (operation === "GET /guilds/{guild_id}/roles")
      return {
        status: 200,
        json: [...roles, "20"].map((one) =>
          ofDiscord("GuildRoleResponse", { id: one, position: one === "20" ? 9 : 1 }),
        ),
      };
    const user = params.user_id ?? "";
    const has = members.get(user);
    switch (operation) {
      case "GET /guilds/{guild_id}/members/{user_id}":
        return { status: 200, json: member(user, user === bot_id ? ["20"] : (has ?? [])) };
      case "PUT /guilds/{guild_id}/members/{user_id}":
        if (tokens.get(String(body.access_token)) !== user)
          return discordError(403, 50_025, "Invalid OAuth2 access token");
        if (has) return { status: 204 };
        if (!(body.roles as string[]).every((one) => roles.includes(one)))
          return discordError(404, 10_011, "Unknown Role");
        members.set(user, new Set(body.roles as string[]));
        return { status: 201, json: member(user, body.roles as string[]) };
      case "DELETE /guilds/{guild_id}/members/{user_id}":
        if (!members.delete(user)) return discordError(404, 10_007, "Unknown Member");
        return { status: 204 };
      default: {
        const role = params.role_id ?? "";
        if (!has) return discordError(404, 10_007, "Unknown Member");
        if (!roles.includes(role)) return discordError(404, 10_011, "Unknown Role");
        if (operation.startsWith("PUT ")) has.add(role);
        else has.delete(role);
        return { status: 204 };
      }
    }
  }

  const { sampleOf: ofGitHub } = described.github;
  const gitHubError = (status: number, message: string): Answer => ({ status, json: { message } });
  const simpleUser = (account: string) => ofGitHub("simple-user", { id: Number(account), login: loginOf(account) });
  const invitation = ([id, { account }]: [number, { account: string }]) =>
    ofGitHub("repository-invitation", { id, invitee: simpleUser(account) });
  const installation_tokens = new Set<string>();
  /** Whether a call shows the app's own token: its key, its number. */
  function isApp(auth: string): boolean {
    const [head = "", claims = "", signature = ""] = auth.slice(7).split(".");
    const signed = verify(
      "sha256",
      Buffer.from(`${head}.${claims}`),
      app.publicKey,
      Buffer.from(signature, "base64url"),
    );
    const { iss, iat, exp } = JSON.parse(Buffer.from(claims, "base64url").toString() || "{}");
    return signed && iss === app_id && exp > iat && exp - iat <= 600;
  }
  function askGitHub(
    operation: string,
    params: Record<string, string>,
    body: Record<string, unknown>,
    auth: string,
    query: URLSearchParams,
  ): Answer {
    const { whole, isInstalled, collaborators, invitations } = state.repository;
    if (operation === "GET /user") {
      const account = tokens.get(auth.slice(7));
      if (!account) return gitHubError(401, "Bad credentials");
      return {
        status: 200,
        json: ofGitHub("public-user", {
          id: Number(account),
          login: loginOf(account),
          type: "User",
          user_view_type: "public",
        }),
      };
    }
    const isThere = params.repo === undefined || `${params.owner}/${params.repo}`.toLowerCase() === whole;
    if (operation === "GET /repos/{owner}/{repo}/installation") {
      if (!isApp(auth)) return gitHubError(401, "A JSON web token could not be decoded");
      if (!isThere || !isInstalled) return gitHubError(404, "Not Found");
      return { status: 200, json: ofGitHub("installation", { id: installation_id, target_type: "Organization" }) };
    }
    if (operation.startsWith("POST /app/")) {
      if (!isApp(auth)) return gitHubError(401, "A JSON web token could not be decoded");
      const token = `ghs_${newId()}`;
      installation_tokens.add(token);
      return {
        status: 201,
        json: ofGitHub("installation-token", { token, expires_at: state.repository.token_ends }),
      };
    }
    if (!isInstalled || !installation_tokens.has(auth.replace("Bearer ", "")))
      return gitHubError(401, "Bad credentials");
    if (operation === "GET /user/{account_id}") {
      const account = params.account_id ?? "";
      if (!state.names.has(account)) return gitHubError(404, "Not Found");
      return {
        status: 200,
        json: ofGitHub("public-user", {
          id: Number(account),
          login: loginOf(account),
          type: "User",
          user_view_type: "public",
        }),
      };
    }
    if (!isThere) return gitHubError(404, "Not Found");
    const account = accountOf(params.username ?? "");
    switch (operation) {
      case "PUT /repos/{owner}/{repo}/collaborators/{username}": {
        if (!account) return gitHubError(404, "Not Found");
        const permission = String(body.permission ?? "push");
        if (collaborators.has(account) || state.accepts) {
          collaborators.set(account, permission);
          return { status: 204 };
        }
        const known = [...invitations].find(([, one]) => one.account === account);
        invited += 1;
        const id = known?.[0] ?? invited;
        // Who is invited already stays invited to what it was.
        if (!known) invitations.set(id, { account, permission });
        return { status: 201, json: invitation([id, { account }]) };
      }
      case "DELETE /repos/{owner}/{repo}/collaborators/{username}":
        if (account) collaborators.delete(account);
        return { status: 204 };
      case "GET /repos/{owner}/{repo}/collaborators/{username}/permission":
        return {
          status: 200,
          json: ofGitHub("repository-collaborator-permission", { permission: "admin", role_name: "admin", user: null }),
        };
      case "GET /repos/{owner}/{repo}/invitations": {
        const [size, page] = [Number(query.get("per_page") ?? 30), Number(query.get("page") ?? 1)];
        return { status: 200, json: [...invitations].map(invitation).slice((page - 1) * size, page * size) };
      }
      default: {
        if (!invitations.delete(Number(params.invitation_id))) return gitHubError(404, "Not Found");
        return { status: 204 };
      }
    }
  }

  const send = (response: ServerResponse, { status, json, headers = {} }: Answer): void =>
    void response
      .writeHead(status, { ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers })
      .end(json === undefined ? undefined : JSON.stringify(json));
  function takeTrouble(call: string): Trouble | undefined {
    const found = troubles.find((one) => one.call.test(call));
    if (!found) return undefined;
    if (found.times !== undefined && found.times > 1) found.times -= 1;
    else troubles.splice(troubles.indexOf(found), 1);
    return found;
  }
  /** Whoever is sent here agrees at once. */
  function authorize(platform: "discord" | "github", asked: URLSearchParams, response: ServerResponse): void {
    const code = newId();
    const redirect_uri = asked.get("redirect_uri") ?? "";
    if (asked.get("client_id") !== client.id) faults.push("a stranger asks for somebody");
    codes.set(code, { person: state.person[platform], redirect_uri, challenge: asked.get("code_challenge") });
    const back = new URL(redirect_uri);
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    response.writeHead(302, { location: back.href }).end();
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const body = await text(request);
    if (pathname === "/discord/oauth2/authorize") return authorize("discord", searchParams, response);
    if (pathname === "/github/login/oauth/authorize") return authorize("github", searchParams, response);
    const method = request.method ?? "";
    const short = pathname.replace(/^\/discord\/api\/v10|^\/github-api/, "");
    calls.push(`${method} ${short}`);
    const trouble = takeTrouble(`${method} ${short}`);
    if (trouble?.how === "unreached") return void response.destroy();
    if (trouble?.how === "silent") return;
    if (trouble?.how === "broken") return send(response, { status: 502 });
    if (trouble?.how === "limited")
      return send(response, {
        status: 429,
        json: { message: "You are being rate limited.", retry_after: trouble.seconds, global: false },
        headers: { "retry-after": String(Math.ceil(trouble.seconds)), "x-ratelimit-remaining": "0" },
      });
    if (trouble?.how === "answers" && trouble.raw !== undefined)
      return void response.writeHead(trouble.status, { "content-type": "application/json" }).end(trouble.raw);
    if (trouble?.how === "answers") return send(response, trouble);
    if (pathname === "/github/login/oauth/access_token") {
      const given = exchange(Object.fromEntries(new URLSearchParams(body)));
      return send(response, {
        status: 200,
        json: given ? { ...given, token_type: "bearer", scope: "user" } : { error: "bad_verification_code" },
      });
    }
    const platform = pathname.startsWith("/discord/api/v10/") ? "discord" : "github";
    const asked = { method, path: short, query: searchParams, headers: request.headers, body };
    const known = described[platform].read(asked);
    if (typeof known === "string") {
      faults.push(known);
      return send(response, { status: 404, json: { message: known, code: 0 } });
    }
    const { authorization: auth = "", accept } = request.headers;
    if (platform === "github" && (accept !== "application/vnd.github+json" || !request.headers["x-github-api-version"]))
      faults.push(`${known.operation}: of no version`);
    const made =
      platform === "discord"
        ? askDiscord(known.operation, known.params, known.body, auth)
        : askGitHub(known.operation, known.params, known.body, auth, searchParams);
    const wrong = described[platform].judge(known.operation, made.status, made.json);
    if (wrong) faults.push(wrong);
    if (trouble?.how === "lost") return void response.destroy();
    if (trouble?.how === "untold") return trouble.done();
    return send(response, made);
  };
  const server = createServer(handling(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    state,
    calls,
    troubles,
    faults,
    settings: {
      GITHUB_CLIENT_ID: client.id,
      GITHUB_CLIENT_SECRET: client.secret,
      GITHUB_APP_ID: app_id,
      GITHUB_APP_PRIVATE_KEY: String(app.privateKey.export({ type: "pkcs1", format: "pem" })),
      GITHUB_URL: `${url}/github`,
      GITHUB_API_URL: `${url}/github-api`,
      DISCORD_CLIENT_ID: client.id,
      DISCORD_CLIENT_SECRET: client.secret,
      DISCORD_BOT_TOKEN: botToken,
      DISCORD_URL: `${url}/discord/`,
    },
    /** The tokens that were given, of which nobody else may read any. */
    secrets: () => [...tokens.keys()].map((key) => key.replace("refresh ", "")),
    /** No token that was given is good any more. */
    forget: () => {
      tokens.clear();
      installation_tokens.clear();
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (faults.length > 0) throw new Error(`They would not know what was asked:\n${faults.join("\n")}`);
    },
  };
}
