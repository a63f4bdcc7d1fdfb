/** `--override data.customer.email=ada@example.com`: values of the event, set on the objects that the event is about. */
import { Fault } from "../fault.ts";

export type Override = { path: string[]; value: unknown };
type Row = Record<string, unknown>;

const example = "For example: `floe trigger order.paid --override data.customer.email=ada@example.com`";
const overridesMax = 50;
const forbidden = new Set(["__proto__", "constructor", "prototype"]);

/** Read one override. A value that is JSON is taken as such, everything else as text. */
export function parseOverride(text: string): Override {
  const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  const [root, ...path] = name.split(".");
  if (root !== "data" || path.length === 0 || path.some((key) => key === "" || forbidden.has(key)))
    throw new Fault("usage", `--override ${text}: must be data.FIELD=VALUE`, { hint: example });
  return { path, value: parseValue(value) };
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function parseOverrides(texts: readonly string[]): Override[] {
  if (texts.length > overridesMax) throw new Fault("usage", `--override: at most ${overridesMax} of them`);
  return texts.map(parseOverride);
}

/** Those of the overrides that are about an object: of `customer` all that begin with `data.customer`, without these words. */
export const selectOverrides = (overrides: readonly Override[], object: string): Override[] =>
  overrides.flatMap(({ path: [first, ...path], value }) =>
    first === object && path.length > 0 ? [{ path, value }] : [],
  );

/** A body with the values that are overridden. */
export function applyOverrides(body: Row, overrides: readonly Override[]): Row {
  return overrides.reduce<Row>((all, { path, value }) => setValue(all, path, value), body);
}

function setValue(row: Row, [key = "", ...rest]: string[], value: unknown): Row {
  if (rest.length === 0) return { ...row, [key]: value };
  const inner = row[key];
  const isRow = typeof inner === "object" && inner !== null && !Array.isArray(inner);
  return { ...row, [key]: setValue(isRow ? (inner as Row) : {}, rest, value) };
}

/** The overrides that an event does not have: what it says there follows from something else. */
export const listIgnored = (data: unknown, overrides: readonly Override[]): string[] =>
  overrides
    .filter(({ path, value }) => {
      const found = path.reduce<unknown>((row, key) => (row as Row | null | undefined)?.[key], data);
      return JSON.stringify(found) !== JSON.stringify(value);
    })
    .map(({ path }) => `data.${path.join(".")}`);
