import { asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { spawnMortal, startMortal } from "../support/mortal.ts";
import { saleSteps } from "../support/mortal-steps.ts";
import { startOnPostgres } from "../support/races.ts";

/** A server ends between the steps of a sale, on a real PostgreSQL: another one finds the rows and finishes or undoes it. */

let floe: Floe;
let seller: Seller;
let productId: string;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
  const body = { name: "Guide", prices: [{ amount_type: "fixed" as const, price_amount: 1900 }] };
  productId = (await seller.client.products.create({ body })).id;
});
afterAll(() => floe?.close());

const pay = { customer_billing_address: { country: "FR" }, confirmation_token_id: "pm_card_visa" };

/** Confirm a checkout at a server of the same database that dies at this step. */
async function die(how: string, step: string, client_secret: string, customer_email: string): Promise<void> {
  const databaseUrl = String(floe.deps.config.DATABASE_URL);
  const path = `/v1/checkouts/client/${client_secret}/confirm`;
  const body = { ...pay, customer_email };
  if (how === "cut off") {
    const mortal = await startMortal({ databaseUrl }, (end) => saleSteps(step, end));
    void mortal.request("POST", path, { body });
    return mortal.ended;
  }
  const mortal = await spawnMortal(databaseUrl, step);
  const answer = fetch((await mortal.url()) + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  await expect(answer).rejects.toThrow();
  await mortal.killed();
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
  ["cut off", "before the payment is written", 0, unpaid],
  ["cut off", "before charging", 0, { ...unpaid, payments: ["failed"] }],
  ["cut off", "after charging", 1, sold],
  ["cut off", "while the order is written", 1, sold],
  ["killed", "while the order is written", 1, sold],
  ["cut off", "before the order is committed", 1, sold],
] as const)("%s %s", async (how, step, charges, expected) => {
  const before = (await floe.deps.db.select().from(testIntents)).length;
  const { id, client_secret } = await seller.client.checkouts.create({ body: { products: [productId] } });
  const customer_email = `${`${how} ${step}`.replaceAll(" ", "-")}@example.com`;
  await die(how, step, client_secret, customer_email);
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
