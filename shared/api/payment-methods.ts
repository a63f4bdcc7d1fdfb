import { z } from "zod";
import { stored } from "./fields.ts";

/** A card that a customer left for later charges. */
export const PaymentMethod = z.object({
  ...stored,
  /** Whatever keeps it, this is the one name that published clients accept. */
  processor: z.literal("stripe"),
  customer_id: z.uuid(),
  type: z.literal("card"),
  method_metadata: z.object({
    brand: z.string(),
    last4: z.string(),
    exp_month: z.int(),
    exp_year: z.int(),
  }),
  is_default: z.boolean(),
});
export type PaymentMethod = z.output<typeof PaymentMethod>;
