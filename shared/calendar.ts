/** Arithmetic with calendar periods, in UTC: months have different lengths, and none of it is a number of milliseconds. */

export type Interval = "day" | "week" | "month" | "year";

const days = { day: 1, week: 7 };

/** So many days later, at the same time of day. */
const addDays = (date: Date, count: number): Date => {
  const later = new Date(date);
  later.setUTCDate(later.getUTCDate() + count);
  return later;
};

/** The last day of the month in which a moment is. */
export const findLastDay = (at: Date): number =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();

/** So many months later, on the day `day`, or on the last of a month that is shorter. */
function addMonths(date: Date, count: number, day: number): Date {
  const later = new Date(date);
  later.setUTCDate(1);
  later.setUTCMonth(later.getUTCMonth() + count);
  later.setUTCDate(Math.min(day, findLastDay(later)));
  return later;
}

/** When the month begins that comes so many after that of a moment. */
export const findMonthAfter = (at: Date, months: number): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));

/** A moment as it is written in a time zone, to the second, with how far the zone is ahead: `2026-07-01T14:30:00+02:00`. */
export function formatZoned(date: Date, format: Intl.DateTimeFormat): string {
  const { year, month, day, hour, minute, second, timeZoneName } = Object.fromEntries(
    format.formatToParts(date).map(({ type, value }) => [type, value]),
  );
  const ahead = timeZoneName?.replace("GMT", "") || "+00:00";
  return `${year?.padStart(4, "0")}-${month}-${day}T${hour}:${minute}:${second}${ahead}`;
}

/** What writes moments of a time zone for `formatZoned`. */
export const createZoneFormat = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  });

/**
 * When the period that begins at `date` ends (POL-05). `anchor_day` is the day of the month that the periods are to begin
 * on, where the month has it: 31 January, 28 February, 31 March.
 */
export function addInterval(date: Date, interval: Interval, count: number, anchor_day = date.getUTCDate()): Date {
  if (interval === "day" || interval === "week") return addDays(date, days[interval] * count);
  return addMonths(date, interval === "month" ? count : 12 * count, anchor_day);
}

/** The stretches of time by which metrics are asked for. */
export const metricIntervals = ["hour", "day", "week", "month", "year"] as const;
export type MetricInterval = (typeof metricIntervals)[number];
