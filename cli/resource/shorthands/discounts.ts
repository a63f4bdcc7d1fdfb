/** Discounts as people write them. */
import { currencies } from "../../../shared/currencies.ts";
import { parseMoney } from "../../../shared/money.ts";
import { findWrongAmount } from "../../../shared/written-amount.ts";
import { type DefaultValue, rejectText, type Shorthand } from "../shorthand.ts";

const howToPercent = "Write 20, or 25.5 with at most two decimals. A share below 1 % is written with its sign: 0.2%.";

function readPercent(text: string): Record<string, unknown> {
  // Whoever thinks in fractions means a hundred times as much.
  if (/^0?\.\d+$/.test(text.trim()))
    return rejectText(text, `may mean ${Number(text) * 100} % or ${Number(text)} %`, howToPercent);
  // A percent has a hundred basis points as a dollar has a hundred cents: the same exact reading.
  const basis_points = parseMoney(text.replace(/\s*%$/, ""), "usd");
  if (basis_points === undefined || basis_points < 1 || basis_points > 10_000)
    return rejectText(text, "is not a percentage above 0 and up to 100", howToPercent);
  return { basis_points };
}

function readAmountOff(text: string, standard: DefaultValue): Record<string, unknown> {
  const how = "Write an amount above 0, such as 5.00 or 5.00eur.";
  const [, amountText = "", code] = /^([\d.]+)\s*([a-z]{3})?$/i.exec(text.trim()) ?? [];
  const currency = code?.toLowerCase() ?? standard();
  if (!(currencies as readonly string[]).includes(currency)) return rejectText(text, "names no currency", how);
  const wrong = code === undefined ? findWrongAmount(amountText, currency) : undefined;
  const amount = wrong === undefined ? parseMoney(amountText, currency) : undefined;
  return amount
    ? { amount, currency }
    : rejectText(text, `is not an amount in ${currency}. ${wrong ?? ""}`.trim(), how);
}

function readFor(text: string): Record<string, unknown> {
  if (text === "once" || text === "forever") return { duration: text };
  const months = Number(/^([1-9]\d{0,2})\s*months?$/.exec(text)?.[1]);
  if (!months)
    return rejectText(text, "is not a duration", "Write once, forever, or a number of months such as 3months.");
  return { duration: "repeating", duration_in_months: months };
}

const hourMs = 3_600_000;

/** `count` months on; the last of the month where it has no such day. */
function addMonths(from: Date, count: number): Date {
  const date = new Date(from);
  date.setMonth(date.getMonth() + count);
  if (date.getDate() !== from.getDate()) date.setDate(0);
  return date;
}

function runLater(count: number, unit: string | undefined): Date {
  const now = new Date();
  if (unit === "month") return addMonths(now, count);
  if (unit === "year") return addMonths(now, count * 12);
  return new Date(now.getTime() + count * (unit === "week" ? 168 : unit === "day" ? 24 : 1) * hourMs);
}

/** A time as typed: a date, with a time of day or without, or so much from now. */
export function readTime(text: string): string | null {
  const how = "Write 2026-12-01, 2026-12-01T10:00, +7days, or none.";
  if (text === "none") return null;
  const [, count, unit] = /^\+(\d{1,4})\s*(hour|day|week|month|year)s?$/.exec(text) ?? [];
  if (count) return runLater(Number(count), unit).toISOString();
  const [, day, time, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?)?$/i.exec(text.trim()) ?? [];
  if (!day) return rejectText(text, "is not a time", how);
  // Without a zone it is the time of this machine, as lists show it.
  const date = new Date(`${day}T${time ?? "00:00"}${zone ?? ""}`);
  // JavaScript takes the 31st of June for the 1st of July.
  const isDay = new Date(`${day}T00:00Z`).toISOString().startsWith(day);
  return Number.isNaN(date.getTime()) || !isDay
    ? rejectText(text, "is not a day of the calendar", how)
    : date.toISOString();
}

/** What is typed for a discount. */
export const discounts: Record<string, Shorthand> = {
  discount: {
    flag: "discount",
    placeholder: "code",
    kind: "text",
    refers: "discounts",
    nullable: true,
    description: "the discount to apply, by its code, name or id, or none",
    writes: ["discount_id"],
  },
  percent: {
    flag: "percent",
    placeholder: "number",
    description: "a share taken off: 20, or 25.5",
    writes: ["basis_points"],
    read: readPercent,
  },
  amount_off: {
    flag: "amount-off",
    placeholder: "amount",
    description: "an amount taken off: 5.00 in the organization's currency, or 5.00eur",
    writes: ["amount", "currency"],
    read: readAmountOff,
  },
  for: {
    flag: "for",
    placeholder: "once|forever|3months",
    description: "on a subscription: the first invoice, every one, or those of some months",
    writes: ["duration", "duration_in_months"],
    read: readFor,
  },
  starts: {
    flag: "starts",
    placeholder: "time",
    description: "from when it can be redeemed: 2026-12-01, 2026-12-01T10:00 (your time), +7days, or none",
    writes: ["starts_at"],
    read: (text) => ({ starts_at: readTime(text) }),
  },
  ends: {
    flag: "ends",
    placeholder: "time",
    description: "until when it can be redeemed; who has it then keeps it: written as --starts",
    writes: ["ends_at"],
    read: (text) => ({ ends_at: readTime(text) }),
  },
};
