import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { customers } from "../../server/customers/customers/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { openShop } from "../support/story.ts";

/** Subscribers who are moved to other prices, date by date (SUB-67, SUB-68). */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

type Shop = Awaited<ReturnType<typeof openShop>>;
const fixed = (price_amount: number, price_currency = "usd") => [
  { amount_type: "fixed", price_amount, price_currency },
];
const raise = (shop: Pick<Shop, "accepted">, id: string, price: number) =>
  shop.accepted("PATCH", `/v1/products/${id}`, { prices: fixed(price) });

/** A customer who reads English. */
const reader = { customer_billing_address: { country: "ES" } };

async function openMove(at = "2027-01-04") {
  const opened = await openShop(floe, at);
  const shop = {
    ...opened,
    subscribes: (id: string, sale: Parameters<Shop["subscribes"]>[1] = {}) =>
      opened.subscribes(id, { buyer: reader, ...sale }),
  };
  const { client } = shop.seller;
  const move = async (product_id: string, to_product_id = product_id, notify_days = 30) => {
    const { id } = await client.subscriptionMigrations.create({ body: { product_id, to_product_id, notify_days } });
    await floe.runJobs();
    return id;
  };
  const get = (id: string) => client.subscriptionMigrations.get({ params: { id } });
  const items = async (id: string) =>
    (await client.subscriptionMigrations.items({ params: { id }, query: { limit: 100 } })).items;
  const subjects = async (id: string) => {
    const { customer } = await shop.get(id);
    return (await mailsTo(floe, customer.email ?? "")).reverse().map(({ subject }) => subject);
  };
  const lastMail = async (id: string) => {
    const { customer } = await shop.get(id);
    return (await mailsTo(floe, customer.email ?? ""))[0]?.text ?? "";
  };
  return { shop, client, move, get, items, subjects, lastMail };
}
const announced = "The price of your subscription to News changes";
const withdrawn = "Your subscription to News stays as it is";

describe("SUB-67: subscribers pay a new price from the first renewal after the notice", () => {
  test("a monthly one is told, renewed once at the old price, and then at the new one", async () => {
    const { shop, move, get, items, subjects, lastMail } = await openMove();
    const news = await shop.sells("News", 1900);
    const id = await shop.subscribes(news);
    await raise(shop, news, 2400);
    const { client } = shop.seller;
    const body = { product_id: news, to_product_id: news };
    expect(await client.subscriptionMigrations.preview({ body })).toMatchObject({
      ...{ total_count: 1, moving: 1, skipped: 0 },
      items: [{ subscription_id: id, old_amount: 1900, new_amount: 2400, currency: "usd", reason: null }],
    });
    // Thirty days from the fourth of January are the third of February: the renewal of the fourth is late enough.
    await shop.on("2027-01-10");
    const moved = await move(news);
    expect(await get(moved)).toMatchObject({ status: "running", notified: 1, scheduled: 0, found: 0 });
    expect((await subjects(id)).filter((subject) => subject === announced)).toHaveLength(1);
    expect(await lastMail(id)).toContain("From 4 March 2027 on, News from");
    expect(await lastMail(id)).toContain("costs US$24.00 instead of US$19.00 per billing period, before tax.");
    expect(await lastMail(id)).toContain("cancel your subscription before 4 March 2027.");
    // Later prices of the product are not those that were announced.
    await raise(shop, news, 9900);
    await shop.on("2027-02-05");
    expect(await get(moved)).toMatchObject({ status: "running", scheduled: 1 });
    expect((await shop.get(id)).pending_update).toMatchObject({ product_id: news });
    await shop.on("2027-03-05");
    expect(await shop.orders(id)).toEqual([
      "2027-01-04 create 1900 paid",
      "2027-02-05 cycle 1900 paid",
      "2027-03-05 cycle 2400 paid",
    ]);
    expect(await get(moved)).toMatchObject({ status: "done", applied: 1 });
    expect(await items(moved)).toMatchObject([{ state: "applied", old_amount: 1900, new_amount: 2400 }]);
    expect((await subjects(id)).filter((subject) => subject.includes("change"))).toEqual([announced]);
  });

  test("with the next renewal where that is late enough; and to another product, with its benefits", async () => {
    const { shop, move, get, lastMail } = await openMove();
    const [news, pro] = [await shop.sells("News", 1900), await shop.sells("Pro", 1500)];
    const id = await shop.subscribes(news);
    const moved = await move(news, pro, 7);
    expect(await get(moved)).toMatchObject({ scheduled: 1 });
    expect(await lastMail(id)).toContain("becomes Pro.");
    await shop.on("2027-02-05");
    expect((await shop.orders(id)).at(-1)).toBe("2027-02-05 cycle 1500 paid");
    expect(await shop.get(id)).toMatchObject({ product_id: pro, pending_update: null });
    expect(await get(moved)).toMatchObject({ status: "done", applied: 1 });
  });

  test("a period whose end is moved to before the day that was told has the old price", async () => {
    const { shop, move, get } = await openMove();
    const news = await shop.sells("News", 1900);
    const id = await shop.subscribes(news);
    await raise(shop, news, 2400);
    const moved = await move(news);
    expect(await get(moved)).toMatchObject({ scheduled: 1 });
    await shop.changes(id, { current_billing_period_end: "2027-01-20T00:00:00Z" });
    await shop.on("2027-01-21");
    expect((await shop.orders(id)).at(-1)).toBe("2027-01-21 cycle 1900 paid");
    expect(await get(moved)).toMatchObject({ scheduled: 1 });
    await shop.on("2027-02-21");
    expect((await shop.orders(id)).at(-1)).toBe("2027-02-21 cycle 2400 paid");
    expect(await get(moved)).toMatchObject({ status: "done", applied: 1 });
  });

  test("of ten that begin at once one does, and of workers at once each customer is told once", async () => {
    const { shop, client, get, subjects } = await openMove();
    const news = await shop.sells("News", 1900);
    const subscribed = [await shop.subscribes(news), await shop.subscribes(news), await shop.subscribes(news)];
    await raise(shop, news, 2400);
    const body = { product_id: news, to_product_id: news };
    const begun = await Promise.allSettled(
      Array.from({ length: 10 }, () => client.subscriptionMigrations.create({ body })),
    );
    const made = begun.flatMap((one) => (one.status === "fulfilled" ? one.value.id : []));
    expect(made).toHaveLength(1);
    await Promise.all([floe.runJobs(), floe.runJobs(), floe.runJobs()]);
    expect(await get(made[0] ?? "")).toMatchObject({ scheduled: 3, found: 0 });
    for (const id of subscribed) expect((await subjects(id)).filter((one) => one === announced)).toHaveLength(1);
  });

  test("the mail is sent whatever the seller has switched off, in the customer's language", async () => {
    const { shop, move, lastMail } = await openMove();
    const params = { id: shop.seller.organization_id };
    const { customer_email_settings } = await shop.seller.client.organizations.get({ params });
    const off = Object.fromEntries(Object.keys(customer_email_settings).map((name) => [name, false]));
    await shop.accepted("PATCH", `/v1/organizations/${params.id}`, { customer_email_settings: off });
    const news = await shop.sells("News", 1900);
    const german = await shop.subscribes(news, { buyer: { customer_billing_address: { country: "DE" } } });
    const french = await shop.subscribes(news, { buyer: { customer_billing_address: { country: "FR" } } });
    await raise(shop, news, 2400);
    await move(news);
    expect(await lastMail(german)).toMatch(/Ab dem 4\. Februar 2027 kostet News .* statt 19,00/);
    expect(await lastMail(french)).toMatch(/À partir du 4 février 2027, News .* au lieu de 19,00/);
  });
});

