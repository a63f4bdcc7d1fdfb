import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await german("ada");
});
afterAll(() => floe?.close());

/** A seller in Germany who sells to consumers in all of the union, and to Texas. */
async function german(name: string): Promise<Seller> {
  const made = await floe.seller(name);
  await made.client.organizations.update({ params: { id: made.organization_id }, body: { country: "DE" } });
  for (const body of [
    { country: "DE" },
    { country: "DE", scheme: "oss" },
    { country: "US", state: "TX" },
    { country: "CA" },
    { country: "CA", state: "QC" },
  ] as const)
    await made.client.tax.createRegistration({ body });
  return made;
}
type Behavior = "inclusive" | "exclusive" | "location";
async function product(price_amount: number, tax_behavior?: Behavior, by = seller): Promise<string> {
  const price = { amount_type: "fixed" as const, price_amount, price_currency: "usd" as const };
  const prices = [{ ...price, ...(tax_behavior && { tax_behavior }) }];
  return (await by.client.products.create({ body: { name: "Guide", prices } })).id;
}
const open = async (id: string, body: object = {}, by = seller) =>
  by.client.checkouts.create({ body: { products: [id], customer_email: "buyer@example.com", ...body } });
const change = async (client_secret: string, body: object) =>
  floe.client().checkoutClient.update({ params: { client_secret }, body });
const confirm = async (client_secret: string, body: object = {}) =>
  floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, {
    body: { customer_name: "Buyer", confirmation_token_id: "pm_card_visa", ...body },
  });
const amounts = ({ net_amount, tax_amount, total_amount, tax_behavior }: Record<string, unknown>) => [
  net_amount,
  tax_amount,
  total_amount,
  tax_behavior,
];
const texas = { country: "US", state: "TX", line1: "1 Way", city: "Austin", postal_code: "73301" };

describe("CHK-46: the tax of a checkout", () => {
  test("is unknown until an address is, then by that, each time anew", async () => {
    const checkout = await open(await product(1000));
    expect(amounts(checkout)).toEqual([1000, null, 1000, null]);
    const to = async (customer_billing_address: object, more: object = {}) =>
      amounts(await change(checkout.client_secret, { customer_billing_address, ...more }));
    expect(await to({ country: "FR" })).toEqual([833, 167, 1000, "inclusive"]);
    expect(await to({ country: "DE" })).toEqual([840, 160, 1000, "inclusive"]);
    expect(await to({ country: "JP" })).toEqual([1000, 0, 1000, null]);
    expect(await to({ country: "ES", postal_code: "38001" })).toEqual([1000, 0, 1000, null]);
    expect(await to({ country: "US" })).toEqual([1000, null, 1000, null]);
    expect(await to({ country: "US", state: "TX" })).toEqual([1000, 63, 1063, "exclusive"]);
    expect(await to({ country: "CA", state: "QC" })).toEqual([1000, 150, 1150, "exclusive"]);
  });

  test("is added to an exclusive price and held by an inclusive one, wherever the buyer is", async () => {
    const [added, held] = [await open(await product(1000, "exclusive")), await open(await product(1000, "inclusive"))];
    const to = async (one: { client_secret: string }, customer_billing_address: object) =>
      amounts(await change(one.client_secret, { customer_billing_address }));
    expect(await to(added, { country: "FR" })).toEqual([1000, 200, 1200, "exclusive"]);
    expect(await to(held, texas)).toEqual([941, 59, 1000, "inclusive"]);
  });

  test("is a business's own to pay elsewhere in the union, until it says that it is none", async () => {
    const { client_secret } = await open(await product(1000, "exclusive"));
    const customer_billing_address = { country: "FR" };
    const number = { customer_tax_id: "FR40303265045" };
    expect(amounts(await change(client_secret, { customer_billing_address, ...number }))).toEqual([
      1000,
      0,
      1000,
      null,
    ]);
    expect(amounts(await change(client_secret, { is_business_customer: false }))).toEqual([
      1000,
      200,
      1200,
      "exclusive",
    ]);
  });

  test("is known at once where the seller sends the address, and is nothing for a seller who registered nowhere", async () => {
    const made = await open(await product(1000, "exclusive"), { customer_billing_address: { country: "FR" } });
    expect(amounts(made)).toEqual([1000, 200, 1200, "exclusive"]);
    const other = await floe.seller("untaxed");
    const checkout = await open(await product(1000, "exclusive", other), {}, other);
    expect(amounts(checkout)).toEqual([1000, 0, 1000, null]);
    expect(amounts(await change(checkout.client_secret, { customer_billing_address: { country: "FR" } }))).toEqual([
      1000,
      0,
      1000,
      null,
    ]);
  });

  test("is nothing where nothing is paid, without an address", async () => {
    const free = await open(await product(0));
    expect([free.tax_amount, free.total_amount]).toEqual([0, 0]);
    expect((await confirm(free.client_secret)).status).toBe(200);
  });
});

