import { z } from "zod";
import { Address, AddressInput } from "../addresses.ts";
import {
  byId,
  ids,
  instant,
  many,
  metadata,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { AttachedCustomField } from "./custom-fields.ts";
import { CheckoutDiscount } from "./discounts.ts";
import {
  checkTrial,
  currency,
  customFieldData,
  email,
  interval,
  markMinorUnits,
  stored,
  trialInput,
  unlessNull,
  webUrl,
} from "./fields.ts";
import { ProductPrice, ProductPriceCreate } from "./prices.ts";
import { CheckoutProduct } from "./products.ts";

export const checkoutStatuses = ["open", "expired", "confirmed", "succeeded", "failed"] as const;
const fieldMode = z.enum(["required", "optional", "disabled"]);

/** What both the seller and the buyer read of a checkout. */
export const checkoutFields = {
  ...stored,
  custom_field_data: customFieldData,
  payment_processor: z.literal("stripe"),
  status: z.enum(checkoutStatuses),
  client_secret: z.string(),
  url: z.string(),
  expires_at: instant,
  success_url: z.string(),
  return_url: z.string().nullable(),
  embed_origin: z.string().nullable(),
  amount: z.int(),
  seats: z.int().nullable(),
  min_seats: z.int().nullable(),
  max_seats: z.int().nullable(),
  price_per_seat: z.int().nullable(),
  units: z.int().nullable(),
  min_units: z.int().nullable(),
  max_units: z.int().nullable(),
  discount_amount: z.int(),
  net_amount: z.int(),
  tax_amount: z.int().nullable(),
  tax_behavior: z.enum(["inclusive", "exclusive"]).nullable(),
  total_amount: z.int(),
  /** A signature over these terms, good for an hour: sent with the confirmation, nothing else is charged. */
  quote: z.string(),
  currency: z.string(),
  allow_trial: z.boolean().nullable(),
  active_trial_interval: interval.nullable(),
  active_trial_interval_count: z.int().nullable(),
  trial_end: instant.nullable(),
  organization_id: z.uuid(),
  product_id: z.uuid(),
  product_price_id: z.uuid(),
  discount_id: z.uuid().nullable(),
  allow_discount_codes: z.boolean(),
  require_billing_address: z.boolean(),
  is_discount_applicable: z.boolean(),
  is_free_product_price: z.boolean(),
  is_payment_required: z.boolean(),
  is_payment_setup_required: z.boolean(),
  is_payment_form_required: z.boolean(),
  customer_id: z.uuid().nullable(),
  is_business_customer: z.boolean(),
  customer_name: z.string().nullable(),
  customer_email: z.string().nullable(),
  customer_ip_address: z.string().nullable(),
  customer_billing_name: z.string().nullable(),
  customer_billing_address: Address.nullable(),
  customer_tax_id: z.string().nullable(),
  locale: z.string().nullable(),
  payment_method_type: z.string().nullable(),
  payment_processor_metadata: z.record(z.string(), z.string()),
  billing_address_fields: z.object({
    country: fieldMode,
    state: fieldMode,
    city: fieldMode,
    postal_code: fieldMode,
    line1: fieldMode,
    line2: fieldMode,
  }),
  products: z.array(CheckoutProduct),
  product: CheckoutProduct,
  product_price: ProductPrice,
  /** The prices on offer, by product. */
  prices: z.record(z.string(), z.array(ProductPrice)),
  discount: CheckoutDiscount.nullable(),
  attached_custom_fields: z.array(AttachedCustomField),
};

/** A sale in the making, as its seller sees it. */
export const Checkout = z.object({
  ...checkoutFields,
  trial_interval: interval.nullable(),
  trial_interval_count: z.int().nullable(),
  metadata: metadataOut,
  external_customer_id: z.string().nullable(),
  /** The same again, under its older name. */
  customer_external_id: z.string().nullable(),
  /** Where the customer who bought has another external id than this checkout was made with, or none. */
  external_customer_id_conflict: z.object({ requested: z.string(), actual: z.string().nullable() }).nullable(),
  subscription_id: z.uuid().nullable(),
  customer_metadata: z.record(z.string(), z.union([z.string(), z.int(), z.boolean()])),
});
export type Checkout = z.output<typeof Checkout>;

const amount = markMinorUnits(z.int().min(0))
  .nullish()
  .describe("Amount in minor units, where the buyer may choose it.");
const seats = z.int().min(1).max(10_000);
const ipAddress = z.union([z.ipv4(), z.ipv6()]);
const embedOrigin = webUrl.nullish().describe("Origin of the page that embeds the checkout.");
/** A browser's own parsing turns the braces of the placeholder into escapes; they are turned back (CHK-22). */
export const successUrl = webUrl
  .overwrite((url) => url.replaceAll(/%7BCHECKOUT_ID%7D/gi, "{CHECKOUT_ID}"))
  .nullish()
  .describe("Where the buyer goes afterwards; {CHECKOUT_ID} is replaced.");
const returnUrl = webUrl.nullish().describe("Where the back button leads.");

/** What seller and buyer may both fill in. Null clears a field, except where only a whole value makes sense. */
export const buyerInput = {
  custom_field_data: unlessNull(customFieldData).describe("Answers to the custom fields, by their slug."),
  amount,
  seats: seats.nullish().describe("Number of seats."),
  is_business_customer: unlessNull(z.boolean()).describe("Whether a business buys."),
  customer_name: z.string().max(256).nullish().describe("Name of the buyer."),
  customer_email: email.nullish().describe("E-mail address of the buyer."),
  customer_billing_name: z.string().max(256).nullish().describe("Name on the invoice."),
  customer_billing_address: AddressInput.nullish().describe("Billing address."),
  customer_tax_id: z.string().max(64).nullish().describe("Tax number; needs a billing address with a country."),
  locale: z.string().max(64).nullish().describe("Language of the checkout, as en or pt-BR."),
};

const sellerInput = {
  ...buyerInput,
  ...trialInput,
  discount_id: z.uuid().nullish().describe("The discount to apply."),
  customer_ip_address: ipAddress.nullish().describe("Address the buyer comes from; tells the country."),
  success_url: successUrl,
  return_url: returnUrl,
  embed_origin: embedOrigin,
  currency: currency.nullish().describe("Currency, three letters."),
};

/** Metadata for the customer. Whole numbers only: older clients cannot read a checkout that holds a fraction here. */
const customerMetadata = metadata.superRefine((map, issues) => {
  for (const [key, value] of Object.entries(map)) {
    if (typeof value !== "number" || Number.isSafeInteger(value)) continue;
    issues.addIssue({
      code: "custom",
      path: [key],
      message: "Must be a whole number.",
      params: { type: "int_from_float" },
    });
  }
});

/** A checkout is for a list of products, or by older ways for one product or one price (CHK-01). */
export const CheckoutCreate = z
  .object({
    products: z.array(z.uuid()).min(1).max(100).optional().describe("The products on offer; the first is chosen."),
    product_id: z.uuid().nullish().describe("Older way to name one product."),
    product_price_id: z.uuid().nullish().describe("Older way to name one price of a product."),
    ...sellerInput,
    prices: z
      .record(z.uuid(), z.array(ProductPriceCreate).min(1).max(100))
      .nullish()
      .describe("Prices made for this checkout alone, by product."),
    min_seats: seats.nullish().describe("Fewest seats that can be bought."),
    max_seats: seats.nullish().describe("Most seats that can be bought."),
    allow_discount_codes: z.boolean().default(true).describe("Whether the buyer may enter a discount code."),
    require_billing_address: z.boolean().default(false).describe("Whether the whole billing address is asked for."),
    allow_trial: z.boolean().default(true).describe("Whether a trial of the product applies."),
    customer_id: z.uuid().nullish().describe("The customer who buys."),
    external_customer_id: z.string().max(512).nullish().describe("Your own id of the customer who buys."),
    customer_external_id: z.string().max(512).nullish().describe("Older name of external_customer_id."),
    subscription_id: z.uuid().nullish().describe("The free subscription that is upgraded."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values; copied to the order."),
    customer_metadata: customerMetadata
      .default(() => ({}))
      .describe("Your own keys and values, numbers whole; merged into the customer."),
  })
  .superRefine((body, issues) => {
    const { products, product_id, product_price_id } = body;
    if (!products && !product_id && !product_price_id) {
      issues.addIssue({ code: "custom", path: ["products"], message: "Field required", params: { type: "missing" } });
    }
    if (products && new Set(products).size < products.length) {
      issues.addIssue({ code: "custom", path: ["products"], message: "Products must be unique." });
    }
  })
  .superRefine(checkTrial);

export const CheckoutUpdate = z
  .object({
    product_id: unlessNull(z.uuid()).describe("The product chosen; one of the checkout's."),
    product_price_id: unlessNull(z.uuid()).describe("The price chosen; one of the checkout's products'."),
    ...sellerInput,
    allow_discount_codes: unlessNull(z.boolean()).describe("Whether the buyer may enter a discount code."),
    require_billing_address: unlessNull(z.boolean()).describe("Whether the whole billing address is asked for."),
    allow_trial: unlessNull(z.boolean()).describe("Whether a trial of the product applies."),
    metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
    customer_metadata: unlessNull(customerMetadata).describe(
      "Your own keys and values for the customer; replaces all.",
    ),
  })
  .superRefine(checkTrial);

export const checkouts = {
  list: {
    method: "GET",
    path: "/v1/checkouts/",
    summary: "List checkouts",
    access: seller("checkouts:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      product_id: ids.describe("Only for these products."),
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("Only of the customers with these ids of your own."),
      status: many(z.enum(checkoutStatuses)).describe("Only in one of these states."),
      query: z.string().optional().describe("Part of the buyer's e-mail address."),
      sorting: sorting(["created_at", "expires_at", "status"], ["-created_at"]),
    }),
    response: page(Checkout),
  },
  create: {
    method: "POST",
    path: "/v1/checkouts/",
    summary: "Create a checkout",
    access: seller("checkouts:write"),
    ofProducts: true,
    body: CheckoutCreate,
    response: Checkout,
    status: 201,
    errors: ["NotPermitted", "PaymentNotReady"],
    external: true,
  },
  get: {
    method: "GET",
    path: "/v1/checkouts/:id",
    summary: "Get a checkout",
    access: seller("checkouts:read"),
    params: byId,
    response: Checkout,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    path: "/v1/checkouts/:id",
    summary: "Update a checkout",
    access: seller("checkouts:write"),
    params: byId,
    body: CheckoutUpdate,
    response: Checkout,
    errors: ["NotOpenCheckout", "AlreadyActiveSubscriptionError", "ResourceNotFound", "CheckoutLocked"],
    // The tax may be asked of a service.
    external: true,
  },
} as const satisfies Resource;
