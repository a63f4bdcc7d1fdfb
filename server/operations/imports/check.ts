/** What comes of the rows of a source: decided when they are checked, and again when they are applied. */
import type { z } from "zod";
import type { ImportedCustomer, ImportedProduct, ImportKind } from "../../../shared/api/imports.ts";
import type { ProductCreate } from "../../../shared/api/products.ts";
import { ApiError } from "../../../shared/errors.ts";
import type { PricedProduct } from "../../catalog/products/rules.ts";
import { planProducts } from "../../catalog/products/service.ts";
import { findProducts } from "../../catalog/products/store.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { findNamedBy } from "../../customers/customers/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { checkAdopted, checkCustomer, checkSubscription, type Verdict } from "./rules.ts";
import { findBySource } from "./store.ts";
import type { RecordRow, RunRow } from "./tables.ts";

type ProductDraft = Exclude<Awaited<ReturnType<typeof planProducts>>[number], ApiError>;
/** A record with its verdict, and what it would become. */
export type Checked = {
  record: RecordRow;
  verdict: Verdict;
  draft?: ProductDraft;
  adopted?: PricedProduct;
  joined?: CustomerRow | null;
  customer?: RecordRow | undefined;
  product?: RecordRow | undefined;
};

type Rows<K extends ImportKind> = { record: RecordRow; row: Extract<NonNullable<RecordRow["data"]>, { kind: K }> }[];

/** The rows of one kind with what was read of them. */
function pickRows<K extends ImportKind>(records: readonly RecordRow[], kind: K, isChanged: boolean): Rows<K> {
  return records.flatMap((record) => {
    const data = isChanged ? record.changed_data : record.data;
    return data?.kind === kind ? [{ record, row: data as Rows<K>[number]["row"] }] : [];
  });
}

/** Judge records of a run. `isChanged`: by the last reading, where that differs from what was applied. */
export async function checkRecords(
  tx: Tx,
  ctx: Ctx,
  run: RunRow,
  records: readonly RecordRow[],
  isChanged = false,
): Promise<Checked[]> {
  return [
    ...(await checkProducts(tx, ctx, run, pickRows(records, "product", isChanged))),
    ...(await checkCustomers(tx, run, pickRows(records, "customer", isChanged))),
    ...(await checkSubscriptions(tx, ctx, run, pickRows(records, "subscription", isChanged))),
  ];
}

const buildProduct = (row: ImportedProduct): z.output<typeof ProductCreate> => ({
  name: row.name,
  description: row.description ?? null,
  recurring_interval: row.recurring_interval,
  recurring_interval_count: row.recurring_interval_count,
  visibility: "private",
  prices: row.prices.map(({ amount, currency }) => ({
    amount_type: "fixed" as const,
    price_amount: amount,
    price_currency: currency,
  })),
  medias: [],
  attached_custom_fields: [],
  metadata: { import_id: row.source_id },
});

async function checkProducts(tx: Tx, ctx: Ctx, run: RunRow, rows: Rows<"product">): Promise<Checked[]> {
  if (rows.length === 0) return [];
  const named = rows.flatMap(({ row }) => row.product_id ?? []);
  const known = new Map((await findProducts(tx, run.organization_id, named)).map((one) => [one.id, one]));
  const made = rows.filter(({ row }) => row.product_id == null);
  const drafts = await planProducts(
    tx,
    ctx,
    made.map(({ row }) => buildProduct(row)),
  );
  const draftOf = new Map(made.map(({ record }, index) => [record.id, drafts[index]]));
  return rows.map(({ record, row }): Checked => {
    if (row.product_id != null) {
      const adopted = known.get(row.product_id);
      return { record, verdict: checkAdopted(row, adopted), ...(adopted ? { adopted } : {}) };
    }
    const draft = draftOf.get(record.id);
    if (!draft) throw new Error(`The record ${record.id} has no draft.`);
    if (draft instanceof ApiError) return { record, verdict: { reason: "refused", detail: describeRefusal(draft) } };
    return { record, verdict: { reason: null }, draft };
  });
}

/** What was wrong, in the words of the operation that refused it. */
function describeRefusal({ message, detail }: ApiError): string {
  const [first] = Array.isArray(detail) ? (detail as { msg: string }[]) : [];
  return first?.msg ?? message;
}

async function checkCustomers(tx: Tx, run: RunRow, rows: Rows<"customer">): Promise<Checked[]> {
  if (rows.length === 0) return [];
  const existing = await findNamedBy(tx, run.organization_id, {
    emails: rows.map(({ row }) => row.email),
    external_ids: rows.flatMap(({ row }) => row.external_id ?? []),
  });
  const byKey = groupCustomers(existing);
  return rows.map(({ record, row }) => ({ record, ...checkCustomer(row, findCandidates(byKey, row)) }));
}

/** Customers by their addresses and external ids, so that each row looks at its own alone. */
function groupCustomers(existing: readonly CustomerRow[]): Map<string, CustomerRow[]> {
  const byKey = new Map<string, CustomerRow[]>();
  for (const one of existing)
    for (const key of [`email ${one.email?.toLowerCase()}`, `id ${one.external_id}`])
      byKey.set(key, [...(byKey.get(key) ?? []), one]);
  return byKey;
}

const findCandidates = (byKey: Map<string, CustomerRow[]>, row: ImportedCustomer): CustomerRow[] => [
  ...(byKey.get(`email ${row.email.toLowerCase()}`) ?? []),
  ...(row.external_id == null ? [] : (byKey.get(`id ${row.external_id}`) ?? [])),
];

async function checkSubscriptions(tx: Tx, ctx: Ctx, run: RunRow, rows: Rows<"subscription">): Promise<Checked[]> {
  const customers = await findBySource(
    tx,
    run,
    "customer",
    rows.map(({ row }) => row.customer),
  );
  const products = await findBySource(
    tx,
    run,
    "product",
    rows.map(({ row }) => row.product),
  );
  const now = ctx.clock.now();
  return rows.map(({ record, row }) => {
    const [customer, product] = [customers.get(row.customer), products.get(row.product)];
    return { record, verdict: checkSubscription(row, { customer, product, now }), customer, product };
  });
}
