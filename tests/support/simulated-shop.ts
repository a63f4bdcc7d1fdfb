/** What a simulated shop sells, the cards that it is paid with, and what becomes of its subscriptions, each as often as it weighs. */
import type { Chance } from "./simulated-world.ts";

type Body = Record<string, unknown>;
type Shop = {
  must: (method: string, path: string, body?: Body) => Promise<Body>;
  chance: Chance;
  meter_id: string;
};

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

/** What is sold besides in some shops. */
export const moreKinds: typeof kinds = {
  chosen: () => ({
    recurring_interval: "month",
    prices: [{ amount_type: "custom", minimum_amount: 100, maximum_amount: 100_000, preset_amount: 1000 }],
  }),
  chosenOnce: () => ({ prices: [{ amount_type: "custom", minimum_amount: 0, maximum_amount: null }] }),
  /** Usage, of which each period has some for nothing. */
  credited: (chance) => ({
    recurring_interval: chance.pick(["month", "week"]),
    credit: { units: 20 + chance.below(100), rollover: chance.happens(0.5) },
    prices: [
      { amount_type: "fixed", price_amount: 300 + chance.below(900) },
      { amount_type: "metered_unit", unit_amount: (1 + chance.below(50)).toFixed(2), cap_amount: null },
    ],
  }),
  /** Sold in two currencies, of which one has no smaller part, and paid in that one. */
  yen: (chance) => ({
    recurring_interval: "month",
    prices: [
      { amount_type: "fixed", price_amount: 500 + chance.below(900) },
      { amount_type: "fixed", price_amount: 90 + chance.below(900), price_currency: "jpy" },
    ],
  }),
};

/** What a buyer chooses of a product. */
export function chooseTerms(kind: string, chance: Chance): Body {
  if (kind === "seats") return { seats: 1 + chance.below(8) };
  if (kind === "chosen" || kind === "chosenOnce") return { amount: 100 + chance.below(5000) };
  return kind === "yen" ? { currency: "jpy" } : {};
}

export async function offerProduct({ must, chance, meter_id }: Shop, kind: string, number: number) {
  const build = kinds[kind] ?? moreKinds[kind];
  if (!build) throw new Error(`Nothing of the kind ${kind} is sold.`);
  const { prices, credit, ...rest } = build(chance);
  const priced = (prices as Body[]).map((price) =>
    price.amount_type === "metered_unit" ? { ...price, meter_id } : price,
  );
  const { id } = await must("POST", "/v1/products/", { name: `${kind} ${number}`, ...rest, prices: priced });
  if (credit) {
    const properties = { ...(credit as Body), meter_id };
    const benefit = { type: "meter_credit", description: `Units ${number}`, properties };
    const { id: benefit_id } = await must("POST", "/v1/benefits/", benefit);
    await must("POST", `/v1/products/${String(id)}/benefits`, { benefits: [benefit_id] });
  }
  return { id: String(id), kind };
}

/** A discount with a code; of some products alone, where they are named. */
export async function offerDiscount({ must, chance }: Shop, number: number, products: string[] | null) {
  const code = `CODE${number}`;
  const type: Body = chance.happens(0.5)
    ? { type: "percentage", basis_points: 100 * (5 + chance.below(95)) }
    : { type: "fixed", amount: 100 + chance.below(900), currency: "usd" };
  const duration: Body = chance.pick<Body>([
    { duration: "once" },
    { duration: "forever" },
    { duration: "repeating", duration_in_months: 2 + chance.below(4) },
  ]);
  const limits = {
    ...(chance.happens(0.5) ? { max_redemptions: 1 + chance.below(3) } : {}),
    ...(products ? { products } : {}),
  };
  const made = await must("POST", "/v1/discounts/", { name: code, code, ...type, ...duration, ...limits });
  return { id: String(made.id), code };
}

/** A seat is given to somebody, or taken back; the number of seats may be about to fall. */
export async function planSeat<Server>({
  chance,
  must,
  send,
}: Pick<Shop, "chance" | "must"> & {
  send: (server: Server, method: string, path: string, body?: Body) => Promise<string>;
}) {
  const { items } = await must("GET", "/v1/subscriptions/?limit=100&sorting=started_at");
  const all = items as Body[];
  const seated = all.filter(({ seats, ended_at }) => seats !== null && !ended_at);
  if (seated.length === 0) return null;
  const { id } = chance.pick(seated);
  const { seats } = await must("GET", `/v1/customer-seats?subscription_id=${String(id)}`);
  const taken = (seats as Body[]).filter(({ status }) => status !== "revoked");
  if (taken.length > 0 && chance.happens(0.3)) {
    const seat = chance.pick(taken);
    return {
      name: "take a seat back",
      work: (server: Server) => send(server, "DELETE", `/v1/customer-seats/${String(seat.id)}`),
    };
  }
  const email = `seat-${chance.below(40)}@example.com`;
  return {
    name: "give a seat",
    work: (server: Server) => send(server, "POST", "/v1/customer-seats", { subscription_id: id, email }),
  };
}

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
