import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { assertSame, type PaymentRow, planOutcome } from "../../server/billing/payments/rules.ts";
import type { PriceRow } from "../../server/catalog/products/rules.ts";
import {
  checkAmount,
  checkCurrency,
  checkSeats,
  checkTotal,
  computeFlags,
  computeSeatBounds,
  computeTrial,
  computeTrialQuote,
  findPricesWith,
  isDiscountable,
  pickPrice,
} from "../../server/checkout/checkouts/quote.ts";
import * as rules from "../../server/checkout/checkouts/rules.ts";
import { isSignedQuote, signQuote } from "../../server/checkout/checkouts/signed-quote.ts";
import type { Intent } from "../../server/platform/processors/processor.ts";
import { getRequiredLines } from "../../shared/addresses.ts";
import { type Country, sellableCountries } from "../../shared/countries.ts";
import addressFields from "../fixtures/address-fields.json" with { type: "json" };
import {
  address,
  type Basket,
  custom,
  discount,
  metered,
  price,
  product,
  quote,
  type Row,
  row,
  seated,
  tiers,
} from "../support/checkout-rows.ts";

describe("what can be bought (CHK-02)", () => {
  test.each([
    ["nothing by that id", undefined, "Product does not exist."],
    ["an archived one", product({ is_archived: true }), "Product is archived."],
    ["a draft", product({ visibility: "draft" }), "Product is a draft."],
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
    expect(quote([wanted], { chosen: chosen ?? null }).subtotal_amount).toBe(amount);
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
    expect(checkAmount([custom(fields)], chosen).map((one) => one.type)).toEqual(type ? [type] : []);
  });

  test("it is checked, never bent: what passes is what is charged", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000 }), fc.nat(5000), fc.nat(50_000), (chosen, minimum_amount, more) => {
        const wanted = custom({ minimum_amount, maximum_amount: minimum_amount + more });
        const isWithin = chosen >= minimum_amount && chosen <= minimum_amount + more;
        const isChargeable = chosen === 0 || chosen >= 50;
        expect(checkAmount([wanted], chosen).length === 0).toBe(isWithin && isChargeable);
        expect(quote([wanted], { chosen }).subtotal_amount).toBe(chosen);
      }),
    );
  });
});

describe("what follows (CHK-40 to CHK-43)", () => {
  const thousand = price({ price_amount: 1000 });
  const week = new Date("2026-01-08T00:00:00Z");
  const once = null;
  const monthly = "month" as const;
  const T = true;
  const F = false;
  test.each([
    ["one-time 1000", once, [thousand], {}, [T, F, T, F]],
    ["one-time 1000, 100 % off", once, [thousand], { discount: discount() }, [F, F, F, F]],
    ["monthly 1000", monthly, [thousand], {}, [T, T, T, F]],
    ["monthly 1000, trial", monthly, [thousand], { trial_end: week }, [F, T, T, F]],
    ["monthly 1000, 100 % once", monthly, [thousand], { discount: discount() }, [F, T, T, F]],
    ["monthly 1000, 100 % forever", monthly, [thousand], { discount: discount({ duration: "forever" }) }, [F, F, F, F]],
    [
      "monthly 1000, 1000 off forever",
      monthly,
      [thousand],
      { discount: discount({ type: "fixed", basis_points: null, amounts: { usd: 1000 }, duration: "forever" }) },
      [F, T, T, F],
    ],
    ["monthly free", monthly, [price({ amount_type: "free", price_amount: null })], {}, [F, F, F, T]],
    ["monthly fixed at nought", monthly, [price({ price_amount: 0 })], {}, [F, F, F, T]],
    ["monthly seats at nought", monthly, [seated(0)], { seats: 3 }, [F, F, F, T]],
    ["monthly metered only", monthly, [metered], {}, [F, T, T, F]],
    ["monthly 1000 and metered", monthly, [thousand, metered], {}, [T, T, T, F]],
    ["monthly chosen, nought", monthly, [custom({ minimum_amount: 0 })], { chosen: 0 }, [F, F, F, F]],
    ["one-time chosen, nought", once, [custom({ minimum_amount: 0 })], { chosen: 0 }, [F, F, F, F]],
    ["one-time, less than a card can be charged with", once, [seated(49)], { seats: 1 }, [F, F, F, F]],
    ["one-time, just what a card can be charged with", once, [seated(50)], { seats: 1 }, [T, F, T, F]],
  ] as const)("%s", (_, recurring_interval, prices, fields, [required, setup, form, free]) => {
    const { trial_end = null, ...basket } = fields as Partial<Basket> & { trial_end?: Date };
    const bought = { prices, product: { recurring_interval }, discount: basket.discount ?? null, trial_end };
    expect(computeFlags({ quote: quote([...prices], basket), ...bought })).toMatchObject({
      is_payment_required: required,
      is_payment_setup_required: setup,
      is_payment_form_required: form,
      is_free_product_price: free,
    });
  });
});

