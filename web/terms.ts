import { addInterval, type Interval } from "../shared/calendar.ts";
import { formatUnitMoney } from "../shared/money.ts";
import { computeAmount, splitSeats } from "../shared/pricing.ts";
import type { Checkout } from "./api.ts";
import type { I18n } from "./i18n/i18n.tsx";

/** What the figures of a checkout mean: what is bought, what is due now, and what will be, when. */

export type Price = Checkout["product_price"];

/** The prices that are paid together: all of the chosen one's currency. */
export function getPrices({ prices, product_id, product_price, currency }: Checkout): Price[] {
  const offered = prices[product_id] ?? [];
  if (!offered.some(({ id }) => id === product_price.id)) return [product_price];
  return offered.filter(({ price_currency }) => price_currency === currency);
}

/** What is charged at once. What is too little for a card is asked for with the next order. */
export const getDueToday = ({ is_payment_required, total_amount }: Checkout): number =>
  is_payment_required ? total_amount : 0;

/** How many seats can be had; undefined where none are sold. */
export function getSeatRange(checkout: Checkout): { least: number; most: number } | undefined {
  const price = getPrices(checkout).find(({ amount_type }) => amount_type === "seat_based");
  if (price?.amount_type !== "seat_based") return undefined;
  const { minimum_seats, maximum_seats } = price.seat_tiers;
  return {
    least: checkout.min_seats ?? minimum_seats,
    most: Math.min(checkout.max_seats ?? 10_000, maximum_seats ?? 10_000),
  };
}

/** So many seats at one price, or the product as such. */
export type Line = { amount: number; seats?: { count: number; price: number } };

/** What the subtotal is made of. */
export function getLines(checkout: Checkout): Line[] {
  const prices = getPrices(checkout);
  const open = prices.filter(({ amount_type }) => amount_type === "custom").length;
  const lines = prices.flatMap((price): Line[] => {
    if (price.amount_type === "fixed") return [{ amount: price.price_amount }];
    if (price.amount_type !== "seat_based" || checkout.seats === null) return [];
    return splitSeats(checkout.seats, price.seat_tiers).flatMap((source) =>
      source.rule === "seats"
        ? [{ amount: computeAmount(source), seats: { count: source.seats, price: source.tier.price_per_seat } }]
        : [],
    );
  });
  const rest = checkout.amount - lines.reduce((sum, { amount }) => sum + amount, 0);
  if (open > 0) return [...lines, { amount: rest }];
  // Prices that were changed meanwhile do not explain what was quoted.
  return rest === 0 && lines.length > 0 ? lines : [{ amount: checkout.amount }];
}

type Step = { amount: number; from: Date };
/** What is charged later: so much from then on, until the next step. */
export type Schedule = {
  interval: Interval;
  count: number;
  trial_end: Date | null;
  steps: Step[];
  /** Tax comes on top that cannot be told yet. */
  plus_tax: boolean;
  /** How long it is free, where the checkout says so. */
  trial: { interval: Interval; count: number } | null;
  /** Use is charged besides, at most so much a period where every price has a cap; null where none is. */
  use: { cap: number | null } | null;
};

/** The first charge that a discount does not reach any more; undefined where it reaches all of them (DSC-22). */
function computeDiscountEnd({ discount }: Checkout, first: Date, next: (from: Date) => Date): Date | undefined {
  if (!discount || discount.duration === "forever") return undefined;
  if (discount.duration === "once") return next(first);
  const last = addInterval(first, "month", (discount.duration_in_months ?? 1) - 1);
  let charge = next(first);
  while (charge <= last) charge = next(charge);
  return charge;
}

/** What may come on top of each charge for use. */
function computeUse(checkout: Checkout): Schedule["use"] {
  const caps = getPrices(checkout).flatMap((price) => (price.amount_type === "metered_unit" ? [price.cap_amount] : []));
  if (caps.length === 0) return null;
  return { cap: caps.reduce((sum, cap) => (sum === null || cap === null ? null : sum + cap), 0) };
}

