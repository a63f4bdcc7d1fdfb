import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findFederalRate, findRate, getTaxName, rateTable } from "../../server/billing/tax/rates.ts";
import { describeRates, planRegistration, planUpdate } from "../../server/billing/tax/registrations.ts";
import {
  decideTax,
  findOwnRate,
  getBehavior,
  getSource,
  isStanding,
  type RegistrationRow,
  type TaxFacts,
} from "../../server/billing/tax/rules.ts";
import { findPlace, getTaxCountry } from "../../server/billing/tax/territories.ts";
import { taxIdFormats } from "../../shared/api/fields.ts";
import { countries } from "../../shared/countries.ts";
import { statesOf } from "../../shared/states.ts";
import { taxSchemes, unionCountries } from "../../shared/tax.ts";

const at = new Date("2026-11-01T12:00:00Z");
const day = 24 * 3600 * 1000;

/** A registration as `DE`, `US-TX`, `DE oss` or `GH domestic 20`. */
function registered(text: string, number = 0): RegistrationRow {
  const [where = "", scheme = "domestic", rate = null] = text.split(" ");
  const [country, state] = where.split("-");
  return {
    id: `00000000-0000-7000-8000-${String(number).padStart(12, "0")}`,
    organization_id: "00000000-0000-7000-8000-0000000000ff",
    created_at: new Date("2026-03-01T00:00:00Z"),
    modified_at: null,
    country: country as RegistrationRow["country"],
    state: state ? where : null,
    scheme: scheme as RegistrationRow["scheme"],
    tax_id: null,
    rate,
    starts_at: new Date("2020-01-01T00:00:00Z"),
    ends_at: null,
  };
}
/** An address as `DE`, `US-TX`, or `ES 38001` with a postal code. */
function addressOf(text: string): TaxFacts["address"] {
  const [where = "", postal_code = null] = text.split(" ");
  const [country, state] = where.split("-");
  return { country: country as (typeof countries)[number], state: state ? where : null, postal_code };
}
type Case = Partial<Omit<TaxFacts, "registrations" | "address">> & { in?: string[]; to?: string | null };
const decide = ({ in: places = [], to = null, ...facts }: Case) =>
  decideTax({
    registrations: places.map(registered),
    seller_country: null,
    address: to === null ? null : addressOf(to),
    tax_id: null,
    is_business: facts.tax_id !== undefined,
    price_tax_behavior: null,
    default_tax_behavior: "location",
    at,
    ...facts,
  });
/** The treatment in one line: `standard: FR VAT 20`. */
const shown = (facts: Case): string => {
  const { reason, rates } = decide(facts);
  return [reason, ...rates.map(({ name, country, state, rate }) => `${state ?? country} ${name} ${rate}`)].join(", ");
};

const german = { seller_country: "DE", in: ["DE", "DE oss"] };
const american = { seller_country: "US", in: ["IE oss"] };
const numbers = {
  DE: ["DE123456788", "eu_vat"],
  FR: ["FR40303265045", "eu_vat"],
  GR: ["EL094259216", "eu_vat"],
  ES: ["A58818501", "es_cif"],
  GB: ["980780684", "gb_vat"],
  XI: ["XI980780684", "eu_vat"],
  CH: ["CHE107787577IVA", "ch_vat"],
  NO: ["995525828MVA", "no_vat"],
  GST: ["754039725RT0001", "ca_gst_hst"],
  QST: ["1224002901TQ0001", "ca_qst"],
  US: ["911144442", "us_ein"],
  OSS: ["EU372022452", "eu_oss_vat"],
} as const satisfies Record<string, TaxFacts["tax_id"]>;