describe("SUB-68: a subscription is left alone", () => {
  test("who has canceled, changed, paused, pays in another currency, or cannot be told", async () => {
    const { shop, client, move, get, items, subjects } = await openMove();
    const both = [...fixed(1900), ...fixed(1700, "eur")];
    const [news, other] = [await shop.sells("News", both as never), await shop.sells("Other", 900)];
    const [goes, changes, euro, silent, stays] = [
      await shop.subscribes(news),
      await shop.subscribes(news),
      await shop.subscribes(news, { checkout: { currency: "eur" } }),
      await shop.subscribes(news),
      await shop.subscribes(news),
    ];
    await shop.changes(goes, { cancel_at_period_end: true });
    await shop.changes(changes, { product_id: other, proration_behavior: "next_period" });
    await floe.deps.db
      .update(customers)
      .set({ email: null })
      .where(eq(customers.id, (await shop.get(silent)).customer_id));
    await raise(shop, news, 2400);
    const body = { product_id: news, to_product_id: news };
    const previewed = await client.subscriptionMigrations.preview({ body });
    const moved = await move(news);
    const reasons = {
      [goes]: "canceled",
      [changes]: "changed",
      [euro]: "currency",
      [silent]: "no_email",
      [stays]: null,
    };
    for (const shown of [previewed.items, await items(moved)])
      expect(Object.fromEntries(shown.map((one) => [one.subscription_id, one.reason]))).toEqual(reasons);
    expect(await get(moved)).toMatchObject({ skipped: 4, scheduled: 1 });
    for (const id of [goes, changes, euro]) expect(await subjects(id)).not.toContain(announced);
    await shop.on("2027-02-05");
    expect((await shop.orders(euro)).at(-1)).toBe("2027-02-05 cycle 1700 paid");
    expect((await shop.orders(changes)).at(-1)).toBe("2027-02-05 cycle 900 paid");
  });

  test("who cancels or changes after the notice", async () => {
    const { shop, move, items } = await openMove();
    const [news, other] = [await shop.sells("News", 1900), await shop.sells("Other", 900)];
    const [goes, changes, later] = [
      await shop.subscribes(news),
      await shop.subscribes(news),
      await shop.subscribes(news),
    ];
    await raise(shop, news, 2400);
    await shop.on("2027-01-10");
    const moved = await move(news);
    await shop.changes(goes, { cancel_at_period_end: true });
    await shop.changes(changes, { product_id: other, proration_behavior: "prorate" });
    await shop.on("2027-02-05");
    await shop.changes(later, { product_id: other, proration_behavior: "next_period" });
    await shop.on("2027-03-05");
    const byId = new Map((await items(moved)).map((one) => [one.subscription_id, [one.state, one.reason]]));
    expect([goes, changes, later].map((id) => byId.get(id))).toEqual([
      ["skipped", "canceled"],
      ["skipped", "changed"],
      ["skipped", "changed"],
    ]);
    expect((await shop.orders(later)).at(-1)).toBe("2027-03-05 cycle 900 paid");
  });
});

