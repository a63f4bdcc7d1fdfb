import { sql } from "drizzle-orm";
import { atTimeOf, type Sweep } from "../lib/sweeps.ts";
import { advanceSubscriptions } from "./billing.ts";
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
