import { z } from "zod";
import { CheckoutOrder, CheckoutPublic } from "../../../shared/api/checkout-client.ts";
import {
  OrganizationCustomerEmailSettings,
  OrganizationFeatureSettings,
  OrganizationNotificationSettings,
} from "../../../shared/api/organizations.ts";
import type { Checkout } from "../../../web/api.ts";

export type FakeCheckout = Checkout & { customer_session_token?: string };

let count = 0;
/** A fresh id. */
export const id = (): string => {
  count += 1;
  return `00000000-0000-4000-8000-${String(count).padStart(12, "0")}`;
};

const disabled = {
  line1: "disabled",
  line2: "disabled",
  city: "disabled",
  postal_code: "disabled",
  state: "disabled",
} as const;
const wanted = {
  line1: "required",
  line2: "optional",
  city: "required",
  postal_code: "required",
  state: "required",
} as const;
/** Which fields of the address a country asks for. */
export const fieldsFor = (country: string | undefined) => ({
  country: "required" as const,
  ...(country === "US" ? wanted : disabled),
});

const eachOf = (settings: { shape: object }) =>
  Object.fromEntries(Object.keys(settings.shape).map((name) => [name, false]));
const seller = {
  modified_at: null,
  name: "Demo Store",
  slug: "demo",
  avatar_url: null,
  email: "help@demo.example",
  website: "https://demo.example",
  socials: [],
  status: "active",
  details_submitted_at: null,
  proration_behavior: "prorate",
  allow_customer_updates: true,
  feature_settings: { ...eachOf(OrganizationFeatureSettings), overview_metrics: [] },
  subscription_settings: {
    allow_multiple_subscriptions: false,
    allow_customer_updates: true,
    proration_behavior: "prorate",
    benefit_revocation_grace_period: 0,
    prevent_trial_abuse: false,
  },
  notification_settings: eachOf(OrganizationNotificationSettings),
  branding: { logo_url: null, accent_color: null },
  legal_name: null,
  legal_settings: { terms_url: null, privacy_url: null, imprint: null },
  customer_email_settings: eachOf(OrganizationCustomerEmailSettings),
};

/** An answer as the contract has it, or a failure that says where it is not. */
export const readCheckout = (answer: object): FakeCheckout =>
  z.encode(CheckoutPublic, z.decode(CheckoutPublic, answer as z.input<typeof CheckoutPublic>)) as FakeCheckout;

/** A checkout as the server answers it, with some fields replaced. */
export function makeCheckout(url: string, fields: Partial<FakeCheckout>): FakeCheckout {
  count += 1;
  const secret = `polar_c_${"x".repeat(30)}${String(count).padStart(13, "0")}`;
  const at = "2026-11-21T07:00:00.000Z";
  const product_id = id();
  const price = {
    id: id(),
    created_at: at,
    modified_at: null,
    source: "catalog" as const,
    is_archived: false,
    product_id,
    type: "one_time" as const,
    recurring_interval: null,
    price_currency: "usd",
    tax_behavior: null,
    amount_type: "fixed" as const,
    price_amount: 1900,
  };
  const organization_id = id();
  const product = {
    id: product_id,
    created_at: at,
    modified_at: null,
    name: "Field Guide to Ice",
    description: "A small book on reading drift ice: 84 pages, PDF and EPUB.",
    visibility: "public" as const,
    recurring_interval: null,
    recurring_interval_count: null,
    meter_interval: null,
    meter_interval_count: null,
    is_recurring: false,
    is_archived: false,
    organization_id,
    trial_interval: null,
    trial_interval_count: null,
    prices: [price],
    benefits: [],
    medias: [],
  };
  const made = {
    id: id(),
    created_at: at,
    modified_at: null,
    custom_field_data: {},
    payment_processor: "stripe",
    status: "open",
    client_secret: secret,
    url: `${url}/checkout/${secret}`,
    expires_at: "2027-11-21T07:00:00.000Z",
    success_url: `${url}/checkout/${secret}/confirmation`,
    return_url: null,
    embed_origin: null,
    amount: 1900,
    seats: null,
    min_seats: null,
    max_seats: null,
    price_per_seat: null,
    units: null,
    min_units: null,
    max_units: null,
    quote: "",
    discount_amount: 0,
    net_amount: 1900,
    tax_amount: 0,
    tax_behavior: null,
    total_amount: 1900,
    currency: "usd",
    allow_trial: true,
    active_trial_interval: null,
    active_trial_interval_count: null,
    trial_end: null,
    organization_id,
    product_id,
    product_price_id: price.id,
    discount_id: null,
    allow_discount_codes: true,
    require_billing_address: false,
    is_discount_applicable: true,
    is_free_product_price: false,
    is_payment_required: true,
    is_payment_setup_required: false,
    is_payment_form_required: true,
    customer_id: null,
    is_business_customer: false,
    customer_name: null,
    customer_email: null,
    customer_ip_address: null,
    customer_billing_name: null,
    customer_billing_address: null,
    customer_tax_id: null,
    locale: null,
    payment_method_type: null,
    payment_processor_metadata: {},
    billing_address_fields: fieldsFor(undefined),
    products: [product],
    product,
    product_price: price,
    prices: { [product_id]: [price] },
    discount: null,
    attached_custom_fields: [],
    organization: { ...seller, id: organization_id, created_at: at },
    as_of: at,
    is_payment_available: true,
    ...fields,
  };
  return readCheckout(made);
}

/** The order that a checkout has become, as the contract has it. */
export const readOrder = (answer: object): object =>
  z.encode(CheckoutOrder, z.decode(CheckoutOrder, answer as z.input<typeof CheckoutOrder>));

/** The order of a checkout that was paid. */
export const orderOf = (checkout: FakeCheckout) => ({
  id: checkout.id,
  created_at: checkout.created_at,
  status: "paid",
  invoice_number: "DEMO-0042",
  receipt_number: checkout.is_payment_required ? "RCPT-1-0001" : null,
  currency: checkout.currency,
  subtotal_amount: checkout.amount,
  discount_amount: checkout.discount_amount,
  net_amount: checkout.net_amount,
  tax_amount: checkout.tax_amount ?? 0,
  total_amount: checkout.total_amount,
  due_amount: checkout.total_amount,
  refunded_amount: 0,
  refunded_tax_amount: 0,
  items: [{ label: checkout.product.name, amount: checkout.amount }],
  is_invoice_available: checkout.is_payment_required,
  confirmation_email: checkout.customer_email,
});
