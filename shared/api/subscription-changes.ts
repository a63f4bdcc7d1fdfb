import { z } from "zod";
import { instant } from "../contract.ts";
import { id, markMinorUnits, unlessNull } from "./fields.ts";

const limitInt = 2_147_483_647;

/** What whoever makes a change has agreed to be charged for it. */
export const agreement = {
  quote: unlessNull(z.string().max(500)).describe("The quote of a preview: charged so, or refused with 409."),
  maximum_amount: unlessNull(markMinorUnits(z.int().min(0).max(limitInt))).describe(
    "The most that may be charged now: refused with 409 where it would be more.",
  ),
};

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
