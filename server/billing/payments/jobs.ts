import { followRows } from "../../platform/jobs/sweeps.ts";
import { reconcile_after_ms } from "./rules.ts";
import { reconcilePayment } from "./settlement.ts";
import { reconcileSetup } from "./setups.ts";
import { takeDuePayment, takeDueSetup } from "./store.ts";
import { paymentSetups, payments } from "./tables.ts";

/** Payments whose outcome is not known: the processor is asked about each, and it is finished or undone. */
export const paymentReconciliation = followRows(
  "payments.reconcile",
  payments,
  payments.reconcile_due_at,
  reconcile_after_ms,
  takeDuePayment,
  reconcilePayment,
);

/** Set-ups whose outcome is not known, likewise. */
export const setupReconciliation = followRows(
  "payments.reconcile_setups",
  paymentSetups,
  paymentSetups.reconcile_due_at,
  reconcile_after_ms,
  takeDueSetup,
  reconcileSetup,
);
