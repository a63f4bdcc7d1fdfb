import { createHash } from "node:crypto";
import type {
  ImportedCustomer,
  ImportedProduct,
  ImportedSubscription,
  ImportReason,
  ImportRecord,
  ImportRow,
} from "../../../shared/api/imports.ts";
import { findLastDay } from "../../../shared/calendar.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { type CustomerRow, checkTaxId, isSameEmail } from "../../customers/customers/rules.ts";
import { canonicalize } from "../audit/rules.ts";
import type { RecordRow } from "./tables.ts";

/** What comes of a record. */
export type Verdict = { reason: ImportReason; detail?: string } | { reason: null };
const accepted: Verdict = { reason: null };
const block = (reason: ImportReason, detail?: string): Verdict => ({
  reason,
  ...(detail === undefined ? {} : { detail }),
});

const hourMs = 60 * 60 * 1000;
/** A renewal that is closer may be under way at the source: a subscription waits there until it is over. */
export const leastAheadMs = 24 * hourMs;

/** The one price that a subscription of an imported product has in a currency; undefined where floe would bill otherwise. */
export function findPrice(product: PricedProduct, currency: string): PriceRow | undefined {
  const own = product.prices.filter(({ price_currency }) => price_currency === currency);
  const [price] = own;
  const isPlain = price?.amount_type === "fixed" || price?.amount_type === "free";
  return own.length === 1 && isPlain && product.meter_interval === null ? price : undefined;
}

export const getPriceAmount = (price: PriceRow): number => price.price_amount ?? 0;

/** Whether a product of floe may stand for one of the source: it is billed as that is. */
export function checkAdopted(row: ImportedProduct, product: PricedProduct | undefined): Verdict {
  if (!product) return block("product_missing", "There is no product with this id.");
  if (product.is_archived) return block("refused", "The product is archived.");
  const isSameRhythm =
    product.recurring_interval === row.recurring_interval &&
    (product.recurring_interval_count ?? 1) === row.recurring_interval_count;
  if (!isSameRhythm) return block("refused", "The product is billed at another interval.");
  for (const { amount, currency } of row.prices) {
    const price = findPrice(product, currency);
    if (!price) return block("price_kind", `The product has no single fixed price in ${currency}.`);
    if (getPriceAmount(price) !== amount)
      return block("amount_differs", `The product costs ${getPriceAmount(price)}, and ${amount} at the source.`);
  }
  return accepted;
}

/**
 * Whether a customer can be imported, and who of floe it is. Several customers of the source with one address become one customer, who
 * keeps the external id that it has.
 */
export function checkCustomer(
  row: ImportedCustomer,
  existing: readonly CustomerRow[],
): { verdict: Verdict; joined: CustomerRow | null } {
  const reject = (verdict: Verdict) => ({ verdict, joined: null });
  const joined = existing.find(({ email }) => isSameEmail(email, row.email)) ?? null;
  if (row.external_id != null) {
    const owner = existing.find(({ external_id }) => external_id === row.external_id);
    if (owner && owner.id !== joined?.id)
      return reject(block("external_id_conflict", "Another customer of floe has this external id."));
    if (joined && joined.external_id !== row.external_id)
      return reject(block("external_id_conflict", "The customer with this address has another external id, or none."));
  }
  if (row.tax_id && !joined) {
    const taxId = checkTaxId(row.tax_id, row.billing_address?.country);
    if (taxId !== null && "loc" in taxId) return reject(block("tax_id", taxId.msg));
  }
  return { verdict: accepted, joined };
}

/** What a subscription of the source refers to. */
export type SubscriptionContext = {
  customer: RecordRow | undefined;
  product: RecordRow | undefined;
  now: Date;
};

const isImportable = (record: RecordRow): boolean => record.status !== "blocked" && record.status !== "undone";

