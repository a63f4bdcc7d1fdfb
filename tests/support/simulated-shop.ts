/** What a simulated shop sells, the cards that it is paid with, and what becomes of its subscriptions, each as often as it weighs. */
import type { Chance } from "./simulated-world.ts";

type Body = Record<string, unknown>;

/** What is sold: of each kind a product at the start, and more as years pass. */
export const kinds: Record<string, (chance: Chance) => Body> = {
  monthly: (chance) => ({
    recurring_interval: "month",
    prices: [{ amount_type: "fixed", price_amount: 500 + chance.below(9000) }],
  }),
  weekly: (chance) => ({
    recurring_interval: "week",
    prices: [{ amount_type: "fixed", price_amount: 300 + chance.below(900) }],
  }),
  /** So short that what comes of a refused card, and of what was given back, comes within days. */
  daily: (chance) => ({
    recurring_interval: "day",
    recurring_interval_count: 2 + chance.below(3),
    prices: [{ amount_type: "fixed", price_amount: 200 + chance.below(900) }],
  }),
  yearly: (chance) => ({
    recurring_interval: "year",
    prices: [{ amount_type: "fixed", price_amount: 9000 + chance.below(20_000) }],
  }),
  trial: (chance) => ({
    recurring_interval: "month",
    trial_interval: "day",
    trial_interval_count: 3 + chance.below(20),
    prices: [{ amount_type: "fixed", price_amount: 700 + chance.below(3000) }],
  }),
  seats: (chance) => ({
    recurring_interval: "month",
    prices: [
      {
        amount_type: "seat_based",
        seat_tiers: {
          seat_tier_type: "volume",
          tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 200 + chance.below(900) }],
        },
      },
    ],
  }),
  metered: (chance) => ({
    recurring_interval: "month",
    ...(chance.happens(0.5) ? { meter_interval: "week" } : {}),
    prices: [
      { amount_type: "fixed", price_amount: 500 + chance.below(900) },
      {
        amount_type: "metered_unit",
        unit_amount: (chance.below(200) / 100 + 0.01).toFixed(2),
        cap_amount: chance.happens(0.3) ? 50 + chance.below(500) : null,
      },
    ],
  }),
  free: () => ({ recurring_interval: "month", prices: [{ amount_type: "free" }] }),
  once: (chance) => ({ prices: [{ amount_type: "fixed", price_amount: 1000 + chance.below(9000) }] }),
};

export const cards = {
  pm_card_visa: 12,
  pm_card_mastercard: 6,
  pm_card_chargeCustomerFail: 3,
  pm_card_chargeDeclined: 1,
  pm_card_threeDSecure2Required: 2,
  pm_card_authenticationRequiredOnSetup: 1,
  pm_card_pendingRefund: 2,
  pm_card_refundFail: 1,
  pm_card_createDispute: 1,
  pm_card_createDisputeInquiry: 1,
};

/** What is changed of a subscription, and how often. */
export const changes = {
  usual: {
    ...{ product: 4, seats: 2, cancel: 2, uncancel: 2, revoke: 1, pause: 3, resume: 1, discount: 1, trial: 1 },
    ...{ card: 4, withdraw: 1, period: 2 },
  },
  /** Of one whose payments fail: mostly it ends, or another card makes up for it. */
  unpaid: { revoke: 3, cancel: 2, uncancel: 1, card: 3, product: 1 },
  /** Of one that stands still. */
  paused: { resume: 5, revoke: 1, product: 1, seats: 1, card: 1, cancel: 1 },
  /** Of one whose card will be refused: what it is given back for less pays a part of what then is not paid. */
  frail: { product: 3, seats: 4, discount: 1, period: 1 },
} satisfies Record<string, Record<string, number>>;
export const frailCard = "pm_card_chargeCustomerFail";

/** What somebody does next, and how often. */
export const deeds = { buy: 8, payAgain: 2, approve: 2, change: 8, refund: 3, decide: 1, look: 1, use: 6, press: 10 };
