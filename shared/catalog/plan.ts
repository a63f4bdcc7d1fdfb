import { quote } from "../shell.ts";
import { readWantedFields } from "./canonical.ts";
import { type Fields, isSameField } from "./compare.ts";
import type { Catalog } from "./document.ts";
import { getKind, type Item, type Rows } from "./kinds/index.ts";
import { type FileService, type Ids, type Kind, kinds, type Names } from "./kinds/kind.ts";

/** Which thing of the server a key stands for. */
export type Entry = { kind: Kind; key: string; id: string };

/** What is there: the things that the catalogue names, and those that could be taken for them. */
export type Current = {
  /** The currency of prices that name none. */
  currency: string;
  entries: Entry[];
  rows: { [K in Kind]: Rows[K][] };
  files: { id: string; name: string; service: string }[];
};

export type Change = { field: string; from: unknown; to: unknown };
export type Action = "create" | "update" | "rename" | "archive" | "delete";
export type Step = {
  action: Action;
  kind: Kind;
  key: string;
  id: string | null;
  name: string;
  changes: Change[];
  /** What it means for others, with how many are concerned. */
  impact: { what: string; count: number }[];
  /** What the action alone does not tell. */
  note?: string;
};
export type Issue = {
  code: "looks_like" | "immutable" | "unknown_file" | "ambiguous_file" | "refused";
  path: string;
  message: string;
  hint?: string;
};
export type Plan = {
  steps: Step[];
  issues: Issue[];
  unchanged: number;
  /** Keys that the file no longer has. Without pruning they are left alone. */
  missing: { kind: Kind; key: string }[];
};

const getName = (kind: Kind, row: Rows[Kind] | undefined, item: Fields | undefined, key: string): string => {
  const name = getKind(kind).nameOf({ ...row, ...item });
  return typeof name === "string" && name !== "" ? name : key;
};

/** Names as the file has them; what it does not know is called by its id, which no key can be. */
export function readNames(current: Current): Names {
  const keys = new Map(current.entries.map(({ kind, key, id }) => [`${kind} ${id}`, key]));
  const files = new Map(current.files.map(({ id, name }) => [id, name]));
  return { keyOf: (kind, id) => keys.get(`${kind} ${id}`) ?? `#${id}`, fileName: (id) => files.get(id) ?? `#${id}` };
}

/** The keys of the entries once the file's renames are done. */
function renameEntries(catalog: Catalog, current: Current): Entry[] {
  const heirs = new Map<string, string>();
  for (const kind of kinds)
    for (const [key, item] of Object.entries((catalog[kind] ?? {}) as Record<string, Item>))
      for (const old of item.previously ?? []) if (!heirs.has(`${kind} ${old}`)) heirs.set(`${kind} ${old}`, key);
  const taken = new Set(current.entries.map(({ kind, key }) => `${kind} ${key}`));
  return current.entries.map((entry) => {
    const { kind, key } = entry;
    const heir = heirs.get(`${kind} ${key}`);
    const stays = (catalog[kind] as Record<string, Item> | undefined)?.[key] !== undefined;
    return stays || heir === undefined || taken.has(`${kind} ${heir}`) ? entry : { ...entry, key: heir };
  });
}

/** What a plan looks up of one kind. */
function indexKind(kind: Kind, current: Current, entries: readonly Entry[], names: Names) {
  const rows: Rows[Kind][] = current.rows[kind];
  const keyed = new Map(current.entries.filter((entry) => entry.kind === kind).map(({ id, key }) => [id, key]));
  const { likeness, foundFields } = getKind(kind);
  const alike = new Map<string, { row: Rows[Kind]; place: number }>();
  for (const [place, row] of rows.entries())
    if (!keyed.has(row.id))
      for (const mark of likeness(foundFields(row, names))) if (!alike.has(mark)) alike.set(mark, { row, place });
  return {
    // Of two that are renamed to one key, the first has it.
    entries: new Map(
      entries
        .filter((entry) => entry.kind === kind)
        .reverse()
        .map((entry) => [entry.key, entry]),
    ),
    rows: new Map(rows.map((row) => [row.id, row])),
    keyBefore: (id: string) => keyed.get(id),
    /** The first of the rows without a key that has one of these marks. */
    findAlike: (marks: readonly string[]): Rows[Kind] | undefined =>
      marks
        .flatMap((mark) => alike.get(mark) ?? [])
        .sort((a, b) => a.place - b.place)
        .map(({ row }) => row)[0],
  };
}
type KindIndex = ReturnType<typeof indexKind>;

/**
 * What to do, in which order, so that the server has what the file says. Decides alone: it asks nobody and changes nothing. It
 * stops after each entry, so that a server can do something else in between.
 */
