import { z } from "zod";
import { ApiError } from "../../../shared/errors.ts";
import type { Config } from "../config.ts";
import { seal, unseal } from "../crypto/secrets.ts";
import { callService } from "./services.ts";

/** What the bot asks for: giving and taking roles, and putting members out of the server. */
const permissions = String((1 << 28) | (1 << 1));

const Guild = z.object({ guild_id: z.string(), organization_id: z.string() });

/** Proof that somebody of this organization let the bot into a guild. Good for no other organization (BEN-60). */
export const sealGuild = (secret: string, guild: z.output<typeof Guild>): string =>
  seal(secret, "discord-guild", "", JSON.stringify(guild));

/** The guild of a token that this server sealed for this organization; undefined for any other text. */
export function openGuild(secrets: readonly string[], token: string, organization_id: string): string | undefined {
  try {
    const guild = Guild.safeParse(JSON.parse(unseal(secrets, "discord-guild", "", token)));
    return guild.success && guild.data.organization_id === organization_id ? guild.data.guild_id : undefined;
  } catch {
    return undefined;
  }
}

const getCallback = ({ url }: Config): string => `${url}/v1/integrations/discord/bot/callback`;

/** Which setting the bot lacks; undefined when it has all of them. */
export const findMissingSetting = (config: Config): string | undefined =>
  (["DISCORD_CLIENT_ID", "DISCORD_CLIENT_SECRET", "DISCORD_BOT_TOKEN"] as const).find((name) => !config[name]);

/** Where somebody lets the bot into a guild of theirs. */
export function buildInvitation(config: Config, state: string): string {
  const url = new URL(`${config.DISCORD_URL}/oauth2/authorize`);
  const asked = { response_type: "code", scope: "identify bot", permissions, state, redirect_uri: getCallback(config) };
  for (const [name, value] of Object.entries({ client_id: config.DISCORD_CLIENT_ID ?? "", ...asked }))
    url.searchParams.set(name, value);
  return url.href;
}

/** Who asks Discord, in the form that it requires. */
export const getDiscordAgent = ({ url }: Config): Record<string, string> => ({
  "user-agent": `DiscordBot (${url}, 1)`,
});

const sendRequest = (
  config: Config,
  path: string,
  { headers, ...init }: RequestInit & { headers?: Record<string, string> },
) =>
  callService("Discord", `${config.DISCORD_URL}/api/v10${path}`, {
    ...init,
    headers: { ...getDiscordAgent(config), ...headers },
  });

const Exchanged = z.object({ guild: z.object({ id: z.string(), name: z.string() }) });

/** The guild that the bot was let into, for the code that Discord gave; undefined when the code is no good. */
export async function readGuild(config: Config, code: string): Promise<{ id: string; name: string } | undefined> {
  const { status, json } = await sendRequest(config, "/oauth2/token", {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: getCallback(config),
      client_id: config.DISCORD_CLIENT_ID ?? "",
      client_secret: config.DISCORD_CLIENT_SECRET ?? "",
    }),
  });
  const read = Exchanged.safeParse(json);
  return status === 200 && read.success ? read.data.guild : undefined;
}

const Roles = z.array(z.object({ id: z.string(), position: z.int() }));
const User = z.object({ id: z.string() });
const Member = z.object({ roles: z.array(z.string()) });

/**
 * Whether the bot can give a role of a guild: it must be there, and below one that the bot has. `absent` when the bot is
 * not in the guild.
 */
export async function validateRole(
  config: Config,
  guild_id: string,
  role_id: string,
): Promise<"fine" | "absent" | "unknown" | "above"> {
  const headers = { authorization: `Bot ${config.DISCORD_BOT_TOKEN ?? ""}` };
  const read = async <T>(path: string, shape: z.ZodType<T>): Promise<T | undefined> => {
    const { status, json } = await sendRequest(config, path, { headers });
    if (status === 403 || status === 404) return undefined;
    const result = shape.safeParse(json);
    if (status !== 200 || !result.success)
      throw new ApiError("ServiceUnavailable", `Discord refused the bot's question with status ${status}.`);
    return result.data;
  };
  const guild = `/guilds/${encodeURIComponent(guild_id)}`;
  const [roles, bot] = await Promise.all([read(`${guild}/roles`, Roles), read("/users/@me", User)]);
  const member = roles && bot && (await read(`${guild}/members/${encodeURIComponent(bot.id)}`, Member));
  if (!roles || !member) return "absent";
  const role = roles.find(({ id }) => id === role_id);
  if (!role) return "unknown";
  const highest = Math.max(0, ...roles.filter(({ id }) => member.roles.includes(id)).map(({ position }) => position));
  return role.position < highest ? "fine" : "above";
}
