import type { CheckoutPublic } from "../../shared/api/checkout-client.ts";
import type { Checkout } from "../../shared/api/checkouts.ts";
import type { Config } from "../config.ts";
import { checkoutOrganizationOut, type OrganizationRow } from "../organizations/rules.ts";
import { attachedOut, checkoutProductOut, priceOut } from "../products/rules.ts";
import { computeFlags } from "./quote.ts";
import { type CheckoutAggregate, type CheckoutRow, computeAddressFields, productOf, successUrl } from "./rules.ts";

type Shown = { config: Config; processor: { publishable_key: string | null } };

export const buildUrl = (row: Pick<CheckoutRow, "client_secret">, config: Config): string =>
  `${config.url}/checkout/${row.client_secret}`;

function serializeCommon(aggregate: CheckoutAggregate, { config, processor }: Shown) {
  const { row, products, price } = aggregate;
  const product = productOf(aggregate);
  const url = buildUrl(row, config);
  const { product_ids: _, quote, order_id: __, is_customer_named: ___, ...fields } = row;
  const key = processor.publishable_key;
  return {
    ...fields,
    ...computeFlags(quote, price),
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
export function serializeCheckout(aggregate: CheckoutAggregate, shown: Shown): Checkout {
  return {
    ...serializeCommon(aggregate, shown),
    trial_interval: null,
    trial_interval_count: null,
    customer_external_id: aggregate.row.external_customer_id,
    subscription_id: null,
  };
}

/** A checkout as its buyer sees it: without the seller's own notes. */
export function serializePublicCheckout(
  aggregate: CheckoutAggregate,
  seller: OrganizationRow,
  shown: Shown,
): CheckoutPublic {
  const {
    metadata: _,
    customer_metadata: __,
    external_customer_id: ___,
    ...fields
  } = serializeCommon(aggregate, shown);
  return { ...fields, organization: checkoutOrganizationOut(seller) };
}
