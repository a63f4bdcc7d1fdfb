/** Writing `floe.yaml`: what changed is changed in place, and comments and order stay. */
import { Document, isAlias, isScalar, parseDocument } from "yaml";
import { preserveAmounts, unquoteAmounts } from "./amounts.ts";

const layout = { lineWidth: 100, flowCollectionPadding: false } as const;

type Fields = Record<string, unknown>;
/** A value at its place in the file; undefined takes it out. */
export type Edit = { path: string[]; value: unknown };

/** Whether a file is JSON, by its name. */
export const isJson = (name: string): boolean => name.toLowerCase().endsWith(".json");
const formatJson = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The text of a new file; `schema` is where editors find how it is made. */
export function writeNewText(name: string, document: Fields, schema: string | undefined): string {
  if (isJson(name)) return formatJson({ ...(schema && { $schema: schema }), ...document });
  const made = new Document(document);
  unquoteAmounts(made);
  if (schema) made.commentBefore = ` yaml-language-server: $schema=${schema}`;
  return made.toString(layout);
}

const getIn = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>((found, name) => (found as Fields | undefined)?.[name], value);

/** Edits without those of what holds `${env:…}`, which is the file's own business. */
export function selectEdits(text: string, edits: Edit[]): Edit[] {
  const had: unknown = parseDocument(text, { merge: true }).toJS();
  return edits.filter(({ path }) => !JSON.stringify(getIn(had, path) ?? "").includes("${env:"));
}

/**
 * The text with these values set. A single value is changed where it stands, so that not a space around it moves; what is
 * new, or a list, is written by the library.
 */
export function mergeText(name: string, text: string, edits: Edit[]): string {
  if (edits.length === 0) return text;
  const document = parseDocument(text, { merge: true });
  if (isJson(name)) {
    preserveAmounts(document);
    const whole = document.toJS() as Fields;
    for (const { path, value } of edits) put(whole, path, value);
    return formatJson(whole);
  }
  const [splices, rest]: [{ from: number; to: number; value: string }[], Edit[]] = [[], []];
  for (const { path, value } of edits) {
    const node = document.getIn(path, true);
    const single = value !== undefined && (typeof value !== "object" || value === null);
    if (isScalar(node) && node.range && single) {
      const made = new Document(value);
      unquoteAmounts(made, made.contents, path);
      splices.push({ from: node.range[0], to: node.range[1], value: made.toString().trimEnd() });
    } else rest.push({ path, value });
  }
  const spliced = splices
    .sort((a, b) => b.from - a.from)
    .reduce((whole, { from, to, value }) => whole.slice(0, from) + value + whole.slice(to), text);
  if (rest.length === 0) return spliced;
  const changed = parseDocument(spliced, { merge: true });
  for (const { path, value } of rest) {
    // What is only a reference to another place gets words of its own, and the other place keeps its.
    for (let depth = 1; depth < path.length; depth += 1) {
      const node = changed.getIn(path.slice(0, depth), true);
      if (isAlias(node)) changed.setIn(path.slice(0, depth), changed.createNode(node.toJS(changed)));
    }
    const node = changed.createNode(value);
    unquoteAmounts(changed, node, path);
    if (value === undefined) changed.deleteIn(path);
    else changed.setIn(path, node);
  }
  const written = changed.toString(layout);
  return text.includes("\r\n") ? written.replace(/\r?\n/g, "\r\n") : written;
}

function put(whole: Fields, path: string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) whole[name] = value;
  else {
    const inner = { ...(whole[name] as Fields | undefined) };
    put(inner, rest, value);
    whole[name] = inner;
  }
}
