import type { z } from "zod";
import type { Benefit, BenefitCreate, BenefitInput, BenefitUpdate, benefits } from "../../../shared/api/benefits.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, type Fault, fault, invalid, notFound, notPermitted } from "../../../shared/errors.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { findMissingSetting, openGuild, sealGuild, validateRole } from "../../platform/external/discord.ts";
import { findMissingAppSetting, validateRepository } from "../../platform/external/github.ts";
import { createId } from "../../platform/ids.ts";
import {
  checkGitHub,
  checkNamed,
  checkRepository,
  checkRole,
  checkSlack,
  getReferences,
  planUpdate,
  serializeBenefit,
} from "./rules.ts";
import * as store from "./store.ts";

type Create = z.output<typeof BenefitCreate>;
type Update = z.output<typeof BenefitUpdate>;
type Discord = BenefitInput["discord"];
type GitHub = BenefitInput["github_repository"];

/** The guild that a token stands for, or why it can't be had. */
function getGuild(ctx: Ctx, { guild_token }: Discord): { guild_id: string } | { fault: Fault } {
  const at = ["properties", "guild_token"];
  const missing = findMissingSetting(ctx.config);
  if (missing) return { fault: fault(at, `Discord is not set up on this server: ${missing} is missing.`) };
  const guild_id = openGuild(ctx.config.secrets, guild_token, requireOrganization(ctx));
  if (guild_id !== undefined) return { guild_id };
  const where = `${ctx.config.url}/v1/integrations/discord/bot/authorize`;
  return { fault: fault(at, `This is no token of this server for your organization. Get one at ${where}.`) };
}

type Wanted = { type: Benefit["type"]; properties: object };

/** What the properties of a batch of benefits are checked against: the files and meters that they name, and GitHub's accounts. */
async function loadReferences(tx: Tx, ctx: Ctx, wanted: readonly Wanted[]) {
  const named = wanted.map(({ type, properties }) => getReferences(type, properties));
  const references = {
    files: [...new Set(named.flatMap(({ files }) => files))],
    meters: [...new Set(named.flatMap(({ meters }) => meters))],
  };
  const isOfGitHub = wanted.some(({ type }) => type === "github_repository");
  const accounts = isOfGitHub ? await store.findGitHubAccounts(tx, ctx.actor.user_id) : [];
  return { named: await store.findNamed(tx, requireOrganization(ctx), references), hasGitHub: accounts.length > 0 };
}

/** Properties as they are kept: with the guild that a token stands for, after all that they name was found. */
function planProperties(
  ctx: Ctx,
  { type, properties }: Wanted,
  references: Awaited<ReturnType<typeof loadReferences>>,
): { properties: Benefit["properties"]; faults: Fault[] } {
  const organization_id = requireOrganization(ctx);
  const faults = [...checkNamed(getReferences(type, properties), references.named), ...checkSlack(type)];
  if (type === "github_repository")
    faults.push(...checkGitHub(ctx.actor, references.hasGitHub, findMissingAppSetting(ctx.config)));
  if (type !== "discord") return { properties: properties as Benefit["properties"], faults };
  const sent = properties as Discord;
  const guild = getGuild(ctx, sent);
  if ("fault" in guild) return { properties: { ...sent, guild_id: "" }, faults: [guild.fault] };
  const guild_token = sealGuild(ctx.config.secret, { ...guild, organization_id });
  return { properties: { ...sent, ...guild, guild_token }, faults };
}

async function requestDiscord(ctx: Ctx, sent: Discord): Promise<Fault[]> {
  const guild = getGuild(ctx, sent);
  if ("fault" in guild) return [];
  return checkRole(await validateRole(ctx.config, guild.guild_id, sent.role_id), sent.role_id);
}

async function requestGitHub(ctx: Ctx, sent: GitHub): Promise<Fault[]> {
  const { config, actor } = ctx;
  const accounts = await store.findGitHubAccounts(ctx.db, actor.user_id);
  if (accounts.length === 0 || checkGitHub(actor, true, findMissingAppSetting(config)).length > 0) return [];
  const repository = { owner: sent.repository_owner, name: sent.repository_name };
  return checkRepository(await validateRepository(config, getServerClock(ctx.clock).now(), repository, accounts), sent);
}

/**
 * Ask the service that is to give a benefit whether it can, while no transaction is open (BEN-60, BEN-70). What can be told
 * without is told later, with all else.
 */
export async function checkWithProvider(ctx: Ctx, type: Benefit["type"], properties: object): Promise<void> {
  const faults =
    type === "discord"
      ? await requestDiscord(ctx, properties as Discord)
      : type === "github_repository"
        ? await requestGitHub(ctx, properties as GitHub)
        : [];
  if (faults.length > 0) throw invalid(...faults);
}

