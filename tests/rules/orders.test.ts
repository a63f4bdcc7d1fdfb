import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  assertQuote,
  checkAddress,
  computeBalanceChange,
  computeBalanceUse,
  computeTotals,
  exportCells,
  hashReducedTerms,
  hashTerms,
  isPaid,
  isPayable,
  type OrderRow,
  serializeOrder,
} from "../../server/billing/orders/rules.ts";
import type { Address } from "../../shared/addresses.ts";
import { orderColumns, orderStatuses } from "../../shared/api/orders.ts";
import { createZoneFormat } from "../../shared/calendar.ts";
import { computeQuote, type Quote, untaxed } from "../../shared/pricing.ts";

const exclusive = "exclusive" as const;

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
    expect(computeTotals({ ...row, tax_behavior: exclusive })).toEqual(totals);
  });
  test("a tax that is within the amount is no part of the net", () => {
    const row = { subtotal_amount: 1190, discount_amount: 0, tax_amount: 190, tax_behavior: "inclusive" as const };
    expect(computeTotals(row)).toEqual({ net_amount: 1000, total_amount: 1190, due_amount: 1190 });
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
          const row = { subtotal_amount, discount_amount, tax_amount, tax_behavior: exclusive };
          expect(computeTotals({ ...row, applied_balance_amount }).due_amount).toBeGreaterThanOrEqual(0);
          const { total_amount, due_amount } = computeTotals({ ...row, applied_balance_amount: 0 });
          expect(due_amount).toBe(total_amount);
        },
      ),
    );
  });

  const sound = (): Quote =>
    computeQuote({
      currency: "usd",
      seats: null,
      lines: [
        { label: "A", product_price_id: null, proration: false, source: { rule: "fixed", amount: 1000 } },
        { label: "B", product_price_id: null, proration: false, source: { rule: "fixed", amount: 500 } },
      ],
      discount: { id: "discount-1", name: "Launch", code: null, type: "fixed", amount: 300 },
      tax: {
        behavior: "exclusive",
        reason: "standard",
        rates: [{ name: "VAT", country: "FR", state: null, rate: "20" }],
        source: null,
      },
    });
  test.each([
    ["lines", (quote: Quote) => ({ ...quote, lines: quote.lines.slice(1) })],
    ["discount", (quote: Quote) => ({ ...quote, discount_amount: 299 })],
    ["tax", (quote: Quote) => ({ ...quote, tax_lines: [] })],
    ["total", (quote: Quote) => ({ ...quote, total_amount: quote.total_amount - 1 })],
  ])("%s that do not add up make no order", (what, bend) => {
    expect(() => assertQuote(sound())).not.toThrow();
    expect(() => assertQuote(bend(sound()))).toThrow(new RegExp(`do not add up:.*${what}`));
  });
});

describe("states (ORD-13)", () => {
  test("paid means paid, refunded or partly refunded (ORD-01); payable is what waits for money", () => {
    expect(orderStatuses.filter(isPaid)).toEqual(["paid", "refunded", "partially_refunded"]);
    expect(orderStatuses.filter(isPayable)).toEqual(["pending", "void"]);
  });
});

