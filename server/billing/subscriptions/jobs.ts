import { sql } from "drizzle-orm";
import { emitState } from "../../customers/customers/service.ts";
import { findCustomer } from "../../customers/customers/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { type RowWorker, type Worker, withRowTime } from "../../platform/jobs/workers.ts";
import { claimNotices, findToTell, findUseKey } from "../../usage/meters/balances-store.ts";
import { customerMeters } from "../../usage/meters/tables.ts";
import { processDueSubscriptions } from "./billing.ts";
import { reassignUsage } from "./metering.ts";
import { findPossiblePayers } from "./seated.ts";
import { emitSubscription } from "./serialize.ts";
import { findSubscription, lockSubscriptions } from "./store.ts";
import { subscriptions } from "./tables.ts";

/** Subscriptions of which something falls due: a period or a trial that ends, a card that is charged again, a pause that is over. */
export const subscriptionWorker: Worker = {
  name: "subscriptions.advance",
  pollIntervalMs: 1000,
  due: {
    table: subscriptions,
    id: subscriptions.id,
    organization_id: subscriptions.organization_id,
    at: subscriptions.due_at,
    isIndexedByTime: true,
    movesMoney: true,
    where: sql`${subscriptions.due_at} is not null`,
  },
  batchSize: 20,
  concurrency: 4,
  maxPerTenant: 2,
  yieldBatchSize: 5,
  atRowTime: true,
  run: (deps, rows) => processDueSubscriptions(rows.map((key) => ({ deps: withRowTime(deps, key), key }))),
};

/**
 * What has become of a customer's meters is told with the subscriptions that bill it (MTR-31), and with what the customer holds: of
 * all that they used meanwhile at once. Subscriptions are locked before what was used, as renewals do.
 */
export const usageNoticeWorker: RowWorker = {
  name: "customer_meters.tell",
  pollIntervalMs: 1000,
  due: {
    table: customerMeters,
    id: customerMeters.id,
    organization_id: customerMeters.organization_id,
    at: customerMeters.notice_at,
    where: sql`${customerMeters.notice_at} is not null`,
  },
  run: (deps, [key]) =>
    transact(deps, async (tx) => {
      const row = await findUseKey(tx, key);
      if (!row) return;
      const { organization_id } = row;
      const toTell = await findToTell(tx, row);
      const payers = new Set(toTell.flatMap(({ payer_id }) => payer_id ?? []));
      const orphans = new Map<string, string[]>();
      for (const { meter_id, payer_id } of toTell)
        if (payer_id === null) orphans.set(meter_id, await findPossiblePayers(tx, { ...row, meter_id }));
      const held = [...payers, ...[...orphans.values()].flat()].map((id) => ({ organization_id, id }));
      if (held.length > 0) await lockSubscriptions(tx, held);
      if (!(await claimNotices(tx, row))) return;
      for (const [meter_id, possible] of orphans) {
        const payer = await reassignUsage(tx, deps, { ...row, meter_id }, possible);
        if (payer) payers.add(payer);
      }
      const told = new Set([row.customer_id]);
      for (const id of [...payers].sort()) {
        const payer = await findSubscription(tx, organization_id, id);
        if (!payer) continue;
        await emitSubscription(tx, deps, ["subscription.updated"], payer);
        told.add(payer.row.customer_id);
      }
      for (const id of told) {
        const customer = await findCustomer(tx, organization_id, { id });
        if (customer) await emitState(tx, deps, customer);
      }
    }),
};
