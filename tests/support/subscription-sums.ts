/** What subscriptions are reckoned with: calendar, rounding, prices and discounts, without floe's own code. */

type Interval = "day" | "week" | "month" | "year";
type Tier = { min_seats: number; max_seats: number | null; price_per_seat: number };
export type Price = { kind: "fixed"; amount: number } | { kind: "seat"; tiers: Tier[] } | { kind: "free" };
export type Plan = {
  name: string;
  interval: Interval;
  count: number;
  prices: Price[];
  trial: { interval: Interval; count: number } | null;
  /** What cannot be changed to: sold no more, bought once, or for what the buyer likes. */
  isClosed?: boolean;
};
export type Discount = {
  duration: "once" | "forever" | "repeating";
  months?: number;
  off: { basis_points: number } | { amount: number };
};
/** What has to be there. */
export function sure<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error("Something is missing that has to be there.");
  return value;
}

export const dayMs = 86_400_000;
export const after = (from: Date, ms: number) => new Date(from.getTime() + ms);

/** n / d, rounded half away from zero (POL-01). */
function divide(n: bigint, d: bigint): number {
  const whole = (2n * (n < 0n ? -n : n) + d) / (2n * d);
  return Number(n < 0n ? -whole : whole);
}
export const share = (amount: number, part: number, of: number) => divide(BigInt(amount) * BigInt(part), BigInt(of));

/** So many months later, on that day of the month or the last one. */
export function addMonths(from: Date, months: number, day: number): Date {
  const year = from.getUTCFullYear();
  const month = from.getUTCMonth() + months;
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const first = new Date(from);
  first.setUTCDate(1);
  first.setUTCMonth(month);
  return after(first, (Math.min(day, last) - 1) * dayMs);
}

/** When what begins at a time is over (POL-05, POL-06). */
export function addInterval(
  from: Date,
  { interval, count }: { interval: Interval; count: number },
  anchor: number,
): Date {
  if (interval === "day") return after(from, count * dayMs);
  if (interval === "week") return after(from, 7 * count * dayMs);
  return addMonths(from, interval === "month" ? count : 12 * count, anchor);
}

/** PRD-38, SEAT-01. */
export function priceOf(price: Price, seats: number | null): number {
  if (price.kind === "free") return 0;
  if (price.kind === "fixed") return price.amount;
  const count = sure(seats);
  const tier = price.tiers.find(({ min_seats, max_seats }) => count >= min_seats && count <= (max_seats ?? Infinity));
  return sure(tier).price_per_seat * count;
}

/** What a discount takes off each of several amounts (DSC-16, DSC-18). */
export function spread(discount: Discount | null, amounts: number[]): number[] {
  if (!discount) return amounts.map(() => 0);
  const { off } = discount;
  if ("basis_points" in off) return amounts.map((amount) => share(amount, off.basis_points, 10_000));
  const base = sum(amounts);
  const whole = Math.min(off.amount, base);
  if (whole === 0) return amounts.map(() => 0);
  const parts = amounts.map((amount) => Math.floor((whole * amount) / base));
  const rests = amounts.map((amount, at) => ({ at, rest: (whole * amount) % base })).sort((a, b) => b.rest - a.rest);
  let left = whole - sum(parts);
  for (const { at } of rests) {
    if (left === 0) break;
    parts[at] = sure(parts[at]) + 1;
    left -= 1;
  }
  return parts;
}

/** All of it together. */
export const sum = (amounts: number[]) => amounts.reduce((a, b) => a + b, 0);
