import type { Address } from "../../shared/addresses.ts";
import type { Checkout } from "../../shared/api/checkouts.ts";
import { hasStates } from "../../shared/countries.ts";
import { type Fault, fault } from "../../shared/errors.ts";
import { maximumAmount, minimumAmount } from "../../shared/money.ts";
import type { PricedProduct, PriceRow } from "../products/rules.ts";
import type { checkouts } from "./tables.ts";

export type CheckoutRow = typeof checkouts.$inferSelect;

/** Which states may follow which (CHK-55). */
export const moves: Record<Checkout["status"], readonly Checkout["status"][]> = {
  open: ["expired", "confirmed"],
  confirmed: ["succeeded", "open"],
  succeeded: [],
  expired: [],
  failed: [],
};

export const lifetime_ms = 60 * 60 * 1000;

/** The price of a product that is bought: its first in the currency, else its first; static ones stand first (CHK-03, PRD-24). */
export const pickPrice = (product: PricedProduct, currency?: string): PriceRow | undefined =>
  product.prices.find((price) => price.price_currency === currency) ?? product.prices[0];

/** A price can be paid in the currency that was asked for, if one was (CHK-04). */
export const checkCurrency = (price: PriceRow, currency: string | null | undefined): Fault[] =>
  !currency || currency === price.price_currency
    ? []
    : [fault(["currency"], "The product has no price in this currency.", "value_error", currency)];

type NotYet = { [K in "discount_id" | "trial_interval" | "prices" | "seats" | "min_seats" | "max_seats"]?: unknown };

/** What is asked for and cannot be had yet is refused: left out in silence, the buyer would get another price. */
export function checkNotYet(body: NotYet): Fault[] {
  const faults: Fault[] = [];
  const refuse = (field: string, msg: string) => faults.push(fault([field], msg, "not_available"));
  if (body.discount_id) refuse("discount_id", "Discounts cannot be redeemed yet.");
  if (body.trial_interval) refuse("trial_interval", "Trials belong to subscriptions, which cannot be bought yet.");
  if (body.prices && Object.keys(body.prices).length > 0)
    refuse("prices", "Prices made for one checkout are not available yet.");
  for (const field of ["seats", "min_seats", "max_seats"] as const) {
    if (body[field])
      faults.push(fault([field], "Seats can only be set for seat-based pricing.", "value_error", body[field]));
  }
  return faults;
}

/** Why a product of this kind cannot be bought yet; undefined when it can. */
export function checkKind(product: PricedProduct, at: (string | number)[]): Fault | undefined {
  const kind = pickPrice(product)?.amount_type;
  if (product.recurring_interval === null && (kind === "fixed" || kind === "custom" || kind === "free"))
    return undefined;
  const msg = "Only one-time products with a fixed, free or chosen price can be bought yet.";
  return fault(at, msg, "not_available", product.id);
}

/** Why a product cannot be bought now; undefined when it can (CHK-02). */
export function checkProduct(
  product: PricedProduct | undefined,
  at: (string | number)[],
  id: string,
): Fault | undefined {
  if (!product) return fault(at, "Product does not exist.", "value_error", id);
  if (product.is_archived) return fault(at, "Product is archived.", "value_error", id);
  if (product.visibility === "draft") return fault(at, "Product is a draft.", "value_error", id);
  return checkKind(product, at);
}

/** What is to be paid for a price; a chosen amount counts only where the buyer may choose (CHK-05). */
export function computeAmount(price: PriceRow, chosen: number | null | undefined): number {
  if (price.amount_type === "fixed") return price.price_amount ?? 0;
  if (price.amount_type === "custom") return chosen ?? price.preset_amount ?? price.minimum_amount ?? 0;
  return 0;
}

