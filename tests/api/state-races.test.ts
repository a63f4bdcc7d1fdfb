import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { emitState } from "../../server/customers/customers/service.ts";
import { findCustomer } from "../../server/customers/customers/store.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { stateNotices } from "../../server/entitlements/customer-state/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { payment } from "../support/rows.ts";

/** CUS-25 where two servers change one customer at the same time: the last that is told is what the customer holds. */

let floes: [Floe, Floe];
let seller: Seller;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  floes = [await start({ databaseUrl }), await start({ databaseUrl })];
  seller = await floes[0].seller("ada");
  const { organization_id: id } = seller;
  const { subscription_settings } = await seller.client.organizations.get({ params: { id } });
  const body = { subscription_settings: { ...subscription_settings, allow_multiple_subscriptions: true } } as never;
  await seller.client.organizations.update({ params: { id }, body });
});
afterAll(async () => {
  for (const floe of floes ?? []) await floe.close();
});

/** A customer with subscriptions, and the ids of these, of which none is running. */
async function makeHolder(email: string): Promise<{ id: string; held: [string, string] }> {
  const { id } = await seller.client.customers.create({ body: { email } });
  const held: string[] = [];
  for (const name of ["Club", "Circle"]) {
    const { id: product_id } = await seller.client.products.create({
      body: { name, recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 1000 }] },
    });
    const checkout = await seller.client.checkouts.create({ body: { products: [product_id], customer_id: id } });
    const path = `/v1/checkouts/client/${checkout.client_secret}/confirm`;
    expect((await floes[0].request("POST", path, { body: payment })).status).toBe(200);
  }
  await floes[0].runJobs();
  const { db } = floes[0].deps;
  for (const row of await db.select().from(subscriptions).where(eq(subscriptions.customer_id, id))) held.push(row.id);
  await db.update(subscriptions).set({ status: "paused", due_at: null }).where(eq(subscriptions.customer_id, id));
  return { id, held: held as [string, string] };
}

/** How many subscriptions each telling of the customer's state had, in the order in which they were told. */
async function readTold(id: string): Promise<number[]> {
  const rows = await floes[0].deps.db
    .select({ data: sql<{ active_subscriptions: object[] }>`${events.data}::jsonb` })
    .from(events)
    .where(sql`${events.type} = 'customer.state_changed' and (${events.data}::jsonb) ->> 'id' = ${id}`)
    .orderBy(events.seq);
  return rows.map(({ data }) => data.active_subscriptions.length);
}

/** Have a subscription run and tell it, and hold the transaction open until `until`. */
const beginIn = (floe: Floe, id: string, subscription_id: string, until: () => Promise<void>) =>
  transact(floe.deps, async (tx) => {
    await tx.update(subscriptions).set({ status: "active" }).where(eq(subscriptions.id, subscription_id));
    const customer = await findCustomer(tx, seller.organization_id, { id });
    if (!customer) throw new Error("The customer is gone.");
    await emitState(tx, floe.deps, customer);
    await until();
  });

const openGate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

test("what two begin at the same time is told once more, and then whole", async () => {
  const { id, held } = await makeHolder("both@example.com");
  const before = (await readTold(id)).length;
  const [told, ended] = [openGate(), openGate()];
  const first = beginIn(floes[0], id, held[0], async () => {
    told.open();
    await ended.opened;
  });
  await told.opened;
  // It waits for nobody: the first is still open when the second is done.
  await beginIn(floes[1], id, held[1], async () => {});
  // What looks meanwhile sees no more than the second did, and leaves it to who looks next.
  await floes[1].runJobs();
  expect(await floes[1].deps.db.select().from(stateNotices)).toHaveLength(1);
  expect((await readTold(id)).slice(before)).toEqual([1]);
  ended.open();
  await first;
  for (const floe of floes) floe.clock.advance(1000);
  await floes[1].runJobs();
  const after = (await readTold(id)).slice(before);
  expect(after).toEqual([1, 1, 2]);
  expect(await floes[0].deps.db.select().from(stateNotices)).toHaveLength(0);
  // And it is told no more than that.
  await floes[0].runJobs();
  expect((await readTold(id)).slice(before)).toEqual(after);
}, 60_000);

test("of two that come one after the other each is told once, and those of others wait for nobody", async () => {
  const [one, other] = [await makeHolder("one@example.com"), await makeHolder("other@example.com")];
  const before = (await readTold(one.id)).length;
  await beginIn(floes[0], one.id, one.held[0], () => beginIn(floes[1], other.id, other.held[0], async () => {}));
  await beginIn(floes[1], one.id, one.held[1], async () => {});
  expect(await floes[0].deps.db.select().from(stateNotices)).toHaveLength(0);
  expect((await readTold(one.id)).slice(before)).toEqual([1, 2]);
}, 60_000);

test("a notice of one who was deleted meanwhile is taken, and nothing told", async () => {
  const { id } = await makeHolder("gone@example.com");
  const { organization_id } = seller;
  const now = floes[0].clock.now();
  const notice = { id: crypto.randomUUID(), organization_id, created_at: now, customer_id: id, due_at: now };
  await floes[0].deps.db.update(customers).set({ deleted_at: now }).where(eq(customers.id, id));
  await floes[0].deps.db.insert(stateNotices).values(notice);
  const before = await readTold(id);
  await floes[0].runJobs();
  expect(await floes[0].deps.db.select().from(stateNotices)).toHaveLength(0);
  expect(await readTold(id)).toEqual(before);
}, 60_000);
