import { formatDecimal, formatMoney, formatUnitMoney } from "../../../shared/money.ts";
import type { LineTerms } from "../../../shared/pricing.ts";
import { computeBilledUnits, computeUsageAmount, isCapped, type UsageTotals } from "../../../shared/usage.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import type { Ctx, Database, Deps, Tx } from "../../platform/context.ts";
import {
  type BilledUsage,
  billWindows,
  closeAndReassign,
  closeStretch,
  closeUse,
  deletePeriods,
  findPaidKeys,
  findPaidUse,
  findUnbilled,
  type PaidUsage,
  payUse,
  restartUse,
  updateWindowPrices,
} from "../../usage/meters/attribution.ts";
import { lockUse, saveBalance } from "../../usage/meters/balances.ts";
import type { MeterBalanceKey, MeterBalanceRow } from "../../usage/meters/balances-store.ts";
import { getMeterTerms } from "./meter-clock.ts";
import { isBillable, type SubscriptionAggregate } from "./rules.ts";
import { findHolders, findPossiblePayers, isOwn } from "./seated.ts";
import { findSubscription } from "./store.ts";

type Counted = Pick<
  PaidUsage,
  | "meter_id"
  | "started_at"
  | "ended_at"
  | "consumed_units"
  | "credited_units"
  | "free_units"
  | "billed_units"
  | "late_from"
  | "late_until"
>;
/** What is used on a subscription's account: in periods that are over and not billed, and in the one that runs. */
export type Usage = readonly PaidUsage[];

/** What was used and is not billed: of periods that are over, and of the one that runs. */
export const loadUsage = (db: Database, { row }: SubscriptionAggregate): Promise<Usage> =>
  findUnbilled(db, row.organization_id, row.id, { isShared: row.seats !== null });

type Metered = PriceRow & { meter_id: string; unit_amount: string; meter: NonNullable<PriceRow["meter"]> };
const isMetered = (price: PriceRow): price is Metered =>
  price.meter_id !== null && price.unit_amount !== null && price.meter != null;
/** The prices that use is paid at. */
export const getMetered = (prices: readonly PriceRow[]): Metered[] => prices.filter(isMetered);

const formatDay = (at: Date): string => at.toISOString().slice(0, 10);

/** Which days a line names: those of late usage, or of a stretch that is not a whole period; none of a whole one. */
function formatDays(used: Counted, { start, end, closed_at }: Period): string | undefined {
  const { started_at, late_from, late_until } = used;
  const formatRange = (from: Date, to: Date) =>
    formatDay(from) === formatDay(to) ? formatDay(from) : `${formatDay(from)} to ${formatDay(to)}`;
  if (used.billed_units !== null && late_from !== null && late_until !== null)
    return formatRange(late_from, late_until);
  const ended_at = used.ended_at ?? closed_at;
  const isWhole =
    started_at === null || (formatDay(started_at) <= formatDay(start) && formatDay(ended_at) >= formatDay(end));
  return isWhole ? undefined : formatRange(started_at, ended_at);
}

/**
 * The period that is billed, and when what runs is closed: a line of a part of it names its days. `isStretch`: the period goes on, and
 * with it what is left of credit.
 */
type Period = { start: Date; end: Date; closed_at: Date; isStretch: boolean };

/** The line of what was used in a period at a price, or what came late adds to it (SUB-21); none where it asks for nothing. */
function buildLine(price: Metered, used: Counted, currency: string, period: Period): LineTerms | null {
  const { meter, unit_amount, cap_amount } = price;
  const { credited_units, billed_units, started_at } = used;
  const use: UsageTotals = {
    ...{ rule: "metered", meter: { id: meter.id, name: meter.name }, unit_amount, cap_amount, credited_units },
    consumed_units: formatDecimal(used.consumed_units),
    free_units: formatDecimal(used.free_units),
    before_units: billed_units === null ? null : formatDecimal(billed_units),
  };
  const amount = computeUsageAmount(use);
  const units = computeBilledUnits(use);
  if (billed_units !== null ? amount === 0 : units === "0" && credited_units === 0) return null;
  const cap = isCapped(use) && cap_amount !== null ? ` — Capped at ${formatMoney(cap_amount, currency)}` : "";
  const days = formatDays(used, period);
  const ended_at = used.ended_at ?? period.closed_at;
  const times = days !== undefined && started_at !== null && started_at < ended_at;
  const isLate = billed_units !== null && used.late_from !== null;
  const when = days === undefined ? "" : ` — ${isLate ? "late, used " : ""}${days}`;
  return {
    label: `${meter.name} — (${units} consumed units) × ${formatUnitMoney(unit_amount, currency)}${cap}${when}`,
    ...(days === undefined ? {} : { days }),
    product_price_id: price.id,
    proration: false,
    source: { ...use, amount },
    ...(times ? { period: { start: started_at.toISOString(), end: ended_at.toISOString() } } : {}),
  };
}

/** What is billed of usage: lines, and what each has taken. */
export type MeteredLines = { lines: LineTerms[]; taken: BilledUsage[] };

