import { and, asc, count, desc, eq, gt, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { SubscriptionMigrationItem } from "../../../shared/api/subscription-migrations.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { SubscriptionAggregate } from "../subscriptions/rules.ts";
import { billable } from "../subscriptions/rules.ts";
import { loadAll, select } from "../subscriptions/store.ts";
import { subscriptions } from "../subscriptions/tables.ts";
import {
  type ItemRow,
  subscriptionMigrationItems as items,
  type MigrationRow,
  subscriptionMigrations as migrations,
} from "./tables.ts";

const matchProduct = (organization_id: string, product_id: string): SQL | undefined =>
  and(
    eq(subscriptions.organization_id, organization_id),
    eq(subscriptions.product_id, product_id),
    inArray(subscriptions.status, [...billable]),
  );

/** The running subscriptions of a product after one of them, in the order of their ids. */
export async function findSubscribers(
  db: Database,
  { organization_id, product_id }: { organization_id: string; product_id: string },
  { after, limit }: { after: string | null; limit: number },
): Promise<SubscriptionAggregate[]> {
  const found = await select(db)
    .where(and(matchProduct(organization_id, product_id), after === null ? undefined : gt(subscriptions.id, after)))
    .orderBy(asc(subscriptions.id))
    .limit(limit);
  return loadAll(db, found);
}

export const countSubscribers = (db: Database, organization_id: string, product_id: string): Promise<number> =>
  db.$count(subscriptions, matchProduct(organization_id, product_id));

export async function insertMigration(tx: Tx, row: typeof migrations.$inferInsert): Promise<MigrationRow | undefined> {
  const [made] = await tx.insert(migrations).values(row).onConflictDoNothing().returning();
  return made;
}

export async function lockMigration(tx: Tx, key: RowKey): Promise<MigrationRow | undefined> {
  const [row] = await tx.select().from(migrations).where(matchKey(migrations, key)).for("update");
  return row;
}

export const updateMigration = async (tx: Tx, key: RowKey, patch: Partial<MigrationRow>): Promise<void> => {
  await tx.update(migrations).set(patch).where(matchKey(migrations, key));
};

/** A subscription in another move stays in that one. */
export async function insertItems(tx: Tx, rows: (typeof items.$inferInsert)[]): Promise<void> {
  if (rows.length > 0) await tx.insert(items).values(rows).onConflictDoNothing();
}

/** A due item with its move. The row of the move is locked first, as in a stop and an undo. */
export async function claimItem(
  tx: Tx,
  key: RowKey,
  now: Date,
): Promise<{ item: ItemRow; migration: MigrationRow } | undefined> {
  const [named] = await tx.select({ id: items.migration_id }).from(items).where(matchKey(items, key));
  if (!named) return undefined;
  const [migration] = await tx
    .select()
    .from(migrations)
    .where(matchKey(migrations, { organization_id: key.organization_id, id: named.id }))
    .for("share");
  const [item] = await tx.select().from(items).where(matchKey(items, key)).for("update");
  if (!migration || !item || item.due_at === null || item.due_at > now) return undefined;
  return { item, migration };
}

export const updateItem = async (tx: Tx, key: RowKey, patch: Partial<ItemRow>): Promise<void> => {
  await tx.update(items).set(patch).where(matchKey(items, key));
};

const isOpen = (key: RowKey): SQL | undefined =>
  and(eq(items.organization_id, key.organization_id), eq(items.migration_id, key.id), isNull(items.finished_at));

/** Change all items of a move that are not finished. */
export const updateOpenItems = async (tx: Tx, key: RowKey, patch: Partial<ItemRow>, where?: SQL): Promise<void> => {
  await tx
    .update(items)
    .set(patch)
    .where(and(isOpen(key), where));
};
export const isFound = eq(items.state, "found");

export const hasOpenItems = async (db: Database, key: RowKey): Promise<boolean> =>
  (await db.select({ id: items.id }).from(items).where(isOpen(key)).limit(1)).length > 0;

export type Counts = Record<SubscriptionMigrationItem["state"], number>;

/** How many items of moves are in each state. */
export async function countItems(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<Map<string, Counts>> {
  const found = await db
    .select({ id: items.migration_id, state: items.state, count: count() })
    .from(items)
    .where(and(eq(items.organization_id, organization_id), inArray(items.migration_id, [...ids])))
    .groupBy(items.migration_id, items.state);
  const none: Counts = { found: 0, notified: 0, scheduled: 0, applied: 0, skipped: 0, undone: 0 };
  const counted = new Map(ids.map((id) => [id, { ...none }]));
  for (const one of found) {
    const counts = counted.get(one.id);
    if (counts) counts[one.state] = one.count;
  }
  return counted;
}

export async function listMigrations(db: Database, where: SQL | undefined, page: { limit: number; offset: number }) {
  const rows = await db
    .select()
    .from(migrations)
    .where(where)
    .orderBy(desc(migrations.created_at), desc(migrations.id))
    .limit(page.limit)
    .offset(page.offset);
  return { rows, total: await db.$count(migrations, where) };
}

export async function findMigration(db: Database, key: RowKey): Promise<MigrationRow | undefined> {
  const [row] = await db.select().from(migrations).where(matchKey(migrations, key));
  return row;
}

export async function listItems(
  db: Database,
  key: RowKey,
  { states, limit, offset }: { states: readonly ItemRow["state"][] | undefined; limit: number; offset: number },
) {
  const where = and(
    eq(items.organization_id, key.organization_id),
    eq(items.migration_id, key.id),
    states && inArray(items.state, [...states]),
  );
  const rows = await db
    .select({ item: items, customer_id: customers.id, customer_email: customers.email })
    .from(items)
    .innerJoin(subscriptions, joinByKey(items.subscription_id, subscriptions))
    .innerJoin(customers, joinByKey(subscriptions.customer_id, customers))
    .where(where)
    .orderBy(asc(items.id))
    .limit(limit)
    .offset(offset);
  return { rows, total: await db.$count(items, where) };
}

/** What a customer was told, or is to be told, of the last move of their subscription. */
export async function findAnnouncement(db: Database, subscription: RowKey) {
  const [found] = await db
    .select({ item: items, to_product_id: migrations.to_product_id })
    .from(items)
    .innerJoin(migrations, joinByKey(items.migration_id, migrations))
    .where(and(eq(items.organization_id, subscription.organization_id), eq(items.subscription_id, subscription.id)))
    .orderBy(desc(sql`${items.notified_at} is not null`), desc(items.created_at), desc(items.id))
    .limit(1);
  return found;
}
