import { addInterval } from "../../../shared/calendar.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { formatMoney, getMaximumAmount, getMinimumAmount } from "../../../shared/money.ts";
import { type AmountSource, computeQuote, type LineTerms, type Quote } from "../../../shared/pricing.ts";
import type { TaxTreatment } from "../../../shared/tax.ts";
import { findDiscountTerms, type LimitedDiscount } from "../../catalog/discounts/rules.ts";
import { isFree, planLines } from "../../catalog/products/lines.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";

/** The price of a product that is bought: its first in the currency, else its first; static ones stand first (CHK-03, PRD-24). */
export const pickPrice = (prices: readonly PriceRow[], currency?: string): PriceRow | undefined =>
  prices.find((price) => price.price_currency === currency) ?? prices[0];

/** The prices that are paid together with one: all in its currency. One that is not on sale any more stands alone. */
export const findPricesWith = (offered: readonly PriceRow[], picked: PriceRow): PriceRow[] =>
  offered.some(({ id }) => id === picked.id)
    ? offered.filter(({ price_currency }) => price_currency === picked.price_currency)
    : [picked];

/** A price can be paid in the currency that was asked for, if one was (CHK-04). */
export const checkCurrency = (price: PriceRow, currency: string | null | undefined): Fault[] =>
  !currency || currency === price.price_currency
    ? []
    : [fault(["currency"], "The product has no price in this currency.", "value_error", currency)];

/** A chosen amount is checked, never bent (CHK-06). */
export function checkAmount(prices: readonly PriceRow[], chosen: number | null | undefined): Fault[] {
  const price = prices.find(({ amount_type }) => amount_type === "custom");
  if (!price || chosen === null || chosen === undefined) return [];
  const formatAmount = (amount: number): string => formatMoney(amount, price.price_currency);
  const buildAmountFault = (msg: string, type: string) => [fault(["amount"], msg, type, chosen)];
  const least = price.minimum_amount ?? 0;
  const most = Math.min(price.maximum_amount ?? Number.POSITIVE_INFINITY, getMaximumAmount(price.price_currency));
  if (chosen < least) return buildAmountFault(`Amount must be at least ${formatAmount(least)}.`, "greater_than_equal");
  if (chosen > most) return buildAmountFault(`Amount must be at most ${formatAmount(most)}.`, "less_than_equal");
  if (chosen > 0 && chosen < getMinimumAmount(price.price_currency)) {
    return buildAmountFault(
      `Amount must be 0 or at least ${formatAmount(getMinimumAmount(price.price_currency))}.`,
      "invalid_amount",
    );
  }
  return [];
}

type SeatBounds = { min_seats: number | null; max_seats: number | null };

const seatsMost = 10_000;
const getTiers = (prices: readonly PriceRow[]) =>
  prices.find(({ amount_type }) => amount_type === "seat_based")?.seat_tiers;

/** How few and how many seats can be bought: as the price says, narrowed for this checkout; null where none are sold. */
export function computeSeatBounds(prices: readonly PriceRow[], { min_seats, max_seats }: SeatBounds) {
  const tiers = getTiers(prices);
  return tiers
    ? {
        least: Math.max(min_seats ?? 1, tiers.minimum_seats),
        most: Math.min(max_seats ?? seatsMost, tiers.maximum_seats ?? seatsMost),
      }
    : null;
}

/** The seats that are bought: those asked for, as far as they can be had, else the fewest (CHK-07). */
export function checkSeats(
  prices: readonly PriceRow[],
  asked: { seats?: number | null | undefined },
  bounds: SeatBounds,
): { seats: number | null; faults: Fault[] } {
  const range = computeSeatBounds(prices, bounds);
  const { seats } = asked;
  const buildSeatsFault = (msg: string, type = "value_error") => ({
    seats: null,
    faults: [fault(["seats"], msg, type, seats)],
  });
  if (!range)
    return seats ? buildSeatsFault("Seats can only be set for seat-based pricing.") : { seats: null, faults: [] };
  if (!seats) return { seats: range.least, faults: [] };
  if (seats < range.least)
    return buildSeatsFault(`At least ${range.least} seats must be bought.`, "greater_than_equal");
  if (seats > range.most) return buildSeatsFault(`At most ${range.most} seats can be bought.`, "less_than_equal");
  return { seats, faults: [] };
}

/** What is bought in a checkout. `prices` are those that are paid together. */
export type Basket = {
  product: Pick<PricedProduct, "name">;
  prices: readonly PriceRow[];
  seats: number | null;
  /** What the buyer wants to pay, where they may choose. */
  chosen: number | null;
  discount: LimitedDiscount | null;
  tax: TaxTreatment;
};

