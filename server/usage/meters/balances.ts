import { addInterval } from "../../../shared/calendar.ts";
import { addUp } from "../../../shared/money.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { recordListedEvent } from "../../platform/events/events.ts";
import { createId, getFirstId, getTimeOfId } from "../../platform/ids.ts";
import type { MeterBalanceKey, MeterBalanceRow } from "./balances-store.ts";
import * as store from "./balances-store.ts";
import { type CreditGrantRow, closeLots, consumeCreditGrants, getWorth } from "./credit-grants.ts";
import type { ResetSchedule } from "./tables.ts";

/** Note that a customer's meter was credited or reset: a system event of the list of events. */
export function recordMeterEvent(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, customer_id, meter_id }: MeterBalanceKey,
  timestamp: Date,
  credited?: { units: number; rollover: boolean },
): void {
  const name = credited ? "meter.credited" : "meter.reset";
  recordListedEvent(tx, ctx, organization_id, { name, customer_id, metadata: { meter_id, ...credited } }, timestamp);
}

/** A row with its open lots, both kept until the transaction ends. */
export type MeterBalance = { row: MeterBalanceRow; lots: CreditGrantRow[] };

/** When something is to be done of a row first. */
const getDueTime = ({ ends_at }: Pick<MeterBalanceRow, "ends_at">, lots: readonly CreditGrantRow[]): Date | null =>
  [ends_at, ...lots.map(({ expires_at, expired_at }) => (expired_at ? null : expires_at))].reduce<Date | null>(
    (first, time) => (first === null || (time !== null && time < first) ? time : first),
    null,
  );

/** Write columns of a row, with all that follows from its lots. */
export async function saveBalance(
  tx: Tx,
  { row, lots }: MeterBalance,
  patch: Partial<MeterBalanceRow>,
  now: Date,
): Promise<MeterBalance> {
  const changed = { ...row, ...patch };
  const credited_units = addUp(lots.map(getWorth));
  const rollover_units = addUp(lots.filter(({ rollover }) => rollover).map(getWorth));
  const due_at = getDueTime(changed, lots);
  const units = { credited_units, rollover_units };
  return { row: await store.updateUse(tx, row, { ...patch, ...units, due_at, modified_at: now }), lots };
}

/**
 * What a customer has used of what a meter counts, kept until the transaction ends; made where there is nothing yet. What of it
 * has fallen due by now is done first, so whatever follows is of the time after it.
 */
export async function lockUse(tx: Tx, ctx: Deps | Ctx, key: MeterBalanceKey): Promise<MeterBalance> {
  const now = ctx.clock.now();
  await store.makeUse(tx, { ...key, id: createId(now), created_at: now });
  const row = await store.lockUse(tx, key);
  if (!row) throw new Error(`The customer ${key.customer_id} has lost a meter.`);
  return settleDue(tx, ctx, { row, lots: await store.findOpenLots(tx, key) }, now);
}

/** Do what has fallen due of a row, each at its own time: lots expire, and periods end. */
async function settleDue(tx: Tx, ctx: Deps | Ctx, use: MeterBalance, now: Date): Promise<MeterBalance> {
  let settled = use;
  while (settled.row.due_at !== null && settled.row.due_at <= now) {
    const at = settled.row.due_at;
    settled = await expireLots(tx, settled, at);
    if (settled.row.ends_at !== null && settled.row.ends_at <= at)
      settled = await resetBalance(tx, ctx, settled, at, now);
  }
  return settled;
}

/** What is left of lots whose time is over is lost; what was spent of them by now stays spent. */
async function expireLots(tx: Tx, { row, lots }: MeterBalance, at: Date): Promise<MeterBalance> {
  const left = new Map(
    consumeCreditGrants(lots, row.consumed_units, row.ends_at).map((one) => [one.lot.id, one.left] as const),
  );
  const after: CreditGrantRow[] = [];
  for (const lot of lots) {
    const isOver = lot.expires_at !== null && lot.expires_at <= at && lot.expired_at === null;
    if (isOver) {
      const patch = { expired: lot.expired + (left.get(lot.id) ?? 0), expired_at: at, modified_at: at };
      await store.updateLot(tx, lot, patch);
      after.push({ ...lot, ...patch });
    } else after.push(lot);
  }
  return saveBalance(tx, { row, lots: after }, { notice_at: row.notice_at ?? at }, at);
}

/** What has no event that was counted, and every one that is to come. */
function createNextId({ last_key }: Pick<MeterBalanceRow, "last_key">, now: Date): string {
  const next = createId(now);
  // Another server's clock may be ahead.
  return last_key !== null && last_key >= next ? getFirstId(new Date(getTimeOfId(last_key) + 1)) : next;
}

