import { and, eq, isNotNull, isNull, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Database, Tx } from "../../platform/context.ts";
import { isAmong, matchKey, type RowKey, readRows } from "../../platform/db/rows.ts";
import { customerMeterLots, customerMeters, customerMeterValues, customerMeterWindows } from "./tables.ts";

export type MeterBalanceRow = typeof customerMeters.$inferSelect;
/** What names what a customer has used of what a meter counts. */
export type MeterBalanceKey = Pick<MeterBalanceRow, "organization_id" | "customer_id" | "meter_id">;
type UseTable = typeof customerMeters | typeof customerMeterLots | typeof customerMeterValues;
const matchBalance = (table: UseTable, { organization_id, customer_id, meter_id }: MeterBalanceKey) =>
  and(eq(table.organization_id, organization_id), eq(table.customer_id, customer_id), eq(table.meter_id, meter_id));

const windowColumns = {
  id: customerMeters.id,
  organization_id: customerMeters.organization_id,
  customer_id: customerMeters.customer_id,
  meter_id: customerMeters.meter_id,
  started_at: customerMeters.started_at,
  since_key: customerMeters.since_key,
  due_at: customerMeters.due_at,
  by_time: customerMeters.by_time,
  billed_from: customerMeters.billed_from,
  payer_id: customerMeters.payer_id,
  ends_at: customerMeters.ends_at,
};
/** Since when a row counts, until when, and who pays. */
export type UsagePeriod = Pick<MeterBalanceRow, keyof typeof windowColumns>;
const hasWindow = sql`(${customerMeters.since_key} is not null or ${customerMeters.due_at} is not null)`;

/** The rows of these customers that were ever reset, or of which something falls due, in no order. */
export const findWindows = (
  tx: Tx,
  organization_id: string,
  customers_of: readonly string[],
): Promise<UsagePeriod[]> =>
  customers_of.length === 0
    ? Promise.resolve([])
    : tx
        .select(windowColumns)
        .from(customerMeters)
        .where(and(isAmong(organization_id, customerMeters.customer_id, customers_of), hasWindow));

/** The same as a part of a statement, of the customers whose ids are in a list that the statement has. */
export const writeWindows = (organization_id: string | Placeholder, customers_of: SQL): SQL =>
  sql`(select coalesce(json_agg(w), '[]') from (select ${sql.join(Object.values(windowColumns), sql`, `)} from ${customerMeters}
    where ${customerMeters.organization_id} = ${organization_id} and ${customerMeters.customer_id} = any(${customers_of})
      and ${hasWindow}) w)`;
/** What that part answers. */
export const readWindows = (rows: unknown): UsagePeriod[] => readRows(customerMeters, rows);

/** A row in which nothing was counted yet, where there is none. */
export const makeUse = (tx: Tx, values: MeterBalanceKey & { id: string; created_at: Date }): Promise<unknown> =>
  tx
    .insert(customerMeters)
    .values({ ...values, consumed_units: "0", counted: 0, total: "0" })
    .onConflictDoNothing();

/** Whose and of what a row is. */
export async function findUseKey(db: Database, key: RowKey): Promise<MeterBalanceKey | undefined> {
  const { organization_id, customer_id, meter_id } = customerMeters;
  const [row] = await db
    .select({ organization_id, customer_id, meter_id })
    .from(customerMeters)
    .where(matchKey(customerMeters, key));
  return row;
}

/** What is to be told of a customer's meters, and the subscriptions that pay for it; null: none. */
export const findToTell = (
  tx: Tx,
  { organization_id, customer_id }: MeterBalanceKey,
): Promise<Pick<MeterBalanceRow, "meter_id" | "payer_id">[]> =>
  tx
    .select({ meter_id: customerMeters.meter_id, payer_id: customerMeters.payer_id })
    .from(customerMeters)
    .where(
      and(
        eq(customerMeters.organization_id, organization_id),
        eq(customerMeters.customer_id, customer_id),
        isNotNull(customerMeters.notice_at),
      ),
    )
    .orderBy(customerMeters.meter_id);

/** Nothing is to be told of a customer's meters any more; answers whether there was. */
export async function claimNotices(tx: Tx, { organization_id, customer_id }: MeterBalanceKey): Promise<boolean> {
  const theirs = and(
    eq(customerMeters.organization_id, organization_id),
    eq(customerMeters.customer_id, customer_id),
    isNotNull(customerMeters.notice_at),
  );
  const rows = await tx
    .select({ id: customerMeters.id })
    .from(customerMeters)
    .where(theirs)
    .orderBy(customerMeters.meter_id)
    .for("update");
  if (rows.length > 0) await tx.update(customerMeters).set({ notice_at: null }).where(theirs);
  return rows.length > 0;
}

/** What a customer has used, kept until the transaction ends. */
export async function lockUse(tx: Tx, key: MeterBalanceKey): Promise<MeterBalanceRow | undefined> {
  const [row] = await tx.select().from(customerMeters).where(matchBalance(customerMeters, key)).for("update");
  return row;
}

/** Change columns of a row that the caller has locked. */
export async function updateUse(tx: Tx, key: RowKey, patch: Partial<MeterBalanceRow>): Promise<MeterBalanceRow> {
  const [row] = await tx.update(customerMeters).set(patch).where(matchKey(customerMeters, key)).returning();
  if (!row) throw new Error(`What was used as ${key.id} is gone.`);
  return row;
}

/** The lots of which something may be left, in the order in which they came. */
export const findOpenLots = (db: Database, key: MeterBalanceKey) =>
  db
    .select()
    .from(customerMeterLots)
    .where(and(matchBalance(customerMeterLots, key), isNull(customerMeterLots.closed_at)))
    .orderBy(customerMeterLots.created_at, customerMeterLots.id);

/** Add a lot. */
export async function insertLot(tx: Tx, values: typeof customerMeterLots.$inferInsert) {
  const [row] = await tx.insert(customerMeterLots).values(values).returning();
  if (!row) throw new Error("The lot was not written.");
  return row;
}

/** Change columns of a lot whose row the caller has locked. */
export const updateLot = (tx: Tx, key: RowKey, patch: Partial<typeof customerMeterLots.$inferInsert>) =>
  tx.update(customerMeterLots).set(patch).where(matchKey(customerMeterLots, key));

/** Put by what was used until a reset. */
export const insertWindow = (tx: Tx, values: typeof customerMeterWindows.$inferInsert) =>
  tx.insert(customerMeterWindows).values(values);

/** No value was seen yet. */
export const deleteValues = (tx: Tx, key: MeterBalanceKey) =>
  tx.delete(customerMeterValues).where(matchBalance(customerMeterValues, key));

/** The same, but the values are kept with a period that is over, until it is billed with what others have used. */
export const putValuesBy = (tx: Tx, key: MeterBalanceKey, window_id: string) =>
  tx.update(customerMeterValues).set({ customer_id: window_id }).where(matchBalance(customerMeterValues, key));
