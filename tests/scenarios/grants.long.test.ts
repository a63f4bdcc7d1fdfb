import { asc, eq, isNotNull, like, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { grantRuns } from "../../server/entitlements/grants/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { atOnce, startOnPostgres } from "../support/races.ts";
import { payment } from "../support/rows.ts";
import { cards, openShop } from "../support/story.ts";

/** What customers are given with what they buy, and lose with it. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

type Shop = Awaited<ReturnType<typeof openShop>>;
let notes = 0;
/** A benefit, given by these products besides what they give already. */
async function note(shop: Shop, ...products: string[]): Promise<string> {
  notes += 1;
  const { id } = await shop.accepted("POST", "/v1/benefits/", {
    type: "custom",
    description: `Note ${notes}`,
    properties: { note: "Thanks" },
  });
  for (const product of products) {
    const { benefits } = await shop.seller.client.products.get({ params: { id: product } });
    await shop.accepted("POST", `/v1/products/${product}/benefits`, {
      benefits: [...benefits.map((one) => one.id), id],
    });
  }
  await floe.runJobs();
  return String(id);
}
/** What was bought once. */
async function buys(shop: Shop, product_id: string, customer_id: string): Promise<string> {
  const { client_secret, id } = await shop.seller.client.checkouts.create({
    body: { products: [product_id], customer_id },
  });
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body: payment });
  const [order] = (await shop.seller.client.orders.list({ query: { checkout_id: [id] } })).items;
  return order?.id ?? "";
}
const comes = async (shop: Shop): Promise<string> =>
  (await shop.seller.client.customers.create({ body: { email: `c${notes}-${Math.random()}@example.com` } })).id;
const held = async (shop: Shop, customer_id: string): Promise<string[]> =>
  (await shop.seller.client.customers.getState({ params: { id: customer_id } })).granted_benefits.map(
    ({ benefit_id }) => benefit_id,
  );
const book = (shop: Shop) => shop.sells("Book", 1900, { recurring_interval: null });
test("a subscription that its seller gives away comes with what its product gives, and ends with it", async () => {
  const shop = await openShop(floe, "2026-06-01");
  const { id: plan } = await shop.seller.client.products.create({
    body: { name: "Friends", recurring_interval: "month", prices: [{ amount_type: "free" }] },
  });
  const [given, customer] = [await note(shop, plan), await comes(shop)];
  const { id } = await shop.seller.client.subscriptions.create({ body: { product_id: plan, customer_id: customer } });
  expect(await held(shop, customer)).toEqual([given]);
  await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
  expect(await held(shop, customer)).toEqual([]);
});

/** Every event since the last look, and of whom it says what they hold. */
async function story(shop: Shop): Promise<string[]> {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(eq(events.organization_id, shop.seller.organization_id))
    .orderBy(asc(events.seq));
  const from = seen.get(shop) ?? 0;
  seen.set(shop, rows.length);
  return rows.slice(from).map(({ type, data }) => {
    const state = data as { granted_benefits?: unknown[]; active_subscriptions?: unknown[] };
    return type === "customer.state_changed"
      ? `state ${state.active_subscriptions?.length} ${state.granted_benefits?.length}`
      : type;
  });
}
const seen = new Map<Shop, number>();

test("WHK-30: what is bought once is there with the answer, and is told of after the sale", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const product = await book(shop);
  const [a, b] = [await note(shop, product), await note(shop, product)];
  const customer = await comes(shop);
  await story(shop);
  const order_id = await buys(shop, product, customer);
  expect(await held(shop, customer)).toEqual([a, b]);
  const told = await story(shop);
  expect(told.slice(told.indexOf("order.created"))).toEqual([
    ...["order.created", "order.updated", "order.paid", "checkout.updated"],
    ...["benefit_grant.created", "benefit_grant.created", "state 0 2"],
  ]);
  const { items, pagination } = await shop.seller.client.benefits.grants({ params: { id: a }, query: {} });
  expect(pagination.total_count).toBe(1);
  expect(items[0]).toMatchObject({
    ...{ order_id, subscription_id: null, customer_id: customer, benefit_id: a, is_granted: true, is_revoked: false },
    ...{
      error: null,
      properties: {},
      member_id: null,
      benefit: { type: "custom" },
      granted_at: new Date("2026-07-01"),
    },
  });
});

