import { createHash } from "node:crypto";
import type { Order, OrderColumn } from "../../../shared/api/orders.ts";
import type { OrderSubscription } from "../../../shared/api/subscriptions.ts";
import { formatZoned } from "../../../shared/calendar.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { addUp, getMinimumAmount, writeMoney } from "../../../shared/money.ts";
import type { Quote } from "../../../shared/pricing.ts";
import { type DiscountRow, serializeDiscountBase } from "../../catalog/discounts/rules.ts";
import { type ProductRow, serializeOrderProduct } from "../../catalog/products/rules.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { moveState } from "../../platform/states.ts";
import type { subscriptions } from "../subscriptions/tables.ts";
import { orderStates } from "./states.ts";
import type { orderItems, orders } from "./tables.ts";

export type OrderRow = typeof orders.$inferSelect;
export type OrderItemRow = typeof orderItems.$inferSelect;
/** An order with everything that it is answered with. */
export type OrderAggregate = {
  order: OrderRow;
  items: OrderItemRow[];
  customer: CustomerRow;
  product: ProductRow;
  discount: DiscountRow | null;
  subscription: typeof subscriptions.$inferSelect | null;
};

/** Whether an order still waits for its money; a void one does too, if the money has come after all. */
export const isPayable = (status: Order["status"]): boolean => status === "pending" || status === "void";

type Amounts = Pick<OrderRow, "subtotal_amount" | "discount_amount" | "tax_amount" | "tax_behavior">;
type Reduced = "reduced_amount" | "reduced_tax_amount";

/** The amounts that follow from those that are kept (ORD-01). */
export function computeTotals(row: Amounts & Partial<Pick<OrderRow, "applied_balance_amount" | Reduced>>) {
  const asked = row.subtotal_amount - row.discount_amount;
  const net_amount = row.tax_behavior === "inclusive" ? asked - row.tax_amount : asked;
  const total_amount = net_amount + row.tax_amount;
  const { applied_balance_amount = 0, reduced_amount = 0, reduced_tax_amount = 0 } = row;
  const due_amount = Math.max(0, total_amount + applied_balance_amount - reduced_amount - reduced_tax_amount);
  return { net_amount, total_amount, due_amount };
}

/**
 * What may still be given back of an order, without tax and of its tax (RFD-04). What the customer's balance paid is not: the
 * order's payment did not bring it.
 */
export function computeRefundable(row: Amounts & Pick<OrderRow, "applied_balance_amount" | Refunded | Reduced>) {
  const { net_amount } = computeTotals(row);
  const asked = net_amount - row.reduced_amount;
  return {
    refundable_amount: Math.max(0, asked + row.applied_balance_amount - row.refunded_amount),
    refundable_tax_amount: Math.max(0, row.tax_amount - row.reduced_tax_amount - row.refunded_tax_amount),
  };
}

type Refunded = "refunded_amount" | "refunded_tax_amount";
/** Money that goes back, without tax and the tax in it. */
export type AmountShare = { amount: number; tax_amount: number };

/** What a refund makes of an order, and a refund that was reversed with negative amounts (RFD-08, RFD-09). */
export function planRefunded(row: OrderRow, share: AmountShare): Pick<OrderRow, "status" | Refunded> {
  const refunded_amount = row.refunded_amount + share.amount;
  const refunded_tax_amount = row.refunded_tax_amount + share.tax_amount;
  if (refunded_amount < 0 || refunded_tax_amount < 0)
    throw new Error(`More would be taken back of the refunds of the order ${row.id} than there is.`);
  const whole = computeTotals(row).net_amount - row.reduced_amount + row.applied_balance_amount;
  const isRefunded = refunded_amount + refunded_tax_amount > 0;
  const status = !isRefunded ? "paid" : refunded_amount >= whole ? "refunded" : "partially_refunded";
  return {
    status: status === row.status ? status : moveState(orderStates, row, status),
    refunded_amount,
    refunded_tax_amount,
  };
}

/**
 * How an order's total meets its customer's balance (ORD-02 to ORD-04): positive is what we owe them, negative what they owe.
 * What is due after it and is less than can be charged is not: they owe it.
 */