describe("CHK-46: how a sale is taxed", () => {
  test.each<[string, Case, string]>([
    ["nobody is registered", { to: "DE" }, "not_collected"],
    ["nobody is registered, and no address is known", {}, "not_collected"],
    ["no address is known", german, "unknown"],
    ["a country without a registration", { ...german, to: "JP" }, "not_collected"],

    ["a domestic consumer", { ...german, to: "DE" }, "standard, DE VAT 19"],
    ["a domestic business", { ...german, to: "DE", tax_id: numbers.DE }, "standard, DE VAT 19"],
    ["a consumer elsewhere in the union", { ...german, to: "FR" }, "standard, FR VAT 20"],
    ["a business elsewhere in the union", { ...german, to: "FR", tax_id: numbers.FR }, "reverse_charge"],
    [
      "its number, and no business",
      { ...german, to: "FR", tax_id: numbers.FR, is_business: false },
      "standard, FR VAT 20",
    ],
    ["a business without a number", { ...german, to: "FR", is_business: true }, "standard, FR VAT 20"],
    ["another country's number", { ...german, to: "FR", tax_id: numbers.DE }, "standard, FR VAT 20"],
    ["a number that is none for VAT", { ...german, to: "ES", tax_id: numbers.ES }, "standard, ES VAT 21"],
    ["a seller's number of the one-stop-shop", { ...german, to: "FR", tax_id: numbers.OSS }, "standard, FR VAT 20"],
    ["Greece writes EL", { ...german, to: "GR", tax_id: numbers.GR }, "reverse_charge"],
    ["a consumer in Greece", { ...german, to: "GR" }, "standard, GR VAT 24"],

    ["one-stop-shop from abroad, a consumer", { ...american, to: "IE" }, "standard, IE VAT 23"],
    ["one-stop-shop from abroad, a business", { ...american, to: "FR", tax_id: numbers.FR }, "reverse_charge"],
    [
      "one-stop-shop alone, at home",
      { seller_country: "DE", in: ["DE oss"], to: "DE", tax_id: numbers.DE },
      "standard, DE VAT 19",
    ],
    ["domestic alone, a consumer elsewhere", { seller_country: "DE", in: ["DE"], to: "FR" }, "not_collected"],
    [
      "domestic alone, a business elsewhere",
      { seller_country: "DE", in: ["DE"], to: "FR", tax_id: numbers.FR },
      "reverse_charge",
    ],
    [
      "nothing in the union, a business there",
      { seller_country: "US", in: ["US-TX"], to: "FR", tax_id: numbers.FR },
      "not_collected",
    ],
    [
      "a small seller, elsewhere in the union",
      { seller_country: "DE", in: ["DE small_seller"], to: "FR" },
      "standard, DE VAT 19",
    ],
    [
      "a small seller, a business elsewhere",
      { seller_country: "DE", in: ["DE small_seller"], to: "FR", tax_id: numbers.FR },
      "reverse_charge",
    ],
    [
      "registered there from elsewhere, a consumer",
      { seller_country: "US", in: ["FR"], to: "FR" },
      "standard, FR VAT 20",
    ],
    [
      "registered there from elsewhere, a business",
      { seller_country: "US", in: ["FR"], to: "FR", tax_id: numbers.FR },
      "reverse_charge",
    ],
    ["of a seller whose country nobody said", { in: ["DE"], to: "DE", tax_id: numbers.DE }, "standard, DE VAT 19"],

    ["Monaco is in France's tax", { ...german, to: "MC 98000" }, "standard, FR VAT 20"],
    ["Monaco, as an address in France", { ...german, to: "FR 98000" }, "standard, FR VAT 20"],
    ["a business in Monaco", { ...german, to: "MC", tax_id: numbers.FR }, "reverse_charge"],
    ["a seller in Monaco", { seller_country: "MC", in: ["FR"], to: "FR", tax_id: numbers.FR }, "standard, FR VAT 20"],
    ["the Canary Islands", { ...german, to: "ES 38001" }, "not_collected"],
    ["Ceuta", { ...german, to: "ES 51001" }, "not_collected"],
    ["Melilla", { ...german, to: "ES 52001" }, "not_collected"],
    ["Madrid", { ...german, to: "ES 28001" }, "standard, ES VAT 21"],
    ["Livigno", { ...german, to: "IT 23041" }, "not_collected"],
    ["Campione d'Italia", { ...german, to: "IT 22061" }, "not_collected"],
    ["Büsingen", { ...german, to: "DE 78266" }, "not_collected"],
    ["Heligoland, as it may be written", { ...german, to: "DE D-27498" }, "not_collected"],
    ["Mount Athos", { ...german, to: "GR 63086" }, "not_collected"],
    ["Åland, by its postal codes", { ...german, to: "FI 22100" }, "not_collected"],
    ["Åland, by its country", { ...german, to: "AX" }, "not_collected"],
    ["Réunion, by its postal codes", { ...german, to: "FR 97400" }, "not_collected"],
    ["Guadeloupe, by its country", { ...german, to: "GP" }, "not_collected"],
    ["Svalbard", { in: ["NO"], to: "NO 9170" }, "not_collected"],

    ["the United Kingdom", { in: ["GB"], to: "GB" }, "standard, GB VAT 20"],
    ["Northern Ireland is in its tax for services", { ...german, to: "GB", tax_id: numbers.XI }, "not_collected"],
    ["a business there", { in: ["GB"], to: "GB", tax_id: numbers.GB }, "standard, GB VAT 20"],
    [
      "a business there, sold to from abroad",
      { in: ["GB simplified"], to: "GB", tax_id: numbers.GB },
      "reverse_charge",
    ],
    ["a consumer there, sold to from abroad", { in: ["GB simplified"], to: "GB" }, "standard, GB VAT 20"],
    ["the Isle of Man", { in: ["GB"], to: "IM" }, "standard, GB VAT 20"],
    ["Jersey", { in: ["GB"], to: "JE" }, "not_collected"],
    ["Switzerland", { in: ["CH"], to: "CH", tax_id: numbers.CH }, "standard, CH VAT 8.1"],
    ["Liechtenstein", { in: ["CH"], to: "LI" }, "standard, CH VAT 8.1"],
    ["Norway", { in: ["NO"], to: "NO" }, "standard, NO VAT 25"],
    [
      "a business in Norway, sold to from abroad",
      { in: ["NO simplified"], to: "NO", tax_id: numbers.NO },
      "reverse_charge",
    ],
    [
      "both at once: domestic counts",
      { in: ["NO simplified", "NO"], to: "NO", tax_id: numbers.NO },
      "standard, NO VAT 25",
    ],

    ["a state without a registration", { in: ["US-TX"], to: "US-NY" }, "not_collected"],
    ["a state with one", { in: ["US-TX", "US-NY"], to: "US-NY" }, "standard, US-NY State sales tax 4"],
    [
      "a business in the US pays as well",
      { in: ["US-TX"], to: "US-TX", tax_id: numbers.US },
      "standard, US-TX State sales tax 6.25",
    ],
    ["the state is not known yet", { in: ["US-TX"], to: "US" }, "unknown"],
    ["no state has one", { in: ["DE"], to: "US" }, "not_collected"],
    ["the seller's own rate", { in: ["US-CA domestic 7.25"], to: "US-CA" }, "standard, US-CA State sales tax 7.25"],

    ["Alberta", { in: ["CA"], to: "CA-AB" }, "standard, CA GST 5"],
    ["Ontario", { in: ["CA"], to: "CA-ON" }, "standard, CA-ON HST 13"],
    ["Nova Scotia", { in: ["CA"], to: "CA-NS" }, "standard, CA-NS HST 14"],
    ["Quebec without its own", { in: ["CA"], to: "CA-QC" }, "standard, CA GST 5"],
    ["Quebec with its own", { in: ["CA", "CA-QC"], to: "CA-QC" }, "standard, CA GST 5, CA-QC QST 9.975"],
    ["Quebec's alone", { in: ["CA-QC"], to: "CA-QC" }, "standard, CA-QC QST 9.975"],
    ["Quebec's, elsewhere", { in: ["CA-QC"], to: "CA-ON" }, "not_collected"],
    ["British Columbia", { in: ["CA", "CA-BC"], to: "CA-BC" }, "standard, CA GST 5, CA-BC PST 7"],
    ["the province is not known yet", { in: ["CA"], to: "CA" }, "unknown"],
    ["a business, sold to from abroad", { in: ["CA simplified"], to: "CA-ON", tax_id: numbers.GST }, "reverse_charge"],
    [
      "a business by Quebec's number",
      { in: ["CA simplified", "CA-QC simplified"], to: "CA-QC", tax_id: numbers.QST },
      "standard, CA GST 5",
    ],
    ["a business, sold to from within", { in: ["CA"], to: "CA-ON", tax_id: numbers.GST }, "standard, CA-ON HST 13"],

    ["a country whose rate the seller gives", { in: ["GH domestic 20"], to: "GH" }, "standard, GH VAT 20"],
    ["a rate of nothing", { in: ["GH domestic 0"], to: "GH" }, "zero_rated"],
    ["a seller's rate of one country, in another", { in: ["IE oss 7"], to: "FR" }, "standard, FR VAT 20"],
    ["a province in whose tax the country's is", { in: ["CA-ON"], to: "CA-ON" }, "unknown"],
    [
      "a number of Canada's, and no business",
      { in: ["CA simplified"], to: "CA-ON", tax_id: numbers.GST, is_business: false },
      "standard, CA-ON HST 13",
    ],
    ["a rate that nobody knows", { in: ["GH"], to: "GH" }, "unknown"],
  ])("%s", (_, facts, treatment) => {
    expect(shown(facts)).toBe(treatment);
  });

  test.each([
    ["starts in this moment", { starts_at: at }, "standard"],
    ["has not started", { starts_at: new Date(at.getTime() + 1) }, "not_collected"],
    ["ends in this moment", { ends_at: at }, "not_collected"],
    ["ends later", { ends_at: new Date(at.getTime() + 1) }, "standard"],
  ])("a registration that %s", (_, dates, reason) => {
    const registrations = [{ ...registered("DE"), ...dates }];
    expect(decide({ registrations, to: "DE" } as Case).reason).toBe(reason);
  });

  test.each([
    ["DE", "2020-10-01", "16"],
    ["DE", "2021-02-01", "19"],
    ["SK", "2024-12-01", "20"],
    ["SK", "2025-02-01", "23"],
    ["EE", "2023-06-01", "20"],
    ["EE", "2024-06-01", "22"],
    ["EE", "2026-06-01", "24"],
    ["RO", "2026-06-01", "21"],
    ["FI", "2026-06-01", "25.5"],
    ["CA-NS", "2025-03-01", "15"],
  ])("the rate of %s on %s is %s", (to, date, rate) => {
    const [country = ""] = to.split("-");
    expect(decide({ in: [country], to, at: new Date(date) }).rates.map((one) => one.rate)).toEqual([rate]);
  });

  test("the source is the table with its day, or the seller with the day on which they said it", () => {
    expect(decide({ in: ["DE"], to: "DE" }).source).toEqual({ name: "sales-tax 2.23.0", date: "2026-05-19" });
    expect(decide({ in: ["GH domestic 20"], to: "GH" }).source).toEqual({ name: "seller", date: "2026-03-01" });
    expect(decide({ in: ["CA", "CA-QC domestic 9.5"], to: "CA-QC" }).source).toEqual(rateTable);
    expect(decide({ in: ["CA domestic 5", "CA-QC"], to: "CA-QC" }).source).toEqual(rateTable);
    expect(decide({ in: ["DE"], to: "FR" }).source).toBeNull();
  });
});

