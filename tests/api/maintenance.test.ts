import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker } from "../../server/app/worker.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

/** FLOE_MAINTENANCE: reads are answered, nothing that is due runs, and nothing is sold or changed. */

let floe: Floe;
let seller: Seller;
let product_id: string;
let client_secret: string;
let link: string;
beforeAll(async () => {
  floe = await start({
    settings: {
      ...{ STRIPE_SECRET_KEY: "sk_test_1", STRIPE_PUBLISHABLE_KEY: "pk_test_1", STRIPE_WEBHOOK_SECRET: "whsec_1" },
      STRIPE_API_URL: "http://127.0.0.1:9",
    },
  });
  seller = await floe.seller();
  const { client } = seller;
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  product_id = (await client.products.create({ body: { name: "Guide", prices } })).id;
  client_secret = (await client.checkouts.create({ body: { products: [product_id] } })).client_secret;
  link = (await client.checkoutLinks.create({ body: { products: [product_id] } as never })).client_secret;
  floe.deps.config.FLOE_MAINTENANCE = true;
});
afterAll(async () => {
  floe.deps.config.FLOE_MAINTENANCE = false;
  await floe?.close();
});

const refused = {
  error: "ServiceUnavailable",
  detail: "This server is in maintenance: it answers reads, and sells and changes nothing. Try again later.",
};
const readRow = async <Row>(statement: ReturnType<typeof sql>): Promise<Row | undefined> =>
  ((await floe.deps.db.execute(statement)) as unknown as Row[])[0];
const count = () =>
  readRow(sql`select (select count(*) from orders)::int as orders, (select count(*) from payments)::int as payments,
    (select count(*) from checkouts)::int as checkouts, (select count(*) from products)::int as products`);

test("a sale, a change and a notice of the processor are 503 with Retry-After, and change nothing", async () => {
  const before = await count();
  const body = {
    customer_email: "buyer@example.com",
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "pm_card_visa",
  };
  const requests: [string, string, object?][] = [
    ["POST", `/v1/checkouts/client/${client_secret}/confirm`, body],
    ["PATCH", `/v1/products/${product_id}`, { name: "Other" }],
    ["POST", "/v1/checkouts/", { products: [product_id] }],
    ["POST", "/v1/events/ingest", { events: [{ name: "use", customer_id: product_id }] }],
    ["POST", "/v1/integrations/stripe/webhook", {}],
  ];
  for (const [method, path, sent] of requests) {
    const { status, json, headers } = await floe.request(method, path, {
      token: seller.key,
      ...(sent && { body: sent }),
    });
    expect([path, status, json, headers["retry-after"]]).toEqual([path, 503, refused, "60"]);
  }
  expect(await count()).toEqual(before);
});

test("a checkout link tells a person so in words, and makes no checkout", async () => {
  const before = await count();
  const path = `/buy/${link}`;
  const { status, text } = await floe.request("GET", path, { headers: { accept: "text/html" } });
  expect([status, text]).toEqual([503, refused.detail]);
  expect(await count()).toEqual(before);
});

test("reads are answered, and /readyz warns", async () => {
  expect((await seller.client.products.get({ params: { id: product_id } })).name).toBe("Guide");
  const { status, json } = await floe.request("GET", "/readyz");
  const { warnings } = json as { warnings: string[] };
  expect([status, warnings[0]]).toEqual([503, expect.stringContaining("FLOE_MAINTENANCE is on")]);
});

test("no worker starts: a checkout that is over stays open, until maintenance ends", async () => {
  const status = () => readRow<{ status: string }>(sql`select status from checkouts`);
  floe.clock.advance(30 * 86_400_000);
  const paused = await startWorker(floe.deps);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await paused.stop();
  expect([await status(), floe.deps.jobs.working()]).toEqual([{ status: "open" }, false]);
  floe.deps.config.FLOE_MAINTENANCE = false;
  const working = await startWorker(floe.deps);
  await expect.poll(status).toEqual({ status: "expired" });
  await working.stop();
});
