import type { Address } from "../../../shared/addresses.ts";
import type { TaxIdFormat } from "../../../shared/api/fields.ts";
import { type TaxTreatment, unionCountries } from "../../../shared/tax.ts";
import { getVatPrefix } from "../../customers/customers/tax-ids.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { type FoundRate, findFederalRate, findRate, getTaxName } from "./rates.ts";
import type { taxRegistrations } from "./tables.ts";
import { findPlace, getTaxCountry, type TaxPlace } from "./territories.ts";

export type RegistrationRow = typeof taxRegistrations.$inferSelect;
/** Who sells, and where they collect tax. */
export type TaxedSeller = { seller: OrganizationRow; registrations: RegistrationRow[] };
/** Who buys where, at which price. */
export type Sale = Pick<TaxFacts, "address" | "tax_id" | "is_business" | "price_tax_behavior">;

/** What the taxation of a sale follows from. */
export type TaxFacts = {
  registrations: readonly RegistrationRow[];
  seller_country: string | null;
  /** The buyer's; null until it is known. */
  address: Pick<Address, "country" | "state" | "postal_code"> | null;
  /** The buyer's, checked. */
  tax_id: readonly [number: string, format: string] | null;
  is_business: boolean;
  price_tax_behavior: "inclusive" | "exclusive" | "location" | null;
  default_tax_behavior: "inclusive" | "exclusive" | "location";
  at: Date;
};
type Buyer = Pick<TaxFacts, "tax_id" | "is_business">;

/** A tax that is due: under which registration, and by which rate, where one is known. */
type Levy = { registration: RegistrationRow; found: FoundRate | undefined };
type Outcome = Levy[] | "not_collected" | "reverse_charge" | "unknown";

/** Where prices are told without the tax, and it is added (CHK-46). */
const addedIn: ReadonlySet<string> = new Set(["US", "CA", "IN"]);

/** Whether a price holds its tax. While nobody knows where the buyer is, the seller's own country says so. */
export function getBehavior(
  facts: Pick<TaxFacts, "price_tax_behavior" | "default_tax_behavior" | "address" | "seller_country">,
): TaxTreatment["behavior"] {
  const asked = facts.price_tax_behavior ?? facts.default_tax_behavior;
  if (asked !== "location") return asked;
  const country = facts.address?.country ?? facts.seller_country;
  return country === null || addedIn.has(country) ? "exclusive" : "inclusive";
}

/** How the sales of a seller are taxed at a time. */
export const getTaxation =
  ({ seller: { country, default_tax_behavior }, registrations }: TaxedSeller, at: Date) =>
  (sale: Sale): TaxTreatment =>
    decideTax({ registrations, seller_country: country, default_tax_behavior, ...sale, at });

/** How a sale is taxed: the seller's registrations say where, the buyer's address and number say how (CHK-46). */
export function decideTax(facts: TaxFacts): TaxTreatment {
  const behavior = getBehavior(facts);
  const buildUntaxed = (reason: TaxTreatment["reason"]): TaxTreatment => ({
    behavior,
    reason,
    rates: [],
    source: null,
  });
  // The oldest counts first, in whatever order they come.
  const standing = facts.registrations
    .filter((one) => isStanding(one, facts.at))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  if (standing.length === 0) return buildUntaxed("not_collected");
  if (!facts.address) return buildUntaxed("unknown");
  const place = findPlace(facts.address);
  const outcome = place === null ? "not_collected" : decideIn(place, standing, facts);
  if (typeof outcome === "string") return buildUntaxed(outcome);
  // A table that has lost a rate must not make a sale look untaxed.
  if (outcome.some(({ found }) => found === undefined)) return buildUntaxed("unknown");
  const found = outcome.flatMap((levy) => (levy.found && Number(levy.found.rate.rate) > 0 ? [levy.found] : []));
  if (found.length === 0) return buildUntaxed("zero_rated");
  return { behavior, reason: "standard", rates: found.map(({ rate }) => rate), source: getSource(found) };
}

export const isStanding = ({ starts_at, ends_at }: Pick<RegistrationRow, "starts_at" | "ends_at">, at: Date): boolean =>
  starts_at <= at && (ends_at === null || at < ends_at);

function decideIn(place: TaxPlace, standing: readonly RegistrationRow[], facts: TaxFacts): Outcome {
  if (place.inUnion) return decideInUnion(place, standing, facts);
  const there = standing.filter(({ country }) => country === place.country);
  if (there.length === 0) return "not_collected";
  if (place.country === "US") return decideInStates(place, there, facts.at);
  if (place.country === "CA") return decideInCanada(place, there, facts);
  const domestic = there.find(({ scheme }) => scheme !== "simplified");
  const [registration] = domestic ? [domestic] : there;
  if (registration === undefined) return "not_collected";
  if (!domestic && isBusiness(facts)) return "reverse_charge";
  return [getLevy(registration, place.country, null, facts.at)];
}

