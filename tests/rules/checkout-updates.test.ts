import { describe, expect, test } from "vitest";
import type { LimitedDiscount } from "../../server/catalog/discounts/rules.ts";
import { planChange, type SentUpdate } from "../../server/checkout/checkouts/plan-update.ts";
import type * as rules from "../../server/checkout/checkouts/rules.ts";
import { ApiError, type Fault } from "../../shared/errors.ts";
import { untaxed } from "../../shared/pricing.ts";
import { address, custom, discount, price, product, quote, type Row, row, seated } from "../support/checkout-rows.ts";

describe("updates", () => {
  const tip = custom({ id: "price-2", product_id: "product-2", minimum_amount: 300, preset_amount: 1000 });
  const two = [product(), product({ id: "product-2", prices: [tip] })];
  const aggregate = (fields: Partial<Row> = {}) => ({
    row: row({ product_ids: ["product-1", "product-2"], ...fields }),
    products: two,
    own: new Map(),
    price: price(),
    discount: null,
  });
  const now = new Date("2026-01-01T00:00:00Z");
  const taxation = () => untaxed;
  type Change = { patch: Partial<Row>; faults: Fault[] };
  const change = (
    whole: rules.CheckoutAggregate,
    body: SentUpdate,
    seller = false,
    found?: LimitedDiscount,
  ): Change => {
    try {
      const { patch } = planChange(whole, body, seller ? "seller" : "buyer", {
        now,
        discount: found,
        taxation,
      });
      return { patch, faults: [] };
    } catch (error) {
      if (!(error instanceof ApiError) || typeof error.detail === "string") throw error;
      return { patch: {}, faults: error.detail };
    }
  };
  const plan = (fields: Partial<Row>, body: SentUpdate, seller = false, found?: LimitedDiscount) =>
    change(aggregate(fields), body, seller, found);

  test("CHK-29: another product takes its price and amount along", () => {
    expect(plan({}, { product_id: "product-2" })).toEqual({
      faults: [],
      patch: {
        product_id: "product-2",
        product_price_id: "price-2",
        quote: quote([tip]),
        custom_field_data: {},
      },
    });
    expect(plan({}, { product_id: "product-2", amount: 400 }).patch.quote?.subtotal_amount).toBe(400);
  });
  test("CHK-29: neither a strange product, nor an archived one, nor its price", () => {
    expect(plan({}, { product_id: "product-9" }).faults).toMatchObject([
      { loc: ["body", "product_id"], msg: "Product is not available in this checkout." },
    ]);
    expect(plan({}, { product_price_id: "price-9" }).faults).toMatchObject([{ loc: ["body", "product_price_id"] }]);
    const archived = [product(), product({ id: "product-2", is_archived: true, prices: [tip] })];
    for (const body of [{ product_id: "product-2" }, { product_price_id: "price-2" }]) {
      expect(change({ ...aggregate(), products: archived }, body).faults).toMatchObject([
        { msg: "Product is archived." },
      ]);
    }
  });
  test("CHK-30: an amount counts only where it may be chosen; seats only where they are sold", () => {
    expect(plan({}, { amount: 5 })).toEqual({ patch: {}, faults: [] });
    expect(plan({}, { seats: 2 }).faults).toMatchObject([
      { loc: ["body", "seats"], msg: "Seats can only be set for seat-based pricing." },
    ]);
  });
  const launch = discount({ basis_points: 2500 });
  test.each([
    ["no such code", undefined, {}, "Discount does not exist."],
    ["one that is for others", { products: [product({ id: "product-9" })] }, {}, "Discount does not exist."],
    ["one that begins tomorrow", { starts_at: new Date("2026-01-02T00:00:00Z") }, {}, "Discount does not exist."],
    ["one that ended yesterday", { ends_at: new Date("2025-12-31T00:00:00Z") }, {}, "Discount does not exist."],
    ["one that is used up", { max_redemptions: 2, redemptions_count: 2 }, {}, "Discount does not exist."],
    ["a deleted one", { deleted_at: now }, {}, "Discount does not exist."],
    ["one in another currency", { type: "fixed", amounts: { eur: 100 } }, {}, "Discount does not exist."],
  ] as const)("CHK-08: %s is refused, all in the same words", (_, fields, more, msg) => {
    const found = fields && discount({ basis_points: 2500, ...(fields as Partial<LimitedDiscount>), ...more });
    expect(plan({}, { discount_code: "LAUNCH" }, false, found).faults).toMatchObject([
      { loc: ["body", "discount_code"], msg },
    ]);
    expect(plan({}, { discount_id: "discount-1" }, true, found).faults).toMatchObject([
      { loc: ["body", "discount_id"], msg },
    ]);
  });
  test("CHK-08, CHK-31: one that is good is taken off, and taken away again by a null", () => {
    const { patch } = plan({}, { discount_code: "LAUNCH" }, false, launch);
    expect(patch).toEqual({ discount_id: "discount-1", quote: quote([price()], { discount: launch }) });
    expect(patch.quote).toMatchObject({ discount_amount: 475, total_amount: 1425 });
    const with_it = { ...aggregate({ discount_id: "discount-1", ...patch }), discount: launch };
    expect(change(with_it, {}).patch).toEqual({});
    expect(change(with_it, { discount_code: null }).patch).toEqual({ discount_id: null, quote: quote([price()]) });
  });
  test("CHK-09: where codes are not taken they are not looked at, and what the seller gave stays", () => {
    expect(plan({ allow_discount_codes: false }, { discount_code: "X" }).faults).toEqual([]);
    const given = {
      discount_id: "discount-1",
      allow_discount_codes: false,
      quote: quote([price()], { discount: launch }),
    };
    const with_it = { ...aggregate(given), discount: launch };
    expect(change(with_it, { discount_code: null }).patch).toEqual({});
    expect(change(with_it, { discount_id: null }, true).patch).toMatchObject({ discount_id: null });
  });
  test("CHK-29: a discount that is not for the other product is dropped with it", () => {
    const mine = discount({ basis_points: 2500, products: [product()] });
    const with_it = { ...aggregate({ discount_id: "discount-1" }), discount: mine };
    expect(change(with_it, { product_id: "product-2" }).patch).toMatchObject({
      discount_id: null,
      quote: { discount_amount: 0, total_amount: 1000 },
    });
  });
  test("a discount counts for nothing that is free", () => {
    const free = price({ amount_type: "free", price_amount: null });
    const whole = { ...aggregate(), products: [product({ prices: [free] })], price: free };
    expect(change(whole, { discount_code: "LAUNCH" }, false, launch).faults).toMatchObject([
      { msg: "Discounts are not applicable to this product." },
    ]);
  });
  test("more than can be charged at once is refused where it can be mended", () => {
    const dear = seated(99_999_999);
    const whole = { ...aggregate(), products: [product({ prices: [dear] })], price: dear };
    expect(change(whole, { seats: 1 }).faults).toEqual([]);
    expect(change(whole, { seats: 2 }).faults).toMatchObject([{ loc: ["body", "seats"], type: "less_than_equal" }]);
  });

  test("CHK-32: the e-mail address of a linked customer stays, where it has one", () => {
    const linked = { customer_id: "customer-1", customer_email: "ada@example.com" };
    expect(plan(linked, { customer_email: "x@example.com" }).patch).toEqual({});
    expect(plan({ customer_id: "team-1", customer_email: null }, { customer_email: "x@example.com" }).patch).toEqual({
      customer_email: "x@example.com",
    });
    expect(plan({}, { customer_email: "x@example.com" }).patch).toEqual({ customer_email: "x@example.com" });
  });
  test("what only a seller may change is not heard from a buyer", () => {
    const body = {
      metadata: { a: 1 },
      customer_metadata: { b: 2 },
      success_url: "https://evil.example",
      embed_origin: "https://evil.example",
      allow_discount_codes: false,
      require_billing_address: true,
    };
    expect(plan({}, body).patch).toEqual({});
    expect(plan({}, body, true).patch).toEqual(body);
  });
  test("CHK-36: metadata that is not sent stays, and an empty map clears", () => {
    expect(plan({}, {}, true).patch).toEqual({});
    expect(plan({}, { metadata: {} }, true).patch).toEqual({ metadata: {} });
  });
  test("CHK-12, CHK-33, CHK-47: a tax number needs a country, fits it, and is looked at again when it changes", () => {
    const french = { customer_billing_address: address("FR") };
    expect(plan({}, { customer_tax_id: "FR61954506077" }).faults).toMatchObject([
      { loc: ["body", "customer_billing_address"], type: "missing" },
    ]);
    expect(plan(french, { customer_tax_id: "FR61954506077" }).patch).toEqual({
      customer_tax_id: ["FR61954506077", "eu_vat"],
    });
    expect(plan(french, { customer_tax_id: "nonsense" }).faults).toMatchObject([
      { loc: ["body", "customer_tax_id"], msg: "Invalid tax ID." },
    ]);
    const registered = { ...french, customer_tax_id: ["FR61954506077", "eu_vat"] as [string, string] };
    expect(plan(registered, { customer_billing_address: address("BR") }).faults).toMatchObject([
      { loc: ["body", "customer_tax_id"] },
    ]);
    expect(plan(registered, { customer_tax_id: null }).patch).toEqual({ customer_tax_id: null });
    expect(plan(registered, { customer_billing_address: address("BR"), customer_tax_id: null }).faults).toEqual([]);
  });
  test("CHK-33: no business any more clears tax number and billing name, even if sent along", () => {
    const sent = {
      is_business_customer: false,
      customer_billing_name: "ACME",
      customer_tax_id: "FR61954506077",
      customer_billing_address: address("FR"),
    };
    expect(plan({}, sent).patch).toMatchObject({
      is_business_customer: false,
      customer_billing_name: null,
      customer_tax_id: null,
    });
  });
});
