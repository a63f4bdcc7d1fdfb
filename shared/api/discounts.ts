import { z } from "zod";
import { instant, metadataOut } from "../contract.ts";
import { stored } from "./fields.ts";

const lasting = {
  duration: z.enum(["once", "forever", "repeating"]),
  /** Stands only where the duration is `repeating`. */
  duration_in_months: z.int().optional(),
};
/** `amount` and `currency` are one of the `amounts`: the one older clients read. */
const fixed = {
  ...lasting,
  type: z.literal("fixed"),
  amount: z.int(),
  currency: z.string(),
  amounts: z.record(z.string(), z.int()),
};
const percentage = { ...lasting, type: z.literal("percentage"), basis_points: z.int() };

const brief = { id: z.uuid(), name: z.string(), code: z.string().nullable() };
const base = {
  ...stored,
  ...brief,
  metadata: metadataOut,
  starts_at: instant.nullable(),
  ends_at: instant.nullable(),
  max_redemptions: z.int().nullable(),
  max_redemptions_per_customer: z.int().nullable(),
  redemptions_count: z.int(),
  organization_id: z.uuid(),
};

/** A discount inside an order or a subscription: all of it but its products. */
export const DiscountBase = z.discriminatedUnion("type", [
  z.object({ ...base, ...fixed }),
  z.object({ ...base, ...percentage }),
]);
export type DiscountBase = z.output<typeof DiscountBase>;

/** A discount as a buyer sees it. */
export const CheckoutDiscount = z.discriminatedUnion("type", [
  z.object({ ...brief, ...fixed }),
  z.object({ ...brief, ...percentage }),
]);
export type CheckoutDiscount = z.output<typeof CheckoutDiscount>;
