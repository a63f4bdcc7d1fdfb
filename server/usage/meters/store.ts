import { and, eq, inArray, isNotNull, isNull, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { customerMeters as customerMeterOperations } from "../../../shared/api/customer-meters.ts";
import type { meters as meterOperations } from "../../../shared/api/meters.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import { productPrices, products } from "../../catalog/products/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import {
  computeOffset,
  counted,
  countRows,
  type ListQuery,
  listRows,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOrganizations,
  matchPresence,
  matchText,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import {
  insertRows,
  isAmong,
  joinByKey,
  lockRows,
  matchKey,
  type RowKey,
  updateLockedRows,
} from "../../platform/db/rows.ts";
import { usageEvents } from "../events/tables.ts";
import { aggregateSql, buildDigestSql, matchSql, measureSql } from "./matching.ts";
import type { MeterRow } from "./rules.ts";
import { customerMeters, customerMeterValues, customerMeterWindows, meters } from "./tables.ts";

type Filter = ListQuery<typeof meterOperations.list>;
const sortable = { created_at: meters.created_at, name: meters.name };

/** One page of meters, and how many there are. */
export async function listMeters(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchOrganizations(meters.organization_id, organizations),
    matchFilters(filter, {
      query: matchText(meters.name),
      is_archived: matchPresence(meters.archived_at),
      metadata: matchMetadata(meters.metadata),
    }),
  );
  return listRows(db, meters, { where, order: orderBy(filter.sorting, sortable, meters.id), paging: filter });
}

/** These meters of an organization, in no order. */
export async function findMeters(db: Database, organization_id: string, ids: readonly string[]): Promise<MeterRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(meters)
    .where(isAmong(organization_id, meters.id, ids));
}

/** Which of these meters count, and go on counting until the transaction ends: something is about to use them. */
export async function lockUsedMeters(tx: Tx, organization_id: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const counting = and(isAmong(organization_id, meters.id, ids), isNull(meters.archived_at));
  const rows = await tx.select({ id: meters.id }).from(meters).where(counting).orderBy(meters.id).for("share");
  return new Set(rows.map(({ id }) => id));
}

/** Meters, kept from changing until the transaction ends. */
export const lockMeters = (tx: Tx, organization_id: string, ids: readonly string[]): Promise<MeterRow[]> =>
  lockRows(tx, meters, organization_id, ids);

/** What keeps each of these meters from being archived: prices of products on sale, and benefits (MTR-13). */
export async function findUses(tx: Tx, organization_id: string, used: readonly MeterRow[]) {
  const ids = used.map(({ id }) => id);
  if (ids.length === 0) return { priced: new Set<string>(), credited: new Set<string>() };
  const isUsed = sql`${productPrices.meter_id} = ${matchAnyOf(ids, "uuid")}`;
  const prices = await tx
    .selectDistinct({ id: productPrices.meter_id })
    .from(productPrices)
    .innerJoin(products, joinByKey(productPrices.product_id, products))
    .where(
      and(
        eq(productPrices.organization_id, organization_id),
        isUsed,
        eq(productPrices.is_archived, false),
        eq(products.is_archived, false),
      ),
    );
  const meterId = sql<string>`${benefits.properties} ->> 'meter_id'`;
  const credits = await tx
    .selectDistinct({ id: meterId })
    .from(benefits)
    .where(
      and(
        eq(benefits.organization_id, organization_id),
        eq(benefits.type, "meter_credit"),
        sql`${meterId} = ${matchAnyOf(ids, "text")}`,
        isNull(benefits.deleted_at),
      ),
    );
  return { priced: new Set(prices.map(({ id }) => id)), credited: new Set(credits.map(({ id }) => id)) };
}

/** Add a meter. */
export const insertMeters = (tx: Tx, values: (typeof meters.$inferInsert)[]): Promise<MeterRow[]> =>
  insertRows(tx, meters, values);

/** Change columns of meters that the caller has locked. */
export const updateMeters = (
  tx: Tx,
  changes: readonly { row: MeterRow; patch: Partial<MeterRow> }[],
): Promise<MeterRow[]> => updateLockedRows(tx, meters, changes);

/** Keeps the numbers of these locks apart from those of others. */
const fenceClass = 13;
const getFence = (organization_id: string | Placeholder): SQL => sql`${fenceClass}::int, hashtext(${organization_id})`;

/**
 * Keep what an organization's meters count as it is until the transaction ends, as all who count do side by side. What is read
 * afterwards is what whoever changed it has left.
 */
export const continueCounting = (tx: Tx, organization_id: string): Promise<unknown> =>
  tx.execute(sql`select ${writeCountingLock(organization_id)}`);

