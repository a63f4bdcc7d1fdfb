import type { MetricsQuery } from "../../../shared/api/metrics.ts";
import { metricLimits } from "../../../shared/api/metrics.ts";
import type { MetricInterval } from "../../../shared/calendar.ts";
import { type Fault, invalid } from "../../../shared/errors.ts";

const [quarter_ms, hour_ms, day_ms] = [900_000, 3_600_000, 86_400_000];
/** How many days before a stretch of time its churn is looked for (MET-11). */
const churnDays = 30;

/** Where clocks of a zone stand, as if what they show were UTC. */
type Zone = { wallAt(at: number): number; firstAt(wall: number): number };

function openZone(timeZone: string): Zone {
  if (timeZone === "UTC") return { wallAt: (at) => at, firstAt: (wall) => wall };
  const two = "2-digit" as const;
  const digits = { year: "numeric", month: two, day: two, hour: two, minute: two, second: two } as const;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...digits });
  const findWallAt = (at: number): number => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  const known = new Map<number, number>();
  /** When clocks first showed this, or first something later, where they were put forward over it. */
  const findFirstAt = (wall: number): number => {
    const found = known.get(wall);
    if (found !== undefined) return found;
    const ahead = [wall - day_ms, wall + day_ms].map((at) => findWallAt(at) - at);
    const [early, late] = [wall - Math.max(...ahead), wall - Math.min(...ahead)];
    let at = early;
    while (at < late && findWallAt(at) < wall) at += quarter_ms;
    known.set(wall, at);
    return at;
  };
  return { wallAt: findWallAt, firstAt: findFirstAt };
}

const addDays = (wall: number, days: number): number => wall + days * day_ms;
const addMonths = (wall: number, months: number): number => {
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1);
};

/** The first day of the week (from Monday), the month or the year of a day. */
const truncations: Record<Exclude<MetricInterval, "hour">, (day: number) => number> = {
  day: (day) => day,
  week: (day) => addDays(day, -((new Date(day).getUTCDay() + 6) % 7)),
  month: (day) => addMonths(day, 0),
  year: (day) => Date.UTC(new Date(day).getUTCFullYear(), 0, 1),
};
const steps: Record<Exclude<MetricInterval, "hour">, (day: number) => number> = {
  day: (day) => addDays(day, 1),
  week: (day) => addDays(day, 7),
  month: (day) => addMonths(day, 1),
  year: (day) => addMonths(day, 12),
};

/** When the hour of the zone began that a moment is in. Where clocks are put back, it ends, and the same one begins again. */
function getHour(zone: Zone, at: number): number {
  const formatHour = (moment: number): string => {
    const wall = zone.wallAt(moment);
    return `${wall - (wall % hour_ms)} ${wall - moment}`;
  };
  let began = at - (at % quarter_ms);
  while (formatHour(began - quarter_ms) === formatHour(began)) began -= quarter_ms;
  return began;
}

function getHours(zone: Zone, from: number, to: number): number[] {
  const began = [from];
  for (let at = from + quarter_ms; at < to; at += quarter_ms) if (getHour(zone, at) === at) began.push(at);
  return began;
}

/** A stretch of time: the whole one, what of it is in the range that was asked for, and where its churn is looked for. */
export type PeriodRange = { begins: number; from: number; to: number; churn_from: number; churn_to: number };

/** What was asked for, cut into stretches (MET-05). Times are milliseconds. */
export type Range = {
  stretches: PeriodRange[];
  /** Where the whole stretches begin, and where the last one ends. */
  wholes: number[];
  /** Where they begin within the range, and where the range ends. */
  edges: number[];
  /** Every moment at which something has to be known, in order. */
  moments: number[];
  /** The largest length of time that divides them all: a quarter of an hour, an hour or a day. */
  seconds: number;
  /** When the stretch began that it is now. */
  present: number;
};

const buildQueryFault = (msg: string): Fault => ({ loc: ["query"], msg, type: "value_error" });

/** Cut what was asked for into stretches of time, or say that it is too long (MET-02). */
export function planRange(
  { start_date, end_date, interval, timezone }: Pick<MetricsQuery, "start_date" | "end_date" | "interval" | "timezone">,
  now: Date,
): Range {
  const [first, last] = [Date.parse(start_date), Date.parse(end_date)];
  const { max_days } = metricLimits[interval];
  if (first > last) throw invalid(buildQueryFault("The range ends before it begins."));
  if (last - first > max_days * day_ms)
    throw invalid(
      buildQueryFault(`A range by the ${interval} has ${max_days} days at most between its first and its last.`),
    );
  const zone = openZone(timezone);
  const [from, to] = [zone.firstAt(first), zone.firstAt(addDays(last, 1))];
  const wholes: number[] = [];
  const churn: [number, number][] = [];
  const getMonthBefore = (wall: number) => zone.firstAt(addDays(wall, -churnDays));
  if (interval === "hour") {
    wholes.push(...getHours(zone, from, to), to);
    for (const began of wholes) churn.push([getMonthBefore(zone.wallAt(began)), began]);
  } else {
    const step = steps[interval];
    const days: number[] = [];
    for (let day = truncations[interval](first); day <= last; day = step(day)) days.push(day);
    days.push(step(days.at(-1) ?? first));
    wholes.push(...days.map(zone.firstAt));
    for (const [place, day] of days.entries())
      churn.push(
        interval === "year"
          ? [wholes[place] ?? from, wholes[place + 1] ?? to]
          : [getMonthBefore(day), wholes[place] ?? from],
      );
  }
  const edges = wholes.map((began) => Math.min(Math.max(began, from), to));
  const stretches = wholes.slice(0, -1).map((begins, place) => ({
    begins,
    from: edges[place] ?? from,
    to: edges[place + 1] ?? to,
    churn_from: churn[place]?.[0] ?? from,
    churn_to: churn[place]?.[1] ?? from,
  }));
  const moments = [
    ...new Set([...edges, ...stretches.flatMap(({ churn_from, churn_to }) => [churn_from, churn_to])]),
  ].sort((a, b) => a - b);
  const isMultipleOf = (length: number) => moments.every((at) => at % (length * 1000) === 0);
  const wall = zone.wallAt(now.getTime());
  return {
    stretches,
    wholes,
    edges,
    moments,
    seconds: [86_400, 3600].find(isMultipleOf) ?? 900,
    present:
      interval === "hour" ? getHour(zone, now.getTime()) : zone.firstAt(truncations[interval](wall - (wall % day_ms))),
  };
}

const lengths = [86_400, 3600, 900] as const;

/** Sums that together say what is between moments: those of one length, but where a moment is in one, of its parts. */
export type PeriodCover = { seconds: number; divided: number[]; part_seconds: number; parts: number[] };

/**
 * The longest sums of which most have no moment in them. `seconds` divides all moments: where that is an hour, the sums of a
 * year by the month are of days, but for the few in which a month begins.
 */
export function findCover({ moments, seconds: part_seconds }: Pick<Range, "moments" | "seconds">): PeriodCover {
  const [first = 0, last = first] = [moments[0], moments.at(-1)];
  for (const seconds of lengths) {
    if (seconds <= part_seconds) break;
    const length = seconds * 1000;
    const divided = [...new Set(moments.filter((at) => at % length !== 0).map((at) => at - (at % length)))];
    if (divided.length * 2 > (last - first) / length) continue;
    const count = seconds / part_seconds;
    const parts = divided.flatMap((at) => Array.from({ length: count }, (_, part) => at + part * part_seconds * 1000));
    return { seconds, divided, part_seconds, parts };
  }
  return { seconds: part_seconds, divided: [], part_seconds, parts: [] };
}
