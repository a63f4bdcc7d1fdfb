/** Makes of checked rows what they are in floe: products, customers, and subscriptions that are held (MOV-10). */

import { type HeldSubscription, insertHeld, updateHeld } from "../../billing/subscriptions/held.ts";
import { insertDrafts } from "../../catalog/products/service.ts";
import { findProducts } from "../../catalog/products/store.ts";
import { checkTaxId, normalizeEmail } from "../../customers/customers/rules.ts";
import { notifyNamed } from "../../customers/customers/service.ts";
import { insertCustomers } from "../../customers/customers/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { createId } from "../../platform/ids.ts";
import { type Checked, checkRecords } from "./check.ts";
import { findPrice, getPriceAmount, hashRow, planPeriod } from "./rules.ts";
import { findChanged, updateRecords } from "./store.ts";
import type { RecordRow, RunRow } from "./tables.ts";
import { removeHeld } from "./undo.ts";

type Change = { key: RecordRow; patch: Partial<RecordRow> };

const blockRecord = ({ record, verdict }: Checked, now: Date): Change => ({
  key: record,
  patch: {
    status: "blocked",
    reason: verdict.reason,
    detail: "detail" in verdict ? (verdict.detail ?? null) : null,
    modified_at: now,
  },
});

/** Judge records that were read, and keep what came of it. */
export async function checkSlice(tx: Tx, ctx: Ctx, run: RunRow, records: readonly RecordRow[]): Promise<void> {
  const now = ctx.clock.now();
  const checked = await checkRecords(tx, ctx, run, records);
  await updateRecords(
    tx,
    checked.map((one) =>
      one.verdict.reason === null
        ? { key: one.record, patch: { status: "ready" as const, reason: null, detail: null, modified_at: now } }
        : blockRecord(one, now),
    ),
  );
}

/** Apply records of one kind. What is refused by now is blocked. */
export async function applySlice(tx: Tx, ctx: Ctx, run: RunRow, records: readonly RecordRow[]): Promise<void> {
  const now = ctx.clock.now();
  const checked = await checkRecords(tx, ctx, run, records);
  const blocked = checked.filter(({ verdict }) => verdict.reason !== null).map((one) => blockRecord(one, now));
  const good = checked.filter(({ verdict }) => verdict.reason === null);
  const made = [
    ...(await applyProducts(tx, good)),
    ...(await applyCustomers(tx, ctx, good)),
    ...(await applySubscriptions(tx, ctx, good)),
  ];
  const applied = { applied_run_id: run.id, reason: null, detail: null, modified_at: now };
  await updateRecords(tx, [
    ...blocked,
    ...made.map(({ key, patch }) => ({ key, patch: { status: "applied" as const, ...applied, ...patch } })),
  ]);
}

async function applyProducts(tx: Tx, good: readonly Checked[]): Promise<Change[]> {
  const drafts = good.flatMap(({ draft }) => draft ?? []);
  await insertDrafts(tx, drafts);
  return good.flatMap(({ record, draft, adopted }) => {
    const target_id = draft?.values.id ?? adopted?.id;
    return target_id === undefined ? [] : [{ key: record, patch: { target_id, is_created: draft !== undefined } }];
  });
}

/** Customers of one address are one customer, whom the first row makes. */
async function applyCustomers(tx: Tx, ctx: Ctx, good: readonly Checked[]): Promise<Change[]> {
  const now = ctx.clock.now();
  const wanted = new Map<string, Parameters<typeof insertCustomers>[1][number]>();
  const keyOf = new Map<string, string>();
  for (const { record, joined } of good) {
    const { data } = record;
    if (data?.kind !== "customer" || joined) continue;
    const key = data.email.toLowerCase();
    keyOf.set(record.id, key);
    if (wanted.has(key)) continue;
    const taxId = data.tax_id ? checkTaxId(data.tax_id, data.billing_address?.country) : null;
    wanted.set(key, {
      id: createId(now),
      organization_id: record.organization_id,
      created_at: now,
      email: data.email,
      name: data.name ?? null,
      external_id: data.external_id ?? null,
      billing_address: data.billing_address ?? null,
      locale: data.locale ?? null,
      tax_id: taxId !== null && "loc" in taxId ? null : taxId,
      metadata: { ...data.metadata, import_id: data.source_id },
    });
  }
  const made = new Map((await insertCustomers(tx, [...wanted.values()])).map((row) => [row.email?.toLowerCase(), row]));
  for (const row of made.values()) await notifyNamed(tx, ctx, row);
  const first = new Set<string>();
  return good.flatMap(({ record, joined }): Change[] => {
    if (record.kind !== "customer") return [];
    const own = made.get(keyOf.get(record.id) ?? "");
    const target_id = joined?.id ?? own?.id;
    // A parallel request has just taken the address or the external id: the record stays ready, and is checked again.
    if (target_id === undefined) return [{ key: record, patch: { status: "ready" } }];
    const is_created = own !== undefined && !first.has(target_id);
    first.add(target_id);
    return [{ key: record, patch: { target_id, is_created } }];
  });
}

