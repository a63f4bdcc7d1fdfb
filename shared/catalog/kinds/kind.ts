/** What each kind of thing in a catalogue has to say of itself: one file beside this one for each. */
import { z } from "zod";
import { interval } from "../../api/fields.ts";
import { metadata as metadataIn } from "../../contract.ts";
import type { Fields } from "../compare.ts";
import { key } from "../key.ts";
import type { Path } from "../prices.ts";

/** The kinds, in the order in which one needs the other. */
export const kinds = [
  "meters",
  "benefits",
  "custom_fields",
  "products",
  "discounts",
  "checkout_links",
  "webhooks",
] as const;
export type Kind = (typeof kinds)[number];

/** How the server's ids are called in the file. */
export type Names = {
  keyOf(kind: Kind, id: string): string;
  fileName(id: string): string;
};
/** What the file calls a picture is no download of that name. */
export type FileService = "downloadable" | "product_media";
/** And back. */
export type Ids = {
  idOf(kind: Kind, key: string): string;
  fileId(name: string, service: FileService): string;
};
export type DocumentPlace = { kind: Kind; key: string };
export type Fault = { path: Path; message: string };
/** Notes a fault if the file has no such thing. */
export type Refer = (to: Kind, name: string, path: Path) => void;

export type CatalogKind<S extends z.ZodType, R> = {
  /** How a file writes one. */
  item: S;
  /** The body of its update, by which values become what the API would keep. */
  update: z.ZodObject;
  /** What the API would keep of properties of a type. */
  readProperties?: (type: never, given: Fields) => z.ZodSafeParseResult<object>;
  /** What a file wants of it; `standard` is the currency of a price that names none. */
  wantedFields(item: z.output<S>, key: string, standard: string): Fields;
  /** What the server has of it. */
  foundFields(row: R, names: Names): Fields;
  /** The body of a create or an update of these fields. */
  bodyOf(fields: Fields, ids: Ids, row?: R): Fields;
  /** All its fields as a file says them in the fewest words. */
  shorten(fields: Fields, key: string): Fields;
  /** What cannot change once it is made; with it the thing would have to be another one. */
  isFixed?: (field: string, found: Fields) => boolean;
  /** What it is called. */
  nameOf(fields: Fields): unknown;
  /** What its key is made of, where that is not its name. */
  keyFrom?: (fields: Fields) => unknown;
  /** The names in a file by which the server may know it already. */
  marksOf(item: Fields, key: string): unknown[];
  /** What two of them have in common that nobody gives to two. */
  likeness(fields: Fields): string[];
  /** What of the file it cannot be made without. */
  needs?: (item: Fields) => DocumentPlace[];
  /** What no single field can tell; paths begin at the thing. */
  findFaults?(item: z.output<S>, refer: Refer): Fault[];
  /** True where it is archived when the file has it no more, since it may be in use; others are deleted. */
  isArchived?: true;
  /** Its fields in the API whose place in the file is not simply their name. */
  placeOf?: (path: Path) => Path | undefined;
};
/** Only for its types. */
export const defineKind = <S extends z.ZodType, R>(kind: CatalogKind<S, R>): CatalogKind<S, R> => kind;

export const previously = z.array(key).optional().describe("Keys this had before; nothing is made anew.");
export const metadata = metadataIn.optional().describe("Keys and values of your own.");

const trialCount = z.int().min(1).max(1000);
const trialUnits = { days: "day", weeks: "week", months: "month", years: "year" } as const;
type TrialUnit = keyof typeof trialUnits;

/** A trial: `14days` as on the command line, `{ days: 14 }` as a discount's months, or as the API has it. */
export const Trial = z
  .union(
    [
      z.strictObject({ interval, count: trialCount }),
      z
        .string()
        .regex(/^\s*[1-9]\d{0,2}\s*(day|week|month|year)s?\s*$/)
        .transform((text) => ({
          interval: (/[a-z]+?(?=s?\s*$)/.exec(text)?.[0] ?? "day") as z.output<typeof interval>,
          count: Number.parseInt(text, 10),
        })),
      ...(Object.keys(trialUnits) as TrialUnit[]).map((unit) =>
        z
          .strictObject({ [unit]: trialCount })
          .transform((fields) => ({ interval: trialUnits[unit], count: Number(fields[unit]) })),
      ),
    ],
    { error: "Written as 14days, { days: 14 } or { interval: day, count: 14 }." },
  )
  .nullable();

/** A text that says something, in small letters; otherwise nothing. */
export const readMark = (value: unknown): string[] =>
  typeof value === "string" && value !== "" ? [value.toLowerCase()] : [];

/** Things of a kind that are named by their keys; what is no name is left out. */
export const listPlaces = (kind: Kind, value: unknown): DocumentPlace[] =>
  [value].flat().flatMap((name) => (typeof name === "string" ? [{ kind, key: name }] : []));

/** A trial as the API takes it. */
export function writeTrial(trial: unknown): Fields {
  if (trial === undefined) return {};
  const { interval: every = null, count = null } = (trial ?? {}) as { interval?: string; count?: number };
  return { trial_interval: every, trial_interval_count: count };
}

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** Without what says nothing, and what is so when nobody says otherwise. */
export const omitDefaults = (fields: Fields, standards: Fields = {}): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isNothing(value) && value !== standards[name]));
