/** A table and a list of fields as text. Not Ink: a frame of it takes three times as long, and clears the terminal when it is higher than the window. */
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { isAddress, type Paint, removeControls } from "./theme.ts";

export type Row = Record<string, unknown>;

/** The value at a dotted path; through a list, of its first. */
function getIn(row: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => {
    const one: unknown = Array.isArray(value) ? value[0] : value;
    return typeof one === "object" && one !== null ? (one as Row)[key] : undefined;
  }, row);
}

export const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const padTwo = (part: number): string => String(part).padStart(2, "0");

/** An instant in the time zone of the reader, to the minute. */
export function formatLocalTime(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.getFullYear()}-${padTwo(date.getMonth() + 1)}-${padTwo(date.getDate())} ${padTwo(date.getHours())}:${padTwo(date.getMinutes())}`;
}

const dayWidth = "2026-01-31".length;
const minuteMs = 60_000;
const skewMs = 5000;
const units: [ms: number, unit: string, most: number][] = [
  [minuteMs, "min", 60],
  [60 * minuteMs, "h", 24],
  [24 * 60 * minuteMs, "d", 30],
];

/** How long ago an instant was at a time, or how far it is; the day, where that says more. */
export function formatRelativeTime(text: string, now: number): string {
  const away = now - new Date(text).getTime();
  if (Number.isNaN(away)) return text;
  const far = Math.abs(away);
  // Two clocks differ by a moment: what was just made is not still to come.
  if (far < minuteMs) return away < -skewMs ? "in a moment" : "just now";
  for (const [ms, unit, most] of units) {
    const count = Math.trunc(far / ms);
    if (count < most) return away < 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`;
  }
  return formatLocalTime(text).slice(0, dayWidth);
}

/** A number of units as people read it. */
export const formatUnits = (units: number): string => units.toLocaleString("en-US", { maximumFractionDigits: 2 });

const formatAmount = (amount: unknown, currency: unknown): string => {
  if (typeof amount !== "number" || !Number.isSafeInteger(amount)) return "";
  if (typeof currency !== "string" || !/^[a-z]{3}$/i.test(currency)) return String(amount);
  return formatMoney(amount, currency);
};

/** What a seat costs in each tier; of one tier, only that. */
function formatSeatTiers(tiers: unknown, currency: unknown, every: string): string {
  const all = (Array.isArray(tiers) ? tiers : []).filter(isRow);
  return all
    .map(({ min_seats, max_seats, price_per_seat }) => {
      const reach = typeof max_seats === "number" ? `${String(min_seats)}-${max_seats}` : `${String(min_seats)}+`;
      return `${formatAmount(price_per_seat, currency)}/seat${every}${all.length > 1 ? ` (${reach})` : ""}`;
    })
    .join(", ");
}

/** A price as a person says it. */
function formatPrice(value: unknown): string {
  if (!isRow(value)) return "";
  const every = typeof value.recurring_interval === "string" ? `/${value.recurring_interval}` : "";
  const currency = value.price_currency;
  if (value.amount_type === "free" || value.price_amount === 0) return `free${every}`;
  if (value.amount_type === "custom") return `${formatAmount(value.minimum_amount ?? 0, currency)}+${every}`;
  if (value.amount_type === "metered_unit" && typeof currency === "string") {
    const cap = typeof value.cap_amount === "number" ? ` up to ${formatAmount(value.cap_amount, currency)}` : "";
    return `${formatUnitMoney(String(value.unit_amount), currency)}/${String(getIn(value, "meter.name") ?? "unit")}${cap}`;
  }
  if (value.amount_type === "seat_based") return formatSeatTiers(getIn(value, "seat_tiers.tiers"), currency, every);
  if (typeof value.price_amount === "number") return `${formatAmount(value.price_amount, currency)}${every}`;
  return `${String(value.amount_type)}${every}`;
}

/** How much a discount takes off: a share, or an amount for each currency. */
function computeDeducted(basis_points: unknown, row: unknown): string {
  if (typeof basis_points === "number") return `${basis_points / 100} %`;
  const amounts = getIn(row, "amounts");
  if (isRow(amounts))
    return Object.entries(amounts)
      .map(([code, amount]) => formatAmount(amount, code))
      .join(", ");
  return formatAmount(getIn(row, "amount"), getIn(row, "currency"));
}