/** What a period has been billed for once this is: late usage that lowers it takes nothing back. */
function billUsage(price: Metered, used: PaidUsage): BilledUsage {
  const { meter_id, window_ids, consumed_units, credited_units, free_units, billed_units } = used;
  const { unit_amount, cap_amount } = price;
  const computeCost = (units: string) =>
    computeUsageAmount({
      unit_amount,
      cap_amount,
      credited_units,
      free_units,
      consumed_units: units,
      before_units: null,
    });
  const isLower = billed_units !== null && computeCost(consumed_units) < computeCost(billed_units);
  return {
    ...{ meter_id, window_ids, is_running: used.ended_at === null, consumed_units },
    billed_units: isLower ? billed_units : consumed_units,
  };
}

/**
 * What is billed of usage until a time: of periods that are over by then, and of the one that runs if it began before. With no time, of
 * all there is, as nothing comes after it. Each period is billed at its own price: `prices` are those that it can be of.
 */
export function computeMetering(
  prices: readonly PriceRow[],
  usage: Usage,
  { currency, until, period }: { currency: string; until: Date | null; period: Period },
): MeteredLines {
  const metered = getMetered(prices);
  const { isStretch } = period;
  const due = usage.filter(({ started_at, ended_at }) => {
    const at = ended_at ?? started_at;
    return until === null || at === null || (ended_at === null ? at < until : at <= until);
  });
  const priced = metered.flatMap((price) =>
    due
      .filter(({ price_id, meter_id }) => (price_id === null ? meter_id === price.meter_id : price_id === price.id))
      .map((used) => ({
        price,
        used: isStretch && used.ended_at === null ? { ...used, credited_units: used.spent_units } : used,
      })),
  );
  return {
    lines: priced.flatMap(({ price, used }) => buildLine(price, used, currency, period) ?? []),
    taken: priced.map(({ price, used }) => billUsage(price, used)),
  };
}

/** What each meter has come to so far, as a subscription is answered with it (SUB-25). */
export const getMeters = ({ row, prices, uses = [] }: SubscriptionAggregate) =>
  getMetered(prices).flatMap((price) => {
    const use = uses.find(({ meter_id }) => meter_id === price.meter_id);
    if (!use) return [];
    const { meter, unit_amount, cap_amount } = price;
    const amount =
      row.status === "trialing" ? 0 : computeUsageAmount({ ...use, unit_amount, cap_amount, before_units: null });
    return [{ use, meter, amount }];
  });

const getPlace = ({ customer_id, meter_id }: MeterBalanceKey): string => customer_id + meter_id;
/** Each once, in the order in which all lock them. */
const pairWithIndex = (keys: readonly MeterBalanceKey[]): MeterBalanceKey[] =>
  [...new Map(keys.map((key) => [getPlace(key), key])).values()].toSorted((a, b) =>
    getPlace(a) < getPlace(b) ? -1 : 1,
  );

