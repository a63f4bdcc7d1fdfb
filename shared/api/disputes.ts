import { z } from "zod";
import { byId, ids, instant, many, page, paging, type Resource, seller, sorting } from "../contract.ts";
import { Customer } from "./customers.ts";
import { stored } from "./fields.ts";

export const disputeStatuses = ["prevented", "early_warning", "needs_response", "under_review", "lost", "won"] as const;
export type DisputeStatus = (typeof disputeStatuses)[number];

/** A buyer's bank asks for the money of a payment back, as a refund that was to prevent it shows it. */
export const RefundDispute = z.object({
  ...stored,
  status: z.enum(disputeStatuses),
  /** Won or lost. */
  resolved: z.boolean(),
  /** Won, lost or prevented. */
  closed: z.boolean(),
  /** Without tax. */
  amount: z.int(),
  tax_amount: z.int(),
  currency: z.string(),
  reason: z.string().nullable(),
  evidence_due_by: instant.nullable(),
  past_due: z.boolean(),
  order_id: z.uuid(),
  payment_id: z.uuid(),
});
export type RefundDispute = z.output<typeof RefundDispute>;

export const Dispute = RefundDispute.extend({
  customer: Customer,
  /** Support cases are hosted Polar's own. */
  case_id: z.uuid().nullable(),
});
export type Dispute = z.output<typeof Dispute>;

export const disputes = {
  list: {
    method: "GET",
    path: "/v1/disputes/",
    summary: "List disputes",
    access: seller("disputes:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      order_id: ids.describe("Only of these orders."),
      status: many(z.enum(disputeStatuses)).describe("Only in one of these states."),
      sorting: sorting(["created_at", "amount"], ["-created_at"]),
    }),
    response: page(Dispute),
  },
  get: {
    method: "GET",
    path: "/v1/disputes/:id",
    summary: "Get a dispute",
    access: seller("disputes:read"),
    params: byId,
    response: Dispute,
    errors: ["ResourceNotFound"],
  },
  accept: {
    method: "POST",
    path: "/v1/disputes/:id/accept",
    summary: "Accept a dispute: the buyer keeps the money",
    access: seller("disputes:write"),
    params: byId,
    response: Dispute,
    errors: ["ResourceNotFound", "DisputeNotOpenError"],
    external: true,
    confirm: "Accept this dispute? It is lost at once, and the money is the buyer's for good.",
  },
} as const satisfies Resource;
