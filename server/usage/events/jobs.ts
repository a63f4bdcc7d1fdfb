import { sql } from "drizzle-orm";
import { markFirstUse } from "../../customers/customers/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowWorker, Worker } from "../../platform/jobs/workers.ts";
import { findWindows } from "../meters/balances-store.ts";
import { countUse } from "../meters/counting.ts";
import { continueCounting, findCounting } from "../meters/store.ts";
import * as store from "./store.ts";
import { usageWaiting } from "./tables.ts";

/** How many events are given to their customer in one transaction. */
const attachedMax = 2000;

/** Events that came before their customer was known are given to them, and counted, so many in one transaction. */
export const attachWorker: RowWorker = {
  name: "usage_events.attach",
  pollIntervalMs: 1000,
  due: {
    table: usageWaiting,
    id: usageWaiting.id,
    organization_id: usageWaiting.organization_id,
    at: usageWaiting.due_at,
    where: sql`${usageWaiting.due_at} is not null`,
  },
  run: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      await continueCounting(tx, organization_id);
      const row = await store.lockWaiting(tx, organization_id, id);
      if (!row || row.due_at === null) return;
      const [customer] = await store.findNamed(tx, organization_id, [row.external_customer_id]);
      if (!customer) return void (await store.putOffWaiting(tx, row));
      const owner = { customer_id: customer.id, attached_key: createId(deps.clock.now()) };
      const events = await store.attachEvents(tx, row, owner, attachedMax);
      if (events.length > 0 && customer.first_user_event_at === null)
        await markFirstUse(tx, organization_id, [customer.id], deps.clock.now());
      const standing = {
        meters: await findCounting(tx, organization_id),
        windows: await findWindows(tx, organization_id, [customer.id]),
      };
      await countUse(tx, deps, organization_id, events, { isNew: false, standing });
      if (events.length < attachedMax) await store.deleteWaiting(tx, row);
    }),
};

/** How often names came is kept in few rows. */
export const eventNameCounterWorker: Worker = {
  name: "usage_names.add_up",
  pollIntervalMs: 10 * 1000,
  limit: 100,
  runBatch: ({ db }, limit) => store.addUpNames(db, limit),
};
