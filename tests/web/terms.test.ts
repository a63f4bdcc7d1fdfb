/** What the checkout says of its figures: when what is charged, in the words of each language. */
import { describe, expect, test } from "vitest";
import { messages as german } from "../../shared/messages/de/checkout.ts";
import { messages as german_portal } from "../../shared/messages/de/portal.ts";
import { messages as english } from "../../shared/messages/en/checkout.ts";
import { messages as english_portal } from "../../shared/messages/en/portal.ts";
import { messages as french } from "../../shared/messages/fr/checkout.ts";
import { messages as french_portal } from "../../shared/messages/fr/portal.ts";
import { computeAccent } from "../../web/accent.ts";
import { loadI18n } from "../../web/i18n/i18n.tsx";
import { computeSaving, describeOffer, describeTiers } from "../../web/offers.ts";
import { listPlans } from "../../web/portal/ChangePlan.tsx";
import { computeCosts, computeLevels, getLimits } from "../../web/portal/levels.ts";
import { describeButton, describeSchedule, describeUse, getLines, getSchedule } from "../../web/terms.ts";
import { type FakeCheckout, makeCheckout } from "./support/sample.ts";

const now = new Date("2026-01-31T12:00:00Z");
type Interval = "day" | "week" | "month" | "year";

function recurring(fields: Partial<FakeCheckout> = {}, interval: Interval = "month", count = 1): FakeCheckout {
  const made = makeCheckout("http://floe", { as_of: now.toISOString(), ...fields });
  Object.assign(made.product, { recurring_interval: interval, recurring_interval_count: count });
  return made;
}
const off = (duration: "once" | "forever" | "repeating", duration_in_months?: number) => {
  const lasting = duration_in_months === undefined ? { duration } : { duration, duration_in_months };
  const terms = { type: "fixed" as const, amount: 400, currency: "usd", amounts: { usd: 400 }, ...lasting };
  const discount = { id: "00000000-0000-4000-8000-999999999999", name: "Thaw", code: null, ...terms };
  return { discount, discount_amount: 400, net_amount: 1500, total_amount: 1500 };
};
const stepsOf = (checkout: FakeCheckout) =>
  getSchedule(checkout)?.steps.map(({ amount, from }) => [amount, from.toISOString().slice(0, 10)]);

test("plans to change to: what is comparable, billed as often first, then by price; or as the seller has grouped them", () => {
  const make = (id: string, amount: number, interval: Interval | null, count = 1, price: object = {}) => ({
    id,
    is_recurring: interval !== null,
    recurring_interval: interval,
    recurring_interval_count: count,
    prices: [{ amount_type: "fixed", price_currency: "usd", price_amount: amount, ...price }],
  });
  const products = [
    make("year", 100, "year"),
    make("dear", 900, "month"),
    make("own", 500, "month"),
    make("book", 1, null),
    make("quarter", 50, "month", 3),
    make("cheap", 300, "month"),
    make("euro", 300, "month", 1, { price_currency: "eur" }),
    make("team", 300, "month", 1, { amount_type: "seat_based" }),
  ];
  const own = { product_id: "own", currency: "usd", recurring_interval: "month", recurring_interval_count: 1 };
  const list = (groups: string[][], subscription: object = own) =>
    listPlans(products as never, subscription as never, groups).map(({ id }) => id);
  expect(list([])).toEqual(["cheap", "dear", "quarter", "year"]);
  expect(list([], { ...own, seats: 3 })).toEqual(["team"]);
  expect(list([["dear", "own", "gone", "team", "cheap", "book"]])).toEqual(["dear", "team", "cheap"]);
  expect(list([["dear", "cheap"]])).toEqual(["quarter", "year"]);
  expect(list([["own"]])).toEqual([]);
});

