import { z } from "zod";
import { AddressInput } from "../addresses.ts";
import { byId, customer, ids, many, page, paging, type Resource, sorting } from "../contract.ts";
import { unlessNull } from "./fields.ts";
import { DocumentLink } from "./invoices.ts";
import { Order } from "./orders.ts";
import { CustomerOrganization } from "./portal.ts";
import { CheckoutProduct } from "./products.ts";

/** A product in what a customer has bought. */
export const CustomerOrderProduct = CheckoutProduct.extend({ organization: CustomerOrganization });

const {
  metadata: _,
  custom_field_data: __,
  customer: ___,
  discount: ____,
  platform_fee_amount: _____,
  platform_fee_currency: ______,
  ...shown
} = Order.shape;
/** An order as the customer who bought sees it. */
export const CustomerOrder = z.object({ ...shown, product: CustomerOrderProduct });
export type CustomerOrder = z.output<typeof CustomerOrder>;

/**
 * How the payment of an order stands, and what went wrong with the last one. floe's own engine says `succeeded`, `requires_action`,
 * `processing`, `failed` or `pending`; Polar promises no list of words.
 */
export const CustomerOrderPaymentStatus = z.object({
  status: z.string(),
  error: z.string().nullable(),
});

/** What has become of a customer's own try to pay; the secret is for their browser, where the bank asks. */
export const CustomerOrderPaymentConfirmation = z.object({
  status: z.string(),
  client_secret: z.string().nullable(),
  error: z.string().nullable(),
});
export type CustomerOrderPaymentConfirmation = z.output<typeof CustomerOrderPaymentConfirmation>;

/** By exactly one card: one that was just entered, or one that was kept (ORD-27). */
export const CustomerOrderConfirmPayment = z
  .object({
    confirmation_token_id: z.string().min(1).max(256).nullish().describe("What the payment form was turned into."),
    payment_method_id: z.uuid().nullish().describe("One of the customer's cards."),
    payment_processor: z.literal("stripe").nullish().describe("The name that published clients send."),
  })
  .superRefine(({ confirmation_token_id, payment_method_id }, issues) => {
    if (Boolean(confirmation_token_id) === Boolean(payment_method_id))
      issues.addIssue({
        code: "custom",
        path: ["confirmation_token_id"],
        message: "Name one card: confirmation_token_id or payment_method_id.",
        params: { type: confirmation_token_id ? "value_error" : "missing" },
      });
  });

const mine = { access: customer("customer_portal:read"), params: byId } as const;
/** The orders of the customer who asks (CUP-20). */
export const portalOrders = {
  list: {
    method: "GET",
    id: "customer_portal:orders:list",
    path: "/v1/customer-portal/orders/",
    summary: "List one's own orders",
    access: customer("customer_portal:read"),
    query: z.object({
      ...paging.shape,
      product_id: ids.describe("Only of these products."),
      product_billing_type: many(z.enum(["one_time", "recurring"])).describe("Only one-time, or only recurring."),
      subscription_id: ids.describe("Only of these subscriptions."),
      query: z.string().optional().describe("Part of the name of the product."),
      sorting: sorting(["created_at", "amount", "net_amount", "product", "subscription"], ["-created_at"]),
    }),
    response: page(CustomerOrder),
  },
  get: {
    ...mine,
    method: "GET",
    id: "customer_portal:orders:get",
    path: "/v1/customer-portal/orders/:id",
    summary: "Get one of one's own orders",
    response: CustomerOrder,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    id: "customer_portal:orders:update",
    path: "/v1/customer-portal/orders/:id",
    summary: "Change to whom an order is invoiced",
    access: customer("customer_portal:write"),
    params: byId,
    body: z.object({
      billing_name: unlessNull(z.string().max(256)).describe("Name on the invoice."),
      billing_address: unlessNull(AddressInput).describe(
        "Address on the invoice; its country and state cannot change.",
      ),
    }),
    response: CustomerOrder,
    errors: ["ResourceNotFound"],
  },
  generateInvoice: {
    ...mine,
    method: "POST",
    id: "customer_portal:orders:generate_invoice",
    path: "/v1/customer-portal/orders/:id/invoice",
    summary: "Generate the invoice of an order",
    status: 202,
    errors: ["ResourceNotFound", "OrderNotEligibleForInvoice", "MissingInvoiceBillingDetails"],
  },
  invoice: {
    ...mine,
    method: "GET",
    id: "customer_portal:orders:invoice",
    path: "/v1/customer-portal/orders/:id/invoice",
    summary: "Get the invoice of an order",
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  receipt: {
    ...mine,
    method: "GET",
    id: "customer_portal:orders:receipt",
    path: "/v1/customer-portal/orders/:id/receipt",
    summary: "Get the receipt of an order",
    response: DocumentLink,
    errors: ["ResourceNotFound"],
  },
  paymentStatus: {
    ...mine,
    method: "GET",
    id: "customer_portal:orders:get_payment_status",
    path: "/v1/customer-portal/orders/:id/payment-status",
    summary: "Get how the payment of an order stands",
    response: CustomerOrderPaymentStatus,
    errors: ["ResourceNotFound"],
  },
  confirmPayment: {
    method: "POST",
    id: "customer_portal:orders:confirm_retry_payment",
    path: "/v1/customer-portal/orders/:id/confirm-payment",
    summary: "Pay what a card was charged with in vain",
    access: customer("customer_portal:write"),
    params: byId,
    body: CustomerOrderConfirmPayment,
    response: CustomerOrderPaymentConfirmation,
    errors: [
      "ResourceNotFound",
      "PaymentAlreadyInProgress",
      "PaymentNotReady",
      "SubscriptionLocked",
      "OrderNotEligibleForRetry",
      "ManualRetryLimitExceeded",
      "PaymentsHeld",
    ],
    external: true,
    movesMoney: true,
  },
} as const satisfies Resource;
