import { guestCleaning } from "./accounts/sign-in/guests.ts";
import { accountCleaning } from "./accounts/sweep.ts";
import { checkoutExpiry } from "./checkouts/jobs.ts";
import { checkouts } from "./checkouts/tables.ts";
import { answerMoves, moveAnswersOf } from "./custom-fields/jobs.ts";
import { accountRequestCleaning } from "./customer-accounts/jobs.ts";
import { customerSessionCleaning } from "./customer-sessions/jobs.ts";
import { stateTelling } from "./customers/jobs.ts";
import { redemptionCount } from "./discounts/jobs.ts";
import { disputeFollowing } from "./disputes/jobs.ts";
import { attaching, nameTally } from "./events/jobs.ts";
import { partKeeping } from "./events/parts.ts";
import { fileSweeps } from "./files/jobs.ts";
import { accessSettling, grantChecking, grantRunning } from "./grants/jobs.ts";
import { idempotencyCleaning } from "./http/idempotency.ts";
import { exportCollecting, invoicePrinting } from "./invoices/jobs.ts";
import {
  cardWarning,
  confirmations,
  seatInviting,
  subscriptionReminding,
  subscriptionTelling,
} from "./letters/jobs.ts";
import type { Deps } from "./lib/context.ts";
import { reviveDeadLetters } from "./lib/due.ts";
import { mailCleaning, mailDelivery, warnOfUnsentMail } from "./lib/mail.ts";
import { failureCleaning, type RowSweep, type Sweep, startSweep } from "./lib/sweeps.ts";
import { tallySweep } from "./lib/tallies.ts";
import { recounting, useSettling } from "./meters/jobs.ts";
import { metricSums } from "./metrics/jobs.ts";
import { freeSettlement } from "./orders/jobs.ts";
import { orders } from "./orders/tables.ts";
import { paymentReconciliation, setupReconciliation } from "./payments/jobs.ts";
import { recordProcessorEvent } from "./payments/notices.ts";
import { codeCleaning, codeMailing } from "./portal/jobs.ts";
import { erasing } from "./privacy/jobs.ts";
import { replayLog } from "./privacy/log.ts";
import { createTestNotices } from "./processors/test-notices.ts";
import { refundExecution } from "./refunds/jobs.ts";
import { snapshotRelease } from "./sandbox/jobs.ts";
import { subscriptionAdvance, useTelling } from "./subscriptions/jobs.ts";
import { subscriptions } from "./subscriptions/tables.ts";
import { taxReporting } from "./tax-reports/jobs.ts";
import { deliveries, dispatches, resealEndpoints, webhookArchive } from "./webhooks/jobs.ts";

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
