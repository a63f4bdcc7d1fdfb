import { type Address, getRequiredLines } from "../../../shared/addresses.ts";
import type { Checkout } from "../../../shared/api/checkouts.ts";
import { hasStates } from "../../../shared/countries.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import type { LimitedDiscount } from "../../catalog/discounts/rules.ts";
import type { PricedProduct, PriceRow } from "../../catalog/products/rules.ts";
import { findPricesWith } from "./quote.ts";
import type { checkouts } from "./tables.ts";

export type CheckoutRow = typeof checkouts.$inferSelect;
/**
 * A checkout with all that it is answered with: what is on offer, the price that is bought, the discount, and what is known
 * of who sells it. `own` are the prices that were made for this checkout alone, by product.
 */
export type CheckoutAggregate = {
  row: CheckoutRow;
  products: PricedProduct[];
  own: ReadonlyMap<string, PriceRow[]>;
  price: PriceRow;
  discount: LimitedDiscount | null;
  /** The customer's own external id, where the checkout was made with one; undefined where it is not of a customer yet. */
  customer_external_id?: string | null | undefined;
};

/** What a product is sold for in a checkout. */
export const getOffer = ({ own }: Pick<CheckoutAggregate, "own">, product: PricedProduct): PriceRow[] =>
  own.get(product.id) ?? product.prices;

/** The prices that are paid together. */
export const getPrices = (aggregate: CheckoutAggregate): PriceRow[] =>
  findPricesWith(getOffer(aggregate, getProduct(aggregate)), aggregate.price);

/** The product that is bought. */
export function getProduct({ row, products }: CheckoutAggregate): PricedProduct {
  const product = products.find((one) => one.id === row.product_id);
  if (!product) throw new Error(`The checkout ${row.id} has lost its product.`);
  return product;
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
  return undefined;
}

type AddressNeeds = Pick<CheckoutRow, "require_billing_address" | "is_business_customer" | "customer_billing_address">;

/** Which lines of the billing address are asked for (CHK-44). Lines that addresses of the country do without are shown and may stay empty. */
export function computeAddressFields(row: AddressNeeds): Checkout["billing_address_fields"] {
  const country = row.customer_billing_address?.country;
  const whole = row.require_billing_address || row.is_business_customer || country === "US";
  const line = whole ? ("required" as const) : ("disabled" as const);
  const state =
    country && hasStates(country) ? ("required" as const) : whole ? ("optional" as const) : ("disabled" as const);
  const required = getRequiredLines(country);
  return {
    country: "required",
    state,
    line1: line,
    city: whole && !required.city ? "optional" : line,
    postal_code: whole && !required.postal_code ? "optional" : line,
    line2: whole ? "optional" : "disabled",
  };
}

/** An address that was given with more than its country asks for the rest too (CHK-13). */
export function requiresAddress(address: Address | null | undefined): boolean {
  if (!address) return false;
  const { line1, line2, city, postal_code, state, country } = address;
  return Boolean(line1 || line2 || city || postal_code || (state && !hasStates(country)));
}

const buildMissingFault = (path: (string | number)[]): Fault => fault(path, "Field required", "missing");

/** What is still missing to confirm, all together (CHK-48, 8 to 10). */
export function checkComplete(row: CheckoutRow, form_required: boolean, token: string | null | undefined): Fault[] {
  const faults: Fault[] = [];
  if (!row.customer_email) faults.push(buildMissingFault(["customer_email"]));
  // Where nothing is paid the page shows no address form, so none is asked for either.
  if (form_required) {
    const fields = computeAddressFields(row);
    const address = row.customer_billing_address;
    if (!address) faults.push(buildMissingFault(["customer_billing_address"]));
    else {
      for (const [name, mode] of Object.entries(fields)) {
        if (mode === "required" && !address[name as keyof Address])
          faults.push(buildMissingFault(["customer_billing_address", name]));
      }
    }
    if (row.is_business_customer && !row.customer_billing_name)
      faults.push(buildMissingFault(["customer_billing_name"]));
    if (!token) faults.push(buildMissingFault(["confirmation_token_id"]));
    // Refused before it is written down, and not repeated: a page gone wrong may have sent the card's number itself.
    else if (!/^(ctoken|pm)_\w+$/.test(token))
      faults.push(fault(["confirmation_token_id"], "This is not a confirmation token.", "value_error"));
  }
  return faults;
}

/** The address after a sale: every `{CHECKOUT_ID}` replaced as plain text, nothing else read in it (CHK-22). */
export const fillSuccessUrl = (row: Pick<CheckoutRow, "id" | "success_url">, url: string): string =>
  row.success_url === null ? `${url}/confirmation` : row.success_url.replaceAll("{CHECKOUT_ID}", row.id);
