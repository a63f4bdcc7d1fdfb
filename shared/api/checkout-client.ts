import { z } from "zod";
import { anyone, instant, type Resource } from "../contract.ts";
import { withdrawalConsentVersion } from "../withdrawal.ts";
import { buyerInput, checkoutFields } from "./checkouts.ts";
import { unlessNull } from "./fields.ts";
import { DocumentLink } from "./invoices.ts";
import { orderStatuses } from "./orders.ts";
import { CheckoutOrganization } from "./organizations.ts";

/** A sale in the making, as its buyer sees it. */
export const CheckoutPublic = z.object({
  ...checkoutFields,
  organization: CheckoutOrganization,
  /** The seller's time from which later charges count: now, and once it is confirmed, when that was. */
  as_of: instant,
  /** Whether a payment can be taken now: a public server without a card processor takes none (ORG-05). */
  is_payment_available: z.boolean(),
});
export type CheckoutPublic = z.output<typeof CheckoutPublic>;

/** The same once it is confirmed. The token opens the customer portal; null where the buyer has not proved who they are. */
export const CheckoutPublicConfirmed = CheckoutPublic.extend({
  status: z.literal("confirmed"),
  customer_session_token: z.string().nullable(),
});
export type CheckoutPublicConfirmed = z.output<typeof CheckoutPublicConfirmed>;

/** The sale that a checkout has become, as its buyer sees it: what they paid, and which documents there are of it. */
export const CheckoutOrder = z.object({
  id: z.uuid(),
  created_at: instant,
  status: z.enum(orderStatuses),
  invoice_number: z.string(),
  /** Null where nothing was charged, so that there is no receipt. */
  receipt_number: z.string().nullable(),
  currency: z.string(),
  subtotal_amount: z.int(),
  discount_amount: z.int(),
  net_amount: z.int(),
  tax_amount: z.int(),
  total_amount: z.int(),
  /** What was charged. */
  due_amount: z.int(),
  refunded_amount: z.int(),
  refunded_tax_amount: z.int(),
  items: z.array(z.object({ label: z.string(), amount: z.int() })),
  /** Whether it has what an invoice needs: the name and the address of who bought. */
  is_invoice_available: z.boolean(),
  /** To whom the confirmation is sent; null where the seller has none sent. */
  confirmation_email: z.string().nullable(),
});
export type CheckoutOrder = z.output<typeof CheckoutOrder>;

const discountCode = z
  .string()
  .max(256)
  .trim()
  .transform((code) => (code === "" ? null : code))
  .nullish();

const writable = {
  product_id: unlessNull(z.uuid()).describe("The product chosen; one of the checkout's."),
  product_price_id: unlessNull(z.uuid()).describe("The price chosen; one of the checkout's products'."),
  ...buyerInput,
  payment_method_type: z.string().max(64).nullish().describe("Payment method chosen, as card."),
  discount_code: discountCode.describe("Discount code to apply; null takes it away."),
  allow_trial: unlessNull(z.literal(false)).describe("Buy without the trial."),
};

export const CheckoutUpdatePublic = z.object(writable);

export const CheckoutConfirm = z.object({
  ...writable,
  quote: z
    .string()
    .max(256)
    .nullish()
    .describe("The quote that the buyer was shown: where the terms are others by now, nothing is charged."),
  confirmation_token_id: z
    .string()
    .max(256)
    .nullish()
    .describe("What the payment form was turned into; needed to pay."),
  withdrawal_consent: z
    .literal(withdrawalConsentVersion)
    .nullish()
    .describe(
      "Version of the text by which the buyer agreed to lose the right of withdrawal; null if they did not agree.",
    ),
});

const byClientSecret = z.object({ client_secret: z.string().min(1) });

/** The buyer's side of a checkout. Knowing the secret is the permission. */
export const checkoutClient = {
  get: {
    method: "GET",
    id: "checkouts:client_get",
    path: "/v1/checkouts/client/:client_secret",
    summary: "Get a checkout by its client secret",
    access: anyone,
    params: byClientSecret,
    response: CheckoutPublic,
    errors: ["ResourceNotFound", "ExpiredCheckoutError"],
  },
  update: {
    method: "PATCH",
    id: "checkouts:client_update",
    path: "/v1/checkouts/client/:client_secret",
    summary: "Update a checkout by its client secret",
    access: anyone,
    params: byClientSecret,
    body: CheckoutUpdatePublic,
    response: CheckoutPublic,
    // The tax may be asked of a service.
    external: true,
    errors: [
      "NotOpenCheckout",
      "AlreadyActiveSubscriptionError",
      "ResourceNotFound",
      "CheckoutLocked",
      "ExpiredCheckoutError",
    ],
  },
  confirm: {
    method: "POST",
    id: "checkouts:client_confirm",
    path: "/v1/checkouts/client/:client_secret/confirm",
    summary: "Confirm and pay a checkout by its client secret",
    access: anyone,
    limit: "payment",
    params: byClientSecret,
    body: CheckoutConfirm,
    response: CheckoutPublicConfirmed,
    notKept: ["customer_session_token"],
    errors: [
      "PaymentError",
      "NotOpenCheckout",
      "AlreadyActiveSubscriptionError",
      "PaymentNotReady",
      "DiscountRedemptionLimitReached",
      "TrialAlreadyRedeemed",
      "ResourceNotFound",
      "CheckoutLocked",
      "QuoteChanged",
      "CheckoutCustomerDeleted",
      "CheckoutCustomerExternalIdMismatch",
      "ExpiredCheckoutError",
      "PaymentsHeld",
    ],
    external: true,
  },
  order: {
    method: "GET",
    id: "checkouts:client_order",
    path: "/v1/checkouts/client/:client_secret/order",
    summary: "Get the order that a paid checkout has become",
    access: anyone,
    params: byClientSecret,
    response: CheckoutOrder,
    errors: ["ResourceNotFound", "ExpiredCheckoutError"],
  },
  invoice: {
    method: "GET",
    id: "checkouts:client_invoice",
    path: "/v1/checkouts/client/:client_secret/order/invoice",
    summary: "Get the invoice of a paid checkout",
    access: anyone,
    params: byClientSecret,
    response: DocumentLink,
    errors: ["ResourceNotFound", "ExpiredCheckoutError"],
  },
  receipt: {
    method: "GET",
    id: "checkouts:client_receipt",
    path: "/v1/checkouts/client/:client_secret/order/receipt",
    summary: "Get the receipt of a paid checkout",
    access: anyone,
    params: byClientSecret,
    response: DocumentLink,
    errors: ["ResourceNotFound", "ExpiredCheckoutError"],
  },
} as const satisfies Resource;
