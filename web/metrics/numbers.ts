import { formatMoney, formatUnitMoney, getCurrencyDigits } from "../../shared/money.ts";
import type { Interval } from "./calls.ts";

/** How numbers of a metric are written: in full, and as short as an axis wants them. */
export type NumberFormatters = { full: (value: number) => string; short: (value: number) => string };

/** Numbers of a type that metrics have, in a currency, as a locale writes them. */
export function getWriting(type: string, currency: string, locale: string): NumberFormatters {
  const createFormatter = (options: Intl.NumberFormatOptions) => {
    const format = new Intl.NumberFormat(locale, options);
    return (value: number): string => format.format(value);
  };
  if (type === "percentage")
    return {
      full: createFormatter({ style: "percent", maximumFractionDigits: 1 }),
      short: createFormatter({ style: "percent" }),
    };
  if (type === "scalar")
    return { full: createFormatter({ maximumFractionDigits: 2 }), short: createFormatter({ notation: "compact" }) };
  const unit = 10 ** getCurrencyDigits(currency);
  const money = createFormatter({ style: "currency", currency, notation: "compact", currencyDisplay: "narrowSymbol" });
  const isFine = type === "currency_sub_cent";
  return {
    full: (value) =>
      isFine ? formatUnitMoney(value, currency, locale) : formatMoney(Math.round(value), currency, locale),
    short: (value) => money(value / unit),
  };
}

/** How much more or less than before, as a share; of shares, in points of a hundred. Undefined where there was nothing before. */
export function computeChange(type: string, value: number, before: number): number | undefined {
  if (type === "percentage") return (value - before) * 100;
  return before === 0 ? undefined : (value - before) / Math.abs(before);
}

/** When a stretch of time began, as short as its interval allows. */
export function createPeriodFormat(
  interval: Interval,
  timeZone: string,
  locale: string,
): (timestamp: string) => string {
  const parts: Record<Interval, Intl.DateTimeFormatOptions> = {
    hour: { weekday: "short", hour: "2-digit", minute: "2-digit" },
    day: { day: "numeric", month: "short", year: "numeric" },
    week: { day: "numeric", month: "short", year: "numeric" },
    month: { month: "short", year: "numeric" },
    year: { year: "numeric" },
  };
  const format = new Intl.DateTimeFormat(locale, { ...parts[interval], timeZone });
  return (timestamp) => format.format(new Date(timestamp));
}