/** A chosen amount is checked, never bent (CHK-06). */
export function checkAmount(price: PriceRow, chosen: number | null | undefined): Fault[] {
  if (price.amount_type !== "custom" || chosen === null || chosen === undefined) return [];
  const say = (msg: string, type: string) => [fault(["amount"], msg, type, chosen)];
  const least = price.minimum_amount ?? 0;
  const most = Math.min(price.maximum_amount ?? Number.POSITIVE_INFINITY, maximumAmount(price.price_currency));
  if (chosen < least) return say(`Amount must be at least ${least}.`, "greater_than_equal");
  if (chosen > most) return say(`Amount must be at most ${most}.`, "less_than_equal");
  if (chosen > 0 && chosen < minimumAmount(price.price_currency)) {
    return say(`Amount must be 0 or at least ${minimumAmount(price.price_currency)}.`, "invalid_amount");
  }
  return [];
}

const isFree = (price: PriceRow): boolean =>
  price.amount_type === "free" || (price.amount_type === "fixed" && price.price_amount === 0);

/** What follows from amount and price (CHK-39 to CHK-43). There is no tax engine and no discount yet, so both are nought. */
export function computeFlags(amount: number, price: PriceRow) {
  const discount_amount = 0;
  const tax_amount = 0;
  const net_amount = amount - discount_amount;
  const total_amount = net_amount + tax_amount;
  const is_payment_required = total_amount > 0;
  return {
    discount_amount,
    tax_amount,
    net_amount,
    total_amount,
    // There are no discounts yet, so the page asks for no code that could only be refused (DSC-19).
    is_discount_applicable: false,
    is_free_product_price: isFree(price),
    is_payment_required,
    // Only what is paid again needs a card on file.
    is_payment_setup_required: false,
    is_payment_form_required: is_payment_required,
  };
}

type AddressNeeds = Pick<CheckoutRow, "require_billing_address" | "is_business_customer" | "customer_billing_address">;

/** Which lines of the billing address are asked for (CHK-44). */
export function computeAddressFields(row: AddressNeeds): Checkout["billing_address_fields"] {
  const country = row.customer_billing_address?.country;
  const whole = row.require_billing_address || row.is_business_customer || country === "US";
  const line = whole ? ("required" as const) : ("disabled" as const);
  const state =
    country && hasStates(country) ? ("required" as const) : whole ? ("optional" as const) : ("disabled" as const);
  return {
    country: "required",
    state,
    line1: line,
    city: line,
    postal_code: line,
    line2: whole ? "optional" : "disabled",
  };
}

/** An address that was given with more than its country asks for the rest too (CHK-13). */
export function asksForAddress(address: Address | null | undefined): boolean {
  if (!address) return false;
  const { line1, line2, city, postal_code, state, country } = address;
  return Boolean(line1 || line2 || city || postal_code || (state && !hasStates(country)));
}

const missing = (path: (string | number)[]): Fault => fault(path, "Field required", "missing");

/** What is still missing to confirm, all together (CHK-48, 8 to 10). */
export function checkComplete(row: CheckoutRow, form_required: boolean, token: string | null | undefined): Fault[] {
  const faults: Fault[] = [];
  if (row.customer_id === null && !row.customer_email) faults.push(missing(["customer_email"]));
  // Where nothing is paid the page shows no address form, so none is asked for either.
  if (form_required) {
    const fields = computeAddressFields(row);
    const address = row.customer_billing_address;
    if (!address) faults.push(missing(["customer_billing_address"]));
    else {
      for (const [name, mode] of Object.entries(fields)) {
        if (mode === "required" && !address[name as keyof Address])
          faults.push(missing(["customer_billing_address", name]));
      }
    }
    if (row.is_business_customer && !row.customer_billing_name) faults.push(missing(["customer_billing_name"]));
    if (!token) faults.push(missing(["confirmation_token_id"]));
    // Refused before it is written down, and not repeated: a page gone wrong may have sent the card's number itself.
    else if (!/^(ctoken|pm)_\w+$/.test(token))
      faults.push(fault(["confirmation_token_id"], "This is not a confirmation token.", "value_error"));
  }
  return faults;
}

/** The address after a sale: every `{CHECKOUT_ID}` replaced as plain text, nothing else read in it (CHK-22). */
export const successUrl = (row: Pick<CheckoutRow, "id" | "success_url">, url: string): string =>
  row.success_url === null ? `${url}/confirmation` : row.success_url.replaceAll("{CHECKOUT_ID}", row.id);
