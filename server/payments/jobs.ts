import { sql } from "drizzle-orm";
import type { Sweep } from "../lib/sweeps.ts";
import { reconcile_after_ms } from "./rules.ts";
import { reconcilePayment } from "./settlement.ts";
import { reconcileSetup } from "./setups.ts";
import { takeDuePayment, takeDueSetup } from "./store.ts";
import { paymentSetups, payments } from "./tables.ts";

/** Payments whose outcome is not known: the processor is asked about each, and it is finished or undone. */
export const paymentReconciliation: Sweep = {
  name: "payments.reconcile",
  every_ms: 1000,
  due: {
    table: payments,
    id: payments.id,
    organization_id: payments.organization_id,
    at: payments.reconcile_due_at,
    where: sql`${payments.reconcile_due_at} is not null`,
  },
  parallel: 10,
  share: 4,
  async work(deps, [key]) {
    const now = deps.clock.now();
    const payment = await takeDuePayment(deps.db, key, now, new Date(now.getTime() + reconcile_after_ms));
    if (payment) await reconcilePayment(deps, payment);
  },
};

/** Set-ups whose outcome is not known, likewise. */
export const setupReconciliation: Sweep = {
  name: "payments.reconcile_setups",
  every_ms: 1000,
  due: {
    table: paymentSetups,
    id: paymentSetups.id,
    organization_id: paymentSetups.organization_id,
    at: paymentSetups.reconcile_due_at,
    where: sql`${paymentSetups.reconcile_due_at} is not null`,
  },
  parallel: 10,
  share: 4,
  async work(deps, [key]) {
    const now = deps.clock.now();
    const setup = await takeDueSetup(deps.db, key, now, new Date(now.getTime() + reconcile_after_ms));
    if (setup) await reconcileSetup(deps, setup);
  },
};