/** When the period ends that begins at a time. */
export function computeNextEnd(at: Date, { interval, count, anchor_day, within }: ResetSchedule): Date {
  const end = addInterval(at, interval, count, anchor_day);
  if (!within) return end;
  let outer = new Date(within.end);
  while (outer <= at) outer = addInterval(outer, within.interval, within.count, anchor_day);
  return end < outer ? end : outer;
}

/**
 * Reset a row at a time: what was used until then is put by, and counted anew from nothing; what is left of credit that rolls
 * over goes on, and of all other is lost (BEN-53). `at` is the end of its period, or now: what came since then is of the time
 * after. `isPart`: no period is over, but somebody else pays from now on. `keepsCredit`: all that is left of credit goes on, as
 * the period that it was given for does.
 */
export async function resetBalance(
  tx: Tx,
  ctx: Deps | Ctx,
  { row, lots }: MeterBalance,
  at: Date,
  now: Date,
  { isPart = false, keepsCredit = isPart }: { isPart?: boolean; keepsCredit?: boolean } = {},
): Promise<MeterBalance> {
  const { organization_id, customer_id, meter_id } = row;
  const isBoundary = row.ends_at !== null && at.getTime() === row.ends_at.getTime();
  const floor = getFirstId(at);
  const until_key =
    isBoundary && (row.last_key === null || row.last_key < floor) ? floor : createNextId(row, at > now ? at : now);
  const since = { started_at: row.started_at, since_key: row.since_key };
  const { consumed_units, counted, total, free_units, billed_from, payer_id, price_id, by_time } = row;
  const closed = closeLots(lots, consumed_units, row.ends_at, keepsCredit);
  // What goes on is not taken into the bill of who paid until now.
  const credit = keepsCredit
    ? { credited_units: addUp(closed.map(({ spent }) => spent)), rollover_units: 0 }
    : { credited_units: row.credited_units, rollover_units: row.rollover_units };
  const window_id = createId(now);
  await store.insertWindow(tx, {
    ...{ id: window_id, organization_id, created_at: now, customer_id, meter_id, ...since, ended_at: at, until_key },
    ...{
      consumed_units,
      counted,
      total,
      ...credit,
      free_units,
      billed_from,
      payer_id,
      price_id,
      by_time,
    },
    rolled_units: keepsCredit ? 0 : addUp(closed.map(({ rolled }) => rolled)),
    is_open: payer_id !== null,
    is_part: isPart && payer_id !== null,
  });
  const rolled: CreditGrantRow[] = [];
  for (const { lot, spent, expired, rolled: units } of closed) {
    await store.updateLot(tx, lot, { spent, expired, rolled: units, closed_at: at, modified_at: now });
    if (units === 0) continue;
    const { source_kind, source_id, expires_at, priority, rollover, given_at } = lot;
    const more = { customer_id, meter_id, source_kind, source_id, expires_at, priority, rollover };
    rolled.push(
      await store.insertLot(tx, {
        id: createId(now),
        organization_id,
        created_at: at,
        amount: units,
        given_at: given_at ?? lot.created_at,
        ...more,
      }),
    );
  }
  await (payer_id === null ? store.deleteValues(tx, row) : store.putValuesBy(tx, row, window_id));
  recordMeterEvent(tx, ctx, row, at);
  for (const rollover of [false, true]) {
    const units = addUp(rolled.filter((lot) => lot.rollover === rollover).map(({ amount }) => amount));
    if (units > 0) recordMeterEvent(tx, ctx, row, at, { units, rollover });
  }
  const { rhythm } = row;
  return saveBalance(
    tx,
    { row, lots: rolled },
    {
      started_at: at,
      since_key: until_key,
      consumed_units: "0",
      counted: 0,
      total: "0",
      by_time: payer_id !== null,
      free_units: "0",
      notice_at: row.notice_at ?? (Number(consumed_units) === 0 && lots.length === 0 ? null : now),
      ends_at: isBoundary && rhythm && row.ends_at ? computeNextEnd(row.ends_at, rhythm) : row.ends_at,
    },
    now,
  );
}

/** What has fallen due of rows is done, in the order in which all lock them. */
export async function settleUses(tx: Tx, ctx: Deps | Ctx, keys: readonly MeterBalanceKey[]): Promise<void> {
  const buildKey = ({ customer_id, meter_id }: MeterBalanceKey) => customer_id + meter_id;
  for (const key of keys.toSorted((a, b) => (buildKey(a) < buildKey(b) ? -1 : 1))) await lockUse(tx, ctx, key);
}