test("the table is the one that was looked at, and its day the one on which it came out", () => {
  const folder = "node_modules/sales-tax";
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  expect(rateTable.name).toBe(`sales-tax ${version}`);
  expect(readFileSync(`${folder}/CHANGELOG.md`, "utf8")).toContain(`## ${version} (${rateTable.date})`);
});

test.each<[Case["price_tax_behavior"], TaxFacts["default_tax_behavior"], string | null, string]>([
  ["inclusive", "exclusive", "US-NY", "inclusive"],
  ["exclusive", "inclusive", "DE", "exclusive"],
  [null, "exclusive", "DE", "exclusive"],
  [null, "inclusive", "US-NY", "inclusive"],
  ["location", "inclusive", "US-NY", "exclusive"],
  ["location", "inclusive", "CA-ON", "exclusive"],
  ["location", "inclusive", "IN", "exclusive"],
  ["location", "exclusive", "DE", "inclusive"],
  [null, "location", "GB", "inclusive"],
  [null, "location", null, "inclusive"],
])(
  "CHK-46: a price that is %s by a seller's %s to %s is %s",
  (price_tax_behavior, default_tax_behavior, to, behavior) => {
    expect(decide({ ...german, price_tax_behavior, default_tax_behavior, to }).behavior).toBe(behavior);
  },
);

