import { and, eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { findLedgerFaults, loadLedger } from "../../server/billing/ledger.ts";
import { reconcilePayment } from "../../server/billing/payments/settlement.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { refunds } from "../../server/billing/refunds/tables.ts";
import { subscriptions } from "../../server/billing/subscriptions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { findDifferences } from "../../server/operations/verify/recompute.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { readInvoice } from "../support/printed.ts";
import { cards, openShop } from "../support/story.ts";

/** A change while the order of its period is unpaid: that order asks for less (ORD-31, SUB-62). */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
/** Shops that gave credit to somebody who never paid for it. */
const generous = new Set<string>();
afterEach(async () => {
  for (const { id } of await floe.deps.db.select({ id: organization.id }).from(organization))
    expect([id, generous.has(id) ? [] : findLedgerFaults(await loadLedger(floe.deps.db, id))]).toEqual([id, []]);
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

type Shop = Awaited<ReturnType<typeof openShop>>;
const trial = { trial_interval: "day", trial_interval_count: 1 };
const exclusive = (price_amount: number) => [{ amount_type: "fixed", price_amount, tax_behavior: "exclusive" }];
const german = { customer_billing_address: { country: "DE", line1: "1 Weg", city: "Berlin", postal_code: "10115" } };

const list = async (shop: Shop, id: string) => {
  const query = { subscription_id: [id], sorting: ["created_at"], limit: 100 };
  return (await shop.seller.client.orders.list({ query: query as never })).items;
};
const taken = async (shop: Shop) => {
  const { items } = await shop.seller.client.payments.list({ query: { status: ["succeeded"] } as never });
  return items.map(({ amount }) => amount);
};

/** The renewal of 100.00 on 1 June has failed, and it is 16 June. */
async function fallBehind(how = "invoice", { price = 10_000, taxed = false, credit = 0 } = {}) {
  const shop = await openShop(floe, "2026-05-31", { proration_behavior: how });
  if (taxed) {
    await shop.accepted("PATCH", `/v1/organizations/${shop.seller.organization_id}`, { country: "DE" });
    await shop.accepted("POST", "/v1/tax/registrations", { country: "DE" });
  }
  const small = await shop.sells("Small", exclusive(1000));
  const big = await shop.sells("Big", exclusive(price), trial);
  const id = await shop.subscribes(big, { card: cards.failing, buyer: taxed ? german : {} });
  if (credit > 0) {
    generous.add(shop.seller.organization_id);
    await shop.credits(id, credit);
  }
  await shop.on("2026-06-01");
  await shop.on("2026-06-16");
  return { shop, id, small, big };
}
const payUp = async (shop: Shop, id: string) => {
  const { customer_id } = await shop.get(id);
  return shop.changes(id, { payment_method_id: await shop.leaves(customer_id, cards.good) });
};

describe("ORD-31: what is given back of an unpaid order reduces it", () => {
  test.each(["invoice", "prorate"])("with %s: the next try charges the rest alone", async (how) => {
    const { shop, id, small } = await fallBehind(how);
    await shop.told();
    const shown = await shop.previews(id, { product_id: small });
    expect([shown.charge, shown.reduced_amount, shown.later.map(({ amount }) => amount)]).toEqual([null, 5000, [500]]);
    expect(await shop.changes(id, { product_id: small, quote: shown.quote })).toBe("done");
    const [, open, document] = await list(shop, id);
    expect(open).toMatchObject({ status: "pending", total_amount: 10_000, reduced_amount: 5000, due_amount: 5000 });
    expect(document).toMatchObject({
      ...{ status: "pending", total_amount: -5000, due_amount: 0, reduces_order_id: open?.id },
      items: [{ amount: -5000, reverses_order_id: open?.id }],
    });
    expect(await shop.told()).toEqual(["subscription.updated", "order.created pending", "order.updated pending"]);
    expect(await shop.balance(id)).toBe(0);
    expect(await payUp(shop, id)).toBe("done");
    expect(await taken(shop)).toEqual([5000]);
    expect(await shop.state(id)).toMatch(/^active 1000 /);
    expect((await shop.told()).filter((one) => one.startsWith("order.")).slice(-4)).toEqual([
      ...["order.updated paid", "order.paid paid", "order.updated paid", "order.paid paid"],
    ]);
    await shop.on("2026-07-01");
    // The rest of June, and July.
    expect((await shop.orders(id)).at(-1)).toBe("2026-07-01 cycle 1500 paid");
    const numbers = (await list(shop, id)).map(({ invoice_number }) => invoice_number.slice(-4));
    expect(numbers.slice(0, 3)).toEqual(["0001", "0002", "0003"]);
  });

  test("its tax is that of the order, and a refund of all gives back what was paid", async () => {
    const { shop, id, small } = await fallBehind("invoice", { taxed: true });
    const { customer_id } = await shop.get(id);
    await shop.accepted("PATCH", `/v1/customers/${customer_id}`, {
      billing_address: { ...german.customer_billing_address, country: "FR" },
    });
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    const [, open, document] = await list(shop, id);
    expect(document).toMatchObject({ net_amount: -5000, tax_amount: -950, billing_address: { country: "DE" } });
    expect(open).toMatchObject({ reduced_amount: 5000, reduced_tax_amount: 950, due_amount: 5950 });
    for (const one of [open, document]) {
      const told = await shop.seller.client.orders.explain({ params: { id: one?.id ?? "" } });
      expect(findDifferences(told as never)).toEqual([]);
    }
    const [asked, given] = await Promise.all(
      [open, document].map((one) => readInvoice(floe, shop.seller.organization_id, one?.id)),
    );
    if (!asked || !given) throw new Error("Nothing was printed.");
    expect(asked.sums).toContainEqual(["Vor der Zahlung gutgeschrieben", -5950]);
    expect(asked.sums.at(-1)).toEqual(["Zu zahlen", 5950]);
    expect(given.lines[0]).toMatch(new RegExp(`^Remaining time on Big — .* — Zu Rechnung ${open?.invoice_number}$`));
    expect(given.sums.slice(-2)).toEqual([
      [`Abgezogen von Rechnung ${open?.invoice_number}`, 5950],
      ["Zu zahlen", 0],
    ]);
    await payUp(shop, id);
    expect(await taken(shop)).toEqual([5950]);
    const { client } = shop.seller;
    const { refundable_amount, refundable_tax_amount } = await client.orders.get({ params: { id: open?.id ?? "" } });
    expect([refundable_amount, refundable_tax_amount]).toEqual([5000, 950]);
    await shop.accepted("POST", "/v1/refunds/", { order_id: open?.id, amount: 5000, reason: "other" });
    expect((await client.orders.get({ params: { id: open?.id ?? "" } })).status).toBe("refunded");
    expect(await shop.balance(id)).toBe(0);
  });

  test("where nothing is left that a card can be charged with, it is paid without a charge", async () => {
    const { shop, id } = await fallBehind("prorate", { price: 100 });
    await shop.told();
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    await shop.set("2026-06-15");
    expect(await shop.changes(id, { product_id: free })).toBe("done");
    expect(await shop.state(id)).toMatch(/^active 0 /);
    expect((await shop.orders(id)).slice(1)).toEqual([
      "2026-06-01 cycle 100 due 0 paid",
      "2026-06-15 update -53 due 0 paid",
    ]);
    expect(await taken(shop)).toEqual([]);
    // 47 cents are less than a card can be charged with, and owed.
    expect(await shop.balance(id)).toBe(-47);
    expect(await shop.told()).toEqual([
      ...["subscription.updated", "order.created pending", "subscription.updated", "subscription.active"],
      ...["order.updated paid", "order.paid paid", "order.updated paid", "order.paid paid"],
    ]);
  });

  test("credit that the order took beyond what is left of it goes back", async () => {
    const { shop, id } = await fallBehind("prorate", { credit: 8000 });
    const free = await shop.sells("Free", [{ amount_type: "free" }]);
    expect(await shop.balance(id)).toBe(0);
    expect(await shop.changes(id, { product_id: free })).toBe("done");
    expect(await shop.balance(id)).toBe(3000);
    expect((await shop.orders(id))[1]).toBe("2026-06-01 cycle 10000 due 0 paid");
  });

  test("void, nothing is left of it", async () => {
    const { shop, id, small } = await fallBehind("invoice", { credit: 1000 });
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    expect(await shop.balance(id)).toBe(0);
    await shop.on("2026-07-10");
    expect((await shop.get(id)).status).toBe("canceled");
    expect((await shop.orders(id)).map((line) => line.split(" ").at(-1))).toEqual(["paid", "void", "void"]);
    // The credit that it had taken.
    expect(await shop.balance(id)).toBe(1000);
  });

  test("a second change gives back no more than what is left", async () => {
    const { shop, id, small, big } = await fallBehind("prorate");
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    expect(await shop.changes(id, { product_id: big })).toBe("done");
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    const [, open] = await list(shop, id);
    expect(open).toMatchObject({ reduced_amount: 5000, due_amount: 5000 });
  });

  test("what is dearer is charged at once, and the old order reduced with it, or nothing changes", async () => {
    const { shop, id } = await fallBehind();
    const huge = await shop.sells("Huge", exclusive(50_000));
    expect(await shop.changes(id, { product_id: huge })).toBe("402 PaymentFailed");
    expect((await shop.orders(id)).at(-1)).toBe("2026-06-01 cycle 10000 pending");
    const { customer_id } = await shop.get(id);
    const payment_method_id = await shop.leaves(customer_id, cards.good);
    await floe.deps.db.update(subscriptions).set({ payment_method_id }).where(eq(subscriptions.id, id));
    expect(await shop.changes(id, { product_id: huge })).toBe("done");
    expect((await shop.orders(id)).slice(1)).toEqual([
      ...[
        "2026-06-01 cycle 10000 due 5000 pending",
        "2026-06-16 update 25000 paid",
        "2026-06-16 update -5000 due 0 pending",
      ],
    ]);
    expect(await taken(shop)).toEqual([25_000]);
    expect(await shop.balance(id)).toBe(0);
  });
});

describe("a payment that is under way", () => {
  test("late success of a try for more than is due goes back, and the rest is still asked for", async () => {
    const { shop, id, small } = await fallBehind();
    const { organization_id } = shop.seller;
    const [tried] = await floe.deps.db.select().from(payments).where(eq(payments.organization_id, organization_id));
    expect(await shop.changes(id, { product_id: small })).toBe("done");
    if (!tried) throw new Error("Nothing was tried.");
    const mine = and(eq(testIntents.organization_id, organization_id), eq(testIntents.payment_id, tried.id));
    await floe.deps.db.update(testIntents).set({ status: "succeeded" }).where(mine);
    await reconcilePayment(floe.deps, tried);
    await floe.runJobs();
    const [, open] = await list(shop, id);
    expect(open).toMatchObject({ status: "pending", due_amount: 5000 });
    const back = await floe.deps.db.select().from(refunds).where(eq(refunds.payment_id, tried.id));
    expect(back).toMatchObject([{ is_surplus: true, amount: 10_000, reason: "duplicate" }]);
  });
});
