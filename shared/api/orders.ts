import { z } from "zod";
import { Address, AddressInput } from "../addresses.ts";
import {
  byId,
  ids,
  instant,
  instantText,
  many,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { Customer } from "./customers.ts";
import { OrderExplanation } from "./derivations.ts";
import { DiscountBase } from "./discounts.ts";
import { disputeStatuses } from "./disputes.ts";
import { customFieldData, stored, timezone, unlessNull } from "./fields.ts";
import { OrderProduct } from "./products.ts";
import { OrderSubscription } from "./subscriptions.ts";

export const orderStatuses = ["draft", "pending", "paid", "refunded", "partially_refunded", "void"] as const;
export const billingReasons = [
  "purchase",
  "subscription_create",
  "subscription_cycle",
  "subscription_update",
  "subscription_meter_cycle",
] as const;

/** One line of an order; its amount is before discount and tax. */
export const OrderItem = z.object({
  ...stored,
  label: z.string(),
  amount: z.int(),
  tax_amount: z.int(),
  proration: z.boolean(),
  product_price_id: z.uuid().nullable(),
  start_timestamp: instant.nullable(),
  end_timestamp: instant.nullable(),
  /** The order of the line that this one gives back, in whole or in part; null where it gives back none. */
  reverses_order_id: z.uuid().nullable(),
});
export type OrderItem = z.output<typeof OrderItem>;

/** A sale, and its invoice. Amounts are as in rule ORD-01. */
export const Order = z.object({
  ...stored,
  status: z.enum(orderStatuses),
  paid: z.boolean(),
  subtotal_amount: z.int(),
  discount_amount: z.int(),
  net_amount: z.int(),
  tax_amount: z.int(),
  total_amount: z.int(),
  applied_balance_amount: z.int(),
  due_amount: z.int(),
  /** What was given back of it while it was unpaid, without tax and of its tax: so much less is due. */
  reduced_amount: z.int(),
  reduced_tax_amount: z.int(),
  /** The unpaid order that this one gives back lines of; null of every other order. */
  reduces_order_id: z.uuid().nullable(),
  refunded_amount: z.int(),
  refunded_tax_amount: z.int(),
  refundable_amount: z.int(),
  refundable_tax_amount: z.int(),
  currency: z.string(),
  billing_reason: z.enum(billingReasons),
  billing_name: z.string().nullable(),
  billing_address: Address.nullable(),
  invoice_number: z.string(),
  is_invoice_generated: z.boolean(),
  receipt_number: z.string().nullable(),
  /** What the buyer agreed to when they confirmed: the version of the text, and when; null where they were not asked. */
  withdrawal_consent: z.object({ version: z.string(), agreed_at: instantText }).nullable(),
  description: z.string(),
  seats: z.int().nullable(),
  units: z.int().nullable(),
  customer_id: z.uuid(),
  /** The customer again, under the name that older clients read. */
  user_id: z.uuid(),
  product_id: z.uuid(),
  discount_id: z.uuid().nullable(),
  subscription_id: z.uuid().nullable(),
  checkout_id: z.uuid().nullable(),
  next_payment_attempt_at: instant.nullable(),
  platform_fee_amount: z.int(),
  /** How a dispute of its payment stands; null where there is none. */
  dispute_status: z.enum(disputeStatuses).nullable(),
  /** Whether the buyer keeps what was bought, by your policy about disputes. */
  access: z.enum(["granted", "withheld"]),
  platform_fee_currency: z.string().nullable(),
  metadata: metadataOut,
  custom_field_data: customFieldData,
  customer: Customer,
  product: OrderProduct,
  discount: DiscountBase.nullable(),
  subscription: OrderSubscription.nullable(),
  items: z.array(OrderItem),
});
export type Order = z.output<typeof Order>;

/** Older clients must send both fields, so a null means that the field stays (ORD-25). */
export const OrderUpdate = z.object({
  billing_name: unlessNull(z.string().max(256)).describe("Name on the invoice."),
  billing_address: unlessNull(AddressInput).describe("Address on the invoice; its country and state cannot change."),
});

/** The mail of an order that was sent again: to whom, and when it was queued. */
export const OrderMail = z.object({ order_id: z.uuid(), email: z.string(), queued_at: instant });
export type OrderMail = z.output<typeof OrderMail>;

/** The columns that an export can have, and what they are headed (ORD-30); amounts are decimals of the order's currency. */
export const orderColumns = {
  email: "Email",
  created_at: "Created At",
  product: "Product",
  net_amount: "Net Amount",
  currency: "Currency",
  status: "Status",
  invoice_number: "Invoice number",
  customer_name: "Customer Name",
  billing_name: "Billing Name",
  billing_country: "Billing Country",
  subtotal_amount: "Subtotal",
  discount_amount: "Discount",
  tax_amount: "Tax",
  total_amount: "Total",
  refunded_amount: "Refunded Amount",
  billing_reason: "Billing Reason",
  receipt_number: "Receipt number",
  id: "ID",
} as const;
export type OrderColumn = keyof typeof orderColumns;
const columnNames = Object.keys(orderColumns) as [OrderColumn, ...OrderColumn[]];

/** Which orders are meant, in a list and in an export. */
const filters = {
  organization_id: ids.describe("Only of these organizations."),
  product_id: ids.describe("Only of these products."),
  product_billing_type: many(z.enum(["one_time", "recurring"])).describe("Only one-time, or only recurring."),
  discount_id: ids.describe("Only with one of these discounts."),
  customer_id: ids.describe("Only of these customers."),
  external_customer_id: many(z.string()).describe("Only of the customers with these ids of your own."),
  checkout_id: ids.describe("Only from these checkouts."),
  subscription_id: ids.describe("Only of these subscriptions."),
  status: many(z.enum(orderStatuses)).describe("Only in one of these states."),
  invoice_number: many(z.string()).describe("Only with one of these invoice numbers."),
  created_after: instant.optional().describe("Only made at or after this time."),
  created_before: instant.optional().describe("Only made at or before this time."),
  metadata: metadataFilter,
};

export const orders = {
  list: {
    method: "GET",
    path: "/v1/orders/",
    summary: "List orders",
    access: seller("orders:read"),
    query: z.object({
      ...paging.shape,
      id: ids.describe("Only these."),
      ...filters,
      sorting: sorting(
        [
          "created_at",
          "status",
          "invoice_number",
          "amount",
          "net_amount",
          "customer",
          "product",
          "discount",
          "subscription",
        ],
        ["-created_at"],
      ),
    }),
    response: page(Order),
  },
  export: {
    method: "GET",
    path: "/v1/orders/export",
    heavy: "cancel",
    summary: "Export orders as CSV",
    access: seller("orders:read"),
    query: z.object({
      ...filters,
      timezone,
      columns: many(z.enum(columnNames)).describe("The columns, in this order (Polar's seven)."),
    }),
    file: { name: "polar-orders.csv", type: "text/csv" },
  },
  get: {
    method: "GET",
    path: "/v1/orders/:id",
    summary: "Get an order",
    access: seller("orders:read"),
    params: byId,
    response: Order,
    errors: ["ResourceNotFound"],
  },
  explain: {
    method: "GET",
    path: "/v1/orders/:id/explain",
    summary: "Explain every figure of an order",
    access: seller("orders:read"),
    params: byId,
    response: OrderExplanation,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    path: "/v1/orders/:id",
    summary: "Update an order",
    access: seller("orders:write"),
    params: byId,
    body: OrderUpdate,
    response: Order,
    errors: ["ResourceNotFound"],
  },
  resendMail: {
    method: "POST",
    path: "/v1/orders/:id/resend-mail",
    summary: "Send the mail of an order again",
    access: seller("orders:write"),
    params: byId,
    response: OrderMail,
    status: 202,
    errors: ["BadRequest", "ResourceNotFound"],
    audit: "order.mail_resent",
  },
} as const satisfies Resource;