describe("whatever is sold to whom", () => {
  const states = Object.entries(statesOf).flatMap(([country, of]) => Object.keys(of).map((one) => `${country}-${one}`));
  const common = ["DE", "FR", "ES", "IT", "GR", "MC", "GB", "CH", "NO", "US", "CA"] as const;
  const country = fc.oneof(fc.constantFrom(...common), fc.constantFrom(...countries));
  const state = fc.option(fc.oneof(fc.constantFrom(...states), fc.string()), { nil: null });
  const postal_code = fc.option(fc.oneof(fc.constantFrom("38001", "98000", "78266", "10115"), fc.string()), {
    nil: null,
  });
  const moment = fc.date({ min: new Date("2019-01-01"), max: new Date("2031-01-01"), noInvalidDate: true });
  const number = fc.option(
    fc.oneof(fc.constantFrom(...Object.values(numbers)), fc.tuple(fc.string(), fc.constantFrom(...taxIdFormats))),
    { nil: null },
  );
  const registration = fc
    .record({
      country,
      state: fc.option(fc.constantFrom(...states), { nil: null }),
      scheme: fc.constantFrom(...taxSchemes),
      rate: fc.option(fc.constantFrom("0", "7.5", "20"), { nil: null }),
      starts_at: moment,
      ends_at: fc.option(moment, { nil: null }),
    })
    .map((one) => ({
      ...registered(one.country),
      ...one,
      // Nobody can be registered in a province that has no tax of its own.
      state:
        one.state?.startsWith(one.country) &&
        (one.country !== "CA" || findRate("CA", one.state, new Date("2026-01-01")))
          ? one.state
          : null,
    }));
  const facts: fc.Arbitrary<TaxFacts> = fc
    .record({
      registrations: fc.array(registration, { maxLength: 6 }),
      seller_country: fc.option(country, { nil: null }),
      address: fc.option(fc.record({ country, state, postal_code }), { nil: null }),
      tax_id: number,
      is_business: fc.boolean(),
      price_tax_behavior: fc.constantFrom("inclusive", "exclusive", "location", null),
      default_tax_behavior: fc.constantFrom("inclusive", "exclusive", "location"),
      at: moment,
    })
    .map((one) => ({
      ...one,
      registrations: one.registrations.map((row, index) => ({ ...row, id: `${index}` })),
    }));
  const runs = { numRuns: 5000 };

  test("rates stand where the reason is standard and nowhere else, each above nothing, with their source", () => {
    fc.assert(
      fc.property(facts, (sale) => {
        const { behavior, reason, rates, source } = decideTax(sale);
        expect(["inclusive", "exclusive"]).toContain(behavior);
        expect(rates.length > 0).toBe(reason === "standard");
        expect(source !== null).toBe(reason === "standard");
        for (const { rate } of rates) expect(rate).toMatch(/^(?=.*[1-9])\d{1,2}(\.\d+)?$/);
      }),
      runs,
    );
  });

  test("no rate without a registration that stands: in its country and state, or in the union by one of the union's", () => {
    fc.assert(
      fc.property(facts, (sale) => {
        const standing = sale.registrations.filter(
          ({ starts_at, ends_at }) => starts_at <= sale.at && (ends_at === null || sale.at < ends_at),
        );
        for (const { name, country, state } of decideTax(sale).rates) {
          const there = standing.filter((one) => one.country === country);
          const provincial = !["GST", "HST"].includes(name) && state !== null;
          const own = there.some((one) => one.state === (provincial ? state : null));
          const shop =
            unionCountries.has(country) &&
            standing.some((one) => one.scheme === "oss" && unionCountries.has(one.country));
          expect(own || shop).toBe(true);
        }
      }),
      runs,
    );
  });

  test("a consumer is never told to pay the tax alone, and a business of the seller's own country in the union neither", () => {
    fc.assert(
      fc.property(facts, (sale) => {
        const { reason } = decideTax(sale);
        if (!sale.is_business || sale.tax_id === null) expect(reason).not.toBe("reverse_charge");
        const home = sale.seller_country !== null && unionCountries.has(sale.seller_country);
        if (home && sale.address?.country === sale.seller_country) expect(reason).not.toBe("reverse_charge");
      }),
      runs,
    );
  });

  test("the order of registrations, and those that have ended, make no difference", () => {
    fc.assert(
      fc.property(facts, (sale) => {
        const ended = { ...registered("DE oss"), id: "9", ends_at: new Date(sale.at.getTime() - day) };
        const registrations = [ended, ...sale.registrations.toReversed()];
        expect(decideTax({ ...sale, registrations })).toEqual(decideTax(sale));
      }),
      runs,
    );
  });
});

