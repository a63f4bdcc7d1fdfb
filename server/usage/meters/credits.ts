/**
 * Credits: lots of units that customers may use before they pay. Each function is called in the transaction of what it follows
 * from, takes the lock of the customer's meter (made where there is none), writes what becomes of the lots and of
 * `credited_units`, and says so in the list of events (`meter.credited`, `meter.reset`, source `system`).
 *
 * - `addCredit(tx, ctx, credit)`: the customer may use so many more units (BEN-51).
 * - `rolloverCredit(tx, ctx, credit, last_credited_at)`: a period is over (BEN-52): unless the meter was reset since the last
 *   credit, as billing on it does, it is reset now, at which what rolls over does; then the fresh credit comes.
 * - `takeBackCredit(tx, ctx, credit)`: what was credited last is taken back (BEN-54). The balance may fall below nothing.
 * - `resetMeter(tx, ctx, key)`: what was used counts from nothing again.
 *
 * Who calls more than one of them in a transaction calls them in the order of customers and meters.
 */
import { addUp } from "../../../shared/money.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { createId } from "../../platform/ids.ts";
import { lockUse, type MeterBalance, recordMeterEvent, resetBalance, saveBalance } from "./balances.ts";
import type { MeterBalanceKey } from "./balances-store.ts";
import * as store from "./balances-store.ts";
import { revokeCreditGrants } from "./credit-grants.ts";

export type CreditGrantInput = MeterBalanceKey & {
  /** What the units come from, as `benefit_grant` and its id: what it gave is taken back from it first. */
  source: { kind: string; id: string };
  /** Whole, above 0. */
  units: number;
  /** Whether what is left at the next reset goes on. */
  rollover: boolean;
  /** When what is left is lost; absent: with the next reset, or never where it rolls over. */
  expires_at?: Date | null;
  /** Among credits that end at the same time, the lower is spent first (0). */
  priority?: number;
};

async function addLot(tx: Tx, ctx: Deps | Ctx, use: MeterBalance, credit: CreditGrantInput): Promise<void> {
  const now = ctx.clock.now();
  const { organization_id, customer_id, meter_id, source, units, rollover, expires_at = null, priority = 0 } = credit;
  const lot = await store.insertLot(tx, {
    ...{ id: createId(now), organization_id, created_at: now, customer_id, meter_id, amount: units, rollover },
    ...{ source_kind: source.kind, source_id: source.id, expires_at, priority },
  });
  await saveBalance(tx, { ...use, lots: [...use.lots, lot] }, {}, now);
  recordMeterEvent(tx, ctx, credit, now, { units, rollover });
}

/** Credit a customer with units of what a meter counts (BEN-51). */
export async function addCredit(tx: Tx, ctx: Deps | Ctx, credit: CreditGrantInput): Promise<void> {
  await addLot(tx, ctx, await lockUse(tx, ctx, credit), credit);
}

/** A period of what credits a customer is over: the next credit, after a reset where there was none (BEN-52). */
export async function rolloverCredit(
  tx: Tx,
  ctx: Deps | Ctx,
  credit: CreditGrantInput,
  last_credited_at: Date | null,
): Promise<void> {
  const now = ctx.clock.now();
  const use = await lockUse(tx, ctx, credit);
  const { started_at } = use.row;
  const isReset = last_credited_at !== null && started_at !== null && started_at > last_credited_at;
  await addLot(tx, ctx, isReset ? use : await resetBalance(tx, ctx, use, now, now), credit);
}

/**
 * Take back what a source credited last (BEN-54): as much of it as there is since the last reset, whether it was used or not.
 * Answers how many units were taken.
 */
export async function revokeCredit(tx: Tx, ctx: Deps | Ctx, credit: CreditGrantInput): Promise<number> {
  const now = ctx.clock.now();
  const use = await lockUse(tx, ctx, credit);
  const { source, units, rollover } = credit;
  const taken = new Map(revokeCreditGrants(use.lots, units, source).map((one) => [one.lot.id, one.units]));
  if (taken.size === 0) return 0;
  const lots = use.lots.map((lot) => ({ ...lot, taken: lot.taken + (taken.get(lot.id) ?? 0) }));
  for (const lot of lots.filter(({ id }) => taken.has(id)))
    await store.updateLot(tx, lot, { taken: lot.taken, modified_at: now });
  await saveBalance(tx, { ...use, lots }, {}, now);
  const revoked = addUp([...taken.values()]);
  recordMeterEvent(tx, ctx, credit, now, { units: -revoked, rollover });
  return revoked;
}

/** Count what a customer uses from nothing again, now: what rolls over does (SUB-07). */
export async function resetMeter(tx: Tx, ctx: Deps | Ctx, key: MeterBalanceKey): Promise<void> {
  const now = ctx.clock.now();
  await resetBalance(tx, ctx, await lockUse(tx, ctx, key), now, now);
}
