import { type OrderColumn, orderColumns, type orders } from "../../../shared/api/orders.ts";
import { createZoneFormat } from "../../../shared/calendar.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, invalid, notFound } from "../../../shared/errors.ts";
import { explainQuote } from "../../../shared/explain.ts";
import { computeReversedTax, type LineTerms, type Quote } from "../../../shared/pricing.ts";
import { describeVoided } from "../../../shared/system-events.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { formatCsvLine } from "../../platform/csv.ts";
import { buildPage } from "../../platform/db/page.ts";
import { listChanges, type RowKey } from "../../platform/db/rows.ts";
import { runAtEnd, transact } from "../../platform/db/unit-of-work.ts";
import { emit, emitEach, recordListedEvent } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { moveState } from "../../platform/states.ts";
import { addToBalance, lockBalance } from "./balances.ts";
import { createOrderId, type PeriodOrder } from "./ids.ts";
import { assignOrderNumber, assignReceiptNumber } from "./numbers.ts";
import { type RecalledCredit, recallCredit, recordMove, restoreCredit } from "./recalls.ts";
import { computeReduction, describeReduction, moveReductions, planReduction } from "./reductions.ts";
import {
  type AmountShare,
  assertQuote,
  checkAddress,
  computeBalanceChange,
  computeBalanceUse,
  computeTotals,
  type ExportedOrder,
  exportCells,
  hashTerms,
  type OrderAggregate,
  type OrderRow,
  planRefunded,
  serializeOrder,
  standardColumns,
} from "./rules.ts";
import { orderStates } from "./states.ts";
import * as store from "./store.ts";

/**
 * An order is about to be said to be paid. Who answers may hang on it what the sale begins, which its buyers are told of
 * before they are told of the order.
 */
export const orderSettling = defineSignal<OrderAggregate>("order.settling");
/** An order has its money, or nothing was to be paid. */
export const orderSettled = defineSignal<OrderAggregate>("order.settled");

/** Whether a buyer keeps what they bought has changed. */
export const orderAccessChanged = defineSignal<OrderRow>("order.access_changed");
/** What stands on the invoice of an order has changed. */
export const orderAmended = defineSignal<OrderRow>("order.amended");

/** What an order is opened with. */
export type NewOrder = Pick<
  OrderRow,
  | "organization_id"
  | "billing_reason"
  | "billing_name"
  | "billing_address"
  | "description"
  | "customer_id"
  | "product_id"
  | "checkout_id"
  | "customer_tax_id"
  | "begins"
  | "applied_balance_amount"
  | "metadata"
  | "custom_field_data"
> &
  Partial<Pick<OrderRow, "subscription_id" | "period_start" | "occasion" | "changes" | "reduces_order_id">> &
  Partial<Pick<OrderRow, "withdrawal_consent">> & { quote: Quote } & Pick<PeriodOrder, "isDue">;

function planOrder({ quote, isDue: _, ...wanted }: NewOrder) {
  assertQuote(quote);
  const { currency, seats, subtotal_amount, discount_amount, tax_amount, tax, discount } = quote;
  if (tax_amount === null) throw new Error("An order cannot be opened while its tax is unknown.");
  return {
    ...wanted,
    currency,
    seats,
    subtotal_amount,
    discount_amount,
    tax_amount,
    tax_behavior: tax.behavior,
    discount_id: discount?.id ?? null,
    derivation: quote,
    terms: hashTerms(wanted, quote),
  };
}

function planItems({ id: order_id, organization_id }: OrderRow, { quote }: NewOrder, created_at: Date) {
  const lines = quote.lines.map((line) => ({ ...line, id: createId(created_at) }));
  const billed = new Map(lines.map(({ entry_id, id }) => [entry_id, id]));
  return lines.map(({ id, label, amount, proration, product_price_id, period, reverses }, position) => ({
    label,
    amount,
    proration,
    product_price_id,
    tax_amount: reverses ? computeReversedTax(reverses) : 0,
    reverses_item_id: reverses ? (billed.get(reverses.item_id) ?? reverses.item_id) : null,
    start_timestamp: period ? new Date(period.start) : null,
    end_timestamp: period ? new Date(period.end) : null,
    id,
    organization_id,
    order_id,
    created_at,
    position,
  }));
}

/** Open an order: from here on there is something that money can be taken for. */
export async function openOrder(tx: Tx, deps: Pick<Deps, "clock">, wanted: NewOrder): Promise<OrderRow> {
  return (await writeOrder(tx, deps, wanted)).order;
}

