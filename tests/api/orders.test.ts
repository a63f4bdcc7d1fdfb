import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let [guide, map]: { id: string }[] = [];
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  const make = (name: string, price_amount: number) =>
    seller.client.products.create({ body: { name, prices: [{ amount_type: "fixed", price_amount }] } });
  [guide, map] = [await make("Guide", 1900), await make("Map", 700)];
});

type Sale = { product_id?: string | undefined; email?: string; body?: object; address?: object; token?: string };
/** A sale from end to end; answers the checkout's id. */
async function sell({
  product_id = guide?.id,
  email = "ada@example.com",
  body = {},
  address = { country: "FR" },
  token = "pm_card_visa",
}: Sale = {}): Promise<string> {
  const checkout = await seller.client.checkouts.create({ body: { products: [product_id ?? ""], ...body } });
  const confirmation = {
    customer_email: email,
    customer_billing_address: address,
    confirmation_token_id: token,
  } as never;
  await floe
    .client()
    .checkoutClient.confirm({ params: { client_secret: checkout.client_secret }, body: confirmation })
    .catch(() => {});
  floe.clock.advance(1000);
  return checkout.id;
}
const list = async (query: object = {}) => (await seller.client.orders.list({ query })).items;
const only = <T>(items: T[]): T => {
  expect(items).toHaveLength(1);
  return items[0] as T;
};
const patch = (id: string, body: unknown) => floe.request("PATCH", `/v1/orders/${id}`, { token: seller.key, body });

describe("an order of a checkout", () => {
  test("ORD-01, ORD-05, ORD-06, ORD-10, ORD-12: has one line, what was filled in, and is paid", async () => {
    const checkout_id = await sell({ body: { metadata: { campaign: "spring", reference_id: "r1" } } });
    const order = only(await list());
    expect(order).toMatchObject({
      status: "paid",
      paid: true,
      billing_reason: "purchase",
      checkout_id,
      subtotal_amount: 1900,
      discount_amount: 0,
      net_amount: 1900,
      tax_amount: 0,
      total_amount: 1900,
      applied_balance_amount: 0,
      due_amount: 1900,
      refunded_amount: 0,
      refundable_amount: 1900,
      currency: "usd",
      description: "Guide",
      metadata: { campaign: "spring", reference_id: "r1" },
      billing_address: { country: "FR" },
      customer: { email: "ada@example.com" },
      product: { name: "Guide" },
      subscription_id: null,
      discount: null,
      is_invoice_generated: false,
    });
    expect(order.user_id).toBe(order.customer_id);
    expect(order.items).toMatchObject([
      { label: "Guide", amount: 1900, tax_amount: 0, proration: false, product_price_id: expect.any(String) },
    ]);
    expect(await seller.client.orders.get({ params: { id: order.id } })).toEqual(order);
  });

  test("ORD-19 to ORD-21: numbers follow each other without a gap, free ones too; each organization counts for itself", async () => {
    const free = await seller.client.products.create({ body: { name: "Sample", prices: [{ amount_type: "free" }] } });
    await sell();
    await sell({ token: "pm_card_chargeDeclined" });
    await sell({ product_id: free.id });
    await floe.runJobs();
    await sell();
    const numbers = (await list({ sorting: "created_at" })).map((order) => order.invoice_number);
    const prefix = numbers[0]?.replace(/-0001$/, "");
    expect(prefix).toMatch(/^SELLER-/);
    expect(numbers).toEqual([1, 2, 3].map((number) => `${prefix}-000${number}`));
  });

  test("ORD-16: says created, updated, paid, once each and in this order", async () => {
    await sell();
    const told = await floe.deps.db
      .select({ type: events.type })
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq);
    expect(told.map(({ type }) => type).filter((type) => type.startsWith("order."))).toEqual([
      "order.created",
      "order.updated",
      "order.paid",
    ]);
  });

  test("keeps the price it was bought at when the product changes (PRD-22)", async () => {
    await sell();
    await seller.client.products.update({
      params: { id: guide?.id ?? "" },
      body: { name: "Atlas", prices: [{ amount_type: "fixed", price_amount: 5000 }] },
    });
    expect(only(await list())).toMatchObject({
      total_amount: 1900,
      description: "Guide",
      items: [{ label: "Guide", amount: 1900 }],
    });
  });
});

