/** What a meter has counted, as lines of text: in all, how it went, and the last stretches of time as bars. */
import { drawSparkline, formatPeriod } from "./metrics.ts";
import { formatUnits, truncateCell } from "./table.ts";
import { type Paint, removeControls } from "./theme.ts";

export type Quantities = { quantities: { timestamp: string; quantity: number }[]; total: number };
export type QuantityChart = {
  answer: Quantities;
  title: string;
  interval: string;
  timezone: string;
  /** How much more there was at each of the last looks. */
  changes?: readonly number[];
  customers?: readonly { who: string; units: number }[];
};

const [gap, bars_max] = [2, 14];

/** The lines, none wider than the terminal. */
export function drawQuantities(drawn: QuantityChart, columns: number, paint: Paint): string[] {
  const { answer, title, interval, timezone, changes, customers } = drawn;
  const { quantities, total } = answer;
  const formatMoment = ({ timestamp }: { timestamp: string }) => formatPeriod(timestamp, interval, timezone);
  const lines = [
    truncateCell(`${paint.strong(removeControls(title))}  ${paint.good(formatUnits(total))}`, columns + 20),
    paint.dim(truncateCell(`by the ${interval}, ${removeControls(timezone)}`, columns)),
  ];
  if (changes) {
    const label = "Since the last look  ";
    const now = `+${formatUnits(changes.at(-1) ?? 0)}`;
    const room = Math.max(0, columns - label.length - now.length - gap);
    const line = drawSparkline(changes.slice(-room), Math.min(room, changes.length));
    lines.push(`${label}${paint.strong(now)}${" ".repeat(gap)}${paint.link(line)}`);
  }
  const last = quantities.slice(-bars_max);
  const labels = Math.max(0, ...last.map((one) => formatMoment(one).length));
  const amounts = Math.max(0, ...last.map(({ quantity }) => formatUnits(quantity).length));
  const most = Math.max(0, ...last.map(({ quantity }) => Math.abs(quantity)));
  const width = Math.max(0, columns - labels - amounts - 2 * gap - 2);
  if (last.length > 0) lines.push("");
  for (const one of last) {
    const bar = "█".repeat(most === 0 ? 0 : Math.round((Math.abs(one.quantity) / most) * width));
    const tone = one.quantity < 0 ? paint.bad : paint.good;
    lines.push(
      `  ${formatMoment(one).padEnd(labels)}${" ".repeat(gap)}${formatUnits(one.quantity).padStart(amounts)}${" ".repeat(gap)}${tone(bar)}`.trimEnd(),
    );
  }
  if (quantities.length > last.length) lines.push(paint.dim(`  the last ${last.length} of ${quantities.length}`));
  if (customers && customers.length > 0) {
    const units = Math.max(...customers.map((one) => formatUnits(one.units).length));
    lines.push("", paint.strong("Most used by"));
    for (const one of customers)
      lines.push(
        `  ${formatUnits(one.units).padStart(units)}${" ".repeat(gap)}${truncateCell(removeControls(one.who), Math.max(1, columns - units - 2 * gap))}`,
      );
  }
  return lines;
}
