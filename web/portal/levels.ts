import type { Quantities, Subscription } from "./calls.ts";

/** So many units, and from there on: what is included is used up, or nothing more is charged than `amount`. */
export type Limit = { units: number; cap: { amount: number; currency: string } | null };

/** What ends a subscription: it limits nothing any more. */
const over = new Set(["canceled", "incomplete_expired", "unpaid"]);

/** What the use of a meter is held against, the lowest first: what is included, and where a subscription charges its most. */
export function getLimits(meter_id: string, credited: number, subscriptions: readonly Subscription[]): Limit[] {
  const included: Limit[] = credited > 0 ? [{ units: credited, cap: null }] : [];
  const capped = subscriptions.flatMap(({ status, currency, prices }) =>
    over.has(status)
      ? []
      : prices.flatMap((price): Limit[] => {
          if (price.amount_type !== "metered_unit" || price.meter_id !== meter_id) return [];
          const { cap_amount: amount, unit_amount } = price;
          if (amount === null || !(Number(unit_amount) > 0)) return [];
          return [{ units: credited + amount / Number(unit_amount), cap: { amount, currency } }];
        }),
  );
  return [...included, ...capped];
}

/** What the use of a meter costs so far, and when it is charged. */
export type Cost = { amount: number; currency: string; charged_at: string };

/** The cost so far of what a meter counts, for each living subscription that has a price for it. */
export const computeCosts = (meter_id: string, subscriptions: readonly Subscription[]): Cost[] =>
  subscriptions.flatMap(({ status, currency, prices, meters, current_meter_period_end, current_period_end }) => {
    const isPriced = prices.some((price) => price.amount_type === "metered_unit" && price.meter_id === meter_id);
    const counted = meters.filter((one) => one.meter_id === meter_id);
    if (over.has(status) || !isPriced || counted.length === 0) return [];
    const amount = counted.reduce((sum, one) => sum + one.amount, 0);
    return [{ amount, currency, charged_at: current_meter_period_end ?? current_period_end }];
  });

/**
 * How much was used in all by the end of each piece: what is counted now, without what came after it. What came before the count began
 * anew is none of it. Undefined where pieces do not add up, as those of a highest value.
 */
export function computeLevels({ quantities, total }: Quantities, used: number): number[] | undefined {
  const sum = quantities.reduce((added, { quantity }) => added + quantity, 0);
  if (Math.abs(sum - total) > 1e-9 * Math.max(1, Math.abs(total))) return undefined;
  let after = 0;
  return quantities
    .toReversed()
    .map(({ quantity }) => {
      const level = Math.max(0, used - after);
      after += quantity;
      return level;
    })
    .toReversed();
}
