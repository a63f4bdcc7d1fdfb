/** Prices as people write them. */
import { formatDecimal, getCurrencyDigits, parseMoney } from "../../../shared/money.ts";
import { readCurrency, readInterval, readPriceText } from "../../../shared/price-text.ts";
import { findWrongAmount } from "../../../shared/written-amount.ts";
import { type DefaultValue, readIdOrName, rejectText, type Shorthand } from "../shorthand.ts";

const howToPrice =
  "Write 19.00, 19.00eur, 19.00/month, 5.00+ (pay what you want, from 5.00), free, or metered:METER:0.002/month.";
const howToMeter =
  "Write metered:METER:0.002/month with the name or id of the meter; also 0.002eur, and :cap=50.00 for the most a period costs.";
const howToSeats =
  "Write 1-9:9.00,10-:8.00 (seats:price of one), also with /month, in 9.00eur, or after graduated: where each tier has its own price.";

/** An amount in minor units: with the decimals of its currency, unless it names the currency, which says that it is not in cents. */
function readMinorUnits(
  text: string,
  currency: string,
  namesCurrency: boolean,
  refuse: (why: string) => never,
): number {
  const wrong = namesCurrency ? undefined : findWrongAmount(text, currency);
  const amount = wrong === undefined ? parseMoney(text, currency) : undefined;
  return amount ?? refuse(wrong ? `. ${wrong}` : "");
}

/** One price as typed: `19.00`, `19eur`, `€19`, `free`, `5.00+` (pay what you want, from 5.00), `19.00/month`. */
function readPrice(typed: string, standard: DefaultValue): Record<string, unknown> {
  const reportFault = (why: string): never => rejectText(typed, why, howToPrice);
  const { amount: text, isOpen, currency, interval } = readPriceText(typed, reportFault);
  const price_currency = currency ?? standard();
  if (text === undefined) return { prices: [{ amount_type: "free", price_currency }], ...interval };
  const reportAmount = (why: string): never => reportFault(`is not an amount in ${price_currency}${why}`);
  const amount = readMinorUnits(text, price_currency, currency !== undefined, reportAmount);
  const price = isOpen
    ? { amount_type: "custom", minimum_amount: amount, price_currency }
    : { amount_type: "fixed", price_amount: amount, price_currency };
  return { prices: [price], ...interval };
}

/** `metered:METER:0.002` or `…:0.002eur:cap=50.00/month`: so much per unit, in the currency and not in its minor unit. */
function readMetered(typed: string, standard: DefaultValue): Record<string, unknown> {
  const reportFault = (why: string): never => rejectText(typed, why, howToMeter);
  const [, meter, symbol, amount = "", code, cap, every] =
    /^metered:(.+?):([$€£])?(\d+(?:\.\d+)?)([a-z]{3})?(?::cap=([^/:]+))?(?:\/([^:]+))?$/i.exec(typed.trim()) ?? [];
  if (!meter) return reportFault("is not a metered price");
  const interval = readInterval(every?.toLowerCase(), reportFault);
  const price_currency = readCurrency(symbol, code?.toLowerCase(), reportFault) ?? standard();
  // Shifting the point by an exponent keeps every digit that was typed.
  const unclear = symbol || code ? undefined : findWrongAmount(amount, price_currency, true);
  if (unclear !== undefined) return reportFault(`has a price of one unit that is unclear. ${unclear}`);
  const unit_amount = formatDecimal(`${amount}e${getCurrencyDigits(price_currency)}`);
  const reportCap = (why: string): never =>
    reportFault(`has a cap that is not an amount in ${price_currency}: ${cap}${why}`);
  const cap_amount =
    cap === undefined ? undefined : readMinorUnits(cap, price_currency, Boolean(symbol ?? code), reportCap);
  const price = {
    amount_type: "metered_unit",
    meter_id: readIdOrName("meters", meter.trim()),
    unit_amount,
    price_currency,
    ...(cap_amount !== undefined && { cap_amount }),
  };
  return { prices: [price], ...interval };
}

const seatsForm = /^(?:(volume|graduated):)?([^/]+?)(?:\/(.+))?$/;
const getTiers = (typed: string): string[] =>
  (seatsForm.exec(typed.trim().toLowerCase())?.[2] ?? "").split(",").map((tier) => tier.trim());

