import { readFileSync } from "node:fs";
import { type SQL, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { verifyBooks } from "../../server/app/operator.ts";
import { compareWithProcessor } from "../../server/operations/verify/processor.ts";
import { type Breach, computeRestMs } from "../../server/operations/verify/rules.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import { floe as runCommand } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { startReceiver } from "../support/receiver.ts";
import { openShop } from "../support/story.ts";

/** `floe verify` finds what is wrong in the books of one shop: each planted fault, with its row, its rule and both numbers. */

let floe: Floe;
let of: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let databaseUrl: string;

beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  receiver = await startReceiver();
  floe = await start({
    databaseUrl,
    replace: (deps) => ({ config: { ...deps.config, development: true } }),
  });
  const shop = await openShop(floe, "2027-01-01");
  of = shop.seller.organization_id;
  await shop.seller.client.webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["order.created", "order.paid", "order.updated"] },
  });
  await shop.accepted("PATCH", `/v1/organizations/${of}`, { country: "DE" });
  await shop.accepted("POST", "/v1/tax/registrations", { country: "DE" });
  const meter = await shop.accepted("POST", "/v1/meters/", {
    name: "Tokens",
    filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "use" }] },
    aggregation: { func: "sum", property: "n" },
  });
  const benefit = await shop.accepted("POST", "/v1/benefits/", {
    type: "custom",
    description: "Thanks",
    properties: { note: null },
  });
  const plan = await shop.sells("Plan", [
    { amount_type: "fixed", price_amount: 2000 },
    { amount_type: "metered_unit", meter_id: meter.id, unit_amount: "1.5", cap_amount: null },
  ]);
  const small = await shop.sells("Small", 500);
  const guide = await shop.sells("Guide", 1900, { recurring_interval: null });
  for (const id of [plan, small, guide])
    await shop.accepted("POST", `/v1/products/${id}/benefits`, { benefits: [benefit.id] });
  const discount = await shop.gives({
    type: "percentage",
    basis_points: 1000,
    duration: "forever",
    max_redemptions: 5,
  });
  const buyer = { customer_billing_address: { country: "DE", line1: "1 Weg", city: "Berlin", postal_code: "10115" } };
  const id = await shop.subscribes(plan, { buyer, checkout: { discount_id: discount } });
  const { customer_id } = await shop.get(id);
  await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "use", customer_id, metadata: { n: 40 } }] });
  await shop.on("2027-01-11");
  // A smaller plan leaves a credit, which the next period spends.
  await shop.changes(id, { product_id: small, proration_behavior: "invoice" });
  await shop.on("2027-02-02");
  await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "use", customer_id, metadata: { n: 2 } }] });
  const made = await shop.accepted("POST", "/v1/checkouts/", { products: [guide] });
  await floe.client().checkoutClient.confirm({
    params: { client_secret: String(made.client_secret) },
    body: { customer_email: "one@example.com", ...buyer, confirmation_token_id: "pm_card_visa" } as never,
  });
  await floe.runJobs();
  const [order] = (await shop.seller.client.orders.list({ query: { checkout_id: [String(made.id)] } })).items;
  await shop.accepted("POST", "/v1/refunds/", { order_id: order?.id, amount: 400, reason: "other" });
  await floe.runJobs();
});
afterEach(() => vi.unstubAllEnvs());
afterAll(async () => {
  await floe?.close();
  await receiver?.close();
});

const verify = (): Promise<Breach[]> =>
  verifyOrganization(floe.deps.db, {
    organization_id: of,
    kept_since: null,
    statementMs: 10_000,
    rest: async () => undefined,
  });

/** Make a change that no trigger and no key sees, look, and put the tables back as they were. */
async function plant(tables: readonly string[], fault: SQL): Promise<Breach[]> {
  const { db } = floe.deps;
  const run = (statements: SQL) =>
    db.transaction(async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      for (const one of [statements].flat()) await tx.execute(one);
    });
  for (const table of tables) await db.execute(sql.raw(`create table kept_${table} as select * from ${table}`));
  try {
    await run(fault);
    return await verify();
  } finally {
    for (const table of tables) {
      await run(sql.raw(`delete from ${table}`));
      await run(sql.raw(`insert into ${table} select * from kept_${table}`));
      await db.execute(sql.raw(`drop table kept_${table}`));
    }
  }
}