describe("the terms of a sale", () => {
  const quote = computeQuote({
    currency: "usd",
    seats: null,
    lines: [{ label: "Guide", product_price_id: "price-1", proration: false, source: { rule: "fixed", amount: 1900 } }],
    discount: null,
    tax: untaxed,
  });
  const parties = { customer_id: "customer-1", product_id: "product-1", begins: null };
  const terms = hashTerms(parties, quote);
  const line = (fields: object): Quote => ({ ...quote, lines: quote.lines.map((one) => ({ ...one, ...fields })) });
  const tax = { name: "VAT", country: "FR", state: null, rate: "20", taxable_amount: 0, amount: 0 };
  const begins = { quote, price_ids: ["price-1"], trial_end: null, upgrades: null };
  test.each([
    ["the customer", { ...parties, customer_id: "customer-2" }, quote],
    ["the product", { ...parties, product_id: "product-2" }, quote],
    ["the currency", parties, { ...quote, currency: "eur" }],
    ["the seats", parties, { ...quote, seats: 2 }],
    ["the subtotal", parties, { ...quote, subtotal_amount: 1901 }],
    ["the discount", parties, { ...quote, discount_amount: 1 }],
    ["the tax", parties, { ...quote, tax_amount: 1 }],
    ["a rate of tax", parties, { ...quote, tax_lines: [tax] }],
    ["the price", parties, line({ product_price_id: "price-2" })],
    ["a line's amount", parties, line({ amount: 1 })],
    ["one line more", parties, { ...quote, lines: [...quote.lines, ...quote.lines] }],
    ["what begins with it", { ...parties, begins }, quote],
  ])("are others with another value of %s", (_, others, other) => {
    expect(hashTerms(others, other)).not.toBe(terms);
  });
  test("of a subscription are others with another trial, price or predecessor", () => {
    const own = hashTerms({ ...parties, begins }, quote);
    for (const other of [
      { ...begins, trial_end: "2026-01-08T00:00:00.000Z" },
      { ...begins, price_ids: ["price-2"] },
      { ...begins, upgrades: "subscription-1" },
      { ...begins, quote: { ...quote, subtotal_amount: 1 } },
    ])
      expect(hashTerms({ ...parties, begins: other }, quote)).not.toBe(own);
  });
  test("stay with another name of the product, and are the same read back from the database", () => {
    expect(hashTerms(parties, line({ label: "Atlas" }))).toBe(terms);
    // The database keeps the keys of an object in an order of its own.
    const reordered = Object.fromEntries(Object.entries(quote).reverse()) as Quote;
    expect(hashTerms(parties, reordered)).toBe(terms);
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
      reduced_amount: 0,
      reduced_tax_amount: 0,
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

describe("a total meets the balance of its customer (ORD-02 to ORD-04)", () => {
  const quoteOf = (total_amount: number, currency = "usd") => ({ total_amount, currency }) as Quote;
  test.each([
    ["nothing to meet", quoteOf(1900), 0, { applied_balance_amount: 0, due_amount: 1900, is_paid: false }],
    ["credit for all of it", quoteOf(1900), 2000, { applied_balance_amount: -1900, due_amount: 0, is_paid: true }],
    ["credit for a part", quoteOf(1900), 400, { applied_balance_amount: -400, due_amount: 1500, is_paid: false }],
    ["a debt", quoteOf(1900), -400, { applied_balance_amount: 400, due_amount: 2300, is_paid: false }],
    ["the least that can be charged", quoteOf(50), 0, { applied_balance_amount: 0, due_amount: 50, is_paid: false }],
    ["one less is owed", quoteOf(49), 0, { applied_balance_amount: -49, due_amount: 0, is_paid: true }],
    [
      "what credit leaves too little of is owed",
      quoteOf(1900),
      1851,
      { applied_balance_amount: -1900, due_amount: 0, is_paid: true },
    ],
    [
      "yen have a least of their own",
      quoteOf(49, "jpy"),
      0,
      { applied_balance_amount: -49, due_amount: 0, is_paid: true },
    ],
    [
      "what is given back meets a debt",
      quoteOf(-300),
      -200,
      { applied_balance_amount: 200, due_amount: 0, is_paid: true },
    ],
    ["nothing costs nothing", quoteOf(0), 500, { applied_balance_amount: 0, due_amount: 0, is_paid: true }],
  ])("%s", (_, quote, balance, met) => {
    expect(computeBalanceUse(quote, balance)).toEqual(met);
  });
  test.each([
    ["what was asked", 1000, -300, -300],
    ["what was given back", -1000, 300, 1000],
    ["nothing", 0, 0, 0],
  ])("of an order over %s the balance changes", (_, subtotal_amount, applied_balance_amount, change) => {
    const order = { subtotal_amount, discount_amount: 0, tax_amount: 0, applied_balance_amount } as OrderRow;
    expect(computeBalanceChange(order)).toBe(change);
  });
});

test("the terms of an order change with each amount that is not asked for any more", () => {
  const terms = { terms: "terms" };
  const all = [
    hashReducedTerms(terms, { reduced_amount: 0, reduced_tax_amount: 0 }),
    hashReducedTerms(terms, { reduced_amount: 1, reduced_tax_amount: 0 }),
    hashReducedTerms(terms, { reduced_amount: 0, reduced_tax_amount: 1 }),
    hashReducedTerms({ terms: "others" }, { reduced_amount: 0, reduced_tax_amount: 0 }),
  ];
  expect(new Set(all).size).toBe(all.length);
  expect(hashReducedTerms(terms, { reduced_amount: 1, reduced_tax_amount: 0 })).toBe(all[1]);
});

describe("a line of an export", () => {
  const order = {
    ...{ id: "order-1", at: "", status: "paid", billing_reason: "purchase", description: "Guide", currency: "usd" },
    ...{ subtotal_amount: 2000, discount_amount: 100, tax_amount: 304, tax_behavior: "inclusive", refunded_amount: 50 },
    ...{ email: "ada@example.com", customer_name: "Ada", billing_name: "Ada Ltd", invoice_number: "A-1" },
    ...{ receipt_number: null, billing_address: { country: "FR" }, created_at: new Date("2026-07-01T22:30:00Z") },
  } as never;
  const cells = {
    email: "ada@example.com",
    created_at: "2026-07-02T00:30:00+02:00",
    product: "Guide",
    net_amount: "15.96",
    currency: "usd",
    status: "paid",
    invoice_number: "A-1",
    customer_name: "Ada",
    billing_name: "Ada Ltd",
    billing_country: "FR",
    subtotal_amount: "20.00",
    discount_amount: "1.00",
    tax_amount: "3.04",
    total_amount: "19.00",
    refunded_amount: "0.50",
    billing_reason: "purchase",
    receipt_number: null,
    id: "order-1",
  };
  test("has the columns that are asked for, in their order, in the time of the seller", () => {
    const zone = createZoneFormat("Europe/Paris");
    const columns = Object.keys(orderColumns) as (keyof typeof cells)[];
    expect(exportCells(order, columns, zone)).toEqual(columns.map((column) => cells[column]));
    expect(exportCells(order, ["total_amount", "id"], zone)).toEqual(["19.00", "order-1"]);
  });
});
