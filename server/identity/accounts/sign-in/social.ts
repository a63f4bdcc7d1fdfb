import { sign } from "node:crypto";
import type { BetterAuthPlugin } from "better-auth";
import { createAuthEndpoint } from "better-auth/api";
import type { OAuthProvider } from "better-auth/oauth2";
import { findWebPage } from "../../../../shared/destinations.ts";
import type { Config } from "../../../platform/config.ts";
import type { Deps } from "../../../platform/context.ts";
import { createLinkingEndpoints } from "./linking.ts";
import { type Client, fetchFor, readFlow, signUpFlags } from "./oauth.ts";
import { openIdProvider } from "./openid.ts";

/** How long a client secret made for Apple is good; it is made anew for every request. */
const appleSecretSeconds = 300;

type Parts = Pick<Deps, "config" | "log" | "clock">;
type Provider = OAuthProvider<object>;

/** Signing in with other services, and what there is to sign in with. */
export const createSocialSignIn = (deps: Parts) => {
  const { config } = deps;
  const providers = getProviders(deps);
  const methods = {
    password: config.FLOE_PASSWORD_SIGN_IN,
    username: config.FLOE_PASSWORD_SIGN_IN,
    anonymous: config.FLOE_ANONYMOUS_SIGN_IN,
    providers: providers.map(({ id, name }) => ({ id, name })),
    signUp: {
      password: config.FLOE_PASSWORD_SIGN_IN && config.FLOE_SIGN_UP === "open",
      providers: providers.length > 0 && config.FLOE_SOCIAL_SIGN_UP !== "closed",
    },
    // What else people are asked for; what is closed to clients is nobody's business here.
    fields: config.FLOE_USER_FIELDS.filter(({ input }) => input).map(
      ({ name, label, type, required, default: usual }) => ({
        name,
        label,
        type,
        required,
        default: usual ?? null,
      }),
    ),
  };
  return {
    id: "floe-social",
    init: () => ({ context: { socialProviders: providers } }),
    endpoints: {
      signInMethods: createAuthEndpoint("/methods", { method: "GET" }, async (ctx) => ctx.json(methods)),
      // An endpoint under the name of a core one takes its place.
      ...createLinkingEndpoints(deps.clock),
    },
  } satisfies BetterAuthPlugin;
};

/** The services that have been set up. */
function getProviders(deps: Parts): Provider[] {
  const { config } = deps;
  const createClient = (clientId: string | undefined, clientSecret: string | undefined): Client | undefined =>
    clientId && clientSecret ? { clientId, clientSecret: () => clientSecret } : undefined;
  const googleClient = createClient(config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET);
  const githubClient = createClient(config.GITHUB_CLIENT_ID, config.GITHUB_CLIENT_SECRET);
  const discordClient = createClient(config.DISCORD_CLIENT_ID, config.DISCORD_CLIENT_SECRET);
  const appleClient = getAppleClient(deps);
  return [
    ...(googleClient ? [buildGoogle(deps, googleClient)] : []),
    ...(githubClient ? [buildGithub(config, githubClient)] : []),
    ...(appleClient ? [buildApple(deps, appleClient)] : []),
    ...(discordClient ? [buildDiscord(config, discordClient)] : []),
    ...config.openid.map((one) =>
      openIdProvider(deps, {
        id: one.id,
        name: one.NAME ?? one.id,
        issuer: one.ISSUER,
        client: { clientId: one.CLIENT_ID, clientSecret: () => one.CLIENT_SECRET },
        scopes: one.SCOPES,
        signUp: config.FLOE_SOCIAL_SIGN_UP,
      }),
    ),
  ];
}

const buildGoogle = (deps: Parts, client: Client): Provider =>
  openIdProvider(deps, {
    id: "google",
    name: "Google",
    issuer: deps.config.GOOGLE_URL,
    // It is known to leave out the scheme.
    aliases: [new URL(deps.config.GOOGLE_URL).host],
    client,
    scopes: ["openid", "email", "profile"],
    signUp: deps.config.FLOE_SOCIAL_SIGN_UP,
    parameters: ({ loginHint }) => ({
      include_granted_scopes: "true",
      ...(loginHint ? { login_hint: loginHint } : {}),
    }),
  });

const buildApple = (deps: Parts, client: Client): Provider =>
  openIdProvider(deps, {
    id: "apple",
    name: "Apple",
    issuer: deps.config.APPLE_URL,
    client,
    scopes: ["openid", "email", "name"],
    signUp: deps.config.FLOE_SOCIAL_SIGN_UP,
    // Asked for a name or an address, it answers by a form only.
    parameters: () => ({ response_mode: "form_post" }),
    nonceComparison: "exact-or-sha256",
  });

