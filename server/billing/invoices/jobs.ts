import { sql } from "drizzle-orm";
import type { Worker } from "../../platform/jobs/workers.ts";
import { collectDue, collecting, printDue, printing } from "./service.ts";
import { claimDueInvoice } from "./store.ts";
import { invoiceExports, invoices } from "./tables.ts";

/** How long one may be under way before another server takes it up. */
const againMs = 6 * 60_000;

/** Exports whose orders are still to be found. */
export const exportWorker: Worker = {
  name: collecting,
  pollIntervalMs: 1000,
  due: {
    table: invoiceExports,
    id: invoiceExports.id,
    organization_id: invoiceExports.organization_id,
    at: invoiceExports.due_at,
    where: sql`${invoiceExports.due_at} is not null`,
  },
  concurrency: 2,
  maxPerTenant: 1,
  run: (deps, [key]) => collectDue(deps, key),
};

/** Documents that were asked for, or whose contents may have changed. One process prints them, one after the other. */
export const invoiceWorker: Worker = {
  name: printing,
  pollIntervalMs: 1000,
  due: {
    table: invoices,
    id: invoices.id,
    organization_id: invoices.organization_id,
    at: invoices.due_at,
    where: sql`${invoices.due_at} is not null`,
  },
  // While one is printed, what the next one needs is read.
  concurrency: 4,
  maxPerTenant: 2,
  timeoutMs: 5 * 60_000,
  async run(deps, [key]) {
    const now = deps.clock.now();
    const until = new Date(now.getTime() + againMs);
    const row = await claimDueInvoice(deps.db, key, now, until);
    if (row) await printDue(deps, row, until);
  },
};
