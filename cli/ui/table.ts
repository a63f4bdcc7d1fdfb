/** A table and a list of fields as text. Not Ink: a frame of it takes three times as long, and clears the terminal when it is higher than the window. */
import { formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { type Paint, plain } from "./theme.ts";

type Row = Record<string, unknown>;

/** The value at a dotted path; through a list, of its first. */
function at(row: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => {
    const one: unknown = Array.isArray(value) ? value[0] : value;
    return typeof one === "object" && one !== null ? (one as Row)[key] : undefined;
  }, row);
}

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

const two = (part: number): string => String(part).padStart(2, "0");

/** An instant in the time zone of the reader, to the minute. */
function localTime(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

const money = (amount: unknown, currency: unknown): string => {
  if (typeof amount !== "number" || !Number.isSafeInteger(amount)) return "";
  if (typeof currency !== "string" || !/^[a-z]{3}$/i.test(currency)) return String(amount);
  return formatMoney(amount, currency);
};

/** A price as a person says it. */
function price(value: unknown): string {
  if (!isRow(value)) return "";
  const every = typeof value.recurring_interval === "string" ? `/${value.recurring_interval}` : "";
  const currency = value.price_currency;
  if (value.amount_type === "free" || value.price_amount === 0) return `free${every}`;
  if (value.amount_type === "custom") return `${money(value.minimum_amount ?? 0, currency)}+${every}`;
  if (value.amount_type === "metered_unit" && typeof currency === "string")
    return `${formatUnitMoney(String(value.unit_amount), currency)}/${String(at(value, "meter.name") ?? "unit")}`;
  if (value.amount_type === "seat_based")
    return `${money(at(value, "seat_tiers.tiers.price_per_seat"), currency)}/seat${every}`;
  if (typeof value.price_amount === "number") return `${money(value.price_amount, currency)}${every}`;
  return `${String(value.amount_type)}${every}`;
}

const looksLikeTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** One value as a person reads it. `row` is where it stands: its currency is there. */
function humanize(value: unknown, kind: string | undefined, row: unknown): string {
  if (value === null || value === undefined) return "";
  if (kind === "money") return money(value, at(row, "currency") ?? at(row, "price_currency"));
  if (kind === "price")
    return (Array.isArray(value) ? value : [value])
      .filter((one) => !isRow(one) || one.is_archived !== true)
      .map(price)
      .join(", ");
  if (kind === "flag") return value === true ? "yes" : value === false ? "no" : String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (kind === "date" || (typeof value === "string" && looksLikeTime.test(value))) return localTime(String(value));
  if (Array.isArray(value)) return value.map((one) => (isRow(one) ? called(one) : plain(String(one)))).join(", ");
  if (isRow(value)) return inOneLine(value);
  return plain(String(value));
}

/** What a thing in a list is called: a person wants to know which it is, not all of it. */
const called = (row: Row): string => {
  const name = [row.name, row.label, row.type, row.id].find((one) => typeof one === "string" && one !== "");
  return name === undefined ? inOneLine(row) : plain(String(name));
};

/** The fields of a small thing, such as an address, on one line. */
const inOneLine = (row: Row): string =>
  Object.entries(row)
    .filter(([, value]) => value !== null && value !== "")
    .map(([key, value]) => `${plain(key)}=${plain(typeof value === "object" ? JSON.stringify(value) : String(value))}`)
    .join(" ");

let segmenter: Intl.Segmenter | undefined;
/** The characters of a text as they are seen. Made when it is needed: it brings the tables of ICU with it. */
function segmentsOf(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The beginning of a text that fits into so many columns. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const { segment } of segmentsOf(text)) {
    const next = wide.test(segment) ? 2 : 1;
    if (used + next > width - 1) break;
    kept += segment;
    used += next;
  }
  return `${kept}…`;
}

const pad = (text: string, width: number, right: boolean): string => {
  const gap = " ".repeat(Math.max(0, width - widthOf(text)));
  return right ? gap + text : text + gap;
};

const title = (path: string): string =>
  path === "id"
    ? "ID"
    : path
        .replace(/(\.name|\.func|_readable)$/, "")
        // The account side writes createdAt where billing writes created_at.
        .replace(/([a-z0-9])([A-Z])/g, (_, before: string, after: string) => `${before}_${after.toLowerCase()}`)
        .replace(/^is_/, "")
        .replace(/_(amount|at)$/, "")
        .replaceAll(/[._]/g, " ")
        .toUpperCase();

