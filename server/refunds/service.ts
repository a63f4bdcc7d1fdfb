import type { Ctx, Deps, Tx } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { transact } from "../lib/unit-of-work.ts";
import type { PaymentRow } from "../payments/rules.ts";
import { findChargeOf, insertRefund, type RefundRow, updateOpenRefund } from "./store.ts";

/** How long the processor has for a refund before it is asked again. */
export const refund_again_ms = 10 * 60_000;

/** Write down that money which no order waits for goes back. The processor is asked later, outside of any transaction. */
export async function openSurplusRefund(tx: Tx, ctx: Deps | Ctx, payment: PaymentRow): Promise<void> {
  const now = ctx.clock.now();
  const { id: payment_id, organization_id, amount, currency } = payment;
  const values = { payment_id, organization_id, amount, currency, origin: "surplus" as const };
  await insertRefund(tx, { ...values, id: newId(now), created_at: now, due_at: now });
  ctx.log.warn({ payment_id, organization_id }, "Money was taken for what had been paid already; it goes back.");
}

/** Have the processor give money back, and write down what it says: done, refused, or still to come. */
export async function executeRefund(deps: Deps, row: RefundRow): Promise<void> {
  const intent_processor_id = await findChargeOf(deps.db, row);
  if (intent_processor_id === null) throw new Error(`The payment of the refund ${row.id} has no charge.`);
  const { id: refund_id, amount } = row;
  const outcome = await deps.processor.refund({ refund_id, intent_processor_id, amount, reason: "duplicate" });
  const { status, processor_id, failure_reason } = outcome;
  const now = deps.clock.now();
  const due_at = status === "pending" ? new Date(now.getTime() + refund_again_ms) : null;
  await transact(deps, (tx) =>
    updateOpenRefund(tx, row, { status, processor_id, failure_reason, due_at, modified_at: now }),
  );
  if (status === "failed")
    deps.log.error(
      { refund_id, processor_id, failure_reason },
      "The processor could not give money back; do it by hand.",
    );
}
