/** Texts as values of the wire. */
import { readFileSync } from "node:fs";
import { InvalidArgumentError } from "commander";
import { findNearest } from "../../shared/nearest.ts";
import { parseWrittenAmount } from "../../shared/written-amount.ts";
import type { FlagEntry } from "../manifest.ts";
import { readAmount } from "./amounts.ts";
import { isMap, mergeDeep, nestEntries } from "./maps.ts";
import { WrittenAmount } from "./shorthand.ts";

/** Text, the content of `@file`, or of standard input (`-`), as JSON. */
export function readJson(text: string, readStdin: () => string = () => readFileSync(0, "utf8")): unknown {
  let source = text;
  try {
    if (text === "-") source = readStdin();
    else if (text.startsWith("@")) source = readFileSync(text.slice(1), "utf8");
  } catch (error) {
    throw new InvalidArgumentError(`cannot read ${text} (${(error as NodeJS.ErrnoException).code}).`);
  }
  try {
    return JSON.parse(source) as unknown;
  } catch (error) {
    throw new InvalidArgumentError(`is not JSON: ${(error as Error).message}.`);
  }
}

const isScalar = (text: string): unknown =>
  /^(true|false|-?\d{1,15}(\.\d+)?)$/.test(text) ? (JSON.parse(text) as unknown) : text;

/** `key=value`, several of them, or one JSON object. */
function readMap(
  { keys, money }: FlagEntry,
  text: string,
  before: Record<string, unknown> = {},
): Record<string, unknown> {
  if (text.startsWith("{") || text.startsWith("@")) {
    const value = readJson(text);
    if (isMap(value)) return { ...before, ...value };
    throw new InvalidArgumentError("is not a JSON object.");
  }
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("is written as key=value, or as a JSON object.");
  const [key, value] = [text.slice(0, at), text.slice(at + 1)];
  // Money of a map is keyed by its currency.
  if (money) return { ...before, [key]: readAmount(value, key) };
  if (!keys) return { ...before, [key]: isScalar(value) };
  const kind = keys[key];
  if (!kind) throw new InvalidArgumentError(`has no ${key}. There are: ${Object.keys(keys).join(", ")}.`);
  const read = readValue({ name: key, kind: kind === "map" ? "json" : kind }, value);
  return mergeDeep(before, nestEntries(key.split("."), read)) as Record<string, unknown>;
}

function readNumber(text: string, integer: boolean): number {
  if (!(integer ? /^-?\d{1,15}$/ : /^-?\d+(\.\d+)?$/).test(text)) {
    throw new InvalidArgumentError(integer ? "is not a whole number." : "is not a number.");
  }
  return Number(text);
}

/** What looks like an amount, or like a part of one; whether it is one says the currency, which is not known yet. */
function readWritten(text: string): WrittenAmount {
  const trimmed = text.trim().toLowerCase();
  if (parseWrittenAmount(trimmed) || /^(all|\d+(\.\d+)?\s*%)$/.test(trimmed)) return new WrittenAmount(trimmed);
  throw new InvalidArgumentError("is not an amount. Write 24.50, or 24.50eur.");
}

function readChoice(text: string, choices: string[] | undefined): string {
  if (!choices || choices.includes(text)) return text;
  const shown = choices.length > 20 ? `${choices.slice(0, 20).join(", ")}, …` : choices.join(", ");
  const [near] = findNearest(text, choices);
  throw new InvalidArgumentError(near ? `is not known. Did you mean ${near}?` : `is none of ${shown}.`);
}

function readBoolean(text: string): boolean {
  if (text === "" || text === "true") return true;
  if (text === "false") return false;
  throw new InvalidArgumentError("is true or false.");
}

/** What stands between commas; one that is part of a name is written as `\,`. */
const splitList = (text: string): string[] => text.split(/(?<!\\),/).map((one) => one.replaceAll("\\,", ","));

/** One value of a flag as it goes on the wire; `before` is what the same flag said earlier on the line. */
export function readValue(entry: FlagEntry, text: string, before?: unknown): unknown {
  if (entry.nullable && text === "none") return null;
  if (entry.money && entry.kind === "integer") return readWritten(text);
  switch (entry.kind) {
    case "integer":
    case "number":
      return readNumber(text, entry.kind === "integer");
    case "boolean":
      return readBoolean(text);
    case "list":
      return [
        ...((before as string[] | undefined) ?? []),
        ...splitList(text)
          .filter(Boolean)
          .map((one) => readChoice(one, entry.choices)),
      ];
    case "map":
      return readMap(entry, text, before as Record<string, unknown> | undefined);
    case "json":
      return readJson(text);
    default:
      return readChoice(text, entry.choices);
  }
}
