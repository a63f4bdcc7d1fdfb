/** The dashboard as lines of text. Nothing here draws: what is a line, and what a key opens from it, is decided here alone. */
import type { Overview } from "../../shared/api/overview.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Wire } from "../../shared/request.ts";
import { drawSparkline } from "../ui/metrics.ts";
import { formatRelativeTime, formatUnits, getWidth, truncateCell } from "../ui/table.ts";
import { type Paint, removeControls, type Tone } from "../ui/theme.ts";

export type Look = Wire<Overview>;
/** What a line leads to: a detail of the API, and a page of the server. */
export type Target = { group: "orders" | "payments" | "webhooks"; id: string; page: string };
type Part = string | [text: string, tone: Tone];
export type Line = {
  parts: Part[];
  target?: Target;
  isNews?: boolean;
  /** What it says, without how long ago it was: it stays the same until something happens. */
  key?: string;
};
/** Units per minute of each meter, since the dashboard was opened. */
export type Rates = ReadonlyMap<string, number>;

/** Below this width there is room for less: the keys in short, and no product beside a customer. */
export const narrowColumns = 60;
const [attention_max, gap, week] = [5, "  ", 8];

const formatWeekday = (date: string): string =>
  new Intl.DateTimeFormat("en-GB", { weekday: "long", timeZone: "UTC" }).format(new Date(date));

/** How much more or less that is than before, as a part of the line. */
function compareRevenue(today: number, before: number): Part[] {
  if (before === 0) return [];
  const percent = Math.round(((today - before) / Math.abs(before)) * 100);
  if (percent === 0) return [["the same", "dim"], gap];
  return [percent > 0 ? [`▲ ${percent} %`, "good"] : [`▼ ${-percent} %`, "bad"], gap];
}

function composeFigures(look: Look, columns: number): Line[] {
  const { figures, currency } = look;
  if (!figures) return [{ parts: [["Figures need the scope metrics:read.", "dim"]] }];
  const format = (amount: number): string => formatMoney(amount, currency);
  const weekAgo = figures.days.at(-week);
  const mrr = format(figures.monthly_recurring_revenue);
  const spark = drawSparkline(
    figures.days.map((day) => day.monthly_recurring_revenue),
    Math.min(figures.days.length, columns - getWidth(mrr) - 9),
  );
  return [
    {
      parts: [
        "Today  ",
        [format(figures.today_revenue), "strong"],
        gap,
        ...(weekAgo ? compareRevenue(figures.today_revenue, weekAgo.revenue) : []),
        ...(weekAgo ? [[`${formatWeekday(weekAgo.date)} a week ago ${format(weekAgo.revenue)}`, "dim"] as Part] : []),
      ],
    },
    { parts: ["Month  ", [format(figures.month_revenue), "strong"]] },
    { parts: ["MRR    ", [mrr, "strong"], gap, [spark, "link"]] },
  ];
}

function composeUsage({ meters }: Look, rates: Rates): Line[] {
  return (meters ?? []).slice(0, 3).map(({ id, name, consumed_units, partial }) => {
    const rate = rates.get(id);
    return {
      parts: [
        "Usage  ",
        removeControls(name),
        gap,
        [`${formatUnits(consumed_units)}${partial ? "+" : ""}`, "strong"],
        ...(rate === undefined ? [] : [gap, [`${formatUnits(rate)}/min`, rate > 0 ? "good" : "dim"] as Part]),
      ],
    };
  });
}

const formatCustomer = (row: { customer_email: string | null; customer_name: string | null }): string =>
  removeControls(row.customer_email ?? row.customer_name ?? "");

