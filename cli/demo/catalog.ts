/** What a demo shop sells, and how its customers pay. */
import type { Api } from "../../shared/api/index.ts";
import type { Body } from "../../shared/request.ts";

type Creation<R extends "benefits" | "meters" | "products"> = Body<Api[R]["create"]>;

/** How often each product is bought. */
export const productWeights = { atlas: 20, sounds: 14, observer: 30, observatory: 9, api: 16, classroom: 11 } as const;
export type ProductKey = keyof typeof productWeights;

type Definition = { body: Creation<"products">; benefits: readonly BenefitKey[] };
const buildPrice = (price_amount: number) => ({ amount_type: "fixed", price_amount, price_currency: "usd" }) as const;

export const meter: Creation<"meters"> = {
  name: "API calls",
  filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "api_call" }] },
  aggregation: { func: "sum", property: "calls" },
};

/** The benefits. The meter's id is filled in where one refers to it. */
export const defineBenefits = (meter_id: string) =>
  ({
    key: { type: "license_keys", description: "License key of Observer", properties: { prefix: "SKY" } },
    archive: { type: "feature_flag", description: "Archive of all recordings", properties: {} },
    credit: {
      type: "meter_credit",
      description: "5,000 API calls a month",
      properties: { meter_id, units: 5000, rollover: false },
    },
  }) as const satisfies Record<string, Creation<"benefits">>;
export type BenefitKey = keyof ReturnType<typeof defineBenefits>;

/** The products. The meter's id is filled in where a price refers to it. */
export const defineProducts = (meter_id: string): Record<ProductKey, Definition> => ({
  atlas: {
    body: {
      name: "Star Atlas",
      description: "248 maps of the northern and southern sky, as PDF.",
      prices: [buildPrice(2400)],
    },
    benefits: [],
  },
  sounds: {
    body: { name: "Night Sky Sounds", description: "Two hours of field recordings.", prices: [buildPrice(900)] },
    benefits: [],
  },
  observer: {
    body: {
      name: "Observer",
      description: "The app for one person: tonight's sky, and your own log.",
      recurring_interval: "month",
      trial_interval: "day",
      trial_interval_count: 7,
      prices: [buildPrice(1200)],
    },
    benefits: ["key"],
  },
  observatory: {
    body: {
      name: "Observatory",
      description: "Observer and the whole archive, paid by the year.",
      recurring_interval: "year",
      prices: [buildPrice(9900)],
    },
    benefits: ["key", "archive"],
  },
  api: {
    body: {
      name: "Sky API",
      description: "Positions of 1.8 billion stars. 5,000 calls are included.",
      recurring_interval: "month",
      prices: [
        buildPrice(1900),
        { amount_type: "metered_unit", price_currency: "usd", meter_id, unit_amount: "0.4", cap_amount: 20_000 },
      ],
    },
    benefits: ["credit"],
  },
  classroom: {
    body: {
      name: "Classroom",
      description: "Observer for a class, paid by the seat.",
      recurring_interval: "month",
      prices: [
        {
          amount_type: "seat_based",
          price_currency: "usd",
          seat_tiers: {
            seat_tier_type: "volume",
            tiers: [
              { min_seats: 1, max_seats: 9, price_per_seat: 600 },
              { min_seats: 10, max_seats: null, price_per_seat: 500 },
            ],
          },
        },
      ],
    },
    benefits: ["archive"],
  },
});

export const discounts = [
  {
    name: "Launch",
    code: "LAUNCH20",
    type: "percentage",
    basis_points: 2000,
    duration: "repeating",
    duration_in_months: 3,
  },
  { name: "Students", code: "STUDENT", type: "percentage", basis_points: 5000, duration: "forever" },
  { name: "Five dollars", code: "FIVE", type: "fixed", amount: 500, currency: "usd", duration: "once" },
] as const;
export const discountCodes = ["LAUNCH20", "STUDENT", "FIVE"] as const satisfies (typeof discounts)[number]["code"][];

/** The published test cards, by what becomes of them. */
export const cards = {
  good: ["pm_card_visa", "pm_card_mastercard", "pm_card_amex"],
  /** The bank refuses it at once. */
  declined: "pm_card_chargeDeclined",
  /** It can be saved, and each later charge fails. */
  failsLater: "pm_card_chargeCustomerFail",
  /** The cardholder contests the payment. */
  disputed: "pm_card_createDispute",
} as const;

export const cancellationReasons = [
  "too_expensive",
  "missing_features",
  "switched_service",
  "unused",
  "other",
] as const;
export const refundReasons = ["customer_request", "duplicate", "satisfaction_guarantee", "other"] as const;
