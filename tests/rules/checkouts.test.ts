import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planUpdate } from "../../server/checkouts/plan-update.ts";
import { checkAmount, computeAmount, computeFlags, quotePrice } from "../../server/checkouts/quote.ts";
import * as rules from "../../server/checkouts/rules.ts";
import type { OrderRow } from "../../server/orders/rules.ts";
import { assertSame, type PaymentRow, moves as paymentMoves, planOutcome } from "../../server/payments/rules.ts";
import type { Intent } from "../../server/processors/processor.ts";
import type { PricedProduct, PriceRow } from "../../server/products/rules.ts";
import type { Address } from "../../shared/addresses.ts";

type Row = rules.CheckoutRow;
const price = (fields: Partial<PriceRow> = {}): PriceRow =>
  ({
    id: "price-1",
    product_id: "product-1",
    amount_type: "fixed",
    price_currency: "usd",
    price_amount: 1900,
    minimum_amount: null,
    maximum_amount: null,
    preset_amount: null,
    is_archived: false,
    ...fields,
  }) as PriceRow;
const custom = (fields: Partial<PriceRow> = {}) => price({ amount_type: "custom", price_amount: null, ...fields });
const product = (fields: Partial<PricedProduct> = {}): PricedProduct =>
  ({
    id: "product-1",
    name: "Guide",
    is_archived: false,
    visibility: "public",
    recurring_interval: null,
    prices: [price()],
    ...fields,
  }) as PricedProduct;
const address = (country: Address["country"], fields: object = {}): Address => ({
  country,
  state: null,
  line1: null,
  line2: null,
  city: null,
  postal_code: null,
  ...fields,
});
const row = (fields: Partial<Row> = {}): Row =>
  ({
    id: "checkout-1",
    status: "open",
    product_id: "product-1",
    product_price_id: "price-1",
    product_ids: ["product-1"],
    quote: quotePrice({ name: "Guide" }, price(), null),
    customer_id: null,
    customer_email: null,
    customer_billing_address: null,
    customer_billing_name: null,
    customer_tax_id: null,
    is_business_customer: false,
    require_billing_address: false,
    allow_discount_codes: true,
    ...fields,
  }) as Row;

describe("what can be bought (CHK-02)", () => {
  test.each([
    ["nothing by that id", undefined, "Product does not exist."],
    ["an archived one", product({ is_archived: true }), "Product is archived."],
    ["a draft", product({ visibility: "draft" }), "Product is a draft."],
    ["a recurring one", product({ recurring_interval: "month" }), /can be bought yet/],
    ["one without a price", product({ prices: [] }), /can be bought yet/],
    ["a metered one", product({ prices: [price({ amount_type: "metered_unit" })] }), /can be bought yet/],
  ])("not %s", (_, wanted, message) => {
    expect(rules.checkProduct(wanted, ["products", 2], "id")).toMatchObject({
      loc: ["body", "products", 2],
      msg: expect.stringMatching(message),
    });
  });
  test.each([["fixed"], ["free"], ["custom"]] as const)("one with a %s price", (amount_type) => {
    expect(rules.checkProduct(product({ prices: [price({ amount_type })] }), ["products", 0], "id")).toBeUndefined();
  });
});