async function applySubscriptions(tx: Tx, ctx: Ctx, good: readonly Checked[]): Promise<Change[]> {
  const now = ctx.clock.now();
  const [
    {
      record: { organization_id },
    } = { record: { organization_id: "" } },
  ] = good;
  const product_ids = [...new Set(good.flatMap(({ product }) => product?.target_id ?? []))];
  const products = new Map((await findProducts(tx, organization_id, product_ids)).map((one) => [one.id, one]));
  const all: Parameters<typeof insertHeld>[1][number][] = [];
  const changes = good.flatMap(({ record, customer, product: of }): Change[] => {
    const { data } = record;
    if (data?.kind !== "subscription") return [];
    const product = products.get(of?.target_id ?? "");
    const price = product && findPrice(product, data.currency);
    const isBilledAlike = price !== undefined && getPriceAmount(price) === data.amount;
    if (!product?.recurring_interval || !price || !isBilledAlike || !customer?.target_id)
      return [
        {
          key: record,
          patch: {
            status: "blocked",
            reason: "price_kind",
            detail: "Its product is billed otherwise by now.",
            applied_run_id: null,
          },
        },
      ];
    const values: HeldSubscription = {
      ...planPeriod(data, now),
      id: createId(now),
      organization_id,
      created_at: now,
      billing_held_at: now,
      is_imported: true,
      amount: data.amount,
      currency: data.currency,
      recurring_interval: product.recurring_interval,
      recurring_interval_count: product.recurring_interval_count ?? 1,
      started_at: new Date(data.started_at),
      trial_start: data.status === "trialing" ? new Date(data.current_period_start) : null,
      trial_email_key: data.status === "trialing" ? findTrialKey(customer) : null,
      customer_id: customer.target_id,
      product_id: product.id,
      metadata: { ...data.metadata, import_id: data.source_id },
    };
    all.push({ values, price: { id: price.id, amount: data.amount } });
    return [{ key: record, patch: { status: "held", target_id: values.id ?? null, is_created: true } }];
  });
  await insertHeld(tx, all);
  return changes;
}

/** Who has a trial at the source has none here again (CHK-53). */
const findTrialKey = ({ data }: RecordRow): string | null =>
  data?.kind === "customer" ? normalizeEmail(data.email) : null;

/**
 * Change held subscriptions to what the last reading says. One that the source no longer bills as floe would is removed: it stays at the
 * source. One whose price or customer differs is left, and is not switched. Whether any were left to look at.
 */
export async function updateSlice(tx: Tx, ctx: Ctx, run: RunRow, limit: number): Promise<boolean> {
  const now = ctx.clock.now();
  const records = await findChanged(tx, run, limit);
  if (records.length === 0) return false;
  const checked = await checkRecords(tx, ctx, run, records, true);
  const gone = checked.filter(({ verdict }) => verdict.reason === "status");
  await removeHeld(
    tx,
    ctx,
    gone.map(({ record }) => record),
    { reason: "status" },
  );
  const changes: Change[] = [];
  const periods: Parameters<typeof updateHeld>[1] = [];
  for (const { record, verdict } of checked) {
    if (verdict.reason === "status") continue;
    const { data: before, changed_data: after, organization_id, target_id } = record;
    if (after?.kind !== "subscription" || target_id === null) continue;
    const isSame =
      before?.kind === "subscription" &&
      (["customer", "product", "amount", "currency"] as const).every((field) => before[field] === after[field]);
    if (verdict.reason !== null || !isSame) {
      changes.push({ key: record, patch: { reason: verdict.reason ?? "changed_since", modified_at: now } });
      continue;
    }
    periods.push({ key: { organization_id, id: target_id }, patch: planPeriod(after, now) });
    changes.push({ key: record, patch: { data: after, hash: hashRow(after), changed_data: null, modified_at: now } });
  }
  await updateHeld(tx, periods);
  await updateRecords(tx, changes);
  return true;
}
