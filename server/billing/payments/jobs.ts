import { createSyncWorker } from "../../platform/jobs/workers.ts";
import { reconcileAfterMs } from "./rules.ts";
import { reconcilePayment } from "./settlement.ts";
import { reconcileSetup } from "./setups.ts";
import { claimDuePayment, claimDueSetup } from "./store.ts";
import { paymentSetups, payments } from "./tables.ts";

/** Payments whose outcome is not known: the processor is asked about each, and it is finished or undone. */
export const paymentReconciliationWorker = createSyncWorker(
  "payments.reconcile",
  payments,
  payments.reconcile_due_at,
  reconcileAfterMs,
  claimDuePayment,
  reconcilePayment,
);

/** Set-ups whose outcome is not known, likewise. */
export const setupReconciliationWorker = createSyncWorker(
  "payments.reconcile_setups",
  paymentSetups,
  paymentSetups.reconcile_due_at,
  reconcileAfterMs,
  claimDueSetup,
  reconcileSetup,
);