export function applyBalance(total: number, balance: number, least: number) {
  const consumed = 0 - Math.min(total, balance);
  const applied_balance_amount = total >= 0 ? consumed : balance < 0 ? Math.min(-total, -balance) : 0;
  const due_amount = Math.max(0, total + applied_balance_amount);
  const isOwed = due_amount > 0 && due_amount < least;
  const moved = total >= 0 ? applied_balance_amount : -total;
  return {
    applied_balance_amount,
    due_amount,
    is_paid: due_amount === 0 || isOwed,
    balance: balance + moved - (isOwed ? due_amount : 0),
  };
}

/** How the total of a quote meets a balance; what is too little to charge is owed, so it is taken off the balance as well. */
export function computeBalanceUse({ total_amount, currency }: Quote, balance: number) {
  const {
    applied_balance_amount: applied,
    due_amount,
    is_paid,
  } = applyBalance(total_amount, balance, getMinimumAmount(currency));
  return is_paid
    ? { applied_balance_amount: applied - due_amount, due_amount: 0, is_paid }
    : { applied_balance_amount: applied, due_amount, is_paid };
}

/** What an order with this total, of which so much was met by the balance, changes the balance by (ORD-03). */
export const computeBalanceChange = (order: OrderRow): number => {
  const { total_amount } = computeTotals(order);
  return total_amount < 0 ? 0 - total_amount : order.applied_balance_amount;
};

/** Amounts that do not add up are a fault of ours, and no order is made of them. */
export function assertQuote({ lines, subtotal_amount, discount_amount, tax_amount, tax_lines, ...quote }: Quote): void {
  const { given } = quote.tax;
  const faults = [
    addUp(lines.map((line) => line.amount)) === subtotal_amount || "lines",
    addUp(lines.map((line) => line.discount_amount)) === discount_amount || "discount",
    (tax_amount !== null && addUp(tax_lines.map((line) => line.amount)) === tax_amount) || "tax",
    given === undefined || given.rates.length === quote.tax.rates.length || "rates",
    quote.net_amount + (tax_amount ?? 0) === quote.total_amount || "total",
    quote.total_amount >= 0 || lines.some((line) => line.proration) || "sign",
  ].filter((one) => one !== true);
  if (faults.length > 0) throw new Error(`The amounts of an order do not add up: ${faults.join(", ")}.`);
}

type Parties = Pick<OrderRow, "customer_id" | "product_id">;

/** What is sold for how much to whom, as one value to compare; of a subscription also what it will cost. */
export function hashTerms(parties: Parties & Pick<OrderRow, "begins">, quote: Quote): string {
  const { begins } = parties;
  const later = begins && [hashQuote(parties, begins.quote), begins.price_ids, begins.trial_end !== null];
  return hash([hashQuote(parties, quote), later, begins?.upgrades ?? null]);
}

const hash = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("base64url");

/** The terms of an order, once so much of it is not asked for any more. */
export const hashReducedTerms = ({ terms }: Pick<OrderRow, "terms">, reduced: Pick<OrderRow, Reduced>): string =>
  hash([terms, reduced.reduced_amount, reduced.reduced_tax_amount]);

/** The terms of a quote, as one value to compare. */
export function hashQuote({ customer_id, product_id }: Partial<Parties>, quote: Quote): string {
  const { currency, seats, subtotal_amount, discount_amount, tax_amount, total_amount, discount, tax } = quote;
  const lines = quote.lines.map((line) => [line.amount, line.discount_amount, line.proration, line.product_price_id]);
  const taxes = quote.tax_lines.map((line) => [line.name, line.country, line.state, line.rate, line.amount]);
  const amounts = [currency, seats, subtotal_amount, discount_amount, tax_amount, total_amount];
  const terms = [customer_id, product_id, ...amounts, lines, taxes, discount?.id ?? null, tax.behavior, tax.reason];
  return hash(terms);
}

export const isPaid = (status: Order["status"]): boolean =>
  status === "paid" || status === "refunded" || status === "partially_refunded";

