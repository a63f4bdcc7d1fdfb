import { z } from "zod";
import {
  byId,
  flag,
  ids,
  instant,
  many,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  sorting,
} from "../contract.ts";
import { Customer } from "./customers.ts";
import { DiscountBase } from "./discounts.ts";
import { customFieldData, interval, stored } from "./fields.ts";
import { Meter } from "./meters.ts";
import { ProductPrice } from "./prices.ts";
import { Product } from "./products.ts";

export const subscriptionStatuses = [
  "incomplete",
  "incomplete_expired",
  "trialing",
  "active",
  "past_due",
  "canceled",
  "unpaid",
  "paused",
] as const;
export const cancellationReasons = [
  "customer_service",
  "low_quality",
  "missing_features",
  "switched_service",
  "too_complex",
  "too_expensive",
  "unused",
  "other",
] as const;

const fields = {
  ...stored,
  metadata: metadataOut,
  amount: z.int(),
  currency: z.string(),
  recurring_interval: interval,
  recurring_interval_count: z.int(),
  status: z.enum(subscriptionStatuses),
  current_period_start: instant,
  current_period_end: instant,
  current_meter_period_start: instant.nullable(),
  current_meter_period_end: instant.nullable(),
  trial_start: instant.nullable(),
  trial_end: instant.nullable(),
  cancel_at_period_end: z.boolean(),
  canceled_at: instant.nullable(),
  started_at: instant.nullable(),
  ends_at: instant.nullable(),
  ended_at: instant.nullable(),
  past_due_at: instant.nullable(),
  pause_at_period_end: z.boolean(),
  paused_at: instant.nullable(),
  resumes_at: instant.nullable(),
  customer_id: z.uuid(),
  product_id: z.uuid(),
  discount_id: z.uuid().nullable(),
  checkout_id: z.uuid().nullable(),
  seats: z.int().nullable(),
  units: z.int().nullable(),
  customer_cancellation_reason: z.enum(cancellationReasons).nullable(),
  customer_cancellation_comment: z.string().nullable(),
};

/** A subscription inside an order. */
export const OrderSubscription = z.object(fields);
export type OrderSubscription = z.output<typeof OrderSubscription>;

/** Use that is counted for a subscription in its period, and what it costs so far. */
const SubscriptionMeter = z.object({
  ...stored,
  consumed_units: z.number(),
  credited_units: z.int(),
  amount: z.int(),
  meter_id: z.uuid(),
  meter: Meter,
});

/** What a customer pays for again and again. */
export const Subscription = z.object({
  ...fields,
  custom_field_data: customFieldData,
  customer: Customer,
  product: Product,
  discount: DiscountBase.nullable(),
  /** What is paid at each renewal, and what use costs. */
  prices: z.array(ProductPrice),
  meters: z.array(SubscriptionMeter),
  /** The older name of `customer_id`. */
  user_id: z.uuid(),
  /** What changes with the next period. */
  pending_update: z
    .object({ ...stored, applies_at: instant, product_id: z.uuid().nullable(), seats: z.int().nullable() })
    .nullable(),
  /** When the card is charged again while payments are missing, and when it ends if they still are. */
  payment_retries: z
    .object({
      deadline_at: instant,
      orders: z.array(z.object({ order_id: z.uuid(), failed_payments: z.int(), next_payment_attempt_at: instant })),
    })
    .nullable(),
});
export type Subscription = z.output<typeof Subscription>;

export const subscriptions = {
  list: {
    method: "GET",
    path: "/v1/subscriptions/",
    summary: "List subscriptions",
    scopes: ["subscriptions:read"],
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      product_id: ids.describe("Only to these products."),
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("Only of the customers with these ids of your own."),
      discount_id: ids.describe("Only with one of these discounts."),
      active: flag.describe("Only those that are active, or only those that have ended."),
      status: many(z.enum(subscriptionStatuses)).describe("Only in one of these states."),
      cancel_at_period_end: flag.describe("Only those that end with their period, or only those that do not."),
      metadata: metadataFilter,
      sorting: sorting(
        ["started_at", "current_period_end", "status", "amount", "customer", "product", "discount"],
        ["-started_at"],
      ),
    }),
    response: page(Subscription),
  },
  get: {
    method: "GET",
    path: "/v1/subscriptions/:id",
    summary: "Get a subscription",
    scopes: ["subscriptions:read"],
    params: byId,
    response: Subscription,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