test("WHK-30: whoever asks another server with the paid answer finds all that was bought, however many buy", async () => {
  const real = await startOnPostgres();
  const databaseUrl = String(real.deps.config.DATABASE_URL);
  const other = await start({ databaseUrl });
  const { client, key } = await real.seller();
  const filter = {
    conjunction: "and" as const,
    clauses: [{ property: "name", operator: "eq" as const, value: "call" }],
  };
  const { id: meter_id } = await client.meters.create({
    body: { name: "Calls", filter, aggregation: { func: "count" } },
  });
  const made = [
    await client.benefits.create({ body: { type: "custom", description: "Note", properties: {} } }),
    await client.benefits.create({ body: { type: "license_keys", description: "Key", properties: {} } }),
    await client.benefits.create({
      body: { type: "meter_credit", description: "Calls", properties: { meter_id, units: 100, rollover: false } },
    }),
  ].map(({ id }) => id);
  const { id } = await client.products.create({
    body: { name: "Pro", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  await client.products.setBenefits({ params: { id }, body: { benefits: made } });
  const found = await atOnce(12, async () => {
    const { client_secret } = await client.checkouts.create({ body: { products: [id] } });
    const body = { ...payment, customer_email: `${newId()}@example.com` };
    const { customer_id } = await real.client().checkoutClient.confirm({ params: { client_secret }, body });
    const state = await other.client(key).customers.getState({ params: { id: customer_id ?? "" } });
    const credit = state.active_meters.map(({ balance }) => balance);
    return [state.active_subscriptions.length, state.granted_benefits.map((one) => one.benefit_id).toSorted(), credit];
  });
  expect(found).toEqual(found.map(() => [1, made.toSorted(), [100]]));
  await other.close();
  await real.close();
});

test("WHK-31, WHK-33, WHK-36: a subscription gives at once, is cycled with each period that is paid, and takes at its end", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const product = await shop.sells("Pro", 1000);
  await note(shop, product);
  await story(shop);
  const id = await shop.subscribes(product);
  const begun = await story(shop);
  expect(begun.slice(begun.indexOf("checkout.updated", begun.indexOf("order.paid"))).slice(0, 4)).toEqual([
    ...["checkout.updated", "state 1 0", "benefit_grant.created", "state 1 1"],
  ]);
  await shop.on("2026-08-01");
  const renewed = await story(shop);
  expect(renewed.filter((one) => !one.startsWith("state"))).toEqual([
    ...["subscription.cycled", "subscription.updated", "order.created", "order.updated", "order.paid"],
    "benefit_grant.cycled",
  ]);
  await shop.changes(id, { cancel_at_period_end: true });
  await story(shop);
  await shop.on("2026-09-01");
  expect(await story(shop)).toEqual([
    ...["subscription.updated", "subscription.canceled", "subscription.revoked"],
    ...["state 0 1", "benefit_grant.revoked", "state 0 0"],
  ]);
});

test("SUB-49, WHK-34: who does not pay loses it at once, or when the grace is over, and has it back with the payment", async () => {
  for (const grace of [0, 3]) {
    const shop = await openShop(floe, "2026-06-24", { benefit_revocation_grace_period: grace });
    const trial = { trial_interval: "day", trial_interval_count: 7 };
    const product = await shop.sells("Pro", 1000, trial);
    await note(shop, product);
    const id = await shop.subscribes(product, { card: cards.failing });
    const { customer_id } = await shop.get(id);
    await shop.on("2026-07-01");
    expect([grace, (await held(shop, customer_id)).length]).toEqual([grace, grace === 0 ? 0 : 1]);
    await shop.on("2026-07-03T23:00:00Z");
    expect([grace, (await held(shop, customer_id)).length]).toEqual([grace, grace === 0 ? 0 : 1]);
    await shop.on("2026-07-04");
    expect(await held(shop, customer_id)).toEqual([]);
    const card = await shop.leaves(customer_id, cards.good);
    await story(shop);
    expect(await shop.changes(id, { payment_method_id: card })).toBe("done");
    expect((await shop.get(id)).status).toBe("active");
    expect((await held(shop, customer_id)).length).toBe(1);
    expect((await story(shop)).filter((one) => /benefit|paid|active/.test(one))).toEqual([
      ...["subscription.active", "order.paid", "benefit_grant.created"],
    ]);
  }
});

test("BEN-11, WHK-39: a change of product takes first and gives then, and what both give stays as it is", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const [one, two] = [await shop.sells("One", 1000), await shop.sells("Two", 2000)];
  const [only, both] = [await note(shop, one), await note(shop, one, two)];
  const other = await note(shop, two);
  const id = await shop.subscribes(one);
  const { customer_id } = await shop.get(id);
  expect((await held(shop, customer_id)).toSorted()).toEqual([only, both].toSorted());
  await story(shop);
  expect(await shop.changes(id, { product_id: two, proration_behavior: "invoice" })).toBe("done");
  expect((await held(shop, customer_id)).toSorted()).toEqual([both, other].toSorted());
  expect((await story(shop)).filter((said) => !said.startsWith("state"))).toEqual([
    ...["subscription.updated", "order.created", "order.updated", "order.paid"],
    ...["benefit_grant.revoked", "benefit_grant.created"],
  ]);
});

test("RFD-12: money that goes back takes it along only where that is asked for; two purchases are two grants", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const product = await book(shop);
  const benefit = await note(shop, product);
  const customer = await comes(shop);
  const orders = [await buys(shop, product, customer), await buys(shop, product, customer)];
  expect(await held(shop, customer)).toEqual([benefit, benefit]);
  const gives = (order_id: string | undefined, revoke_benefits: boolean) =>
    shop.accepted("POST", "/v1/refunds/", { order_id, reason: "customer_request", amount: 1900, revoke_benefits });
  await story(shop);
  await gives(orders[0], false);
  expect(await held(shop, customer)).toEqual([benefit, benefit]);
  await gives(orders[1], true);
  expect(await held(shop, customer)).toEqual([benefit]);
  const told = await story(shop);
  expect(told.slice(told.lastIndexOf("refund.created"))).toEqual([
    ...["refund.created", "order.updated", "order.refunded", "benefit_grant.revoked", "state 0 1"],
  ]);
});