describe("what is charged later", () => {
  test("nothing, where something is bought once", () => {
    expect(getSchedule(makeCheckout("http://floe", {}))).toBeUndefined();
  });

  test.each([
    ["a month from its last day", recurring(), [[1900, "2026-02-28"]]],
    ["every three months", recurring({}, "month", 3), [[1900, "2026-04-30"]]],
    ["two weeks", recurring({}, "week", 2), [[1900, "2026-02-14"]]],
    ["a discount once", recurring(off("once")), [[1900, "2026-02-28"]]],
    ["a discount for ever", recurring(off("forever")), [[1500, "2026-02-28"]]],
    ["a discount for one month", recurring(off("repeating", 1)), [[1900, "2026-02-28"]]],
    [
      "a discount for three months",
      recurring(off("repeating", 3)),
      [
        [1500, "2026-02-28"],
        [1900, "2026-04-30"],
      ],
    ],
    ["a discount for three months of a year", recurring(off("repeating", 3), "year"), [[1900, "2027-01-31"]]],
    ["a trial", recurring({ trial_end: "2026-02-14T12:00:00.000Z" }), [[1900, "2026-02-14"]]],
    [
      "a trial with a discount once, which the first charge has",
      recurring({ trial_end: "2026-02-14T12:00:00.000Z", ...off("once") }),
      [
        [1500, "2026-02-14"],
        [1900, "2026-03-14"],
      ],
    ],
  ])("%s", (_name, checkout, steps) => {
    expect(stepsOf(checkout)).toEqual(steps);
  });

  test("tax that cannot be told yet is said to come on top", () => {
    const taxed = { tax_behavior: "exclusive" as const, tax_amount: 285, ...off("once"), total_amount: 1785 };
    expect(getSchedule(recurring(taxed))?.plus_tax).toBe(true);
    expect(getSchedule(recurring({ ...taxed, ...off("forever") }))?.plus_tax).toBe(false);
    expect(getSchedule(recurring({ tax_amount: null }))?.plus_tax).toBe(true);
    expect(getSchedule(recurring({ ...taxed, tax_behavior: "inclusive" }))?.plus_tax).toBe(false);
  });
});