/** Whether floe can bill a subscription as the source does, to the cent and to the day. */
export function checkSubscription(row: ImportedSubscription, { customer, product, now }: SubscriptionContext): Verdict {
  if (row.status !== "active" && row.status !== "trialing")
    return block("status", `It is ${row.status} at the source, and stays there until that is over.`);
  if (row.not_billable != null) return block("not_billable", row.not_billable);
  if (!customer) return block("customer_missing", `No row of the customers has the id ${row.customer}.`);
  if (!isImportable(customer)) return block("customer_blocked", `The customer ${row.customer} is blocked.`);
  if (!product) return block("product_missing", `No row of the products has the id ${row.product}.`);
  if (!isImportable(product) || product.data?.kind !== "product")
    return block("product_blocked", `The product ${row.product} is blocked.`);
  const price = product.data.prices.find(({ currency }) => currency === row.currency);
  if (!price) return block("currency_differs", `Its product has no price in ${row.currency}.`);
  if (row.amount !== price.amount)
    return block(
      "amount_differs",
      `It costs ${row.amount}, its product ${price.amount}: add a product for this price.`,
    );
  const [started, begin, end] = [row.started_at, row.current_period_start, row.current_period_end].map(
    (text) => new Date(text),
  );
  if (!started || !begin || !end || begin >= end || started > begin || begin > now)
    return block("period", "Its start, period and next renewal are not in this order, or its period is to come.");
  if (!isAnchored(row, end)) return block("period", `It does not renew on day ${row.anchor_day} of a month.`);
  if (end <= now) return block("renewal_past", "Its next renewal is in the past: export it again at the source.");
  if (end.getTime() - now.getTime() < leastAheadMs)
    return block("renewal_soon", "It renews within 24 hours: import it after that.");
  return accepted;
}

/** Whether the next renewal is on the day of its anchor, or on the last day of a month that is too short for it. */
const isAnchored = ({ anchor_day }: ImportedSubscription, end: Date): boolean =>
  anchor_day == null || end.getUTCDate() === Math.min(anchor_day, findLastDay(end));

/** The day of the month on which periods begin: that of the start, where the month of the next renewal is too short for it (SUB-14). */
export function findAnchorDay(row: ImportedSubscription): number {
  if (row.anchor_day != null) return row.anchor_day;
  const [started, end] = [new Date(row.started_at), new Date(row.current_period_end)];
  const last = findLastDay(end);
  return end.getUTCDate() === last ? Math.max(started.getUTCDate(), last) : end.getUTCDate();
}

/** The columns of a subscription that follow from what the source says of it. */
export function planPeriod(row: ImportedSubscription, now: Date) {
  const current_period_end = new Date(row.current_period_end);
  const isTrial = row.status === "trialing";
  return {
    status: isTrial ? ("trialing" as const) : ("active" as const),
    current_period_start: new Date(row.current_period_start),
    current_period_end,
    anchor_day: findAnchorDay(row),
    trial_end: isTrial ? current_period_end : null,
    cancel_at_period_end: row.cancel_at_period_end,
    canceled_at: row.cancel_at_period_end ? now : null,
    ends_at: row.cancel_at_period_end ? current_period_end : null,
  };
}

/** The checksum of what was read: the same whatever the order of its fields. */
export const hashRow = (row: ImportRow): string => createHash("sha256").update(canonicalize(row)).digest("base64url");

/** A record as it is answered. */
export function serializeRecord(row: RecordRow): ImportRecord {
  const { id, created_at, modified_at, kind, source_id, line, status, reason, detail, target_id, is_created } = row;
  const data = row.changed_data ?? row.data;
  const paid = data?.kind === "product" ? data.prices[0] : data?.kind === "subscription" ? data : undefined;
  return {
    ...{ id, created_at, modified_at, kind, source_id, line, status, reason, detail, target_id, is_created },
    is_changed: row.changed_data !== null,
    data: {
      email: data?.kind === "customer" ? data.email : null,
      name: data && data.kind !== "subscription" ? (data.name ?? null) : null,
      amount: paid?.amount ?? null,
      currency: paid?.currency ?? null,
      current_period_end: data?.kind === "subscription" ? data.current_period_end : null,
    },
  };
}