/** An order as it is answered. Only one that has its number is. */
export function serializeOrder({ order, items, customer, product, discount, subscription }: OrderAggregate): Order {
  const totals = computeTotals(order);
  const { refundable_amount, refundable_tax_amount } = computeRefundable(order);
  const {
    organization_id: _,
    terms: __,
    derivation: ___,
    begins: ____,
    settle_due_at: _____,
    period_start: _______,
    changes: ________,
    failed_payments: _________,
    occasion: __________,
    paid_at: ___________,
    preceded_at: ____________,
    recalled_amount: _____________,
    recalled_tax_amount: ______________,
    invoice_number,
    ...fields
  } = order;
  if (invoice_number === null) throw new Error(`The order ${order.id} has no number yet.`);
  const paid = isPaid(order.status);
  return {
    ...fields,
    ...totals,
    invoice_number,
    paid,
    refundable_amount: paid ? refundable_amount : 0,
    refundable_tax_amount: paid ? refundable_tax_amount : 0,
    units: null,
    user_id: order.customer_id,
    platform_fee_currency: null,
    customer: serializeCustomer(customer),
    product: serializeOrderProduct(product),
    discount: discount && serializeDiscountBase(discount),
    subscription: subscription && serializeOrderSubscription(subscription),
    items: items.map((item) => ({ ...item, reverses_order_id: findReversedOrder(order, item) })),
  };
}

/** The order of the line that a line gives back; null where it gives back none. */
function findReversedOrder(order: OrderRow, { position }: Pick<OrderItemRow, "position">): string | null {
  const reverses = order.derivation.lines[position]?.reverses;
  return reverses ? (reverses.order_id ?? order.id) : null;
}

/** What an export reads of each order: not how it was computed, which is most of a row. */
export type ExportedOrder = Amounts &
  Pick<OrderRow, "id" | "created_at" | "status" | "billing_reason" | "currency" | "description" | "refunded_amount"> &
  Pick<OrderRow, "billing_name" | "billing_address" | "invoice_number" | "receipt_number"> & {
    email: string | null;
    customer_name: string | null;
    /** When it was made, to the microsecond. */
    at: string;
  };

/** The columns of an export where nobody asks for others: those that hosted Polar has always had. */
export const standardColumns: readonly OrderColumn[] = [
  "email",
  "created_at",
  "product",
  "net_amount",
  "currency",
  "status",
  "invoice_number",
];

/** An order as a line of an export. */
export function exportCells(
  order: ExportedOrder,
  columns: readonly OrderColumn[],
  zone: Intl.DateTimeFormat,
): (string | null)[] {
  const totals = computeTotals(order);
  const formatAmount = (amount: number) => writeMoney(amount, order.currency);
  const cells: Record<OrderColumn, () => string | null> = {
    email: () => order.email,
    created_at: () => formatZoned(order.created_at, zone),
    product: () => order.description,
    net_amount: () => formatAmount(totals.net_amount),
    currency: () => order.currency,
    status: () => order.status,
    invoice_number: () => order.invoice_number,
    customer_name: () => order.customer_name,
    billing_name: () => order.billing_name,
    billing_country: () => order.billing_address?.country ?? null,
    subtotal_amount: () => formatAmount(order.subtotal_amount),
    discount_amount: () => formatAmount(order.discount_amount),
    tax_amount: () => formatAmount(order.tax_amount),
    total_amount: () => formatAmount(totals.total_amount),
    refunded_amount: () => formatAmount(order.refunded_amount),
    billing_reason: () => order.billing_reason,
    receipt_number: () => order.receipt_number,
    id: () => order.id,
  };
  return columns.map((column) => cells[column]());
}

/** A subscription inside an order. Use is billed with everything else. */
export const serializeOrderSubscription = (row: typeof subscriptions.$inferSelect): OrderSubscription => ({
  ...row,
  units: null,
  current_meter_period_start: row.current_meter_period_start,
  current_meter_period_end: row.current_meter_period_end,
});

/** What an update may not do: the tax was computed on this country and state (ORD-25). */
export function checkAddress(order: OrderRow, address: OrderRow["billing_address"] | undefined): Fault[] {
  const had = order.billing_address;
  if (!address || !had) return [];
  return (["country", "state"] as const)
    .filter((field) => address[field] !== had[field])
    .map((field) =>
      fault(
        ["billing_address", field],
        `The ${field} cannot be changed after the tax was computed.`,
        "value_error",
        address[field],
      ),
    );
}

/** Tells a member that a customer owes credit that was spent before its order's money went back. */
export const writeDebtMail = (
  to: string,
  organization: string,
  order: OrderRow,
  recalled: string,
  owed: string,
): Mail => ({
  to,
  subject: `A customer of ${organization} owes ${owed}`,
  paragraphs: [
    `Money of the order ${order.invoice_number} went back to its buyer. They had ${recalled} of it as credit already, which was taken back, and had spent it: they owe ${owed} now.`,
    "It is asked for with their next order.",
    `See: floe orders explain ${order.id}`,
  ],
});
