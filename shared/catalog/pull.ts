import type { Fields } from "./compare.ts";
import { getKind, type Rows } from "./kinds/index.ts";
import { type Kind, kinds, type Names } from "./kinds/kind.ts";
import { type Current, type Entry, readNames } from "./plan.ts";

/** One thing as a file says it in the fewest words. */
export function writeItem(kind: Kind, key: string, row: Rows[Kind], names: Names): Fields {
  const { foundFields, shorten } = getKind(kind);
  return shorten(foundFields(row, names), key);
}

/** A key made of a name: `AI tokens` → `ai-tokens`, or `ai-tokens-2` when that is taken. */
export function suggestKey(name: string, taken: ReadonlySet<string>): string {
  const base =
    name
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[\u0300-\u036f]/g, "")
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 50) || "item";
  for (let number = 1; ; number += 1) {
    const key = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(key)) return key;
  }
}

function getTitle(kind: Kind, row: Rows[Kind]): string {
  const { keyFrom, nameOf } = getKind(kind);
  const title = (keyFrom ?? nameOf)({ ...row });
  return typeof title === "string" && title !== "" ? title : kind.replace(/s$/, "");
}

export type ProposedEntry = { kind: Kind; key: string; id: string; name: string };

/** The whole catalogue as a file, and the keys that are proposed for what has none. */
export function writeDocument(
  catalog: string,
  current: Current,
): { document: Fields; proposed: ProposedEntry[]; entries: Entry[] } {
  const entries = [...current.entries];
  const proposed: ProposedEntry[] = [];
  for (const kind of kinds) {
    const taken = new Set(entries.filter((entry) => entry.kind === kind).map(({ key }) => key));
    for (const row of current.rows[kind] as Rows[Kind][]) {
      if (entries.some((entry) => entry.kind === kind && entry.id === row.id)) continue;
      const name = getTitle(kind, row);
      const key = suggestKey(name, taken);
      taken.add(key);
      entries.push({ kind, key, id: row.id });
      proposed.push({ kind, key, id: row.id, name });
    }
  }
  const names = readNames({ ...current, entries });
  const document: Fields = { version: 1, catalog };
  const written: Entry[] = [];
  for (const kind of kinds) {
    const section: Fields = {};
    for (const entry of entries.filter((one) => one.kind === kind)) {
      const row = (current.rows[kind] as Rows[Kind][]).find((one) => one.id === entry.id);
      if (!row) continue;
      section[entry.key] = writeItem(kind, entry.key, row, names);
      written.push(entry);
    }
    if (Object.keys(section).length > 0) document[kind] = section;
  }
  return { document, proposed, entries: written };
}
