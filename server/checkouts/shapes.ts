import type { CheckoutPublic } from "../../shared/api/checkout-client.ts";
import type { Checkout } from "../../shared/api/checkouts.ts";
import type { Config } from "../config.ts";
import { checkoutOrganizationOut, type OrganizationRow } from "../organizations/rules.ts";
import { attachedOut, checkoutProductOut, type PricedProduct, type PriceRow, priceOut } from "../products/rules.ts";
import { type CheckoutRow, computeAddressFields, computeFlags, successUrl } from "./rules.ts";

/** A checkout with everything that it is answered with. */
export type WholeCheckout = { row: CheckoutRow; products: PricedProduct[]; price: PriceRow };
type Shown = { config: Config; processor: { publishable_key: string | null } };

export const urlOf = (row: Pick<CheckoutRow, "client_secret">, config: Config): string =>
  `${config.url}/checkout/${row.client_secret}`;

function common({ row, products, price }: WholeCheckout, { config, processor }: Shown) {
  const product = products.find((one) => one.id === row.product_id);
  if (!product) throw new Error(`The checkout ${row.id} has lost its product.`);
  const url = urlOf(row, config);
  const { product_ids: _, ...fields } = row;
  const key = processor.publishable_key;
  return {
    ...fields,
    ...computeFlags(row.amount, price),
    url,
    success_url: successUrl(row, url),
    payment_processor: "stripe" as const,
    payment_processor_metadata: { ...(key ? { publishable_key: key } : {}), ...row.payment_processor_metadata },
    billing_address_fields: computeAddressFields(row),
    customer_tax_id: row.customer_tax_id?.[0] ?? null,
    tax_behavior: null,
    seats: null,
    min_seats: null,
    max_seats: null,
    price_per_seat: null,
    units: null,
    min_units: null,
    max_units: null,
    active_trial_interval: null,
    active_trial_interval_count: null,
    trial_end: null,
    discount_id: null,
    discount: null,
    products: products.map((one) => checkoutProductOut(one, config.media_url)),
    product: checkoutProductOut(product, config.media_url),
    product_price: priceOut(price, product),
    prices: Object.fromEntries(products.map((one) => [one.id, one.prices.map((each) => priceOut(each, one))])),
    attached_custom_fields: attachedOut(product),
  };
}

/** A checkout as its seller sees it. */
export function checkoutOut(whole: WholeCheckout, shown: Shown): Checkout {
  return {
    ...common(whole, shown),
    trial_interval: null,
    trial_interval_count: null,
    customer_external_id: whole.row.external_customer_id,
    subscription_id: null,
  };
}

/** A checkout as its buyer sees it: without the seller's own notes. */
export function checkoutPublicOut(whole: WholeCheckout, seller: OrganizationRow, shown: Shown): CheckoutPublic {
  const { metadata: _, customer_metadata: __, external_customer_id: ___, ...fields } = common(whole, shown);
  return { ...fields, organization: checkoutOrganizationOut(seller) };
}