export const looksLikeTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** One value as a person reads it. `row` is where it stands: its currency is there. */
export function formatHuman(value: unknown, kind: string | undefined, row: unknown, now = Date.now()): string {
  if (kind === "order") return removeControls(String(getIn(row, "order_number") ?? value ?? ""));
  if (kind === "off") return computeDeducted(value, row);
  if (value === null || value === undefined) return "";
  if (kind === "money") return formatAmount(value, getIn(row, "currency") ?? getIn(row, "price_currency"));
  if (kind === "units" && typeof value === "number") return formatUnits(value);
  if (kind === "price")
    return (Array.isArray(value) ? value : [value])
      .filter((one) => !isRow(one) || one.is_archived !== true)
      .map(formatPrice)
      .join(", ");
  if (kind === "lasts")
    return value === "repeating" ? `${String(getIn(row, "duration_in_months"))} months` : String(value);
  if (kind === "flag") return value === true ? "yes" : value === false ? "no" : String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (kind === "date") return formatRelativeTime(String(value), now);
  if (typeof value === "string" && looksLikeTime.test(value)) return formatLocalTime(value);
  if (Array.isArray(value))
    return value.map((one) => (isRow(one) ? isCalled(one) : removeControls(String(one)))).join(", ");
  if (isRow(value)) return typeof value.id === "string" ? findNamedWithin(value) : joinInOneLine(value);
  return removeControls(String(value));
}

/** What a thing without a name is, of those that a customer's state lists. */
function describeChange(row: Row): string | undefined {
  if (typeof row.benefit_type === "string") return removeControls(row.benefit_type);
  if (typeof row.recurring_interval === "string" && typeof row.status === "string")
    return `${formatAmount(row.amount, row.currency)}/${removeControls(row.recurring_interval)} (${removeControls(row.status)})`;
  const { consumed_units: used, credited_units: credited } = row;
  if (typeof used !== "number" || typeof credited !== "number") return undefined;
  return `${formatUnits(used)} of ${formatUnits(credited)}`;
}

/** What a thing in a list is called: a person wants to know which it is, not all of it. */
const isCalled = (row: Row): string => {
  // What is only attached to something is called as the thing itself.
  const inner = [row.custom_field, row.product, row.customer].find(isRow);
  if (inner && row.display_key === undefined) return isCalled(inner);
  const names = [
    row.display_key,
    row.name,
    row.label,
    row.description,
    row.email,
    row.slug,
    describeChange(row),
    row.type,
    row.id,
  ];
  const name = names.find((one) => typeof one === "string" && one !== "");
  return name === undefined ? joinInOneLine(row) : removeControls(String(name));
};

/** What a thing of its own is called where it stands within another, such as the customer of an order. */
export function findNamedWithin(row: Row): string {
  const [name, email] = [isCalled(row), removeControls(String(row.email ?? ""))];
  return email === "" || email === name ? name : `${name}, ${email}`;
}

/** The fields of a small thing, such as an address, on one line. */
const joinInOneLine = (row: Row): string =>
  Object.entries(row)
    .map(([key, value]): [string, string] => [key, typeof value === "boolean" ? String(value) : formatInLine(value)])
    .filter(([, text]) => text !== "")
    .map(([key, text]) => `${removeControls(key)}=${text}`)
    .join(" ");
const formatInLine = (value: unknown): string => {
  if (!isRow(value)) return formatHuman(value, undefined, {});
  return Object.keys(value).length === 0 ? "" : isCalled(value);
};

