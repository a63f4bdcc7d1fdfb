import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** One seller with thousands of rows due, on a real worker: another's webhooks leave all the same. */

const many = 4000;
let floe: Floe;
let crowded: Seller;
let other: Seller;
let receiver: Receiver;
let asked = 0;
beforeAll(async () => {
  floe = await start({
    databaseUrl: await createPostgresDatabase(),
    worker: true,
    replace: ({ config, processor }) => ({
      config: { ...config, development: true },
      processor: {
        ...processor,
        retrieve: () => {
          asked += 1;
          return new Promise(() => undefined);
        },
      },
    }),
  });
  crowded = await floe.seller("crowded");
  other = await floe.seller("other");
  receiver = await startReceiver();
  await other.client.webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["product.created"] },
  });
});
afterAll(async () => {
  await floe?.close();
  await receiver?.close();
});

const create = ({ client }: Seller, price_amount = 1900) =>
  client.products.create({ body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount }] } });
/** The other seller is told of something, long before what hangs is given up after a minute. */
async function expectTold(): Promise<void> {
  const before = receiver.received.length;
  await create(other);
  await expect.poll(() => receiver.received.length, { timeout: 40_000, interval: 20 }).toBe(before + 1);
}
/** So many further rows like the only one of the crowded seller. */
const multiply = (table: string, change: string) =>
  floe.deps.db.execute(
    sql.raw(`insert into ${table} select (jsonb_populate_record(one, ${change})).* from ${table} one,
      generate_series(1, ${many}) where organization_id = '${crowded.organization_id}'`),
  );

test("while each of thousands of due payments hangs at the processor", { timeout: 120_000 }, async () => {
  const product = await create(crowded);
  const { client_secret } = await crowded.client.checkouts.create({ body: { products: [product.id] } });
  const confirmed = await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: {
      customer_email: "buyer@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_threeDSecure2Required",
    },
  });
  expect(confirmed.status).toBe(200);
  await multiply(
    "payments",
    `jsonb_build_object('id', gen_random_uuid(), 'status', 'failed', 'reconcile_due_at', now() - interval '1 hour')`,
  );
  await expect.poll(() => asked).toBeGreaterThan(0);
  await expectTold();
  await expectTold();
  // No more of one seller at once than its share.
  expect(asked).toBeLessThan(10);
});

test("while thousands of events of another are dispatched, in bounded pieces and in order", {
  timeout: 240_000,
}, async () => {
  await crowded.client.webhooks.createEndpoint({
    body: { url: receiver.url.replace("/hook", "/crowded"), format: "raw", events: ["product.updated"] },
  });
  await floe.deps.db.execute(
    sql`insert into events (id, organization_id, type, data, created_at)
      select gen_random_uuid(), ${crowded.organization_id}, 'product.updated', jsonb_build_object('id', n), now()
      from generate_series(1, ${many}) n`,
  );
  const mine = sql.raw(`organization_id = '${crowded.organization_id}'`);
  const count = async (what: string): Promise<number> => {
    const [row] = await floe.deps.db
      .select({ count: sql`count(*)`.mapWith(Number) })
      .from(sql`${sql.raw(what)} where ${mine}`);
    return row?.count ?? 0;
  };
  await expect.poll(() => count("webhook_events")).toBeGreaterThan(0);
  const waiting = "(select * from events where dispatched_at is null) as waiting";
  expect(await count(waiting)).toBeGreaterThan(0);
  const before = receiver.received.filter(({ json }) => json.type === "product.created").length;
  const began = performance.now();
  await create(other);
  await expect
    .poll(() => receiver.received.filter(({ json }) => json.type === "product.created").length, { interval: 20 })
    .toBe(before + 1);
  // Before the others were through, or as fast as where there are none.
  if ((await count(waiting)) === 0) expect(performance.now() - began).toBeLessThan(2000);
  await expect.poll(() => count(waiting), { timeout: 120_000 }).toBe(0);
  expect(await count("webhook_events")).toBe(many);
  const [largest] = await floe.deps.db
    .select({ rows: sql`max(rows)`.mapWith(Number) })
    .from(
      sql`(select count(*) as rows from events where type = 'product.updated' and ${mine} group by dispatched_at) as pieces`,
    );
  expect(largest?.rows).toBeLessThanOrEqual(100);
});
