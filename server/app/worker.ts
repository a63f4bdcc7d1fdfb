import { disputeFollowing } from "../billing/disputes/jobs.ts";
import { exportCollecting, invoicePrinting } from "../billing/invoices/jobs.ts";
import { freeSettlement } from "../billing/orders/jobs.ts";
import { orders } from "../billing/orders/tables.ts";
import { paymentReconciliation, setupReconciliation } from "../billing/payments/jobs.ts";
import { recordProcessorEvent } from "../billing/payments/notices.ts";
import { refundExecution } from "../billing/refunds/jobs.ts";
import { subscriptionAdvance, useTelling } from "../billing/subscriptions/jobs.ts";
import { subscriptions } from "../billing/subscriptions/tables.ts";
import { taxReporting } from "../billing/tax-reports/jobs.ts";
import { answerMoves, moveAnswersOf } from "../catalog/custom-fields/jobs.ts";
import { redemptionCount } from "../catalog/discounts/jobs.ts";
import { fileSweeps } from "../catalog/files/jobs.ts";
import { checkoutExpiry } from "../checkout/checkouts/jobs.ts";
import { checkouts } from "../checkout/checkouts/tables.ts";
import { accountRequestCleaning } from "../customers/linked-accounts/jobs.ts";
import { customerSessionCleaning } from "../customers/sessions/jobs.ts";
import { stateTelling } from "../entitlements/customer-state/jobs.ts";
import { accessSettling, grantChecking, grantRunning } from "../entitlements/grants/jobs.ts";
import { guestCleaning } from "../identity/accounts/sign-in/guests.ts";
import { accountCleaning } from "../identity/accounts/sweep.ts";
import {
  cardWarning,
  confirmations,
  seatInviting,
  subscriptionReminding,
  subscriptionTelling,
} from "../messaging/email/jobs.ts";
import { deliveries, dispatches, resealEndpoints, webhookArchive } from "../messaging/webhooks/jobs.ts";
import { metricSums } from "../operations/metrics/jobs.ts";
import { erasing } from "../operations/privacy/jobs.ts";
import { replayLog } from "../operations/privacy/log.ts";
import { snapshotRelease } from "../operations/sandbox/jobs.ts";
import type { Deps } from "../platform/context.ts";
import { reviveDeadLetters } from "../platform/db/due.ts";
import { tallySweep } from "../platform/db/tallies.ts";
import { idempotencyCleaning } from "../platform/http/idempotency.ts";
import { failureCleaning, type RowSweep, type Sweep, startSweep } from "../platform/jobs/sweeps.ts";
import { mailCleaning, mailDelivery, warnOfUnsentMail } from "../platform/mail-transport/mail.ts";
import { createTestNotices } from "../platform/processors/test-notices.ts";
import { codeCleaning, codeMailing } from "../portal/jobs.ts";
import { attaching, nameTally } from "../usage/events/jobs.ts";
import { partKeeping } from "../usage/events/parts.ts";
import { recounting, useSettling } from "../usage/meters/jobs.ts";

/** What falls due by the calendar. */
export const dueWork: readonly Sweep[] = [
  paymentReconciliation,
  setupReconciliation,
  createTestNotices(recordProcessorEvent),
  freeSettlement,
  subscriptionAdvance,
  refundExecution,
  taxReporting,
  disputeFollowing,
  checkoutExpiry,
  dispatches,
  webhookArchive,
  deliveries,
  mailDelivery,
  grantRunning,
  grantChecking,
  accessSettling,
  confirmations,
  subscriptionTelling,
  subscriptionReminding,
  codeMailing,
  seatInviting,
  cardWarning,
  exportCollecting,
  invoicePrinting,
  recounting,
  useSettling,
  useTelling,
  stateTelling,
  attaching,
  erasing,
  answerMoves([orders, checkouts, subscriptions].map(moveAnswersOf)),
];

/** What happens to a seller as its time passes: when a sandbox is moved, it is done in the order in which it falls due. */
export const walkedWork: readonly RowSweep[] = dueWork.filter(
  (sweep): sweep is RowSweep =>
    "due" in sweep &&
    typeof sweep.due !== "function" &&
    sweep.due.organization_id !== undefined &&
    sweep !== webhookArchive &&
    sweep !== accessSettling,
);

/** What nobody needs any more. */
export const cleaning: readonly Sweep[] = [
  ...mailCleaning,
  idempotencyCleaning,
  ...accountCleaning,
  guestCleaning,
  ...fileSweeps,
  snapshotRelease,
  tallySweep,
  metricSums,
  nameTally,
  partKeeping,
  customerSessionCleaning,
  accountRequestCleaning,
  codeCleaning,
  redemptionCount,
  failureCleaning,
];

/** Work until stopped, on rows as they fall due. */
export async function startWorker(deps: Deps): Promise<{ stop(): Promise<void> }> {
  await warnOfUnsentMail(deps);
  await resealEndpoints(deps);
  await reviveDeadLetters(deps);
  // Not waited for: files may be kept far away.
  const replay = replayLog(deps).catch((error: unknown) => {
    deps.log.error(
      { err: error },
      "Whether somebody was erased before cannot be read; it is looked for at the next start.",
    );
  });
  deps.jobs.setWorking(true);
  const sweeps = [...dueWork, ...cleaning].map((sweep) => startSweep(deps, sweep));
  return {
    async stop() {
      deps.jobs.setWorking(false);
      await Promise.all([replay, ...sweeps.map((sweep) => sweep.stop())]);
    },
  };
}
