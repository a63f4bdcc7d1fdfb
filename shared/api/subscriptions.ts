import { z } from "zod";
import {
  byId,
  flag,
  ids,
  instant,
  many,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { Customer } from "./customers.ts";
import { AmountSource, Derivation } from "./derivations.ts";
import { DiscountBase } from "./discounts.ts";
import { customFieldData, id, interval, paidRefusals, stored, timezone, unlessNull } from "./fields.ts";
import { Meter } from "./meters.ts";
import { ProductPrice } from "./prices.ts";
import { Product } from "./products.ts";
import { agreement, getChangeAction, ownChanges } from "./subscription-changes.ts";

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
/** As orders have it. */
const billingReasons = [
  "purchase",
  "subscription_create",
  "subscription_cycle",
  "subscription_update",
  "subscription_meter_cycle",
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

const seatCount = z.int().nullable();
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
  /** What changes with the next period. floe's own engine leaves `units` null; the official Python SDK requires it. */
  pending_update: z
    .object({ ...stored, applies_at: instant, product_id: z.uuid().nullable(), seats: seatCount, units: seatCount })
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

/** Subscribe a customer to what costs nothing; what costs something is bought in a checkout. */
export const SubscriptionCreate = z
  .object({
    product_id: id.describe("The product to subscribe to: one that costs nothing."),
    customer_id: id.optional().describe("The customer who subscribes."),
    external_customer_id: z.string().min(1).max(256).optional().describe("The customer, by your own id of them."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
  })
  .refine((body) => (body.customer_id === undefined) !== (body.external_customer_id === undefined), {
    message: "Name the customer, by customer_id or by external_customer_id.",
    path: ["customer_id"],
    params: { type: "missing" },
  });

const prorationBehaviors = ["invoice", "prorate", "next_period", "reset"] as const;
const prorationBehavior = unlessNull(z.enum(prorationBehaviors)).describe(
  "What becomes of the rest of the period: charged now, with the next order, changed with the next period, or a new period now.",
);
const reasons = {
  customer_cancellation_reason: z.enum(cancellationReasons).nullish().describe("Why the customer goes."),
  customer_cancellation_comment: z.string().max(10_000).nullish().describe("What the customer says about it."),
};
const limitInt = 2_147_483_647;

/** One change of a subscription, of one of these kinds. */
export const SubscriptionUpdate = z.union([
  z.strictObject({
    metadata: metadata.optional().describe("Your own keys and values."),
    product_id: unlessNull(id).describe("Another product, or new prices of the same."),
    proration_behavior: prorationBehavior,
    discount_id: id.nullish().describe("Another discount, from the next period on; null takes it away."),
    trial_end: unlessNull(z.union([instant, z.literal("now")])).describe("When the trial ends: a time, or now."),
    ...agreement,
  }),
  z.strictObject({
    seats: z.int().min(-limitInt).max(limitInt).describe("How many seats."),
    proration_behavior: prorationBehavior,
    ...agreement,
  }),
  z.strictObject({ current_billing_period_end: instant.describe("When the period ends that runs."), ...agreement }),
  z.strictObject({
    cancel_at_period_end: z.boolean().describe("Whether it ends with its period."),
    ...reasons,
    ...agreement,
  }),
  z.strictObject({ revoke: z.literal(true).describe("End it now."), ...reasons, ...agreement }),
  ...ownChanges,
]);

/** What is charged at one time, and what it is for. */
const charge = {
  derivation: Derivation,
  applied_balance_amount: z.int(),
  /** What the card is charged with; too little for a card is owed, and asked for later. */
  due_amount: z.int(),
};

/** What a change would do, without doing it. */
export const SubscriptionPreview = z.object({
  /** To be sent with the change, which is then charged exactly so, or refused. */
  quote: z.string(),
  currency: z.string(),
  /** What is charged now; null where nothing is. */
  charge: z.object(charge).nullable(),
  /** What is owed for past periods, and charged at once where the change is another card, or to stay after all; else 0. */
  unpaid_amount: z.int(),
  /** How much less unpaid orders ask for, with tax, as something is given back of them. */
  reduced_amount: z.int(),
  /** What is billed with the next order. */
  later: z.array(z.object({ label: z.string(), source: AmountSource, days: z.string().optional(), amount: z.int() })),
  /** How the subscription stands afterwards. */
  after: z.object({
    status: z.enum(subscriptionStatuses),
    product_id: z.uuid(),
    seats: z.int().nullable(),
    amount: z.int(),
    recurring_interval: interval,
    recurring_interval_count: z.int(),
    discount_id: z.uuid().nullable(),
    current_period_start: instant,
    current_period_end: instant,
    trial_end: instant.nullable(),
    cancel_at_period_end: z.boolean(),
    pause_at_period_end: z.boolean(),
    /** The product and the seats that it changes to with the next period. */
    pending_product_id: z.uuid().nullable(),
    pending_seats: z.int().nullable(),
  }),
});
export type SubscriptionPreview = z.output<typeof SubscriptionPreview>;

const refusals = [
  "ResourceNotFound",
  "BadRequest",
  "NotASeatBasedSubscription",
  "SeatsAlreadyAssigned",
  "AlreadyCanceledSubscription",
  "InactiveSubscription",
  "ResourceUnavailable",
] as const;

/** Each coming charge of a year, as the subscription stands now, if every payment succeeds. */
export const SubscriptionForecast = z.object({
  currency: z.string(),
  charges: z.array(
    z.object({
      at: instant,
      billing_reason: z.enum(billingReasons),
      ...charge,
      period_start: instant.nullable(),
      period_end: instant.nullable(),
    }),
  ),
  /** When it ends, where it does within the year. */
  ends_at: instant.nullable(),
});
export type SubscriptionForecast = z.output<typeof SubscriptionForecast>;

/** The columns that an export can have, and what they are headed; amounts are decimals of the subscription's currency. */
export const subscriptionColumns = {
  email: "Email",
  name: "Name",
  created_at: "Created At",
  started_at: "Started At",
  product: "Product",
  status: "Status",
  amount: "Amount",
  currency: "Currency",
  interval: "Interval",
  current_period_start: "Current Period Start",
  current_period_end: "Current Period End",
  cancel_at_period_end: "Cancel At Period End",
  canceled_at: "Canceled At",
  ended_at: "Ended At",
  id: "ID",
} as const;
export type SubscriptionColumn = keyof typeof subscriptionColumns;
const columnNames = Object.keys(subscriptionColumns) as [SubscriptionColumn, ...SubscriptionColumn[]];

/** Which subscriptions are meant, in a list and in an export. */
const filters = {
  organization_id: ids.describe("Only of these organizations."),
  product_id: ids.describe("Only to these products."),
  status: many(z.enum(subscriptionStatuses)).describe("Only in one of these states."),
  cancel_at_period_end: flag.describe("Only those that end with their period, or only those that do not."),
  started_after: instant.optional().describe("Only begun at or after this time."),
  started_before: instant.optional().describe("Only begun at or before this time."),
};

export const subscriptions = {
  list: {
    method: "GET",
    path: "/v1/subscriptions/",
    summary: "List subscriptions",
    access: seller("subscriptions:read"),
    query: z.object({
      ...paging.shape,
      ...filters,
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("Only of the customers with these ids of your own."),
      discount_id: ids.describe("Only with one of these discounts."),
      active: flag.describe("Only those that are active, or only those that have ended."),
      customer_cancellation_reason: many(z.enum(cancellationReasons)).describe(
        "Only canceled for one of these reasons.",
      ),
      canceled_at_after: instant.optional().describe("Only canceled at or after this time."),
      canceled_at_before: instant.optional().describe("Only canceled at or before this time."),
      metadata: metadataFilter,
      sorting: sorting(
        [
          "started_at",
          "current_period_end",
          "ended_at",
          "ends_at",
          "status",
          "amount",
          "customer",
          "product",
          "discount",
        ],
        ["-started_at"],
      ),
    }),
    response: page(Subscription),
  },
  export: {
    method: "GET",
    path: "/v1/subscriptions/export",
    heavy: "cancel",
    summary: "Export subscriptions as CSV",
    access: seller("subscriptions:read"),
    query: z.object({
      ...filters,
      timezone,
      columns: many(z.enum(columnNames)).describe("The columns, in this order (all)."),
    }),
    file: { name: "polar-subscriptions.csv", type: "text/csv" },
  },
  get: {
    method: "GET",
    path: "/v1/subscriptions/:id",
    summary: "Get a subscription",
    access: seller("subscriptions:read"),
    params: byId,
    response: Subscription,
    errors: ["ResourceNotFound"],
  },
  create: {
    method: "POST",
    path: "/v1/subscriptions/",
    summary: "Subscribe a customer to what costs nothing",
    access: seller("subscriptions:write"),
    body: SubscriptionCreate,
    response: Subscription,
    status: 201,
    ofProducts: true,
  },
  update: {
    method: "PATCH",
    path: "/v1/subscriptions/:id",
    summary: "Change a subscription",
    access: seller("subscriptions:write"),
    params: byId,
    body: SubscriptionUpdate,
    response: Subscription,
    confirm: "Change this subscription? What it comes to now is charged at once.",
    errors: [
      ...refusals,
      ...paidRefusals,
      "MissingPaymentMethod",
      "SubscriptionLocked",
      "QuoteChanged",
      "MaximumAmountExceeded",
      "DiscountRedemptionLimitReached",
      "PaymentsHeld",
    ],
    external: true,
    movesMoney: ["product_id", "seats"],
    audit: getChangeAction,
  },
  delete: {
    method: "DELETE",
    path: "/v1/subscriptions/:id",
    summary: "End a subscription now",
    access: seller("subscriptions:write"),
    params: byId,
    response: Subscription,
    errors: ["ResourceNotFound", "AlreadyCanceledSubscription", "SubscriptionLocked"],
    audit: "subscription.revoked",
    confirm: "End this subscription now? What the customer has of it is taken back at once, and nothing is refunded.",
  },
  forecast: {
    method: "GET",
    path: "/v1/subscriptions/:id/forecast",
    summary: "See what a subscription will be charged in a year",
    access: seller("subscriptions:read"),
    params: byId,
    response: SubscriptionForecast,
    errors: ["ResourceNotFound"],
  },
  preview: {
    method: "POST",
    path: "/v1/subscriptions/:id/preview",
    summary: "See what a change of a subscription would do",
    access: seller("subscriptions:read"),
    params: byId,
    body: SubscriptionUpdate,
    response: SubscriptionPreview,
    errors: [...refusals, "MaximumAmountExceeded"],
  },
} as const satisfies Resource;