test("CUS-17: who is deleted has nothing any more", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const [product, pro] = [await book(shop), await shop.sells("Pro", 1000)];
  const benefit = await note(shop, product, pro);
  const customer = await comes(shop);
  await buys(shop, product, customer);
  await shop.subscribes(pro, { checkout: { customer_id: customer }, buyer: { customer_email: undefined } });
  expect((await held(shop, customer)).length).toBe(2);
  await story(shop);
  await shop.send("DELETE", `/v1/customers/${customer}`);
  expect((await story(shop)).filter((one) => one.startsWith("benefit"))).toEqual([
    ...["benefit_grant.revoked", "benefit_grant.revoked"],
  ]);
  const { items } = await shop.seller.client.benefits.grants({ params: { id: benefit }, query: { is_granted: true } });
  expect(items).toEqual([]);
  // Nor does a product that gives more give it to them.
  await note(shop, product);
  expect((await shop.seller.client.benefitGrants.list({ query: { is_granted: true } })).items).toEqual([]);
});

test("PRD-33, BEN-02: what a product gives from now on, everybody has who bought it; what is deleted, nobody", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const [product, pro] = [await book(shop), await shop.sells("Pro", 1000)];
  const customers = [await comes(shop), await comes(shop)];
  for (const customer of customers) await buys(shop, product, customer);
  const subscription = await shop.subscribes(pro);
  const late = await note(shop, product, pro);
  const all = [...customers, (await shop.get(subscription)).customer_id];
  for (const customer of all) expect(await held(shop, customer)).toEqual([late]);
  await story(shop);
  await shop.send("DELETE", `/v1/benefits/${late}`);
  await floe.runJobs();
  for (const customer of all) expect(await held(shop, customer)).toEqual([]);
  expect((await story(shop)).toSorted()).toEqual(
    [
      ...["benefit.updated", ...all.map(() => "benefit_grant.revoked")],
      ...["state 0 0", "state 0 0", "state 1 0"],
    ].toSorted(),
  );
  expect(await floe.deps.db.select().from(grantRuns).where(isNotNull(grantRuns.due_at))).toEqual([]);
});

