/** One object as text: each field on a line, what people read as a sentence in sentences. */
import { describeBenefits, describePrices, describeProperties, isBenefitList } from "./sentences.ts";
import {
  findNamedWithin,
  formatHuman,
  formatLocalTime,
  formatRelativeTime,
  getWidth,
  isRow,
  looksLikeTime,
  pad,
  paintCell,
  type Row,
  renderColumns,
} from "./table.ts";
import { type Paint, removeControls } from "./theme.ts";

/** Where a field stands among the others: first what it is called and how it is, last times and ids. */
function getRank(key: string): number {
  if (/^(name|label|email|slug|description|status)$/.test(key)) return 0;
  if (/(^|_)(at|from|until|since)$/.test(key)) return 2;
  return /(^|_)id$/.test(key) ? 3 : 1;
}

/** What is due of an order that is paid is not due any more: it is only how much the payment was. */
const isSettled = (key: string, row: Row): boolean =>
  key === "due_amount" && row.paid === true && row.due_amount === row.total_amount;

/** What a person does not ask for: whose it is, which is said with the command, and what it is not. */
const isNoise = (key: string, value: unknown): boolean =>
  key === "organization_id" ||
  (value === false && key.startsWith("is_")) ||
  // Of an order a dozen parts of the total may be nothing; what it comes to is always told.
  (value === 0 && /_amount$/.test(key) && !/^(total|price|custom|minimum)_/.test(key));

const isTime = (value: unknown): value is string => typeof value === "string" && looksLikeTime.test(value);

/** An instant, and how far it is while that says more than its day. */
function formatInstant(text: string, now: number): string {
  const [instant, relative] = [formatLocalTime(text), formatRelativeTime(text, now)];
  return instant.startsWith(relative) ? instant : `${instant}, ${relative}`;
}

const isAmount = (key: string): boolean => /(^|_)amount$/.test(key);

/** The fields of a settings object, under the keys by which they are set. */
const listSettings = (value: Row, prefix: string): [string, string][] =>
  Object.entries(value).flatMap(([key, inner]): [string, string][] => {
    if (isRow(inner)) return listSettings(inner, `${prefix}${key}.`);
    const text = formatHuman(inner, undefined, value);
    return text === "" ? [] : [[prefix + key, text]];
  });

/** An address on one line, as it is written on a letter. */
function formatAddress({ line1, line2, postal_code, city, state, country }: Row): string {
  const place = [postal_code, city].filter(Boolean).join(" ");
  // The code of a state begins with its country, which stands behind it.
  const region = String(state ?? "").replace(`${String(country)}-`, "");
  return removeControls([line1, line2, place, region, country].filter(Boolean).join(", "));
}

/** A field that people read as a sentence, under the name that it has then; undefined for others. */
function describeField(key: string, value: unknown, row: Row): [key: string, text: string] | undefined {
  if (key === "trial_interval" && typeof value === "string") {
    const { trial_interval_count: count } = row;
    return ["trial", `${String(count)} ${removeControls(value)}${count === 1 ? "" : "s"} free`];
  }
  if (key === "prices" && Array.isArray(value)) return [key, describePrices(value, row)];
  if (key === "benefits" && isBenefitList(value)) return [key, describeBenefits(value)];
  if (key === "properties" && isRow(value) && typeof row.type === "string" && "description" in row) {
    const gives = describeProperties(row.type, value);
    return gives === undefined ? undefined : ["gives", gives];
  }
  if (/(^|_)address$/.test(key) && isRow(value) && "country" in value) return [key, formatAddress(value)];
  return undefined;
}

/** Whether a field only repeats what another one says: the id of what stands beside it, the interval of the prices. */
const isRepeated = (key: string, row: Row): boolean =>
  (key.endsWith("_id") && isRow(row[key.slice(0, -"_id".length)])) ||
  key === "trial_interval_count" ||
  (/^recurring_interval(_count)?$/.test(key) && Array.isArray(row.prices) && row.prices.length > 0);

/** The fields of one object, each on a line; below them its settings, under the keys by which they are set. */
export function renderDetail(value: unknown, paint: Paint, terminal: number, now = Date.now()): string {
  const row: Row = isRow(value) ? value : {};
  const lines: [key: string, text: string][] = [];
  // Amounts end in one column, as they are added up.
  const amounts = Object.entries(row).filter(
    ([key, inner]) => isAmount(key) && !isNoise(key, inner) && !isSettled(key, row),
  );
  const widest = Math.max(0, ...amounts.map(([, inner]) => getWidth(formatHuman(inner, "money", row))));
  const parts: { title: string; lines: [string, string][] }[] = [];
  for (const [key, inner] of Object.entries(row)) {
    if (isNoise(key, inner) || isRepeated(key, row) || isSettled(key, row)) continue;
    const sentence = describeField(key, inner, row);
    if (sentence) {
      if (sentence[1] !== "") lines.push(sentence);
      continue;
    }
    if (isRow(inner) && /(_settings|^capabilities)$/.test(key)) {
      const own = listSettings(inner, "");
      if (own.length > 0) parts.push({ title: key, lines: own });
      continue;
    }
    if (isRow(inner) && Object.keys(inner).length === 0) continue;
    const kind = isAmount(key) ? "money" : key === "status" ? "state" : undefined;
    const human = isTime(inner) ? formatInstant(inner, now) : formatHuman(inner, kind, row);
    const text = isRow(inner)
      ? findNamedWithin(inner)
      : kind === "money" && human !== ""
        ? pad(human, widest, true)
        : human;
    const named = getRank(key) === 0 && key === "name" ? "name" : /(^|_)id$/.test(key) ? "id" : kind;
    if (text !== "") lines.push([key, paintCell(text, named, paint, inner)]);
  }
  lines.sort(([a], [b]) => getRank(a) - getRank(b));
  const words = lines.map(([key, text]): [string, string] => [key.replace(/^is_/, "").replaceAll("_", " "), text]);
  const below = parts.map(
    (part) => `\n${paint.strong(part.title)}\n${renderColumns(part.lines, paint, terminal, "  ")}`,
  );
  return renderColumns(words, paint, terminal) + below.join("");
}