describe("the amount (CHK-05, CHK-06)", () => {
  test.each([
    ["a fixed price is the price", price(), 5, 1900],
    ["free is nought", price({ amount_type: "free", price_amount: null }), 5, 0],
    ["what was chosen", custom({ preset_amount: 1000, minimum_amount: 300 }), 700, 700],
    ["else the preset", custom({ preset_amount: 1000, minimum_amount: 300 }), null, 1000],
    ["a preset of nought is honoured", custom({ preset_amount: 0, minimum_amount: 0 }), undefined, 0],
    ["else the minimum", custom({ minimum_amount: 300 }), undefined, 300],
  ])("%s", (_, wanted, chosen, amount) => {
    expect(computeAmount(wanted, chosen)).toBe(amount);
  });

  test.each([
    [299, { minimum_amount: 300 }, "greater_than_equal"],
    [300, { minimum_amount: 300 }, undefined],
    [5001, { maximum_amount: 5000 }, "less_than_equal"],
    [5000, { maximum_amount: 5000 }, undefined],
    [0, { minimum_amount: 0 }, undefined],
    [49, { minimum_amount: 0 }, "invalid_amount"],
    [50, { minimum_amount: 0 }, undefined],
    [79, { minimum_amount: 0, price_currency: "jpy" }, "invalid_amount"],
    [100_000_000, {}, "less_than_equal"],
  ])("%d under %j: %s", (chosen, fields, type) => {
    expect(checkAmount(custom(fields), chosen).map((one) => one.type)).toEqual(type ? [type] : []);
  });

  test("it is checked, never bent: what passes is what is charged", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000 }), fc.nat(5000), fc.nat(50_000), (chosen, minimum_amount, more) => {
        const wanted = custom({ minimum_amount, maximum_amount: minimum_amount + more });
        const isWithin = chosen >= minimum_amount && chosen <= minimum_amount + more;
        const isChargeable = chosen === 0 || chosen >= 50;
        expect(checkAmount(wanted, chosen).length === 0).toBe(isWithin && isChargeable);
        expect(quotePrice({ name: "Guide" }, wanted, chosen).subtotal_amount).toBe(chosen);
      }),
    );
  });
});

describe("what follows (CHK-39 to CHK-43)", () => {
  test.each([
    [
      "one-time 1000",
      1000,
      price({ price_amount: 1000 }),
      { is_payment_required: true, is_payment_form_required: true, is_free_product_price: false },
    ],
    [
      "free",
      0,
      price({ amount_type: "free" }),
      { is_payment_required: false, is_payment_form_required: false, is_free_product_price: true },
    ],
    [
      "fixed at nought",
      0,
      price({ price_amount: 0 }),
      { is_payment_required: false, is_payment_form_required: false, is_free_product_price: true },
    ],
    [
      "a chosen nought is not a free price",
      0,
      custom({ minimum_amount: 0 }),
      { is_payment_required: false, is_payment_form_required: false, is_free_product_price: false },
    ],
  ])("%s", (_, amount, wanted, flags) => {
    expect(computeFlags(quotePrice({ name: "Guide" }, wanted, amount), wanted)).toMatchObject({
      ...flags,
      is_payment_setup_required: false,
      net_amount: amount,
      total_amount: amount,
    });
  });
});

describe("the billing address (CHK-44, CHK-13)", () => {
  const whole = { line1: "required", city: "required", postal_code: "required", line2: "optional" };
  const none = { line1: "disabled", city: "disabled", postal_code: "disabled", line2: "disabled" };
  test.each([
    ["no country yet", {}, { ...none, state: "disabled" }],
    ["France", { customer_billing_address: address("FR") }, { ...none, state: "disabled" }],
    ["Canada", { customer_billing_address: address("CA") }, { ...none, state: "required" }],
    ["the United States", { customer_billing_address: address("US") }, { ...whole, state: "required" }],
    [
      "a business",
      { is_business_customer: true, customer_billing_address: address("FR") },
      { ...whole, state: "optional" },
    ],
    [
      "asked for whole",
      { require_billing_address: true, customer_billing_address: address("FR") },
      { ...whole, state: "optional" },
    ],
  ])("%s", (_, fields, modes) => {
    expect(rules.computeAddressFields(row(fields))).toEqual({ country: "required", ...modes });
  });
  test.each([
    [null, false],
    [address("FR"), false],
    [address("US", { state: "US-NY" }), false],
    [address("FR", { state: "Loire" }), true],
    [address("FR", { city: "Nantes" }), true],
    [address("FR", { postal_code: "44000" }), true],
    [address("FR", { line2: "B" }), true],
  ])("%j asks for the rest: %s", (given, asks) => {
    expect(rules.asksForAddress(given)).toBe(asks);
  });
});

