import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planLines } from "../../server/catalog/products/lines.ts";
import {
  checkPrices,
  checkReturn,
  type PricingContext,
  type RequestedPrice,
} from "../../server/catalog/products/price-rules.ts";
import {
  checkBenefits,
  computeSortColumns,
  type PriceRow,
  type ProductRow,
  planPrice,
  planTiers,
  planUpdate,
  serializePrice,
} from "../../server/catalog/products/rules.ts";
import { ProductPriceCreate } from "../../shared/api/prices.ts";
import { currencies } from "../../shared/currencies.ts";
import { getMaximumAmount, getMinimumAmount } from "../../shared/money.ts";

const meter = "00000000-0000-7000-8000-00000000000a";
const ground: PricingContext = {
  recurring: false,
  currency: "usd",
  seats_enabled: true,
  meter_ids: new Set([meter]),
  active: [],
};
const price = (body: object): RequestedPrice => ProductPriceCreate.parse(body);
const fixed = (price_amount: number, more: object = {}) => price({ amount_type: "fixed", price_amount, ...more });
const custom = (more: object = {}) => price({ amount_type: "custom", ...more });
const free = (more: object = {}) => price({ amount_type: "free", ...more });
const metered = (more: object = {}) =>
  price({ amount_type: "metered_unit", meter_id: meter, unit_amount: "0.5", ...more });
const seats = (tiers: object[], more: object = {}) =>
  price({ amount_type: "seat_based", seat_tiers: { tiers }, ...more });
const openTier = { min_seats: 1, max_seats: null, price_per_seat: 1000 };
const check = (prices: RequestedPrice[], more: Partial<PricingContext> = {}) =>
  checkPrices(prices, { ...ground, ...more }).map(({ loc, type, msg }) => ({ at: loc.slice(1).join("."), type, msg }));
const places = (prices: RequestedPrice[], more: Partial<PricingContext> = {}) =>
  check(prices, more).map(({ at, type }) => `${at} ${type}`);

const row = (values: Partial<PriceRow>): PriceRow => ({
  id: "00000000-0000-7000-8000-000000000001",
  organization_id: "o",
  product_id: "00000000-0000-7000-8000-0000000000ff",
  created_at: new Date(0),
  modified_at: null,
  source: "catalog",
  is_archived: false,
  amount_type: "fixed",
  price_currency: "usd",
  tax_behavior: null,
  price_amount: 1000,
  minimum_amount: null,
  maximum_amount: null,
  preset_amount: null,
  unit_amount: null,
  cap_amount: null,
  meter_id: null,
  seat_tiers: null,
  ...values,
});

describe("amounts of a price", () => {
  test.each([
    [fixed(0), []],
    [fixed(1), ["prices.0.price_amount minimum_price"]],
    [fixed(49), ["prices.0.price_amount minimum_price"]],
    [fixed(50), []],
    [fixed(99_999_999), []],
    [fixed(100_000_000), ["prices.0.price_amount maximum_price"]],
  ])("PRD-08: a fixed amount is 0 or within the currency's bounds (%#)", (one, faults) => {
    expect(places([one])).toEqual(faults);
  });

  test.each([
    [custom(), []],
    [custom({ minimum_amount: 0 }), []],
    [
      custom({ minimum_amount: 10, maximum_amount: 20, preset_amount: 30 }),
      [
        "prices.0.minimum_amount minimum_price",
        "prices.0.maximum_amount minimum_price",
        "prices.0.preset_amount minimum_price",
      ],
    ],
    [custom({ minimum_amount: 500, maximum_amount: 200 }), []],
    [custom({ preset_amount: 100_000_000 }), ["prices.0.preset_amount maximum_price"]],
  ])("PRD-10: each amount of a custom price is 0 or within bounds, and no two are compared (%#)", (one, faults) => {
    expect(places([one])).toEqual(faults);
  });

  test("POL-03, POL-04: in every currency its own least and most are accepted, one beyond is not", () => {
    fc.assert(
      fc.property(fc.constantFrom(...currencies), (currency) => {
        const at = (amount: number) => places([fixed(amount, { price_currency: currency })], { currency });
        expect(at(getMinimumAmount(currency))).toEqual([]);
        expect(at(getMaximumAmount(currency))).toEqual([]);
        expect(at(getMinimumAmount(currency) - 1)).toEqual(["prices.0.price_amount minimum_price"]);
        expect(at(getMaximumAmount(currency) + 1)).toEqual(["prices.0.price_amount maximum_price"]);
        // What is accepted fits the column it is kept in.
        expect(getMaximumAmount(currency)).toBeLessThanOrEqual(2_147_483_647);
      }),
      { numRuns: currencies.length * 2 },
    );
  });

  test("PRD-10: a custom price without a minimum takes the least of its own currency", () => {
    const place = {
      id: "i",
      organization_id: "o",
      product_id: "p",
      created_at: new Date(0),
      source: "catalog" as const,
    };
    const plan = (currency: string) =>
      planPrice(custom() as never, place, { currency, minimumAmount: getMinimumAmount }).minimum_amount;
    expect([plan("usd"), plan("jpy"), plan("huf")]).toEqual([50, 80, 17_500]);
  });
});

