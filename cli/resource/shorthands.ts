/** Short ways to write deep fields. Each takes the texts given and answers the fields of the wire they stand for. */
import { InvalidArgumentError } from "commander";
import { currencyDigits, decimalText, parseMoney } from "../../shared/money.ts";

/** A flag that stands for a field that is hard to type. */
export type Shorthand = {
  flag: string;
  placeholder: string;
  description: string;
  read(texts: string[]): Record<string, unknown>;
};

const symbols: Record<string, string> = { $: "usd", "€": "eur", "£": "gbp" };
const intervals = ["day", "week", "month", "year"];

type Price = { price: Record<string, unknown>; interval?: string };

/** One price as typed: `19.00`, `19eur`, `€19`, `free`, `5+` (pay what you want, from 5.00), `19/month`. */
function readPrice(text: string): Price {
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

/** `metered:METER_ID:0.002` or `…:0.002eur:cap=50.00`: so much per unit, in the currency and not in its minor unit. */
function readMetered(text: string): Price {
  const [, meter_id, amount = "", code, cap] =
    /^metered:([^:]+):(\d+(?:\.\d+)?)([a-z]{3})?(?::cap=([\d.]+))?$/i.exec(text.trim()) ?? [];
  const wrong = (): never => {
    throw new InvalidArgumentError(
      `"${text}" is not a metered price. Write metered:METER_ID:0.002, also 0.002eur and with :cap=50.00.`,
    );
  };
  const price_currency = code?.toLowerCase() ?? "usd";
  // Shifting the point by an exponent keeps every digit that was typed.
  const unit_amount = decimalText(`${amount}e${currencyDigits(price_currency)}`);
  const cap_amount = cap === undefined ? undefined : parseMoney(cap, price_currency);
  if (!meter_id || (cap !== undefined && cap_amount === undefined)) return wrong();
  const limit = cap_amount === undefined ? {} : { cap_amount };
  return { price: { amount_type: "metered_unit", meter_id, unit_amount, price_currency, ...limit } };
}

const readPercent = (text: string): number => {
  // A percent has a hundred basis points as a dollar has a hundred cents: the same exact reading.
  const points = parseMoney(text.replace(/\s*%$/, ""), "usd");
  if (points === undefined || points < 1 || points > 10_000)
    throw new InvalidArgumentError("is a percentage above 0 and up to 100, with at most two decimals.");
  return points;
};

function readAmountOff(text: string): Record<string, unknown> {
  const [, amountText = "", code] = /^([\d.]+)\s*([a-z]{3})?$/i.exec(text.trim()) ?? [];
  const currency = code?.toLowerCase() ?? "usd";
  const amount = parseMoney(amountText, currency);
  if (!amount) throw new InvalidArgumentError("is an amount above 0, such as 5.00 or 5.00eur.");
  return { amount, currency };
}

function readFor(text: string): Record<string, unknown> {
  if (text === "once" || text === "forever") return { duration: text };
  const months = Number(/^([1-9]\d{0,2})\s*months?$/.exec(text)?.[1]);
  if (!months) throw new InvalidArgumentError("is once, forever, or a number of months such as 3months.");
  return { duration: "repeating", duration_in_months: months };
}

function readTrial(text: string): Record<string, unknown> {
  const [, count, trial_interval] = /^([1-9]\d{0,2})\s*(day|week|month|year)s?$/.exec(text) ?? [];
  if (!trial_interval) throw new InvalidArgumentError("is a number of days, weeks, months or years, such as 14days.");
  return { trial_interval, trial_interval_count: Number(count) };
}

/** The shorthands by the name that `cli/resources.ts` gives them. */
export const shorthands: Record<string, Shorthand> = {
  price: {
    flag: "price",
    placeholder: "amount",
    description:
      "a price: 19.00, 19.00eur, 19.00/month, 5+ (pay what you want), free, or metered:METER_ID:0.002 (0.002 of the currency per unit; :cap=50.00); may be repeated",
    read: (texts) => {
      const read = texts.map((text) => (/^metered:/i.test(text) ? readMetered(text) : readPrice(text)));
      // A metered price is charged with the others, at whatever interval they name.
      const fixed = read.filter(({ price }) => price.amount_type !== "metered_unit");
      const every = [...new Set(fixed.map(({ interval }) => interval))];
      if (every.length > 1) throw new InvalidArgumentError("all prices of a product have the same interval.");
      return { prices: read.map(({ price }) => price), ...(every[0] && { recurring_interval: every[0] }) };
    },
  },
  percent: {
    flag: "percent",
    placeholder: "number",
    description: "a share taken off: 20, or 25.5",
    read: (texts) => ({ basis_points: readPercent(texts.at(-1) ?? "") }),
  },
  amount_off: {
    flag: "amount-off",
    placeholder: "amount",
    description: "an amount taken off: 5.00, or 5.00eur",
    read: (texts) => readAmountOff(texts.at(-1) ?? ""),
  },
  for: {
    flag: "for",
    placeholder: "once|forever|3months",
    description: "on a subscription: the first invoice, every one, or those of some months",
    read: (texts) => readFor(texts.at(-1) ?? ""),
  },
  trial: {
    flag: "trial",
    placeholder: "14days",
    description: "a free time before the first charge: 14days, 2weeks, 1month",
    read: (texts) => readTrial(texts.at(-1) ?? ""),
  },
  // --version is the program's own.
  file_version: {
    flag: "file-version",
    placeholder: "text",
    description: "your own name for this version of it",
    read: (texts) => ({ version: texts.at(-1) }),
  },
};