/** Apple's client secret is a token that one signs oneself, with the key that Apple gave. */
function getAppleClient({ config, clock }: Parts): Client | undefined {
  const { APPLE_CLIENT_ID: clientId, APPLE_CLIENT_SECRET: given, APPLE_TEAM_ID: team } = config;
  const { APPLE_KEY_ID: kid, APPLE_PRIVATE_KEY: key } = config;
  if (!clientId) return undefined;
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
  const buildMade = (): string => {
    if (!key) throw new Error("There is no key to sign Apple's client secret with.");
    const iat = clock.now().setUTCMilliseconds(0) / 1000;
    const claims = { iss: team, sub: clientId, aud: config.APPLE_URL, iat, exp: iat + appleSecretSeconds };
    const signed = `${encode({ alg: "ES256", kid, typ: "JWT" })}.${encode(claims)}`;
    return `${signed}.${sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  return { clientId, clientSecret: () => given ?? buildMade() };
}

type GitHubUser = { id?: number; login?: string; name?: string | null; email?: string | null; avatar_url?: string };
type GitHubEmail = { email: string; primary: boolean; verified: boolean };

/** GitHub tells the addresses of an account, and which of them are proved, at an endpoint of their own. */
function buildGithub({ GITHUB_URL, GITHUB_API_URL, FLOE_SOCIAL_SIGN_UP }: Config, client: Client): Provider {
  const endpoints = {
    authorization: `${GITHUB_URL}/login/oauth/authorize`,
    token: `${GITHUB_URL}/login/oauth/access_token`,
  };
  const provider: OAuthProvider<GitHubUser> = {
    id: "github",
    name: "GitHub",
    accountSubject: ({ profile }) => profile.id ?? "",
    ...readFlow({
      client,
      endpoints: async () => endpoints,
      scopes: ["read:user", "user:email"],
      parameters: ({ loginHint }): Record<string, string> => (loginHint ? { login: loginHint } : {}),
    }),
    ...signUpFlags(FLOE_SOCIAL_SIGN_UP),
    async getUserInfo({ accessToken }) {
      const data: GitHubUser | undefined = await fetchFor(accessToken, `${GITHUB_API_URL}/user`);
      if (!data) return null;
      const found: unknown = await fetchFor(accessToken, `${GITHUB_API_URL}/user/emails`);
      const emails: GitHubEmail[] = Array.isArray(found) ? found : [];
      const image = findWebPage(data.avatar_url)?.href;
      const email = emails.find((one) => one.primary)?.email ?? data.email ?? null;
      return {
        user: {
          name: data.name ?? data.login ?? "",
          email,
          emailVerified: emails.some((one) => one.email === email && one.verified),
          ...(image ? { image } : {}),
        },
        data,
      };
    },
  };
  return provider;
}

type DiscordUser = {
  id?: string;
  username?: string;
  global_name?: string | null;
  avatar?: string | null;
  email?: string | null;
  verified?: boolean;
};

function buildDiscord({ DISCORD_URL, FLOE_SOCIAL_SIGN_UP }: Config, client: Client): Provider {
  const endpoints = {
    authorization: `${DISCORD_URL}/oauth2/authorize`,
    token: `${DISCORD_URL}/api/oauth2/token`,
  };
  const provider: OAuthProvider<DiscordUser> = {
    id: "discord",
    name: "Discord",
    accountSubject: ({ profile }) => profile.id ?? "",
    ...readFlow({
      client,
      endpoints: async () => endpoints,
      scopes: ["identify", "email"],
      // It documents none.
      pkce: false,
      // Whoever agreed before is not asked again.
      parameters: () => ({ prompt: "none" }),
    }),
    ...signUpFlags(FLOE_SOCIAL_SIGN_UP),
    async getUserInfo({ accessToken }) {
      const data: DiscordUser | undefined = await fetchFor(accessToken, `${DISCORD_URL}/api/users/@me`);
      if (!data) return null;
      const { id, avatar } = data;
      return {
        user: {
          name: data.global_name ?? data.username ?? "",
          email: data.email ?? null,
          emailVerified: data.verified === true,
          ...(avatar ? { image: `https://cdn.discordapp.com/avatars/${id}/${avatar}.png` } : {}),
        },
        data,
      };
    },
  };
  return provider;
}