describe("seat tiers", () => {
  const tier = (min_seats: number, max_seats: number | null, price_per_seat = 100) => ({
    min_seats,
    max_seats,
    price_per_seat,
  });
  test.each([
    ["one open tier", [tier(1, null)], 0],
    ["sorted before they are checked", [tier(5, null), tier(1, 4)], 0],
    ["a gap", [tier(1, 4), tier(6, null)], 1],
    ["an overlap", [tier(1, 4), tier(4, null)], 1],
    ["an open tier that is not the last", [tier(1, null), tier(5, null)], 1],
    ["bounded by its last tier", [tier(2, 10)], 0],
    ["an end before its beginning", [tier(5, 4)], 1],
    ["free seats", [tier(1, null, 0)], 0],
    ["too dear", [tier(1, null, 100_000_000)], 1],
  ])("SEAT-02, SEAT-03: %s", (_, tiers, faults) => {
    expect(check([seats(tiers)])).toHaveLength(faults);
  });

  test("PRD-12: refused while seats are switched off", () => {
    expect(places([seats([openTier])], { seats_enabled: false })).toEqual(["prices.0 seat_based_pricing_disabled"]);
  });

  test("SEAT-02: the first and the last tier bound how many can be bought", () => {
    const place = {
      id: "i",
      organization_id: "o",
      product_id: "p",
      created_at: new Date(0),
      source: "catalog" as const,
    };
    const planned = planPrice(seats([tier(11, 20), tier(3, 10)]) as never, place, {
      currency: "usd",
      minimumAmount: getMinimumAmount,
    });
    expect(planned.seat_tiers).toMatchObject({ minimum_seats: 3, maximum_seats: 20, seat_tier_type: "volume" });
  });
});

