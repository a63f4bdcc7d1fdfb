import { and } from "drizzle-orm";
import type { z } from "zod";
import type {
  subscriptionMigrations as operations,
  SubscriptionMigration,
  SubscriptionMigrationCreate,
  SubscriptionMigrationPreview,
} from "../../../shared/api/subscription-migrations.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound } from "../../../shared/errors.ts";
import { findProduct } from "../../catalog/products/store.ts";
import { type Ctx, type Database, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage, computeOffset, matchAny, matchOrganizations } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { SubscriptionAggregate } from "../subscriptions/rules.ts";
import { loadTerms, migrationItemWorker, migrationWorker } from "./jobs.ts";
import {
  computeNotBefore,
  findMigrationOffer,
  findObstacle,
  findRenewal,
  isAtTarget,
  type MigrationTarget,
} from "./rules.ts";
import * as store from "./store.ts";
import { type MigrationRow, subscriptionMigrations as migrations } from "./tables.ts";

type Create = z.output<typeof SubscriptionMigrationCreate>;

/** So many subscriptions are shown before a move. */
const previewMax = 500;

const buildFault = (field: string, msg: string, input: string) => invalid(fault([field], msg, "value_error", input));

/** What subscribers move to, or the refusal (SUB-33, SUB-67). */
async function findTarget(db: Database, organization_id: string, body: Create): Promise<MigrationTarget> {
  const { product_id, to_product_id } = body;
  const from = await findProduct(db, organization_id, product_id);
  if (!from) throw buildFault("product_id", "Product does not exist.", product_id);
  if (from.recurring_interval === null)
    throw buildFault("product_id", "Product is not a recurring product.", product_id);
  const product = await findProduct(db, organization_id, to_product_id);
  const rejectTarget = (msg: string) => buildFault("to_product_id", msg, to_product_id);
  if (!product) throw rejectTarget("Product does not exist.");
  if (product.is_archived) throw rejectTarget("Product is archived.");
  if (product.recurring_interval === null) throw rejectTarget("Product is not a recurring product.");
  const isSameRhythm =
    product.recurring_interval === from.recurring_interval &&
    product.recurring_interval_count === from.recurring_interval_count;
  if (!isSameRhythm) throw rejectTarget("Product is billed at another interval.");
  if (product.prices.some(({ amount_type }) => amount_type === "custom"))
    throw rejectTarget("Subscriptions cannot change to a product whose price the buyer chooses.");
  return { product, prices: product.prices };
}

function getStatus(row: MigrationRow): SubscriptionMigration["status"] {
  if (row.undone_at !== null) return row.finished_at === null ? "undoing" : "undone";
  if (row.finished_at !== null) return "done";
  return row.stopped_at === null ? "running" : "stopped";
}

function serialize(row: MigrationRow, counts: store.Counts): SubscriptionMigration {
  const { id, created_at, modified_at, organization_id, from_product_id, to_product_id, notify_days } = row;
  const shown = { id, created_at, modified_at, organization_id, from_product_id, to_product_id, notify_days };
  return { ...shown, status: getStatus(row), ...counts };
}

async function serializeAll(db: Database, rows: readonly MigrationRow[]): Promise<SubscriptionMigration[]> {
  const byOrganization = Map.groupBy(rows, ({ organization_id }) => organization_id);
  const counts = new Map<string, store.Counts>();
  for (const [organization_id, own] of byOrganization)
    for (const [id, one] of await store.countItems(
      db,
      organization_id,
      own.map((row) => row.id),
    ))
      counts.set(id, one);
  return rows.flatMap((row) => {
    const one = counts.get(row.id);
    return one ? [serialize(row, one)] : [];
  });
}

async function serializeOne(db: Database, row: MigrationRow): Promise<SubscriptionMigration> {
  const [shown] = await serializeAll(db, [row]);
  if (!shown) throw notFound();
  return shown;
}

const getKey = (ctx: Ctx, id: string): RowKey => ({ organization_id: requireOrganization(ctx), id });

/** Change a move with its lock, where the change makes sense; asked for again, nothing happens. */
const changeMigration = (
  ctx: Ctx,
  id: string,
  change: (tx: Tx, row: MigrationRow, now: Date) => Promise<Partial<MigrationRow> | null>,
): Promise<SubscriptionMigration> =>
  transact(ctx, async (tx) => {
    const key = getKey(ctx, id);
    const row = await store.lockMigration(tx, key);
    if (!row) throw notFound();
    const now = ctx.clock.now();
    const patch = await change(tx, row, now);
    if (patch) await store.updateMigration(tx, key, { ...patch, modified_at: now });
    ctx.jobs.wake(tx, migrationWorker.name);
    ctx.jobs.wake(tx, migrationItemWorker.name);
    return serializeOne(tx, { ...row, ...patch });
  });