/** Whether a column may be cut: texts, prices, and the ids of other things. */
const shrinks = (kind: string | undefined, index: number): boolean =>
  kind === undefined || kind === "price" || (kind === "id" && index > 0);
const least_width = 8;
const day_width = "2026-01-31".length;

/**
 * Rows in columns that fit the terminal. Their ids stay whole, since they are copied. First what happened is told by the
 * day alone, then long texts are cut, then the last columns are left out.
 */
export function renderTable(rows: unknown[], columns: string[], paint: Paint, terminal: number): string {
  const parsed = columns.map((column) => {
    const [path = "", kind] = column.split(":");
    return { path, kind, title: title(path), right: kind === "money" };
  });
  const cells = rows.map((row) => parsed.map(({ path, kind }) => humanize(at(row, path), kind, row)));
  // A column in which no row has anything would only take room.
  const shown = parsed.map((_, index) => index).filter((index) => index < 2 || cells.some((line) => line[index]));
  const widths = parsed.map(({ title: head }, index) =>
    Math.max(widthOf(head), ...cells.map((line) => widthOf(line[index] ?? ""))),
  );
  const total = (): number => shown.reduce((sum, index) => sum + (widths[index] ?? 0) + 2, -2);
  if (total() > terminal)
    // A list that begins with the time is read for it.
    for (const index of shown.filter((one) => one > 0 && parsed[one]?.kind === "date")) {
      for (const texts of cells) texts[index] = (texts[index] ?? "").slice(0, day_width);
      widths[index] = Math.max(widthOf(parsed[index]?.title ?? ""), day_width);
    }
  const natural = [...widths];
  while (total() > terminal) {
    const [widest] = shown
      .filter((index) => shrinks(parsed[index]?.kind, index) && (widths[index] ?? 0) > least_width)
      .sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest !== undefined) widths[widest] = (widths[widest] ?? 0) - 1;
    else if (shown.length > 2) {
      shown.pop();
      widths.splice(0, widths.length, ...natural);
    } else break;
  }
  const line = (texts: string[], tone: (text: string, index: number) => string): string =>
    shown
      .map((index, position) => {
        const width = widths[index] ?? 0;
        const right = parsed[index]?.right ?? false;
        const fitted = cut(texts[index] ?? "", width);
        return tone(position === shown.length - 1 && !right ? fitted : pad(fitted, width, right), index);
      })
      .join("  ")
      .trimEnd();
  const head = line(
    parsed.map(({ title: text }) => text),
    paint.dim,
  );
  const body = cells.map((texts) =>
    line(texts, (text, index) => (parsed[index]?.kind === "id" ? paint.dim(text) : text)),
  );
  return `${[head, ...body].join("\n")}\n`;
}

/** A text in lines of at most `width` columns, broken between words where there are some. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/(?<=\s)/)) {
    if (line !== "" && widthOf(line + word.trimEnd()) > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += word;
  }
  return [...lines, line.trimEnd()];
}

/** The fields of one object, each on a line; nested ones dotted. */
export function renderDetail(row: unknown, paint: Paint, terminal: number): string {
  const lines: [string, string][] = [];
  const walk = (value: unknown, prefix: string, depth: number): void => {
    if (!isRow(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      const path = `${prefix}${key}`;
      // Settings are read one by one, under the keys by which they are set.
      const isDeep = depth > 0 || (isRow(inner) && Object.values(inner).every((one) => typeof one === "boolean"));
      if (isRow(inner) && isDeep && Object.keys(inner).length > 0) walk(inner, `${path}.`, depth - 1);
      else if (isRow(inner) && Object.keys(inner).length === 0) continue;
      else {
        const kind = key === "prices" ? "price" : /(^|_)amount$/.test(key) ? "money" : undefined;
        const text = humanize(inner, kind, value);
        if (text !== "") lines.push([path, text]);
      }
    }
  };
  walk(row, "", 1);
  const width = Math.max(0, ...lines.map(([key]) => key.length));
  const indent = `\n${" ".repeat(width + 2)}`;
  const room = Math.max(20, terminal - width - 2);
  return lines.map(([key, text]) => `${paint.dim(key.padEnd(width))}  ${wrap(text, room).join(indent)}\n`).join("");
}
