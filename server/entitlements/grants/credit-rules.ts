import { truncateFraction } from "../../../shared/money.ts";
import type { GrantRow } from "./rules.ts";

/** The period that a subscription's credit is for: the one of its usage, where that is shorter. */
export type CreditPeriod = { starts_at: Date; ends_at: Date };

/** Of a purchase with seats: how many, how many other grants are active, and what revoked ones used in the period. */
export type CreditPool = { seats: number; granted: number; used: number };

/** `period`: null for an order. `pool`: null without seats. */
export type CreditGround = { period: CreditPeriod | null; pool: CreditPool | null };

/**
 * How many of the units of a benefit are left for a grant. Within the period that it was credited for, those that were unused when
 * it was revoked. If another period has begun early, as a change can have it, all but those that were used before their share
 * of the time.
 */
function computeOwnUnits(
  units: number,
  { properties, revoked_at }: Pick<GrantRow, "properties" | "revoked_at">,
  period: CreditPeriod | null,
  now: Date,
): number {
  const { last_credited_at, last_credited_until, last_credited_units = 0, last_withheld_units = 0 } = properties;
  const { last_revoked_units = last_credited_units } = properties;
  if (revoked_at === null || last_credited_at === undefined) return units;
  const credited = new Date(last_credited_at).getTime();
  if (!period || credited >= period.starts_at.getTime()) return Math.min(units, last_revoked_units);
  if (last_credited_until === undefined) return units;
  const until = new Date(last_credited_until).getTime();
  if (now.getTime() >= until) return units;
  const whole = last_credited_units + last_withheld_units;
  const due = truncateFraction(whole, now.getTime() - credited, until - credited);
  return Math.max(0, units - Math.max(0, whole - last_revoked_units - due));
}

/**
 * How many units a credit benefit of `units` grants now (BEN-56). A period is paid once, so its units are used once: whoever leaves
 * and returns gets what is left, and so does the next holder of a seat.
 */
export function limitCreditedUnits(
  units: number,
  row: Pick<GrantRow, "properties" | "revoked_at">,
  { period, pool }: CreditGround,
  now: Date,
): number {
  const own = computeOwnUnits(units, row, period, now);
  return pool ? Math.min(own, Math.max(0, units * (pool.seats - pool.granted) - pool.used)) : own;
}