describe("where an address is taxed", () => {
  test.each([
    ["DE", { country: "DE", state: null, inUnion: true }],
    ["DE 27498", null],
    ["DE 27497", { country: "DE", state: null, inUnion: true }],
    ["ES 38001", null],
    ["ES 08001", { country: "ES", state: null, inUnion: true }],
    ["FR 97100", null],
    ["FR 98000", { country: "FR", state: null, inUnion: true }],
    ["MC", { country: "FR", state: null, inUnion: true }],
    ["IM", { country: "GB", state: null, inUnion: false }],
    ["LI", { country: "CH", state: null, inUnion: false }],
    ["US-TX", { country: "US", state: "US-TX", inUnion: false }],
    ["US", { country: "US", state: null, inUnion: false }],
    ["NO 9170", null],
  ])("%s", (text, place) => {
    expect(findPlace(addressOf(text) as never)).toEqual(place);
  });
  test("only three countries pay the tax of another", () => {
    expect(countries.filter((country) => getTaxCountry(country) !== country)).toEqual(["IM", "LI", "MC"]);
  });
});

describe("rates and their names", () => {
  test.each([
    ["US", "US-TX", "State sales tax"],
    ["DE", null, "VAT"],
    ["CA", null, "GST"],
    ["CA", "CA-QC", "QST"],
    ["CONSTRUCTOR", null, "Tax"],
  ])("in %s (%s) it is called %s", (country, state, name) => {
    expect(getTaxName(country, state)).toBe(name);
  });
  test.each([
    ["CA-AB", "GST", "5"],
    ["CA-ON", "HST", "13"],
    ["CA-NS", "HST", "14"],
  ])("Canada collects in %s %s %s", (province, name, rate) => {
    expect(findFederalRate(province, at)?.rate).toMatchObject({ name, rate });
  });
  test("HST of Nova Scotia was higher until April 2025", () => {
    expect(findFederalRate("CA-NS", new Date("2025-03-31T00:00:00Z"))?.rate.rate).toBe("15");
  });
  test.each([
    ["where the registration is", "DE", null, "20"],
    ["in no other country", "FR", null, undefined],
    ["in no state of it", "DE", "DE-BY", undefined],
  ])("a seller's own rate counts %s", (_, country, state, rate) => {
    expect(findOwnRate(registered("DE domestic 20"), country, state)?.rate.rate).toBe(rate);
  });
  test("without an own rate there is none, and its day is the last on which it was said", () => {
    expect(findOwnRate(registered("DE"), "DE", null)).toBeUndefined();
    const changed = { ...registered("DE domestic 20"), modified_at: new Date("2026-05-05T23:00:00Z") };
    expect([registered("DE domestic 20"), changed].map((row) => findOwnRate(row, "DE", null)?.source.date)).toEqual([
      "2026-03-01",
      "2026-05-05",
    ]);
  });
  test("of two rates the table's is the source", () => {
    const own = { rate: {} as never, source: { name: "seller", date: "2026-01-01" } };
    const table = { rate: {} as never, source: rateTable };
    expect([getSource([own, table]), getSource([own]), getSource([])]).toEqual([rateTable, own.source, null]);
  });
});