describe("seats (CHK-07)", () => {
  const none = { min_seats: null, max_seats: null };
  const bounded = price({
    amount_type: "seat_based",
    seat_tiers: { ...tiers(100), minimum_seats: 2, maximum_seats: 20 } as PriceRow["seat_tiers"],
  });
  test.each([
    ["the fewest where none are named", undefined, none, 2],
    ["the fewest of this checkout", undefined, { min_seats: 5, max_seats: null }, 5],
    ["those named", 7, none, 7],
    ["as many as there are", 20, none, 20],
    ["not fewer than the price sells", 1, none, "greater_than_equal"],
    ["not more than the price sells", 21, none, "less_than_equal"],
    ["not fewer than this checkout sells", 4, { min_seats: 5, max_seats: null }, "greater_than_equal"],
    ["not more than this checkout sells", 7, { min_seats: null, max_seats: 6 }, "less_than_equal"],
  ])("%s", (_, seats, bounds, wanted) => {
    const { seats: had, faults } = checkSeats([bounded], { seats }, bounds);
    expect(faults[0]?.type ?? had).toBe(wanted);
  });
  test("only where seats are sold", () => {
    expect(checkSeats([price()], { seats: 3 }, none).faults[0]?.msg).toMatch(/seat-based pricing/);
    expect(checkSeats([price()], {}, none)).toEqual({ seats: null, faults: [] });
  });
});

