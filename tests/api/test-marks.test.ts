import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { acceptsTestPayments, isTestAccount } from "../../server/platform/processors/processor.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { readPage } from "../support/invoices.ts";
import { mailsTo } from "../support/mails.ts";

/** ORD-33: what was paid with no real money says so, in mails and documents, wherever it was sold. */

async function buy(floe: Floe, seller: Seller, email: string): Promise<string> {
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices } as never });
  const checkout = await seller.client.checkouts.create({ body: { products: [id] } });
  const paid = {
    customer_email: email,
    customer_name: "Ada",
    customer_billing_address: { country: "FR", line1: "3 rue de la Paix", postal_code: "75002", city: "Paris" },
    confirmation_token_id: "pm_card_visa",
  };
  const answer = await floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body: paid });
  expect(answer.status).toBe(200);
  await floe.runJobs();
  const [order] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
  return order?.id ?? "";
}

/** What the invoice and the receipt of an order say, and whether the mails to its buyer are marked. */
async function read(floe: Floe, seller: Seller, order_id: string, email: string) {
  const texts: string[] = [];
  for (const kind of ["invoice", "receipt"]) {
    const path = `/v1/orders/${order_id}/${kind}`;
    await floe.request(kind === "invoice" ? "POST" : "GET", path, { token: seller.key });
    await floe.runJobs();
    const { json } = await floe.request("GET", path, { token: seller.key });
    const { url } = json as { url: string };
    const { rawPayload } = await floe.app.inject({ method: "GET", url: url.slice(floe.url.length) });
    texts.push((await readPage(new Uint8Array(rawPayload))).text);
  }
  const marked = (await mailsTo(floe, email)).map(({ is_test, text }) => [is_test, text.includes("Ceci est un test")]);
  return { documents: texts.map((text) => text.includes("TEST")), marked };
}

/** The test processor in the place of a real one. */
const startLive = (account: string): Promise<Floe> =>
  start({
    replace: ({ processors }) => {
      const { test: _, ...rest } = processors.test;
      return { processor: { ...rest, account, publishable_key: "pk_1" } };
    },
  });

describe.each([
  [
    "a public server with test cards",
    true,
    () => start({ settings: { FLOE_URL: "https://pay.example.com", FLOE_TEST_CARDS: "on" } }),
  ],
  ["Stripe's test mode", true, () => startLive("stripe_test")],
  ["Stripe with real money", false, () => startLive("stripe_live")],
])("%s", (_, isTest, open) => {
  let floe: Floe;
  let seller: Seller;
  beforeAll(async () => {
    floe = await open();
    seller = await floe.seller();
  });
  afterAll(() => floe?.close());

  test(`ORD-33: documents and mails are ${isTest ? "" : "not "}marked, those of a sign-in too`, async () => {
    const id = await buy(floe, seller, "ada@example.com");
    const asked = { organization_id: seller.organization_id, email: "ada@example.com", request_id: "r".repeat(43) };
    expect((await floe.request("POST", "/v1/customer-portal/customer-session/request", { body: asked })).status).toBe(
      202,
    );
    await floe.runJobs();
    expect(await read(floe, seller, id, "ada@example.com")).toEqual({
      documents: [isTest, isTest],
      marked: [
        [isTest, isTest],
        [isTest, isTest],
      ],
    });
  });
});

test("ORD-33: a document keeps its mark when the server takes real money later, and the other way round", async () => {
  for (const [account, later, isTest] of [
    ["test", "stripe_live", true],
    ["stripe_live", "stripe_test", false],
  ] as const) {
    const floe = await startLive(account);
    try {
      const seller = await floe.seller();
      const id = await buy(floe, seller, "ada@example.com");
      floe.deps.processor.account = later;
      floe.deps.processors.own.account = later;
      // What stands in the documents changes, so they are printed again.
      await seller.client.orders.update({ params: { id }, body: { billing_name: "Ada Lovelace" } });
      await floe.runJobs();
      expect((await read(floe, seller, id, "ada@example.com")).documents).toEqual([isTest, isTest]);
    } finally {
      await floe.close();
    }
  }
});

test.each([
  ["test", true],
  ["stripe_test", true],
  ["stripe_test_acct_1", true],
  ["stripe_live", false],
  ["stripe_live_acct_1", false],
  ["tests", false],
])("ORD-33: the account %s moves real money or not", (account, isTest) => {
  expect(isTestAccount(account)).toBe(isTest);
});

test.each([
  ["a server that takes no payments gives away what is free, which is no test", false, false, false],
  ["test cards are on", true, false, true],
  ["a sandbox of a server that takes no payments", false, true, true],
])("ORD-33: %s", (_, test_cards, sandbox, expected) => {
  const processor = { account: "test", test: {} as never };
  expect(acceptsTestPayments({ config: { test_cards }, processor, sandbox })).toBe(expected);
});
