/** Amounts as people write them, on the command line and in the catalogue. What could be read in two ways is refused. */
import { currencies } from "./currencies.ts";
import { getCurrencyDigits, parseMoney, writeMoney } from "./money.ts";

/** Why a whole number may not be an amount of a currency that has decimals; undefined where it has none. */
function findAmbiguity(units: string, currency: string): string | undefined {
  const digits = getCurrencyDigits(currency);
  if (digits === 0 || Number(units) === 0) return undefined;
  const inMinor = Number.isSafeInteger(Number(units)) ? ` or ${writeMoney(Number(units), currency)}` : "";
  return `${units} may mean ${units}.${"0".repeat(digits)}${inMinor}: write the amount with its decimals.`;
}

/** What is wrong with a text as an amount of a currency, or undefined. The price of one unit may have more decimals. */
export function findWrongAmount(text: string, currency: string, ofUnit = false): string | undefined {
  const [, units = "", decimals] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (units === "") return `"${text}" is not an amount: write 25.00.`;
  const digits = getCurrencyDigits(currency);
  const ambiguity = decimals === undefined ? findAmbiguity(units, currency) : undefined;
  if (ambiguity !== undefined || ofUnit) return ambiguity;
  if ((decimals?.length ?? 0) > digits)
    return digits === 0
      ? `${currency} has no decimals: write ${units}.`
      : `${currency} has ${digits} decimals at most.`;
  return parseMoney(text, currency) === undefined ? `${text} is too large.` : undefined;
}

const symbols: Record<string, string> = { $: "usd", "€": "eur", "£": "gbp" };
const written = /^([$€£])?\s*(\d+(?:\.\d+)?)\s*([a-z]{3})?$/i;

/** An amount taken apart: `24.50`, `24.50eur`, `€24`. */
export function parseWrittenAmount(text: string): { amount: string; currency: string | undefined } | undefined {
  const [, symbol, amount, code] = written.exec(text.trim()) ?? [];
  const currency = symbols[symbol ?? ""] ?? code?.toLowerCase();
  if (amount === undefined || (currency !== undefined && !(currencies as readonly string[]).includes(currency)))
    return undefined;
  if (symbol && code && code.toLowerCase() !== currency) return undefined;
  return { amount, currency };
}
