import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findLedgerFaults, loadLedger } from "../../server/billing/ledger.ts";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/**
 * The two laws of a seller's ledger, after every step of random histories: nobody is given more than they paid, and no more tax is
 * returned than was charged. And of what is used each unit is billed at most once.
 */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("change" as const),
        to: fc.nat(2),
        how: fc.constantFrom("invoice", "prorate", "reset"),
      }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("pass" as const), days: fc.integer({ min: 1, max: 20 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("card" as const), card: fc.constantFrom(cards.good, cards.failing) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("refund" as const), which: fc.nat(5), percent: fc.constantFrom(30, 100) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("use" as const),
        units: fc.integer({ min: 1, max: 500 }),
        days_ago: fc.nat(25),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("move" as const), country: fc.constantFrom("DE", "FR", "US") }),
    },
  ),
  { minLength: 10, maxLength: 14 },
);

type Shop = Awaited<ReturnType<typeof openShop>>;
const list = async (shop: Shop, id: string) =>
  (await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 100 } as never })).items;

async function open() {
  const shop = await openShop(floe, "2026-05-31");
  await shop.accepted("PATCH", `/v1/organizations/${shop.seller.organization_id}`, { country: "DE" });
  for (const more of [{}, { scheme: "oss" }])
    await shop.accepted("POST", "/v1/tax/registrations", { country: "DE", ...more });
  const name = "law";
  const meter = await shop.accepted("POST", "/v1/meters/", {
    name: "Tokens",
    filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
    aggregation: { func: "sum", property: "n" },
  });
  const prices = (price_amount: number, unit_amount: string) => [
    { amount_type: "fixed", price_amount, tax_behavior: "exclusive" },
    { amount_type: "metered_unit", meter_id: meter.id, unit_amount, cap_amount: 2000, tax_behavior: "exclusive" },
  ];
  const products: string[] = [];
  for (const [at, price] of [1000, 5000, 20_000].entries())
    products.push(await shop.sells(`Plan ${price}`, prices(price, String(at + 1))));
  const buyer = { customer_billing_address: { country: "DE", line1: "1 Weg", city: "Berlin", postal_code: "10115" } };
  const id = await shop.subscribes(products[1] ?? "", { buyer });
  const { customer_id } = await shop.get(id);
  const left = {
    [cards.good]: await shop.leaves(customer_id, cards.good),
    [cards.failing]: await shop.leaves(customer_id, cards.failing),
  };
  return { shop, id, customer_id, products, left, name };
}

async function play(
  history: ReturnType<typeof fc.sample<typeof steps extends fc.Arbitrary<infer T> ? T : never>>[number],
) {
  const { shop, id, customer_id, products, left, name } = await open();
  let at = new Date("2026-05-31T00:00:00Z");
  let used = 0;
  for (const [index, step] of history.entries()) {
    if (step.do === "pass") {
      at = new Date(at.getTime() + step.days * 86_400_000);
      await shop.on(at.toISOString());
    } else if (step.do === "change")
      await shop.changes(id, { product_id: products[step.to], proration_behavior: step.how });
    else if (step.do === "card") await shop.changes(id, { payment_method_id: left[step.card] });
    else if (step.do === "move")
      await shop.send("PATCH", `/v1/customers/${customer_id}`, { billing_address: { country: step.country } });
    else if (step.do === "use") {
      const timestamp = new Date(
        Math.max(at.getTime() - step.days_ago * 86_400_000, Date.parse("2026-05-31T00:00:00Z")),
      );
      const event = { name, customer_id, metadata: { n: step.units }, timestamp: timestamp.toISOString() };
      await shop.accepted("POST", "/v1/events/ingest", { events: [event] });
      used += step.units;
    } else {
      const paid = (await list(shop, id)).filter((order) => order.refundable_amount > 0);
      const order = paid[step.which % Math.max(1, paid.length)];
      const amount = order && Math.floor((order.refundable_amount * step.percent) / 100);
      if (order && amount) await shop.send("POST", "/v1/refunds/", { order_id: order.id, amount, reason: "other" });
      await floe.runJobs();
    }
    const told = `${JSON.stringify(history.slice(0, index + 1))}`;
    expect([told, findLedgerFaults(await loadLedger(floe.deps.db, shop.seller.organization_id))]).toEqual([told, []]);
  }
  await shop.changes(id, { revoke: true });
  const told = JSON.stringify(history);
  expect([told, findLedgerFaults(await loadLedger(floe.deps.db, shop.seller.organization_id))]).toEqual([told, []]);
  let billed = 0;
  for (const order of await list(shop, id)) {
    const { derivation } = await shop.seller.client.orders.explain({ params: { id: order.id } });
    for (const { source } of derivation.lines)
      if (source.rule === "metered") billed += Number(source.consumed_units) - Number(source.before_units ?? 0);
  }
  expect([told, billed <= used]).toEqual([told, true]);
  return { used, billed };
}

const seed = Number(process.env.FLOE_TEST_SEED ?? 28);
const runs = Number(process.env.FLOE_TEST_RUNS ?? 3);
test(
  "credits, refunds and lost disputes are at most what was paid, tax returned at most what was charged, usage billed once",
  async () => {
    const sums = { used: 0, billed: 0 };
    for (const history of fc.sample(steps, { seed, numRuns: runs })) {
      const { used, billed } = await play(history);
      sums.used += used;
      sums.billed += billed;
    }
    // That nothing is billed would keep the laws, too.
    expect(sums.billed).toBeGreaterThan(0);
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  },
  30_000 + runs * 20_000,
);
