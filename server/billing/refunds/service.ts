import type { Refund, refunds } from "../../../shared/api/refunds.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, fault, invalid } from "../../../shared/errors.ts";
import { describeRefunded } from "../../../shared/system-events.ts";
import { findProducts } from "../../catalog/products/store.ts";
import { isInGoodStanding } from "../../identity/organizations/rules.ts";
import { findMemberEmails, findOrganization, findOrganizationName } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit, recordListedEvent } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { redactError } from "../../platform/loggable.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import {
  isTurnedAway,
  ProcessorError,
  type RefundEvent,
  type RefundOutcome,
} from "../../platform/processors/processor.ts";
import { type AmountShare, computeRefundable, type OrderAggregate, type OrderRow } from "../orders/rules.ts";
import { refundOrder } from "../orders/service.ts";
import { findOrder, lockOrder } from "../orders/store.ts";
import type { PaymentRow } from "../payments/rules.ts";
import { assertAccount } from "../payments/settlement.ts";
import {
  checkDisputed,
  checkRefund,
  computeTaxShare,
  createDisputedError,
  createRefundedError,
  getCounts,
  getProcessorReason,
  limitShare,
  planHeard,
  planOutcome,
  type RefundableAmount,
  type RefundRow,
  type RefundStatusUpdate,
  refundAgainMs,
  serializePrevented,
  serializeRefund,
  subtractShare,
  writeSurplusMail,
} from "./rules.ts";
import * as store from "./store.ts";

/** What counts of a refund on its order, and how that has changed; negative where the money came back. */
export type CountedRefund = { refund: RefundRow; order: OrderRow; change: AmountShare };
/** Money of an order has gone back to its buyer, or has come back from there. */
export const refundCounted = defineSignal<CountedRefund>("refund.counted");

/** What an order gave goes back with its money, or stays after all, as the money did. */
export const refundRevokesAccess = defineSignal<OrderRow>("refund.takes_back");

type Db = Ctx["db"];
type Asked = { amount?: number | undefined; revoke_benefits: boolean };
type Checked = { amount: number; tax_amount: number; left: RefundableAmount; payment: PaymentRow };

/** What may be refunded of an order now, and by which payment, or the refusal (RFD-03, RFD-04). */
async function checkOrder(db: Db, found: OrderAggregate, asked: Asked): Promise<Checked> {
  const { order } = found;
  const seller = await findOrganization(db, order.organization_id);
  const left = subtractShare(computeRefundable(order), await store.sumPending(db, order));
  const amount = asked.amount ?? left.refundable_amount;
  checkRefund(
    {
      isBlocked: !seller || !isInGoodStanding(seller),
      status: order.status,
      subscription_id: order.subscription_id,
      left,
    },
    { amount, revoke_benefits: asked.revoke_benefits },
  );
  const payment = await store.findPaymentOf(db, order);
  if (!payment || amount === 0)
    throw new ApiError("RefundUnknownPayment", "This order was not paid with a payment, so there is none to refund.");
  checkDisputed(order);
  return { amount, tax_amount: computeTaxShare(order, left, amount), left, payment };
}

const rejectUnknownOrder = (place: "body" | "query", id: string) =>
  invalid({ ...fault(["order_id"], "Order not found", "value_error", id), loc: [place, "order_id"] });

/** The refunds of the API. */
export const refundService: Service<typeof refunds, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listRefunds(ctx.db, requireOrganizations(ctx), query);
    const now = getServerClock(ctx.clock).now();
    const shown = items.map(({ refund, order, dispute }) =>
      serializeRefund(refund, order, dispute && serializePrevented(dispute, now)),
    );
    return buildPage(shown, total, query);
  },
  async create(ctx, { body }) {
    const { comment, ...asked } = body;
    let opened: RefundRow | undefined;
    let subscription_id: string | null = null;
    // What is written here is the answer already, should this process not live to give another.
    await transact(ctx, async (tx): Promise<Refund> => {
      const found = await lockOrder(tx, requireOrganization(ctx), body.order_id);
      if (!found || found.order.invoice_number === null) throw rejectUnknownOrder("body", body.order_id);
      const { organization_id, customer_id, currency } = found.order;
      const { tax_amount, payment } = await checkOrder(tx, found, asked);
      const now = ctx.clock.now();
      opened = await store.insertRefund(tx, {
        ...asked,
        id: createId(now),
        organization_id,
        created_at: now,
        origin: "api",
        tax_amount,
        currency,
        customer_id,
        payment_id: payment.id,
        comment: comment ?? null,
        due_at: new Date(now.getTime() + refundAgainMs),
      });
      if (!opened) throw new Error("The refund was not written.");
      subscription_id = found.order.subscription_id;
      return serializeRefund(opened, found.order);
    });
    if (!opened) throw new Error("The refund was not written.");
    return serializeRefund(await tryRefund(ctx, opened), { subscription_id });
  },
  async preview(ctx, { query }) {
    const { revoke_benefits = false } = query;
    const found = await findOrder(ctx.db, requireOrganization(ctx), query.order_id);
    if (!found) throw rejectUnknownOrder("query", query.order_id);
    const { order } = found;
    const { amount, tax_amount, left } = await checkOrder(ctx.db, found, { amount: query.amount, revoke_benefits });
    const rest = subtractShare(left, { amount, tax_amount });
    const [product] = revoke_benefits ? await findProducts(ctx.db, order.organization_id, [order.product_id]) : [];
    return {
      order_id: order.id,
      currency: order.currency,
      amount,
      tax_amount,
      total_amount: amount + tax_amount,
      remaining_amount: rest.refundable_amount,
      remaining_tax_amount: rest.refundable_tax_amount,
      revoke_benefits,
      benefits: (product?.benefits ?? []).map(({ id, type, description }) => ({ id, type, description })),
    };
  },
};

