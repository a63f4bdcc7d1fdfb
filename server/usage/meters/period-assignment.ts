/** On whose bill, and with which period, what was used will be. */
import { and, asc, eq, gt, isNotNull, sql } from "drizzle-orm";
import type { Tx } from "../../platform/context.ts";
import { writeArray } from "../../platform/db/arrays.ts";
import { findWindows, type MeterBalanceRow, type UsagePeriod } from "./balances-store.ts";
import { compileMatch, type Measured } from "./matching.ts";
import { findCounting } from "./store.ts";
import { customerMeterWindows } from "./tables.ts";

/** `isLate`: it is of a time whose period was over when it came. `period`: with which it is billed; null: with none. */
export type PeriodAssignment = { isLate: boolean; period: { start: Date; end: Date } | null };

/** What was used in one stretch of time, on somebody's account. */
type Stretch = Pick<MeterBalanceRow, "started_at" | "billed_from" | "payer_id"> & { end: Date | null };
/** The stretch of time that is still counted. */
export const findRunning = ({ started_at, billed_from, payer_id, ends_at }: UsagePeriod): Stretch => ({
  ...{ started_at, billed_from, payer_id },
  end: ends_at,
});
const nowhere: PeriodAssignment = { isLate: false, period: null };

/** Where what happened at a time is billed, as it is counted within a stretch of time that nobody has closed by `now`. */
export function findLanding(timestamp: Date, stretch: Stretch | undefined, now: Date): PeriodAssignment {
  if (!stretch || stretch.payer_id === null) return nowhere;
  const { started_at, billed_from, end } = stretch;
  const isLate = started_at !== null && timestamp < started_at;
  // A trial is billed from its end on; what is of before the subscription is never billed.
  const isFree = billed_from !== null && (billed_from > now || (isLate && timestamp < billed_from));
  const start = started_at ?? billed_from;
  return { isLate, period: isFree || start === null || end === null ? null : { start, end } };
}

/** Of what several meters count, the first that bills it says with which period. */
export const joinLandings = (one: PeriodAssignment, other: PeriodAssignment): PeriodAssignment => ({
  isLate: one.isLate || other.isLate,
  period: one.period ?? other.period,
});

/** An event that was counted at some time, by its id. */
export type CountedEvent = Measured & { id: string; customer_id: string | null };

/** Where events that were counted before are billed, or were: those of one organization, in the order given. */
export async function findLandings(
  tx: Tx,
  organization_id: string,
  uses: readonly CountedEvent[],
  now: Date,
): Promise<PeriodAssignment[]> {
  const customers = [...new Set(uses.flatMap(({ customer_id }) => customer_id ?? []))];
  if (customers.length === 0) return uses.map(() => nowhere);
  const [first = ""] = uses.map(({ id }) => id).sort();
  const { customer_id, meter_id, since_key, until_key, started_at, billed_from, payer_id, ended_at } =
    customerMeterWindows;
  const closed = await tx
    .select({ customer_id, meter_id, since_key, until_key, started_at, billed_from, payer_id, end: ended_at })
    .from(customerMeterWindows)
    .where(
      and(
        eq(customerMeterWindows.organization_id, organization_id),
        sql`${customer_id} in (select * from unnest(${writeArray(customers, "uuid")}))`,
        gt(until_key, first),
        isNotNull(payer_id),
      ),
    )
    .orderBy(asc(ended_at));
  const running = (await findWindows(tx, organization_id, customers)).map((row) => ({
    ...{ ...findRunning(row), customer_id: row.customer_id, meter_id: row.meter_id },
    ...{ since_key: row.since_key, until_key: null },
  }));
  const stretches = Map.groupBy([...closed, ...running], (one) => one.customer_id + one.meter_id);
  const counting = (await findCounting(tx, organization_id)).map((meter) => ({
    id: meter.id,
    matches: compileMatch(meter),
  }));
  return uses.map((use) =>
    counting.reduce((landing, { id, matches }) => {
      const theirs = stretches.get(use.customer_id + id);
      if (!theirs || !matches(use)) return landing;
      const own = theirs.find(
        (one) =>
          (one.since_key === null || use.id >= one.since_key) && (one.until_key === null || use.id < one.until_key),
      );
      // What a closed one had was decided when it closed.
      const at = own?.until_key ? (own.end ?? now) : now;
      return joinLandings(landing, findLanding(use.timestamp, own, at));
    }, nowhere),
  );
}
