import { formatDecimal, formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { computeAmount, type LineTerms } from "../../shared/pricing.ts";
import { computeDifference, computeUseAmount, type Use } from "../../shared/usage.ts";
import type { Ctx, Database, Deps, Tx } from "../lib/context.ts";
import {
  closeStretch,
  findPaidKeys,
  findPaidUse,
  findUnbilled,
  handOverUse,
  type PaidUse,
  payUse,
  restartUse,
  takeWindows,
} from "../meters/paying.ts";
import type { UseKey, UseRow } from "../meters/uses.ts";
import { lockUse, saveUse } from "../meters/windows.ts";
import type { PriceRow } from "../products/rules.ts";
import { getMeterTerms } from "./meter-clock.ts";
import { isBillable, type SubscriptionAggregate } from "./rules.ts";
import { findHolders, findPossiblePayers, isOwn } from "./seated.ts";
import { findSubscription } from "./store.ts";

type Counted = Pick<
  PaidUse,
  "meter_id" | "consumed_units" | "credited_units" | "late_units" | "late_from" | "late_until" | "free_units"
>;
/** What is used on a subscription's account: in periods that are over and not billed, and in the one that runs. */
export type Usage = readonly PaidUse[];

/** What was used and is not billed: of periods that are over, and of the one that runs. */
export const loadUsage = (db: Database, { row }: SubscriptionAggregate): Promise<Usage> =>
  findUnbilled(db, row.organization_id, row.id);

type Metered = PriceRow & { meter_id: string; unit_amount: string; meter: NonNullable<PriceRow["meter"]> };
const isMetered = (price: PriceRow): price is Metered =>
  price.meter_id !== null && price.unit_amount !== null && price.meter != null;
/** The prices that use is paid at. */
export const getMetered = (prices: readonly PriceRow[]): Metered[] => prices.filter(isMetered);

const day = (at: Date): string => at.toISOString().slice(0, 10);

/** The lines of what was used at a price: what was on time, and what is of an earlier period (SUB-21). */
function linesOf(price: Metered, used: Counted, currency: string): LineTerms[] {
  const { meter, unit_amount, cap_amount } = price;
  const { credited_units, free_units, late_from, late_until } = used;
  const all = formatDecimal(used.consumed_units);
  if (Number(all) === 0 && credited_units === 0) return [];
  const hasLate = Number(used.late_units) !== 0 && late_from !== null && late_until !== null;
  const on_time = hasLate ? computeDifference(all, used.late_units) : all;
  const each = `× ${formatUnitMoney(unit_amount, currency)}`;
  const cap = cap_amount === null ? "" : ` — Capped at ${formatMoney(cap_amount, currency)}`;
  const line = (units: string, consumed_units: string, before_units: string | null, more: string): LineTerms => {
    const use: Use = {
      ...{ rule: "metered", meter: { id: meter.id, name: meter.name }, unit_amount, cap_amount },
      ...{ consumed_units, credited_units, free_units: formatDecimal(free_units), before_units },
    };
    return {
      label: `${meter.name} — (${units} consumed units) ${each}${cap}${more}`,
      product_price_id: price.id,
      proration: false,
      source: { ...use, amount: computeUseAmount(use) },
    };
  };
  const first = line(on_time, on_time, null, "");
  if (!hasLate) return [first];
  const of = day(late_from) === day(late_until) ? day(late_from) : `${day(late_from)} to ${day(late_until)}`;
  const late = line(formatDecimal(used.late_units), all, on_time, ` — late, used ${of}`);
  return [first, { ...late, period: { start: late_from.toISOString(), end: late_until.toISOString() } }];
}

/**
 * The lines of what was used until a time: of periods that are over by then, and where none is closed yet, of the one that runs. With
 * no time, of all there is, as nothing comes after it.
 */
export const computeMeteredLines = (
  prices: readonly PriceRow[],
  usage: Usage,
  currency: string,
  until: Date | null,
): LineTerms[] =>
  getMetered(prices).flatMap((price) => {
    const own = usage.filter(({ meter_id }) => meter_id === price.meter_id);
    const over = own.filter(({ ended_at }) => ended_at !== null && (until === null || ended_at <= until));
    const runs = own.filter(
      ({ ended_at, started_at }) => ended_at === null && (until === null || started_at === null || started_at < until),
    );
    return [...over, ...(until === null || over.length === 0 ? runs : [])].flatMap((used) =>
      linesOf(price, used, currency),
    );
  });

/** What each meter has come to so far, as a subscription is answered with it (SUB-25). */
export const getMeters = ({ row, prices, uses = [] }: SubscriptionAggregate) =>
  getMetered(prices).flatMap((price) => {
    const use = uses.find(({ meter_id }) => meter_id === price.meter_id);
    if (!use) return [];
    const lines = row.status === "trialing" ? [] : linesOf(price, use, row.currency);
    return [{ use, meter: price.meter, amount: lines.reduce((sum, { source }) => sum + computeAmount(source), 0) }];
  });

const placeOf = ({ customer_id, meter_id }: UseKey): string => customer_id + meter_id;
/** Each once, in the order in which all lock them. */
const inOrder = (keys: readonly UseKey[]): UseKey[] =>
  [...new Map(keys.map((key) => [placeOf(key), key])).values()].toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));

