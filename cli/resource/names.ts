/** Names in place of ids: what people call a thing is looked up before anything is sent. */
import { countMistakes, measureDistance } from "../../shared/nearest.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { GroupEntry } from "../manifest.ts";
import { isMap } from "./maps.ts";
import { findNames, NamedReference, readIdOrName } from "./shorthand.ts";

type Row = Record<string, unknown> & { id: string };
type Page = { items?: Row[]; pagination?: { max_page?: number } };

const pageSize = 100;
/** Of a list that cannot be searched, this many pages are looked through. */
const pagesMax = 20;
const shownMax = 5;

/** `API calls` and `api-calls` are the same name to whoever types one of them. */
const toSlug = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
/** The shown part of a license key is its name, and a shell reads the stars before it as a pattern. */
const removeMask = (text: string): string => text.replace(/^\*+-/, "").toUpperCase();
const ways: ((text: string) => string)[] = [(text) => text, (text) => text.toLowerCase(), toSlug, removeMask];

/** Whether it is out of use: archived, or a subscription that has ended. */
const isArchived = (row: Row): boolean => row.is_archived === true || Boolean(row.archived_at) || Boolean(row.ended_at);

const readPath = (row: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (isMap(value) ? value[key] : undefined), row);

/** The things of one group, as far as they were asked for. */
class Things {
  readonly #context: Context;
  readonly #group: GroupEntry;
  readonly #list: GroupEntry["operations"][number];
  constructor(context: Context, group: GroupEntry, list: GroupEntry["operations"][number]) {
    this.#context = context;
    this.#group = group;
    this.#list = list;
  }