describe("prices together", () => {
  test.each<[string, RequestedPrice[], number]>([
    ["fixed alone", [fixed(1000)], 0],
    ["two fixed", [fixed(1000), fixed(2000)], 1],
    ["free counts as fixed (PRD-09)", [fixed(1000), free()], 1],
    ["fixed and seats", [fixed(1000), seats([openTier])], 0],
    ["custom alone", [custom()], 0],
    ["custom beside fixed", [custom(), fixed(1000)], 1],
    ["custom beside seats", [custom(), seats([openTier])], 1],
    ["two custom", [custom(), custom()], 1],
    ["two seats", [seats([openTier]), seats([openTier])], 1],
  ])("PRD-16, PRD-17: %s", (_, prices, faults) => {
    expect(check(prices).filter(({ at }) => at === "prices")).toHaveLength(faults);
  });

  test("PRD-11, PRD-19: metered prices need a subscription and a meter that exists", () => {
    expect(check([metered()])[0]).toEqual({
      at: "prices.0",
      type: "value_error",
      msg: "Metered pricing is not supported on one-time products.",
    });
    expect(places([metered()], { recurring: true })).toEqual([]);
    expect(check([metered()], { recurring: true, meter_ids: new Set() })[0]).toMatchObject({
      at: "prices.0.meter_id",
      msg: "Meter does not exist.",
    });
  });

  test("PRD-18: a meter appears once per currency", () => {
    const twice = check([metered(), metered()], { recurring: true });
    expect(twice).toEqual([
      { at: "prices.1.meter_id", type: "value_error", msg: "Meter is already used for another price." },
    ]);
    expect(check([metered(), metered({ price_currency: "eur" })], { recurring: true })).toEqual([]);
  });

  test("PRD-20: every currency has the same kinds, the default one is there, and one currency has one tax behaviour", () => {
    expect(check([fixed(1000), fixed(900, { price_currency: "eur" })])).toEqual([]);
    expect(check([fixed(1000), custom({ price_currency: "eur" })])).toHaveLength(1);
    expect(check([fixed(900, { price_currency: "eur" })])).toHaveLength(1);
    expect(
      check([fixed(1000, { tax_behavior: "inclusive" }), seats([openTier], { tax_behavior: "exclusive" })]),
    ).toHaveLength(1);
  });

  test("PRD-21: the faults of all prices and of their combination come together", () => {
    expect(places([fixed(10), custom({ preset_amount: 20 }), { id: meter }])).toEqual([
      "prices.0.price_amount minimum_price",
      "prices.1.preset_amount minimum_price",
      "prices.2.id value_error",
      "prices value_error",
    ]);
  });

  test("PRD-22: kept prices count in the resulting list; unknown ones do not exist", () => {
    const kept = row({});
    expect(check([{ id: kept.id }], { active: [kept] })).toEqual([]);
    expect(places([{ id: kept.id }, fixed(2000)], { active: [kept] })).toEqual(["prices value_error"]);
    expect(check([{ id: kept.id }])[0]?.msg).toBe("Price does not exist.");
  });
});

test("PRD-35: a product is sorted by its oldest price on sale: free before all, custom by its least, seats by the first", () => {
  const at = (day: number, values: Partial<PriceRow>) => row({ created_at: new Date(day), id: String(day), ...values });
  const none = { price_amount: null };
  const tier = { min_seats: 1, max_seats: null, price_per_seat: 700 };
  const seat_tiers = { seat_tier_type: "volume" as const, tiers: [tier], minimum_seats: 1, maximum_seats: null };
  const kinds: [Partial<PriceRow>, number][] = [
    [{ price_amount: 900 }, 900],
    [{ ...none, amount_type: "free" }, -2],
    [{ ...none, amount_type: "custom", minimum_amount: 0 }, 0],
    [{ ...none, amount_type: "metered_unit" }, 0],
    [{ ...none, amount_type: "seat_based", seat_tiers }, 700],
  ];
  for (const [values, sort_amount] of kinds) {
    const sort_amount_type = values.amount_type ?? "fixed";
    expect(computeSortColumns([at(2, { price_amount: 5 }), at(1, values)])).toEqual({ sort_amount_type, sort_amount });
  }
  // Of prices made at once, the first.
  const together = [row({ id: "b", price_amount: 2 }), row({ id: "a", price_amount: 1 })];
  expect(computeSortColumns(together).sort_amount).toBe(1);
});

describe("prices as they are answered", () => {
  test("PRD-36: type and interval mirror the product", () => {
    expect(serializePrice(row({}), { recurring_interval: null })).toMatchObject({
      type: "one_time",
      recurring_interval: null,
    });
    expect(serializePrice(row({}), { recurring_interval: "month" })).toMatchObject({
      type: "recurring",
      recurring_interval: "month",
    });
  });

  test("PRD-09: free stays its own kind, and bears no amount", () => {
    expect(
      serializePrice(row({ amount_type: "free", price_amount: null }), { recurring_interval: null }),
    ).not.toHaveProperty("price_amount");
  });
});

test("MTR-13: a product does not return on sale with a price that counts on an archived meter", () => {
  const prices = [row({ meter_id: null }), row({ id: "a", meter_id: meter }), row({ id: "b", meter_id: "archived" })];
  expect(
    checkReturn(prices, new Set([meter])).map(({ loc, msg }) => [loc.slice(1).join("."), msg.includes("price b")]),
  ).toEqual([["is_archived", true]]);
});