/** Keep what a subscription bills as it is until the transaction ends; the period that is over is closed. */
export async function holdMeters(tx: Tx, ctx: Deps | Ctx, { row, prices }: SubscriptionAggregate): Promise<void> {
  const { organization_id, customer_id, id } = row;
  const own = getMetered(prices).map(({ meter_id }) => ({ organization_id, customer_id, meter_id }));
  if (own.length === 0) return;
  const held = row.seats === null ? [] : await findPaidKeys(tx, organization_id, id);
  for (const key of inOrder([...own, ...held])) await lockUse(tx, ctx, key);
}

/**
 * The prices whose use is billed with a change, as it is counted from nothing after it (SUB-22): those that are paid no more, or all
 * of them where a period is cut off. What a trial uses is free.
 */
export const findClosing = (
  { row, prices }: Pick<SubscriptionAggregate, "row" | "prices">,
  after: { prices: readonly PriceRow[]; isCut: boolean },
): Metered[] =>
  isBillable(row.status) && row.status !== "trialing"
    ? getMetered(prices).filter(({ id }) => after.isCut || !after.prices.some((price) => price.id === id))
    : [];

/** When what is used began to be counted that is billed next. */
export const getMeterStart = ({
  current_meter_period_start,
  current_period_start,
}: Pick<SubscriptionAggregate["row"], "current_meter_period_start" | "current_period_start">): Date =>
  current_meter_period_start ?? current_period_start;

/** The prices whose use a change has billed: at the end of a period it is the period that is billed. */
function findClosed(before: Before, after: Before): Metered[] {
  const [last, start] = [getMeterStart(before.row), getMeterStart(after.row)];
  const isNew = start > last;
  const isTrial = after.row.status === "trialing" && before.row.status !== "trialing";
  const { current_meter_period_end, current_period_end } = before.row;
  const isCut = isTrial || (isNew && start < (current_meter_period_end ?? current_period_end));
  return (isNew && !isCut) || !isBillable(after.row.status) ? [] : findClosing(before, { prices: after.prices, isCut });
}

type Before = Pick<SubscriptionAggregate, "row" | "prices">;
type After = Before & Pick<SubscriptionAggregate, "product">;

/**
 * Whose use of its meters is on the account of a subscription follows what it is paid at, when its periods end, and who holds a
 * seat of it (SEAT-17). Answers what runs on its account.
 */
export async function followMeters(tx: Tx, ctx: Deps | Ctx, before: Before | null, after: After): Promise<PaidUse[]> {
  const { row } = after;
  const meters = [...getMetered(before?.prices ?? []), ...getMetered(after.prices)].map(({ meter_id }) => meter_id);
  if (meters.length === 0) return [];
  const { organization_id, customer_id, id } = row;
  const holders = row.seats === null ? [] : await findHolders(tx, row);
  const keys = [customer_id, ...holders].flatMap((one) =>
    meters.map((meter_id) => ({ organization_id, customer_id: one, meter_id })),
  );
  const left = row.seats === null ? [] : await findPaidKeys(tx, organization_id, id);
  const uses: UseRow[] = [];
  const closed = before ? findClosed(before, after).map(({ meter_id }) => meter_id) : [];
  for (const key of inOrder([...keys, ...left])) {
    const isHolder = holders.includes(key.customer_id);
    const use = await followUse(tx, ctx, key, { before, after, isHolder, isClosed: closed.includes(key.meter_id) });
    if (use) uses.push(use);
  }
  if (!isBillable(row.status) && before) await takeWindows(tx, organization_id, id);
  for (const meter_id of closed) await takeWindows(tx, organization_id, id, { meter_id });
  if (row.seats !== null) return findPaidUse(tx, organization_id, [id]);
  return uses.map((use) => ({ ...use, ended_at: null }));
}