describe("a registration", () => {
  const [start, end] = [new Date("2026-01-01"), new Date("2026-02-01")];
  test.each([
    ["before it starts", start.getTime() - 1, false],
    ["from its start", start.getTime(), true],
    ["until its end", end.getTime() - 1, true],
    ["not at its end", end.getTime(), false],
  ])("stands %s: %i %s", (_, time, stands) => {
    expect(isStanding({ starts_at: start, ends_at: end }, new Date(time))).toBe(stands);
  });
  const place = (text: string, body: object = {}) => {
    const { country, state, scheme, rate } = registered(text);
    const { values, faults } = planRegistration({ country, state, scheme, rate, ...body } as never, at);
    return { values, faults: faults.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`) };
  };
  test.each([
    ["a country with a known rate", "DE", {}, []],
    ["a country without", "GH", {}, ["rate missing"]],
    ["a country without, with its own", "GH domestic 20", {}, []],
    ["a state with a rate of the table that is wrong", "US-CA", {}, ["rate missing"]],
    ["a province without a tax of its own", "CA-ON domestic 13", {}, ["state value_error"]],
    ["a province with one", "CA-QC", {}, []],
    ["a country that has another's tax", "MC domestic 20", {}, ["country value_error"]],
    ["a number of no such country", "DE", { tax_id: "FR123" }, ["tax_id invalid"]],
    ["an end in the past without a start", "DE", { ends_at: at }, ["ends_at value_error"]],
    ["an end in the past after its start", "DE", { starts_at: start, ends_at: end }, []],
  ])("of %s", (_, text, body, faults) => {
    expect(place(text, body).faults).toEqual(faults);
  });
  test("is kept with its state and number in one form, from now on where nothing else is said", () => {
    expect(place("US-TX", { state: " tx ", tax_id: "whatever" }).values).toMatchObject({
      ...{ country: "US", state: "US-TX", scheme: "domestic", tax_id: "whatever", starts_at: at, ends_at: null },
    });
    expect(place("DE", { state: "BY", tax_id: "de 123456788" }).values).toMatchObject({
      state: null,
      tax_id: "DE123456788",
    });
  });
  test.each([
    ["an own rate under the one-stop-shop", "IE oss", { rate: "20" }, ["rate value_error"]],
    ["its own rate where none is known", "GH domestic 20", { rate: null }, ["rate missing"]],
    ["its own rate where one is known", "DE domestic 20", { rate: null }, []],
    ["an end before its start", "DE", { ends_at: new Date("2019-01-01") }, ["ends_at value_error"]],
    ["a start after its end", "DE", { starts_at: new Date("2030-01-01") }, ["starts_at value_error"]],
    ["its number away", "DE", { tax_id: null }, []],
  ])("changes %s", (_, text, body, faults) => {
    const row = { ...registered(text), ends_at: new Date("2029-01-01") };
    const planned = planUpdate(row, body as never, at).faults;
    expect(planned.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`)).toEqual(faults);
  });
  test.each([
    ["DE", undefined, [], ["VAT 19"]],
    ["DE", undefined, ["DE domestic 20"], ["VAT 20"]],
    ["US", undefined, [], []],
    ["US", "TX", [], ["State sales tax 6.25"]],
    ["CA", "QC", [], ["GST 5", "QST 9.975"]],
    ["CA", "ON", [], ["HST 13"]],
    ["MC", undefined, [], ["VAT 20"]],
    ["GH", undefined, [], []],
  ])("what is collected in %s (%s) with %j: %j", (country, state, places, rates) => {
    const told = describeRates(country as never, state, places.map(registered), at);
    expect(told.rates.map(({ name, rate }) => `${name} ${rate}`)).toEqual(rates);
    expect(told.note === null).toBe(country === "DE" || (country === "CA" && state !== undefined));
  });
});

test.each([
  ["inclusive", "exclusive", "US", "inclusive"],
  [null, "exclusive", "DE", "exclusive"],
  ["location", "exclusive", "DE", "inclusive"],
  [null, "location", "IN", "exclusive"],
  [null, "location", null, "exclusive"],
] as const)(
  "a price that says %s, of a seller who says %s, is in %s %s",
  (price_tax_behavior, default_tax_behavior, seller_country, behavior) => {
    expect(getBehavior({ price_tax_behavior, default_tax_behavior, address: null, seller_country })).toBe(behavior);
  },
);
