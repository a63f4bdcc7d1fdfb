/** A flag that people type in place of fields that are hard to write. */
import { isUuid } from "../../shared/uuid.ts";
import { Fault } from "../fault.ts";
import { isMap } from "./maps.ts";

/** How the text of a flag becomes a value of the wire. */
export type Kind = "text" | "integer" | "number" | "boolean" | "list" | "map" | "json";

/** The currency of an amount that names none, for those who need to know. */
export type DefaultValue = () => string;

/** Either `read` says what a text means, or it is one value of a `kind` for the first place in `writes`. */
export type Shorthand = {
  flag: string;
  placeholder?: string;
  description: string;
  /** The fields it may write, dotted; the first one it always does. */
  writes: [string, ...string[]];
  read?(text: string, standard: DefaultValue): Record<string, unknown>;
  kind?: Kind;
  choices?: string[];
  /** Of which commands a value is a name or id, as `Named` has it. */
  refers?: string;
  /** Repeated, it adds; otherwise the last one counts. */
  many?: true;
  /** `none` clears it. */
  nullable?: true;
  /** The types that have such a field. */
  of?: string[];
  /** What else is so, where nothing else was said: place → value. */
  fills?: Record<string, unknown>;
  /** Which part of the text a place inside of what it wrote comes from; of a list, it begins with the item. */
  part?(text: string, place: (string | number)[]): string | undefined;
};

/** A thing named by what a person calls it, until its id is known. */
export class NamedReference {
  readonly group: string;
  readonly name: string;
  constructor(group: string, name: string) {
    this.group = group;
    this.name = name;
  }
}

/** An amount as it was typed, until the currency is known that it is in. */
export class WrittenAmount {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An id as it is; anything else is a name of something in this group of commands. */
export const readIdOrName = (group: string, text: string): string | NamedReference =>
  isUuid(text) ? text : new NamedReference(group, text);

/** A usage error about what was typed: what is wrong, and how it is written. */
export const rejectText = (text: string, why: string, how: string): never => {
  throw new Fault("usage", `"${text}" ${why}`, { hint: how });
};

/** Every name in what is to be sent. */
export function findNames(value: unknown): NamedReference[] {
  if (value instanceof NamedReference) return [value];
  if (Array.isArray(value)) return value.flatMap(findNames);
  return isMap(value) ? Object.values(value).flatMap(findNames) : [];
}
