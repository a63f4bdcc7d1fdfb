import { sql } from "drizzle-orm";
import { findLimit } from "../../catalog/discounts/store.ts";
import { findPrices, findProduct } from "../../catalog/products/store.ts";
import type { Database, Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { writePlan } from "../subscriptions/billing.ts";
import type { DiscountLimit, SubscriptionAggregate } from "../subscriptions/rules.ts";
import { enqueueCustomerEmail } from "../subscriptions/serialize.ts";
import { findCard, lockSubscription } from "../subscriptions/store.ts";
import type { PendingUpdate } from "../subscriptions/tables.ts";
import {
  computeNotBefore,
  findMigrationOffer,
  findObstacle,
  findRenewal,
  isAtTarget,
  isOwnPending,
  isUnchanged,
  type MigrationTarget,
} from "./rules.ts";
import * as store from "./store.ts";
import {
  type ItemRow,
  subscriptionMigrationItems as items,
  type MigrationRow,
  subscriptionMigrations as migrations,
} from "./tables.ts";

/** So many subscriptions are found in one transaction. */
const slice = 200;
/** A subscription that is being changed, or whose renewal is due, is looked at again after so long. */
const againMs = 60_000;

/** The product and prices of a move: those that it began with, also if the product has others by now. */
export async function loadTarget(
  db: Database,
  { organization_id, to_product_id, price_ids }: Pick<MigrationRow, "organization_id" | "to_product_id" | "price_ids">,
): Promise<MigrationTarget> {
  const product = await findProduct(db, organization_id, to_product_id);
  if (!product) throw new Error(`The product ${to_product_id} is gone.`);
  const known = new Map((await findPrices(db, organization_id, price_ids)).map((price) => [price.id, price]));
  return { product, prices: price_ids.flatMap((id) => known.get(id) ?? []) };
}

/** What of a subscription decides its offer besides itself: its card, and the limit of its discount. */
export async function loadTerms(
  db: Database,
  deps: Pick<Deps, "processor">,
  aggregate: SubscriptionAggregate,
): Promise<{ hasCard: boolean; limit: DiscountLimit | undefined }> {
  const { row, discount } = aggregate;
  const hasCard = (await findCard(db, deps, aggregate)) !== undefined;
  if (discount === null) return { hasCard, limit: undefined };
  const product_ids = await findLimit(db, { organization_id: row.organization_id, id: discount.id });
  return { hasCard, limit: { discount_id: discount.id, product_ids } };
}

/** Finds the subscriptions of a move in slices. After a kill it continues after the last subscription that was written. */
export const migrationWorker: RowWorker = {
  name: "subscriptions.migrate",
  pollIntervalMs: 1000,
  due: {
    table: migrations,
    id: migrations.id,
    organization_id: migrations.organization_id,
    at: migrations.due_at,
    where: sql`${migrations.due_at} is not null`,
  },
  async run(deps, [key]) {
    while (await findSlice(deps, key));
  },
};

const findSlice = (deps: Deps, key: RowKey): Promise<boolean> =>
  transact(deps, async (tx) => {
    const now = deps.clock.now();
    const migration = await store.lockMigration(tx, key);
    if (!migration || migration.due_at === null || migration.due_at > now) return false;
    const { organization_id, from_product_id: product_id, cursor: after } = migration;
    const target = await loadTarget(tx, migration);
    const found = await store.findSubscribers(tx, { organization_id, product_id }, { after, limit: slice });
    const moving = found.filter((aggregate) => !isAtTarget(aggregate, target));
    await store.insertItems(
      tx,
      moving.map(({ row, prices }) => ({
        id: createId(now),
        organization_id,
        created_at: now,
        migration_id: migration.id,
        subscription_id: row.id,
        state: "found" as const,
        from_price_ids: prices.map(({ id }) => id),
        currency: row.currency,
        old_amount: row.amount,
        due_at: now,
      })),
    );
    const isOver = found.length < slice;
    const cursor = found.at(-1)?.row.id ?? after;
    await store.updateMigration(tx, key, { cursor, ...(isOver && { due_at: null }), modified_at: now });
    if (isOver) await finishIfDone(tx, migration, now);
    deps.jobs.wake(tx, migrationItemWorker.name);
    return !isOver;
  });

/** Note that nothing is left of a move. Its row is locked for it, so that the last two of its items do not wait for each other. */
async function finishIfDone(tx: Tx, { organization_id, id }: RowKey, now: Date): Promise<void> {
  const key = { organization_id, id };
  if (!(await store.hasOpenItems(tx, key)))
    await store.updateMigration(tx, key, { finished_at: now, modified_at: now });
}

/** Takes each subscription of a move from one state to the next. */
export const migrationItemWorker: RowWorker = {
  name: "subscriptions.migrate-one",
  pollIntervalMs: 1000,
  due: {
    table: items,
    id: items.id,
    organization_id: items.organization_id,
    at: items.due_at,
    movesMoney: true,
    where: sql`${items.due_at} is not null`,
  },
  run: async (deps, [key]) => {
    const isFinished = await transact(deps, (tx) => processStep(tx, deps, key));
    if (isFinished) await transact(deps, (tx) => closeMigration(tx, deps, isFinished));
  },
};

/** After the last item a move is finished, unless it still searches or is stopped. */
async function closeMigration(tx: Tx, deps: Deps, key: RowKey): Promise<void> {
  const migration = await store.lockMigration(tx, key);
  if (!migration || migration.finished_at !== null || migration.due_at !== null) return;
  await finishIfDone(tx, migration, deps.clock.now());
}

type Step = { tx: Tx; deps: Deps; item: ItemRow; migration: MigrationRow; target: MigrationTarget; now: Date };

/** Answers the move of an item that is finished with this step. */
async function processStep(tx: Tx, deps: Deps, key: RowKey): Promise<RowKey | undefined> {
  const now = deps.clock.now();
  const claimed = await store.claimItem(tx, key, now);
  if (!claimed) return undefined;
  const { item, migration } = claimed;
  const aggregate = await lockSubscription(tx, item.organization_id, item.subscription_id);
  const step = { tx, deps, item, migration, target: await loadTarget(tx, migration), now };
  const patch = await planStep(step, aggregate);
  await store.updateItem(tx, item, { ...patch, modified_at: now });
  return patch.finished_at ? { organization_id: item.organization_id, id: migration.id } : undefined;
}

const finish = (
  { now }: Step,
  state: "applied" | "skipped" | "undone",
  reason: ItemRow["reason"] = null,
): Partial<ItemRow> => ({ state, reason, due_at: null, finished_at: now });
const waitUntil = (due_at: Date): Partial<ItemRow> => ({ due_at });

function planStep(
  step: Step,
  aggregate: SubscriptionAggregate | undefined,
): Promise<Partial<ItemRow>> | Partial<ItemRow> {
  const { item, migration, now } = step;
  if (!aggregate) return finish(step, "skipped", "canceled");
  if (migration.undone_at !== null) return revertItem(step, aggregate);
  const { row } = aggregate;
  // What is due of the subscription, or being paid, is done first.
  const isBusy = row.change_order_id !== null || (row.due_at !== null && row.due_at <= now);
  if (isBusy && row.ended_at === null) return waitUntil(new Date(now.getTime() + againMs));
  if (item.state === "scheduled") return checkApplied(step, aggregate);
  const obstacle = findObstacle(aggregate, migration.from_product_id);
  if (obstacle) return finish(step, "skipped", obstacle);
  if (!isUnchanged(aggregate, item, migration.from_product_id)) return finish(step, "skipped", "changed");
  return item.state === "found" ? enqueueNotice(step, aggregate) : schedule(step, aggregate);
}

/** Tell the customer, and schedule the change where no renewal comes before it may take effect. */
async function enqueueNotice(step: Step, aggregate: SubscriptionAggregate): Promise<Partial<ItemRow>> {
  const { tx, deps, migration, target, now } = step;
  const offer = findMigrationOffer(aggregate, target, await loadTerms(tx, deps, aggregate));
  if (offer.reason !== null) return finish(step, "skipped", offer.reason);
  const not_before = computeNotBefore(now, migration.notify_days);
  await enqueueCustomerEmail(tx, deps, aggregate, "migration_announced");
  const told = {
    state: "notified" as const,
    notified_at: now,
    not_before,
    old_amount: aggregate.row.amount,
    new_amount: offer.new_amount,
    applies_at: findRenewal(aggregate, not_before),
  };
  return { ...told, ...(await schedule({ ...step, item: { ...step.item, ...told } }, aggregate)) };
}

/** The change waits for the next renewal, if that is late enough; else for the renewal after it. */
async function schedule(step: Step, aggregate: SubscriptionAggregate): Promise<Partial<ItemRow>> {
  const { item, migration, target, now } = step;
  const { row } = aggregate;
  if (item.not_before === null || row.current_period_end < item.not_before) return waitUntil(row.current_period_end);
  const prices = target.prices.filter(({ price_currency }) => price_currency === row.currency);
  const pending_update: PendingUpdate = {
    id: createId(now),
    created_at: now.toISOString(),
    modified_at: null,
    product_id: migration.to_product_id,
    price_ids: prices.map(({ id }) => id),
    seats: null,
    not_before: item.not_before.toISOString(),
  };
  await writePending(step, aggregate, pending_update);
  return {
    state: "scheduled",
    pending_id: pending_update.id,
    applies_at: row.current_period_end,
    due_at: row.current_period_end,
  };
}

const writePending = ({ tx, deps }: Step, aggregate: SubscriptionAggregate, pending_update: PendingUpdate | null) =>
  writePlan(
    tx,
    deps,
    { aggregate, entries: [], pending: null },
    { patch: { pending_update }, choice: null, entries: [], events: ["subscription.updated"] },
  );

/** Whether the renewal has made the change. */
function checkApplied(step: Step, aggregate: SubscriptionAggregate): Partial<ItemRow> {
  const { item, target, now } = step;
  const { row } = aggregate;
  if (isAtTarget(aggregate, target)) return finish(step, "applied");
  if (row.ended_at !== null) return finish(step, "skipped", "canceled");
  if (!isOwnPending(row.pending_update, item, target)) return finish(step, "skipped", "changed");
  const later = new Date(now.getTime() + againMs);
  return waitUntil(row.current_period_end > later ? row.current_period_end : later);
}

/** Remove the scheduled change if it is of this move and has not taken effect, and send a mail after a notice. */
async function revertItem(step: Step, aggregate: SubscriptionAggregate): Promise<Partial<ItemRow>> {
  const { tx, deps, item, target } = step;
  const { row } = aggregate;
  if (item.state === "scheduled") {
    if (isAtTarget(aggregate, target)) return finish(step, "applied");
    if (!isOwnPending(row.pending_update, item, target)) return finish(step, "skipped", "changed");
    const { seats } = row.pending_update;
    // A change of seats that the customer has scheduled since stays.
    const { not_before: _, ...pending } = row.pending_update;
    const left = seats === null ? null : { ...pending, product_id: null, price_ids: null };
    await writePending(step, aggregate, left);
  }
  if (item.notified_at !== null && row.ended_at === null)
    await enqueueCustomerEmail(tx, deps, aggregate, "migration_withdrawn");
  return finish(step, "undone");
}
