import { findCustomer } from "../../customers/customers/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import type { RowSweep } from "../../platform/jobs/sweeps.ts";
import { emitCustomerState, states_due } from "./service.ts";
import { claimState, insertStateNotice, takeStateNotice } from "./store.ts";
import { stateNotices } from "./tables.ts";

/** How long to wait while another transaction is still changing the customer. */
const pause_ms = 1000;

/** Emits the state of customers once more whom two transactions changed at the same time. */
export const stateTelling: RowSweep = {
  name: states_due,
  every_ms: 1000,
  due: {
    table: stateNotices,
    id: stateNotices.id,
    organization_id: stateNotices.organization_id,
    at: stateNotices.due_at,
  },
  work: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      const customer_id = await takeStateNotice(tx, { organization_id, id });
      if (customer_id === undefined) return;
      if (await claimState(tx, { organization_id, id: customer_id })) {
        const customer = await findCustomer(tx, organization_id, { id: customer_id });
        if (customer) await emitCustomerState(tx, deps, { customer });
        return;
      }
      const now = deps.clock.now();
      const due_at = new Date(now.getTime() + pause_ms);
      await insertStateNotice(tx, { id, organization_id, created_at: now, customer_id, due_at });
    }),
};
