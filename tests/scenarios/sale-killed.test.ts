import { spawn } from "node:child_process";
import { once } from "node:events";
import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { events } from "../../server/lib/tables.ts";
import { testIntents } from "../../server/processors/tables.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";

/** `kill -9` between the steps of a sale, on a real PostgreSQL: another process finds the rows and finishes or undoes it. */

let floe: Floe;
let seller: Seller;
let product_id: string;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
  const body = { name: "Guide", prices: [{ amount_type: "fixed" as const, price_amount: 1900 }] };
  product_id = (await seller.client.products.create({ body })).id;
});
afterAll(() => floe?.close());

const pay = { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" };

/** Confirm a checkout at a server that dies at this step; answers the checkout's id. */
async function die(step: string, client_secret: string, customer_email: string): Promise<void> {
  const child = spawn(process.execPath, ["tests/support/mortal.ts", String(floe.deps.config.DATABASE_URL), step], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = (await Promise.race([once(child.stdout, "data"), ended.then(() => [""])])) as [unknown];
  const url = String(line).trim();
  expect(url).toMatch(/^http/);
  const answer = fetch(`${url}/v1/checkouts/client/${client_secret}/confirm`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...pay, customer_email }),
  });
  await expect(answer).rejects.toThrow();
  expect((await ended)[1]).toBe("SIGKILL");
}

const states = async (checkout_id: string) => ({
  checkout: (await seller.client.checkouts.get({ params: { id: checkout_id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id } })).items.map(({ status }) => status),
  payments: (await seller.client.payments.list({ query: { checkout_id, sorting: "created_at" } })).items.map(
    ({ status }) => status,
  ),
});
const toldOf = async (checkout_id: string) => {
  const rows = await floe.deps.db
    .select({ type: events.type, data: events.data, dispatched_at: events.dispatched_at })
    .from(events)
    .where(eq(events.organization_id, seller.organization_id))
    .orderBy(asc(events.seq));
  expect(rows.every(({ dispatched_at }) => dispatched_at !== null)).toBe(true);
  return rows
    .filter(
      ({ type, data }) => type.startsWith("order.") && (data as { checkout_id?: string }).checkout_id === checkout_id,
    )
    .map(({ type }) => type);
};

const unpaid = { checkout: "open", orders: [], payments: [] };
const sold = { checkout: "succeeded", orders: ["paid"], payments: ["succeeded"] };

test.each([
  ["before the payment is written", 0, unpaid],
  ["before charging", 0, { ...unpaid, payments: ["failed"] }],
  ["after charging", 1, sold],
  ["while the order is written", 1, sold],
  ["before the order is committed", 1, sold],
] as const)("killed %s", async (step, charges, expected) => {
  const before = (await floe.deps.db.select().from(testIntents)).length;
  const { id, client_secret } = await seller.client.checkouts.create({ body: { products: [product_id] } });
  const customer_email = `${step.replaceAll(" ", "-")}@example.com`;
  await die(step, client_secret, customer_email);
  expect((await states(id)).orders).toEqual([]);
  // Another server of the same database, two minutes later.
  floe.clock.advance(3 * 60_000);
  await floe.runJobs();
  expect(await states(id)).toEqual(expected);
  expect((await floe.deps.db.select().from(testIntents)).length - before).toBe(charges);
  const body = { ...pay, customer_email };
  const again = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
  expect(again.status).toBe(charges === 0 ? 200 : 403);
  await floe.runJobs();
  expect(await states(id)).toMatchObject({ checkout: "succeeded", orders: ["paid"] });
  expect((await floe.deps.db.select().from(testIntents)).length - before).toBe(1);
  expect(await toldOf(id)).toEqual(["order.created", "order.updated", "order.paid"]);
});
