import { z } from "zod";
import { type AuditAction, instant } from "../contract.ts";
import { id, markMinorUnits, unlessNull } from "./fields.ts";

const limitInt = 2_147_483_647;

/** What whoever makes a change has agreed to be charged for it. */
export const agreement = {
  quote: unlessNull(z.string().max(500)).describe("The quote of a preview: charged so, or refused with 409."),
  maximum_amount: unlessNull(markMinorUnits(z.int().min(0).max(limitInt))).describe(
    "The most that may be charged now: refused with 409 where it would be more.",
  ),
};

/** What a change is called in the audit log: by its kind, as one operation makes them all. */
export function getChangeAction(body: Readonly<Record<string, unknown>>): AuditAction | undefined {
  if (body.revoke) return "subscription.revoked";
  if (body.resume) return "subscription.resumed";
  if ("cancel_at_period_end" in body)
    return body.cancel_at_period_end ? "subscription.canceled" : "subscription.uncanceled";
  if ("pause_at_period_end" in body) return body.pause_at_period_end ? "subscription.paused" : "subscription.unpaused";
  if ("seats" in body) return "subscription.seats_changed";
  if ("pending_update" in body) return "subscription.pending_update_removed";
  if ("payment_method_id" in body) return "subscription.payment_method_changed";
  if ("current_billing_period_end" in body) return "subscription.period_changed";
  return body.product_id === undefined ? undefined : "subscription.product_changed";
}

/** What sellers and customers change alike. */
export const ownChanges = [
  z.strictObject({
    pause_at_period_end: z.boolean().describe("Whether it pauses when its period ends."),
    resumes_at: instant.nullish().describe("When it goes on by itself."),
    ...agreement,
  }),
  z.strictObject({ resume: z.literal(true).describe("Go on now, with a new period."), ...agreement }),
  z.strictObject({ pending_update: z.null().describe("Forget what would change with the next period."), ...agreement }),
  z.strictObject({ payment_method_id: id.describe("The card that is charged from now on."), ...agreement }),
] as const;
