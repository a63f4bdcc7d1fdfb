import { readFileSync } from "node:fs";
import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { disputes } from "../../server/billing/disputes/tables.ts";
import { findLedgerFaults, loadLedger } from "../../server/billing/ledger.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { verifyOrganization } from "../../server/operations/verify/service.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { testDisputes } from "../../server/platform/processors/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";

/** What a change gives back: never more than was paid for it and is still here, with the tax that it was sold with. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
const checkBooks = async (organization_id: string) => {
  expect(findLedgerFaults(await loadLedger(floe.deps.db, organization_id))).toEqual([]);
  const asked = { organization_id, kept_since: null, statementMs: 10_000, rest: async () => undefined };
  expect(await verifyOrganization(floe.deps.db, asked)).toEqual([]);
};
afterEach(async () => {
  for (const { id } of await floe.deps.db.select({ id: organization.id }).from(organization)) await checkBooks(id);
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

type Shop = Awaited<ReturnType<typeof openShop>>;
const lastOrder = async (shop: Shop, id: string) => {
  const { items } = await shop.seller.client.orders.list({ query: { subscription_id: [id], limit: 1 } as never });
  const [order] = items;
  if (!order) throw new Error("There is no order.");
  return order;
};
const firstOrder = async (shop: Shop, id: string) => {
  const query = { subscription_id: [id], sorting: ["created_at"], limit: 1 };
  const { items } = await shop.seller.client.orders.list({ query: query as never });
  const [order] = items;
  if (!order) throw new Error("There is no order.");
  return order;
};
/** Orders as they were before credits named the line that they give back, brought to what they are now by the migration. */
async function forgetCreditedLines(organization_id: string): Promise<void> {
  const { db } = floe.deps;
  const isOwn = sql`organization_id = ${organization_id}`;
  await db.execute(sql`update order_items set reverses_item_id = null, tax_amount = 0 where ${isOwn}`);
  await db.execute(sql`update orders set derivation = jsonb_set(derivation, '{lines}',
    (select jsonb_agg(line - 'reverses') from jsonb_array_elements(derivation->'lines') line)) where ${isOwn}`);
  const migration = readFileSync("server/migrations/0017_linked_credits.sql", "utf8");
  await db.execute(sql.raw(migration));
}
const trial = { trial_interval: "day", trial_interval_count: 1 };
const seats = (price_per_seat: number) => [
  { amount_type: "seat_based", seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat }] } },
];

describe("SUB-38: of what was not paid nothing is given back", () => {
  test.each(["invoice", "prorate"])(
    "down while past due, with %s: there is no credit, whatever follows",
    async (how) => {
      const shop = await openShop(floe, "2026-05-31", { proration_behavior: how });
      const small = await shop.sells("Small", 1000);
      const id = await shop.subscribes(await shop.sells("Big", 100_000, trial), { card: cards.failing });
      await shop.on("2026-06-01");
      expect(await shop.state(id)).toMatch(/^past_due 100000/);
      await shop.set("2026-06-02");
      expect(await shop.changes(id, { product_id: small })).toBe("done");
      expect(await shop.balance(id)).toBe(0);
      await shop.on("2026-07-10");
      expect((await shop.get(id)).status).toBe("canceled");
      expect(await shop.balance(id)).toBe(0);
      expect((await shop.orders(id)).slice(1)).toEqual([
        expect.stringMatching(/^2026-06-01 cycle 100000 due \d+ void$/),
        expect.stringMatching(/^2026-06-02 update -\d+ due 0 void$/),
      ]);
    },
  );

  test("renewals that fall into dunning give nothing back either", async () => {
    const shop = await openShop(floe, "2026-05-31");
    const weekly = { recurring_interval: "week" };
    const small = await shop.sells("Small", 1000, weekly);
    const id = await shop.subscribes(await shop.sells("Big", 100_000, { ...weekly, ...trial }), {
      card: cards.failing,
    });
    await shop.on("2026-06-01");
    await shop.set("2026-06-02");
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    for (const date of ["2026-06-08", "2026-06-15", "2026-06-22", "2026-06-29", "2026-07-10"]) {
      await shop.on(date);
      expect([date, await shop.balance(id)]).toEqual([date, 0]);
    }
    expect((await shop.get(id)).status).toBe("canceled");
  });

  test("nor are fewer seats; who pays after all pays for what they had", async () => {
    const shop = await openShop(floe, "2026-05-31", { proration_behavior: "invoice" });
    const id = await shop.subscribes(await shop.sells("Team", seats(1000), trial), {
      card: cards.failing,
      checkout: { seats: 10 },
    });
    await shop.on("2026-06-01");
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { seats: 2 })).toBe("done");
    expect(await shop.balance(id)).toBe(0);
    const { customer_id } = await shop.get(id);
    const good = await shop.leaves(customer_id, cards.good);
    expect(await shop.changes(id, { payment_method_id: good })).toBe("done");
    await shop.on("2026-07-01");
    const { items } = await shop.seller.client.payments.list({ query: { status: ["succeeded"] } as never });
    // Ten seats for a half, two for the other, and two for July.
    expect(items.reduce((sum, { amount }) => sum + amount, 0) - (await shop.balance(id))).toBe(8000);
  });

  test.each([
    ["refunded", cards.good],
    ["lost to a dispute", "pm_card_createDispute"],
  ])("what was %s is not given back once more", async (how, card) => {
    const shop = await openShop(floe, "2026-06-01", { proration_behavior: "invoice" });
    const small = await shop.sells("Small", 1000);
    const id = await shop.subscribes(await shop.sells("Big", 10_000), { card });
    const order = await firstOrder(shop, id);
    if (how === "refunded")
      await shop.accepted("POST", "/v1/refunds/", { order_id: order.id, amount: 10_000, reason: "other" });
    else {
      const [dispute] = (await shop.seller.client.disputes.list({ query: { order_id: [order.id] } as never })).items;
      await shop.accepted("POST", `/v1/disputes/${dispute?.id}/accept`);
    }
    await floe.runJobs();
    await shop.set("2026-06-04");
    await shop.changes(id, { product_id: small });
    expect(await shop.balance(id)).toBe(0);
  });
});

