import type { Interval, Question } from "./calls.ts";

const dayMs = 86_400_000;
/** How many days are shown of each interval at first. */
const shownDays: Record<Interval, number> = { hour: 1, day: 30, week: 84, month: 365, year: 1826 };

export const intervals = Object.keys(shownDays) as Interval[];

/** The day that it is in a time zone. */
export const findDay = (timeZone: string, at: string): string =>
  new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(new Date(at));

const moveDay = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10);

/** The first day of what is shown of an interval up to a day. */
export const findFirstDay = (interval: Interval, last: string): string => moveDay(last, 1 - shownDays[interval]);

/** How many days there are from the first to the last, both counted; NaN where one of them is none. */
export const countDays = ({ start_date, end_date }: Pick<Question, "start_date" | "end_date">): number =>
  (Date.parse(end_date) - Date.parse(start_date)) / dayMs + 1;

/** As many days right before. */
export function moveRangeBefore(question: Question): Question {
  const days = countDays(question);
  const { start_date } = question;
  return { ...question, start_date: moveDay(start_date, -days), end_date: moveDay(start_date, -1) };
}