describe("what is said of it", () => {
  test.each([
    ["en-US", "Then $15.00 a month from February 28, 2026, and $19.00 a month from April 30, 2026."],
    ["en-GB", "Then US$15.00 a month from 28 February 2026, and US$19.00 a month from 30 April 2026."],
    ["de", "Danach 15,00 $ pro Monat ab 28. Februar 2026 und 19,00 $ pro Monat ab 30. April 2026."],
    ["fr-FR", "Puis 15,00 $US par mois à partir du 28 février 2026, et 19,00 $US par mois à partir du 30 avril 2026."],
    // No file for it: English, as it is written there.
    ["sv_SE", "Then 15,00 US$ a month from 28 February 2026, and 19,00 US$ a month from 30 April 2026."],
    ["no such locale", "Then $15.00 a month from February 28, 2026, and $19.00 a month from April 30, 2026."],
  ])("in %s", async (locale, text) => {
    const said = describeSchedule(getSchedule(recurring(off("repeating", 3))), "usd", await loadI18n(locale));
    expect(said?.replace(/\s/g, " ")).toBe(text);
  });

  test("the button says what pressing it does", async () => {
    const i18n = await loadI18n("en-US");
    const setup = { is_payment_required: false, is_payment_setup_required: true };
    expect(describeButton(makeCheckout("http://floe", {}), i18n)).toBe("Pay $19.00");
    expect(describeButton(recurring(), i18n)).toBe("Subscribe for $19.00 a month");
    expect(describeButton(recurring(off("once")), i18n)).toBe("Subscribe and pay $15.00");
    expect(describeButton(recurring({ ...setup, trial_end: "2026-02-14T12:00:00.000Z" }), i18n)).toBe(
      "Start free trial",
    );
    expect(describeButton(recurring({ ...setup, amount: 0, total_amount: 0 }), i18n)).toBe("Subscribe");
    const free = { is_payment_required: false, is_payment_form_required: false, total_amount: 0 };
    expect(describeButton(makeCheckout("http://floe", free), i18n)).toBe("Get it for free");
  });

  test("a buyer in Germany is told that the press obliges to pay, in German and where the button names no sum", async () => {
    const [english_page, german_page] = await Promise.all([loadI18n("en-US"), loadI18n("de")]);
    const trial = recurring({
      is_payment_required: false,
      is_payment_setup_required: true,
      trial_end: "2026-02-14T12:00:00.000Z",
    });
    for (const checkout of [recurring(), trial, makeCheckout("http://floe", {})])
      expect(describeButton(checkout, german_page, "DE")).toBe("Zahlungspflichtig bestellen");
    expect(describeButton(trial, english_page, "DE")).toBe("Order with obligation to pay");
    expect(describeButton(recurring(), english_page, "DE")).toBe("Subscribe for $19.00 a month");
    expect(describeButton(trial, german_page, "CH")).toBe("Kostenlos testen");
    const free = { is_payment_required: false, is_payment_form_required: false, total_amount: 0 };
    expect(describeButton(makeCheckout("http://floe", free), german_page, "DE")).toBe("Kostenlos erhalten");
  });

  test("a trial is told with its length, and use with the most that it may cost", async () => {
    const i18n = await loadI18n("en-US");
    const made = recurring({
      trial_end: "2026-02-14T12:00:00.000Z",
      active_trial_interval: "day",
      active_trial_interval_count: 14,
    });
    const meter = { id: made.id, name: "Calls", unit: "scalar", custom_label: null, custom_multiplier: null };
    const buildUse = (cap_amount: number | null) => ({
      ...made.product_price,
      id: made.organization.id,
      amount_type: "metered_unit" as const,
      unit_amount: "0.2",
      cap_amount,
      meter,
    });
    const sayWith = (...uses: object[]) =>
      describeSchedule(
        getSchedule({ ...made, prices: { [made.product_id]: [made.product_price, ...uses] } } as FakeCheckout),
        "usd",
        i18n,
      );
    expect(sayWith()).toBe("14 days free, then $19.00 a month from February 14, 2026.");
    expect(sayWith(buildUse(5000))).toBe(
      "14 days free, then $19.00 a month from February 14, 2026, plus usage (at most $50.00).",
    );
    expect(sayWith(buildUse(5000), buildUse(null))).toBe(
      "14 days free, then $19.00 a month from February 14, 2026, plus usage.",
    );
  });

  test("a year beside a month says what it saves, and nothing where it saves nothing", () => {
    const made = recurring();
    const addYear = (price_amount: number) => {
      const year = { ...made.product, id: made.id, recurring_interval: "year" as const };
      const price = { ...made.product_price, price_amount };
      const offered = { ...made, products: [made.product, year], prices: { ...made.prices, [year.id]: [price] } };
      return computeSaving(offered as FakeCheckout, year);
    };
    expect(addYear(19_000)).toBe(16);
    expect(addYear(12 * 1900)).toBe(0);
    expect(addYear(30_000)).toBe(0);
    expect(computeSaving(made, made.product)).toBe(0);
  });

  test("each tier of the seats is told", async () => {
    const made = makeCheckout("http://floe", { seats: 2 });
    const tiers = [
      { min_seats: 1, max_seats: 4, price_per_seat: 1000 },
      { min_seats: 5, max_seats: null, price_per_seat: 800 },
    ];
    const seat_tiers = { seat_tier_type: "graduated" as const, tiers, minimum_seats: 1, maximum_seats: null };
    const price = { ...made.product_price, amount_type: "seat_based" as const, seat_tiers };
    const sold = { ...made, product_price: price, prices: { [made.product_id]: [price] } } as FakeCheckout;
    expect(describeTiers(sold, await loadI18n("en-US"))).toEqual([
      "1–4 seats: $10.00 per seat",
      "5 or more seats: $8.00 per seat",
    ]);
    expect(describeTiers(sold, await loadI18n("de"))).toEqual([
      "1–4 Plätze: 10,00\u00a0$ pro Platz",
      "Ab 5 Plätzen: 8,00\u00a0$ pro Platz",
    ]);
  });

  test("seats stand tier by tier, and what their prices do not explain as one", async () => {
    const made = recurring({ seats: 6, min_seats: 1, amount: 5600 });
    const tiers = [
      { min_seats: 1, max_seats: 4, price_per_seat: 1000 },
      { min_seats: 5, max_seats: null, price_per_seat: 800 },
    ];
    const seat_tiers = { seat_tier_type: "graduated" as const, tiers, minimum_seats: 1, maximum_seats: null };
    const price = { ...made.product_price, amount_type: "seat_based" as const, seat_tiers };
    Object.assign(made, { product_price: price, prices: { [made.product_id]: [price] } });
    const lines = [
      { amount: 4000, seats: { count: 4, price: 1000 } },
      { amount: 1600, seats: { count: 2, price: 800 } },
    ];
    expect(getLines(made)).toEqual(lines);
    expect(getLines({ ...made, amount: 6000 })).toEqual([{ amount: 6000 }]);
    expect(describeOffer(made, made.product, await loadI18n("en-US"))).toBe("From $8.00 per seat a month");
  });

  test.each([
    ["scalar", null, null, "0.05", "$0.0005 per unit"],
    ["token", null, null, "0.00015", "$1.50 per million tokens"],
    ["custom", "GB", 1_000_000_000, "0.000000003", "$0.03 per GB"],
    ["custom", "call", 1, "50", "$0.50 per call"],
  ] as const)("a price by use, %s %s", async (unit, custom_label, custom_multiplier, unit_amount, cost) => {
    const { product_price } = makeCheckout("http://floe", {});
    const meter = { id: product_price.id, name: "Use", unit, custom_label, custom_multiplier };
    const price = { ...product_price, amount_type: "metered_unit" as const, unit_amount, cap_amount: null };
    const used = { ...price, meter_id: meter.id, meter };
    expect(describeUse(used, await loadI18n("en-US"))?.cost).toBe(cost);
  });
});