describe("lists (ORD-29)", () => {
  test("filter by everything an order has", async () => {
    const first = await sell({ body: { metadata: { tier: "pro" } } });
    const second = await sell({ product_id: map?.id, email: "bob@example.com" });
    const external = await seller.client.customers.create({
      body: { email: "eve@example.com", external_id: "user-9" },
    });
    const third = await sell({ body: { customer_id: external.id } });
    const checkoutsOf = async (query: object) => (await list(query)).map((order) => order.checkout_id);
    expect(await checkoutsOf({})).toEqual([third, second, first]);
    expect(await checkoutsOf({ product_id: map?.id })).toEqual([second]);
    expect(await checkoutsOf({ product_id: [guide?.id, map?.id] })).toHaveLength(3);
    expect(await checkoutsOf({ checkout_id: first })).toEqual([first]);
    expect(await checkoutsOf({ customer_id: external.id })).toEqual([third]);
    expect(await checkoutsOf({ external_customer_id: "user-9" })).toEqual([third]);
    expect(await checkoutsOf({ metadata: { tier: "pro" } })).toEqual([first]);
    expect(await checkoutsOf({ status: "paid" })).toHaveLength(3);
    expect(await checkoutsOf({ status: ["pending", "refunded"] })).toEqual([]);
    expect(await checkoutsOf({ product_billing_type: "one_time" })).toHaveLength(3);
    expect(await checkoutsOf({ product_billing_type: "recurring" })).toEqual([]);
    expect(await checkoutsOf({ subscription_id: crypto.randomUUID() })).toEqual([]);
    const middle = (await list())[1]?.created_at;
    expect(await checkoutsOf({ created_after: middle })).toEqual([third, second]);
    expect(await checkoutsOf({ created_before: middle })).toEqual([second, first]);
    await seller.client.customers.delete({ params: { id: external.id }, query: {} });
    expect(await checkoutsOf({ external_customer_id: "user-9" })).toEqual([]);
    expect(await checkoutsOf({ customer_id: external.id })).toEqual([third]);
  });

  test.each([
    ["created_at", ["Guide", "Map", "Guide"]],
    ["amount", ["Map", "Guide", "Guide"]],
    ["-net_amount", ["Guide", "Guide", "Map"]],
    ["customer", ["Guide", "Map", "Guide"]],
    ["-product", ["Map", "Guide", "Guide"]],
    ["-invoice_number", ["Guide", "Map", "Guide"]],
    ["discount", undefined],
    ["subscription", undefined],
    ["status", undefined],
  ])("sort by %s", async (sorting, names) => {
    await sell({ email: "a@example.com" });
    await sell({ product_id: map?.id, email: "b@example.com" });
    await sell({ email: "c@example.com" });
    const sorted = (await list({ sorting })).map((order) => order.product?.name);
    expect(sorted).toHaveLength(3);
    if (names) expect(sorted).toEqual(names);
  });

  test.each(["product", "discount", "customer"])(
    "pages sorted by %s, with their names twice, are the whole list cut",
    async (key) => {
      const { id: discount_id } = await seller.client.discounts.create({
        body: { name: "Tenth", type: "percentage", basis_points: 1000, duration: "once" },
      });
      for (const [product_id, body] of [
        [map?.id, {}],
        [guide?.id, {}],
        [guide?.id, { discount_id }],
        [map?.id, { discount_id }],
        [guide?.id, {}],
      ] as const)
        await sell({ email: "same@example.com", product_id, body });
      for (const sorting of [key, `-${key}`] as const) {
        const whole = await list({ sorting });
        const nameOf = ({ product, discount }: (typeof whole)[number]) =>
          key === "discount" ? (discount?.name ?? null) : (product?.name ?? null);
        if (key !== "customer") {
          const names = whole.map(nameOf);
          const inOrder = names.toSorted((a, b) =>
            a === b ? 0 : a === null ? 1 : b === null ? -1 : String(a) < String(b) ? -1 : 1,
          );
          expect(names).toEqual(sorting === key ? inOrder : inOrder.toReversed());
        }
        const pages = await Promise.all([1, 2, 3].map((page) => list({ sorting, page, limit: 2 })));
        expect(pages.flat().map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
      }
    },
  );

  test("pages hold each order once", async () => {
    for (let sales = 0; sales < 3; sales += 1) await sell();
    const pages = await Promise.all([1, 2].map((page) => seller.client.orders.list({ query: { page, limit: 2 } })));
    expect(pages[0]?.pagination).toEqual({ total_count: 3, max_page: 2 });
    expect(new Set(pages.flatMap(({ items }) => items.map(({ id }) => id))).size).toBe(3);
  });
});

describe("updates (ORD-25)", () => {
  test("name and address on the invoice change, and say so; null leaves them", async () => {
    await sell();
    const { id } = only(await list());
    const answer = await patch(id, {
      billing_name: "Ada Ltd",
      billing_address: { country: "FR", line1: "1 rue", city: "Nantes", postal_code: "44000" },
    });
    expect(answer).toMatchObject({
      status: 200,
      json: {
        billing_name: "Ada Ltd",
        billing_address: { country: "FR", city: "Nantes" },
        modified_at: expect.any(String),
      },
    });
    expect((await patch(id, { billing_name: null, billing_address: null })).json).toMatchObject({
      billing_name: "Ada Ltd",
      billing_address: { city: "Nantes" },
    });
    const told = await floe.deps.db
      .select()
      .from(events)
      .where(eq(events.organization_id, seller.organization_id))
      .orderBy(events.seq);
    expect(told.at(-1)).toMatchObject({ type: "order.updated", data: { id, billing_name: "Ada Ltd" } });
    // WHK-40: neither nulls nor the same values again are a change.
    await patch(id, { billing_name: "Ada Ltd" });
    const later = await floe.deps.db.select().from(events).where(eq(events.organization_id, seller.organization_id));
    expect(later).toHaveLength(told.length);
  });

  test("country and state stay, both faults together, and nothing else changes", async () => {
    await sell({ address: { country: "US", state: "NY", line1: "1 Main St", city: "New York", postal_code: "10001" } });
    const { id } = only(await list());
    const answer = await patch(id, { billing_name: "Other", billing_address: { country: "FR" } });
    expect(answer.status).toBe(422);
    expect((answer.json as { detail: { loc: string[] }[] }).detail.map(({ loc }) => loc.join("."))).toEqual([
      "body.billing_address.country",
      "body.billing_address.state",
    ]);
    expect((await seller.client.orders.get({ params: { id } })).billing_name).not.toBe("Other");
  });

  test("what is not theirs to change is not changed", async () => {
    await sell();
    const { id } = only(await list());
    await patch(id, { total_amount: 1, status: "refunded", metadata: { a: 1 } });
    expect(await seller.client.orders.get({ params: { id } })).toMatchObject({
      total_amount: 1900,
      status: "paid",
      metadata: {},
    });
  });
});
