import type { FastifyInstance, FastifyReply } from "fastify";
import { z } from "zod";
import { seller } from "../../../shared/contract.ts";
import { ApiError, notPermitted } from "../../../shared/errors.ts";
import type { Deps } from "../../platform/context.ts";
import { seal, unseal } from "../../platform/crypto/secrets.ts";
import { buildInvitation, findMissingSetting, readGuild, sealGuild } from "../../platform/external/discord.ts";
import type { Identify } from "../../platform/http/actor.ts";
import { authenticate } from "../../platform/http/mount.ts";

/** How long somebody may take at Discord. */
const patienceMs = 10 * 60_000;

const State = z.object({
  kind: z.literal("discord_bot"),
  user_id: z.string(),
  organization_id: z.string(),
  until: z.number(),
});
const asked = { access: seller("benefits:write"), path: "/v1/integrations/discord/bot/authorize" };

function openState(secrets: readonly string[], state: string | undefined): z.output<typeof State> | undefined {
  try {
    return State.safeParse(JSON.parse(unseal(secrets, "discord-state", "", state ?? ""))).data;
  } catch {
    return undefined;
  }
}

const escapeText = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const loadPage = (reply: FastifyReply, title: string, body: string) =>
  reply
    .type("text/html; charset=utf-8")
    .header(
      "Content-Security-Policy",
      "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    )
    .header("Referrer-Policy", "no-referrer")
    .header("X-Content-Type-Options", "nosniff")
    .header("Cache-Control", "no-store")
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><h1>${title}</h1>${body}</html>`,
    );

/**
 * How a seller lets the bot into their guild, and gets the token that benefits of the type discord are made with: to
 * Discord and back, as a person who is signed in, because only a person has guilds (BEN-60).
 */
export function routeDiscordBot(app: FastifyInstance, deps: Deps, identify: Identify): void {
  const { config, clock } = deps;
  const authenticatePerson = async (request: Parameters<typeof authenticate>[0]) => {
    const missing = findMissingSetting(config);
    if (missing) throw notPermitted(`Discord is not set up on this server: ${missing} is missing.`);
    const actor = await authenticate(request, identify, asked);
    if (actor.kind !== "user" || actor.user_id === null || actor.organization_id === null)
      throw notPermitted("Only a person who is signed in can let the bot into a guild.");
    return { user_id: actor.user_id, organization_id: actor.organization_id };
  };
  app.get("/v1/integrations/discord/bot/authorize", async (request, reply) => {
    const who = await authenticatePerson(request);
    const state = { kind: "discord_bot", ...who, until: clock.now().getTime() + patienceMs };
    return reply
      .header("Cache-Control", "no-store")
      .redirect(buildInvitation(config, seal(config.secret, "discord-state", "", JSON.stringify(state))));
  });
  app.get<{ Querystring: Record<string, unknown> }>("/v1/integrations/discord/bot/callback", async (request, reply) => {
    const readQueryText = (name: string) => (typeof request.query[name] === "string" ? request.query[name] : undefined);
    const state = openState(config.secrets, readQueryText("state"));
    if (!state || state.until < clock.now().getTime())
      throw notPermitted("This way back from Discord is not known here, or too old. Begin again.");
    // Whoever comes back must be who was sent: nobody's guild is joined to somebody else's organization.
    const identity = await identify(request);
    const member =
      identity.kind === "user" && identity.user_id === state.user_id
        ? identity.memberships.find(({ organization_id }) => organization_id === state.organization_id)
        : undefined;
    if (!member?.scopes.has("benefits:write")) throw notPermitted("Sign in as who began this, and begin again.");
    if (readQueryText("error"))
      return loadPage(reply, "The bot was not let in", "<p>Nothing has changed. You may close this page.</p>");
    const guild = await readGuild(config, readQueryText("code") ?? "");
    if (!guild) throw new ApiError("NotPermitted", "Discord does not know this code. Begin again.");
    const guild_token = sealGuild(config.secret, { guild_id: guild.id, organization_id: state.organization_id });
    return loadPage(
      reply,
      "The bot is in",
      `<p>Make a benefit for ${escapeText(guild.name)} with this <code>guild_token</code>:</p><p><code>${guild_token}</code></p>`,
    );
  });
}