describe("RFD-13: money that goes back takes the credit of its own order along", () => {
  const lower = async (card: string) => {
    const shop = await openShop(floe, "2026-06-01", { proration_behavior: "invoice" });
    const small = await shop.sells("Small", 1000);
    const id = await shop.subscribes(await shop.sells("Big", 10_000), { card });
    const order = await firstOrder(shop, id);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    expect(await shop.balance(id)).toBe(4500);
    return { shop, id, order };
  };
  const owes = async (shop: Shop) => {
    const rows = await floe.deps.db.select().from(mails).where(eq(mails.to, shop.seller.email));
    return rows.flatMap(({ subject }) => / owes (.*)$/.exec(subject)?.[1] ?? []);
  };
  const refund = (shop: Shop, order_id: string, amount: number) =>
    shop.accepted("POST", "/v1/refunds/", { order_id, amount, reason: "other" });

  test("a refund takes as much as goes back, and no more than there was", async () => {
    const { shop, id, order } = await lower(cards.good);
    await refund(shop, order.id, 3000);
    expect(await shop.balance(id)).toBe(1500);
    await refund(shop, order.id, 7000);
    // Of 100.00 all has gone back, and 5.00 of the small one are owed for.
    expect(await shop.balance(id)).toBe(-500);
    expect(await owes(shop)).toEqual(["$5.00"]);
  });

  test("a refund of a credit that was spent is owed, and the seller is told", async () => {
    const { shop, id, order } = await lower(cards.good);
    for (const date of ["2026-07-01", "2026-08-01", "2026-09-01", "2026-10-01"]) await shop.on(date);
    expect(await shop.balance(id)).toBe(500);
    await refund(shop, order.id, 10_000);
    expect(await shop.balance(id)).toBe(-4500);
    expect(await owes(shop)).toEqual(["$45.00"]);
    await shop.on("2026-11-01");
    expect((await shop.orders(id)).at(-1)).toBe("2026-11-01 cycle 1000 due 5500 paid");
  });

  test("a refund of another order leaves it alone", async () => {
    const { shop, id } = await lower(cards.good);
    const { customer_id } = await shop.get(id);
    const { email } = await shop.seller.client.customers.get({ params: { id: customer_id } });
    const other = await shop.subscribes(await shop.sells("Other", 2500), { buyer: { customer_email: email } });
    await refund(shop, (await firstOrder(shop, other)).id, 2500);
    expect(await shop.balance(id)).toBe(4500);
  });

  const exclusive = (price_amount: number) => [{ amount_type: "fixed", price_amount, tax_behavior: "exclusive" }];
  test.each([
    ["in full", 10_000, -595],
    ["in part", 2500, 5355 - 2975],
  ])("a refund %s takes a credit that was granted before credits named their line", async (_how, refunded, left) => {
    const shop = await openShop(floe, "2026-06-01", { proration_behavior: "invoice" });
    const { organization_id } = shop.seller;
    await shop.accepted("PATCH", `/v1/organizations/${organization_id}`, { country: "DE" });
    await shop.accepted("POST", "/v1/tax/registrations", { country: "DE" });
    const small = await shop.sells("Small", exclusive(1000));
    const buyer = { customer_billing_address: { country: "DE", line1: "1 Weg", city: "Ulm", postal_code: "89073" } };
    const id = await shop.subscribes(await shop.sells("Big", exclusive(10_000)), { buyer });
    const order = await firstOrder(shop, id);
    await shop.set("2026-06-16");
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    // Half of 119.00 goes back, and half of 11.90 is charged.
    expect(await shop.balance(id)).toBe(5950 - 595);
    await forgetCreditedLines(organization_id);
    await refund(shop, order.id, refunded);
    expect(await shop.balance(id)).toBe(left);
  });

  test("a dispute that is lost takes it, and gives it back where it is won after all", async () => {
    const { shop, id, order } = await lower("pm_card_createDisputeInquiry");
    const [dispute] = (await shop.seller.client.disputes.list({ query: { order_id: [order.id] } as never })).items;
    const [row] = await floe.deps.db
      .select()
      .from(disputes)
      .where(eq(disputes.id, dispute?.id ?? ""));
    for (const [status, balance] of [
      ["lost", -500],
      ["won", 4500],
    ] as const) {
      // The bank thinks better of it.
      await floe.deps.db.update(testDisputes).set({ status: "needs_response" });
      await floe.deps.processor.test?.decideDispute(row?.processor_id ?? "", status);
      await floe.runJobs();
      expect([status, await shop.balance(id)]).toEqual([status, balance]);
      await checkBooks(shop.seller.organization_id);
    }
  });
});

