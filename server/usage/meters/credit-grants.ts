import { roundUnitsUp } from "../../../shared/usage.ts";
import type { customerMeterLots } from "./tables.ts";

export type CreditGrantRow = typeof customerMeterLots.$inferSelect;
export type CreditGrant = Pick<
  CreditGrantRow,
  "id" | "created_at" | "amount" | "taken" | "expired" | "rollover" | "expires_at" | "priority" | "expired_at"
>;

/** What a lot still counts for: of what expired, what was spent by then. */
export const getWorth = ({ amount, taken, expired }: Pick<CreditGrant, "amount" | "taken" | "expired">): number =>
  amount - taken - expired;

const getTime = ({ expires_at, rollover }: CreditGrant, ends_at: Date | null): number => {
  const own = expires_at?.getTime() ?? Number.POSITIVE_INFINITY;
  return rollover ? own : Math.min(own, ends_at?.getTime() ?? Number.MAX_SAFE_INTEGER);
};

/** Lots in the order in which they are spent: those that expire first, before those that roll over (BEN-53). */
export const orderLots = <L extends CreditGrant>(lots: readonly L[], ends_at: Date | null): L[] =>
  lots.toSorted(
    (a, b) =>
      getTime(a, ends_at) - getTime(b, ends_at) ||
      Number(a.rollover) - Number(b.rollover) ||
      a.priority - b.priority ||
      a.created_at.getTime() - b.created_at.getTime() ||
      (a.id < b.id ? -1 : 1),
  );

/** What is left of each lot after so many units of use; a part of a unit takes a whole one. */
export function consumeCreditGrants<L extends CreditGrant>(
  lots: readonly L[],
  consumed_units: string,
  ends_at: Date | null,
): { lot: L; left: number }[] {
  let used = roundUnitsUp(consumed_units);
  return orderLots(lots, ends_at).map((lot) => {
    const worth = getWorth(lot);
    const spent = used > BigInt(worth) ? worth : Number(used);
    used -= BigInt(spent);
    return { lot, left: lot.expired_at ? 0 : worth - spent };
  });
}

/** What becomes of lots at a reset: closed, with what of each goes on, to the unit (BEN-53); of all, where no period is over. */
export const closeLots = <L extends CreditGrant>(
  lots: readonly L[],
  consumed_units: string,
  ends_at: Date | null,
  keepsAll = false,
) =>
  consumeCreditGrants(lots, consumed_units, ends_at).map(({ lot, left }) => {
    const rolled = lot.rollover || keepsAll ? left : 0;
    return { lot, rolled, spent: getWorth(lot) - left, expired: lot.expired + left - rolled };
  });

/** What is taken of each lot of a source where so many units are taken back: of the last one first; none below nothing. */
export function revokeCreditGrants<L extends CreditGrant & Pick<CreditGrantRow, "source_kind" | "source_id">>(
  lots: readonly L[],
  units: number,
  { kind, id }: { kind: string; id: string },
): { lot: L; units: number }[] {
  let left = units;
  return lots
    .filter((lot) => lot.source_kind === kind && lot.source_id === id)
    .toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1))
    .flatMap((lot) => {
      const taken = Math.min(left, getWorth(lot));
      left -= taken;
      return taken > 0 ? [{ lot, units: taken }] : [];
    });
}