function getChosenSource({ preset_amount, minimum_amount }: PriceRow, chosen: number | null): AmountSource {
  if (chosen !== null) return { rule: "chosen", by: "buyer", amount: chosen };
  if (preset_amount !== null) return { rule: "chosen", by: "preset", amount: preset_amount };
  return { rule: "chosen", by: "minimum", amount: minimum_amount ?? 0 };
}

/** The lines of a basket: one for each price that costs something by itself, of graduated seats one for each tier. */
const planBasket = ({ prices, product, seats, chosen }: Basket): LineTerms[] =>
  prices.flatMap((price) => planLines(price, { product, seats, chosen: () => getChosenSource(price, chosen) }));

/** What is to be paid for a basket: the one place where the amounts of a checkout come from. */
export const computeBasketQuote = (basket: Basket): Quote => {
  const currency = basket.prices[0]?.price_currency ?? "usd";
  return computeQuote({
    currency,
    seats: basket.seats,
    lines: planBasket(basket),
    discount: (basket.discount && findDiscountTerms(basket.discount, currency)) ?? null,
    tax: basket.tax,
  });
};

/** More than can be charged at once is refused, and said where it can be mended. */
export function checkTotal({ subtotal_amount, currency, seats }: Quote): Fault[] {
  const most = getMaximumAmount(currency);
  if (subtotal_amount <= most) return [];
  const msg = `This comes to more than can be paid at once, ${formatMoney(most, currency)}.`;
  return [fault([seats === null ? "amount" : "seats"], msg, "less_than_equal", seats ?? subtotal_amount)];
}

/** The order of a trial: nothing is asked for its period (ORD-07). */
export function computeTrialQuote(
  { currency, seats }: Quote,
  { name }: Pick<PricedProduct, "name">,
  start: Date,
  end: Date,
): Quote {
  const day = new Intl.DateTimeFormat("en-US", { dateStyle: "medium", timeZone: "UTC" });
  const label = `Trial period for ${name} (${day.format(start)} - ${day.format(end)})`;
  return computeQuote({
    currency,
    seats,
    lines: [{ label, product_price_id: null, proration: false, source: { rule: "trial" } }],
    discount: null,
    tax: { behavior: "exclusive", reason: "zero_rated", rates: [], source: null },
  });
}

type TrialTerms = Pick<PricedProduct, "trial_interval" | "trial_interval_count">;

/** The trial of a checkout: its own, else its product's; what is bought once has none (CHK-45). */
export function computeTrial(
  row: TrialTerms & { allow_trial: boolean },
  product: TrialTerms & Pick<PricedProduct, "recurring_interval">,
  now: Date,
) {
  const { trial_interval: interval, trial_interval_count: count } = row.trial_interval ? row : product;
  if (!row.allow_trial || product.recurring_interval === null || !interval || !count)
    return { active_trial_interval: null, active_trial_interval_count: null, trial_end: null };
  return {
    active_trial_interval: interval,
    active_trial_interval_count: count,
    trial_end: addInterval(now, interval, count),
  };
}

/** A discount takes something off prices that cost something (DSC-19). */
export const isDiscountable = (prices: readonly PriceRow[]): boolean =>
  prices.some(
    ({ amount_type, price_amount }) => amount_type !== "free" && !(amount_type === "fixed" && price_amount === 0),
  );

/** Whether a card can be charged with it; less is owed, and asked for with the next order (ORD-04). */
export const isChargeable = ({ total_amount, currency }: Quote): boolean => total_amount >= getMinimumAmount(currency);

export type PurchaseQuote = {
  quote: Quote;
  prices: readonly PriceRow[];
  product: Pick<PricedProduct, "recurring_interval">;
  discount: LimitedDiscount | null;
  trial_end: Date | null;
};

/** What follows from a quote and what is bought (CHK-39 to CHK-43). */
export function computeFlags({ quote, prices, product, discount, trial_end }: PurchaseQuote) {
  const { subtotal_amount, discount_amount, net_amount, tax_amount, total_amount, currency } = quote;
  const is_free_product_price = prices.every(isFree);
  const is_payment_required = isChargeable(quote) && trial_end === null;
  const isMetered = prices.some(({ amount_type }) => amount_type === "metered_unit");
  const isGift = discount?.type === "percentage" && discount.basis_points === 10_000 && discount.duration === "forever";
  const is_payment_setup_required =
    product.recurring_interval !== null && !is_free_product_price && !isGift && (subtotal_amount > 0 || isMetered);
  return {
    amount: subtotal_amount,
    discount_amount,
    net_amount,
    tax_amount,
    tax_behavior: quote.tax_lines.length > 0 ? quote.tax.behavior : null,
    total_amount,
    currency,
    is_discount_applicable: isDiscountable(prices),
    is_free_product_price,
    is_payment_required,
    is_payment_setup_required,
    is_payment_form_required: is_payment_required || is_payment_setup_required,
  };
}