/** Write down that money which no order waits for goes back. The processor is asked later, outside of any transaction. */
export async function openUnappliedRefund(tx: Tx, ctx: Deps | Ctx, payment: PaymentRow): Promise<void> {
  const now = ctx.clock.now();
  const { id: payment_id, organization_id, amount, currency, order_id, customer_id } = payment;
  await store.insertRefund(tx, {
    id: createId(now),
    organization_id,
    created_at: now,
    origin: "surplus",
    is_surplus: true,
    reason: "duplicate",
    amount,
    // Nothing was sold for it, so there is no tax in it.
    tax_amount: 0,
    currency,
    order_id,
    customer_id,
    payment_id,
    due_at: now,
  });
  ctx.log.warn({ payment_id, organization_id }, "Money was taken for what had been paid already; it goes back.");
}

/** The processor tells of money that goes back: what became of it is asked for, outside of this transaction. */
export async function recordRefundNotice(
  tx: Tx,
  ctx: Deps | Ctx,
  { event, payment }: { event: RefundEvent; payment: PaymentRow },
): Promise<void> {
  const { organization_id, id: payment_id, order_id, customer_id, currency, is_surplus } = payment;
  const now = ctx.clock.now();
  await store.upsertRefund(tx, event.refund_id, {
    id: createId(now),
    organization_id,
    created_at: now,
    origin: "processor",
    is_surplus,
    reason: "other",
    amount: 0,
    tax_amount: 0,
    currency,
    order_id,
    customer_id,
    payment_id,
    processor_id: event.processor_id,
    due_at: atOnce,
  });
}

/** A time that has come by every seller's clock. */
const atOnce = new Date(0);

/** Ask the processor for a refund; no transaction is open. The same refund again is the same one there. */
async function callProcessor(deps: Deps | Ctx, row: RefundRow): Promise<RefundOutcome> {
  const payment = await store.findPayment(deps.db, row);
  assertAccount(deps, payment);
  if (row.origin === "processor" && row.processor_id !== null) {
    const outcome = await deps.processor.retrieveRefund(row.processor_id);
    if (!outcome) throw new Error(`The processor does not know the refund ${row.processor_id} that it told of.`);
    return outcome;
  }
  if (payment.processor_id === null) throw new Error(`The payment of the refund ${row.id} has no charge.`);
  return deps.processor.refund({
    refund_id: row.id,
    intent_processor_id: payment.processor_id,
    amount: row.amount + row.tax_amount,
    reason: getProcessorReason(row.reason),
  });
}

/** What the processor knows and we had not heard of yet, when it was asked. */
const refusals: Record<string, () => ApiError> = {
  charge_already_refunded: createRefundedError,
  charge_disputed: createDisputedError,
};

/** Take a refund back that the processor does not make and nobody was told of; what refuses it is the answer. */
async function withdraw(tx: Tx, row: RefundRow, refusal: ApiError): Promise<ApiError> {
  await store.updateRefund(tx, row, { status: "failed", failure_reason: refusal.message, due_at: null });
  return refusal;
}

/** What a refund is that the processor does not make; none where nobody knows, or it was turned away unread: it is asked for again. */
const getWord = (error: unknown): RefundStatusUpdate | undefined =>
  error instanceof ProcessorError && !isTurnedAway(error)
    ? { status: "failed", processor_id: null, failure_reason: error.message }
    : undefined;

