import { z } from "zod";
import { instant } from "../contract.ts";
import { stored } from "./fields.ts";

export const disputeStatuses = ["prevented", "early_warning", "needs_response", "under_review", "lost", "won"] as const;

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