describe("what is missing to confirm (CHK-48)", () => {
  const places = (fields: Partial<Row>, form: boolean, token?: string) =>
    rules.checkComplete(row(fields), form, token).map(({ loc }) => loc.slice(1).join("."));
  const ready = { customer_email: "a@example.com", customer_billing_address: address("FR") };
  test.each([
    ["nothing", ready, true, "ctoken_1", []],
    ["everything", {}, true, undefined, ["customer_email", "customer_billing_address", "confirmation_token_id"]],
    [
      "an e-mail for a linked team that has none",
      { ...ready, customer_email: null, customer_id: "customer-1" },
      true,
      "ctoken_1",
      ["customer_email"],
    ],
    ["a token: it is a card's number", ready, true, "4242424242424242", ["confirmation_token_id"]],
    ["no card where nothing is paid", { customer_email: "a@example.com" }, false, undefined, []],
    [
      "the state of Canada",
      { ...ready, customer_billing_address: address("CA") },
      true,
      "ctoken_1",
      ["customer_billing_address.state"],
    ],
    [
      "a business's name and address",
      { ...ready, is_business_customer: true },
      true,
      "ctoken_1",
      [
        "customer_billing_address.line1",
        "customer_billing_address.city",
        "customer_billing_address.postal_code",
        "customer_billing_name",
      ],
    ],
    [
      "no address where nothing is paid",
      { customer_email: "a@example.com", require_billing_address: true },
      false,
      undefined,
      [],
    ],
  ])("%s", (_, fields, form, token, expected) => {
    expect(places(fields as Partial<Row>, form, token).sort()).toEqual([...expected].sort());
  });
});

describe("states (CHK-55)", () => {
  test("these moves and no others; the ends are ends", () => {
    const states = ["open", "confirmed", "succeeded", "expired", "failed"] as const;
    const isLegal = (status: Row["status"], to: Row["status"]) => {
      try {
        return rules.moveCheckout({ id: "checkout-1", status }, to) === to;
      } catch {
        return false;
      }
    };
    expect(states.flatMap((from) => states.filter((to) => isLegal(from, to)).map((to) => `${from} → ${to}`))).toEqual([
      "open → confirmed",
      // Money of an attempt that was given up for lost has come after all.
      "open → succeeded",
      "open → expired",
      "confirmed → open",
      "confirmed → succeeded",
      "expired → succeeded",
    ]);
    expect(paymentMoves).toEqual({ pending: ["succeeded", "failed"], failed: ["succeeded"], succeeded: [] });
  });

  const payment = (fields: Partial<PaymentRow> = {}) =>
    ({
      id: "payment-1",
      organization_id: "organization-1",
      status: "pending",
      amount: 1900,
      currency: "usd",
      terms: "terms-1",
      card: null,
      reconcile_due_at: new Date(1),
      ...fields,
    }) as PaymentRow;
  const order = (fields: Partial<OrderRow> = {}) => ({ status: "pending", terms: "terms-1", ...fields }) as OrderRow;
  const intent = (status: Intent["status"], fields: Partial<Intent> = {}): Intent => ({
    organization_id: "organization-1",
    payment_id: "payment-1",
    processor_id: "pi_1",
    status,
    amount: 1900,
    currency: "usd",
    client_secret: "s",
    card: null,
    fingerprint: null,
    method: null,
    decline: status === "failed" ? { reason: "card_declined", message: "No." } : null,
    ...fields,
  });
  const now = new Date("2027-01-01T00:00:00Z");
  test.each([
    ["pending", "succeeded", { status: "succeeded", reconcile_due_at: null }],
    [
      "pending",
      "failed",
      { status: "failed", decline_reason: "card_declined", decline_message: "No.", reconcile_due_at: null },
    ],
    [
      "pending",
      "requires_action",
      { intent_status: "requires_action", reconcile_due_at: new Date(now.getTime() + 120_000) },
    ],
    ["pending", "processing", { intent_status: "processing", reconcile_due_at: new Date(now.getTime() + 120_000) }],
    ["failed", "succeeded", { status: "succeeded" }],
    ["failed", "failed", { reconcile_due_at: null }],
    ["succeeded", "failed", { reconcile_due_at: null }],
  ] as const)("a payment that is %s and told %s", (status, told, patch) => {
    const planned = planOutcome(payment({ status }), order(), intent(told), now);
    expect(planned).toMatchObject(patch);
    if (status !== "pending" && told === "failed") expect(planned).toEqual(patch);
  });
  test.each([
    ["failed", "failed"],
    ["succeeded", "failed"],
    ["succeeded", "succeeded"],
    ["succeeded", "processing"],
    ["failed", "requires_action"],
  ] as const)("a payment that is %s for good is not changed by %s", (status, told) => {
    expect(planOutcome(payment({ status, reconcile_due_at: null }), order(), intent(told), now)).toBeUndefined();
  });

  test.each([
    ["pays an order that waits for it", {}, false],
    ["pays an order that was given up", { status: "void" }, false],
    ["is surplus where the order is paid", { status: "paid" }, true],
    ["is surplus where it was given back", { status: "refunded" }, true],
    ["is surplus where the terms are others by now", { terms: "terms-2" }, true],
  ] as const)("a success %s", (_, fields, is_surplus) => {
    for (const status of ["pending", "failed"] as const)
      expect(
        planOutcome(payment({ status }), order(fields as Partial<OrderRow>), intent("succeeded"), now),
      ).toMatchObject({
        status: "succeeded",
        is_surplus,
      });
  });
  test("a failure is never surplus", () => {
    expect(planOutcome(payment(), order({ status: "paid" }), intent("failed"), now)).toMatchObject({
      is_surplus: false,
    });
  });
  test.each([
    ["another payment", { payment_id: "payment-2" }],
    ["one unit more", { amount: 1901 }],
    ["another currency", { currency: "eur" }],
  ])("an intent over %s is not this payment's", (_, fields) => {
    expect(() => assertSame(payment(), intent("succeeded", fields))).toThrow("than payment-1 was made for");
  });
  test("the case of a currency does not matter", () => {
    expect(() => assertSame(payment(), intent("succeeded", { currency: "USD" }))).not.toThrow();
  });
});