type Fault = [rule: string, tables: string[], fault: string];
const one = "(select id from orders where status = 'partially_refunded')";
const paid = "(select id from orders where status = 'paid' order by created_at limit 1)";
const faults: Fault[] = [
  ["order_items", ["order_items"], `update order_items set amount = amount + 1 where order_id = ${one}`],
  ["order_items", ["order_items"], `delete from order_items where order_id = ${one}`],
  ["order_amounts", ["orders"], `update orders set tax_amount = tax_amount + 1 where id = ${one}`],
  [
    "order_derivation",
    ["orders"],
    `update orders set derivation = jsonb_set(derivation, '{subtotal_amount}', '7') where id = ${one}`,
  ],
  ["order_payment", ["payments"], `update payments set amount = amount - 1 where order_id = ${one}`],
  ["order_payment", ["payments"], `delete from payments where order_id = ${one}`],
  ["payment_currency", ["payments"], `update payments set currency = 'eur' where order_id = ${one}`],
  ["order_refunds", ["orders"], `update orders set refunded_amount = refunded_amount - 100 where id = ${one}`],
  ["refund_limit", ["refunds"], "update refunds set amount = 5000"],
  ["order_status", ["orders"], `update orders set status = 'refunded' where id = ${one}`],
  ["surplus", ["payments"], `update payments set is_surplus = true where order_id = ${one}`],
  ["order_reductions", ["orders"], `update orders set reduced_amount = 10 where id = ${one}`],
  [
    "reduction_status",
    ["orders"],
    `update orders set reduces_order_id = ${one}, status = 'pending' where id = ${paid}`,
  ],
  ["balance", ["customer_balances"], "update customer_balances set amount = amount + 5"],
  ["invoice_numbers", ["orders"], `update orders set invoice_number = 'X-0009' where id = ${one}`],
  ["invoice_numbers", ["invoice_counters"], "update invoice_counters set next_number = 2"],
  ["receipt_numbers", ["receipt_counters"], "update receipt_counters set next_number = next_number + 1"],
  ["redemptions", ["discounts"], "update discounts set redemptions_count = 3"],
  ["redemption_limit", ["discounts"], "update discounts set max_redemptions = 0"],
  [
    "payment_due",
    ["payments"],
    `update payments set status = 'pending', reconcile_due_at = null where order_id = ${one}`,
  ],
  ["subscription_due", ["subscriptions"], "update subscriptions set due_at = null"],
  ["credit", ["payments"], `update payments set amount = 1 where order_id <> ${one}`],
  ["order_created", ["events"], `delete from events where type = 'order.created' and data ->> 'id' = ${one}::text`],
  [
    "order_paid",
    ["events"],
    `update events set type = 'order.updated' where type = 'order.paid' and data ->> 'id' = ${one}::text`,
  ],
  ["order_events", ["orders"], `update orders set dispute_status = 'lost' where id = ${one}`],
  ["subscription_created", ["events"], "delete from events where type = 'subscription.created'"],
  ["subscription_revoked", ["subscriptions"], "update subscriptions set ended_at = now()"],
  ["subscription_events", ["subscriptions"], "update subscriptions set amount = amount + 1"],
  ["event_copies", ["webhook_events"], "delete from webhook_events where type = 'order.paid'"],
  ["delivery_pending", ["webhook_events"], "update webhook_events set succeeded = null, next_attempt_at = null"],
  ["delivery_recorded", ["webhook_deliveries"], "delete from webhook_deliveries"],
  ["grants_of_orders", ["orders"], `update orders set access = 'withheld' where id = ${one}`],
  ["grants_of_subscriptions", ["subscriptions"], "update subscriptions set status = 'canceled'"],
  ["benefits_of_orders", ["benefit_grants"], `delete from benefit_grants where order_id = ${one}`],
  ["benefits_of_subscriptions", ["benefit_grants"], "delete from benefit_grants where subscription_id is not null"],
  ["usage", ["customer_meters"], "update customer_meters set consumed_units = consumed_units + 1"],
];

test("the books of a shop that sold, renewed, gave back and was refunded are right", async () => {
  expect(await verify()).toEqual([]);
});

