import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assertQuote,
  checkAddress,
  computeTotals,
  digestTerms,
  isPaid,
  isPayable,
  moveOrder,
  type OrderAggregate,
  type OrderRow,
  type Quote,
  quoteOf,
  serializeOrder,
} from "../../server/orders/rules.ts";
import type { Address } from "../../shared/addresses.ts";
import { orderStatuses } from "../../shared/api/orders.ts";

const amount = fc.integer({ min: 0, max: 99_999_999 });

describe("amounts (ORD-01)", () => {
  test.each([
    [
      { subtotal_amount: 1900, discount_amount: 0, tax_amount: 0, applied_balance_amount: 0 },
      { net_amount: 1900, total_amount: 1900, due_amount: 1900 },
    ],
    [
      { subtotal_amount: 1900, discount_amount: 400, tax_amount: 300, applied_balance_amount: 0 },
      { net_amount: 1500, total_amount: 1800, due_amount: 1800 },
    ],
    [
      { subtotal_amount: 1900, discount_amount: 0, tax_amount: 0, applied_balance_amount: -500 },
      { net_amount: 1900, total_amount: 1900, due_amount: 1400 },
    ],
    [
      { subtotal_amount: 100, discount_amount: 0, tax_amount: 0, applied_balance_amount: -500 },
      { net_amount: 100, total_amount: 100, due_amount: 0 },
    ],
    [
      { subtotal_amount: 0, discount_amount: 0, tax_amount: 0, applied_balance_amount: 0 },
      { net_amount: 0, total_amount: 0, due_amount: 0 },
    ],
  ])("%j makes %j", (row, totals) => {
    expect(computeTotals(row)).toEqual(totals);
  });

  test("nothing is ever due below nothing, and without a balance what is due is the total", () => {
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        fc.integer({ min: -99_999_999, max: 99_999_999 }),
        (subtotal_amount, tax_amount, cut, applied_balance_amount) => {
          const discount_amount = Math.min(cut, subtotal_amount);
          const row = { subtotal_amount, discount_amount, tax_amount };
          expect(computeTotals({ ...row, applied_balance_amount }).due_amount).toBeGreaterThanOrEqual(0);
          const { total_amount, due_amount } = computeTotals({ ...row, applied_balance_amount: 0 });
          expect(due_amount).toBe(total_amount);
        },
      ),
    );
  });

  test("lines that do not add up to the subtotal make no order", () => {
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 5 }), fc.integer({ min: -1000, max: 1000 }), (amounts, wrong) => {
        const sum = amounts.reduce((total, one) => total + one, 0);
        const check = () =>
          assertQuote({ subtotal_amount: sum + wrong, lines: amounts.map((one) => ({ amount: one })) });
        if (wrong === 0) expect(check).not.toThrow();
        else expect(check).toThrow(/lines of an order/);
      }),
    );
  });
});

describe("states (ORD-13)", () => {
  const order = (status: OrderRow["status"]) => ({ id: "order-1", status });
  const isLegal = (from: OrderRow["status"], to: OrderRow["status"]) => {
    try {
      return moveOrder(order(from), to) === to;
    } catch {
      return false;
    }
  };
  test("these moves and no others", () => {
    const legal = orderStatuses.flatMap((from) =>
      orderStatuses.filter((to) => isLegal(from, to)).map((to) => `${from} → ${to}`),
    );
    expect(legal.sort()).toEqual(
      [
        "draft → pending",
        "pending → paid",
        "pending → void",
        "paid → partially_refunded",
        "paid → refunded",
        "partially_refunded → refunded",
        "partially_refunded → paid",
        "refunded → partially_refunded",
        "refunded → paid",
        "void → pending",
      ].sort(),
    );
  });
  test("a move of two steps takes each of them", () => {
    expect(moveOrder(order("void"), "pending", "paid")).toBe("paid");
    expect(() => moveOrder(order("void"), "paid")).toThrow("does not go from void to paid");
  });
  test("paid means paid, refunded or partly refunded (ORD-01); payable is what waits for money", () => {
    expect(orderStatuses.filter(isPaid)).toEqual(["paid", "refunded", "partially_refunded"]);
    expect(orderStatuses.filter(isPayable)).toEqual(["pending", "void"]);
  });
});