describe("what is given back bears the tax that it was sold with", () => {
  const openTaxed = async (at = "2026-06-01") => {
    const shop = await openShop(floe, at, { proration_behavior: "invoice" });
    const { organization_id } = shop.seller;
    await shop.accepted("PATCH", `/v1/organizations/${organization_id}`, { country: "DE" });
    return shop;
  };
  const register = async (shop: Shop, body: object) =>
    void (await shop.accepted("POST", "/v1/tax/registrations", body));
  const move = async (shop: Shop, id: string, body: object) => {
    const { customer_id } = await shop.get(id);
    await shop.accepted("PATCH", `/v1/customers/${customer_id}`, body);
  };
  const exclusive = (price_amount: number) => [{ amount_type: "fixed", price_amount, tax_behavior: "exclusive" }];
  const inclusive = (price_amount: number) => [{ amount_type: "fixed", price_amount, tax_behavior: "inclusive" }];
  const from = (country: string, more: object = {}) => ({
    buyer: {
      customer_billing_address: { country, line1: "1 Street", city: "Town", postal_code: "10001", ...more },
    },
  });
  const figures = async (shop: Shop, id: string) => {
    const { net_amount, tax_amount, total_amount } = await lastOrder(shop, id);
    return [net_amount, tax_amount, total_amount];
  };
  const taxesOf = async (shop: Shop, id: string) => {
    const order = await lastOrder(shop, id);
    const { derivation } = await shop.seller.client.orders.explain({ params: { id: order.id } });
    return derivation.tax_lines.map(({ country, rate, amount }) => `${country} ${rate} ${amount}`);
  };

  test("sold to the US without tax, the customer has moved to Hungary", async () => {
    const shop = await openTaxed();
    for (const one of [{ country: "DE" }, { country: "DE", scheme: "oss" }]) await register(shop, one);
    const year = { recurring_interval: "year" };
    const small = await shop.sells("Small", exclusive(1000), year);
    const id = await shop.subscribes(await shop.sells("Big", exclusive(100_000), year), from("US", { state: "US-NY" }));
    await move(shop, id, { billing_address: { country: "HU" } });
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    const { items } = await lastOrder(shop, id);
    expect(items[0]).toMatchObject({ amount: -100_000, tax_amount: 0 });
    expect(await taxesOf(shop, id)).toEqual(["HU 27 270"]);
    expect(await shop.balance(id)).toBe(100_000 - 1270);
  });

  test("sold in Luxembourg, the customer has moved to Hungary: the tax of Luxembourg goes back", async () => {
    const shop = await openTaxed();
    for (const one of [{ country: "DE" }, { country: "DE", scheme: "oss" }]) await register(shop, one);
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    const id = await shop.subscribes(await shop.sells("Big", exclusive(10_000)), from("LU"));
    await shop.set("2026-06-16");
    await move(shop, id, { billing_address: { country: "HU" } });
    const shown = await shop.previews(id, { product_id: free });
    expect(await shop.changes(id, { product_id: free, quote: shown.quote })).toBe("done");
    expect(await figures(shop, id)).toEqual([-5000, -850, -5850]);
    expect(await taxesOf(shop, id)).toEqual(["LU 17 -850"]);
  });

  test("sold with 20 within, the customer has a tax number by now", async () => {
    const shop = await openTaxed();
    for (const one of [{ country: "DE" }, { country: "DE", scheme: "oss" }]) await register(shop, one);
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    const id = await shop.subscribes(await shop.sells("Big", inclusive(12_000)), from("FR"));
    await shop.set("2026-06-16");
    await move(shop, id, { tax_id: "FR40303265045" });
    expect(await shop.changes(id, { product_id: free })).toBe("done");
    expect(await figures(shop, id)).toEqual([-5000, -1000, -6000]);
    expect(await taxesOf(shop, id)).toEqual(["FR 20 -1000"]);
  });

  test("sold without tax, the seller has registered since", async () => {
    const shop = await openTaxed();
    const free = await shop.sells("Free", [{ amount_type: "free" }], { recurring_interval: "year" });
    const id = await shop.subscribes(
      await shop.sells("Big", exclusive(100_000), { recurring_interval: "year" }),
      from("DE"),
    );
    await register(shop, { country: "DE" });
    expect(await shop.changes(id, { product_id: free })).toBe("done");
    expect(await figures(shop, id)).toEqual([-100_000, 0, -100_000]);
  });
});
