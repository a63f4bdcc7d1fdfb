import { type Fault, fault } from "../../shared/errors.ts";
import { formatMoney, maximumAmount, minimumAmount } from "../../shared/money.ts";
import { computeTotals, type Quote } from "../orders/rules.ts";
import type { PricedProduct, PriceRow } from "../products/rules.ts";

/** The price of a product that is bought: its first in the currency, else its first; static ones stand first (CHK-03, PRD-24). */
export const pickPrice = (product: PricedProduct, currency?: string): PriceRow | undefined =>
  product.prices.find((price) => price.price_currency === currency) ?? product.prices[0];

/** A price can be paid in the currency that was asked for, if one was (CHK-04). */
export const checkCurrency = (price: PriceRow, currency: string | null | undefined): Fault[] =>
  !currency || currency === price.price_currency
    ? []
    : [fault(["currency"], "The product has no price in this currency.", "value_error", currency)];

/** What is to be paid for a price; a chosen amount counts only where the buyer may choose (CHK-05). */
export function computeAmount(price: PriceRow, chosen: number | null | undefined): number {
  if (price.amount_type === "fixed") return price.price_amount ?? 0;
  if (price.amount_type === "custom") return chosen ?? price.preset_amount ?? price.minimum_amount ?? 0;
  return 0;
}

/** A chosen amount is checked, never bent (CHK-06). */
export function checkAmount(price: PriceRow, chosen: number | null | undefined): Fault[] {
  if (price.amount_type !== "custom" || chosen === null || chosen === undefined) return [];
  const money = (amount: number): string => formatMoney(amount, price.price_currency);
  const say = (msg: string, type: string) => [fault(["amount"], msg, type, chosen)];
  const least = price.minimum_amount ?? 0;
  const most = Math.min(price.maximum_amount ?? Number.POSITIVE_INFINITY, maximumAmount(price.price_currency));
  if (chosen < least) return say(`Amount must be at least ${money(least)}.`, "greater_than_equal");
  if (chosen > most) return say(`Amount must be at most ${money(most)}.`, "less_than_equal");
  if (chosen > 0 && chosen < minimumAmount(price.price_currency)) {
    return say(`Amount must be 0 or at least ${money(minimumAmount(price.price_currency))}.`, "invalid_amount");
  }
  return [];
}

/**
 * What a product costs at a price, in minor units: the one place where the amounts of a checkout are computed. There is no
 * tax engine and no discount yet, so both are zero.
 */
export function quotePrice(
  product: Pick<PricedProduct, "name">,
  price: PriceRow,
  chosen: number | null | undefined,
): Quote {
  const amount = computeAmount(price, chosen);
  const line = { label: product.name, amount, tax_amount: 0, proration: false, product_price_id: price.id };
  return {
    currency: price.price_currency,
    subtotal_amount: amount,
    discount_amount: 0,
    tax_amount: 0,
    lines: [line],
  };
}

const isFree = (price: PriceRow): boolean =>
  price.amount_type === "free" || (price.amount_type === "fixed" && price.price_amount === 0);

/** What follows from a quote and its price (CHK-39 to CHK-43). */
export function computeFlags(quote: Quote, price: PriceRow) {
  const { net_amount, total_amount } = computeTotals(quote);
  const is_payment_required = total_amount > 0;
  return {
    amount: quote.subtotal_amount,
    discount_amount: quote.discount_amount,
    tax_amount: quote.tax_amount,
    net_amount,
    total_amount,
    currency: quote.currency,
    // There are no discounts yet, so the page asks for no code that could only be refused (DSC-19).
    is_discount_applicable: false,
    is_free_product_price: isFree(price),
    is_payment_required,
    // Only what is paid again needs a card on file.
    is_payment_setup_required: false,
    is_payment_form_required: is_payment_required,
  };
}
