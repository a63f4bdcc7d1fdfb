/** Short ways to write deep fields. Each takes the texts given and answers the fields of the wire they stand for. */
import { InvalidArgumentError } from "commander";
import { parseMoney } from "../../shared/money.ts";

/** A flag that stands for a field that is hard to type. */
export type Shorthand = {
  flag: string;
  placeholder: string;
  description: string;
  read(texts: string[]): Record<string, unknown>;
};

const symbols: Record<string, string> = { $: "usd", "€": "eur", "£": "gbp" };
const intervals = ["day", "week", "month", "year"];

/** One price as typed: `19.00`, `19eur`, `€19`, `free`, `5+` (pay what you want, from 5.00), `19/month`. */
function readPrice(text: string): { price: Record<string, unknown>; interval?: string } {
  const [, symbol = "", amountText = "", plus = "", code = "", interval] =
    /^([$€£])?\s*(free|[\d.]+)(\+)?\s*([a-z]{3})?(?:\/([a-z]+))?$/i.exec(text.trim().toLowerCase()) ?? [];
  const wrong = (why: string): never => {
    throw new InvalidArgumentError(
      `"${text}" ${why}. Write 19.00, 19.00eur, 5+ (pay what you want, from 5.00) or free.`,
    );
  };
  if (!amountText) return wrong("is not a price");
  if (interval !== undefined && !intervals.includes(interval))
    return wrong(`names no interval (${intervals.join(", ")})`);
  const every = interval === undefined ? {} : { interval };
  const price_currency = symbols[symbol] ?? (code || "usd");
  if (amountText === "free") return { price: { amount_type: "free", price_currency }, ...every };
  const amount = parseMoney(amountText, price_currency);
  if (amount === undefined) return wrong(`is not an amount in ${price_currency}`);
  if (plus) return { price: { amount_type: "custom", minimum_amount: amount, price_currency }, ...every };
  return { price: { amount_type: "fixed", price_amount: amount, price_currency }, ...every };
}

/** The shorthands by the name that `cli/resources.ts` gives them. */
export const shorthands: Record<string, Shorthand> = {
  price: {
    flag: "price",
    placeholder: "amount",
    description: "a price: 19.00, 19.00eur, 5+ (pay what you want) or free; may be repeated",
    read: (texts) => {
      const read = texts.map(readPrice);
      const every = [...new Set(read.map(({ interval }) => interval))];
      if (every.length > 1) throw new InvalidArgumentError("all prices of a product have the same interval.");
      return { prices: read.map(({ price }) => price), ...(every[0] && { recurring_interval: every[0] }) };
    },
  },
  // --version is the program's own.
  file_version: {
    flag: "file-version",
    placeholder: "text",
    description: "your own name for this version of it",
    read: (texts) => ({ version: texts.at(-1) }),
  },
};