  /** The filter of the list that finds a name: a search, or the one by the very field. */
  get #filter(): string | undefined {
    const asked = ["query", ...(this.#group.namedBy ?? [])];
    return asked.find((field) => this.#list.query.some(({ name }) => name === field));
  }

  async #page(name: string, query: Record<string, unknown>): Promise<Page> {
    const { method, path } = this.#list;
    try {
      return ((await this.#context.call({ method, path, query: { limit: pageSize, ...query } })) ?? {}) as Page;
    } catch (error) {
      if (!(error instanceof Fault) || error.kind !== "not_permitted") throw error;
      const what = `the ${this.#group.noun} "${name}" cannot be looked up: ${error.message}`;
      throw new Fault(error.kind, what, { ...error.parts, hint: "Give its id, or use a key that may read them." });
    }
  }

  /** Those that a name may mean, and whether they are all there are. */
  async #candidates(name: string, several: boolean): Promise<{ rows: Row[]; all: boolean }> {
    if (this.#group.through)
      return { rows: several ? [] : await this.#listThrough(name, this.#group.through), all: false };
    const filter = this.#filter;
    if (filter && !several) return { rows: (await this.#page(name, { [filter]: name })).items ?? [], all: false };
    const { items = [], pagination } = await this.#page(name, {});
    const last = pagination?.max_page ?? 1;
    if (last <= 1) return { rows: items, all: true };
    if (filter) return { rows: [], all: false };
    const rows = [...items];
    for (let page = 2; page <= Math.min(last, pagesMax); page++)
      rows.push(...((await this.#page(name, { page })).items ?? []));
    return { rows, all: true };
  }

  /** Those of what the first word of a name means in another group, such as the subscriptions of a customer. */
  async #listThrough(name: string, through: string): Promise<Row[]> {
    const [word = ""] = name.split(/\s/);
    const [owners, field] = [getThings(this.#context, through), `${through.replace(/s$/, "")}_id`];
    const ids = (await owners.#candidates(word, false)).rows.map(({ id }) => id);
    return ids.length === 0 ? [] : ((await this.#page(name, { [field]: ids })).items ?? []);
  }

  #names(row: Row): string[] {
    return (this.#group.namedBy ?? []).flatMap((field) => {
      const values = field.split(" ").map((path) => readPath(row, path));
      return values.every((value) => typeof value === "string" && value !== "") ? [values.join(" ")] : [];
    });
  }

  #matching(rows: Row[], name: string): Row[] {
    for (const way of ways) {
      const found = rows.filter((row) => this.#names(row).some((one) => way(one) === way(name)));
      if (found.length > 0) return found;
    }
    return [];
  }

  /** The ids of these names; a name that is not there or means several things is a fault. */
  async ids(names: string[], archived: boolean): Promise<Map<string, Row | Fault>> {
    const found = new Map<string, Row | Fault>();
    const first = names.length > 1 ? await this.#candidates(names[0] ?? "", true) : undefined;
    for (const name of names) {
      const near = first?.all ? first : await this.#candidates(name, false);
      let rows = this.#matching(near.rows, name);
      let others = near;
      if (rows.length === 0 && !near.all) {
        // Written otherwise it is not found by all of its letters, but by its longest word.
        const word = (name.match(/[\p{L}\p{N}]+/gu) ?? []).reduce((a, b) => (b.length > a.length ? b : a), "");
        if (word !== "" && word !== name && this.#filter === "query")
          rows = this.#matching((await this.#page(name, { query: word })).items ?? [], name);
        if (rows.length === 0) others = { rows: (await this.#page(name, {})).items ?? [], all: false };
      }
      found.set(name, this.#only(rows, name, archived) ?? this.#unknown(name, others.rows));
    }
    return found;
  }

  /** The ids of others in use with the first name of a row. */
  async namesakes(row: Row): Promise<string[]> {
    const [name] = this.#names(row);
    const filter = this.#filter;
    if (name === undefined || filter === undefined) return [];
    const { items = [] } = await this.#page(name, { [filter]: name });
    return this.#matching(items, name).flatMap((one) => (one.id === row.id || isArchived(one) ? [] : [one.id]));
  }

  /** The one row, or why it is not one. */
  #only(rows: Row[], name: string, archived: boolean): Row | Fault | undefined {
    const inUse = archived && !this.#group.through ? rows : rows.filter((row) => !isArchived(row));
    const [only, ...more] = inUse.length === 1 ? inUse : rows;
    if (!only || more.length === 0) return only;
    const { noun } = this.#group;
    const told = rows.slice(0, shownMax).map((row) => {
      const names = this.#names(row);
      const label = this.#group.through ? (names.at(-1) ?? "") : names.join(", ");
      return `${row.id} (${label}${isArchived(row) ? (row.ended_at ? ", ended" : ", archived") : ""})`;
    });
    if (rows.length > shownMax) told.push("…");
    return new Fault("usage", `"${name}" is the name of more than one ${noun}`, {
      hint: `Give the id of one of them: ${told.join(" · ")}`,
      quotesNames: true,
    });
  }

  #unknown(name: string, rows: Row[]): Fault {
    const { noun, name: group } = this.#group;
    const names = [...new Set(rows.flatMap((row) => this.#names(row).slice(0, 1)))];
    const least = countMistakes(name);
    const near = names
      .map((one) => {
        const words = [toSlug(one), ...toSlug(one).split("-")];
        const away = Math.min(...words.map((word) => measureDistance(word, toSlug(name))));
        return { one, away, within: toSlug(one).includes(toSlug(name)) };
      })
      .filter(({ away, within }) => within || away <= least)
      .sort((a, b) => a.away - b.away)
      .map(({ one }) => one);
    const list = (all: string[]): string =>
      all
        .slice(0, shownMax)
        .map((one) => `"${one}"`)
        .join(", ") + (all.length > shownMax ? ", …" : "");
    const hint =
      names.length === 0
        ? `There is none yet. See: \`floe ${group} --help\``
        : near.length > 0
          ? `Did you mean ${list(near)}? See: \`floe ${group} list\``
          : `There are: ${list(names)}. See: \`floe ${group} list\``;
    return new Fault("not_found", `there is no ${noun} "${name}" in this organization`, { hint, quotesNames: true });
  }
}

function getThings(context: Context, name: string): Things {
  const group = context.manifest.group(name);
  const list = group?.operations.find((op) => op.list);
  if (!group || !list) throw new Error(`Nothing is known of ${name}.`);
  return new Things(context, group, list);
}

/** The id of the thing that a person named in place of its id, and what it is called. */
export async function findId(context: Context, { group, name }: NamedReference): Promise<string> {
  const found = (await getThings(context, group).ids([name], true)).get(name);
  if (!found || found instanceof Fault) throw found ?? new Error(`No answer for ${name}.`);
  return found.id;
}

/** The id of a thing of a group that a person named by its id or its name. */
export async function resolveId(context: Context, group: string, named: string): Promise<string> {
  const found = readIdOrName(group, named);
  return typeof found === "string" ? found : findId(context, found);
}

/** The ids of other things in use that are called as this one, as far as one look-up finds them. */
export async function findNamesakes(context: Context, group: string, row: { id: string }): Promise<string[]> {
  return getThings(context, group).namesakes(row);
}

function withIds(value: unknown, idFor: (one: NamedReference) => string): unknown {
  if (value instanceof NamedReference) return idFor(value);
  if (Array.isArray(value)) return value.map((one) => withIds(one, idFor));
  if (!isMap(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withIds(one, idFor)]));
}

/** The same with ids in place of names: one look-up for each kind of thing, all faults at once. */
export async function resolveNames<T>(context: Context, value: T): Promise<T> {
  const named = findNames(value);
  if (named.length === 0) return value;
  const ids = new Map<string, Map<string, Row | Fault>>();
  const faults: Fault[] = [];
  for (const group of new Set(named.map((one) => one.group))) {
    const names = [...new Set(named.filter((one) => one.group === group).map(({ name }) => name))];
    const found = await getThings(context, group).ids(names, false);
    ids.set(group, found);
    for (const one of found.values()) if (one instanceof Fault) faults.push(one);
  }
  const [fault, ...more] = faults;
  if (fault && more.length === 0) throw fault;
  if (fault)
    throw new Fault(fault.kind, `${faults.length} names cannot be resolved`, {
      text: faults.map(({ message, parts }) => `${message}\n  ${parts.hint ?? ""}`).join("\n"),
      faults: faults.map(({ message, parts }) => ({ flag: "name", message: `${message}. ${parts.hint ?? ""}` })),
    });
  return withIds(value, ({ group, name }) => {
    const row = ids.get(group)?.get(name);
    if (!row || row instanceof Fault) throw new Error(`No answer for ${name}.`);
    return row.id;
  }) as T;
}
