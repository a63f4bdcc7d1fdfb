import { z } from "zod";
import { flag, ids, many, metadata, metadataOut, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { RefundDispute } from "./disputes.ts";
import { id, markMinorUnits, stored } from "./fields.ts";

export const refundStatuses = ["pending", "succeeded", "failed", "canceled"] as const;
export const refundReasons = [
  "duplicate",
  "fraudulent",
  "customer_request",
  "service_disruption",
  "satisfaction_guarantee",
  "other",
] as const;

/** Money that goes back to a buyer. `amount` is without the tax that goes back with it. */
export const Refund = z.object({
  ...stored,
  status: z.enum(refundStatuses),
  /** A refund that was to prevent a dispute is made by the card processor alone. */
  reason: z.enum([...refundReasons, "dispute_prevention"]),
  amount: z.int(),
  tax_amount: z.int(),
  currency: z.string(),
  organization_id: z.uuid(),
  order_id: z.uuid(),
  subscription_id: z.uuid().nullable(),
  customer_id: z.uuid(),
  revoke_benefits: z.boolean(),
  /** The dispute that it prevented. */
  dispute: RefundDispute.nullable(),
  metadata: metadataOut,
});
export type Refund = z.output<typeof Refund>;

export const RefundCreate = z.object({
  order_id: id.describe("The order whose money goes back."),
  reason: z.enum(refundReasons).describe("Why it goes back."),
  amount: markMinorUnits(z.int().min(1)).describe(
    "How much goes back, in minor units, without tax; its share of the tax goes with it.",
  ),
  comment: z.string().max(10_000).nullish().describe("A note for yourself, which is never answered."),
  revoke_benefits: z
    .boolean()
    .default(false)
    .describe("Also take back what was bought; not of a subscription's order."),
  metadata: metadata.default(() => ({})).describe("Your own keys and values."),
});

/** What a refund would be, to the cent, before it is made. */
export const RefundPreview = z.object({
  order_id: z.uuid(),
  currency: z.string(),
  amount: z.int(),
  tax_amount: z.int(),
  /** What goes back to the buyer: both together. */
  total_amount: z.int(),
  /** What may be refunded after it. */
  remaining_amount: z.int(),
  remaining_tax_amount: z.int(),
  revoke_benefits: z.boolean(),
  /** The benefits that are taken back. */
  benefits: z.array(z.object({ id: z.uuid(), type: z.string(), description: z.string() })),
});

const refusals = [
  "RefundsBlocked",
  "RefundedAlready",
  "RevokeSubscriptionBenefitsProhibited",
  "RefundDisputedPayment",
  "RefundUnknownPayment",
] as const;

export const refunds = {
  list: {
    method: "GET",
    path: "/v1/refunds/",
    summary: "List refunds",
    access: seller("refunds:read"),
    query: z.object({
      ...paging.shape,
      id: ids.describe("Only these."),
      organization_id: ids.describe("Only of these organizations."),
      order_id: ids.describe("Only of these orders."),
      subscription_id: ids.describe("Only of the orders of these subscriptions."),
      customer_id: ids.describe("Only of these customers."),
      external_customer_id: many(z.string()).describe("Only of the customers with these ids of your own."),
      succeeded: flag.describe("Only those that the buyer got, or only the others."),
      sorting: sorting(["created_at", "amount"], ["-created_at"]),
    }),
    response: page(Refund),
  },
  create: {
    method: "POST",
    path: "/v1/refunds/",
    summary: "Refund an order",
    access: seller("refunds:write"),
    body: RefundCreate,
    response: Refund,
    status: 201,
    errors: [...refusals, "PaymentsHeld"],
    external: true,
    movesMoney: true,
    confirm: "Refund this order?",
  },
  preview: {
    method: "GET",
    path: "/v1/refunds/preview",
    summary: "See what a refund would be",
    access: seller("refunds:read"),
    query: z.object({
      order_id: id.describe("The order whose money would go back."),
      amount: markMinorUnits(z.coerce.number().int().min(1))
        .optional()
        .describe("How much, without tax; all that is left, unless said."),
      revoke_benefits: flag.describe("Also take back what was bought."),
    }),
    response: RefundPreview,
    errors: refusals,
  },
} as const satisfies Resource;