/** Have a written refund done while somebody waits for it. Without an answer it stays pending, and is asked for again. */
async function tryRefund(ctx: Ctx, row: RefundRow): Promise<RefundRow> {
  let word: RefundStatusUpdate = { status: "pending", processor_id: null, failure_reason: null };
  try {
    word = await callProcessor(ctx, row);
  } catch (error) {
    const refusal = error instanceof ProcessorError && error.code !== null ? refusals[error.code]?.() : undefined;
    if (refusal) throw await transact(ctx, (tx) => withdraw(tx, row, refusal));
    const refused = getWord(error);
    if (refused) word = refused;
    else ctx.log.error({ err: error, refund_id: row.id }, "The processor gave no answer; it will be asked again.");
  }
  try {
    return await settleRefund(ctx, row, word);
  } catch (error) {
    // The money may be on its way, so nobody must be told that it failed.
    ctx.log.error(
      { error: redactError(error), refund_id: row.id },
      "A refund could not be settled; it is tried again.",
    );
    return row;
  }
}

/**
 * Have the processor give money back, and write down what it says: done, refused, or still to come. What was asked for before may be
 * refused by now, as a charge may be disputed since.
 */
export async function executeRefund(deps: Deps, row: RefundRow): Promise<void> {
  const word = await callProcessor(deps, row).catch((error: unknown) => {
    const refused = getWord(error);
    if (!refused) throw error;
    return refused;
  });
  await settleRefund(deps, row, word);
}

/**
 * Write down what the processor says of a refund: the one way in which it ends, comes back or is told of. The order is
 * locked first, so that all that is refunded of it takes turns.
 */
function settleRefund(
  deps: Deps | Ctx,
  key: RowKey & { order_id: string },
  word: RefundStatusUpdate | RefundOutcome,
): Promise<RefundRow> {
  return transact(deps, async (tx) => {
    const order = await lockOrder(tx, key.organization_id, key.order_id);
    if (!order) throw new Error(`The order ${key.order_id} is gone.`);
    const row = await store.lockRefund(tx, key);
    const now = deps.clock.now();
    const heard = !row.is_announced && row.origin === "processor" && "amount" in word ? word : undefined;
    const planned = {
      ...row,
      ...(heard ? planHeard(row, order.order, heard.amount, heard.reason) : {}),
      ...planOutcome(row, word, now),
    };
    const before = getCounts(row);
    let share = getCounts(planned);
    if (row.status !== planned.status && share.amount + share.tax_amount > 0) {
      share = limitShare(computeRefundable(order.order), share);
      Object.assign(planned, share);
    }
    if (heard && planned.amount + planned.tax_amount < heard.amount)
      deps.log.error(
        { refund_id: row.id, processor_id: row.processor_id, order_id: row.order_id, amount: heard.amount },
        "More was given back at the processor than was left of the order; what was left is counted.",
      );
    const isNews = !row.is_announced || row.status !== planned.status;
    if (!isNews) return store.updateRefund(tx, row, { processor_id: planned.processor_id, due_at: planned.due_at });
    const moved = { ...planned, is_announced: true, modified_at: now };
    const type = row.is_announced ? "refund.updated" : "refund.created";
    await emit(tx, deps, row.organization_id, type, serializeRefund(moved, order.order));
    const change = { amount: share.amount - before.amount, tax_amount: share.tax_amount - before.tax_amount };
    if (change.amount !== 0 || change.tax_amount !== 0) {
      Object.assign(moved, await refundOrder(tx, deps, order, change, row));
      if (change.amount + change.tax_amount > 0)
        recordListedEvent(tx, deps, row.organization_id, describeRefunded(order.order, change.amount));
      await sendSignal(tx, deps, refundCounted, { refund: moved, order: order.order, change });
    }
    if (moved.revoke_benefits) await sendSignal(tx, deps, refundRevokesAccess, order.order);
    if (moved.origin === "surplus" && moved.status !== "pending") await notifySeller(tx, deps, moved);
    if (moved.status === "failed")
      deps.log.error(
        { refund_id: row.id, processor_id: moved.processor_id, failure_reason: moved.failure_reason },
        "The processor did not give money back.",
      );
    return store.updateRefund(tx, row, moved);
  });
}

async function notifySeller(tx: Tx, deps: Deps, row: RefundRow): Promise<void> {
  const name = await findOrganizationName(tx, row.organization_id);
  for (const to of await findMemberEmails(tx, row.organization_id))
    await queueMail(tx, deps, { ...writeSurplusMail(to, name, row), organization_id: row.organization_id });
}
