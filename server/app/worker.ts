import { disputeSyncWorker } from "../billing/disputes/jobs.ts";
import { exportWorker, invoiceWorker } from "../billing/invoices/jobs.ts";
import { freeSettlementWorker } from "../billing/orders/jobs.ts";
import { orders } from "../billing/orders/tables.ts";
import { paymentReconciliationWorker, setupReconciliationWorker } from "../billing/payments/jobs.ts";
import { recordProcessorEvent } from "../billing/payments/notices.ts";
import { refundWorker } from "../billing/refunds/jobs.ts";
import { migrationItemWorker, migrationWorker } from "../billing/subscription-migrations/jobs.ts";
import { subscriptionWorker, usageNoticeWorker } from "../billing/subscriptions/jobs.ts";
import { subscriptions } from "../billing/subscriptions/tables.ts";
import { taxReportWorker } from "../billing/tax-reports/jobs.ts";
import { createAnswerMoveWorker, moveAnswersOf } from "../catalog/custom-fields/jobs.ts";
import { redemptionCountWorker } from "../catalog/discounts/jobs.ts";
import { fileWorkers } from "../catalog/files/jobs.ts";
import { checkoutExpiryWorker } from "../checkout/checkouts/jobs.ts";
import { checkouts } from "../checkout/checkouts/tables.ts";
import { accountRequestCleanup } from "../customers/linked-accounts/jobs.ts";
import { customerSessionCleanup } from "../customers/sessions/jobs.ts";
import { stateEventWorker } from "../entitlements/customer-state/jobs.ts";
import { accessWorker, grantCheckWorker, grantRunWorker } from "../entitlements/grants/jobs.ts";
import { accountCleanup } from "../identity/accounts/jobs.ts";
import { guestCleanup } from "../identity/accounts/sign-in/guests.ts";
import {
  cardExpiryWorker,
  confirmationWorker,
  seatInvitationWorker,
  subscriptionEmailWorker,
  subscriptionReminderWorker,
} from "../messaging/email/jobs.ts";
import { streamTokenCleanup } from "../messaging/streams/jobs.ts";
import { backlogWorker, deliveryWorker, dispatchWorker, webhookArchiveWorker } from "../messaging/webhooks/jobs.ts";
import { replayWorker } from "../messaging/webhooks/replays.ts";
import { resealEndpoints } from "../messaging/webhooks/secrets.ts";
import { restartQueues } from "../messaging/webhooks/upkeep.ts";
import { auditSealWorker } from "../operations/audit/jobs.ts";
import { requestLogCleanup } from "../operations/logs/writer.ts";
import { metricSumWorker } from "../operations/metrics/jobs.ts";
import { erasureWorker } from "../operations/privacy/jobs.ts";
import { replayLog } from "../operations/privacy/log.ts";
import { snapshotReleaseWorker } from "../operations/sandbox/jobs.ts";
import { bookCheckWorker } from "../operations/verify/jobs.ts";
import type { Deps } from "../platform/context.ts";
import { counterCompactionWorker } from "../platform/db/counters.ts";
import { requeueDeadLetters } from "../platform/db/due.ts";
import { idempotencyCleanup } from "../platform/http/idempotency.ts";
import { runPreparation } from "../platform/jobs/deadline.ts";
import type { StoppableWorker } from "../platform/jobs/drain.ts";
import { openIdleSearch } from "../platform/jobs/idle-search.ts";
import { failureCleanup, type RowWorker, startWorkerLoop, type Worker } from "../platform/jobs/workers.ts";
import { mailCleanup, mailWorker, warnOfUnsentMail } from "../platform/mail-transport/mail.ts";
import { createTestNotices } from "../platform/processors/test-notices.ts";
import { noticeCleanup } from "../portal/cancellations/jobs.ts";
import { codeCleanup, codeMailWorker } from "../portal/jobs.ts";
import { attachWorker, eventNameCounterWorker } from "../usage/events/jobs.ts";
import { partWorker } from "../usage/events/parts.ts";
import { recountWorker, usageSettlementWorker } from "../usage/meters/jobs.ts";

/** Workers for rows that fall due at a time. */
export const dueWorkers: readonly Worker[] = [
  paymentReconciliationWorker,
  setupReconciliationWorker,
  createTestNotices(recordProcessorEvent),
  freeSettlementWorker,
  subscriptionWorker,
  migrationWorker,
  migrationItemWorker,
  refundWorker,
  taxReportWorker,
  disputeSyncWorker,
  checkoutExpiryWorker,
  dispatchWorker,
  webhookArchiveWorker,
  deliveryWorker,
  backlogWorker,
  replayWorker,
  mailWorker,
  grantRunWorker,
  grantCheckWorker,
  accessWorker,
  confirmationWorker,
  subscriptionEmailWorker,
  subscriptionReminderWorker,
  codeMailWorker,
  seatInvitationWorker,
  cardExpiryWorker,
  exportWorker,
  invoiceWorker,
  recountWorker,
  usageSettlementWorker,
  usageNoticeWorker,
  stateEventWorker,
  attachWorker,
  erasureWorker,
  createAnswerMoveWorker([orders, checkouts, subscriptions].map(moveAnswersOf)),
];

/**
 * Workers that process a seller's rows as its time passes. When a sandbox's clock is moved, they run in the order in which
 * rows fall due.
 */
export const timeTravelWorkers: readonly RowWorker[] = dueWorkers.filter(
  (sweep): sweep is RowWorker =>
    "due" in sweep &&
    typeof sweep.due !== "function" &&
    sweep.due.organization_id !== undefined &&
    sweep !== webhookArchiveWorker &&
    sweep !== accessWorker,
);

/** Workers that delete data no longer needed. */
export const cleanupWorkers: readonly Worker[] = [
  ...mailCleanup,
  idempotencyCleanup,
  ...accountCleanup,
  guestCleanup,
  ...fileWorkers,
  snapshotReleaseWorker,
  counterCompactionWorker,
  metricSumWorker,
  auditSealWorker,
  bookCheckWorker,
  eventNameCounterWorker,
  partWorker,
  customerSessionCleanup,
  streamTokenCleanup,
  accountRequestCleanup,
  codeCleanup,
  noticeCleanup,
  redemptionCountWorker,
  failureCleanup,
  requestLogCleanup,
];

/** Start all workers, with those of hosted mode where it is on; they run until stopped. During maintenance, none runs. */
export async function startWorker(deps: Deps, more: readonly Worker[] = []): Promise<StoppableWorker> {
  if (deps.config.FLOE_MAINTENANCE) return { stop: async () => undefined };
  await runPreparation(async () => {
    await warnOfUnsentMail(deps);
    await resealEndpoints(deps);
    await restartQueues(deps.db);
    await requeueDeadLetters(deps);
  });
  // Not awaited, because the file storage may be slow.
  const replay = replayLog(deps).catch((error: unknown) => {
    deps.log.error(
      { err: error },
      "Whether somebody was erased before cannot be read; it is looked for at the next start.",
    );
  });
  deps.jobs.setWorking(true);
  const all = [...dueWorkers, ...cleanupWorkers, ...more];
  const running = [...all.map((worker) => startWorkerLoop(deps, worker)), openIdleSearch(deps, all)];
  return {
    async stop(graceMs) {
      deps.jobs.setWorking(false);
      await Promise.all([replay, ...running.map((one) => one.stop(graceMs))]);
    },
  };
}
