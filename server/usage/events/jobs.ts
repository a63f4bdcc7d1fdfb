import { sql } from "drizzle-orm";
import { markFirstUse } from "../../customers/customers/store.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import type { RowSweep, Sweep } from "../../platform/jobs/sweeps.ts";
import { countUse } from "../meters/counting.ts";
import { findCounting, keepCounting } from "../meters/store.ts";
import { findWindows } from "../meters/uses.ts";
import * as store from "./store.ts";
import { usageWaiting } from "./tables.ts";

/** How many events are given to their customer in one transaction. */
const attached_max = 2000;

/** Events that came before their customer was known are given to them, and counted, so many in one transaction. */
export const attaching: RowSweep = {
  name: "usage_events.attach",
  every_ms: 1000,
  due: {
    table: usageWaiting,
    id: usageWaiting.id,
    organization_id: usageWaiting.organization_id,
    at: usageWaiting.due_at,
    where: sql`${usageWaiting.due_at} is not null`,
  },
  work: (deps, [{ organization_id, id }]) =>
    transact(deps, async (tx) => {
      await keepCounting(tx, organization_id);
      const row = await store.lockWaiting(tx, organization_id, id);
      if (!row || row.due_at === null) return;
      const [customer] = await store.findNamed(tx, organization_id, [row.external_customer_id]);
      if (!customer) return void (await store.putOffWaiting(tx, row));
      const owner = { customer_id: customer.id, attached_key: createId(deps.clock.now()) };
      const events = await store.attachEvents(tx, row, owner, attached_max);
      if (events.length > 0 && customer.first_user_event_at === null)
        await markFirstUse(tx, organization_id, [customer.id], deps.clock.now());
      const standing = {
        meters: await findCounting(tx, organization_id),
        windows: await findWindows(tx, organization_id, [customer.id]),
      };
      await countUse(tx, deps, organization_id, events, { isNew: false, standing });
      if (events.length < attached_max) await store.forgetWaiting(tx, row);
    }),
};

/** How often names came is kept in few rows. */
export const nameTally: Sweep = {
  name: "usage_names.add_up",
  every_ms: 10 * 1000,
  limit: 100,
  sweep: ({ db }, limit) => store.addUpNames(db, limit),
};