function composeAttention(look: Look, now: number): Line[] {
  const { failed_payments, failing_endpoints, dead_letters } = look;
  const payments = (failed_payments ?? []).map(
    (one): Line => ({
      parts: [
        ["Payment failed", "bad"],
        gap,
        formatMoney(one.amount, one.currency),
        gap,
        formatCustomer(one),
        gap,
        [`${removeControls(one.decline_reason ?? "")} ${formatRelativeTime(one.created_at, now)}`.trim(), "dim"],
      ],
      key: one.id,
      target: { group: "payments", id: one.id, page: `/store/orders/${one.order_id}` },
    }),
  );
  const endpoints = (failing_endpoints ?? []).slice(0, attention_max).map(
    (one): Line => ({
      parts: [
        [one.enabled ? "Webhook failing" : "Webhook off", one.enabled ? "bad" : "warn"],
        gap,
        [`${one.failed} of ${one.recent}`, "dim"],
        gap,
        removeControls(one.url),
      ],
      target: { group: "webhooks", id: one.id, page: "/" },
    }),
  );
  const more = (failing_endpoints ?? []).length - endpoints.length;
  if (more > 0) endpoints.push({ parts: [[`${more} more webhooks: floe webhooks list`, "dim"]] });
  const jobs: Line[] =
    dead_letters.count === 0
      ? []
      : [
          {
            parts: [
              ["Jobs given up", "bad"],
              gap,
              String(dead_letters.count),
              gap,
              [dead_letters.kinds.map(removeControls).join(", "), "dim"],
            ],
          },
        ];
  const all = [...payments, ...endpoints, ...jobs];
  return all.length > 0 ? all : [{ parts: [["Nothing needs attention.", "good"]] }];
}

const orderTones: Record<string, Tone> = { paid: "good", pending: "warn" };

function composeOrders({ orders }: Look, seen: ReadonlySet<string>, now: number, columns: number): Line[] {
  if (!orders) return [{ parts: [["Orders need the scope orders:read.", "dim"]] }];
  if (orders.length === 0) return [{ parts: [["No orders yet.", "dim"]] }];
  const amounts = orders.map((one) => formatMoney(one.total_amount, one.currency));
  const ages = orders.map((one) => formatRelativeTime(one.created_at, now));
  const findWidest = (texts: string[]): number => Math.max(...texts.map(getWidth));
  const widths = [amounts, orders.map(({ status }) => status), ages].map(findWidest);
  if (columns < narrowColumns)
    return orders.map((one, index) =>
      composeOrder(one, seen, [
        (amounts[index] ?? "").padStart(widths[0] ?? 0),
        gap,
        ...(one.status === "paid" ? [] : [[one.status, orderTones[one.status] ?? "bad"] as Part, gap]),
        formatCustomer(one),
        gap,
        [ages[index] ?? "", "dim"],
      ]),
    );
  return orders.map((one, index) =>
    composeOrder(one, seen, [
      (amounts[index] ?? "").padStart(widths[0] ?? 0),
      gap,
      [one.status.padEnd(widths[1] ?? 0), orderTones[one.status] ?? "bad"],
      gap,
      [(ages[index] ?? "").padEnd(widths[2] ?? 0), "dim"],
      gap,
      removeControls(one.product_name),
      gap,
      formatCustomer(one),
    ]),
  );
}

const composeOrder = (
  { id, status }: { id: string; status: string },
  seen: ReadonlySet<string>,
  parts: Part[],
): Line => ({
  parts,
  key: `${id} ${status}`,
  target: { group: "orders", id, page: `/store/orders/${id}` },
  ...(!seen.has(id) && { isNews: true }),
});

/** The first line, which always stays: whose store this is, and how fresh what is shown is. */
export function composeHead(look: Look, note: string): Line {
  return {
    parts: [
      [removeControls(look.name), "strong"],
      ...(look.sandbox ? [gap, ["sandbox", "warn"] as Part] : []),
      gap,
      [note, "dim"],
    ],
  };
}

/** What stands below the first line. Orders that `seen` lacks have come since the dashboard was opened. */
export function composeHome(look: Look, rates: Rates, seen: ReadonlySet<string>, columns: number): Line[] {
  const now = new Date(look.now).getTime();
  const blank: Line = { parts: [] };
  return [
    ...composeFigures(look, columns),
    ...composeUsage(look, rates),
    blank,
    { parts: [["Attention", "strong"]] },
    ...composeAttention(look, now),
    blank,
    { parts: [["Orders", "strong"]] },
    ...composeOrders(look, seen, now, columns),
  ];
}

/** A line as the terminal shows it, cut to its columns before it is painted. */
export function renderLine({ parts, isNews }: Line, columns: number, paint: Paint, mark = ""): string {
  let room = columns - getWidth(mark);
  let drawn = mark;
  for (const part of isNews ? [...parts, gap, ["new", "good"] as Part] : parts) {
    const [text, tone] = typeof part === "string" ? [part, undefined] : part;
    if (room <= 0) break;
    const cut = truncateCell(text, room);
    room -= getWidth(cut);
    drawn += tone ? paint[tone](cut) : cut;
    // What does not fit ends the line: the rest would be a row of dots.
    if (cut !== text) break;
  }
  return drawn.trimEnd();
}
