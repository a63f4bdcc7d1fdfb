/** Prices as people write them, on the command line and in the catalogue: `19.00`, `€19`, `19.00 eur/month`, `5+`, `free`. */
import { currencies } from "./currencies.ts";

const symbols: Record<string, string> = { $: "usd", "€": "eur", "£": "gbp" };
const isCurrency = (code: string): boolean => (currencies as readonly string[]).includes(code);

/** How often, as it stands behind a price: `month`, or `3months`. */
export type WrittenInterval = { recurring_interval: string; recurring_interval_count?: number };
/** A price taken apart. What is free has no amount. */
export type WrittenPrice = {
  amount: string | undefined;
  /** `5+`: who buys may give more. */
  isOpen: boolean;
  currency: string | undefined;
  interval: WrittenInterval | undefined;
};

/** Say that a text is no price, and why; it does not come back. */
export type RejectText = (why: string) => never;

/** How often, from the text behind the slash. */
export function readInterval(text: string | undefined, refuse: RejectText): WrittenInterval | undefined {
  if (text === undefined) return undefined;
  const [, count, recurring_interval] = /^([1-9]\d{0,2})?\s*(day|week|month|year)s?$/.exec(text.trim()) ?? [];
  if (!recurring_interval) return refuse("names no interval after the slash (day, week, month or year, or 3months)");
  return { recurring_interval, ...(count && { recurring_interval_count: Number(count) }) };
}

/** The currency that a symbol before an amount, or a code behind it, says. */
export function readCurrency(
  symbol: string | undefined,
  code: string | undefined,
  refuse: RejectText,
): string | undefined {
  const found = symbols[symbol ?? ""] ?? code;
  if (code && symbol && code !== found) return refuse(`names two currencies, ${found} and ${code}`);
  return found === undefined || isCurrency(found) ? found : refuse(`names no currency: ${found}`);
}

/** Take a price apart. Whether the amount fits its currency is another question. */
export function readPriceText(text: string, refuse: RejectText): WrittenPrice {
  const [, symbol, amount, plus, code, every] =
    /^([$€£])?\s*(free|[\d.]+)(\+)?\s*([a-z]{3})?\s*(?:\/(.+))?$/.exec(text.trim().toLowerCase()) ?? [];
  if (!amount) return refuse("is not a price");
  const interval = readInterval(every, refuse);
  const currency = readCurrency(symbol, code, refuse);
  return { amount: amount === "free" ? undefined : amount, isOpen: plus !== undefined, currency, interval };
}