let segmenter: Intl.Segmenter | undefined;
/** The characters of a text as they are seen. Made when it is needed: it brings the tables of ICU with it. */
function getSegments(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** How many columns of a terminal a text takes. */
export function getWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of getSegments(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The beginning of a text that fits into so many columns. */
export function truncateCell(text: string, width: number): string {
  if (getWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of getSegments(text)) {
    const next = wide.test(segment) ? 2 : 1;
    if (used + next > width - 1) break;
    kept += segment;
    used += next;
  }
  return `${kept}…`;
}

export const pad = (text: string, width: number, right: boolean): string => {
  const gap = " ".repeat(Math.max(0, width - getWidth(text)));
  return right ? gap + text : text + gap;
};

const formatTitle = (path: string): string =>
  path === "id"
    ? "ID"
    : path
        .replace(/^order_id$/, "order")
        .replace(/^webhook_event\.type$/, "event")
        .replace(/(\.name|\.func|_readable)$/, "")
        .replace(/^method_metadata\./, "")
        .replace(/^is_/, "")
        .replace(/^basis_points$/, "off")
        .replace(/_(amount|at|units)$/, "")
        .replaceAll(/[._]/g, " ")
        .toUpperCase();

/** Whether a column may be cut: texts and prices. What a thing is called and its id are typed, and so stay whole. */
const isShrinkable = (kind: string | undefined): boolean => kind === undefined || kind === "price" || kind === "url";
/** Whether a column stays however narrow the terminal is. */
const isFixedWidth = (kind: string | undefined): boolean => kind === "name" || kind === "key";

const tones: Record<string, "good" | "warn" | "bad"> = Object.fromEntries([
  ...["paid", "succeeded", "confirmed", "active", "accepted"].map((state) => [state, "good"]),
  ...["open", "pending", "processing", "draft", "trialing", "requires_action"].map((state) => [state, "warn"]),
  ...["failed", "expired", "canceled", "rejected", "refunded", "disputed", "void"].map((state) => [state, "bad"]),
]);
/** How narrow a column may become before another one is left out: half a price is none, and of an address the host is wanted. */
const getLeastWidth = (kind: string | undefined): number => (kind === "price" ? 14 : kind === "url" ? 24 : 8);

/**
 * Rows in columns that fit the terminal. What a row is called, or its id where it has no name, stays whole, since it is
 * typed. First long texts are cut, then the last columns are left out.
 */
export function renderTable(
  rows: unknown[],
  columns: string[],
  paint: Paint,
  terminal: number,
  now = Date.now(),
): string {
  const parsed = columns.map((column) => {
    const [path = "", kind] = column.split(":");
    return { path, kind, title: formatTitle(path), right: kind === "money" || kind === "units" };
  });
  const cells = rows.map((row) => parsed.map(({ path, kind }) => formatHuman(getIn(row, path), kind, row, now)));
  // A column in which no row has anything would only take room.
  const shown = parsed.map((_, index) => index).filter((index) => index < 2 || cells.some((line) => line[index]));
  const widths = parsed.map(({ title: head }, index) =>
    Math.max(getWidth(head), ...cells.map((line) => getWidth(line[index] ?? ""))),
  );
  const computeTotal = (): number => shown.reduce((sum, index) => sum + (widths[index] ?? 0) + 2, -2);
  const natural = [...widths];
  while (computeTotal() > terminal) {
    const [widest] = shown
      .filter((index) => isShrinkable(parsed[index]?.kind) && (widths[index] ?? 0) > getLeastWidth(parsed[index]?.kind))
      .sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest !== undefined) widths[widest] = (widths[widest] ?? 0) - 1;
    else {
      const last = shown.findLastIndex((index) => !isFixedWidth(parsed[index]?.kind));
      if (last < 0 || shown.length <= 2) break;
      shown.splice(last, 1);
      widths.splice(0, widths.length, ...natural);
    }
  }
  const renderLine = (texts: string[], tone: (text: string, index: number) => string): string =>
    shown
      .map((index, position) => {
        const width = widths[index] ?? 0;
        const right = parsed[index]?.right ?? false;
        const text = texts[index] ?? "";
        const fitted = isFixedWidth(parsed[index]?.kind) ? text : truncateCell(text, width);
        return tone(position === shown.length - 1 && !right ? fitted : pad(fitted, width, right), index);
      })
      .join("  ")
      .trimEnd();
  const head = renderLine(
    parsed.map(({ title: text }) => text),
    paint.dim,
  );
  const body = cells.map((texts, line) =>
    renderLine(texts, (text, index) => {
      const { path = "", kind } = parsed[index] ?? {};
      return paintCell(text, kind, paint, getIn(rows[line], path));
    }),
  );
  return `${[head, ...body].join("\n")}\n`;
}

/** A cell as its kind is painted. */
export function paintCell(text: string, kind: string | undefined, paint: Paint, value: unknown): string {
  // An address that was cut still leads to all of it; what fills the column is no part of the link.
  if (isAddress(value)) return text.replace(/^\S+/, (shown) => paint.linkTo(shown, value));
  if (kind === "id" || kind === "key") return paint.dim(text);
  if (kind === "name") return paint.strong(text);
  const tone = kind === "state" ? tones[text.trim()] : undefined;
  return tone ? paint[tone](text) : text;
}

/** A text in lines of at most `width` columns, broken between words where there are some. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/(?<=\s)/)) {
    if (line !== "" && getWidth(line + word.trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += word;
  }
  return [...lines, line.trimEnd()];
}

/** Some fields of one object, as columns name them, each on a line. */
export function renderFields(row: unknown, columns: string[], paint: Paint, terminal: number, now: number): string {
  const lines = columns.flatMap((column): [string, string][] => {
    const [path = "", kind] = column.split(":");
    const text = formatHuman(getIn(row, path), kind, row, now);
    return text === "" ? [] : [[formatTitle(path).toLowerCase(), paintCell(text, kind, paint, getIn(row, path))]];
  });
  return renderColumns(lines, paint, terminal);
}

/** Names and texts beside each other. */
export function renderColumns(lines: [string, string][], paint: Paint, terminal: number, before = ""): string {
  const width = Math.max(0, ...lines.map(([key]) => key.length));
  const indent = `\n${before}${" ".repeat(width + 2)}`;
  const room = Math.max(20, terminal - before.length - width - 2);
  const renderLine = ([key, text]: [string, string]): string =>
    `${before}${paint.dim(key.padEnd(width))}  ${text
      .split("\n")
      .flatMap((line) => wrap(line, room))
      .join(indent)}\n`;
  return lines.map(renderLine).join("");
}