/** Keep what a subscription bills as it is until the transaction ends; the period that is over is closed. */
export async function lockMeters(tx: Tx, ctx: Deps | Ctx, { row, prices }: SubscriptionAggregate): Promise<void> {
  const { organization_id, customer_id, id } = row;
  const own = getMetered(prices).map(({ meter_id }) => ({ organization_id, customer_id, meter_id }));
  if (own.length === 0) return;
  const held = row.seats === null ? [] : await findPaidKeys(tx, organization_id, id);
  for (const key of pairWithIndex([...own, ...held])) await lockUse(tx, ctx, key);
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
export async function attributeUsage(
  tx: Tx,
  ctx: Deps | Ctx,
  before: Before | null,
  after: After,
  taken: readonly BilledUsage[] = [],
): Promise<PaidUsage[]> {
  const { row } = after;
  const meters = [...getMetered(before?.prices ?? []), ...getMetered(after.prices)].map(({ meter_id }) => meter_id);
  const { organization_id, customer_id, id } = row;
  const isShared = row.seats !== null;
  if (meters.length === 0) {
    await billWindows(tx, organization_id, id, taken, { isShared });
    return [];
  }
  const holders = row.seats === null ? [] : await findHolders(tx, row);
  const keys = [customer_id, ...holders].flatMap((one) =>
    meters.map((meter_id) => ({ organization_id, customer_id: one, meter_id })),
  );
  const left = row.seats === null ? [] : await findPaidKeys(tx, organization_id, id);
  const uses: MeterBalanceRow[] = [];
  const closed = before ? findClosed(before, after).map(({ meter_id }) => meter_id) : [];
  for (const key of pairWithIndex([...keys, ...left])) {
    const isHolder = holders.includes(key.customer_id);
    const use = await followUse(tx, ctx, key, { before, after, isHolder, isClosed: closed.includes(key.meter_id) });
    if (use) uses.push(use);
  }
  await billWindows(tx, organization_id, id, taken, { isShared });
  if (!isBillable(row.status) && before) await deletePeriods(tx, organization_id, id);
  else if (before) await repriceFollowing(tx, before, after);
  if (row.seats !== null) return findPaidUse(tx, organization_id, [id]);
  const runs = {
    ended_at: null,
    billed_units: null,
    late_from: null,
    late_until: null,
    window_ids: [],
    spent_units: 0,
  };
  return uses.map((use) => ({ ...use, ...runs }));
}

/** A price that changes with a period is that of all periods since, also of those that have been closed before anybody looked. */
async function repriceFollowing(tx: Tx, before: Before, { row, prices }: After): Promise<void> {
  const { organization_id, id } = row;
  const since = getMeterStart(row);
  if (since <= getMeterStart(before.row)) return;
  for (const { id: old, meter_id } of getMetered(before.prices)) {
    const price = getMetered(prices).find((one) => one.meter_id === meter_id);
    if (price?.id !== old)
      await updateWindowPrices(tx, organization_id, id, { meter_id, price_id: price?.id ?? null, since });
  }
}

/** Somebody else holds a seat of a subscription by now: what they use from now on is on its account, and what others used until now stays there. */
export async function attributeSeatUsage(tx: Tx, ctx: Deps | Ctx, aggregate: SubscriptionAggregate): Promise<void> {
  const { row, prices } = aggregate;
  const { organization_id, id } = row;
  const holders = await findHolders(tx, row);
  const keys = holders.flatMap((customer_id) =>
    getMetered(prices).map(({ meter_id }) => ({ organization_id, customer_id, meter_id })),
  );
  const held = (await findPaidKeys(tx, organization_id, id)).filter(
    ({ customer_id }) => customer_id !== row.customer_id,
  );
  for (const key of pairWithIndex([...keys, ...held])) {
    const isHolder = holders.includes(key.customer_id);
    await followUse(tx, ctx, key, { before: aggregate, after: aggregate, isHolder, isClosed: false });
  }
}

/** What one customer uses of one meter, as a subscription of theirs pays for it, or one that they hold a seat of. Nothing where it does not. */
async function followUse(
  tx: Tx,
  ctx: Deps | Ctx,
  key: MeterBalanceKey,
  { before, after, isHolder, isClosed }: { before: Before | null; after: After; isHolder: boolean; isClosed: boolean },
): Promise<MeterBalanceRow | undefined> {
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
    if (isLeft) use = await closeAndReassign(tx, ctx, use);
    else if (before?.row.status === "trialing") use = await restartUse(tx, ctx, use);
    else use = await closeUse(tx, ctx, use, { keepsCredit: isClosed });
    // Whoever else may pay is asked in a transaction of its own, that holds them in the order in which all do.
    if ((await findPossiblePayers(tx, key)).some((id) => id !== row.id))
      await saveBalance(tx, use, { notice_at: now }, now);
    return undefined;
  }
  if (use.row.payer_id !== null && !isMine) {
    // Whoever pays already goes on paying; but what one has subscribed to comes before what one holds a seat of.
    if (!isOwner || (await isOwn(tx, key, use.row.payer_id))) return undefined;
    use = await closeAndReassign(tx, ctx, use);
  }
  const terms = { payer_id: row.id, price_id: price.id, ...getMeterTerms(row, product) };
  // A trial's use is free, whenever it is told (MTR-29).
  const trial_over = row.status === "trialing" ? row.current_period_end : null;
  const wasPaying = before !== null && isBillable(before.row.status);
  const start = row.current_meter_period_start ?? row.current_period_start;
  // Who pays is told with what is done here; who holds a seat hears of it later.
  const notice = isOwner ? {} : { notice_at: isMine ? use.row.notice_at : now };
  if (!wasPaying || !isMine) {
    // What somebody used before there was a price is not billed, and before they held a seat it is nobody else's business.
    if (!isOwner) use = await closeAndReassign(tx, ctx, use);
    else use = await (wasPaying ? closeUse(tx, ctx, use, { keepsCredit: true }) : restartUse(tx, ctx, use));
    use = await payUse(tx, use, terms, { by_time: true, billed_from: trial_over ?? now, ...notice }, now);
  } else {
    const isPeriodOpen = use.row.started_at !== null && use.row.started_at >= start;
    const isTrialOver = before?.row.status === "trialing" && row.status !== "trialing";
    const last = before?.row.current_meter_period_start ?? before?.row.current_period_start;
    const isNewPeriod = last !== undefined && start > last;
    if (isClosed) use = await closeStretch(tx, ctx, use);
    else if (isNewPeriod && !isPeriodOpen)
      use = await payUse(tx, await restartUse(tx, ctx, use), terms, { by_time: true }, now);
    const billed_from = trial_over ?? (isTrialOver ? start : isClosed ? now : null);
    use = await payUse(tx, use, terms, { ...(billed_from ? { billed_from } : {}), ...notice }, now);
  }
  return use.row;
}

/**
 * What nobody pays for any more is paid for by whatever else its customer has subscribed to, or holds a seat of (MTR-28). `payers`:
 * those that may, in the order in which they are asked; the caller holds them. Answers which one does.
 */
export async function reassignUsage(
  tx: Tx,
  ctx: Deps | Ctx,
  key: MeterBalanceKey,
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