/** A price by the number of seats: tiers that follow each other, the last of which may be open. */
function readSeats(typed: string, standard: DefaultValue): Record<string, unknown> {
  const reportFault = (why: string): never => rejectText(typed, why, howToSeats);
  const [, seat_tier_type, , every] = seatsForm.exec(typed.trim().toLowerCase()) ?? [];
  const interval = readInterval(every, reportFault);
  const texts = getTiers(typed);
  const read = texts.map((tier) => {
    const [, from, to, symbol, amount = "", code] =
      /^(\d{1,9})(?:\+|-(\d{1,9})?):([$€£])?([\d.]+)\s*([a-z]{3})?$/.exec(tier) ?? [];
    if (!from) return reportFault(`has a tier that cannot be read: "${tier}"`);
    const said = readCurrency(symbol, code, reportFault);
    return { tier, min_seats: Number(from), max_seats: to ? Number(to) : null, amount, said };
  });
  const said = [...new Set(read.flatMap((one) => one.said ?? []))];
  if (said.length > 1) return reportFault(`has tiers in several currencies: ${said.join(", ")}`);
  const [price_currency = standard()] = said;
  for (const [index, { tier, min_seats, max_seats }] of read.entries()) {
    const before = read[index - 1];
    if (min_seats < 1) return reportFault(`begins below one seat: "${tier}"`);
    if (max_seats !== null && max_seats < min_seats)
      return reportFault(`has a tier that ends before it begins: "${tier}"`);
    if (before?.max_seats === null) return reportFault(`has a tier after the open one "${before.tier}": "${tier}"`);
    if (before && min_seats !== before.max_seats + 1)
      return reportFault(
        `has a tier that does not follow "${before.tier}", which ends at ${before.max_seats}: "${tier}"`,
      );
  }
  const tiers = read.map(({ tier, min_seats, max_seats, amount }) => {
    const reportTier = (why: string): never =>
      reportFault(`has a tier whose price is not an amount in ${price_currency}: "${tier}"${why}`);
    return {
      min_seats,
      max_seats,
      price_per_seat: readMinorUnits(amount, price_currency, said.length > 0, reportTier),
    };
  });
  const price = {
    amount_type: "seat_based",
    price_currency,
    seat_tiers: { ...(seat_tier_type && { seat_tier_type }), tiers },
  };
  return { prices: [price], ...interval };
}

function readTrial(text: string): Record<string, unknown> {
  if (text === "none") return { trial_interval: null, trial_interval_count: null };
  const [, count, trial_interval] = /^([1-9]\d{0,2})\s*(day|week|month|year)s?$/.exec(text.trim().toLowerCase()) ?? [];
  if (!trial_interval)
    return rejectText(
      text,
      "is not a time",
      "Write a number of days, weeks, months or years, such as 14days; or none.",
    );
  return { trial_interval, trial_interval_count: Number(count) };
}

/** What is typed for the prices of a product. */
export const prices: Record<string, Shorthand> = {
  price: {
    flag: "price",
    placeholder: "amount",
    description:
      "a price, in the organization's currency where it names none: 19.00, 19.00eur, 19.00/month, 5.00+ (pay what you want), free, or metered:METER:0.002/month (0.002 of the currency per unit, :cap=50.00 at most); may be repeated",
    writes: ["prices", "recurring_interval", "recurring_interval_count"],
    many: true,
    read: (text, standard) => (/^metered:/i.test(text.trim()) ? readMetered : readPrice)(text, standard),
  },
  seats: {
    flag: "seats",
    placeholder: "tiers",
    description:
      "a price by the number of seats: 1-9:9.00,10-:8.00/month; every seat costs what the tier of their number says, or after graduated: what its own tier says",
    writes: ["prices", "recurring_interval", "recurring_interval_count"],
    many: true,
    read: readSeats,
    part: (text, [, , list, index]) =>
      list === "tiers" && typeof index === "number" ? getTiers(text)[index] : undefined,
  },
  trial: {
    flag: "trial",
    placeholder: "14days",
    description: "a free time before the first charge: 14days, 2weeks, 1month, or none",
    writes: ["trial_interval", "trial_interval_count"],
    read: readTrial,
  },
  attached_custom_fields: {
    flag: "custom-fields",
    placeholder: "slug,slug!",
    description: "custom fields the checkout asks for, in order, by slug or id; ! behind those that must be answered",
    writes: ["attached_custom_fields"],
    many: true,
    read: (text) => ({
      attached_custom_fields: text
        .split(",")
        .map((one) => one.trim())
        .filter(Boolean)
        .map((one) => ({
          custom_field_id: readIdOrName("custom-fields", one.replace(/!$/, "").trim()),
          required: one.endsWith("!"),
        })),
    }),
    part: (text, [index]) => (typeof index === "number" ? text.split(",")[index]?.trim() : undefined),
  },
};
