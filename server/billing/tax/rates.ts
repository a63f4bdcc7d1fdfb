import percentages from "sales-tax/res/sales_tax_rates.json" with { type: "json" };
import { formatDecimal } from "../../../shared/money.ts";
import type { TaxRate, TaxTreatment } from "../../../shared/tax.ts";
import { unionCountries } from "../../../shared/tax.ts";

type Entry = {
  rate: number;
  type: string;
  /** What stood until a moment, by that moment. */
  before?: Readonly<Record<string, { rate: number; type: string }>>;
  states?: Readonly<Record<string, Entry>>;
};
const table: Readonly<Record<string, Entry>> = percentages;

/** The table that rates are looked up in, and the day on which it was published. */
export const rateTable = { name: "sales-tax 2.23.0", date: "2026-05-19" } as const;
/** A rate with whose it is. */
export type FoundRate = { rate: TaxRate; source: NonNullable<TaxTreatment["source"]> };

/**
 * What of the table was compared with what the tax offices publish, and found right. The rest of it is not used: a rate
 * that is not known is said to be so, and the seller gives it.
 */
const compared: ReadonlySet<string> = new Set([
  ...unionCountries,
  ...["AD", "AL", "BA", "CH", "GB", "GE", "IS", "MD", "MK", "NO", "RS", "TR", "UA", "XK"],
  ...["AE", "AU", "CA", "CL", "CO", "IL", "IN", "JP", "KR", "MX", "NZ", "PE", "SA", "SG", "TW", "US", "ZA"],
]);
/** States whose rate in the table is another than the state's. */
const wrongStates: ReadonlySet<string> = new Set([
  ...["US-AR", "US-AZ", "US-CA", "US-CT", "US-LA", "US-ME", "US-NC", "US-NJ", "US-NM", "US-OH", "US-SD", "US-UT"],
  "US-VA",
]);

const names: Readonly<Record<string, string>> = { vat: "VAT", gst: "GST", hst: "HST", pst: "PST", qst: "QST" };

/** What stood at a time: of what was replaced after it, the first. */
function findEntryAt(entry: Entry, at: Date): { rate: number; type: string } {
  const until = Object.keys(entry.before ?? {})
    .filter((moment) => at < new Date(moment))
    .sort()[0];
  return (until === undefined ? undefined : entry.before?.[until]) ?? entry;
}

const formatPercent = (rate: number): string => formatDecimal(`${rate}e2`);

/** How the tax of a country or state is called. */
export function getTaxName(country: string, state: string | null): string {
  if (country === "US") return "State sales tax";
  const of = Object.hasOwn(table, country) ? table[country] : undefined;
  const type = state === null ? of?.type : of?.states?.[state.slice(3)]?.type;
  return names[type ?? ""] ?? "Tax";
}

/** The tax of a country, or of a state where it has its own; undefined where no rate is known. */
export function findRate(country: string, state: string | null, at: Date): FoundRate | undefined {
  if (!compared.has(country) || (state !== null && wrongStates.has(state))) return undefined;
  const entry = state === null ? table[country] : table[country]?.states?.[state.slice(3)];
  // The part of a harmonized tax that is the province's is collected with the country's own.
  if (!entry || entry.type === "none" || entry.type === "hst") return undefined;
  const rate = { name: getTaxName(country, state), country, state, rate: formatPercent(findEntryAt(entry, at).rate) };
  return { rate, source: rateTable };
}

/** What Canada itself collects in a province: its own tax, or the one that it has in common with the province. */
export function findFederalRate(province: string, at: Date): FoundRate | undefined {
  const own = findRate("CA", null, at);
  const shared = table.CA?.states?.[province.slice(3)];
  if (!own || shared?.type !== "hst") return own;
  // Both are a few whole percent, or halves: exact as numbers.
  const rate = String(Number(own.rate.rate) + Number(formatPercent(findEntryAt(shared, at).rate)));
  return { rate: { name: "HST", country: "CA", state: province, rate }, source: rateTable };
}