test("BEN-51 to BEN-54: credits come with each period, roll over where that is said, and go back with what gave them", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const { client } = shop.seller;
  const meter = await client.meters.create({
    body: { name: "Calls", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } },
  });
  const product = await shop.sells("Pro", 1000);
  const { id: benefit } = await shop.accepted("POST", "/v1/benefits/", {
    ...{
      type: "meter_credit",
      description: "100 calls",
      properties: { meter_id: meter.id, units: 100, rollover: true },
    },
  });
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [benefit] });
  const id = await shop.subscribes(product);
  const { customer_id } = await shop.get(id);
  const credited = async () => {
    const [use] = (await client.customerMeters.list({ query: { customer_id: [customer_id] } })).items;
    return [use?.consumed_units, use?.credited_units, use?.balance];
  };
  expect(await credited()).toEqual([0, 100, 100]);
  const uses = (count: number) =>
    shop.accepted("POST", "/v1/events/ingest", {
      events: Array.from({ length: count }, () => ({ name: "call", customer_id })),
    });
  await uses(30);
  expect(await credited()).toEqual([30, 100, 70]);
  await shop.on("2026-08-01");
  expect(await credited()).toEqual([0, 170, 170]);
  const [grant] = (await client.benefitGrants.list({ query: {} })).items;
  expect(grant?.properties).toEqual({
    last_credited_meter_id: meter.id,
    last_credited_units: 100,
    last_credited_at: "2026-08-01T00:00:00.000Z",
    last_credited_until: "2026-09-01T00:00:00.000Z",
  });
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  expect(await credited()).toEqual([0, 70, 70]);
});

test("a change for hundreds is told of, stopped and taken up again, in slices; sales go on meanwhile, and everybody has it once", async () => {
  const shop = await openShop(floe, "2026-07-01");
  const { client, organization_id } = shop.seller;
  const prices = [{ amount_type: "free" as const }];
  const { id: product } = await client.products.create({ body: { name: "News", recurring_interval: "month", prices } });
  const customer = await comes(shop);
  const first = await client.subscriptions.create({ body: { product_id: product, customer_id: customer } });
  // Six hundred more, as the first one is.
  await floe.deps.db.execute(sql`insert into customers (organization_id, id, created_at, email)
    select ${organization_id}, gen_random_uuid(), now(), 'many-' || n || '-' || ${organization_id} || '@example.com' from generate_series(1, 600) n`);
  const [row] = await floe.deps.db.select().from(subscriptions).where(eq(subscriptions.id, first.id));
  const people = await floe.deps.db
    .select()
    .from(customers)
    .where(like(customers.email, `many-%-${organization_id}@%`));
  if (!row) throw new Error("There is no subscription.");
  for (let from = 0; from < people.length; from += 200)
    await floe.deps.db
      .insert(subscriptions)
      .values(
        people.slice(from, from + 200).map(({ id }) => ({ ...row, id: newId(), customer_id: id, checkout_id: null })),
      );
  const { id: benefit } = await client.benefits.create({
    body: { type: "custom", description: "All", properties: {} },
  });
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [benefit] });
  const newest = async () => (await client.grantRuns.list({ query: {} })).items[0];
  const run = await newest();
  const params = { id: run?.id ?? "" };
  expect(run).toMatchObject({ product_id: product, status: "running", noted: 0 });
  expect(await client.grantRuns.stop({ params })).toMatchObject({ status: "stopped" });
  await floe.runJobs();
  expect(await held(shop, customer)).toEqual([]);
  // A sale has what the product gives now, at once.
  const buyer = await comes(shop);
  await buys(shop, product, buyer);
  // Nothing is to be paid: it is settled by itself.
  await floe.runJobs();
  expect(await held(shop, buyer)).toEqual([benefit]);
  expect(await client.grantRuns.get({ params })).toMatchObject({ status: "stopped", noted: 0 });
  await client.grantRuns.resume({ params });
  expect((await client.grantRuns.list({ query: { status: ["running"] } })).items).toMatchObject([params]);
  await floe.runJobs();
  expect(await client.grantRuns.get({ params })).toMatchObject({ status: "done", noted: 602, waiting: 0 });
  expect(
    (await client.benefits.grants({ params: { id: benefit }, query: { is_granted: true } })).pagination.total_count,
  ).toBe(602);
  // What is done stays so.
  expect(await client.grantRuns.stop({ params })).toMatchObject({ status: "done" });
  const other = await floe.seller();
  for (const what of ["stop", "resume"])
    expect(
      (await floe.request("POST", `/v1/benefit-grants/runs/${params.id}/${what}`, { token: other.key })).status,
    ).toBe(404);
});
