import type { z } from "zod";
import type { Benefit, BenefitCreate, BenefitInput, BenefitUpdate, benefits } from "../../shared/api/benefits.ts";
import type { Service } from "../../shared/contract.ts";
import { type Fault, fault, invalid, notFound, notPermitted } from "../../shared/errors.ts";
import { getServerClock } from "../lib/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../lib/context.ts";
import { findMissingSetting, judgeRole, openGuild, sealGuild } from "../lib/discord.ts";
import { emit } from "../lib/events.ts";
import { findMissingAppSetting, judgeRepository } from "../lib/github.ts";
import { createId } from "../lib/ids.ts";
import { buildPage } from "../lib/page.ts";
import { defineSignal, sendSignal } from "../lib/reactions.ts";
import type { RowKey } from "../lib/rows.ts";
import { transact } from "../lib/unit-of-work.ts";
import {
  checkGitHub,
  checkNamed,
  checkRepository,
  checkRole,
  checkSlack,
  namedBy,
  planUpdate,
  serializeBenefit,
} from "./rules.ts";
import * as store from "./store.ts";

type Create = z.output<typeof BenefitCreate>;
type Update = z.output<typeof BenefitUpdate>;
type Discord = BenefitInput["discord"];
type GitHub = BenefitInput["github_repository"];

/** The guild that a token stands for, or why it can't be had. */
function guildOf(ctx: Ctx, { guild_token }: Discord): { guild_id: string } | { fault: Fault } {
  const at = ["properties", "guild_token"];
  const missing = findMissingSetting(ctx.config);
  if (missing) return { fault: fault(at, `Discord is not set up on this server: ${missing} is missing.`) };
  const guild_id = openGuild(ctx.config.secrets, guild_token, requireOrganization(ctx));
  if (guild_id !== undefined) return { guild_id };
  const where = `${ctx.config.url}/v1/integrations/discord/bot/authorize`;
  return { fault: fault(at, `This is no token of this server for your organization. Get one at ${where}.`) };
}

/** Properties as they are kept: with the guild that a token stands for, after all that they name was found. */
async function kept(
  tx: Tx,
  ctx: Ctx,
  type: Benefit["type"],
  properties: object,
): Promise<{ properties: Benefit["properties"]; faults: Fault[] }> {
  const organization_id = requireOrganization(ctx);
  const named = namedBy(type, properties);
  const faults = [...checkNamed(named, await store.findNamed(tx, organization_id, named)), ...checkSlack(type)];
  if (type === "github_repository") {
    const accounts = await store.findGitHubAccounts(tx, ctx.actor.user_id);
    faults.push(...checkGitHub(ctx.actor, accounts.length > 0, findMissingAppSetting(ctx.config)));
  }
  if (type !== "discord") return { properties: properties as Benefit["properties"], faults };
  const sent = properties as Discord;
  const guild = guildOf(ctx, sent);
  if ("fault" in guild) return { properties: { ...sent, guild_id: "" }, faults: [guild.fault] };
  const guild_token = sealGuild(ctx.config.secret, { ...guild, organization_id });
  return { properties: { ...sent, ...guild, guild_token }, faults };
}

async function askDiscord(ctx: Ctx, sent: Discord): Promise<Fault[]> {
  const guild = guildOf(ctx, sent);
  if ("fault" in guild) return [];
  return checkRole(await judgeRole(ctx.config, guild.guild_id, sent.role_id), sent.role_id);
}

async function askGitHub(ctx: Ctx, sent: GitHub): Promise<Fault[]> {
  const { config, actor } = ctx;
  const accounts = await store.findGitHubAccounts(ctx.db, actor.user_id);
  if (accounts.length === 0 || checkGitHub(actor, true, findMissingAppSetting(config)).length > 0) return [];
  const repository = { owner: sent.repository_owner, name: sent.repository_name };
  return checkRepository(await judgeRepository(config, getServerClock(ctx.clock).now(), repository, accounts), sent);
}

/**
 * Ask the service that is to give a benefit whether it can, while no transaction is open (BEN-60, BEN-70). What can be told
 * without is told later, with all else.
 */
export async function askOutside(ctx: Ctx, type: Benefit["type"], properties: object): Promise<void> {
  const faults =
    type === "discord"
      ? await askDiscord(ctx, properties as Discord)
      : type === "github_repository"
        ? await askGitHub(ctx, properties as GitHub)
        : [];
  if (faults.length > 0) throw invalid(...faults);
}

/** Make a benefit without asking anybody outside, as within another's transaction. */
export const createBenefit = (ctx: Ctx, body: Create): Promise<Benefit> =>
  transact(ctx, async (tx) => {
    const organization_id = requireOrganization(ctx);
    const { type, description, metadata, visibility } = body;
    const { properties, faults } = await kept(tx, ctx, type, body.properties);
    if (faults.length > 0) throw invalid(...faults);
    const owned = { id: createId(ctx.clock.now()), organization_id, created_at: ctx.clock.now() };
    const given = { type, description, metadata, visibility: visibility ?? "public", properties };
    const out = serializeBenefit(await store.insertBenefit(tx, { ...owned, ...given }));
    await emit(tx, ctx, organization_id, "benefit.created", out);
    return out;
  });

/** Change a benefit without asking anybody outside. */
export const changeBenefit = (ctx: Ctx, id: string, body: Update): Promise<Benefit> =>
  transact(ctx, async (tx) => {
    const organization_id = requireOrganization(ctx);
    const row = await store.lockBenefit(tx, organization_id, id);
    if (!row) throw notFound();
    const { patch, faults } = planUpdate(row, body);
    if (patch.properties) {
      const wanted = await kept(tx, ctx, row.type, patch.properties);
      patch.properties = wanted.properties;
      faults.push(...wanted.faults);
    }
    if (faults.length > 0) throw invalid(...faults);
    const same = Object.keys(patch).length === 0;
    const changed = same ? row : await store.updateBenefit(tx, row, { ...patch, modified_at: ctx.clock.now() });
    const out = serializeBenefit(changed);
    if (patch.properties) await sendSignal(tx, ctx, benefitChanged, changed);
    await emit(tx, ctx, organization_id, "benefit.updated", out);
    return out;
  });

/** What a benefit gives is something else. */
export const benefitChanged = defineSignal<RowKey>("benefit.changed");

/** A benefit is given to nobody any more. */
export const benefitDeleted = defineSignal<RowKey>("benefit.deleted");

/** The benefits of the API. */
export const benefitService: Service<typeof benefits, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listBenefits(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeBenefit), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findBenefits(ctx.db, requireOrganization(ctx), [params.id]);
    if (!row) throw notFound();
    return serializeBenefit(row);
  },
  async create(ctx, { body }) {
    await askOutside(ctx, body.type, body.properties);
    return createBenefit(ctx, body);
  },
  async update(ctx, { params, body }) {
    const [row] = body.properties ? await store.findBenefits(ctx.db, requireOrganization(ctx), [params.id]) : [];
    const properties = row && planUpdate(row, body).patch.properties;
    if (properties) await askOutside(ctx, row.type, properties);
    return changeBenefit(ctx, params.id, body);
  },
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const row = await store.lockBenefit(tx, organization_id, params.id);
      if (!row) throw notFound();
      if (!row.deletable) throw notPermitted("This benefit cannot be deleted.");
      const now = ctx.clock.now();
      const gone = await store.updateBenefit(tx, row, { deleted_at: now, modified_at: now });
      await sendSignal(tx, ctx, benefitDeleted, row);
      await emit(tx, ctx, organization_id, "benefit.updated", serializeBenefit(gone));
    }),
};
