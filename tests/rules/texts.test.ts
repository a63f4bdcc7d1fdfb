import { describe, expect, test } from "vitest";
import { createZoneFormat, findMonthAfter, formatZoned } from "../../shared/calendar.ts";
import { formatUnitPrice, readMinor, readMinorUnit } from "../../shared/catalog/amounts.ts";
import { hasStates, sellableCountries } from "../../shared/countries.ts";
import { pickLanguage, readLocale } from "../../shared/locales.ts";
import { findNearest, measureDistance } from "../../shared/nearest.ts";
import { readPriceText } from "../../shared/price-text.ts";
import { normalizeState } from "../../shared/states.ts";
import { findWrongAmount, parseWrittenAmount } from "../../shared/written-amount.ts";

const refuse = (why: string): never => {
  throw new Error(why);
};

describe("a price in words", () => {
  const bare = { isOpen: false, currency: undefined, interval: undefined };
  const month = { recurring_interval: "month" };
  test.each([
    ["19.00", { ...bare, amount: "19.00" }],
    [" 19 ", { ...bare, amount: "19" }],
    ["free", { ...bare, amount: undefined }],
    ["5.00+", { ...bare, amount: "5.00", isOpen: true }],
    ["€19", { ...bare, amount: "19", currency: "eur" }],
    ["£19.00 GBP", { ...bare, amount: "19.00", currency: "gbp" }],
    ["19.00 eur", { ...bare, amount: "19.00", currency: "eur" }],
    ["19.00/month", { ...bare, amount: "19.00", interval: month }],
    ["19.00 / Months", { ...bare, amount: "19.00", interval: month }],
    [
      "$5+ usd/3months",
      { amount: "5", isOpen: true, currency: "usd", interval: { ...month, recurring_interval_count: 3 } },
    ],
    ["1/999days", { ...bare, amount: "1", interval: { recurring_interval: "day", recurring_interval_count: 999 } }],
  ])("%j is read", (text, price) => {
    expect(readPriceText(text, refuse)).toEqual(price);
  });
  test.each([
    ["", "is not a price"],
    ["-5", "is not a price"],
    ["5,00", "is not a price"],
    ["5.00 euro", "is not a price"],
    ["€19 usd", "names two currencies, eur and usd"],
    ["19 abc", "names no currency: abc"],
    ["19/fortnight", "names no interval"],
    ["19/0months", "names no interval"],
    ["19/1000days", "names no interval"],
  ])("%j is refused: %s", (text, why) => {
    expect(() => readPriceText(text, refuse)).toThrow(why);
  });
});

describe("an amount as it is written", () => {
  test.each([
    ["25.00", "usd", undefined],
    ["25.5", "usd", undefined],
    ["0", "usd", undefined],
    ["25", "usd", "25 may mean 25.00 or 0.25: write the amount with its decimals."],
    ["25", "jpy", undefined],
    ["25.0", "jpy", "jpy has no decimals: write 25."],
    ["25.001", "usd", "usd has 2 decimals at most."],
    ["-1.00", "usd", '"-1.00" is not an amount: write 25.00.'],
    ["1e3", "usd", '"1e3" is not an amount: write 25.00.'],
    ["90071992547409.91", "usd", undefined],
    ["90071992547409.92", "usd", "90071992547409.92 is too large."],
    [
      "99999999999999999",
      "usd",
      "99999999999999999 may mean 99999999999999999.00: write the amount with its decimals.",
    ],
  ])("%s in %s: %s", (text, currency, wrong) => {
    expect(findWrongAmount(text, currency)).toBe(wrong);
  });
  test("the price of one unit may have more decimals, and is as little left to guess", () => {
    expect(findWrongAmount("0.002", "usd", true)).toBeUndefined();
    expect(findWrongAmount("2", "usd", true)).toMatch(/may mean/);
  });

  test.each([
    ["24.50", { amount: "24.50", currency: undefined }],
    ["24.50eur", { amount: "24.50", currency: "eur" }],
    [" $24 USD ", { amount: "24", currency: "usd" }],
    ["€24", { amount: "24", currency: "eur" }],
    ["€24 usd", undefined],
    ["24.50 abc", undefined],
    ["-24.50", undefined],
    ["24.", undefined],
    ["¥24", undefined],
  ])("%j is taken apart", (text, parts) => {
    expect(parseWrittenAmount(text)).toEqual(parts);
  });

  test.each([
    ["19.5", "usd", 1950],
    ["19", "jpy", 19],
  ])("%s %s is %i minor units", (text, currency, amount) => {
    expect(readMinor(text, currency)).toBe(amount);
  });
  test("what is no amount of a currency is never taken for one", () => {
    expect(() => readMinor("19.5", "jpy")).toThrow(RangeError);
  });

  test.each([
    ["0.002", "usd", "0.2"],
    ["25.00", "usd", "2500"],
    ["0.5", "jpy", "0.5"],
    ["0.000000000000000123", "usd", "0.0000000000000123"],
  ])("the unit price %s %s is %s minor units, without losing a digit", (text, currency, minor) => {
    expect(readMinorUnit(text, currency)).toBe(minor);
  });
  test.each([
    ["0.2", "usd", "0.002"],
    ["2500", "usd", "25.00"],
    ["10", "usd", "0.10"],
    ["5", "jpy", "5"],
    ["0.5", "jpy", "0.5"],
  ])("%s minor units of %s are written %s", (minor, currency, text) => {
    expect(formatUnitPrice(minor, currency)).toBe(text);
  });
});