describe("benefits of a product (PRD-32)", () => {
  const benefit = (id: string, selectable = true) => ({ id, selectable }) as never;
  const [open, closed] = [benefit("open"), benefit("closed", false)];
  test.each([
    ["those that there are, in any order", ["open", "other"], [open, benefit("other")], [], []],
    ["none that is unknown", ["open", "gone"], [open], [], ["benefits.1"]],
    ["none twice", ["open", "open"], [open], [], ["benefits.1"]],
    ["none new that may not be chosen", ["closed"], [closed], [], ["benefits.0"]],
    ["one that it has already", ["closed"], [closed], [closed], []],
    ["not without one that may not be taken off", [], [], [closed], ["benefits"]],
    ["without one that may", [], [], [open], []],
  ])("are %s", (_, wanted, found, had, places) => {
    expect(checkBenefits(wanted, found, had).map(({ loc }) => loc.slice(1).join("."))).toEqual(places);
  });
});

describe("an update of a product", () => {
  const product = (fields: Partial<ProductRow> = {}) =>
    ({
      name: "Book",
      recurring_interval: "month",
      recurring_interval_count: 1,
      trial_interval: null,
      trial_interval_count: null,
      ...fields,
    }) as ProductRow;
  const once = product({ recurring_interval: null, recurring_interval_count: null });
  const day = { trial_interval: "day", trial_interval_count: 7 } as const;
  test.each([
    ["its name", product(), { name: "Map" }, { name: "Map" }, []],
    ["nothing that is so already", product(), { name: "Book", recurring_interval: "month" }, {}, []],
    ["not how often it is paid", product(), { recurring_interval: "year" }, {}, ["recurring_interval"]],
    ["not that it is paid again and again", once, { recurring_interval: "month" }, {}, ["recurring_interval"]],
    ["its trial", product(), day, day, []],
    [
      "its trial away by either half",
      product(day),
      { trial_interval: null },
      { trial_interval: null, trial_interval_count: null },
      [],
    ],
    ["no trial of what is bought once", once, day, day, ["trial_interval", "trial_interval_count"]],
  ])("changes %s", (_, had, body, patch, places) => {
    const planned = planUpdate(had, body as never);
    expect(planned.faults.map(({ loc }) => loc.slice(1).join("."))).toEqual(places);
    if (places.length === 0) expect(planned.patch).toEqual(patch);
  });
});

test("SEAT-02: tiers are kept in the order of their seats, whatever order they come in", () => {
  const tiers = [
    { min_seats: 5, price_per_seat: 4 },
    { min_seats: 2, max_seats: 4, price_per_seat: 5 },
  ];
  expect(planTiers({ seat_tier_type: "graduated", tiers } as never)).toEqual({
    seat_tier_type: "graduated",
    tiers: [
      { min_seats: 2, max_seats: 4, price_per_seat: 5 },
      { min_seats: 5, max_seats: null, price_per_seat: 4 },
    ],
    minimum_seats: 2,
    maximum_seats: null,
  });
});

describe("the lines of a price", () => {
  const tiers = [
    { min_seats: 1, max_seats: 2, price_per_seat: 5 },
    { min_seats: 3, max_seats: null, price_per_seat: 4 },
  ];
  const seated = row({ amount_type: "seat_based", seat_tiers: { seat_tier_type: "graduated", tiers } as never });
  const chosen = () => ({ rule: "chosen", by: "buyer", amount: 700 }) as const;
  test.each([
    ["fixed", row({ price_amount: 1900 }), ["Book: fixed"]],
    ["chosen", row({ amount_type: "custom" }), ["Book: chosen"]],
    ["free", row({ amount_type: "free" }), ["Book: free"]],
    ["of use none", row({ amount_type: "metered_unit" }), []],
    ["of seats one for each tier", seated, ["Book (2 seats): seats", "Book (1 seat): seats"]],
  ])("%s", (_, of, lines) => {
    const planned = planLines(of, { product: { name: "Book" }, seats: 3, chosen });
    expect(planned.map(({ label, source }) => `${label}: ${source.rule}`)).toEqual(lines);
  });
  test("of seats need seats", () => {
    expect(() => planLines(seated, { product: { name: "Book" }, seats: null, chosen })).toThrow("lacks its seats");
  });
});
