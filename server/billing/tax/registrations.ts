import type { z } from "zod";
import type {
  TaxRates,
  TaxRegistration,
  TaxRegistrationCreate,
  TaxRegistrationUpdate,
} from "../../../shared/api/tax.ts";
import { hasStates } from "../../../shared/countries.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { normalizeState } from "../../../shared/states.ts";
import { hasTaxIdFormats, readTaxId } from "../../customers/customers/tax-ids.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { findFederalRate, findRate } from "./rates.ts";
import { findOwnRate, getSource, isStanding, type RegistrationRow } from "./rules.ts";
import { getTaxCountry } from "./territories.ts";

type Create = z.output<typeof TaxRegistrationCreate>;
type Update = z.output<typeof TaxRegistrationUpdate>;

/** A registration as its seller sees it: all of it is theirs. */
export const serializeRegistration = (row: RegistrationRow): TaxRegistration => row;

/** There is one for the same place and scheme. */
export const buildPlaceTakenError = ({ country, state }: Pick<RegistrationRow, "country" | "state">): Fault =>
  fault(["country"], `There is a registration for ${state ?? country} in this scheme: change that one.`, "value_error");

/** A state as it is kept; what is sent has been looked at. */
const getState = (country: string, state: string | null | undefined): string | null =>
  state && hasStates(country) ? (normalizeState(country, state) ?? null) : null;

/** What a new registration is made of, or every fault that only the tables of rates and numbers know of. */
export function planRegistration(body: Create, now: Date): { values: PlacedValues; faults: Fault[] } {
  const { country, scheme, rate = null, starts_at, ends_at = null } = body;
  const values = {
    country,
    state: getState(country, body.state),
    scheme: scheme ?? ("domestic" as const),
    rate,
    starts_at: starts_at ?? now,
    ends_at,
  };
  const { number, faults } = readNumber(country, body.tax_id);
  faults.push(...checkPlace(values, now));
  if (!starts_at && ends_at && ends_at <= now)
    faults.push(fault(["ends_at"], "Ends at must be after starts at, which is now if not given.", "value_error"));
  return { values: { ...values, tax_id: number ?? null }, faults };
}
type PlacedValues = Pick<RegistrationRow, "country" | "state" | "scheme" | "tax_id" | "rate" | "starts_at" | "ends_at">;

/** The columns that an update changes, or every fault of it. */
export function planUpdate(
  row: RegistrationRow,
  body: Update,
  now: Date,
): { patch: Partial<RegistrationRow>; faults: Fault[] } {
  const { number, faults } = readNumber(row.country, body.tax_id);
  const patch = listChanges(row, { ...body, tax_id: number }, ["tax_id", "rate", "starts_at", "ends_at"]);
  const next = { ...row, ...patch };
  if (next.scheme === "oss" && next.rate !== null)
    faults.push(fault(["rate"], "Under the one-stop-shop each country has its own rate: leave it out.", "value_error"));
  else if (patch.rate === null) faults.push(...checkPlace(next, now));
  if (next.ends_at && next.starts_at >= next.ends_at && !(body.starts_at && body.ends_at))
    faults.push(fault([body.ends_at ? "ends_at" : "starts_at"], "Ends at must be after starts at.", "value_error"));
  return { patch, faults };
}

/** The seller's own number in the form it is kept. The states of the US give numbers that nobody else can tell. */
function readNumber(country: string, sent: string | null | undefined): { number?: string | null; faults: Fault[] } {
  if (sent === undefined || sent === null) return { ...(sent === null && { number: null }), faults: [] };
  if (country === "US" || !hasTaxIdFormats(country)) return { number: sent, faults: [] };
  const read = readTaxId(sent, country);
  return read ? { number: read[0], faults: [] } : { faults: [fault(["tax_id"], "Invalid tax ID.", "invalid", sent)] };
}

/** Whether tax can be collected there: the place has a tax of its own, and its rate is known or given. */
function checkPlace(
  { country, state, scheme, rate }: Pick<RegistrationRow, "country" | "state" | "scheme" | "rate">,
  now: Date,
): Fault[] {
  const taxed = getTaxCountry(country);
  if (taxed !== country)
    return [
      fault(["country"], `The tax of ${country} is that of ${taxed}: register ${taxed}.`, "value_error", country),
    ];
  const isKnown = scheme === "oss" || findRate(country, state, now) !== undefined;
  if (country === "CA" && state !== null && !isKnown) {
    const msg = `${state} has no tax that is registered for on its own: GST and HST are the country's, without a state.`;
    return [fault(["state"], msg, "value_error", state)];
  }
  if (isKnown || rate !== null) return [];
  const msg = `No rate is known for ${state ?? country}: give your own, in percent.`;
  return [fault(["rate"], msg, "missing")];
}

/** What would be collected in a place by a seller with these registrations, and whose rates these are. */
export function describeRates(
  country: TaxRates["country"],
  sent: string | undefined,
  registrations: readonly RegistrationRow[],
  at: Date,
): TaxRates {
  const taxed = getTaxCountry(country);
  const state = getState(taxed, sent);
  const standing = registrations.filter((one) => isStanding(one, at));
  const own = (of: string | null) =>
    standing.map((one) => findOwnRate(one, taxed, of)).find((one) => one !== undefined);
  const shared = taxed === "CA" && state !== null ? findFederalRate(state, at) : undefined;
  const found = [
    taxed === "US" ? undefined : (own(null) ?? shared ?? findRate(taxed, null, at)),
    state === null ? undefined : (own(state) ?? findRate(taxed, state, at)),
  ].filter((one) => one !== undefined);
  const rates = found.map(({ rate }) => rate);
  return { country, state, rates, source: getSource(found), note: noteOf(country, state, found.length > 0) };
}

function noteOf(country: string, state: string | null, isKnown: boolean): string | null {
  const taxed = getTaxCountry(country);
  if (hasStates(taxed) && state === null)
    return taxed === "US" ? "Tax is collected by state: say in which one." : "Provinces add to it: say in which one.";
  if (!isKnown) return `No rate is known for ${state ?? country}: a registration there needs your own.`;
  if (taxed === "US") return "The state's rate alone: what counties, cities and districts add is not in it.";
  return taxed === country ? null : `The tax of ${country} is that of ${taxed}.`;
}