test.each([
  ["#000000", "#ffffff"],
  ["#0b5c6b", "#ffffff"],
  ["#ffd400", "#000000"],
  ["#767676", "#ffffff"],
  ["#777777", "#000000"],
  ["#ffffff", "#000000"],
])("letters on a seller's %s are %s", (color, ink) => {
  expect(computeAccent(color)).toMatchObject({ "--button": color, "--button-ink": ink });
});

describe("the languages", () => {
  test.each([
    ["German", german],
    ["French", french],
  ])("%s has a text of its own for all that is more than a name", (_name, other) => {
    const same = Object.entries(english)
      .filter(
        ([key, text]) => typeof text === "string" && text.length > 12 && text === other[key as keyof typeof other],
      )
      .map(([key]) => key);
    expect(same).toEqual([]);
    expect(Object.keys(other).sort()).toEqual(Object.keys(english).sort());
    for (const count of [1, 2]) expect(other.faults(count)).not.toBe(english.faults(count));
    expect(new Set([1, 2].map((count) => other.every("month", count))).size).toBe(2);
  });
});

describe("what use is held against, on the customer's own page", () => {
  const pieces = (quantities: number[], total = quantities.reduce((sum, one) => sum + one, 0)) => ({
    quantities: quantities.map((quantity) => ({ timestamp: now.toISOString(), quantity })),
    total,
  });

  test.each<[string, ReturnType<typeof pieces>, number, number[] | undefined]>([
    ["all of it lately", pieces([3, 0, 4]), 7, [3, 3, 7]],
    ["some of it before", pieces([3, 0, 4]), 100, [96, 96, 100]],
    ["what came before the count began anew is none of it", pieces([1, 50, 2, 4]), 6, [0, 0, 2, 6]],
    ["parts of units", pieces([0.1, 0.2]), 0.3, [0.09999999999999998, 0.3]],
    ["nothing", pieces([0, 0]), 0, [0, 0]],
    ["a highest value does not add up", pieces([5, 9], 9), 9, undefined],
    ["no pieces", pieces([]), 9, []],
  ])("%s", (_name, used, consumed, levels) => {
    expect(computeLevels(used, consumed)).toEqual(levels);
  });

  const priced = (price: object, status = "active") =>
    ({ status, currency: "eur", prices: [{ amount_type: "metered_unit", meter_id: "m", ...price }] }) as never;
  test.each<[string, number, object[], unknown[]]>([
    ["what is included", 1000, [], [[1000, null]]],
    ["nothing", 0, [], []],
    [
      "where a price is at its most",
      1000,
      [priced({ unit_amount: "0.5", cap_amount: 300 })],
      [
        [1000, null],
        [1600, 300],
      ],
    ],
    ["a price without a most", 0, [priced({ unit_amount: "0.5", cap_amount: null })], []],
    ["another meter", 0, [priced({ unit_amount: "1", cap_amount: 1, meter_id: "n" })], []],
    ["what has ended", 0, [priced({ unit_amount: "1", cap_amount: 1 }, "canceled")], []],
    ["what costs nothing", 0, [priced({ unit_amount: "0", cap_amount: 100 })], []],
  ])("%s", (_name, credited, subscriptions, limits) => {
    const found = getLimits("m", credited, subscriptions as never);
    expect(found.map(({ units, cap }) => [units, cap?.amount ?? null])).toEqual(limits);
  });
});

test("use costs what its subscriptions count, in their currencies, until they end; a meter without a price costs nothing", () => {
  const make = (fields: object) => ({
    ...{ status: "active", currency: "usd", current_period_end: "2026-02-01", current_meter_period_end: null },
    prices: [{ amount_type: "metered_unit", meter_id: "m" }],
    meters: [
      { meter_id: "m", amount: 320 },
      { meter_id: "other", amount: 9 },
    ],
    ...fields,
  });
  const compute = (...subscriptions: object[]) =>
    computeCosts("m", subscriptions as never).map(({ amount, currency, charged_at }) => [amount, currency, charged_at]);
  expect(compute(make({}), make({ currency: "eur", current_meter_period_end: "2026-01-15" }))).toEqual([
    [320, "usd", "2026-02-01"],
    [320, "eur", "2026-01-15"],
  ]);
  expect(compute(make({ status: "canceled" }), make({ prices: [] }), make({ meters: [] }))).toEqual([]);
});

test("who speaks to a customer's own place finds a button by the messages on it, in every language", () => {
  for (const messages of [english_portal, german_portal, french_portal])
    expect(messages.deactivate("Desk")).toContain(messages.deactivate_short);
});
