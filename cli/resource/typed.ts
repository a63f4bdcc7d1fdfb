/** What was typed, where in the request it went, and back: a fault of the server is told by what was typed. */
import { Fault } from "../fault.ts";
import type { OperationEntry } from "../manifest.ts";
import { isMap } from "./maps.ts";
import type { Shorthand } from "./shorthand.ts";

type Place = (string | number)[];
/** One flag as it was typed, and the places of the body that it wrote; `text` where it is a shorthand. */
export type TypedInput = { flag: string; text?: string; short?: Shorthand; places: Place[] };

const quote = (text: string): string => (/[\s"'$!]/.test(text) ? `'${text}'` : text);
const restoreWrittenPath = ({ flag, text }: TypedInput): string => (text ? `${flag} ${quote(text)}` : flag);

/** Put what a flag says to what was said before: lists add up, and nothing may be said in two ways. */
export function join(
  said: Record<string, unknown>,
  fields: Record<string, unknown>,
  typed: TypedInput,
): Record<string, unknown> {
  const whole = { ...said };
  for (const [name, value] of Object.entries(fields)) {
    const before = whole[name];
    if (before === undefined) whole[name] = value;
    else if (Array.isArray(before) && Array.isArray(value)) whole[name] = [...before, ...value];
    else if (isMap(before) && isMap(value)) whole[name] = join(before, value, typed);
    else if (before !== value)
      throw new Fault(
        "usage",
        `${restoreWrittenPath(typed)} says ${String(value)} for the ${name.replaceAll("_", " ")}, where ${String(before)} was said before`,
      );
  }
  return whole;
}

/** Where these fields come to stand, joined to what was said before. */
export function findPlaces(fields: Record<string, unknown>, said: unknown, at: Place = []): Place[] {
  return Object.entries(fields).flatMap(([name, value]): Place[] => {
    const place = [...at, name];
    const before = isMap(said) ? said[name] : undefined;
    if (isMap(value)) return findPlaces(value, before, place);
    if (!Array.isArray(value)) return [place];
    const first = Array.isArray(before) ? before.length : 0;
    return value.map((_, index) => [...place, first + index]);
  });
}

/** What stands at a place; undefined where there is nothing. */
export const getValueAt = (body: unknown, [name, ...rest]: string[]): unknown =>
  name === undefined ? body : isMap(body) ? getValueAt(body[name], rest) : undefined;

const hasPrefix = (place: Place, other: Place): boolean => place.every((part, index) => part === other[index]);

/** The flag that wrote a place, with what was typed. */
function flagOf(place: Place, op: OperationEntry, typed: TypedInput[]): string | undefined {
  let found: { one: TypedInput; at: Place } | undefined;
  for (const one of typed) {
    for (const at of one.places) if (hasPrefix(at, place) && at.length > (found?.at.length ?? 0)) found = { one, at };
  }
  if (found && !found.one.short) return undefined;
  if (found) {
    const { one, at } = found;
    // Of a list, which of the items that this text wrote.
    const first = one.places.find((other) => typeof other.at(-1) === "number")?.at(-1);
    const last = at.at(-1);
    const inside = typeof last === "number" && typeof first === "number" ? [last - first] : [];
    const part = one.short?.part?.(one.text ?? "", [...inside, ...place.slice(at.length)]);
    return part ? `${restoreWrittenPath(one)} (${part})` : restoreWrittenPath(one);
  }
  // Nothing wrote it, so it is missing, or is about all that the field holds.
  const written = new Set(typed.map(({ flag }) => flag));
  const could = (op.body ?? [])
    .flatMap(({ shorts }) => shorts ?? [])
    .filter(({ writes }) => hasPrefix(writes[0].split("."), place) || hasPrefix(place, writes[0].split(".")));
  const short = could.find(({ flag }) => written.has(`--${flag}`)) ?? could[0];
  return short && (could.length === 1 || hasPrefix(short.writes[0].split("."), place)) ? `--${short.flag}` : undefined;
}

/** A fault that names flags as they were typed: what is wrong with `prices[1]` was said by the second `--price`. */
export function translateFault(fault: Fault, op: OperationEntry, typed: TypedInput[]): Fault {
  const { faults, places } = fault.parts;
  if (!faults || !places) return fault;
  const told = faults.map((one, index) => {
    const [where, ...place] = places[index]?.loc ?? [];
    return where === "body" ? { ...one, flag: flagOf(place, op, typed) ?? one.flag } : one;
  });
  return new Fault(fault.kind, fault.message, { ...fault.parts, faults: told });
}
