import type { DisputeStatus, disputes } from "../../../shared/api/disputes.ts";
import type { Service } from "../../../shared/contract.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { getDisputePolicy } from "../../identity/organizations/rules.ts";
import { findMemberEmails, findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, type Deps, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record, systemActor } from "../../platform/events/audit.ts";
import { createId } from "../../platform/ids.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import type { DisputeEvent, Dispute as Word } from "../../platform/processors/processor.ts";
import { recallCredit, restoreCredit } from "../orders/recalls.ts";
import type { AmountShare, OrderRow } from "../orders/rules.ts";
import { recordOrderDispute } from "../orders/service.ts";
import { lockOrder } from "../orders/store.ts";
import type { PaymentRow } from "../payments/rules.ts";
import { splitTotal } from "../refunds/rules.ts";
import { reportDispute, reportWonAfterAll } from "../tax-reports/service.ts";
import {
  type DisputeAggregate,
  type DisputeRow,
  decideAccess,
  disputeAgainMs,
  evaluateDisputes,
  isAcceptable,
  isTooSmall,
  type KnownDispute,
  moveDispute,
  serializeDispute,
  writeDisputeMail,
} from "./rules.ts";
import * as store from "./store.ts";

/** A time that has come by every seller's clock. */
const atOnce = new Date(0);

/** What is past due goes by the server's clock, which is the bank's. */
const serialize = (ctx: Ctx, found: DisputeAggregate) => serializeDispute(found, getServerClock(ctx.clock).now());

/** The disputes of the API. */
export const disputeService: Service<typeof disputes, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listDisputes(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((found) => serialize(ctx, found)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const found = await store.findDispute(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!found) throw notFound();
    return serialize(ctx, found);
  },
  async accept(ctx, { params }) {
    const key = { organization_id: requireOrganization(ctx), id: params.id };
    const found = await store.findDispute(ctx.db, key);
    if (!found) throw notFound();
    let accepted: DisputeRow | undefined;
    // What is written here is the answer already, should this process not live to give another.
    await transact(ctx, async (tx) => {
      await lockOrder(tx, key.organization_id, found.dispute.order_id);
      const row = await store.lockDispute(tx, key);
      if (!isAcceptable(row)) throw new ApiError("DisputeNotOpenError", "This dispute is not open any more.");
      const now = ctx.clock.now();
      const due_at = new Date(now.getTime() + disputeAgainMs);
      accepted = await store.updateDispute(tx, row, { accepted_at: row.accepted_at ?? now, due_at });
      return serialize(ctx, { ...found, dispute: accepted as KnownDispute });
    });
    if (accepted) {
      await syncDispute(ctx, accepted).catch((error: unknown) =>
        ctx.log.error({ err: error, dispute_id: key.id }, "The processor was not reached; it will be told again."),
      );
    }
    return serialize(ctx, (await store.findDispute(ctx.db, key)) ?? found);
  },
};

/** The processor tells of a dispute: what it is about is asked for, outside of this transaction. */
export async function recordDisputeNotice(
  tx: Tx,
  ctx: Deps | Ctx,
  { event, payment }: { event: DisputeEvent; payment: PaymentRow },
): Promise<void> {
  const { organization_id, id: payment_id, order_id, customer_id, currency, is_surplus } = payment;
  const now = ctx.clock.now();
  await store.upsertDispute(tx, {
    id: createId(now),
    organization_id,
    created_at: now,
    currency,
    order_id,
    customer_id,
    payment_id,
    is_surplus,
    processor_id: event.processor_id,
    due_at: atOnce,
  });
}

/** Ask the processor how a dispute stands, or tell it once more that the seller has given in, and write down what it says. */
export async function syncDispute(deps: Deps | Ctx, row: DisputeRow): Promise<void> {
  const { processor } = deps;
  const word =
    row.accepted_at !== null && isAcceptable(row)
      ? await processor.acceptDispute(row.processor_id)
      : await processor.retrieveDispute(row.processor_id);
  if (!word) throw new Error(`The processor does not know the dispute ${row.processor_id} that it told of.`);
  await settleDispute(deps, row, word);
}