test.each(faults)(
  "a planted fault of %s in %s is found, with its row and both numbers",
  async (rule, tables, fault) => {
    const found = (await plant(tables, sql.raw(fault))).filter((breach) => breach.rule === rule);
    expect(found.length).toBeGreaterThan(0);
    for (const { row, expected, found: had } of found) {
      expect(row).not.toBe("");
      expect(expected).not.toBe(had);
    }
  },
);

test("the tables are as they were: nothing is found", async () => {
  expect(await verify()).toEqual([]);
});

test("verification writes nothing, reports each organization with its cursor, and goes on after one", async () => {
  const other = await floe.seller("other");
  const options = {
    given: { DATABASE_URL: databaseUrl, FLOE_SECRET: floe.deps.config.secret },
    organization_id: undefined,
    load: 1,
    isProcessorAsked: false,
    since: null,
  };
  const seen: [string, number][] = [];
  const report = (id: string, breaches: readonly Breach[]) => void seen.push([id, breaches.length]);
  await verifyBooks({ ...options, after: "", report });
  const ids = [of, other.organization_id].sort();
  expect(seen).toEqual(ids.map((id) => [id, 0]));
  seen.length = 0;
  await verifyBooks({ ...options, after: ids[0] ?? "", report });
  expect(seen).toEqual([[ids[1], 0]]);
  await expect(verifyBooks({ ...options, organization_id: "none", after: "", report })).rejects.toThrow(
    "There is no organization none.",
  );
});

test("it rests in proportion to its work", () => {
  expect([computeRestMs(50, 0.05), computeRestMs(50, 1)].map(Math.round)).toEqual([950, 0]);
});

test("compared with the processor, a payment and a refund that say something else are found", async () => {
  const compare = () =>
    compareWithProcessor(floe.deps.db, {
      organization_id: of,
      processor: floe.deps.processors.own,
      since: null,
      rest: async () => undefined,
    });
  expect(await compare()).toEqual([]);
  await floe.deps.db.execute(
    sql`update test_intents set amount = amount + 1 where payment_id = (select payment_id from refunds)`,
  );
  await floe.deps.db.execute(sql`update test_refunds set amount = amount + 1`);
  expect((await compare()).map(({ rule }) => rule)).toEqual(["processor_payment", "processor_refund"]);
  await floe.deps.db.execute(
    sql`update test_intents set amount = amount - 1 where payment_id = (select payment_id from refunds)`,
  );
  await floe.deps.db.execute(sql`update test_refunds set amount = amount - 1`);
});

test("docs/operating.md: each command is accepted, and the books of a live server are right", async () => {
  vi.stubEnv("DATABASE_URL", databaseUrl);
  vi.stubEnv("FLOE_SECRET", floe.deps.config.secret);
  const text = readFileSync("docs/operating.md", "utf8");
  const lines = [...text.matchAll(/^floe (verify.*?)(?: +#.*)?$/gm)].map(([, line = ""]) => line.trim());
  expect(lines.length).toBeGreaterThan(4);
  for (const line of lines) {
    const argv = line.replaceAll("ORGANIZATION_ID", of).split(" ");
    const { code, err } = await runCommand([...argv, ...(argv.includes("--load") ? [] : ["--load", "100"])]);
    expect([line, code, err]).toEqual([line, 0, expect.stringContaining("0 breaches.")]);
  }
  const rules = [...text.matchAll(/^\| `(\w+)` +\|/gm)].map(([, rule]) => rule);
  for (const [rule] of faults) expect(rules).toContain(rule);
});

test("floe verify names each breach, ends with 1, and says where a database is missing", async () => {
  const { db } = floe.deps;
  await db.execute(sql`update discounts set redemptions_count = redemptions_count + 1`);
  const argv = ["verify", "--load", "100", "--database-url", databaseUrl];
  const { code, out, err } = await runCommand([...argv, "--json"]);
  await db.execute(sql`update discounts set redemptions_count = redemptions_count - 1`);
  expect([code, JSON.parse(out)]).toEqual([
    1,
    [
      {
        organization_id: of,
        rule: "redemptions",
        table: "discounts",
        row: expect.any(String),
        expected: "1",
        found: "2",
      },
    ],
  ]);
  expect(err).toContain("1 rows break a rule");
  const missing = await runCommand(["verify", "--database-url", `${databaseUrl}_none`]);
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("cannot be reached")]);
  expect((await runCommand(["verify", "--load", "0"])).code).toBe(64);
});
