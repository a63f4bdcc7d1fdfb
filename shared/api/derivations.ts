import { z } from "zod";

const tier = z.object({ min_seats: z.int(), max_seats: z.int().nullable(), price_per_seat: z.int() });

/** A price of a period, and what a discount takes off it. */
const discounted = z.object({ amount: z.int(), discount_amount: z.int() });

/** Where the amount of a line comes from. */
export const AmountSource = z.discriminatedUnion("rule", [
  z.object({ rule: z.literal("fixed"), amount: z.int() }),
  z.object({ rule: z.literal("chosen"), by: z.enum(["buyer", "preset", "minimum"]), amount: z.int() }),
  z.object({ rule: z.literal("free") }),
  z.object({ rule: z.literal("seats"), seats: z.int(), tier, tier_type: z.enum(["volume", "graduated"]) }),
  z.object({
    rule: z.literal("metered"),
    amount: z.int(),
    meter: z.object({ id: z.uuid(), name: z.string() }),
    /** What a unit costs, in minor units. */
    unit_amount: z.string(),
    cap_amount: z.int().nullable(),
    consumed_units: z.string(),
    credited_units: z.int(),
    free_units: z.string(),
    before_units: z.string().nullable(),
  }),
  z.object({ rule: z.literal("trial") }),
  z.object({
    rule: z.literal("prorated"),
    before: discounted,
    after: discounted,
    part: z.int(),
    whole: z.int(),
    cut: z.enum(["rounded", "truncated"]),
    limited_amount: z.int().optional(),
  }),
]);

const discount = { id: z.uuid(), name: z.string(), code: z.string().nullable() };
const rate = { name: z.string(), country: z.string(), state: z.string().nullable(), rate: z.string() };

/** All that the amounts of an order were computed from, and what came of it; amounts in minor units. */
export const Derivation = z.object({
  currency: z.string(),
  seats: z.int().nullable(),
  lines: z.array(
    z.object({
      label: z.string(),
      product_price_id: z.uuid().nullable(),
      proration: z.boolean(),
      source: AmountSource,
      period: z.object({ start: z.string(), end: z.string() }).optional(),
      days: z.string().optional(),
      entry_id: z.uuid().optional(),
      /** The line that this one gives back, and the taxes of that sale. */
      reverses: z
        .object({
          order_id: z.uuid().nullable(),
          order_number: z.string().nullish(),
          item_id: z.uuid(),
          behavior: z.enum(["exclusive", "inclusive"]),
          tax_lines: z.array(z.object({ ...rate, taxable_amount: z.int(), amount: z.int() })),
          is_apart: z.boolean(),
        })
        .optional(),
      amount: z.int(),
      discount_amount: z.int(),
    }),
  ),
  discount: z
    .discriminatedUnion("type", [
      z.object({ ...discount, type: z.literal("percentage"), basis_points: z.int() }),
      z.object({ ...discount, type: z.literal("fixed"), amount: z.int() }),
    ])
    .nullable(),
  tax: z.object({
    behavior: z.enum(["exclusive", "inclusive"]),
    reason: z.enum(["standard", "not_collected", "reverse_charge", "zero_rated", "exempt", "unknown"]),
    rates: z.array(z.object(rate)),
    source: z.object({ name: z.string(), date: z.string() }).nullable(),
    /** Present where a service computed the tax: of each rate, in their order. */
    given: z
      .object({
        calculation_id: z.string(),
        basis: z.string(),
        rates: z.array(z.object({ taxable_amount: z.int(), amount: z.int() })),
      })
      .optional(),
  }),
  subtotal_amount: z.int(),
  discount_amount: z.int(),
  net_amount: z.int(),
  tax_amount: z.int().nullable(),
  tax_lines: z.array(z.object({ ...rate, taxable_amount: z.int(), amount: z.int() })),
  total_amount: z.int(),
});

/** One figure of an explanation; what is deeper is a part of what stands before it. */
const Step = z.object({
  depth: z.int(),
  label: z.string(),
  amount: z.int(),
  rule: z.string(),
  because: z.string(),
});

/** How every figure of an order came about, in plain words, and all that it can be computed again from. */
export const OrderExplanation = z.object({
  id: z.uuid(),
  invoice_number: z.string(),
  currency: z.string(),
  steps: z.array(Step),
  derivation: Derivation,
  applied_balance_amount: z.int(),
  /** What was given back of it while it was unpaid, without tax and of its tax. */
  reduced_amount: z.int(),
  reduced_tax_amount: z.int(),
  due_amount: z.int(),
});