/** Create benefits without asking other services, in as many statements for one as for a thousand. */
export async function createBenefits(tx: Tx, ctx: Ctx, bodies: readonly Create[]): Promise<Batch<Benefit>> {
  const organization_id = requireOrganization(ctx);
  const created_at = ctx.clock.now();
  const references = await loadReferences(tx, ctx, bodies);
  const drafts = bodies.map((body) => {
    const { properties, faults } = planProperties(ctx, body, references);
    if (faults.length > 0) return invalid(...faults);
    const { type, description, metadata } = body;
    const visibility = body.visibility ?? "public";
    return {
      id: createId(created_at),
      organization_id,
      created_at,
      type,
      description,
      metadata,
      visibility,
      properties,
    };
  });
  const rows = mapById(await store.insertBenefits(tx, listAccepted(drafts)));
  return mapAccepted(drafts, async ({ id }) => {
    const row = rows.get(id);
    if (!row) throw new Error("The benefit was not written.");
    const out = serializeBenefit(row);
    await emit(tx, ctx, organization_id, "benefit.created", out);
    return out;
  });
}

/** Change benefits without asking other services, in as many statements for one as for a thousand. */
export async function updateBenefits(
  tx: Tx,
  ctx: Ctx,
  changes: readonly { id: string; body: Update }[],
): Promise<Batch<Benefit>> {
  const organization_id = requireOrganization(ctx);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockBenefits(tx, organization_id, ids));
  const planned = changes.map(({ id, body }) => {
    const row = rows.get(id);
    return row ? { row, ...planUpdate(row, body) } : notFound();
  });
  const references = await loadReferences(
    tx,
    ctx,
    listAccepted(planned).flatMap(({ row: { type }, patch: { properties } }) =>
      properties ? [{ type, properties }] : [],
    ),
  );
  const drafts = planned.map((one) => {
    if (one instanceof ApiError) return one;
    const { row, patch, faults } = one;
    if (patch.properties) {
      const wanted = planProperties(ctx, { type: row.type, properties: patch.properties }, references);
      patch.properties = wanted.properties;
      faults.push(...wanted.faults);
    }
    return faults.length > 0 ? invalid(...faults) : { row, patch };
  });
  const changed = listAccepted(drafts).filter(({ patch }) => Object.keys(patch).length > 0);
  const modified_at = ctx.clock.now();
  const updated = mapById(
    await store.updateBenefits(
      tx,
      changed.map(({ row, patch }) => ({ row, patch: { ...patch, modified_at } })),
    ),
  );
  const otherwise = changed.filter(({ patch }) => patch.properties).map(({ row }) => row);
  if (otherwise.length > 0) await sendSignal(tx, ctx, benefitsChanged, otherwise);
  return mapAccepted(drafts, async ({ row }) => {
    const out = serializeBenefit(updated.get(row.id) ?? row);
    await emit(tx, ctx, organization_id, "benefit.updated", out);
    return out;
  });
}

/** Delete benefits, in as many statements for one as for a thousand. */
export async function deleteBenefits(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<void>> {
  const organization_id = requireOrganization(ctx);
  const rows = mapById(await store.lockBenefits(tx, organization_id, ids));
  const drafts = ids.map((id) => {
    const row = rows.get(id);
    if (!row) return notFound();
    return row.deletable ? row : notPermitted("This benefit cannot be deleted.");
  });
  const now = ctx.clock.now();
  const patch = { deleted_at: now, modified_at: now };
  const deleted = listAccepted(drafts);
  await store.updateBenefits(
    tx,
    deleted.map((row) => ({ row, patch })),
  );
  if (deleted.length > 0) await sendSignal(tx, ctx, benefitsDeleted, deleted);
  return mapAccepted(drafts, (row) =>
    emit(tx, ctx, organization_id, "benefit.updated", serializeBenefit({ ...row, ...patch })),
  );
}

/** What benefits give is something else. */
export const benefitsChanged = defineSignal<readonly RowKey[]>("benefit.changed");

/** Benefits are given to nobody any more. */
export const benefitsDeleted = defineSignal<readonly RowKey[]>("benefit.deleted");

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
    await checkWithProvider(ctx, body.type, body.properties);
    return transact(ctx, async (tx) => getOnly(await createBenefits(tx, ctx, [body])));
  },
  async update(ctx, { params, body }) {
    const [row] = body.properties ? await store.findBenefits(ctx.db, requireOrganization(ctx), [params.id]) : [];
    const properties = row && planUpdate(row, body).patch.properties;
    if (properties) await checkWithProvider(ctx, row.type, properties);
    return transact(ctx, async (tx) => getOnly(await updateBenefits(tx, ctx, [{ id: params.id, body }])));
  },
  delete: (ctx, { params }) => transact(ctx, async (tx) => getOnly(await deleteBenefits(tx, ctx, [params.id]))),
};