/** The same as a part of a statement that reads nothing of meters. */
export const writeCountingLock = (organization_id: string | Placeholder): SQL =>
  sql`pg_advisory_xact_lock_shared(${getFence(organization_id)})`;

/** Wait until nobody counts for an organization, and keep others from counting until the transaction ends. */
export const haltCounting = (tx: Tx, organization_id: string): Promise<unknown> =>
  tx.execute(sql`select pg_advisory_xact_lock(${getFence(organization_id)})`);

const matchCounting = (organization_id: string | Placeholder) =>
  and(eq(meters.organization_id, organization_id), isNull(meters.archived_at));

/** The meters that count, in no order. */
export const findCounting = (tx: Tx, organization_id: string): Promise<MeterRow[]> =>
  tx.select().from(meters).where(matchCounting(organization_id));

/** What who counts knows of a meter. */
export type CountingMeter = Pick<MeterRow, "id" | "filter" | "aggregation" | "first_counted_at">;

/** The meters that count, and what tells whether any of them is another by now, as parts of a statement. */
export const writeCounting = (organization_id: string | Placeholder): { meters: SQL; version: SQL } => ({
  meters: sql`(select coalesce(json_agg(json_build_object('id', ${meters.id}, 'filter', ${meters.filter},
    'aggregation', ${meters.aggregation}, 'first_counted_at', ${meters.first_counted_at})), '[]') from ${meters}
    where ${matchCounting(organization_id)})`,
  version: sql`(select coalesce(string_agg(${meters.id} || ' ' || ${meters}.xmin, ' ' order by ${meters.id}), '')
    from ${meters} where ${matchCounting(organization_id)})`,
});
/** What the part of the meters answers. */
export const readCounting = (rows: (Omit<CountingMeter, "first_counted_at"> & { first_counted_at: string | null })[]) =>
  rows.map(
    (row): CountingMeter => ({
      ...row,
      first_counted_at: row.first_counted_at === null ? null : new Date(row.first_counted_at),
    }),
  );

/** Note of meters that they have counted something. */
export const markCounted = (tx: Tx, organization_id: string, ids: readonly string[], now: Date): Promise<unknown> =>
  tx
    .update(meters)
    .set({ first_counted_at: now })
    .where(
      and(eq(meters.organization_id, organization_id), inArray(meters.id, [...ids]), isNull(meters.first_counted_at)),
    );

/** That an event is one of use that a meter counts. */
const matchCountedBy = (meter: MeterRow): SQL | undefined =>
  and(eq(usageEvents.organization_id, meter.organization_id), matchSql(usageEvents, meter));

/** Each meter has a filter of its own, whose text is part of the statement. */
const filtersPerStatement = 50;

/** Which of these meters have counted an event, or would count one that is there, whosever it is. */
export async function findCounted(tx: Tx, organization_id: string, all: readonly MeterRow[]): Promise<Set<string>> {
  const counted = new Set(all.filter(({ first_counted_at }) => first_counted_at !== null).map(({ id }) => id));
  const others = all.filter(({ id }) => !counted.has(id));
  if (others.length === 0 || !(await hasIngested(tx, organization_id))) return counted;
  for (let start = 0; start < others.length; start += filtersPerStatement) {
    const found = others
      .slice(start, start + filtersPerStatement)
      .map(
        (meter) =>
          sql`select ${meter.id}::text as id where exists (select from ${usageEvents} where ${matchCountedBy(meter)})`,
      );
    const rows = await tx.select({ id: sql<string>`id` }).from(sql`(${sql.join(found, sql` union all `)}) as counting`);
    for (const { id } of rows) counted.add(id);
  }
  return counted;
}

/** Whether an organization has ever ingested anything. */
export async function hasIngested(db: Database, organization_id: string): Promise<boolean> {
  const [row] = await db
    .select({ id: usageEvents.id })
    .from(usageEvents)
    .where(eq(usageEvents.organization_id, organization_id))
    .limit(1);
  return row !== undefined;
}

/**
 * Compute what all customers have used of what a meter counts from the events themselves. The caller has halted the counting.
 */