export function* planCatalog(catalog: Catalog, current: Current, prune: boolean): Generator<void, Plan> {
  // A renamed thing is called by its new key from here on, by whatever else refers to it too.
  const entries = renameEntries(catalog, current);
  const names = readNames({ ...current, entries });
  const filesByName = Map.groupBy(current.files, ({ name }) => name);
  const indexes = new Map<Kind, KindIndex>();
  const plan: Plan = { steps: [], issues: [], unchanged: 0, missing: [] };
  for (const kind of kinds) {
    const items = (catalog[kind] ?? {}) as Record<string, Item>;
    const index = indexKind(kind, current, entries, names);
    indexes.set(kind, index);
    for (const [key, item] of Object.entries(items)) {
      yield;
      const entry = index.entries.get(key);
      const want = readWantedFields(kind, key, item, current.currency);
      plan.issues.push(...listFileIssues(kind, key, want, filesByName));
      const row = entry && index.rows.get(entry.id);
      if (!entry || !row) {
        create(kind, key, want, index);
        continue;
      }
      const before = index.keyBefore(entry.id);
      if (before !== undefined && before !== key)
        plan.steps.push(getStep("rename", kind, key, row, [{ field: "key", from: before, to: key }]));
      compare(kind, key, want, row);
    }
    for (const { key, id } of entries.filter((entry) => entry.kind === kind && !items[entry.key])) {
      yield;
      const row = index.rows.get(id);
      // What was deleted by hand, or is put away, is gone as far as it can be.
      if (row && getKind(kind).foundFields(row, names).archived !== true) plan.missing.push({ kind, key });
    }
  }
  if (prune) planRemovals();
  return plan;

  function getStep(
    action: Action,
    kind: Kind,
    key: string,
    row: Rows[Kind] | undefined,
    changes: Change[],
    item?: Fields,
  ): Step {
    return { action, kind, key, id: row?.id ?? null, name: getName(kind, row, item, key), changes, impact: [] };
  }

  function create(kind: Kind, key: string, want: Fields, index: KindIndex): void {
    const like = index.findAlike(getKind(kind).likeness(want));
    if (like) {
      plan.issues.push({
        code: "looks_like",
        path: `${kind}.${key}`,
        message: `${getName(kind, like, undefined, key)} (${like.id}) looks like ${kind}.${key}, and is in no catalogue.`,
        hint: `floe adopt ${kind}.${key} ${like.id}`,
      });
      return;
    }
    const changes = Object.entries(want).map(([field, to]) => ({ field, from: null, to }));
    const step = getStep("create", kind, key, undefined, changes, want);
    plan.steps.push(index.entries.has(key) ? { ...step, note: "It was deleted by hand, and is made anew." } : step);
  }

  function compare(kind: Kind, key: string, want: Fields, row: Rows[Kind]): void {
    const have = getKind(kind).foundFields(row, names);
    const changes = Object.entries(want)
      .filter(([field, value]) => !isSameField(field, value, have[field]))
      .map(([field, to]) => ({ field, from: have[field] ?? null, to }));
    const fixed = changes.filter(({ field }) => getKind(kind).isFixed?.(field, have));
    for (const { field, from, to } of fixed)
      plan.issues.push({
        code: "immutable",
        path: `${kind}.${key}.${field}`,
        message: `${field} cannot change from ${JSON.stringify(from)} to ${JSON.stringify(to)} once it is made.`,
        hint: `Give it another key, and take ${key} out or archive it.`,
      });
    if (changes.length === 0) plan.unchanged += 1;
    else if (fixed.length === 0) plan.steps.push(getStep("update", kind, key, row, changes));
  }

  /** Deleted first, since what comes may take over its code or slug; put away last, when nothing needs it any more. */
  function planRemovals(): void {
    const [deleted, archived]: [Step[], Step[]] = [[], []];
    for (const { kind, key } of [...plan.missing].reverse()) {
      const index = indexes.get(kind);
      const row = index?.rows.get(index.entries.get(key)?.id ?? "");
      if (getKind(kind).isArchived)
        archived.push(getStep("archive", kind, key, row, [{ field: "archived", from: false, to: true }]));
      else deleted.push(getStep("delete", kind, key, row, []));
    }
    plan.steps = [...deleted, ...plan.steps, ...archived];
  }
}

const uses: Record<FileService, string> = { product_media: "a picture", downloadable: "a download" };

function listFileIssues(
  kind: Kind,
  key: string,
  want: Fields,
  filesByName: ReadonlyMap<string, Current["files"]>,
): Issue[] {
  const properties = want.properties as Fields | undefined;
  const listFileFaults = (field: string, list: unknown, service: FileService) =>
    (Array.isArray(list) ? list.map(String) : []).map((name, index) => ({ name, service, at: `${field}.${index}` }));
  const all = [
    ...listFileFaults("medias", want.medias, "product_media"),
    ...listFileFaults("properties.files", properties?.files, "downloadable"),
    ...listFileFaults("properties.archived", properties?.archived, "downloadable"),
  ];
  return all.flatMap(({ name, service, at }): Issue[] => {
    const called = filesByName.get(name) ?? [];
    const [only, ...others] = called.filter((file) => file.service === service);
    if (only && others.length === 0) return [];
    const path = `${kind}.${key}.${at}`;
    if (only)
      return [
        {
          code: "ambiguous_file",
          path,
          message: `${others.length + 1} uploaded files are called "${name}".`,
          hint: `floe files update ${only.id} --name ${quote(`2 ${name}`)}`,
        },
      ];
    const what = called.length > 0 ? `"${name}" is uploaded, but not as ${uses[service]}.` : undefined;
    const how = service === "downloadable" ? "" : ` --service ${service}`;
    const hint = `floe files upload ${quote(name)}${how}`;
    return [{ code: "unknown_file", path, message: what ?? `There is no uploaded file "${name}".`, hint }];
  });
}

/** The body of a step, once everything before it is done. */
export function buildStepBody(step: Step, row: Rows[Kind] | undefined, ids: Ids): Fields {
  const { bodyOf } = getKind(step.kind);
  const fields = Object.fromEntries(step.changes.map(({ field, to }) => [field, to]));
  // The properties of a benefit or field are replaced as a whole, so what the file does not name goes along.
  if (step.action === "update" && fields.properties && row && "properties" in row) {
    const kept: Fields = { ...row.properties };
    const sent = bodyOf({ properties: fields.properties }, ids).properties as Fields;
    const { properties: _, ...rest } = fields;
    return { ...bodyOf(rest, ids, row), properties: { ...kept, ...sent } };
  }
  return bodyOf(fields, ids, row);
}
