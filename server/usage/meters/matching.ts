import { inArray, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { Filter, FilterClause, Meter } from "../../../shared/api/meters.ts";
import { formatDecimal } from "../../../shared/money.ts";

/**
 * Which events a meter counts, and what it takes of them: once in the program, where events come in, and once in SQL, where
 * they lie. Both say the same of every event (MTR-18); a test makes up filters and events to show it.
 */
export type Measured = { name: string; source: string; timestamp: Date; metadata: object };
type Value = FilterClause["value"];
type Operator = FilterClause["operator"];

const builtIns = ["name", "source", "timestamp"] as const;
type BuiltIn = (typeof builtIns)[number];
type Place = { builtIn: BuiltIn } | { path: string[] };

/** Where a property is: a built-in one, or down a path in the metadata (MTR-14). */
function getPlace(property: string): Place {
  const name = property.replace(/^metadata\./, "");
  const builtIn = builtIns.find((one) => one === name);
  return builtIn ? { builtIn } : { path: name.split(".") };
}

const truncateToSeconds = (at: Date): number => {
  const ms = at.getTime();
  return (ms - (((ms % 1000) + 1000) % 1000)) / 1000;
};

/** What an event has at a place; undefined where it has nothing. */
function getValueAt(place: Place, event: Measured): unknown {
  if ("builtIn" in place)
    return place.builtIn === "timestamp" ? truncateToSeconds(event.timestamp) : event[place.builtIn];
  let value: unknown = event.metadata;
  for (const key of place.path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** A value as it is compared with a text: a boolean is t or f, as the database writes it. */
const getText = (value: Value): string => (typeof value === "boolean" ? (value ? "t" : "f") : String(value));

/** Texts are compared as the database does where they sort by bytes. */
const compareTexts = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));

const ordered: Record<Exclude<Operator, "like" | "not_like">, (order: number) => boolean> = {
  eq: (order) => order === 0,
  ne: (order) => order !== 0,
  gt: (order) => order > 0,
  gte: (order) => order >= 0,
  lt: (order) => order < 0,
  lte: (order) => order <= 0,
};

/** Whether what was found holds against a value, with its text form for likeness. */
function isSatisfied(operator: Operator, order: () => number, found: string, wanted: string): boolean {
  if (operator === "like") return found.includes(wanted);
  if (operator === "not_like") return !found.includes(wanted);
  return ordered[operator](order());
}

function buildClauseMatcher({ property, operator, value }: FilterClause): (event: Measured) => boolean {
  const place = getPlace(property);
  const text = getText(value);
  const number = Number(value);
  if ("builtIn" in place && typeof value !== (place.builtIn === "timestamp" ? "number" : "string")) return () => false;
  return (event) => {
    const found = getValueAt(place, event);
    if (typeof found === "string") return isSatisfied(operator, () => compareTexts(found, text), found, text);
    if (typeof found === "number")
      return (
        typeof value !== "string" &&
        isSatisfied(operator, () => found - number, formatDecimal(found), formatDecimal(number))
      );
    if (typeof found === "boolean")
      return typeof value === "boolean" && isSatisfied(operator, () => Number(found) - number, getText(found), text);
    return false;
  };
}

/** Whether an event is one that a filter takes. */
export function compileFilter({ conjunction, clauses }: Filter): (event: Measured) => boolean {
  const parts = clauses.map((clause) => ("clauses" in clause ? compileFilter(clause) : buildClauseMatcher(clause)));
  if (parts.length === 0) return () => true;
  return conjunction === "and"
    ? (event) => parts.every((part) => part(event))
    : (event) => parts.some((part) => part(event));
}

/**
 * Which sources a meter counts. A customer's own events count only where they cannot lower what is billed: an average or a
 * minimum ignores them (MTR-32).
 */
const listCountedSources = ({ aggregation }: Pick<Meter, "aggregation">): readonly string[] =>
  aggregation.func === "avg" || aggregation.func === "min" ? ["user"] : ["user", "customer"];

/** Whether a meter counts an event. */
export function compileMatch(meter: Pick<Meter, "filter" | "aggregation">): (event: Measured) => boolean {
  const [sources, matchesFilter] = [listCountedSources(meter), compileFilter(meter.filter)];
  return (event) => sources.includes(event.source) && matchesFilter(event);
}

/** What a meter takes of an event that it counts: null where there is nothing that it could add up. */
export function compileMeasure({ aggregation }: Pick<Meter, "aggregation">): (event: Measured) => unknown {
  if (aggregation.func === "count") return () => 1;
  const place = getPlace(aggregation.property);
  if (aggregation.func === "unique") return (event) => getValueAt(place, event) ?? null;
  return (event) => {
    const found = getValueAt(place, event);
    return typeof found === "number" ? found : null;
  };
}

/** The columns of the table in which events are. */
export type Columns = { name: AnyPgColumn; source: AnyPgColumn; timestamp: AnyPgColumn; metadata: AnyPgColumn };

const selectJsonAt = ({ metadata }: Columns, path: readonly string[]): SQL =>
  path.reduce<SQL>((found, key) => sql`${found} -> ${key}::text`, sql`${metadata}`);
const getSeconds = ({ timestamp }: Columns): SQL => sql`floor(extract(epoch from ${timestamp}))`;

const signs = { eq: sql`=`, ne: sql`<>`, gt: sql`>`, gte: sql`>=`, lt: sql`<`, lte: sql`<=` };
/** A condition, in which what is looked for in a text is literal (MTR-17). */
function getCondition(operator: Operator, found: SQL, wanted: SQL, texts: { found: SQL; wanted: string }): SQL {
  if (operator === "like") return sql`strpos(${texts.found}, ${texts.wanted}::text) > 0`;
  if (operator === "not_like") return sql`strpos(${texts.found}, ${texts.wanted}::text) = 0`;
  return sql`${found} ${signs[operator]} ${wanted}`;
}
const buildTextCondition = (operator: Operator, found: SQL, wanted: string): SQL =>
  getCondition(operator, sql`${found} collate "C"`, sql`${wanted}::text`, { found, wanted });

function buildClauseSql(columns: Columns, { property, operator, value }: FilterClause): SQL {
  const place = getPlace(property);
  const text = getText(value);
  const number = String(Number(value));
  const numberCondition = (found: SQL) =>
    getCondition(operator, found, sql`${number}::numeric`, { found: sql`(${found})::text`, wanted: number });
  if ("builtIn" in place) {
    if (place.builtIn !== "timestamp")
      return typeof value === "string"
        ? buildTextCondition(operator, sql`${columns[place.builtIn]}`, text)
        : sql`false`;
    return typeof value === "number" ? numberCondition(getSeconds(columns)) : sql`false`;
  }
  const json = selectJsonAt(columns, place.path);
  const found = sql`(${json} #>> '{}')`;
  const flag = sql`case ${found} when 'true' then 1 else 0 end`;
  const boolean = getCondition(operator, flag, sql`${number}::int`, {
    found: sql`case ${found} when 'true' then 't' else 'f' end`,
    wanted: text,
  });
  // A case, because its branches alone are sure not to be computed for what is of another type.
  return sql`coalesce(case jsonb_typeof(${json})
    when 'string' then ${buildTextCondition(operator, found, text)}
    when 'number' then ${typeof value === "string" ? sql`false` : numberCondition(sql`${found}::numeric`)}
    when 'boolean' then ${typeof value === "boolean" ? boolean : sql`false`}
    else false end, false)`;
}

/** That an event is one that a filter takes. */
export function filterSql(columns: Columns, { conjunction, clauses }: Filter): SQL {
  if (clauses.length === 0) return sql`true`;
  const parts = clauses.map((clause) =>
    "clauses" in clause ? filterSql(columns, clause) : buildClauseSql(columns, clause),
  );
  return sql`(${sql.join(parts, conjunction === "and" ? sql` and ` : sql` or `)})`;
}

/** That a meter counts an event. */
export const matchSql = (columns: Columns, meter: Pick<Meter, "filter" | "aggregation">): SQL =>
  sql`(${inArray(columns.source, [...listCountedSources(meter)])} and ${filterSql(columns, meter.filter)})`;

/** What a meter takes of an event: a number, or of `unique` the value itself as JSON. Null where there is nothing. */
export function measureSql(columns: Columns, { aggregation }: Pick<Meter, "aggregation">): SQL {
  if (aggregation.func === "count") return sql`1::numeric`;
  const place = getPlace(aggregation.property);
  if (aggregation.func === "unique") {
    if ("path" in place) return sql`nullif(${selectJsonAt(columns, place.path)}, 'null'::jsonb)`;
    return sql`to_jsonb(${place.builtIn === "timestamp" ? getSeconds(columns) : columns[place.builtIn]})`;
  }
  if ("builtIn" in place)
    return place.builtIn === "timestamp" ? sql`${getSeconds(columns)}::numeric` : sql`null::numeric`;
  const json = selectJsonAt(columns, place.path);
  return sql`case when jsonb_typeof(${json}) = 'number' then (${json} #>> '{}')::numeric end`;
}

/** What a meter makes of many events, of what it takes of each. Of none it is 0 (MTR-19). */
export function aggregateSql(func: Meter["aggregation"]["func"], measure: SQL): SQL {
  if (func === "count" || func === "unique")
    return func === "count" ? sql`count(${measure})::numeric` : sql`count(distinct ${measure})::numeric`;
  return sql`coalesce(${sql.raw(func)}(${measure}), 0)::numeric`;
}

/** What is kept of a value to know it again: a digest of it as the database writes JSON. */
export const buildDigestSql = (json: SQL): SQL =>
  sql`encode(substr(sha256(convert_to(${json}::text, 'UTF8')), 1, 16), 'hex')::uuid`;

/** The sum of numbers, exact however they are written, as the database adds them up. */
export function addUp(values: readonly number[]): string {
  const whole = values.reduce((sum, value) => sum + value, 0);
  if (values.every(Number.isSafeInteger) && values.reduce((size, value) => size + Math.abs(value), 0) < 2 ** 53)
    return String(whole);
  const texts = values.map(formatDecimal);
  const scale = Math.max(...texts.map((text) => (text.split(".")[1] ?? "").length));
  let sum = 0n;
  for (const text of texts) {
    const [units = "", decimals = ""] = text.split(".");
    sum += BigInt(units + decimals.padEnd(scale, "0"));
  }
  return `${sum}e-${scale}`;
}

/** The keys of the metadata that meters read: those that they compare, and those that they add up. */
export function listProperties(meters: readonly Pick<Meter, "filter" | "aggregation">[]): string[] {
  const listFilterProperties = ({ clauses }: Filter): string[] =>
    clauses.flatMap((clause) => ("clauses" in clause ? listFilterProperties(clause) : [clause.property]));
  const read = meters.flatMap(({ filter, aggregation }) => [
    ...listFilterProperties(filter),
    ...("property" in aggregation ? [aggregation.property] : []),
  ]);
  return [...new Set(read)].flatMap((property) => {
    const place = getPlace(property);
    return "path" in place ? place.path.slice(0, 1) : [];
  });
}