export async function recountMeter(tx: Tx, meter: MeterRow, now: Date): Promise<void> {
  const { organization_id, id, aggregation } = meter;
  const { func } = aggregation;
  const measure = measureSql(usageEvents, meter);
  const at = sql`${now.toISOString()}::timestamptz`;
  const sums = func === "count" || func === "sum";
  const theirs = and(matchCountedBy(meter), isNotNull(usageEvents.customer_id), notBefore);
  // What whoever pays by now has not seen counted came before what they pay for: it is never billed (MTR-12).
  const notBilled = sums
    ? sql` + case when ${customerMeters.payer_id} is null then 0 else greatest(0, excluded.consumed_units - ${customerMeters.consumed_units}) end`
    : sql``;
  const from = sql`${usageEvents} left join ${customerMeters} on ${customerMeters.organization_id} = ${organization_id}
    and ${customerMeters.customer_id} = ${usageEvents.customer_id} and ${customerMeters.meter_id} = ${id}::uuid`;
  // Those of periods that are over and not billed yet stay.
  await tx.delete(customerMeterValues).where(
    and(
      eq(customerMeterValues.organization_id, organization_id),
      eq(customerMeterValues.meter_id, id),
      sql`not exists (select from ${customerMeterWindows} where ${customerMeterWindows.organization_id} = ${organization_id}
          and ${customerMeterWindows.id} = ${customerMeterValues.customer_id})`,
    ),
  );
  if (func === "unique")
    await tx.execute(sql`
      insert into ${customerMeterValues} (organization_id, meter_id, customer_id, value)
      select distinct ${organization_id}, ${id}::uuid, ${usageEvents.customer_id}, ${buildDigestSql(measure)}
      from ${from} where ${theirs} and ${measure} is not null`);
  const total = func === "unique" ? sql`0` : sql`coalesce(sum(${measure}), 0)`;
  await tx.execute(sql`
    insert into ${customerMeters} (organization_id, id, customer_id, meter_id, created_at, modified_at, consumed_units, counted,
      total, last_key, notice_at)
    select ${organization_id}, gen_random_uuid(), ${usageEvents.customer_id}, ${id}::uuid, ${at}, ${at},
      ${aggregateSql(func, measure)}, count(${measure}), ${total}, max(${usageEvents.id}::text)::uuid, ${at}
    from ${from} where ${theirs} group by ${usageEvents.customer_id} order by ${usageEvents.customer_id}
    on conflict (organization_id, customer_id, meter_id) do update set modified_at = excluded.modified_at,
      consumed_units = excluded.consumed_units, counted = excluded.counted, total = excluded.total,
      last_key = greatest(${customerMeters.last_key}, excluded.last_key), notice_at = coalesce(${customerMeters.notice_at}, excluded.notice_at),
      free_units = ${customerMeters.free_units}${notBilled}`);
}

/** That an event came since the row beside it was reset, and is not of a period before that. */
const notBefore = sql`(${customerMeters.since_key} is null or ${usageEvents.id} >= ${customerMeters.since_key})
  and (${customerMeters.by_time} is not true or ${customerMeters.started_at} is null
    or ${usageEvents.timestamp} >= ${customerMeters.started_at})`;

type UseFilter = ListQuery<typeof customerMeterOperations.list> & {
  /** Part of the name of the meter. */
  meter_name?: string | undefined;
};
const balance = sql`(${customerMeters.credited_units} - ${customerMeters.consumed_units})`;
const sortableUse = {
  created_at: customerMeters.created_at,
  modified_at: customerMeters.modified_at,
  customer_id: customerMeters.customer_id,
  customer_name: customers.name,
  meter_id: customerMeters.meter_id,
  meter_name: meters.name,
  consumed_units: customerMeters.consumed_units,
  credited_units: customerMeters.credited_units,
  balance,
};
const shownUse = and(isNull(meters.archived_at), isNull(customers.deleted_at));

const selectBalances = (db: Database) =>
  db
    .select({ use: customerMeters, customer: customers, meter: meters })
    .from(customerMeters)
    .innerJoin(customers, joinByKey(customerMeters.customer_id, customers))
    .innerJoin(meters, joinByKey(customerMeters.meter_id, meters));

/** One page of what customers have used, and how many there are. */
export async function listUses(db: Database, organizations: readonly string[], filter: UseFilter) {
  const where = and(
    matchOrganizations(customerMeters.organization_id, organizations),
    matchFilters(filter, {
      customer_id: matchAny(customerMeters.customer_id),
      external_customer_id: matchAny(customers.external_id),
      meter_id: matchAny(customerMeters.meter_id),
      meter_name: matchText(meters.name),
    }),
    shownUse,
  );
  const loadPage = () =>
    selectBalances(db)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortableUse, customerMeters.id))
      .limit(filter.limit)
      .offset(computeOffset(filter));
  const all = () =>
    db
      .select(counted)
      .from(customerMeters)
      .innerJoin(customers, joinByKey(customerMeters.customer_id, customers))
      .innerJoin(meters, joinByKey(customerMeters.meter_id, meters))
      .where(where);
  return readPage(loadPage, () => countRows(all()));
}

/** What a customer has used of what one meter counts, if it is shown. */
export async function findUse(db: Database, key: RowKey) {
  const [row] = await selectBalances(db).where(and(matchKey(customerMeters, key), shownUse));
  return row;
}
