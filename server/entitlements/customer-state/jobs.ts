import { findCustomer } from "../../customers/customers/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { RowWorker } from "../../platform/jobs/workers.ts";
import { emitCustomerState, stateWorkerName } from "./service.ts";
import { claimState, claimStateNotice, insertStateNotice } from "./store.ts";
import { stateNotices } from "./tables.ts";

/** How long to wait while another transaction is still changing the customer. */
const pauseMs = 1000;

/** Emits the state of customers once more whom two transactions changed at the same time. */
export const stateEventWorker: RowWorker = {
  name: stateWorkerName,
  pollIntervalMs: 1000,
  due: {
    table: stateNotices,
    id: stateNotices.id,
    organization_id: stateNotices.organization_id,
    at: stateNotices.due_at,
  },
  run: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      const customer_id = await claimStateNotice(tx, { organization_id, id });
      if (customer_id === undefined) return;
      if (await claimState(tx, { organization_id, id: customer_id })) {
        const customer = await findCustomer(tx, organization_id, { id: customer_id });
        if (customer) await emitCustomerState(tx, deps, { customer });
        return;
      }
      const now = deps.clock.now();
      const due_at = new Date(now.getTime() + pauseMs);
      await insertStateNotice(tx, { id, organization_id, created_at: now, customer_id, due_at });
    }),
};
