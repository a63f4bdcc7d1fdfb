import { z } from "zod";
import type { Platform } from "../../../shared/api/portal-accounts.ts";
import type { Config } from "../../platform/config.ts";
import { cleanText } from "../../platform/external/external-provider.ts";
import { getGitHubHeaders } from "../../platform/external/github.ts";
import { fetchService } from "../../platform/external/services.ts";

/** How people know a platform. */
export const platformNames: Readonly<Record<Platform, string>> = { discord: "Discord", github: "GitHub" };

const namesMost = 100;
const Tokens = z.object({
  access_token: z.string().min(1).max(2000),
  refresh_token: z.string().min(1).max(2000).optional(),
  expires_in: z
    .number()
    .positive()
    .max(10 ** 9)
    .optional(),
});
/** What opens an account. */
export type Tokens = z.output<typeof Tokens>;
/** Tokens as they are kept. */
export const readTokens = (text: string): Tokens => Tokens.parse(JSON.parse(text));

const shownName = z.string().transform((text) => cleanText(text, namesMost) || null);
const Person = {
  discord: z.object({ id: z.string().regex(/^\d{1,20}$/), username: shownName }),
  github: z.object({ id: z.int().positive(), login: shownName }),
};

const places = {
  discord: ({ DISCORD_URL }: Config) => ({
    authorize: `${DISCORD_URL}/oauth2/authorize`,
    token: `${DISCORD_URL}/api/v10/oauth2/token`,
    me: `${DISCORD_URL}/api/v10/users/@me`,
  }),
  github: ({ GITHUB_URL, GITHUB_API_URL }: Config) => ({
    authorize: `${GITHUB_URL}/login/oauth/authorize`,
    token: `${GITHUB_URL}/login/oauth/access_token`,
    me: `${GITHUB_API_URL}/user`,
  }),
};
/** What customers are asked to allow (BEN-61, BEN-81). */
const scopes = { discord: "identify email guilds.join", github: "user user:email" };

/** Which setting a platform lacks; undefined where it has all that customers need to show an account. */
export const findMissingClient = (config: Config, platform: Platform): string | undefined =>
  ({
    discord: ["DISCORD_CLIENT_ID", "DISCORD_CLIENT_SECRET"] as const,
    github: ["GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET"] as const,
  })[platform].find((name) => !config[name]);

const getClient = (config: Config, platform: Platform) =>
  platform === "discord"
    ? { client_id: config.DISCORD_CLIENT_ID ?? "", client_secret: config.DISCORD_CLIENT_SECRET ?? "" }
    : { client_id: config.GITHUB_CLIENT_ID ?? "", client_secret: config.GITHUB_CLIENT_SECRET ?? "" };
const getCallback = ({ url }: Config): string => `${url}/v1/customer-portal/oauth-accounts/callback`;

/** Where a customer shows that an account is theirs. Discord takes no challenge of who has a secret. */
export function buildAuthorizeUrl(config: Config, platform: Platform, state: string, challenge: string): string {
  const url = new URL(places[platform](config).authorize);
  const asked = {
    client_id: getClient(config, platform).client_id,
    redirect_uri: getCallback(config),
    scope: scopes[platform],
    state,
    // Whoever has another account by now chooses which.
    ...(platform === "discord"
      ? { response_type: "code", prompt: "consent" }
      : { code_challenge: challenge, code_challenge_method: "S256", prompt: "select_account" }),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return url.href;
}

async function requestTokens(config: Config, platform: Platform, given: Record<string, string>) {
  const { status, json } = await fetchService(places[platform](config).token, {
    method: "POST",
    headers: { accept: "application/json", "user-agent": "floe" },
    body: new URLSearchParams({ ...given, ...getClient(config, platform) }),
  });
  const read = Tokens.safeParse(json);
  return { status, tokens: status === 200 && read.success ? read.data : undefined };
}

/** The tokens for a code that somebody came back with; undefined where it is no good. Throws where nobody answers. */
export async function exchangeCode(
  config: Config,
  platform: Platform,
  { code, verifier }: { code: string; verifier: string },
): Promise<Tokens | undefined> {
  const given = { grant_type: "authorization_code", code, redirect_uri: getCallback(config) };
  const asked = await requestTokens(
    config,
    platform,
    platform === "github" ? { ...given, code_verifier: verifier } : given,
  );
  if (asked.status >= 500 || asked.status === 429) throw new Error(`It answered with status ${asked.status}.`);
  return asked.tokens;
}

/** New tokens for those that have ended; "dead" where the customer has to come again, undefined where it can be tried again. */
export async function renewTokens(
  config: Config,
  platform: Platform,
  refresh_token: string,
): Promise<Tokens | "dead" | undefined> {
  const given = { grant_type: "refresh_token", refresh_token };
  const asked = await requestTokens(config, platform, given).catch(() => undefined);
  if (asked?.tokens) return { refresh_token, ...asked.tokens };
  // Anything but a word about the token itself may be otherwise later.
  return asked?.status === 400 ? "dead" : undefined;
}

/** Whose account tokens open; undefined where that is not said. Throws where nobody answers. */
export async function findPerson(
  config: Config,
  platform: Platform,
  { access_token }: Tokens,
): Promise<{ account_number: string; username: string | null } | undefined> {
  const headers =
    platform === "github"
      ? getGitHubHeaders(access_token)
      : { authorization: `Bearer ${access_token}`, "user-agent": "floe" };
  const { status, json } = await fetchService(places[platform](config).me, { headers });
  if (status !== 200) return undefined;
  const read = platform === "github" ? Person.github.safeParse(json) : Person.discord.safeParse(json);
  if (!read.success) return undefined;
  return {
    account_number: String(read.data.id),
    username: "login" in read.data ? read.data.login : read.data.username,
  };
}
