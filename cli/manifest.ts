import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Kind, Shorthand } from "./resource/shorthand.ts";

/** One field of a request, as a flag. */
export type FlagEntry = {
  /** The wire's name: `price_currency`. */
  name: string;
  kind: Kind;
  choices?: string[];
  description?: string;
  required?: true;
  /** `none` clears it. Not of free text, which may well be "none". */
  nullable?: true;
  /** Of a text: the least and the most characters, where a short one is not enough. */
  length?: [number, number];
  /** Of a map: the keys there are, dotted, each with the kind of its value. Without it any key may stand. */
  keys?: Record<string, Kind>;
  /** Of a map: the server takes it whole, so what a flag does not say is said as it is. */
  whole?: true;
  /** The names of the shorthands (`cli/resource/shorthands.ts`) that write this field, or parts of it. */
  shorthands?: string[];
  /** The same, as `addShorthands` put them there. */
  shorts?: Shorthand[];
  /** It is an amount: in minor units on the wire, typed as people write amounts. Of a map, its values are. */
  money?: true;
  /** It holds ids of things of this group of commands; names of them are taken too. */
  refers?: string;
  /** Not a field of this command: it is sent afterwards, by this other command of the group. */
  sentBy?: string;
};

/** One command made from one operation of the contract. */
export type OperationEntry = {
  name: string;
  summary: string;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  params: string[];
  query: FlagEntry[];
  body?: FlagEntry[];
  /** Fields that are always sent: what `archive` means. */
  preset?: Record<string, unknown>;
  /** The question asked before it goes ahead. */
  confirm?: string;
  /** What is said when it is done and there is nothing to show. */
  done?: string;
  list?: true;
  /** It answers with a file. */
  file?: true;
  /** The field of its answer that is an address, which --open opens. */
  opens?: string;
  /** The id in its path is the organization in use. */
  current?: true;
  ofPerson?: true;
  /** Any one of these scopes suffices. */
  scopes?: readonly string[];
  /** All of these are needed besides. */
  needs?: readonly string[];
  examples?: string[];
};

/** One group of commands, and how its rows look in a table: `name` or `name:kind`. */
export type GroupEntry = {
  name: string;
  summary: string;
  /** One of them, in words. */
  noun: string;
  columns: string[];
  columnsOf?: Record<string, string[]>;
  /** Commands that hold others, whose names begin with theirs: what each is for. */
  parts?: Record<string, string>;
  /** What to do with one that was just made. */
  next?: string;
  /** The fields by which people call one of them, where it can be named in place of its id. */
  namedBy?: string[];
  /** The group by whose names its list is searched, as it knows none itself. */
  through?: string;
  /** Of which group the things are whose id its paths begin with, where that is another. */
  within?: string;
  operations: OperationEntry[];
};

/** The groups that were made from the contract; enough for `floe --help`. */
type IndexEntry = { groups: { name: string; summary: string }[] };

/** Where the generated command descriptions come from: files beside the program, or memory in tests. */
export type Manifest = {
  index(): IndexEntry;
  group(name: string): GroupEntry | undefined;
  /** The fields an operation answers with, dotted: what `--json` can pick from. */
  fields(group: string, operation: string): string[] | undefined;
  /** Another file that the build wrote: the tree of commands, topics, schemas. Undefined where it is missing. */
  read(name: string): unknown;
};

const read = (folder: string, name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));

/** The manifest written by the build; each group is a file of its own, so that one command reads one small file. */
export function openManifest(folder: string): Manifest {
  const groupRows = (): IndexEntry => read(folder, "index.json") as IndexEntry;
  return {
    index: groupRows,
    group: (name) => {
      if (!/^[a-z][a-z-]*$/.test(name)) return undefined;
      try {
        return read(folder, `${name}.json`) as GroupEntry;
      } catch {
        return undefined;
      }
    },
    fields: (group, operation) =>
      (read(folder, "fields.json") as Record<string, Record<string, string[]>>)[group]?.[operation],
    read: (name) => {
      try {
        return read(folder, `${name}.json`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}
