import type { LimitedDiscount } from "../../server/catalog/discounts/rules.ts";
import type { PricedProduct, PriceRow } from "../../server/catalog/products/rules.ts";
import { computeBasketQuote } from "../../server/checkout/checkouts/quote.ts";
import type { CheckoutRow } from "../../server/checkout/checkouts/rules.ts";
import type { Address } from "../../shared/addresses.ts";
import { untaxed } from "../../shared/pricing.ts";

/** Rows as the rules of a checkout take them. */
export type Row = CheckoutRow;
export type Basket = Parameters<typeof computeBasketQuote>[0];
export const quote = (prices: PriceRow[], fields: Partial<Basket> = {}) =>
  computeBasketQuote({
    product: { name: "Guide" },
    prices,
    seats: null,
    chosen: null,
    discount: null,
    tax: untaxed,
    ...fields,
  });
export const price = (fields: Partial<PriceRow> = {}): PriceRow =>
  ({
    id: "price-1",
    product_id: "product-1",
    amount_type: "fixed",
    price_currency: "usd",
    price_amount: 1900,
    minimum_amount: null,
    maximum_amount: null,
    preset_amount: null,
    is_archived: false,
    ...fields,
  }) as PriceRow;
export const custom = (fields: Partial<PriceRow> = {}) =>
  price({ amount_type: "custom", price_amount: null, ...fields });
export const product = (fields: Partial<PricedProduct> = {}): PricedProduct =>
  ({
    id: "product-1",
    name: "Guide",
    is_archived: false,
    visibility: "public",
    recurring_interval: null,
    fields: [],
    prices: [price()],
    ...fields,
  }) as PricedProduct;
export const address = (country: Address["country"], fields: object = {}): Address => ({
  country,
  state: null,
  line1: null,
  line2: null,
  city: null,
  postal_code: null,
  ...fields,
});
export const row = (fields: Partial<Row> = {}): Row =>
  ({
    id: "checkout-1",
    status: "open",
    product_id: "product-1",
    product_price_id: "price-1",
    product_ids: ["product-1"],
    quote: quote([price()]),
    own_price_ids: null,
    seats: null,
    min_seats: null,
    max_seats: null,
    chosen_amount: null,
    discount_id: null,
    allow_trial: true,
    trial_interval: null,
    trial_interval_count: null,
    trial_end: null,
    subscription_id: null,
    custom_field_data: {},
    customer_id: null,
    customer_email: null,
    customer_billing_address: null,
    customer_billing_name: null,
    customer_tax_id: null,
    is_business_customer: false,
    require_billing_address: false,
    allow_discount_codes: true,
    ...fields,
  }) as Row;

export const discount = (fields: Partial<LimitedDiscount> = {}): LimitedDiscount =>
  ({
    id: "discount-1",
    name: "Launch",
    code: "LAUNCH",
    type: "percentage",
    basis_points: 10_000,
    amounts: null,
    duration: "once",
    products: [],
    starts_at: null,
    ends_at: null,
    deleted_at: null,
    max_redemptions: null,
    redemptions_count: 0,
    ...fields,
  }) as LimitedDiscount;
export const metered = price({ id: "price-2", amount_type: "metered_unit", price_amount: null });
export const tiers = (price_per_seat: number): PriceRow["seat_tiers"] => ({
  seat_tier_type: "volume",
  tiers: [{ min_seats: 1, max_seats: null, price_per_seat }],
  minimum_seats: 1,
  maximum_seats: null,
});
export const seated = (price_per_seat: number) =>
  price({ amount_type: "seat_based", price_amount: null, seat_tiers: tiers(price_per_seat) });
