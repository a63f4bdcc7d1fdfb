import type { Address } from "../../../shared/addresses.ts";
import { hasStates } from "../../../shared/countries.ts";
import { normalizeState } from "../../../shared/states.ts";
import { unionCountries } from "../../../shared/tax.ts";

/** Where a sale is taxed, which is not always the country of the address. */
export type TaxPlace = { country: string; state: string | null; inUnion: boolean };

/** Countries whose tax is another's: Monaco is in France's, the Isle of Man in the United Kingdom's, Liechtenstein in Switzerland's. */
const taxedAs: Readonly<Record<string, string>> = { MC: "FR", IM: "GB", LI: "CH" };

/** The country whose tax is paid in a country: its own, but for these. */
export const getTaxCountry = (country: string): string => taxedAs[country] ?? country;

/**
 * Postal codes of places that belong to a country and not to the area of its tax (for the union, articles 5 and 6 of
 * directive 2006/112/EC). Those with a country code of their own, such as Åland, Réunion or Greenland, are countries here.
 */
const outside: Readonly<Record<string, RegExp>> = {
  // Büsingen, Heligoland.
  DE: /^(78266|27498)$/,
  // The Canary Islands, Ceuta, Melilla.
  ES: /^(35|38|51|52)\d{3}$/,
  // Åland.
  FI: /^22\d{3}$/,
  // Overseas; 980 is Monaco.
  FR: /^(97\d|98[1-9])\d{2}$/,
  // Mount Athos.
  GR: /^63086$/,
  // Livigno, Campione d'Italia.
  IT: /^(23041|22061)$/,
  // Svalbard, Jan Mayen.
  NO: /^(917\d|8099)$/,
};

/** Where an address is taxed; null where no country's tax reaches that is known here. */
export function findPlace({
  country,
  state,
  postal_code,
}: Pick<Address, "country" | "state" | "postal_code">): TaxPlace | null {
  const code = (postal_code ?? "").replace(/\D/g, "");
  if (outside[country]?.test(code)) return null;
  const taxed = getTaxCountry(country);
  const known = state !== null && hasStates(taxed) ? (normalizeState(taxed, state) ?? null) : null;
  return { country: taxed, state: known, inUnion: unionCountries.has(taxed) };
}