async function writeOrder(tx: Tx, { clock }: Pick<Deps, "clock">, wanted: NewOrder) {
  const created_at = clock.now();
  const order = await store.insertOrder(tx, {
    ...planOrder(wanted),
    id: await createOrderId(tx, wanted, created_at),
    created_at,
    status: "pending",
  });
  return { order, items: await store.insertItems(tx, planItems(order, wanted, created_at)) };
}

/**
 * Bill what falls due by the calendar (ORD-02 to ORD-04): the customer's balance meets it first. Where nothing is left to be
 * charged, or less than a card can be charged with, it is paid at once; else the order is shown from now on and waits for its
 * money.
 */
export async function billOrder(
  tx: Tx,
  ctx: Deps | Ctx,
  wanted: Omit<NewOrder, "applied_balance_amount">,
  parts: Omit<OrderAggregate, "order" | "items">,
): Promise<OrderAggregate> {
  const { organization_id, customer_id, quote } = wanted;
  const balance = await lockBalance(tx, { organization_id, customer_id, currency: quote.currency });
  const { applied_balance_amount, is_paid } = computeBalanceUse(quote, balance);
  const written = await writeOrder(tx, ctx, { ...wanted, applied_balance_amount });
  const whole = { ...written, ...parts };
  if (is_paid) {
    await settleOrder(tx, ctx, whole, { isCharged: false });
    return { ...whole, order: { ...written.order, status: "paid" } };
  }
  const { order } = whole;
  await moveBalance(tx, order, ctx.clock.now());
  await emit(tx, ctx, organization_id, "order.created", () => serializeOrder(whole));
  runAtEnd(tx, async () => {
    Object.assign(order, await assignOrderNumber(tx, order, {}, false));
  });
  return whole;
}

/**
 * Reduce what is due of an order that waits for its money by lines of it that are given back, on a document of its own (ORD-31).
 * Where nothing is left that could be charged, the order is paid. The caller holds its lock, and no payment of it is under way.
 */
export async function reduceOrder(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, ...parts }: OrderAggregate,
  lines: readonly LineTerms[],
): Promise<{ document: OrderRow; isPaid: boolean }> {
  const { organization_id } = order;
  const quote = computeReduction(order, lines);
  const { order: document, items } = await writeOrder(tx, ctx, describeReduction(order, quote));
  await emit(tx, ctx, organization_id, "order.created", () =>
    serializeOrder({ ...parts, order: document, items, discount: null }),
  );
  runAtEnd(tx, async () => {
    Object.assign(document, await assignOrderNumber(tx, document, {}, false));
  });
  const { isPaid, balance_change, ...columns } = planReduction(order, quote);
  const now = ctx.clock.now();
  const whole = { ...parts, order: await store.updateOrder(tx, order, { ...columns, modified_at: now }) };
  if (balance_change !== 0) await addToBalance(tx, order, balance_change, now);
  if (isPaid) await settleOrder(tx, ctx, whole, { isCharged: false });
  else await emit(tx, ctx, organization_id, "order.updated", () => serializeOrder(whole));
  return { document, isPaid };
}

async function moveBalance(tx: Tx, order: OrderRow, now: Date, sign: 1 | -1 = 1): Promise<void> {
  const change = computeBalanceChange(order) * sign;
  if (change !== 0) await addToBalance(tx, order, change, now);
}

/**
 * Give up an order that waits for its money: it is void, what it took of the balance is given back, and money that comes all
 * the same goes back, as it is charged on terms that stand no more. One that was shown says so. The caller holds its lock.
 */
export async function withdrawOrder(tx: Tx, ctx: Deps | Ctx, { order, ...parts }: OrderAggregate): Promise<void> {
  const now = ctx.clock.now();
  const gone = {
    status: moveState(orderStates, order, "void"),
    terms: "withdrawn",
    period_start: null,
    next_payment_attempt_at: null,
    modified_at: now,
  };
  const changed = await store.updateOrder(tx, order, gone);
  if (order.invoice_number === null) return;
  await moveBalance(tx, order, now, -1);
  await emit(tx, ctx, order.organization_id, "order.updated", serializeOrder({ order: changed, ...parts }));
  recordListedEvent(tx, ctx, order.organization_id, describeVoided(order, computeTotals(order).total_amount));
  await moveReductions(tx, ctx, order, "void");
}

/**
 * Note when the card of an order is charged again, and that it was charged in vain. Its readers are told where they could not
 * know it otherwise (WHK-34). The caller holds its lock.
 */