describe("a sale with tax", () => {
  test("the checkout's total is the order's, the payment's and the sum of its parts, each rate with its amount", async () => {
    const one = await german("selling");
    const made = await open(await product(9999, "exclusive", one), {}, one);
    const quebec = { country: "CA", state: "QC", line1: "1 Rue", city: "Laval", postal_code: "H7A" };
    const { json, status } = await confirm(made.client_secret, { customer_billing_address: quebec });
    expect([status, json]).toMatchObject([200, { tax_amount: 500 + 997, total_amount: 11_496 }]);
    await floe.runJobs();
    const [order] = (await one.client.orders.list({ query: {} })).items;
    const [payment] = (await one.client.payments.list({ query: {} })).items;
    expect(order).toMatchObject({ net_amount: 9999, tax_amount: 1497, total_amount: 11_496, status: "paid" });
    expect(payment?.amount).toBe(11_496);
  });

  test("CHK-48: without an address it is asked for; one that leaves the tax unknown is refused at its place", async () => {
    const made = await open(await product(1000));
    const refused = await confirm(made.client_secret);
    expect([refused.status, refused.json]).toMatchObject([
      422,
      { detail: [{ loc: ["body", "customer_billing_address"], type: "missing" }] },
    ]);
  });

  test("terms that were shown before the tax changed are refused with the new ones, and nothing is charged", async () => {
    const one = await german("changing");
    const made = await open(
      await product(1000, "exclusive", one),
      { customer_billing_address: { country: "FR" } },
      one,
    );
    expect(made.total_amount).toBe(1200);
    const [shop] = (await one.client.tax.listRegistrations({ query: { limit: 100 } })).items.filter(
      ({ scheme }) => scheme === "oss",
    );
    await one.client.tax.deleteRegistration({ params: { id: shop?.id ?? "" } });
    const answer = await confirm(made.client_secret, { quote: made.quote });
    expect([answer.status, answer.json]).toMatchObject([409, { error: "QuoteChanged" }]);
    expect((await one.client.payments.list({ query: {} })).items).toEqual([]);
    expect((await confirm(made.client_secret)).json).toMatchObject({ tax_amount: 0, total_amount: 1000 });
  });

  test("an order keeps its rate when the seller's changes, and a part given back takes its share of the tax (RFD-05)", async () => {
    const one = await german("keeping");
    const made = await open(await product(1000, "exclusive", one), {}, one);
    await confirm(made.client_secret, { customer_billing_address: { country: "DE" } });
    await floe.runJobs();
    const [german_vat] = (await one.client.tax.listRegistrations({ query: { limit: 100 } })).items.filter(
      ({ country, scheme }) => country === "DE" && scheme === "domestic",
    );
    await one.client.tax.updateRegistration({ params: { id: german_vat?.id ?? "" }, body: { rate: "50" } });
    const [order] = (await one.client.orders.list({ query: {} })).items;
    expect(order).toMatchObject({ tax_amount: 190, total_amount: 1190 });
    const refund = await one.client.refunds.create({
      body: { order_id: order?.id ?? "", amount: 400, reason: "customer_request" },
    });
    expect(refund).toMatchObject({ amount: 400, tax_amount: 76 });
  });
});