/** What would become of one subscription. */
async function previewOne(ctx: Ctx, aggregate: SubscriptionAggregate, target: MigrationTarget, body: Create) {
  const { row, customer } = aggregate;
  const obstacle = findObstacle(aggregate, body.product_id);
  const offer = obstacle
    ? { reason: obstacle }
    : findMigrationOffer(aggregate, target, await loadTerms(ctx.db, ctx, aggregate));
  return {
    subscription_id: row.id,
    customer_id: customer.id,
    customer_email: customer.email,
    currency: row.currency,
    old_amount: row.amount,
    ...(offer.reason === null
      ? {
          reason: null,
          new_amount: offer.new_amount,
          applies_at: findRenewal(aggregate, computeNotBefore(ctx.clock.now(), body.notify_days)),
        }
      : { reason: offer.reason, new_amount: null, applies_at: null }),
  };
}

/** Moves of subscribers in the API. */
export const subscriptionMigrationService: Service<typeof operations, Ctx> = {
  async list(ctx, { query }) {
    const where = and(
      matchOrganizations(migrations.organization_id, requireOrganizations(ctx)),
      query.product_id && matchAny(migrations.from_product_id)(query.product_id),
    );
    const { rows, total } = await store.listMigrations(ctx.db, where, {
      limit: query.limit,
      offset: computeOffset(query),
    });
    return buildPage(await serializeAll(ctx.db, rows), total, query);
  },
  async preview(ctx, { body }): Promise<SubscriptionMigrationPreview> {
    const organization_id = requireOrganization(ctx);
    const target = await findTarget(ctx.db, organization_id, body);
    const { product_id } = body;
    const page = { after: null, limit: previewMax };
    const found = await store.findSubscribers(ctx.db, { organization_id, product_id }, page);
    const items = [];
    for (const aggregate of found)
      if (!isAtTarget(aggregate, target)) items.push(await previewOne(ctx, aggregate, target, body));
    const moving = items.filter(({ reason }) => reason === null).length;
    const total_count = await store.countSubscribers(ctx.db, organization_id, product_id);
    return { total_count, moving, skipped: items.length - moving, items };
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const { prices } = await findTarget(tx, organization_id, body);
      const now = ctx.clock.now();
      const made = await store.insertMigration(tx, {
        id: createId(now),
        organization_id,
        created_at: now,
        from_product_id: body.product_id,
        to_product_id: body.to_product_id,
        price_ids: prices.map(({ id }) => id),
        notify_days: body.notify_days,
        due_at: now,
      });
      if (!made)
        throw new ApiError(
          "BadRequest",
          "The subscribers of this product are being moved already. Undo that move first.",
        );
      ctx.jobs.wake(tx, migrationWorker.name);
      return serializeOne(tx, made);
    }),
  async get(ctx, { params }) {
    const row = await store.findMigration(ctx.db, getKey(ctx, params.id));
    if (!row) throw notFound();
    return serializeOne(ctx.db, row);
  },
  async items(ctx, { params, query }) {
    const key = getKey(ctx, params.id);
    if (!(await store.findMigration(ctx.db, key))) throw notFound();
    const page = { states: query.state, limit: query.limit, offset: computeOffset(query) };
    const { rows, total } = await store.listItems(ctx.db, key, page);
    return buildPage(
      rows.map(({ item, ...customer }) => ({ ...item, ...customer })),
      total,
      query,
    );
  },
  // Changes that are scheduled already still take effect: undo takes those back.
  stop: (ctx, { params }) =>
    changeMigration(ctx, params.id, async (tx, row, now) => {
      if (getStatus(row) !== "running") return null;
      await store.updateOpenItems(tx, row, { due_at: null });
      return { stopped_at: now, due_at: null };
    }),
  resume: (ctx, { params }) =>
    changeMigration(ctx, params.id, async (tx, row, now) => {
      if (getStatus(row) !== "stopped") return null;
      await store.updateOpenItems(tx, row, { due_at: now });
      return { stopped_at: null, due_at: now };
    }),
  undo: (ctx, { params }) =>
    changeMigration(ctx, params.id, async (tx, row, now) => {
      if (row.finished_at !== null || row.undone_at !== null) return null;
      await store.updateOpenItems(tx, row, { state: "undone", due_at: null, finished_at: now }, store.isFound);
      await store.updateOpenItems(tx, row, { due_at: now });
      const isOver = !(await store.hasOpenItems(tx, row));
      return { undone_at: now, due_at: null, ...(isOver && { finished_at: now }) };
    }),
};