/** Take back the credit that was given for an order whose money the bank keeps, and give it back where the bank gives that back. */
async function moveCredit(
  tx: Tx,
  deps: Deps | Ctx,
  order: OrderRow,
  { row, status, share }: { row: DisputeRow; status: DisputeStatus; share: AmountShare },
) {
  if (row.status === "lost") return restoreCredit(tx, deps, order, row);
  if (status !== "lost") return null;
  const { refunded_amount, refunded_tax_amount } = order;
  const change = share.amount + share.tax_amount;
  const tax_amount = refunded_tax_amount + share.tax_amount;
  return recallCredit(tx, deps, order, {
    returned: { amount: refunded_amount + refunded_tax_amount + change, tax_amount },
    change,
  });
}

/**
 * Write down what the processor says of a dispute, and what that means for its order and for who has what they bought. The
 * order is locked first, so that all that becomes of its money takes turns.
 */
async function settleDispute(deps: Deps | Ctx, key: DisputeRow, word: Word): Promise<void> {
  await transact(deps, async (tx) => {
    const order = await lockOrder(tx, key.organization_id, key.order_id);
    const seller = await findOrganization(tx, key.organization_id);
    if (!order || !seller) throw new Error(`The order ${key.order_id} is gone.`);
    const row = await store.lockDispute(tx, key);
    if (word.currency.toLowerCase() !== row.currency.toLowerCase())
      throw new Error(`The processor names another currency than that of the dispute ${row.id}.`);
    const now = deps.clock.now();
    const status = moveDispute(row.status, word.status);
    const share = row.is_surplus
      ? { amount: word.amount, tax_amount: 0 }
      : splitTotal(order.order, { refundable_amount: 0, refundable_tax_amount: order.order.tax_amount }, word.amount);
    const isGivenUp = row.status !== status && isAcceptable({ status }) && isTooSmall(seller, word);
    const accepted_at = row.accepted_at ?? (isGivenUp ? now : null);
    const isWaiting = accepted_at !== null && isAcceptable({ status });
    const known = {
      ...row,
      ...share,
      status,
      reason: word.reason,
      evidence_due_by: word.evidence_due_at,
      accepted_at,
      // Nobody has told the processor yet where it is given in to by itself.
      due_at: isGivenUp ? atOnce : isWaiting ? new Date(now.getTime() + disputeAgainMs) : null,
    };
    await store.updateDispute(tx, row, { ...known, modified_at: row.status === null ? null : now });
    if (row.status === status) return;
    await record(tx, deps, {
      action: `dispute.${status}`,
      actor: "actor" in deps ? deps.actor : systemActor,
      subject: { type: "dispute", id: row.id },
      organization_id: row.organization_id,
      details: { amount: word.amount, currency: row.currency, order_id: row.order_id },
      ip_address: "ip" in deps ? deps.ip : null,
      user_agent: null,
    });
    if (!row.is_surplus) {
      if (status === "lost") await reportDispute(tx, deps, { order: order.order, change: share }, row.id);
      if (row.status === "lost") await reportWonAfterAll(tx, deps, row);
      const recalled = await moveCredit(tx, deps, order.order, { row, status, share });
      if (recalled) await store.updateDispute(tx, row, recalled);
      const dispute_status = evaluateDisputes(await store.findStatuses(tx, order.order));
      const access = decideAccess(getDisputePolicy(seller), dispute_status);
      await recordOrderDispute(tx, deps, order, { dispute_status, access });
    }
    for (const to of await findMemberEmails(tx, row.organization_id)) {
      const mail = writeDisputeMail(to, seller.name, known);
      if (mail) await queueMail(tx, deps, { ...mail, organization_id: row.organization_id });
    }
  });
}