/** A tax of a country or state, by the registration there. */
const getLevy = (registration: RegistrationRow, country: string, state: string | null, at: Date): Levy => ({
  registration,
  found: findOwnRate(registration, country, state) ?? findRate(country, state, at),
});

/** The seller's own rate. It counts where the registration is, and nowhere else. */
export function findOwnRate(row: RegistrationRow, country: string, state: string | null): FoundRate | undefined {
  if (row.rate === null || row.country !== country || row.state !== state) return undefined;
  const date = (row.modified_at ?? row.created_at).toISOString().slice(0, 10);
  return {
    rate: { name: getTaxName(country, state), country, state, rate: row.rate },
    source: { name: "seller", date },
  };
}

/** Whose rates these are: the table's where one of them is from there. */
export const getSource = (found: readonly FoundRate[]): TaxTreatment["source"] =>
  (found.find(({ source }) => source.name !== "seller") ?? found[0])?.source ?? null;

/** Whether the buyer is a business with a number of its country's. */
const isBusiness = ({ is_business, tax_id }: Buyer): boolean =>
  is_business && tax_id !== null && tax_id[1] !== "eu_oss_vat";

/** Whether the buyer has a VAT number of this member state. */
const hasUnionNumber = ({ is_business, tax_id }: Buyer, country: string): boolean =>
  is_business && tax_id?.[1] === "eu_vat" && tax_id[0].startsWith(getVatPrefix(country));

/**
 * In the European Union. A business with a VAT number pays the tax itself where the seller is established elsewhere
 * (articles 44 and 196 of directive 2006/112/EC), whoever is no business or cannot show it pays: by a registration in
 * their own country, by the one-stop-shop, or to a small seller by the rate of the seller's country (article 59c).
 */
function decideInUnion({ country }: TaxPlace, standing: readonly RegistrationRow[], facts: TaxFacts): Outcome {
  const inUnion = standing.filter((one) => unionCountries.has(one.country));
  const there = inUnion.find((one) => one.country === country && one.scheme !== "oss");
  const shop = inUnion.find(({ scheme }) => scheme === "oss");
  const small = inUnion.find(({ scheme }) => scheme === "small_seller");
  if (inUnion.length === 0) return "not_collected";
  // A seller of whom nothing else is said is established where they are registered.
  const seller = facts.seller_country === null ? null : getTaxCountry(facts.seller_country);
  const isHome = seller === null ? there !== undefined : seller === country;
  if (!isHome && hasUnionNumber(facts, country)) return "reverse_charge";
  if (there) return [getLevy(there, country, null, facts.at)];
  if (shop) return [getLevy(shop, country, null, facts.at)];
  return small ? [getLevy(small, small.country, null, facts.at)] : "not_collected";
}

/** In the United States each state has its own tax, and a business pays it as well. */
function decideInStates({ state }: TaxPlace, there: readonly RegistrationRow[], at: Date): Outcome {
  if (state === null) return "unknown";
  const registration = there.find((one) => one.state === state);
  return registration ? [getLevy(registration, "US", state, at)] : "not_collected";
}

/** Formats of numbers with which a business in Canada pays a tax itself, by the name of the tax. */
const canadian: Readonly<Record<string, TaxIdFormat>> = { GST: "ca_gst_hst", HST: "ca_gst_hst", QST: "ca_qst" };

/** In Canada there is a tax of the country's, in some provinces in common with theirs, and in some one of their own. */
function decideInCanada({ state }: TaxPlace, there: readonly RegistrationRow[], facts: TaxFacts): Outcome {
  if (state === null) return "unknown";
  const findPreferred = (wanted: string | null) =>
    there.find((one) => one.state === wanted && one.scheme !== "simplified") ??
    there.find((one) => one.state === wanted);
  const [federal, provincial] = [findPreferred(null), findPreferred(state)];
  const levies: Levy[] = [
    ...(federal
      ? [{ registration: federal, found: findOwnRate(federal, "CA", null) ?? findFederalRate(state, facts.at) }]
      : []),
    ...(provincial ? [getLevy(provincial, "CA", state, facts.at)] : []),
  ];
  const due = levies.filter(({ registration, found }) => {
    const byBuyer = registration.scheme === "simplified" && facts.is_business;
    return !(byBuyer && found && canadian[found.rate.name] === facts.tax_id?.[1]);
  });
  if (levies.length === 0) return "not_collected";
  return due.length === 0 ? "reverse_charge" : due;
}