/** What follows today; undefined where nothing does. */
export function getSchedule(checkout: Checkout): Schedule | undefined {
  const { product, amount, total_amount, tax_amount, tax_behavior, trial_end: ends } = checkout;
  const { recurring_interval: interval, recurring_interval_count } = product;
  if (!interval) return undefined;
  const count = recurring_interval_count ?? 1;
  const trial_end = ends === null ? null : new Date(ends);
  const first = trial_end ?? new Date(checkout.as_of);
  const day = first.getUTCDate();
  const addPeriod = (from: Date): Date => addInterval(from, interval, count, day);
  const begins = trial_end ?? addPeriod(first);
  const end = computeDiscountEnd(checkout, first, addPeriod);
  const whole = { amount, from: end ?? begins };
  const steps =
    end === undefined
      ? [{ amount: total_amount, from: begins }]
      : end <= begins
        ? [whole]
        : [{ amount: total_amount, from: begins }, whole];
  const isAdded = tax_behavior !== "inclusive" && tax_amount !== 0;
  return {
    interval,
    count,
    trial_end,
    steps: steps.filter((step) => step.amount > 0 || steps.length > 1),
    plus_tax: tax_amount === null || (isAdded && end !== undefined),
    trial:
      trial_end && checkout.active_trial_interval && checkout.active_trial_interval_count
        ? { interval: checkout.active_trial_interval, count: checkout.active_trial_interval_count }
        : null,
    use: computeUse(checkout),
  };
}

/** A decimal times a whole number, exactly. */
function multiply(decimal: string, factor: number): string {
  const [units = "0", decimals = ""] = decimal.split(".");
  const digits = String(BigInt(units + decimals) * BigInt(factor)).padStart(decimals.length + 1, "0");
  return decimals === "" ? digits : `${digits.slice(0, -decimals.length)}.${digits.slice(-decimals.length)}`;
}

/** What a unit of use costs, as "$0.50 per call"; undefined for a price that is not by use. */
export function describeUse(
  price: Price,
  { messages, locale, money }: I18n,
): { name: string; cost: string } | undefined {
  if (price.amount_type !== "metered_unit") return undefined;
  const { meter, unit_amount, cap_amount, price_currency } = price;
  const [label, factor] =
    meter.unit === "token"
      ? [messages.million_tokens, 1_000_000]
      : meter.unit === "custom"
        ? [meter.custom_label ?? undefined, meter.custom_multiplier ?? 1]
        : [undefined, 1];
  const each = messages.per_unit(formatUnitMoney(multiply(unit_amount, factor), price_currency, locale), label);
  return {
    name: meter.name,
    cost: cap_amount === null ? each : `${each}, ${messages.at_most(money(cap_amount, price_currency))}`,
  };
}

/** When what is paid now is paid again, and what then, as one sentence; undefined where nothing follows. */
export function describeSchedule(schedule: Schedule | undefined, currency: string, { messages, money, day }: I18n) {
  const [first, second] = schedule?.steps ?? [];
  if (!schedule || !first) return undefined;
  const every = messages.every(schedule.interval, schedule.count);
  const amount = money(first.amount, currency);
  const { trial, use } = schedule;
  const begin = !schedule.trial_end
    ? messages.then_from(amount, every, day(first.from))
    : trial
      ? messages.trial_then(messages.span(trial.interval, trial.count), amount, every, day(first.from))
      : messages.free_then(day(schedule.trial_end), amount, every);
  const more = second ? messages.and_from(money(second.amount, currency), every, day(second.from)) : "";
  const bound = use?.cap ? ` (${messages.at_most(money(use.cap, currency))})` : "";
  const byUse = use ? `, ${messages.plus_usage}${bound}` : "";
  return `${begin}${more}${byUse}${schedule.plus_tax ? `, ${messages.plus_tax}` : ""}.`;
}

/**
 * Whether the button has to say that pressing it obliges to pay (§ 312j BGB), also where nothing is due yet. A button in another
 * language that names the sum says so.
 */
const isBinding = (checkout: Checkout, locale: string, country: string): boolean =>
  country === "DE" && checkout.is_payment_form_required && (/^de\b/.test(locale) || getDueToday(checkout) === 0);

/** What the button promises, to a buyer of this country. */
export function describeButton(checkout: Checkout, { messages, money, locale }: I18n, country = ""): string {
  if (isBinding(checkout, locale, country)) return messages.order_binding;
  const due = money(getDueToday(checkout), checkout.currency);
  const schedule = getSchedule(checkout);
  if (checkout.trial_end) return messages.start_trial;
  if (!checkout.is_payment_required) return checkout.is_payment_setup_required ? messages.subscribe : messages.get_free;
  if (!schedule) return messages.pay(due);
  const isSteady = schedule.steps.length === 1 && schedule.steps[0]?.amount === getDueToday(checkout);
  return isSteady
    ? messages.subscribe_for(due, messages.every(schedule.interval, schedule.count))
    : messages.subscribe_and_pay(due);
}

/** Whether two answers ask the buyer for the same. */
export const isSameDeal = (one: Checkout, other: Checkout): boolean =>
  (
    [
      "product_id",
      "product_price_id",
      "seats",
      "amount",
      "discount_id",
      "discount_amount",
      "tax_amount",
      "tax_behavior",
      "total_amount",
      "currency",
      "active_trial_interval",
      "active_trial_interval_count",
    ] as const
  ).every((field) => one[field] === other[field]);
