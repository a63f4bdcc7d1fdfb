import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refunds } from "../../server/billing/refunds/tables.ts";
import { redemptionCountWorker } from "../../server/catalog/discounts/jobs.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { atOnce, tally } from "../support/races.ts";
import { payment } from "../support/rows.ts";

let floes: [Floe, Floe];
let seller: Seller;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  floes = [await start({ databaseUrl }), await start({ databaseUrl })];
  seller = await floes[0].seller("ada");
});
afterAll(async () => {
  for (const floe of floes ?? []) await floe.close();
});

const cards = ["visa", "mastercard", "amex", "visa_debit"];
type Answer = { status: number; error: string | undefined; place: string | undefined };

/** So many buyers of one product with one discount, who confirm at once at two servers. */
async function rush(count: number, discount: object, body: (index: number) => object = () => ({})) {
  const { id: product_id } = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1000 }] },
  });
  const { id: discount_id } = await seller.client.discounts.create({
    body: { name: "Launch", duration: "once", basis_points: 1000, ...discount } as never,
  });
  const checkouts: string[] = [];
  for (let index = 0; index < count; index += 1)
    checkouts.push(
      (await seller.client.checkouts.create({ body: { products: [product_id], discount_id } })).client_secret,
    );
  const answers = await atOnce(count, async (index): Promise<Answer> => {
    const { status, json } = await (floes[index % 2] as Floe).request(
      "POST",
      `/v1/checkouts/client/${checkouts[index]}/confirm`,
      { body: { customer_email: `rush-${discount_id}-${index}@example.com`, ...payment, ...body(index) } },
    );
    const said = json as { error?: string; detail?: string | { loc: string[] }[] };
    return { status, error: said.error, place: Array.isArray(said.detail) ? said.detail[0]?.loc.join(".") : undefined };
  });
  for (const floe of floes) await floe.runJobs();
  const taken = async () => (await seller.client.discounts.get({ params: { id: discount_id } })).redemptions_count;
  const paid = (await seller.client.orders.list({ query: { discount_id: [discount_id], limit: 100 } })).items;
  return { answers, taken, paid, checkouts };
}
const outcomes = (answers: Answer[]) =>
  tally(answers.map(({ status, error, place }) => [status, error, place].filter(Boolean).join(" ")));

test("of a hundred who want the last redemption one gets it, and the others keep an open checkout (DSC-12)", async () => {
  const { answers, taken, paid, checkouts } = await rush(100, { max_redemptions: 1 });
  expect(outcomes(answers)).toEqual({ "200": 1, "422 PolarRequestValidationError body.discount_id": 99 });
  expect([await taken(), paid.length]).toEqual([1, 1]);
  const [lost] = answers.flatMap(({ status }, index) => (status === 422 ? [checkouts[index]] : []));
  const { json } = await floes[1].request("GET", `/v1/checkouts/client/${lost}`);
  expect(json).toMatchObject({ status: "open" });
}, 120_000);

test("given back in full it can be taken again, but not where that was to prevent a dispute (DSC-15)", async () => {
  const customer_email = "again@example.com";
  const { paid } = await rush(1, { max_redemptions_per_customer: 1 }, () => ({ customer_email }));
  const [order] = paid;
  if (!order?.product_id || !order.discount_id) throw new Error("Nothing was sold.");
  const { product_id, discount_id } = order;
  const { id: refund_id } = await seller.client.refunds.create({
    body: { order_id: order.id, reason: "customer_request", amount: order.net_amount },
  });
  await floes[0].runJobs();
  const takeAgain = async () => {
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [product_id], discount_id } });
    const body = { ...payment, customer_email };
    return (await floes[0].request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body })).status;
  };
  const isFor = (reason: "dispute_prevention" | "customer_request") =>
    floes[0].deps.db.update(refunds).set({ reason }).where(eq(refunds.id, refund_id));
  await isFor("dispute_prevention");
  expect(await takeAgain()).toBe(403);
  await isFor("customer_request");
  expect(await takeAgain()).toBe(200);
});

test("without a limit everybody gets it, and each is counted once", async () => {
  const { answers, taken, paid } = await rush(20, {});
  expect(outcomes(answers)).toEqual({ "200": 20 });
  expect([await taken(), paid.length]).toEqual([20, 20]);
  // Counted meanwhile by both servers at once, they stay as many.
  await Promise.all(floes.map(({ deps }) => runWorkers(deps, [redemptionCountWorker])));
  expect(await taken()).toBe(20);
}, 120_000);

test("a card that is declined has used up nothing (DSC-13)", async () => {
  const { answers, taken } = await rush(3, { max_redemptions: 3 }, () => ({
    confirmation_token_id: "pm_card_chargeDeclined",
  }));
  expect(outcomes(answers)).toEqual({ "400 PaymentError": 3 });
  expect(await taken()).toBe(0);
}, 60_000);

test.each([
  [
    "address",
    (index: number) => ({
      customer_email: `Once+${index}@example.com`,
      confirmation_token_id: `pm_card_${cards[index]}`,
    }),
  ],
  ["card", (index: number) => ({ customer_email: `somebody-${index}@example.com` })],
])(
  "one buyer takes it as often as the seller allows, told by their %s (DSC-15)",
  async (_, body) => {
    const { answers, taken } = await rush(4, { max_redemptions_per_customer: 2 }, body);
    expect(outcomes(answers)).toEqual({ "200": 2, "403 DiscountRedemptionLimitReached": 2 });
    expect(await taken()).toBe(2);
  },
  60_000,
);
