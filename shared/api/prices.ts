import { z } from "zod";
import { instant } from "../contract.ts";
import { formatDecimal } from "../money.ts";
import { currency, id, interval, taxBehaviorOption } from "./fields.ts";

const common = {
  id: z.uuid(),
  created_at: instant,
  modified_at: instant.nullable(),
  source: z.enum(["catalog", "ad_hoc"]),
  is_archived: z.boolean(),
  product_id: z.uuid(),
  /** Both mirror the product's interval (PRD-36). */
  type: z.enum(["one_time", "recurring"]),
  recurring_interval: interval.nullable(),
  price_currency: z.string(),
  tax_behavior: taxBehaviorOption.nullable(),
};
/** Stands only on recurring prices from before products had an interval; nothing makes new ones. */
const legacy = z.literal(true).optional();

const SeatTier = z.object({ min_seats: z.int(), max_seats: z.int().nullable(), price_per_seat: z.int() });

/** One way to pay for a product. */
export const ProductPrice = z.discriminatedUnion("amount_type", [
  z.object({ ...common, amount_type: z.literal("fixed"), price_amount: z.int(), legacy }),
  z.object({
    ...common,
    amount_type: z.literal("custom"),
    minimum_amount: z.int(),
    maximum_amount: z.int().nullable(),
    preset_amount: z.int().nullable(),
    legacy,
  }),
  z.object({ ...common, amount_type: z.literal("free"), legacy }),
  z.object({
    ...common,
    amount_type: z.literal("metered_unit"),
    unit_amount: z.string(),
    cap_amount: z.int().nullable(),
    meter_id: z.uuid(),
    meter: z.object({
      id: z.uuid(),
      name: z.string(),
      unit: z.enum(["scalar", "token", "custom"]),
      custom_label: z.string().nullable(),
      custom_multiplier: z.int().nullable(),
    }),
  }),
  z.object({
    ...common,
    amount_type: z.literal("seat_based"),
    seat_tiers: z.object({
      seat_tier_type: z.enum(["volume", "graduated"]),
      tiers: z.array(SeatTier),
      minimum_seats: z.int(),
      maximum_seats: z.int().nullable(),
    }),
  }),
]);
export type ProductPrice = z.output<typeof ProductPrice>;

const priced = {
  price_currency: currency.optional().describe("Currency, three letters; the organization's default if not given."),
  tax_behavior: taxBehaviorOption
    .nullish()
    .describe("Whether the amount includes tax; by default as the organization is set."),
};

/** At most 5 digits before the point and 12 behind it, and above zero (PRD-11). */
const unitAmount = z
  .union([z.number(), z.string().max(40)])
  .transform((value) =>
    typeof value === "number" || /^\s*\+?\d*\.?\d+\s*$/.test(value) ? formatDecimal(String(value).trim()) : value,
  )
  .pipe(
    z.string().regex(/^(?=.*[1-9])\d{1,5}(\.\d{1,12})?$/, "Must be above 0, with at most 5 digits and 12 decimals."),
  )
  .describe("Price of one unit in minor units of the currency; a decimal.");

const SeatTierInput = z.object({
  min_seats: z.int().min(1).describe("First seat of this tier."),
  max_seats: z.int().min(1).nullish().describe("Last seat of this tier; none for no end."),
  price_per_seat: z.int().min(0).describe("Price of one seat in minor units."),
});

/** A price as it is sent. The limits that depend on the currency are the server's to check (PRD-08, PRD-10). */
export const ProductPriceCreate = z.discriminatedUnion("amount_type", [
  z.object({
    amount_type: z.literal("fixed"),
    ...priced,
    price_amount: z.int().min(0).describe("Amount in minor units; 0 is free."),
  }),
  z.object({
    amount_type: z.literal("custom"),
    ...priced,
    minimum_amount: z
      .int()
      .min(0)
      .nullish()
      .transform((amount) => amount ?? null)
      .describe("Least the buyer may pay; by default the least that is charged in the currency."),
    maximum_amount: z
      .int()
      .min(1)
      .nullish()
      .transform((amount) => amount ?? null)
      .describe("Most the buyer may pay."),
    preset_amount: z
      .int()
      .min(0)
      .nullish()
      .transform((amount) => amount ?? null)
      .describe("Amount shown at first."),
  }),
  z.object({ amount_type: z.literal("free"), ...priced }),
  z.object({
    amount_type: z.literal("metered_unit"),
    ...priced,
    meter_id: id.describe("The meter that counts the units."),
    unit_amount: unitAmount,
    cap_amount: z
      .int()
      .min(0)
      .max(2_147_483_647)
      .nullish()
      .transform((amount) => amount ?? null)
      .describe("Most that one period may cost, in minor units."),
  }),
  z.object({
    amount_type: z.literal("seat_based"),
    ...priced,
    seat_tiers: z.object({
      seat_tier_type: z.enum(["volume", "graduated"]).default("volume").describe("How tiers add up."),
      tiers: z.array(SeatTierInput).min(1).describe("Price of a seat by their number."),
    }),
  }),
]);
export type ProductPriceCreate = z.output<typeof ProductPriceCreate>;

/**
 * A price that a product keeps: only its id counts, so a whole price as answered is fine too (PRD-22). The missing id is
 * a fault of the item and not of the field, so that the faults of a new price are what its sender is told.
 */
export const ExistingPrice = z
  .object({ id: id.optional().describe("The price to keep.") })
  .refine(({ id }) => id !== undefined, { abort: true, message: "Not an existing price." })
  .transform(({ id = "" }) => ({ id }));
