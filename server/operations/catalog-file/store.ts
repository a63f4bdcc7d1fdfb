import { and, count, eq, inArray, isNotNull, isNull, ne, notExists, or, sql } from "drizzle-orm";
import { type Kind, kinds } from "../../../shared/catalog/kinds/kind.ts";
import type { Entry } from "../../../shared/catalog/plan.ts";
import { orders } from "../../billing/orders/tables.ts";
import { billable } from "../../billing/subscriptions/rules.ts";
import { subscriptionPrices, subscriptions } from "../../billing/subscriptions/tables.ts";
import { discounts } from "../../catalog/discounts/tables.ts";
import { files } from "../../catalog/files/tables.ts";
import { productBenefits } from "../../catalog/products/tables.ts";
import { checkouts } from "../../checkout/checkouts/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf, writeArray } from "../../platform/db/arrays.ts";
import { isAmong, joinByKey } from "../../platform/db/rows.ts";
import { servedKinds } from "./kinds/index.ts";
import type { Source } from "./kinds/kind.ts";
import { catalogEntries } from "./tables.ts";

/**
 * One apply at a time in an organization, since two plans made side by side could both create the same thing. The things of
 * the catalogue are held too: nobody changes one between the plan and the change. Orders of a product may go on.
 */
export async function lockCatalog(tx: Tx, organization_id: string, catalog: string, keys?: Entry[]): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`catalog ${organization_id}`}, 0))`);
  const entries = keys ?? (await findEntries(tx, organization_id, catalog));
  for (const kind of kinds) {
    const held = entries.filter((entry) => entry.kind === kind).map(({ id }) => id);
    const { table, id } = servedKinds[kind].source;
    if (held.length > 0)
      await tx
        .select({ id })
        .from(table)
        .where(isAmong(organization_id, id, held))
        .orderBy(id)
        .for("no key update");
  }
}

/** What the keys of a catalogue stand for. */
export async function findEntries(db: Database, organization_id: string, catalog: string): Promise<Entry[]> {
  return db
    .select({ kind: catalogEntries.kind, key: catalogEntries.key, id: catalogEntries.subject_id })
    .from(catalogEntries)
    .where(and(eq(catalogEntries.organization_id, organization_id), eq(catalogEntries.catalog, catalog)))
    .orderBy(catalogEntries.created_at, catalogEntries.key);
}

/** The other catalogues of an organization, with how many entries each has. */
export const countOtherCatalogs = (db: Database, organization_id: string, catalog: string) =>
  db
    .select({ catalog: catalogEntries.catalog, count: count() })
    .from(catalogEntries)
    .where(and(eq(catalogEntries.organization_id, organization_id), ne(catalogEntries.catalog, catalog)))
    .groupBy(catalogEntries.catalog)
    .orderBy(catalogEntries.catalog)
    .limit(otherCatalogsMax);
const otherCatalogsMax = 100;

const matchUnmanaged = (db: Database, kind: Kind, { id, organization_id }: Source) =>
  notExists(
    db
      .select({ one: sql`1` })
      .from(catalogEntries)
      .where(
        and(
          eq(catalogEntries.organization_id, organization_id),
          eq(catalogEntries.kind, kind),
          eq(catalogEntries.subject_id, id),
        ),
      ),
  );

/** The ids of things that no catalogue has: all, or those with one of these names. */
export async function findUnmanaged(
  db: Database,
  organization_id: string,
  kind: Kind,
  named?: readonly string[],
): Promise<string[]> {
  if (named && named.length === 0) return [];
  const source = servedKinds[kind].source;
  const wanted = named?.map((name) => name.toLowerCase());
  const rows = await db
    .select({ id: source.id })
    .from(source.table)
    .where(
      and(
        eq(source.organization_id, organization_id),
        source.alive,
        matchUnmanaged(db, kind, source),
        wanted && or(...source.marks.map((mark) => sql`lower(${mark}) = ${matchAnyOf(wanted, "text")}`)),
      ),
    )
    .orderBy(source.id);
  return rows.map(({ id }) => String(id));
}

/** Whether a thing of a kind is there. */
export async function isThere(db: Database, organization_id: string, kind: Kind, id: string): Promise<boolean> {
  const source = servedKinds[kind].source;
  const [row] = await db
    .select({ id: source.id })
    .from(source.table)
    .where(and(eq(source.organization_id, organization_id), eq(source.id, id), source.alive));
  return row !== undefined;
}

/** Give a thing its key; undefined when the key or the thing has another already. */
export async function insertEntry(
  tx: Tx,
  values: typeof catalogEntries.$inferInsert,
): Promise<{ key: string } | undefined> {
  const [row] = await tx
    .insert(catalogEntries)
    .values(values)
    .onConflictDoNothing()
    .returning({ key: catalogEntries.key });
  return row;
}

/** Give things their keys, in place of what had them. */
export const putEntries = async (tx: Tx, values: (typeof catalogEntries.$inferInsert)[]): Promise<unknown> =>
  values.length > 0 &&
  tx
    .insert(catalogEntries)
    .values(values)
    .onConflictDoUpdate({
      target: [catalogEntries.organization_id, catalogEntries.catalog, catalogEntries.kind, catalogEntries.key],
      set: { subject_id: sql`excluded.subject_id`, created_at: sql`excluded.created_at` },
    });

type Place = { organization_id: string; catalog: string; kind: Kind };
const matchPlace = ({ organization_id, catalog, kind }: Place) =>
  and(
    eq(catalogEntries.organization_id, organization_id),
    eq(catalogEntries.catalog, catalog),
    eq(catalogEntries.kind, kind),
  );

/** Call things by other keys, which are free. */
export async function renameEntries(
  tx: Tx,
  place: Place,
  keys: readonly { from: string; to: string }[],
): Promise<void> {
  const [from, to] = [keys.map((one) => one.from), keys.map((one) => one.to)];
  await tx
    .update(catalogEntries)
    .set({ key: sql`renamed.new_key` })
    .from(sql`unnest(${writeArray(from, "text")}, ${writeArray(to, "text")}) as renamed (old_key, new_key)`)
    .where(and(matchPlace(place), sql`${catalogEntries.key} = renamed.old_key`));
}

/** Forget keys. */
export async function deleteEntries(tx: Tx, place: Place, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .delete(catalogEntries)
    .where(and(matchPlace(place), sql`${catalogEntries.key} = ${matchAnyOf(keys, "text")}`));
}

/** The uploaded files, by the names that a file gives them. */
export const findFiles = (db: Database, organization_id: string, names: readonly string[] | undefined) =>
  db
    .select({ id: files.id, name: files.name, service: files.service })
    .from(files)
    .where(
      and(
        eq(files.organization_id, organization_id),
        eq(files.is_uploaded, true),
        isNull(files.deleted_at),
        names && inArray(files.name, [...names]),
      ),
    );

type Counts = ReadonlyMap<string, number>;
const getCounts = (rows: { id: string; total: number }[]): Counts => new Map(rows.map(({ id, total }) => [id, total]));
/** Orders without a number are in the making: nobody has bought anything yet. */
const isSold = isNotNull(orders.invoice_number);
const customersOf = sql<number>`count(distinct ${orders.customer_id})::int`;

/** How many open checkouts each of these products was chosen in. */
export async function countOpenCheckouts(db: Database, organization_id: string, ids: string[]): Promise<Counts> {
  if (ids.length === 0) return new Map();
  const { product_id, status } = checkouts;
  const where = and(isAmong(organization_id, product_id, ids), eq(status, "open"));
  return getCounts(
    await db.select({ id: product_id, total: count() }).from(checkouts).where(where).groupBy(product_id),
  );
}

/** How many customers bought each of these products. */
export async function countBuyersOfProducts(db: Database, organization_id: string, ids: string[]): Promise<Counts> {
  if (ids.length === 0) return new Map();
  const { product_id } = orders;
  const where = and(isAmong(organization_id, product_id, ids), isSold);
  return getCounts(
    await db.select({ id: product_id, total: customersOf }).from(orders).where(where).groupBy(product_id),
  );
}

/** How many customers bought a product that gives each of these benefits. */
export async function countBuyersOfBenefits(db: Database, organization_id: string, ids: string[]): Promise<Counts> {
  if (ids.length === 0) return new Map();
  const { benefit_id, product_id } = productBenefits;
  return getCounts(
    await db
      .select({ id: benefit_id, total: customersOf })
      .from(productBenefits)
      .innerJoin(
        orders,
        and(eq(orders.organization_id, productBenefits.organization_id), eq(orders.product_id, product_id), isSold),
      )
      .where(isAmong(organization_id, benefit_id, ids))
      .groupBy(benefit_id),
  );
}

const pageSize = 2000;

/** Products that are sold with any of these benefits. */
export async function findProductsWith(
  db: Database,
  organization_id: string,
  benefit_ids: string[],
): Promise<string[]> {
  if (benefit_ids.length === 0) return [];
  const rows = await db
    .selectDistinct({ id: productBenefits.product_id })
    .from(productBenefits)
    .where(isAmong(organization_id, productBenefits.benefit_id, benefit_ids));
  return rows.map(({ id }) => id);
}

/** How many alike subscriptions are named. */
const namedMax = 50;

/**
 * The subscriptions to these products, or with these discounts, that go on or are paused: those that are renewed alike are one,
 * with how many they are and the first of them by id. Some at a time, each with the prices that it is paid at. So a hundred
 * thousand take little more than ten.
 */
export async function* findSubscriptionsOf(
  db: Database,
  organization_id: string,
  { products: sold, discounts: given }: { products: string[]; discounts: string[] },
) {
  const [of_all, links] = [subscriptions, subscriptionPrices];
  const concerned = and(
    eq(of_all.organization_id, organization_id),
    inArray(of_all.status, [...billable, "paused"]),
    or(inArray(of_all.product_id, sold), inArray(of_all.discount_id, given)),
  );
  const paid = db
    .select({
      id: links.subscription_id,
      prices:
        sql<string>`string_agg(${links.product_price_id} || ' ' || ${links.amount}, ',' order by ${links.order})`.as(
          "prices",
        ),
    })
    .from(links)
    .where(eq(links.organization_id, organization_id))
    .groupBy(links.subscription_id)
    .as("paid");
  // When a period begins matters where a discount may be over by then.
  const isLimited = sql`${discounts.duration} <> 'forever'`;
  const alike = await db
    .select({
      ids: sql<string>`array_to_string((array_agg(${of_all.id} order by ${of_all.id}))[1:${sql.raw(String(namedMax))}], ' ')`,
      total: count(),
    })
    .from(of_all)
    .leftJoin(paid, eq(paid.id, of_all.id))
    .leftJoin(discounts, joinByKey(of_all.discount_id, discounts))
    .where(concerned)
    .groupBy(
      of_all.product_id,
      of_all.discount_id,
      of_all.currency,
      of_all.seats,
      of_all.recurring_interval,
      of_all.recurring_interval_count,
      of_all.status,
      of_all.cancel_at_period_end,
      of_all.pause_at_period_end,
      sql`${of_all.pending_update} - '{id,created_at,modified_at}'::text[]`,
      paid.prices,
      sql`case when ${isLimited} then ${of_all.current_period_end} end`,
      sql`case when ${isLimited} then ${of_all.discount_applied_at} end`,
    )
    .orderBy(sql`1`);
  for (let at = 0; at < alike.length; at += pageSize) {
    const page = alike.slice(at, at + pageSize).map(({ ids, total }) => ({ ids: ids.split(" "), total }));
    const of = new Map(page.map((group) => [group.ids[0] ?? "", group]));
    const rows = await listSubscriptionsById(db, organization_id, [...of.keys()]);
    const prices = await db
      .select({ id: links.subscription_id, price_id: links.product_price_id, amount: links.amount })
      .from(links)
      .where(and(eq(links.organization_id, organization_id), inArray(links.subscription_id, [...of.keys()])))
      .orderBy(links.order);
    const paidOf = Map.groupBy(prices, ({ id }) => id);
    yield rows.map((row) => ({ row, paid: paidOf.get(row.id) ?? [], ids: [row.id], total: 1, ...of.get(row.id) }));
  }
}

const listSubscriptionsById = (db: Database, organization_id: string, ids: string[]) =>
  db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.organization_id, organization_id), inArray(subscriptions.id, ids)));

/** Whose these subscriptions are, and when they renew. */
export async function findHolders(db: Database, organization_id: string, ids: string[]) {
  if (ids.length === 0) return new Map<string, never>();
  const rows = await db
    .select({
      id: subscriptions.id,
      customer_id: subscriptions.customer_id,
      customer_email: customers.email,
      renews_at: subscriptions.current_period_end,
    })
    .from(subscriptions)
    .innerJoin(customers, joinByKey(subscriptions.customer_id, customers))
    .where(and(eq(subscriptions.organization_id, organization_id), inArray(subscriptions.id, ids)));
  return new Map(rows.map(({ id, ...holder }) => [id, holder]));
}
