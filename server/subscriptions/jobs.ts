import { sql } from "drizzle-orm";
import { emitState } from "../customers/service.ts";
import { findCustomer } from "../customers/store.ts";
import { atTimeOf, type RowSweep, type Sweep } from "../lib/sweeps.ts";
import { transact } from "../lib/unit-of-work.ts";
import { customerMeters } from "../meters/tables.ts";
import { findPayers, findUseKey, takeNotices } from "../meters/uses.ts";
import { advanceSubscriptions } from "./billing.ts";
import { emitSubscription } from "./serialize.ts";
import { findSubscription, holdSubscriptions } from "./store.ts";
import { subscriptions } from "./tables.ts";

/** Subscriptions of which something falls due: a period or a trial that ends, a card that is charged again, a pause that is over. */
export const subscriptionAdvance: Sweep = {
  name: "subscriptions.advance",
  every_ms: 1000,
  due: {
    table: subscriptions,
    id: subscriptions.id,
    organization_id: subscriptions.organization_id,
    at: subscriptions.due_at,
    where: sql`${subscriptions.due_at} is not null`,
  },
  together: 20,
  parallel: 4,
  share: 2,
  dated: true,
  work: (deps, rows) => advanceSubscriptions(rows.map((key) => ({ deps: atTimeOf(deps, key), key }))),
};

/**
 * What has become of a customer's meters is told with the subscriptions that bill it (MTR-31), and with what the customer holds: of
 * all that they used meanwhile at once. Subscriptions are locked before what was used, as renewals do.
 */
export const useTelling: RowSweep = {
  name: "customer_meters.tell",
  every_ms: 1000,
  due: {
    table: customerMeters,
    id: customerMeters.id,
    organization_id: customerMeters.organization_id,
    at: customerMeters.notice_at,
    where: sql`${customerMeters.notice_at} is not null`,
  },
  work: (deps, [key]) =>
    transact(deps, async (tx) => {
      const row = await findUseKey(tx, key);
      if (!row) return;
      const { organization_id } = row;
      const payers = (await findPayers(tx, row)).map((id) => ({ organization_id, id }));
      if (payers.length > 0) await holdSubscriptions(tx, payers);
      if (!(await takeNotices(tx, row))) return;
      for (const { id } of payers) {
        const payer = await findSubscription(tx, organization_id, id);
        if (payer) await emitSubscription(tx, deps, ["subscription.updated"], payer);
      }
      const customer = await findCustomer(tx, organization_id, { id: row.customer_id });
      if (customer) await emitState(tx, deps, customer);
    }),
};