/** Somebody else holds a seat of a subscription by now: what they use from now on is on its account, and what others used until now stays there. */
export async function followHolders(tx: Tx, ctx: Deps | Ctx, aggregate: SubscriptionAggregate): Promise<void> {
  const { row, prices } = aggregate;
  const { organization_id, id } = row;
  const holders = await findHolders(tx, row);
  const keys = holders.flatMap((customer_id) =>
    getMetered(prices).map(({ meter_id }) => ({ organization_id, customer_id, meter_id })),
  );
  const held = (await findPaidKeys(tx, organization_id, id)).filter(
    ({ customer_id }) => customer_id !== row.customer_id,
  );
  for (const key of inOrder([...keys, ...held])) {
    const isHolder = holders.includes(key.customer_id);
    await followUse(tx, ctx, key, { before: aggregate, after: aggregate, isHolder, isClosed: false });
  }
}

/** What one customer uses of one meter, as a subscription of theirs pays for it, or one that they hold a seat of. Nothing where it does not. */
async function followUse(
  tx: Tx,
  ctx: Deps | Ctx,
  key: UseKey,
  { before, after, isHolder, isClosed }: { before: Before | null; after: After; isHolder: boolean; isClosed: boolean },
): Promise<UseRow | undefined> {
  const now = ctx.clock.now();
  const { row, product } = after;
  const price = getMetered(after.prices).find(({ meter_id }) => meter_id === key.meter_id);
  const pays = isBillable(row.status);
  const isOwner = key.customer_id === row.customer_id;
  let use = await lockUse(tx, ctx, key);
  const isMine = use.row.payer_id === row.id;
  if (!pays || !price || !(isOwner || isHolder)) {
    if (!isMine) return undefined;
    const isLeft = pays && !isOwner && !isHolder;
    if (isLeft) use = await handOverUse(tx, ctx, use);
    else use = await (isClosed ? closeStretch(tx, ctx, use) : restartUse(tx, ctx, use));
    // Whoever else may pay is asked in a transaction of its own, that holds them in the order in which all do.
    if ((await findPossiblePayers(tx, key)).some((id) => id !== row.id))
      await saveUse(tx, use, { notice_at: now }, now);
    return undefined;
  }
  if (use.row.payer_id !== null && !isMine) {
    // Whoever pays already goes on paying; but what one has subscribed to comes before what one holds a seat of.
    if (!isOwner || (await isOwn(tx, key, use.row.payer_id))) return undefined;
    use = await handOverUse(tx, ctx, use);
  }
  const terms = { payer_id: row.id, ...getMeterTerms(row, product) };
  // A trial's use is free, whenever it is told (MTR-29).
  const trial_over = row.status === "trialing" ? row.current_period_end : null;
  const wasPaying = before !== null && isBillable(before.row.status);
  const start = row.current_meter_period_start ?? row.current_period_start;
  // Who pays is told with what is done here; who holds a seat hears of it later.
  const notice = isOwner ? {} : { notice_at: isMine ? use.row.notice_at : now };
  if (!wasPaying || !isMine) {
    // What somebody used before there was a price is not billed, and before they held a seat it is nobody else's business.
    if (!isOwner) use = await handOverUse(tx, ctx, use);
    else use = await (wasPaying ? closeStretch(tx, ctx, use) : restartUse(tx, ctx, use));
    use = await payUse(tx, use, terms, { billed_from: trial_over ?? now, ...notice }, now);
  } else {
    const isPeriodOpen = use.row.started_at !== null && use.row.started_at >= start;
    const isTrialOver = before?.row.status === "trialing" && row.status !== "trialing";
    const last = before?.row.current_meter_period_start ?? before?.row.current_period_start;
    const isNewPeriod = last !== undefined && start > last;
    if (isClosed) use = await closeStretch(tx, ctx, use);
    else if (isNewPeriod && !isPeriodOpen) use = await restartUse(tx, ctx, use);
    const billed_from = trial_over ?? (isTrialOver ? start : isClosed ? now : null);
    use = await payUse(tx, use, terms, { ...(billed_from ? { billed_from } : {}), ...notice }, now);
  }
  return use.row;
}

/**
 * What nobody pays for any more is paid for by whatever else its customer has subscribed to, or holds a seat of (MTR-28). `payers`:
 * those that may, in the order in which they are asked; the caller holds them. Answers which one does.
 */
export async function passOn(
  tx: Tx,
  ctx: Deps | Ctx,
  key: UseKey,
  payers: readonly string[],
): Promise<string | undefined> {
  for (const id of payers) {
    const found = await findSubscription(tx, key.organization_id, id);
    if (!found) continue;
    const isHolder = (await findHolders(tx, found.row)).includes(key.customer_id);
    if (await followUse(tx, ctx, key, { before: found, after: found, isHolder, isClosed: false })) return id;
  }
  return undefined;
}