describe("the trial (CHK-45)", () => {
  const now = new Date("2026-01-31T10:00:00Z");
  const monthly = product({ recurring_interval: "month", trial_interval: "month", trial_interval_count: 1 });
  test.each([
    ["the product's", {}, monthly, "2026-02-28T10:00:00.000Z"],
    [
      "its own before the product's",
      { trial_interval: "day", trial_interval_count: 3 },
      monthly,
      "2026-02-03T10:00:00.000Z",
    ],
    ["none where it was declined", { allow_trial: false }, monthly, null],
    ["none of what is bought once", { trial_interval: "day", trial_interval_count: 3 }, product(), null],
  ] as const)("%s", (_, fields, sold, end) => {
    expect(computeTrial(row(fields), sold, now).trial_end?.toISOString() ?? null).toBe(end);
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
    [["AO", "BS", "GH", "IE", "JM", "PA", "PS", "QA", "TT"], { postal_code: "optional", city: "required" }],
    [["AE", "GI", "HK", "MO", "NR"], { postal_code: "optional", city: "optional" }],
    [["MC", "SG", "VA"], { postal_code: "required", city: "optional" }],
    [["CA", "DE", "FR", "GB", "JP", "US"], { postal_code: "required", city: "required" }],
  ] as const)("businesses in %j are asked for what their addresses have", (places, modes) => {
    for (const country of places) {
      const business = row({ is_business_customer: true, customer_billing_address: address(country) });
      expect([country, rules.computeAddressFields(business)]).toMatchObject([country, { line1: "required", ...modes }]);
    }
  });
  test("ask for what libaddressinput has in the address of a country, and for nothing that it has not", () => {
    const { countries } = addressFields as { countries: Record<string, { format: string; required: string }> };
    expect(sellableCountries.filter((country) => !countries[country])).toEqual([]);
    // In Japan the city stands in the street's lines there; in a form it has a field of its own.
    const { JP: _, ...others } = countries;
    const wrong = Object.entries(others).filter(([country, { format, required }]) => {
      const asked = getRequiredLines(country);
      const isMissing = required.includes("Z") && !asked.postal_code;
      return isMissing || (asked.postal_code && !format.includes("%Z")) || (asked.city && !format.includes("%C"));
    });
    // Not sold to.
    expect(wrong.map(([country]) => country).filter((one) => sellableCountries.includes(one as Country))).toEqual([]);
    // One city, which is the territory.
    const cities = Object.keys(countries).filter(
      (country) => countries[country]?.format.includes("%C") && !getRequiredLines(country).city,
    );
    expect(cities).toEqual(["HK", "MC", "PN", "VA"]);
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
    expect(rules.requiresAddress(given)).toBe(asks);
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

describe("outcomes of a payment (CHK-55)", () => {
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

test("CHK-22: only the exact placeholder is replaced, as plain text", () => {
  const of = (success_url: string | null) =>
    rules.fillSuccessUrl({ id: "abc", success_url }, "https://floe.example/checkout/s");
  expect(of(null)).toBe("https://floe.example/checkout/s/confirmation");
  expect(of("https://x.example/{CHECKOUT_ID}?id={CHECKOUT_ID}")).toBe("https://x.example/abc?id=abc");
  expect(of("https://x.example/{CHECKOUT_ID.__class__}/{checkout_id}/{}")).toBe(
    "https://x.example/{CHECKOUT_ID.__class__}/{checkout_id}/{}",
  );
  expect(rules.fillSuccessUrl({ id: "$&", success_url: "https://x.example/{CHECKOUT_ID}" }, "u")).not.toContain(
    "{CHECKOUT_ID}{",
  );
});

describe("the price that is bought (CHK-03, CHK-04)", () => {
  const [dollars, euros, use] = [
    price({ id: "usd" }),
    price({ id: "eur", price_currency: "eur" }),
    price({ id: "use", price_currency: "eur", amount_type: "metered_unit" }),
  ];
  const offered = [dollars, euros, use];
  test.each([
    ["eur", "eur"],
    ["usd", "usd"],
    ["gbp", "usd"],
    [undefined, "usd"],
  ])("in %s is %s", (currency, id) => {
    expect(pickPrice(offered, currency)?.id).toBe(id);
  });
  test("is none where there is none", () => {
    expect(pickPrice([])).toBeUndefined();
  });
  test("is paid together with all in its currency; one that is off sale stands alone", () => {
    expect(findPricesWith(offered, euros)).toEqual([euros, use]);
    expect(findPricesWith([dollars, use], euros)).toEqual([euros]);
  });
  test.each([
    ["eur", 0],
    [null, 0],
    [undefined, 0],
    ["usd", 1],
  ])("in euros where %s was asked for has %i faults", (currency, faults) => {
    expect(checkCurrency(euros, currency)).toHaveLength(faults);
  });
  test("is of the product that is bought, from what this checkout sells it for", () => {
    const own = price({ id: "own" });
    const [bought, other] = [product({ prices: [dollars, euros] }), product({ id: "product-2" })];
    const aggregate = { row: row(), products: [other, bought], own: new Map(), price: dollars, discount: null };
    expect(rules.getProduct(aggregate)).toBe(bought);
    expect(rules.getPrices(aggregate)).toEqual([dollars]);
    expect(rules.getOffer(aggregate, bought)).toEqual([dollars, euros]);
    const made = { ...aggregate, own: new Map([["product-1", [own]]]), price: own };
    expect([rules.getOffer(made, bought), rules.getPrices(made)]).toEqual([[own], [own]]);
    expect(() => rules.getProduct({ ...aggregate, products: [other] })).toThrow("has lost its product");
  });
});

describe("how many seats, and how much, can be bought", () => {
  const bounds = (minimum_seats: number, maximum_seats: number | null, own: object) =>
    computeSeatBounds(
      [price({ amount_type: "seat_based", seat_tiers: { tiers: [], minimum_seats, maximum_seats } as never })],
      { min_seats: null, max_seats: null, ...own },
    );
  test.each([
    ["the price's own", bounds(2, 20, {}), { least: 2, most: 20 }],
    ["narrowed by the checkout", bounds(2, 20, { min_seats: 5, max_seats: 10 }), { least: 5, most: 10 }],
    ["never widened", bounds(2, 20, { min_seats: 1, max_seats: 30 }), { least: 2, most: 20 }],
    ["ten thousand at most", bounds(1, null, {}), { least: 1, most: 10_000 }],
  ])("%s", (_, range, expected) => {
    expect(range).toEqual(expected);
  });
  test("no seats are sold by other prices", () => {
    expect(computeSeatBounds([price()], { min_seats: 1, max_seats: 2 })).toBeNull();
  });
  test.each([
    [99_999_999, null, []],
    [100_000_000, null, ["amount"]],
    [100_000_000, 3, ["seats"]],
  ])("a subtotal of %i with %s seats has the faults %j", (subtotal_amount, seats, places) => {
    const faults = checkTotal({ ...quote([price()]), subtotal_amount, seats });
    expect(faults.map(({ loc }) => loc.slice(1).join("."))).toEqual(places);
  });
});

describe("discounts and trials", () => {
  test.each([
    ["a fixed price", [price()], true],
    ["a price of nothing", [price({ price_amount: 0 })], false],
    ["free", [price({ amount_type: "free", price_amount: null })], false],
    ["a price that is chosen", [custom()], true],
    ["use", [metered], true],
    ["free beside use", [price({ amount_type: "free", price_amount: null }), metered], true],
    ["nothing on sale", [], false],
  ])("a discount takes something off %s: %j", (_, prices, discountable) => {
    expect(isDiscountable(prices)).toBe(discountable);
  });
  test("the order of a trial asks for nothing, and says from when to when (ORD-07)", () => {
    const trial = computeTrialQuote(
      { ...quote([price()]), currency: "eur", seats: 3 },
      { name: "Guide" },
      new Date("2026-01-31T23:00:00Z"),
      new Date("2026-02-14T23:00:00Z"),
    );
    expect(trial).toMatchObject({ currency: "eur", seats: 3, subtotal_amount: 0, total_amount: 0, tax_amount: 0 });
    expect(trial.lines.map(({ label }) => label)).toEqual(["Trial period for Guide (Jan 31, 2026 - Feb 14, 2026)"]);
  });
});

describe("the terms that a buyer is shown", () => {
  const at = (text: string, secret = "secret") => ({
    config: { secret: secret.padEnd(32, "x") },
    clock: { now: () => new Date(text) },
  });
  const shown = row({ created_at: new Date("2026-11-01T11:00:00Z") });
  const [guide, now] = [product({ recurring_interval: "month" }), "2026-11-01T12:00:00Z"];
  const token = signQuote(shown, guide, at(now) as never);
  const isGood = (of: Row, sold = guide, when = now, given = token, secret?: string) =>
    isSignedQuote(given, of, sold, at(when, secret) as never);
  test("can be agreed to for an hour at least, and a quarter of an hour more at most", () => {
    expect(
      ["2026-11-01T13:00:00Z", "2026-11-01T13:15:00Z", "2026-11-01T13:15:00.001Z"].map((time) =>
        isGood(shown, guide, time),
      ),
    ).toEqual([true, true, false]);
  });
  test("read the same within a quarter of an hour, so that a page that is read twice is one page", () => {
    expect(signQuote(shown, guide, at("2026-11-01T12:14:59Z") as never)).toBe(token);
    expect(signQuote(shown, guide, at("2026-11-01T12:15:00Z") as never)).not.toBe(token);
  });
  test.each([
    ["another checkout", { ...shown, id: "checkout-2" }, guide],
    ["another amount", { ...shown, quote: { ...shown.quote, total_amount: 1 } }, guide],
    ["another product", { ...shown, product_id: "product-2" }, guide],
    ["a trial", { ...shown, trial_interval: "day", trial_interval_count: 7 } as Row, guide],
    [
      "a trial of the product",
      shown,
      product({ recurring_interval: "month", trial_interval: "day", trial_interval_count: 7 }),
    ],
  ])("are others with %s", (_, other, sold) => {
    expect(isGood(other, sold)).toBe(false);
  });
  test.each([
    ["nothing", ""],
    ["a later end", `${(Date.parse("2027-01-01") / 1).toString(36)}.${token.split(".")[1]}`],
    ["no signature", `${token.split(".")[0]}.`],
    ["a longer signature", `${token}x`],
  ])("are not signed by %s", (_, given) => {
    expect(isGood(shown, guide, now, given)).toBe(false);
  });
  test("are not signed by another server", () => {
    expect(isGood(shown, guide, now, token, "other")).toBe(false);
  });
});
