/** Writing `floe.yaml`: what changed is changed in place, and comments and order stay. */
import { renameSync, writeFileSync } from "node:fs";
import { Document, isScalar, parseDocument } from "yaml";

const layout = { lineWidth: 100, flowCollectionPadding: false } as const;

type Fields = Record<string, unknown>;

/** The text of a new file. */
export function newText(document: Fields, schema: string): string {
  const made = new Document(document);
  made.commentBefore = ` yaml-language-server: $schema=${schema}`;
  return made.toString(layout);
}

/**
 * The text with these values set. A single value is changed where it stands, so that not a space around it moves; what is
 * new, or a list, is written by the library. What holds `${env:…}` is the file's own business.
 */
export function mergedText(text: string, wanted: Record<string, Record<string, Fields>>): string {
  const document = parseDocument(text);
  const had = document.toJS() as Record<string, Record<string, Fields | undefined> | undefined>;
  const splices: { from: number; to: number; value: string }[] = [];
  const rest: { path: string[]; value: unknown }[] = [];
  for (const [kind, items] of Object.entries(wanted))
    for (const [key, fields] of Object.entries(items)) {
      if (had[kind]?.[key] === undefined) {
        rest.push({ path: [kind, key], value: fields });
        continue;
      }
      for (const [field, value] of Object.entries(fields)) {
        if (JSON.stringify(had[kind][key][field] ?? "").includes("${env:")) continue;
        const node = document.getIn([kind, key, field], true);
        const single = typeof value !== "object" || value === null;
        if (isScalar(node) && node.range && single)
          splices.push({ from: node.range[0], to: node.range[1], value: new Document(value).toString().trimEnd() });
        else rest.push({ path: [kind, key, field], value });
      }
    }
  const spliced = splices
    .sort((a, b) => b.from - a.from)
    .reduce((whole, { from, to, value }) => whole.slice(0, from) + value + whole.slice(to), text);
  if (rest.length === 0) return spliced;
  const changed = parseDocument(spliced);
  for (const { path, value } of rest) changed.setIn(path, changed.createNode(value));
  return changed.toString(layout);
}

/** Write a file whole or not at all. */
export function writeWhole(name: string, text: string): void {
  const partial = `${name}.${process.pid}.partial`;
  writeFileSync(partial, text);
  renameSync(partial, name);
}