export async function recordPaymentAttempt(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, ...parts }: OrderAggregate,
  noted: Partial<Pick<OrderRow, "next_payment_attempt_at" | "failed_payments">>,
  isTold = false,
): Promise<void> {
  Object.assign(order, await store.updateOrder(tx, order, { ...noted, modified_at: ctx.clock.now() }));
  if (isTold) await emit(tx, ctx, order.organization_id, "order.updated", () => serializeOrder({ order, ...parts }));
}

/**
 * Take an order in the making up again, on the terms that hold now. Refused while a payment of it is being settled, which
 * may make it paid.
 */
export async function reopenOrder(
  tx: Tx,
  { clock }: Pick<Deps, "clock">,
  id: string,
  wanted: NewOrder,
): Promise<OrderRow> {
  const row = await store.lockOrderOrRefuse(tx, { organization_id: wanted.organization_id, id });
  if (!row) throw new Error(`The order ${id} is gone.`);
  const status = row.status === "void" ? moveState(orderStates, row, "pending") : row.status;
  if (status !== "pending") throw new ApiError("NotOpenCheckout", "This checkout is no longer open.");
  const planned = planOrder(wanted);
  const order = await store.updateOrder(tx, row, { ...planned, status, modified_at: clock.now() });
  if (planned.terms !== row.terms) await store.replaceItems(tx, order, planItems(order, wanted, clock.now()));
  return order;
}

/** Whether its customer is told nothing of an order: what goes on for nothing is no news (SUB-18). */
export const isQuiet = (order: OrderRow): boolean =>
  /^subscription_(meter_)?cycle$/.test(order.billing_reason) && computeTotals(order).total_amount === 0;

/**
 * Make an order paid, and say so: created, updated, paid, in this order (ORD-12, ORD-16). The caller holds its lock. A sale in
 * the making comes into being with this: it gets its number, the last thing that is done in the transaction. One that was
 * shown while it waited has it already. One that a payment has paid gets a receipt number, too.
 */
export async function settleOrder(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, ...parts }: OrderAggregate,
  { isCharged }: { isCharged: boolean },
): Promise<void> {
  const now = ctx.clock.now();
  const isShown = order.invoice_number !== null;
  const status = moveState(orderStates, order, "paid");
  const columns = { status, paid_at: now, next_payment_attempt_at: null, settle_due_at: null };
  const paid = { ...order, ...columns, ...(isShown ? { modified_at: now } : { created_at: now, modified_at: null }) };
  const settled = { ...parts, order: paid };
  await sendSignal(tx, ctx, orderSettling, settled);
  // What was too little to charge is owed (ORD-03, ORD-04). An order that waited has met the balance before.
  if (!isShown) await moveBalance(tx, order, now);
  const { id: order_id, organization_id } = order;
  if (!isQuiet(order)) await store.noteConfirmation(tx, { organization_id, order_id, due_at: now });
  const types = [...(isShown ? [] : ["order.created" as const]), "order.updated", "order.paid"] as const;
  await emitEach(tx, ctx, organization_id, types, () => serializeOrder(settled));
  await recordMove(tx, ctx, "order.paid", paid, computeTotals(paid).total_amount);
  await moveReductions(tx, ctx, order, "paid");
  await sendSignal(tx, ctx, orderSettled, settled);
  runAtEnd(tx, async () => {
    if (isShown) {
      const made = { ...columns, modified_at: now };
      if (isCharged) paid.receipt_number = await assignReceiptNumber(tx, order, made);
      else await store.updateOrder(tx, order, made);
      return;
    }
    const made = { ...columns, created_at: now, subscription_id: paid.subscription_id };
    Object.assign(paid, await assignOrderNumber(tx, order, made, isCharged));
  });
}

/**
 * Count money that went back to the buyer, and say so (RFD-08, RFD-11); with negative amounts, money that came back because
 * the refund failed in the end. The credit that was given for the order is taken back with it, and given back with a reversal
 * (`recalled`: how much that was). The caller holds the order's lock.
 */
export async function refundOrder(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, ...parts }: OrderAggregate,
  share: AmountShare,
  recalled: RecalledCredit,
): Promise<RecalledCredit> {
  const total = share.amount + share.tax_amount;
  const changed = await store.updateOrder(tx, order, { ...planRefunded(order, share), modified_at: ctx.clock.now() });
  const answer = serializeOrder({ order: changed, ...parts });
  await emit(tx, ctx, order.organization_id, "order.updated", answer);
  if (total > 0) await emit(tx, ctx, order.organization_id, "order.refunded", answer);
  await recordMove(tx, ctx, total > 0 ? "order.refunded" : "order.refund_reversed", order, Math.abs(total));
  if (total <= 0) return restoreCredit(tx, ctx, changed, recalled);
  const { refunded_amount, refunded_tax_amount: tax_amount } = changed;
  const returned = { amount: refunded_amount + tax_amount, tax_amount };
  return recallCredit(tx, ctx, changed, { returned, change: total });
}

