import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { invoiceWorker } from "../../server/billing/invoices/jobs.ts";
import { invoices } from "../../server/billing/invoices/tables.ts";
import { files } from "../../server/catalog/files/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import type { StoredFile } from "../../server/platform/storage/storage.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { sellOrder } from "../support/rows.ts";
import { watchStatements } from "../support/statements.ts";

/** A process that ends where it stands: what comes after this statement, or this step of the storage, is not done any more. */
class Killed extends Error {}

let floe: Floe;
let seller: Seller;
/** Steps that are still done before the end; null: it lives. */
let left: number | null = null;
const step = () => {
  if (left === null) return;
  if (left === 0) throw new Killed("killed");
  left -= 1;
};

beforeAll(async () => {
  floe = await start({
    replace: ({ storage }) => ({
      storage: {
        ...storage,
        async write(file: StoredFile, bytes: Uint8Array) {
          step();
          await storage.write(file, bytes);
          step();
        },
      },
    }),
  });
  watchStatements(floe, step);
  seller = await floe.seller();
});
afterAll(() => floe?.close());

test("killed before any statement of printing an invoice, it is printed once, and told of once", async () => {
  const { organization_id } = seller;
  let at = 0;
  for (let killed = true; killed; at += 1) {
    expect(at).toBeLessThan(60);
    const id = await sellOrder(floe, seller);
    await seller.client.invoices.generate({ params: { id } });
    const told = async () =>
      (await floe.deps.db.select().from(events).where(eq(events.organization_id, organization_id))).filter(
        ({ type, data }) =>
          type === "order.updated" && (data as { is_invoice_generated?: boolean; id?: string }).id === id,
      ).length;
    const before = await told();
    left = at;
    await runWorkers(floe.deps, [invoiceWorker]).catch(() => undefined);
    killed = left === 0;
    left = null;
    // The process is started anew, and what was under way is due again.
    floe.clock.advance(10 * 60_000);
    await floe.runJobs();
    const [row, ...more] = await floe.deps.db.select().from(invoices).where(eq(invoices.order_id, id));
    expect([more.length, row?.due_at, row?.digest === null]).toEqual([0, null, false]);
    const kept = await floe.deps.db
      .select()
      .from(files)
      .where(eq(files.id, row?.file_id ?? ""));
    expect(kept).toMatchObject([{ is_uploaded: true, deleted_at: null }]);
    expect(await told()).toBe(before + 1);
    expect((await seller.client.invoices.get({ params: { id } })).url).toContain("http");
  }
  // Each of them was reached.
  expect(at).toBeGreaterThan(12);
  const counted = await floe.deps.db.select().from(files).where(eq(files.organization_id, organization_id));
  const printed = await floe.deps.db.select().from(invoices).where(eq(invoices.organization_id, organization_id));
  expect(counted.filter(({ is_uploaded }) => is_uploaded)).toHaveLength(printed.length);
}, 300_000);
