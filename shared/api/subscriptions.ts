import { z } from "zod";
import { instant, metadataOut } from "../contract.ts";
import { interval, stored } from "./fields.ts";

/** A subscription inside an order. */
export const OrderSubscription = z.object({
  ...stored,
  metadata: metadataOut,
  amount: z.int(),
  currency: z.string(),
  recurring_interval: interval,
  recurring_interval_count: z.int(),
  status: z.enum([
    "incomplete",
    "incomplete_expired",
    "trialing",
    "active",
    "past_due",
    "canceled",
    "unpaid",
    "paused",
  ]),
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
  customer_cancellation_reason: z
    .enum([
      "customer_service",
      "low_quality",
      "missing_features",
      "switched_service",
      "too_complex",
      "too_expensive",
      "unused",
      "other",
    ])
    .nullable(),
  customer_cancellation_comment: z.string().nullable(),
});
export type OrderSubscription = z.output<typeof OrderSubscription>;