/** Show on an order how its dispute stands, and whether its buyer keeps what was bought. The caller holds its lock. */
export async function recordOrderDispute(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, ...parts }: OrderAggregate,
  shown: Pick<OrderRow, "dispute_status" | "access">,
): Promise<void> {
  if (order.dispute_status === shown.dispute_status && order.access === shown.access) return;
  const changed = await store.updateOrder(tx, order, { ...shown, modified_at: ctx.clock.now() });
  await emit(tx, ctx, order.organization_id, "order.updated", serializeOrder({ order: changed, ...parts }));
  if (order.access !== shown.access) await sendSignal(tx, ctx, orderAccessChanged, changed);
}

/** Have an order settled by itself, as nothing is to be paid for it (CHK-51). */
export async function scheduleSettlement(tx: Tx, ctx: Ctx, order: OrderRow): Promise<void> {
  await store.updateOrder(tx, order, { settle_due_at: ctx.clock.now() });
  ctx.jobs.wake(tx, freeSettlementWorkerName);
}

/** The sweep that settles what costs nothing. */
export const freeSettlementWorkerName = "orders.settle_free";

/** The invoice of an order is rendered. Only the first time changes the order, and emits it (ORD-24). */
export async function markInvoiced(tx: Tx, ctx: Deps | Ctx, { organization_id, id }: RowKey): Promise<void> {
  const found = await store.lockOrder(tx, organization_id, id);
  if (!found) throw new Error(`The order ${id} is gone.`);
  if (found.order.is_invoice_generated) return;
  const order = await store.updateOrder(tx, found.order, { is_invoice_generated: true, modified_at: ctx.clock.now() });
  await emit(tx, ctx, organization_id, "order.updated", serializeOrder({ ...found, order }));
}

/** Orders as a CSV file, one page of them at a time. */
async function* streamCsv(
  first: ExportedOrder[],
  others: AsyncIterable<ExportedOrder[]>,
  columns: readonly OrderColumn[],
  timezone: string,
): AsyncGenerator<string> {
  const zone = createZoneFormat(timezone);
  const write = (rows: ExportedOrder[]) => rows.map((row) => formatCsvLine(exportCells(row, columns, zone))).join("");
  yield formatCsvLine(columns.map((column) => orderColumns[column])) + write(first);
  for await (const rows of others) yield write(rows);
}

/** The orders of the API. */
export const orderService: Service<Omit<typeof orders, "resendMail">, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listOrders(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeOrder), total, query);
  },
  async get(ctx, { params }) {
    const found = await store.findOrder(ctx.db, requireOrganization(ctx), params.id);
    if (!found) throw notFound();
    return serializeOrder(found);
  },
  async export(ctx, { query }) {
    const pages = store.iterateOrders(ctx.db, requireOrganizations(ctx), query);
    // The first is read before the answer begins, so that what fails at once is answered as a fault.
    const { value: first } = await pages.next();
    return streamCsv(first ?? [], pages, query.columns ?? standardColumns, query.timezone);
  },
  async explain(ctx, { params }) {
    const found = await store.findOrder(ctx.db, requireOrganization(ctx), params.id);
    if (!found) throw notFound();
    const { invoice_number } = found.order;
    if (invoice_number === null) throw notFound();
    const { due_amount } = computeTotals(found.order);
    const explained = { ...found.order, invoice_number, due_amount };
    return { ...explained, steps: explainQuote(explained.derivation, explained) };
  },
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const found = await store.lockOrder(tx, requireOrganization(ctx), params.id);
      if (!found || found.order.invoice_number === null) throw notFound();
      const faults = checkAddress(found.order, body.billing_address);
      if (faults.length > 0) throw invalid(...faults);
      const changes = listChanges(found.order, body, ["billing_name", "billing_address"]);
      if (Object.keys(changes).length === 0) return serializeOrder(found);
      const order = await store.updateOrder(tx, found.order, { ...changes, modified_at: ctx.clock.now() });
      const answer = serializeOrder({ ...found, order });
      await emit(tx, ctx, order.organization_id, "order.updated", answer);
      await sendSignal(tx, ctx, orderAmended, order);
      return answer;
    }),
};