describe("SUB-69: a move is stopped and undone before it takes effect", () => {
  test("stopped, nobody else is told; resumed, it goes on", async () => {
    const { shop, client, get, subjects } = await openMove();
    const news = await shop.sells("News", 1900);
    const id = await shop.subscribes(news);
    await raise(shop, news, 2400);
    const body = { product_id: news, to_product_id: news };
    const { id: moved } = await client.subscriptionMigrations.create({ body });
    expect(await client.subscriptionMigrations.stop({ params: { id: moved } })).toMatchObject({ status: "stopped" });
    await floe.runJobs();
    expect(await subjects(id)).not.toContain(announced);
    await client.subscriptionMigrations.resume({ params: { id: moved } });
    await floe.runJobs();
    expect(await get(moved)).toMatchObject({ status: "running", scheduled: 1 });
    expect(await subjects(id)).toContain(announced);
  });

  test("undone, scheduled changes are gone, each customer is told, and a new move may begin", async () => {
    const { shop, client, move, get, subjects } = await openMove();
    const news = await shop.sells("News", 1900);
    const [scheduled, told] = [await shop.subscribes(news), await shop.subscribes(news)];
    await shop.changes(told, { current_billing_period_end: "2027-01-20T00:00:00Z" });
    await raise(shop, news, 2400);
    const moved = await move(news);
    expect(await get(moved)).toMatchObject({ scheduled: 1, notified: 1 });
    const body = { product_id: news, to_product_id: news };
    await expect(client.subscriptionMigrations.create({ body })).rejects.toThrow("being moved already");
    await client.subscriptionMigrations.undo({ params: { id: moved } });
    await floe.runJobs();
    expect(await get(moved)).toMatchObject({ status: "undone", undone: 2 });
    for (const id of [scheduled, told]) expect((await subjects(id)).at(-1)).toBe(withdrawn);
    await shop.on("2027-03-05");
    for (const id of [scheduled, told]) expect((await shop.orders(id)).at(-1)).toMatch(/cycle 1900 paid$/);
    // Undone again, or after its end, nothing happens.
    expect(await client.subscriptionMigrations.undo({ params: { id: moved } })).toMatchObject({ status: "undone" });
    expect((await move(news)).length).toBe(36);
  });

  test("undone after the renewal, what was paid stays", async () => {
    const { shop, client, move, get } = await openMove();
    const news = await shop.sells("News", 1900);
    const id = await shop.subscribes(news);
    await raise(shop, news, 2400);
    const moved = await move(news);
    await shop.on("2027-02-04");
    await client.subscriptionMigrations.undo({ params: { id: moved } });
    await floe.runJobs();
    expect(await get(moved)).toMatchObject({ applied: 1, undone: 0 });
    expect((await shop.get(id)).amount).toBe(2400);
  });
});

test("SUB-67: what cannot be moved to is refused at its place", async () => {
  const { shop, client } = await openMove();
  const [news, once, yearly, asked] = [
    await shop.sells("News", 1900),
    await shop.sells("Book", 1900, { recurring_interval: null }),
    await shop.sells("Yearly", 9900, { recurring_interval: "year" }),
    await shop.sells("Tip", [{ amount_type: "custom", minimum_amount: 100 }]),
  ];
  const create = (product_id: string, to_product_id: string) =>
    shop.send("POST", "/v1/subscription-migrations/", { product_id, to_product_id });
  const stranger = await floe.seller();
  const theirs = await stranger.client.products.create({
    body: { name: "Theirs", recurring_interval: "month", prices: fixed(100) as never },
  });
  for (const [from, to, field] of [
    [once, news, "product_id"],
    [theirs.id, news, "product_id"],
    [news, once, "to_product_id"],
    [news, yearly, "to_product_id"],
    [news, asked, "to_product_id"],
    [news, theirs.id, "to_product_id"],
  ] as const) {
    const { status, json } = await create(from, to);
    const [at] = json.detail as { loc: string[] }[];
    expect([status, at?.loc]).toEqual([422, ["body", field]]);
  }
  const { id } = await client.subscriptionMigrations.create({ body: { product_id: news, to_product_id: news } });
  await expect(stranger.client.subscriptionMigrations.get({ params: { id } })).rejects.toThrow();
  await expect(stranger.client.subscriptionMigrations.undo({ params: { id } })).rejects.toThrow();
});
