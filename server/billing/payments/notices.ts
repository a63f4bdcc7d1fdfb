import { findClockOf } from "../../identity/organizations/store.ts";
import type { Deps } from "../../platform/context.ts";
import { runAfterCommit, transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import type { DisputeEvent, PaymentEvent, ProcessorEvent, RefundEvent } from "../../platform/processors/processor.ts";
import { payments } from "../../platform/telemetry/metrics.ts";
import type { PaymentRow } from "./rules.ts";
import * as store from "./store.ts";

/** The processor tells of money that goes back. What became of it is to be asked for: not in this transaction. */
export const refundNotified = defineSignal<{ event: RefundEvent; payment: PaymentRow }>("payment.refund_told");
/** The processor tells of a charge that a buyer disputes. What became of it is to be asked for: not in this transaction. */
export const disputeNotified = defineSignal<{ event: DisputeEvent; payment: PaymentRow }>("payment.dispute_told");

/** Say that the processor has a payment of which this database knows nothing: a backup was restored, or another server uses the account. */
function reportUnknown({ log }: Pick<Deps, "log">, { organization_id, payment_id, processor_id }: PaymentEvent): void {
  payments.add({ result: "unknown" });
  log.error(
    { organization_id, payment_id, processor_id },
    "The processor told of a payment that is unknown here. `floe admin restore-check` says whether a backup was restored.",
  );
}

/** A time that has come by every seller's clock. */
const atOnce = new Date(0);

/**
 * Write an event of the processor down, once however often it is sent; the reconciliation asks what is true of what it is
 * about, and acts. One of another account, or about a payment that another account took, is not believed.
 */
export async function recordProcessorEvent(server: Deps, event: ProcessorEvent): Promise<void> {
  const { id, account, kind, organization_id, processor_id } = event;
  const deps = await findClockOf(server, organization_id);
  if (account !== deps.processor.account) {
    server.log.warn({ event_id: id, account }, "An event of another account of the processor was left aside.");
    return;
  }
  await transact(deps, async (tx) => {
    const created_at = server.clock.now();
    const isNew = await store.insertProcessorEvent(tx, {
      id,
      account,
      kind,
      organization_id,
      processor_id,
      created_at,
    });
    if (event.kind === "payment" && isNew && !(await store.hasPayment(tx, { organization_id, id: event.payment_id })))
      runAfterCommit(tx, () => reportUnknown(server, event));
    if (event.kind === "payment" || event.kind === "setup")
      return store.recordProcessorOutcome(tx, event, isNew ? atOnce : undefined);
    const payment = isNew ? await store.findCharge(tx, event) : undefined;
    if (!payment) return;
    if (event.kind === "refund") await sendSignal(tx, deps, refundNotified, { event, payment });
    else await sendSignal(tx, deps, disputeNotified, { event, payment });
  });
}