describe("the terms of a sale", () => {
  const quote: Quote = {
    currency: "usd",
    subtotal_amount: 1900,
    discount_amount: 0,
    tax_amount: 0,
    lines: [{ label: "Guide", amount: 1900, tax_amount: 0, proration: false, product_price_id: "price-1" }],
  };
  const parties = { customer_id: "customer-1", product_id: "product-1" };
  const terms = digestTerms(parties, quote);
  const line = (fields: object): Quote => ({ ...quote, lines: quote.lines.map((one) => ({ ...one, ...fields })) });
  test.each([
    ["the customer", { ...parties, customer_id: "customer-2" }, quote],
    ["the product", { ...parties, product_id: "product-2" }, quote],
    ["the currency", parties, { ...quote, currency: "eur" }],
    ["the subtotal", parties, { ...quote, subtotal_amount: 1901 }],
    ["the discount", parties, { ...quote, discount_amount: 1 }],
    ["the tax", parties, { ...quote, tax_amount: 1 }],
    ["the price", parties, line({ product_price_id: "price-2" })],
    ["a line's amount", parties, line({ amount: 1 })],
    ["one line more", parties, { ...quote, lines: [...quote.lines, ...quote.lines] }],
  ])("are others with another value of %s", (_, others, other) => {
    expect(digestTerms(others, other)).not.toBe(terms);
  });
  test("stay with another name of the product, and are the same read back from the order", () => {
    expect(digestTerms(parties, line({ label: "Atlas" }))).toBe(terms);
    const { lines, ...amounts } = quote;
    const aggregate = { order: amounts, items: lines } as unknown as Pick<OrderAggregate, "order" | "items">;
    expect(quoteOf(aggregate)).toEqual(quote);
  });
});

describe("what is answered", () => {
  test("an order without a number is shown to nobody, and an unpaid one is not refundable", () => {
    const order = {
      id: "order-1",
      status: "pending",
      invoice_number: null,
      subtotal_amount: 1900,
      discount_amount: 100,
      tax_amount: 200,
      applied_balance_amount: 0,
      refunded_amount: 0,
      refunded_tax_amount: 0,
    } as OrderRow;
    const aggregate = (fields: Partial<OrderRow>) =>
      ({ order: { ...order, ...fields }, items: [], customer: { email: "ada@example.com" }, product: {} }) as never;
    expect(() => serializeOrder(aggregate({}))).toThrow("has no number yet");
    expect(serializeOrder(aggregate({ invoice_number: "A-0001" }))).toMatchObject({
      paid: false,
      refundable_amount: 0,
      refundable_tax_amount: 0,
    });
    expect(serializeOrder(aggregate({ invoice_number: "A-0001", status: "void" }))).toMatchObject({
      refundable_amount: 0,
    });
    expect(
      serializeOrder(aggregate({ invoice_number: "A-0001", status: "partially_refunded", refunded_amount: 300 })),
    ).toMatchObject({ paid: true, refundable_amount: 1500, refundable_tax_amount: 200 });
  });
});

describe("the address on an invoice (ORD-25)", () => {
  const at = (country: Address["country"], state: string | null, line1: string | null = null): Address => ({
    country,
    state,
    line1,
    line2: null,
    city: null,
    postal_code: null,
  });
  const order = (billing_address: OrderRow["billing_address"]) => ({ billing_address }) as OrderRow;
  const places = (had: OrderRow["billing_address"], wanted: OrderRow["billing_address"] | undefined) =>
    checkAddress(order(had), wanted).map(({ loc }) => loc.join("."));
  test.each([
    ["another street", at("FR", null), at("FR", null, "1 rue"), []],
    ["another country", at("FR", null), at("DE", null), ["body.billing_address.country"]],
    ["another state", at("US", "US-NY"), at("US", "US-CA"), ["body.billing_address.state"]],
    ["both", at("US", "US-NY"), at("FR", null), ["body.billing_address.country", "body.billing_address.state"]],
    ["one where there was none", null, at("FR", null), []],
    ["none sent", at("FR", null), undefined, []],
  ])("%s", (_, had, wanted, expected) => {
    expect(places(had, wanted)).toEqual(expected);
  });
});