describe("updates", () => {
  const tip = custom({ id: "price-2", product_id: "product-2", minimum_amount: 300, preset_amount: 1000 });
  const two = [product(), product({ id: "product-2", prices: [tip] })];
  const ground = (fields: Partial<Row> = {}) => ({
    row: row({ product_ids: ["product-1", "product-2"], ...fields }),
    products: two,
    price: price(),
  });
  const plan = (fields: Partial<Row>, body: object, seller = false) => planUpdate(ground(fields), body, seller);

  test("CHK-29: another product takes its price and amount along", () => {
    expect(plan({}, { product_id: "product-2" })).toEqual({
      faults: [],
      patch: {
        product_id: "product-2",
        product_price_id: "price-2",
        quote: { ...quotePrice({ name: "Guide" }, tip, null), subtotal_amount: 1000 },
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
      expect(planUpdate({ ...ground(), products: archived }, body, false).faults).toMatchObject([
        { msg: "Product is archived." },
      ]);
    }
  });
  test("CHK-30: an amount counts only where it may be chosen; seats nowhere yet", () => {
    expect(plan({}, { amount: 5 })).toEqual({ patch: {}, faults: [] });
    expect(plan({}, { seats: 2 }).faults).toMatchObject([
      { loc: ["body", "seats"], msg: "Seats can only be set for seat-based pricing." },
    ]);
  });
  test("CHK-09: a code is refused where codes are taken, and not looked at where they are not", () => {
    expect(plan({}, { discount_code: "X" }).faults).toMatchObject([{ loc: ["body", "discount_code"] }]);
    expect(plan({ allow_discount_codes: false }, { discount_code: "X" }).faults).toEqual([]);
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

test("CHK-22: only the exact placeholder is replaced, as plain text", () => {
  const of = (success_url: string | null) =>
    rules.successUrl({ id: "abc", success_url }, "https://floe.example/checkout/s");
  expect(of(null)).toBe("https://floe.example/checkout/s/confirmation");
  expect(of("https://x.example/{CHECKOUT_ID}?id={CHECKOUT_ID}")).toBe("https://x.example/abc?id=abc");
  expect(of("https://x.example/{CHECKOUT_ID.__class__}/{checkout_id}/{}")).toBe(
    "https://x.example/{CHECKOUT_ID.__class__}/{checkout_id}/{}",
  );
  expect(rules.successUrl({ id: "$&", success_url: "https://x.example/{CHECKOUT_ID}" }, "u")).not.toContain(
    "{CHECKOUT_ID}{",
  );
});
