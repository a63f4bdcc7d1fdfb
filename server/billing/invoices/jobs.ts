import { sql } from "drizzle-orm";
import type { Sweep } from "../../platform/jobs/sweeps.ts";
import { collectDue, collecting, printDue, printing } from "./service.ts";
import { takeDueInvoice } from "./store.ts";
import { invoiceExports, invoices } from "./tables.ts";

/** How long one may be under way before another server takes it up. */
const again_ms = 6 * 60_000;

/** Exports whose orders are still to be found. */
export const exportCollecting: Sweep = {
  name: collecting,
  every_ms: 1000,
  due: {
    table: invoiceExports,
    id: invoiceExports.id,
    organization_id: invoiceExports.organization_id,
    at: invoiceExports.due_at,
    where: sql`${invoiceExports.due_at} is not null`,
  },
  parallel: 2,
  share: 1,
  work: (deps, [key]) => collectDue(deps, key),
};

/** Documents that were asked for, or whose contents may have changed. One process prints them, one after the other. */
export const invoicePrinting: Sweep = {
  name: printing,
  every_ms: 1000,
  due: {
    table: invoices,
    id: invoices.id,
    organization_id: invoices.organization_id,
    at: invoices.due_at,
    where: sql`${invoices.due_at} is not null`,
  },
  // While one is printed, what the next one needs is read.
  parallel: 4,
  share: 2,
  limit_ms: 5 * 60_000,
  async work(deps, [key]) {
    const now = deps.clock.now();
    const until = new Date(now.getTime() + again_ms);
    const row = await takeDueInvoice(deps.db, key, now, until);
    if (row) await printDue(deps, row, until);
  },
};
