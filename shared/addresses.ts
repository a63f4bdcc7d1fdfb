import { z } from "zod";
import { type Country, countries, hasStates, sellableCountries } from "./countries.ts";
import { normalizeState } from "./states.ts";

/** An address as it is answered. */
export const Address = z.object({
  line1: z.string().nullable(),
  line2: z.string().nullable(),
  postal_code: z.string().nullable(),
  city: z.string().nullable(),
  state: z.string().nullable(),
  country: z.enum(countries),
});
export type Address = z.output<typeof Address>;

/**
 * Countries whose addresses have no postal code, or one that few people write, as in Ireland and Panama. The list only makes the
 * code optional: a country too many asks a business for less, one too few keeps a business from buying. A test holds it against
 * the data of Google's libaddressinput.
 */
const withoutPostalCode: ReadonlySet<string> = new Set<Country>([
  ...([
    "AE",
    "AG",
    "AO",
    "AQ",
    "AW",
    "BF",
    "BI",
    "BJ",
    "BO",
    "BQ",
    "BS",
    "BV",
    "BW",
    "BZ",
    "CD",
    "CF",
    "CG",
    "CI",
    "CK",
  ] as const),
  ...(["CM", "CW", "DJ", "DM", "ER", "FJ", "GA", "GD", "GH", "GI", "GM", "GN", "GQ", "GY", "HK", "IE", "JM"] as const),
  ...([
    "KI",
    "KM",
    "KN",
    "LC",
    "LY",
    "ML",
    "MO",
    "MR",
    "MS",
    "MW",
    "NA",
    "NR",
    "NU",
    "PA",
    "PG",
    "PS",
    "QA",
    "RW",
  ] as const),
  ...(["SB", "SC", "SL", "SO", "SR", "SS", "ST", "SX", "TD", "TF", "TG", "TK", "TL", "TO", "TT", "TV", "TZ"] as const),
  ...(["UG", "VC", "VU", "WS", "YE", "ZW"] as const),
]);
/** Territories that are one city, or whose addresses name none: an emirate, as a rule, or an island. */
const withoutCity: ReadonlySet<string> = new Set<Country>(["AE", "GI", "HK", "KY", "MC", "MO", "NR", "PN", "SG", "VA"]);

/** Which lines an address of a country cannot do without, beside its street. */
export const getRequiredLines = (country: string | null | undefined): { postal_code: boolean; city: boolean } => ({
  postal_code: !withoutPostalCode.has(country ?? ""),
  city: !withoutCity.has(country ?? ""),
});

const defineLine = (text: string) =>
  z
    .string()
    .max(500)
    .trim()
    .transform((value) => (value === "" ? null : value))
    .nullish()
    .describe(text);

/** A country as it is sent: two letters in any case, and one that may be sold to. */
export const CountryInput = z
  .string()
  .trim()
  .toUpperCase()
  .pipe(z.enum(sellableCountries as [Country, ...Country[]]))
  .describe("Country, as its two-letter ISO 3166-1 code.");

const fields = z.object({
  line1: defineLine("Street and number."),
  line2: defineLine("Second line of the street address."),
  postal_code: defineLine("Postal code."),
  city: defineLine("City."),
  state: defineLine("State or province; for the US and Canada its ISO 3166-2 code, as NY or US-NY."),
  country: CountryInput,
});

const read = (isComplete: boolean) =>
  fields
    .superRefine(({ country, state }, issues) => {
      if (!hasStates(country)) return;
      if (state && !normalizeState(country, state))
        issues.addIssue({ code: "custom", path: ["state"], message: `Unknown state of ${country}.`, input: state });
      if (isComplete && !state)
        issues.addIssue({ code: "custom", path: ["state"], message: "Field required", params: { type: "missing" } });
    })
    .transform(({ line1 = null, line2 = null, postal_code = null, city = null, state = null, country }): Address => {
      const known = state && hasStates(country) ? (normalizeState(country, state) ?? null) : state;
      return { line1, line2, postal_code, city, state: known, country };
    });

/**
 * An address as a buyer sends it, who may complete it later (CHK-14): empty lines are null, states of the US and Canada are
 * checked and written `US-NY`.
 */
export const AddressInput = read(false);

/** The same where nobody asks for the rest: an address in the US or Canada has its state (API-10). */
export const CompleteAddressInput = read(true);
