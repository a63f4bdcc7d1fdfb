import { z } from "zod";
import { byId, ids, metadata, metadataOut, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { successUrl } from "./checkouts.ts";
import { DiscountBase } from "./discounts.ts";
import { blankToNull, checkTrial, interval, stored, trialInput, unlessNull, webUrl } from "./fields.ts";
import { CheckoutProduct } from "./products.ts";

/** An address that never changes; whoever opens it gets a checkout of their own. */
export const CheckoutLink = z.object({
  ...stored,
  trial_interval: interval.nullable(),
  trial_interval_count: z.int().nullable(),
  metadata: metadataOut,
  payment_processor: z.literal("stripe"),
  client_secret: z.string(),
  success_url: z.string().nullable(),
  return_url: z.string().nullable(),
  label: z.string().nullable(),
  allow_discount_codes: z.boolean(),
  require_billing_address: z.boolean(),
  discount_id: z.uuid().nullable(),
  seats: z.int().nullable(),
  units: z.int().nullable(),
  organization_id: z.uuid(),
  products: z.array(CheckoutProduct.extend({ metadata: metadataOut })),
  discount: DiscountBase.nullable(),
  url: z.string(),
});
export type CheckoutLink = z.output<typeof CheckoutLink>;

const productsMax = 100;
const products = z.array(z.uuid()).min(1).max(productsMax);
const label = blankToNull(255).nullish().describe("A name for yourself; buyers do not see it.");
const discount = z.uuid().nullish().describe("The discount to apply; left out where it can no longer be redeemed.");
const seats = z.int().min(1).max(10_000).nullish().describe("Number of seats to begin with.");
const returnUrl = webUrl.nullish().describe("Where the back button leads.");

export const CheckoutLinkCreate = z
  .object({
    payment_processor: z.literal("stripe").default("stripe").describe("Always stripe; older clients send it."),
    products: products.nullish().describe("The products on offer; the first is chosen."),
    product_id: z.uuid().nullish().describe("Older way to name one product."),
    product_price_id: z.uuid().nullish().describe("Older way to name one price of a product."),
    ...trialInput,
    label,
    allow_discount_codes: z.boolean().default(true).describe("Whether the buyer may enter a discount code."),
    require_billing_address: z.boolean().default(false).describe("Whether the whole billing address is asked for."),
    discount_id: discount,
    seats,
    success_url: successUrl,
    return_url: returnUrl,
    metadata: metadata.default(() => ({})).describe("Your own keys and values; copied to checkouts and orders."),
  })
  .refine((body) => body.products || body.product_id || body.product_price_id, {
    path: ["products"],
    message: "Field required",
    params: { type: "missing" },
  })
  .superRefine(checkTrial);

export const CheckoutLinkUpdate = z
  .object({
    products: unlessNull(products).describe("The products on offer; replaces all of them."),
    ...trialInput,
    label,
    allow_discount_codes: unlessNull(z.boolean()).describe("Whether the buyer may enter a discount code."),
    require_billing_address: unlessNull(z.boolean()).describe("Whether the whole billing address is asked for."),
    discount_id: discount,
    seats,
    success_url: successUrl,
    return_url: returnUrl,
    metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
  })
  .superRefine(checkTrial);

export const checkoutLinks = {
  list: {
    method: "GET",
    path: "/v1/checkout-links/",
    summary: "List checkout links",
    access: seller("checkout_links:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      product_id: ids.describe("Only with one of these products."),
      sorting: sorting(["created_at", "label", "success_url", "allow_discount_codes"], ["created_at"]),
    }),
    response: page(CheckoutLink),
  },
  get: {
    method: "GET",
    path: "/v1/checkout-links/:id",
    summary: "Get a checkout link",
    access: seller("checkout_links:read"),
    params: byId,
    response: CheckoutLink,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/checkout-links/",
    summary: "Create a checkout link",
    access: seller("checkout_links:write"),
    ofProducts: true,
    body: CheckoutLinkCreate,
    response: CheckoutLink,
    status: 201,
  },
  update: {
    method: "PATCH",
    path: "/v1/checkout-links/:id",
    summary: "Update a checkout link",
    access: seller("checkout_links:write"),
    params: byId,
    body: CheckoutLinkUpdate,
    response: CheckoutLink,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/checkout-links/:id",
    summary: "Delete a checkout link",
    access: seller("checkout_links:write"),
    params: byId,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this checkout link? Its address stops working; checkouts already opened go on.",
  },
} as const satisfies Resource;
