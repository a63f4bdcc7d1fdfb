/** Metrics as lines of text: what each comes to, how it went, and one of them as bars. Not Ink, which only draws it anew. */
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { truncateCell } from "./table.ts";
import { type Paint, removeControls } from "./theme.ts";

type Numbers = Record<string, number>;
export type Answer = {
  periods: { timestamp: string; [slug: string]: number | string }[];
  totals: Numbers;
  metrics: Record<string, { slug: string; display_name: string; type: string }>;
};
export type Chart = {
  answer: Answer;
  slugs: readonly string[];
  /** Undefined where it is not known: amounts are then plain decimals. */
  currency: string | undefined;
  interval: string;
  timezone: string;
};

const [name_width, value_width, gap, bars_max] = [30, 15, 2, 14];
/** What less is better of. */
const isLoss = (slug: string): boolean => /^(canceled|churn|costs?|cumulative_costs|cost_)/.test(slug);

/** A number as people read it: money in the store's currency, shares as percent. */
export function formatMetric(value: number, type: string | undefined, currency: string | undefined): string {
  if (type === "percentage") return `${(value * 100).toFixed(1)} %`;
  if (type === "scalar") return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
  if (currency === undefined) return (value / 100).toFixed(2);
  return type === "currency_sub_cent" ? formatUnitMoney(value, currency) : formatMoney(Math.round(value), currency);
}

/** When a stretch of time began, as short as its interval allows. */
export function formatPeriod(timestamp: string, interval: string, timeZone: string): string {
  const parts: Record<string, Intl.DateTimeFormatOptions> = {
    hour: { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    day: { weekday: "short", day: "numeric", month: "short" },
    week: { day: "numeric", month: "short", year: "numeric" },
    month: { month: "short", year: "numeric" },
    year: { year: "numeric" },
  };
  return new Intl.DateTimeFormat("en-GB", { ...parts[interval], timeZone })
    .format(new Date(timestamp))
    .replace(",", "");
}

const blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** So many values as so many characters: the means of neighbours where there are more values, repeated where there are fewer. */
export function drawSparkline(values: readonly number[], width: number): string {
  if (values.length === 0 || width < 1) return "";
  const each = Math.ceil(values.length / width);
  const means: number[] = [];
  for (let from = 0; from < values.length; from += each) {
    const some = values.slice(from, from + each);
    means.push(some.reduce((sum, value) => sum + value, 0) / some.length);
  }
  const [least, most] = [Math.min(0, ...means), Math.max(0, ...means)];
  const times = Math.max(1, Math.min(3, Math.floor(width / means.length)));
  const block = (value: number) =>
    blocks[most === least ? 0 : Math.round(((value - least) / (most - least)) * 7)] ?? "";
  return means.map((value) => block(value).repeat(times)).join("");
}

/** The lines of a drawing, none wider than the terminal. */
export function drawMetrics(
  { answer, slugs, currency, interval, timezone }: Chart,
  columns: number,
  paint: Paint,
): string[] {
  const { periods, totals, metrics } = answer;
  const shown = slugs.filter((slug) => slug in metrics);
  const formatMoment = (period: { timestamp: string } | undefined) =>
    period ? formatPeriod(period.timestamp, interval, timezone) : "";
  const getValueIn = (period: Answer["periods"][number], slug: string) => Number(period[slug] ?? 0);
  const buildTitled = (slug: string) => removeControls(metrics[slug]?.display_name ?? slug);
  const formatFigure = (slug: string, value = 0) => formatMetric(value, metrics[slug]?.type, currency);
  const lines = [
    paint.dim(
      `By the ${interval}, ${formatMoment(periods[0])} to ${formatMoment(periods.at(-1))}, ${removeControls(timezone)}`,
    ),
    "",
  ];
  const names = Math.min(name_width, Math.max(...shown.map((slug) => buildTitled(slug).length), 0));
  const values = Math.max(value_width, ...shown.map((slug) => formatFigure(slug, totals[slug]).length));
  const room = Math.min(columns - names - values - 2 * gap, 90);
  for (const slug of shown) {
    const tone = isLoss(slug) ? paint.warn : slug.includes("revenue") ? paint.good : paint.link;
    const spark = drawSparkline(
      periods.map((period) => getValueIn(period, slug)),
      room,
    );
    lines.push(
      `${truncateCell(buildTitled(slug), names).padEnd(names)}${" ".repeat(gap)}${paint.strong(formatFigure(slug, totals[slug]).padStart(values))}${" ".repeat(gap)}${tone(spark)}`.trimEnd(),
    );
  }
  const [first] = shown;
  if (first === undefined || periods.length < 2) return lines;
  const last = periods.slice(-bars_max);
  const labels = Math.max(...last.map((period) => formatMoment(period).length));
  const amounts = Math.max(...last.map((period) => formatFigure(first, getValueIn(period, first)).length));
  const most = Math.max(...last.map((period) => Math.abs(getValueIn(period, first))));
  const width = columns - labels - amounts - 2 * gap - 2;
  lines.push(
    "",
    paint.strong(buildTitled(first)) + (last.length < periods.length ? paint.dim(`, the last ${last.length}`) : ""),
  );
  for (const period of last) {
    const value = getValueIn(period, first);
    const bar = "█".repeat(most === 0 ? 0 : Math.round((Math.abs(value) / most) * width));
    const tone = value < 0 ? paint.bad : isLoss(first) ? paint.warn : paint.good;
    lines.push(
      `  ${formatMoment(period).padEnd(labels)}${" ".repeat(gap)}${formatFigure(first, value).padStart(amounts)}${" ".repeat(gap)}${tone(bar)}`.trimEnd(),
    );
  }
  return lines;
}
