import type { Benefit } from "../../../../shared/api/benefits.ts";
import type { BenefitRow } from "../../../catalog/benefits/rules.ts";
import { findFreshToken } from "../../../customers/linked-accounts/service.ts";
import { getServerClock } from "../../../platform/clock.ts";
import type { Deps } from "../../../platform/context.ts";
import { findMissingSetting, getDiscordAgent } from "../../../platform/external/discord.ts";
import { callExternal, ExternalRefusedError } from "../../../platform/external/external-provider.ts";
import type { AccessRow } from "../accesses.ts";
import type { ExternalProvider } from "./external.ts";

const getTerms = (properties: BenefitRow["properties"]) =>
  properties as Extract<Benefit, { type: "discord" }>["properties"];
const encodePart = (text: string | undefined): string => encodeURIComponent(text ?? "");

/** Discord's numbers for why it does not do something. */
const unknownGuild = 10_004;
const unknownMember = 10_007;
const unknownRole = 10_011;
const guildsFull = 30_001;
const unknownToken = 50_025;
const banned = 40_007;
const reconnect = "The customer needs to reconnect their Discord account";
/** What they mean, for whoever sells. */
const meanings: Readonly<Record<number, string>> = {
  [unknownGuild]: "the bot is no longer in the server. Let it in again",
  [unknownRole]: "the role is not there any more. Choose another for the benefit",
  [guildsFull]: "the customer is in as many servers as Discord allows. They have to leave one",
  [banned]: "the customer is banned from the server",
  50001: "the bot may not see the server. Let it in again",
  50013: "the bot may not give the role. Let it manage roles, and move its own role above this one",
};
const ofStatus: Readonly<Record<number, string>> = {
  401: "Discord does not know the bot. Who runs this server has to set DISCORD_BOT_TOKEN anew",
  403: meanings[50_013] ?? "",
  404: "the server or the role is not there any more",
};

function explain(error: unknown): never {
  if (!(error instanceof ExternalRefusedError)) throw error;
  const { status, code, message } = error;
  const meaning = (code === null ? undefined : meanings[code]) ?? ofStatus[status];
  const said = meaning === undefined ? message : `${meaning} (${message})`;
  throw new ExternalRefusedError(`Discord error: ${said}.`, status, code);
}

/** How a bot asks about a member of a guild. */
function openMember({ config, clock }: Deps, { place, account_number }: AccessRow) {
  const missing = findMissingSetting(config);
  if (missing) throw new ExternalRefusedError(`Discord is not set up on this server: ${missing} is missing.`, 0);
  const [guild = "", role] = place.split("/");
  const member = `${config.DISCORD_URL}/api/v10/guilds/${encodePart(guild)}/members/${encodePart(account_number)}`;
  const sendRequest = (method: "PUT" | "DELETE", url: string, body?: object) =>
    callExternal({
      name: "Discord",
      counted: `${config.DISCORD_URL} ${guild}`,
      url,
      method,
      done: [201, 204],
      headers: {
        ...getDiscordAgent(config),
        authorization: `Bot ${config.DISCORD_BOT_TOKEN ?? ""}`,
      },
      ...(body ? { body } : {}),
      now: getServerClock(clock).now(),
    });
  return { ask: sendRequest, member, role, ofRole: `${member}/roles/${encodePart(role)}` };
}

/** A role of a guild (BEN-62 to BEN-66). */
export const discord: ExternalProvider = {
  platform: "discord",
  type: "discord",
  placeOf: (properties) => `${getTerms(properties).guild_id}/${getTerms(properties).role_id}`,
  wholeOf: (place) => place.slice(0, place.indexOf("/") + 1),
  formOf: () => "role",
  forms: ["role"],
  kicks: (properties) => getTerms(properties).kick_member,
  properties({ properties }, account_id) {
    const { guild_id, role_id } = getTerms(properties);
    return { account_id, guild_id, role_id, granted_account_id: account_id };
  },
  async give(deps, access) {
    const { ask, member, role, ofRole } = openMember(deps, access);
    const access_token = await findFreshToken(deps, access, "discord");
    try {
      if (access_token !== null) {
        const { status } = await ask("PUT", member, { access_token, roles: [role] });
        // 204: they were a member already, and have the roles that they had.
        if (status === 201) return;
      }
      await ask("PUT", ofRole);
    } catch (error) {
      const code = error instanceof ExternalRefusedError ? error.code : null;
      // Only they themselves can have them let in.
      if (code === unknownToken || (access_token === null && code === unknownMember))
        throw new ExternalRefusedError(reconnect, 403);
      explain(error);
    }
  },
  async take(deps, access, isKicked) {
    const { ask, member, ofRole } = openMember(deps, access);
    try {
      await ask("DELETE", isKicked ? member : ofRole);
    } catch (error) {
      // Who is no member has no role, and nobody has one that is gone.
      if (error instanceof ExternalRefusedError && (error.code === unknownMember || error.code === unknownRole)) return;
      explain(error);
    }
  },
};
