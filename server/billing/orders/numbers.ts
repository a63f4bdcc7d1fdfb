import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { organization } from "../../identity/organizations/tables.ts";
import type { Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { matchKey, matchSeller, type RowKey } from "../../platform/db/rows.ts";
import type { OrderRow } from "./rules.ts";
import { invoiceCounters, orders, receiptCounters } from "./tables.ts";

const getReceiptSeries = (customer_id: string): string => `RCPT-${customer_id.slice(-12).toUpperCase()}-`;

/** A number with four digits at least. */
const padNumber = (counter: SQL): SQL => {
  const number = sql`(${counter} - 1)::text`;
  return sql`lpad(${number}, greatest(4, length(${number})), '0')`;
};

/**
 * Give an order its number and change it, in one statement: the next of its organization, whose counter stays locked until
 * the transaction ends, so that the numbers of committed orders have no gap and no double (ORD-19). Taken last, since every
 * other sale of the organization waits for it. One that was charged gets the next receipt number of its customer, too
 * (ORD-26).
 */
export const assignOrderNumber = (
  tx: Tx,
  order: Numbering["order"],
  patch: Partial<OrderRow>,
  isCharged: boolean,
): Promise<Numbers> => gatherNumbers(tx, { order, patch, isCharged });

type Numbering = { order: RowKey & Pick<OrderRow, "customer_id">; patch: Partial<OrderRow>; isCharged: boolean };
type Numbers = { invoice_number: string; receipt_number: string | null };

const gatherNumbers = defineLoader(async (tx: Tx, wanted: Numbering[]): Promise<Numbers[]> => {
  const isBare = ({ patch, isCharged }: Numbering) => !isCharged && Object.keys(patch).length === 0;
  if (wanted.length > 1 && wanted.every(isBare)) return numberAll(tx, wanted);
  const made = [];
  for (const { order, patch, isCharged } of wanted) made.push(await numberOne(tx, order, patch, isCharged));
  return made;
}, true);

/** What stands before a number of an organization whose database was restored. */
const ofSeries = sql`coalesce(taken.series || '-', '')`;

/**
 * Number the orders of every organization in a series of its own from now on: which numbers were given after the backup is
 * unknown (RST-03). The numbers themselves go on.
 */
export async function beginNumberSeries(tx: Tx, series: string): Promise<void> {
  const all = tx
    .select({
      organization_id: organization.id,
      next_number: sql`1`.as("next_number"),
      series: sql`${series}`.as("series"),
    })
    .from(organization)
    .where(eq(organization.sandbox, false));
  await tx
    .insert(invoiceCounters)
    .select(all as never)
    .onConflictDoUpdate({ target: invoiceCounters.organization_id, set: { series } });
}

const ofListed = sql`${orders.organization_id} = listed.organization_id and ${orders.id} = listed.id`;

/** Give orders that were not paid yet their numbers, in this order. */
async function numberAll(tx: Tx, wanted: readonly Numbering[]): Promise<Numbers[]> {
  const keys = wanted.map(({ order }) => order);
  const organization_id = matchSeller(keys);
  const count = keys.length;
  const counted = tx.$with("taken").as(
    tx
      .insert(invoiceCounters)
      .values({ organization_id, next_number: count + 1 })
      .onConflictDoUpdate({
        target: invoiceCounters.organization_id,
        set: { next_number: sql`${invoiceCounters.next_number} + ${count}::int` },
      })
      .returning({ next_number: invoiceCounters.next_number, series: invoiceCounters.series }),
  );
  const rows = await tx
    .with(counted)
    .update(orders)
    .set({
      invoice_number: sql`${getPrefix(organization_id)} || '-' || ${ofSeries} || ${padNumber(sql`(taken.next_number - ${count}::int + listed.place)`)}`,
    })
    .from(
      sql`taken cross join unnest(${writeArray(
        keys.map(() => organization_id),
        "text",
      )}, ${writeArray(
        keys.map(({ id }) => id),
        "uuid",
      )}) with ordinality as listed (organization_id, id, place)`,
    )
    .where(ofListed)
    .returning({ id: orders.id, invoice_number: orders.invoice_number });
  const byId = new Map(rows.map(({ id, invoice_number }) => [id, invoice_number]));
  return keys.map(({ id }) => {
    const invoice_number = byId.get(id);
    if (!invoice_number) throw new Error(`The order ${id} is gone.`);
    return { invoice_number, receipt_number: null };
  });
}

const getPrefix = (organization_id: string): SQL =>
  sql`(select upper(slug) from ${organization} where ${organization.id} = ${organization_id})`;

async function numberOne(
  tx: Tx,
  { organization_id, id, customer_id }: Numbering["order"],
  patch: Partial<OrderRow>,
  isCharged: boolean,
): Promise<Numbers> {
  const counted = tx.$with("taken").as(
    tx
      .insert(invoiceCounters)
      .values({ organization_id, next_number: 2 })
      .onConflictDoUpdate({
        target: invoiceCounters.organization_id,
        set: { next_number: sql`${invoiceCounters.next_number} + 1` },
      })
      .returning({ next_number: invoiceCounters.next_number, series: invoiceCounters.series }),
  );
  // It reads the first counter, so that whoever takes both takes them in this order.
  const receipted = tx.$with("receipted", {}).as(sql`
    insert into ${receiptCounters} (organization_id, customer_id, next_number)
    select ${organization_id}::text, ${customer_id}::uuid, 2 from taken where ${isCharged}::boolean
    on conflict (organization_id, customer_id) do update set next_number = ${receiptCounters}.next_number + 1
    returning next_number`);
  const series = getReceiptSeries(customer_id);
  const [row] = await tx
    .with(counted, receipted)
    .update(orders)
    .set({
      ...patch,
      invoice_number: sql`${getPrefix(organization_id)} || '-' || ${ofSeries} || ${padNumber(sql`taken.next_number`)}`,
      receipt_number: sql`(select ${series}::text || ${ofSeries} || ${padNumber(sql`receipted.next_number`)} from receipted)`,
    })
    .from(counted)
    .where(matchKey(orders, { organization_id, id }))
    .returning({ invoice_number: orders.invoice_number, receipt_number: orders.receipt_number });
  if (!row?.invoice_number) throw new Error(`The order ${id} is gone.`);
  return { invoice_number: row.invoice_number, receipt_number: row.receipt_number };
}

/**
 * Give an order that was shown before it was paid the next receipt number of its customer, and change it, in one statement
 * (ORD-26). All that are given one together change the same columns.
 */
export const assignReceiptNumber = (
  tx: Tx,
  order: Receipting["order"],
  patch: Partial<OrderRow>,
): Promise<string | null> => gatherReceipts(tx, { order, patch });

type Receipting = Pick<Numbering, "order" | "patch">;

const gatherReceipts = defineLoader(async (tx: Tx, wanted: Receipting[]): Promise<(string | null)[]> => {
  const isOneEach = new Set(wanted.map(({ order }) => order.customer_id)).size === wanted.length;
  if (isOneEach) return numberReceipts(tx, wanted);
  const made = [];
  for (const one of wanted) made.push(...(await numberReceipts(tx, [one])));
  return made;
}, true);

/** The same for orders of several customers. */
async function numberReceipts(tx: Tx, wanted: readonly Receipting[]): Promise<(string | null)[]> {
  const organization_id = matchSeller(wanted.map(({ order }) => order));
  const listed = JSON.stringify(
    wanted.map(({ order: { id, customer_id }, patch }) => ({
      ...patch,
      ...{ organization_id, id, customer_id, receipt_number: getReceiptSeries(customer_id) },
    })),
  );
  const counted = tx.$with("receipted", {}).as(sql`
    insert into ${receiptCounters} (organization_id, customer_id, next_number)
    select ${organization_id}::text, customer_id, 2
    from json_to_recordset(${listed}::json) as listed (customer_id uuid) order by customer_id
    on conflict (organization_id, customer_id) do update set next_number = ${receiptCounters}.next_number + 1
    returning customer_id, next_number`);
  const columns = getTableColumns(orders);
  const names = Object.keys(wanted[0]?.patch ?? {}) as (keyof OrderRow)[];
  const rows = await tx
    .with(counted)
    .update(orders)
    .set({
      ...Object.fromEntries(names.map((name) => [name, sql`listed.${sql.identifier(columns[name].name)}`])),
      receipt_number: sql`listed.receipt_number || coalesce((select ${invoiceCounters.series} || '-' from ${invoiceCounters}
        where ${invoiceCounters.organization_id} = ${organization_id}), '') || ${padNumber(sql`receipted.next_number`)}`,
    })
    .from(
      sql`json_populate_recordset(null::${orders}, ${listed}::json) as listed
        join receipted on receipted.customer_id = listed.customer_id`,
    )
    .where(ofListed)
    .returning({ id: orders.id, receipt_number: orders.receipt_number });
  const byId = new Map(rows.map(({ id, receipt_number }) => [id, receipt_number]));
  return wanted.map(({ order: { id } }) => byId.get(id) ?? null);
}
