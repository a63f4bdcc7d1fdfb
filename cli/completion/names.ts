/** Names of what a seller has, for completion: from the server, kept for a few minutes. A failure shows no names. */
import { createHash } from "node:crypto";
import { type Context, listOrganizationsOfKey, listOwnOrganizations } from "../context.ts";
import { readInstalled } from "../extensions/installed.ts";
import { isFault } from "../fault.ts";
import type { GroupEntry, OperationEntry } from "../manifest.ts";
import { readProfileNames } from "../settings.ts";
import { loadThroughCache, type NameList } from "./cache.ts";
import type { Candidate, NameSource } from "./complete.ts";

const rowsMax = 100;
const nameMax = 120;
/** Characters that steer a terminal, end a line of the answer, or turn the direction of writing. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u;

type Row = Record<string, unknown>;

const isSafe = (text: string): boolean => text !== "" && text.length <= nameMax && !unsafe.test(text);

/** A text to be shown beside a name. */
const describeText = (text: unknown): string | undefined =>
  typeof text === "string" && text !== "" ? text.replace(new RegExp(unsafe, "gu"), " ").slice(0, nameMax) : undefined;

function describeInstalled(value: string, source: string): Candidate {
  const about = describeText(source);
  return { value, ...(about && { about }) };
}

const readPath = (row: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Row | null | undefined)?.[key], row);

/** A name of several fields has them with blanks between. */
const readName = (row: unknown, field: string): unknown =>
  field.includes(" ")
    ? field
        .split(" ")
        .map((path) => readPath(row, path))
        .join(" ")
    : readPath(row, field);

/** What people type for each of these things: its name, or its id where two have the same name or it has none. */
export function listRowNames(group: GroupEntry, columns: readonly string[], rows: readonly Row[]): Candidate[] {
  const [firstColumn = ""] = columns;
  const named = rows.map((row) => {
    const names = (group.namedBy ?? [])
      .map((field) => readName(row, field))
      .filter((one): one is string => typeof one === "string" && one !== "");
    return { row, name: names[0], other: names[1] };
  });
  const counts = new Map<string, number>();
  for (const { name } of named) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  return named.flatMap(({ row, name, other }) => {
    const isName = name !== undefined && counts.get(name) === 1 && isSafe(name);
    const value = isName ? name : row.id;
    if (typeof value !== "string" || !isSafe(value)) return [];
    const about = describeText(
      isName ? (other ?? group.noun) : (name ?? readPath(row, firstColumn.replace(/:.*/, ""))),
    );
    return [{ value, ...(about && { about }) }];
  });
}

async function fetchNames(
  context: Context,
  group: GroupEntry,
  list: OperationEntry,
  query: Record<string, unknown>,
): Promise<NameList> {
  const { method, path, ofPerson } = list;
  const call = { method, path, query: { limit: rowsMax, ...query }, organization: !ofPerson };
  const answer = (await context.call(call)) as { items?: Row[]; pagination?: { max_page?: number } };
  const columns = group.columnsOf?.[list.name] ?? group.columns;
  return {
    candidates: listRowNames(group, columns, answer.items ?? []),
    whole: (answer.pagination?.max_page ?? 1) <= 1,
  };
}

async function listOrganizations(context: Context): Promise<NameList> {
  const { apiKey, job } = context.settings();
  const all = (apiKey ?? job) ? await listOrganizationsOfKey(context) : await listOwnOrganizations(context);
  const candidates = all
    .filter(({ slug }) => isSafe(slug))
    .map(({ slug, name }): Candidate => ({ value: slug, ...(isSafe(name) && { about: name }) }));
  return { candidates, whole: true };
}

/** The names that one run of completion may ask for; `context` speaks to the server, within the time that it was given. */
export function createNameSource(context: Context, topics: () => Candidate[]): NameSource {
  const { env } = context.io;
  const load = (what: string, fetch: () => Promise<NameList>): Promise<NameList> => {
    const { server, apiKey, credential, org, organization } = context.settings();
    // Another key may see less: what one has fetched is not shown to another.
    const place = [server, apiKey ?? credential?.token ?? "", org ?? organization?.id ?? "", what];
    return loadThroughCache(env, createHash("sha256").update(JSON.stringify(place)).digest("hex"), fetch);
  };
  const loadQuietly = async (work: () => Promise<NameList>): Promise<Candidate[]> => {
    try {
      return (await work()).candidates;
    } catch (error) {
      // Not signed in, no network, a server that is too slow: a shell shows nothing then.
      if (isFault(error)) return [];
      throw error;
    }
  };
  return {
    topics,
    profiles: () =>
      readProfileNames(env)
        .filter(isSafe)
        .map((value) => ({ value })),
    extensions: () => Object.entries(readInstalled(env)).map(([value, { source }]) => describeInstalled(value, source)),
    organizations: () => loadQuietly(() => load("organizations", () => listOrganizations(context))),
    names: (name, prefix) =>
      loadQuietly(async () => {
        const group = context.manifest.group(name);
        const list = group?.operations.find(
          (op) => op.list && op.params.length === 0 && !op.query.some(({ required }) => required),
        );
        if (!group || !list) return { candidates: [], whole: true };
        const first = await load(name, () => fetchNames(context, group, list, {}));
        const isSearchable = prefix !== "" && !first.whole && list.query.some((flag) => flag.name === "query");
        if (!isSearchable) return first;
        return load(`${name} ${prefix}`, () => fetchNames(context, group, list, { query: prefix }));
      }),
  };
}