describe("a word that was meant otherwise", () => {
  test.each([
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "abc", 0],
    ["kitten", "sitting", 3],
    ["ab", "ba", 2],
  ])("%j is as far from %j as %i letters, and as far back", (from, to, away) => {
    expect([measureDistance(from, to), measureDistance(to, from)]).toEqual([away, away]);
  });
  test.each([
    ["prodcuts", ["products", "orders"], ["products"]],
    ["ORDRES", ["orders"], ["orders"]],
    ["abcd", ["abxy", "abxx", "axxx"], ["abxy", "abxx"]],
    ["list", ["lost", "list", "last"], ["list", "lost", "last"]],
    ["ab", ["cd"], []],
    ["abcdefghi", ["abcdefxyz"], ["abcdefxyz"]],
    ["abcdefghi", ["abcdewxyz"], []],
    ["a".repeat(64), ["a".repeat(63)], ["a".repeat(63)]],
    ["a".repeat(65), ["a".repeat(64)], []],
  ])("%j among %j may mean %j", (word, among, near) => {
    expect(findNearest(word, among)).toEqual(near);
  });
});

describe("languages, countries and their states", () => {
  test.each([
    [["de-CH"], "de-CH"],
    [["pt_BR"], "pt-BR"],
    [[null, undefined, "", "nl"], "nl"],
    [["not a locale", "fr"], "fr"],
    [[], "en-US"],
    [["C.UTF-8"], "en-US"],
  ])("of the names %j the locale is %s", (names, locale) => {
    expect(readLocale(...names).toString()).toBe(locale);
  });
  test.each([
    ["de-CH", { language: "de", locale: "de-CH" }],
    ["fr-CA", { language: "en", locale: "en-CA" }],
    ["fr", { language: "en", locale: "en-US" }],
    ["en-GB", { language: "en", locale: "en-GB" }],
  ])("a reader of %s is spoken to so", (locale, spoken) => {
    expect(pickLanguage(new Intl.Locale(locale), ["de"])).toEqual(spoken);
  });

  test.each([
    ["US", "NY", "US-NY"],
    ["US", " us-ny ", "US-NY"],
    ["CA", "qc", "CA-QC"],
    ["CA", "NY", undefined],
    ["US", "CA-QC", undefined],
    ["US", "", undefined],
    ["US", "CONSTRUCTOR", undefined],
    ["US", "US-US-NY", undefined],
  ] as const)("in %s the state %j is %s", (country, state, code) => {
    expect(normalizeState(country, state)).toBe(code);
  });
  test("an address needs a state in the United States and Canada alone", () => {
    expect(sellableCountries.filter(hasStates)).toEqual(["CA", "US"]);
  });
  test("nothing is sold to embargoed countries", () => {
    expect(sellableCountries.filter((country) => ["CU", "IR", "KP", "RU", "SY"].includes(country))).toEqual([]);
    expect(sellableCountries).toContain("DE");
  });
});

describe("the calendar", () => {
  test.each([
    ["2026-01-31T23:59:59Z", 1, "2026-02-01"],
    ["2026-12-01T00:00:00Z", 1, "2027-01-01"],
    ["2026-03-15T00:00:00Z", 0, "2026-03-01"],
    ["2026-03-15T00:00:00Z", -3, "2025-12-01"],
  ])("the month that begins with that of %s and %i more begins on %s", (at, months, begins) => {
    expect(findMonthAfter(new Date(at), months)).toEqual(new Date(`${begins}T00:00:00Z`));
  });
  test.each([
    ["2026-07-01T12:30:00Z", "Europe/Berlin", "2026-07-01T14:30:00+02:00"],
    ["2026-01-01T12:30:00Z", "Europe/Berlin", "2026-01-01T13:30:00+01:00"],
    ["2026-01-01T00:00:00Z", "UTC", "2026-01-01T00:00:00+00:00"],
    ["2026-01-01T00:00:00Z", "America/St_Johns", "2025-12-31T20:30:00-03:30"],
    ["2026-01-01T18:30:00Z", "Asia/Kolkata", "2026-01-02T00:00:00+05:30"],
  ])("%s in %s is %s", (at, zone, written) => {
    const text = formatZoned(new Date(at), createZoneFormat(zone));
    expect(text).toBe(written);
    expect(new Date(text)).toEqual(new Date(at));
  });
});
