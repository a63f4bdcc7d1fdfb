import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerBalances, orders } from "../../server/billing/orders/tables.ts";
import { processDueSubscription } from "../../server/billing/subscriptions/billing.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { withSellerClock } from "../../server/platform/clock.ts";
import { type Floe, start } from "../support/floe.ts";
import { inviteTo, mailedCode, sellSeats } from "../support/portal-rows.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { atOnce, tally } from "../support/races.ts";
import { openShop } from "../support/story.ts";

/** What several ask for at the same moment, at two servers of one PostgreSQL, is given once. */

let floe: Floe;
let other: Floe;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  floe = await start({ databaseUrl });
  other = await start({ databaseUrl });
});
afterAll(async () => {
  await other?.close();
  await floe?.close();
});

test("ORD-03: eight renewals of one customer at once spend a balance once, and charge the rest", async () => {
  const shop = await openShop(floe, "2027-01-31");
  const { organization_id } = shop.seller;
  const product = await shop.sells("Pro", 700);
  const { id: customer_id } = await shop.seller.client.customers.create({ body: { email: "many@example.com" } });
  const ids: string[] = [];
  for (let left = 8; left > 0; left -= 1) ids.push(await shop.subscribes(product, { checkout: { customer_id } }));
  // As a credit of an earlier change leaves it.
  const credited = { organization_id, customer_id, currency: "usd", amount: 1000, modified_at: new Date() };
  await floe.deps.db.insert(customerBalances).values(credited).onConflictDoNothing();
  await shop.set("2027-02-28");
  const [seller] = await floe.deps.db.select().from(organization).where(eq(organization.id, organization_id));
  if (!seller) throw new Error("The seller is gone.");
  await Promise.all(
    ids.map((id, index) => {
      const { deps } = index % 2 === 0 ? floe : other;
      return processDueSubscription(withSellerClock({ ...deps, clock: floe.clock }, seller), { organization_id, id });
    }),
  );
  await floe.runJobs();
  const whose = and(eq(orders.customer_id, customer_id), eq(orders.billing_reason, "subscription_cycle"));
  const made = await floe.deps.db.select().from(orders).where(whose);
  const applied = made.reduce((sum, order) => sum + order.applied_balance_amount, 0);
  const [left] = await floe.deps.db
    .select()
    .from(customerBalances)
    .where(eq(customerBalances.customer_id, customer_id));
  expect([made.length, Math.abs(applied), left?.amount]).toEqual([8, 1000, 0]);
});

test("SEAT-10: of fifty who claim one invitation at once one has the seat", async () => {
  const seller = await floe.seller("seats");
  const { subscription_id } = await sellSeats(floe, seller, 3);
  const { token } = await inviteTo(floe, seller, subscription_id);
  const claim = (at: Floe) => at.request("POST", "/v1/customer-seats/claim", { body: { invitation_token: token } });
  const answers = await atOnce(50, (index) => claim(index % 2 === 0 ? floe : other));
  expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 1, 400: 49 });
});

test("CUP-10: of twenty who send one code of the portal at once one has a session", async () => {
  const seller = await floe.seller("codes");
  const body = { code: await mailedCode(floe, seller) };
  const send = (at: Floe) => at.request("POST", "/v1/customer-portal/customer-session/authenticate", { body });
  const answers = await atOnce(20, (index) => send(index % 2 === 0 ? floe : other));
  expect(tally(answers.map(({ status }) => status))["200"]).toBe(1);
});
