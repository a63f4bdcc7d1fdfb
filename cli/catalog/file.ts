/** `floe.yaml` read: its text, what it means, and what is wrong with it at which line. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { type Document, isNode, LineCounter, parseDocument, visit } from "yaml";
import type { z } from "zod";
import { Catalog, type CatalogInput, findLostReferences, listFields } from "../../shared/catalog/document.ts";
import { findUnclearShare } from "../../shared/catalog/kinds/discounts.ts";
import { findNearest } from "../../shared/nearest.ts";
import { describeIssue } from "../../shared/words.ts";
import { Fault } from "../fault.ts";
import { isMap, mergeDeep } from "../resource/maps.ts";
import { preserveAmounts } from "./amounts.ts";
import { hideText, type Secrets } from "./secrets.ts";

type Path = (string | number)[];
/** Something wrong with the file: what, and where. */
export type Flaw = { path: Path; message: string; line: number; column: number; length: number };
export type CatalogFile = {
  name: string;
  text: string;
  document: Document.Parsed;
  lines: LineCounter;
  /** What is sent: without the environments, and with `${env:NAME}` filled in. */
  catalog: CatalogInput;
  /** What was filled in, to be kept out of all that is shown. */
  secrets: Secrets;
  /** What the environment in use says otherwise. */
  over: Record<string, unknown>;
};

export const standardName = "floe.yaml";
/** No catalogue is larger: the server takes no more than this in one request. */
const sizeMax = 1_000_000;

/** The text of a catalogue file. */
export function readText(name: string): string {
  try {
    if (statSync(name).size > sizeMax)
      throw new Fault("error", `${name} is larger than ${sizeMax / 1_000_000} MB, which no catalogue is`);
    return readFileSync(name, "utf8");
  } catch (error) {
    if (error instanceof Fault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      throw new Fault("usage", `there is no file ${name}`, { hint: "Run: `floe init`   (or `floe pull --all`)" });
    throw new Fault("error", `cannot read ${name}: ${code ?? String(error)}`);
  }
}

/** The name of the catalogue in a text, also where the rest of it is wrong. */
export function readCatalogName(text: string): string | undefined {
  const name: unknown = parseDocument(text).get("catalog");
  return typeof name === "string" ? name : undefined;
}

export const standardCatalog = "main";

/** Which catalogue is meant: the one that is named, or that of the file, or the usual one. */
export function resolveCatalogName({ file, catalog }: { file: string; catalog?: string }): string {
  return catalog ?? (existsSync(file) ? readCatalogName(readText(file)) : undefined) ?? standardCatalog;
}

type Env = Record<string, string | undefined>;
const placeholder = /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Values of environment variables in place of `${env:NAME}`; the missing ones are told together. */
function createFiller(env: Env, { filled, values }: Secrets) {
  const missing: { path: Path; name: string }[] = [];
  function fill(value: unknown, path: Path): unknown {
    if (typeof value === "string") {
      const text = value.replace(placeholder, (written, name: string) => {
        const found = env[name];
        if (found === undefined) missing.push({ path, name });
        else if (found !== "") values.set(found, written);
        return found ?? "";
      });
      if (text !== value) filled.set(text, value);
      return text;
    }
    if (Array.isArray(value)) return value.map((one, index) => fill(one, [...path, index]));
    if (!isMap(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, [...path, key])]));
  }
  return { fill, missing };
}

/** The shares of discounts of which it is unclear how much they take off. */
function findUnclearShares(catalog: unknown): { path: Path; message: string }[] {
  const items = isMap(catalog) && isMap(catalog.discounts) ? Object.entries(catalog.discounts) : [];
  return items.flatMap(([key, item]) => {
    const message = isMap(item) ? findUnclearShare(item) : undefined;
    return message === undefined ? [] : [{ path: ["discounts", key, "percent"], message }];
  });
}

/**
 * Read a file. What cannot be read, or is not a catalog, is told with all its flaws, each at its line. `besides` is what the
 * text does not say, and may refer to.
 */
export function readCatalog(
  name: string,
  text: string,
  env: Env,
  environment: string | undefined,
  besides: Record<string, unknown> = {},
): CatalogFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const [broken] = document.errors;
  if (broken) {
    const at = lines.linePos(broken.pos[0]);
    throw describeFlaws(name, text, [{ path: [], message: broken.message, line: at.line, column: at.col, length: 1 }]);
  }
  const whole = readPlainValue(name, document);
  if (!isMap(whole)) {
    const message = text.trim() === "" ? "It is empty." : "A catalogue is a map: version, catalog, products, …";
    const hint = "Start with: `floe init`";
    throw describeFlaws(name, text, [{ path: [], message: `${message} ${hint}`, line: 1, column: 1, length: 1 }]);
  }
  const { environments, $schema: _, ...base } = whole;
  if (environment !== undefined && !isMap(environments))
    throw new Fault("usage", `${name} has no environments`, { hint: "Write them under environments: NAME:" });
  const over = isMap(environments) && environment !== undefined ? environments[environment] : undefined;
  if (environment !== undefined && isMap(environments) && over === undefined)
    throw new Fault("usage", `${name} has no environment "${environment}"`, {
      hint: `There are: ${Object.keys(environments).join(", ")}`,
    });
  // Maps field by field, everything else as a whole.
  const written = { ...besides, ...(over === undefined ? base : (mergeDeep(base, over) as object)) };
  const secrets: Secrets = { written, filled: new Map(), values: new Map() };
  const { fill, missing } = createFiller(env, secrets);
  const catalog = fill(written, []);
  const result = Catalog.safeParse(catalog);
  // References are looked at also where something else is wrong: whoever mends a file wants to know all of it.
  const reportUnread = () => {
    const told = new Set(result.error?.issues.map((issue) => formatPath(issue.path as Path)));
    return findLostReferences(catalog as Record<string, unknown>).filter(({ path }) => !told.has(formatPath(path)));
  };
  const unset = new Set(missing.map(({ path }) => formatPath(path)));
  const flaws = [
    ...missing.map(({ path, name: variable }) => ({
      path,
      message: `The environment variable ${variable} is not set.`,
    })),
    ...findUnclearShares(catalog),
    // What is wrong with a text that lacks a part of it is not known yet.
    ...(result.success
      ? []
      : [...result.error.issues.flatMap((issue) => listPlainIssues(catalog, issue)), ...reportUnread()]
    ).filter(({ path }) => !unset.has(formatPath(path))),
  ];
  if (flaws.length > 0)
    throw describeFlaws(
      name,
      text,
      flaws.map(({ path, message }) => ({
        path: restoreWrittenPath(path, catalog),
        message: hideText(message, secrets),
        ...getPlace(
          document,
          lines,
          restoreWrittenPath(path, catalog),
          environment,
          message.startsWith("There is no field"),
        ),
      })),
    );
  return {
    name,
    text,
    document,
    lines,
    catalog: catalog as CatalogInput,
    secrets,
    over: isMap(over) ? over : {},
  };
}

/** What the YAML means; references may be used, but not to make much out of little. */
function readPlainValue(name: string, document: Document.Parsed): unknown {
  try {
    preserveAmounts(document);
    return document.toJS();
  } catch (error) {
    throw new Fault("error", `${name} cannot be read: ${(error as Error).message}`, { name: "invalid_catalog" });
  }
}

type Issue = z.core.$ZodIssue;
/** How much speaks against a form of which a field is unknown, or which is another thing altogether. */
const strange = 10;

const isAbsent = (value: unknown, [name, ...rest]: Path): boolean =>
  name === undefined
    ? value === undefined
    : typeof value !== "object" || value === null || isAbsent((value as Record<string, unknown>)[name], rest);

/** An issue as people understand it: of a choice between forms, the form that was meant. */
function listPlainIssues(catalog: unknown, issue: Issue, before: Path = []): { path: Path; message: string }[] {
  const path = [...before, ...issue.path.map((part) => (typeof part === "number" ? part : String(part)))];
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => {
        const [near] = findNearest(key, listFields(path));
        const meant = near === undefined ? "" : ` Did you mean ${near}?`;
        return { path: [...path, key], message: `There is no field "${key}" here.${meant}` };
      });
    const isMissing = issue.code === "invalid_type" && isAbsent(catalog, path);
    return [{ path, message: isMissing ? `${String(path.at(-1))} is missing.` : describeIssue(issue) }];
  }
  // A form whose own fields are all there, but one wrong inside, is what was meant; a missing or unknown field speaks against it.
  const scoreIssues = (issues: Issue[]): number =>
    issues.reduce((sum, one) => {
      if (one.code === "invalid_union" && one.errors.length > 0) return sum + Math.min(...one.errors.map(scoreIssues));
      return sum + (one.code === "unrecognized_keys" || (one.path.length === 0 && one.code !== "custom") ? strange : 1);
    }, 0);
  const [meant = []] = [...issue.errors].sort((a, b) => scoreIssues(a) - scoreIssues(b));
  // Where no form fits at all, what the choice itself says is clearer than what its first form lacks.
  if (issue.message !== "Invalid input" && scoreIssues(meant) >= strange) return [{ path, message: issue.message }];
  return meant.flatMap((one) => listPlainIssues(catalog, one, path));
}

/** One price in words says all of the prices, and how often they are paid. */
function restoreWrittenPath(path: Path, catalog: unknown): Path {
  const [kind, key, field] = path;
  const items = isMap(catalog) ? catalog.products : undefined;
  const product = isMap(items) && kind === "products" ? items[String(key)] : undefined;
  const isSpoken = isMap(product) && product.price !== undefined && field !== undefined && product[field] === undefined;
  return isSpoken && (field === "prices" || field === "recurring") ? [kind ?? "", key ?? "", "price"] : path;
}

function locateStart(lines: LineCounter, [start]: readonly [number, number, number]): { line: number; column: number } {
  const { line, col } = lines.linePos(start);
  return { line, column: col };
}

/** Where a path stands in the text: its value, or the nearest thing around it that is there. */
function getPlace(
  document: Document.Parsed,
  lines: LineCounter,
  path: Path,
  environment?: string,
  isField = false,
): Pick<Flaw, "line" | "column" | "length"> {
  // What an environment says otherwise is told where it says so.
  const inOver = ["environments", environment ?? "", ...path];
  if (environment !== undefined && document.hasIn(inOver)) return getPlace(document, lines, inOver, undefined, isField);
  // A field that is not known is told at its name, since that is what is wrong with it.
  const named = isField ? getKeyRange(document, path) : undefined;
  if (named) return { ...locateStart(lines, named), length: Math.max(1, named[1] - named[0]) };
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const here = path.slice(0, depth);
    const node = depth === 0 ? document.contents : document.getIn(here, true);
    const range = isNode(node) ? node.range : undefined;
    // A whole section is told at its name, not over all its lines.
    const key = depth > 0 ? getKeyRange(document, here) : undefined;
    const found = range && !document.getIn(here) ? range : (getScalarRange(node) ?? key ?? range);
    if (!found) continue;
    return { ...locateStart(lines, found), length: Math.max(1, found[1] - found[0]) };
  }
  return { line: 1, column: 1, length: 1 };
}

/** The place in the file of a dotted path, such as that of an issue of a plan: `floe.yaml:12:9`. */
export function describePlace({ name, document, lines, catalog }: CatalogFile, dotted: string): string {
  const path = dotted.split(".").map((part, index) => (index > 1 && /^\d+$/.test(part) ? Number(part) : part));
  const { line, column } = getPlace(document, lines, restoreWrittenPath(path, catalog));
  return `${name}:${line}:${column}`;
}

const getScalarRange = (node: unknown) => (isNode(node) && "value" in node && node.range ? node.range : undefined);

function getKeyRange(document: Document.Parsed, path: Path): readonly [number, number, number] | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  let found: readonly [number, number, number] | undefined;
  if (isNode(parent))
    visit(parent as never, {
      Pair(_, pair) {
        const { key } = pair;
        if (isNode(key) && "value" in key && key.value === path.at(-1) && key.range) {
          found = key.range;
          return visit.BREAK;
        }
        return undefined;
      },
    });
  return found;
}

/** The lines around a flaw, with a mark under it. */
export function validateFrame(text: string, { line, column, length }: Flaw): string {
  const all = text.split(/\r?\n/);
  const width = String(Math.min(line + 1, all.length)).length;
  const shown: string[] = [];
  for (let number = Math.max(1, line - 1); number <= Math.min(all.length, line + 1); number += 1) {
    const content = all[number - 1] ?? "";
    shown.push(`${number === line ? ">" : " "} ${String(number).padStart(width)} | ${content}`);
    if (number === line) {
      const marks = Math.max(1, Math.min(length, content.length - column + 1));
      shown.push(`  ${" ".repeat(width)} | ${" ".repeat(column - 1)}${"^".repeat(marks)}`);
    }
  }
  return shown.join("\n");
}

/** A path as people write it: `products.pro.prices[0]`. */
export const formatPath = (path: Path): string =>
  path.map((part, index) => (typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`)).join("");

/** All flaws of a file, each with its lines. */
export function describeFlaws(name: string, text: string, flaws: Flaw[]): Fault {
  const told = flaws
    .sort((a, b) => a.line - b.line)
    .map((flaw) => {
      const where = `${name}:${flaw.line}:${flaw.column}`;
      return `${where}${flaw.path.length > 0 ? `  ${formatPath(flaw.path)}` : ""}\n${validateFrame(text, flaw)}\n${flaw.message}`;
    });
  return new Fault(
    "error",
    `${flaws.length === 1 ? "one thing is" : `${flaws.length} things are`} wrong with ${name}`,
    {
      name: "invalid_catalog",
      text: told.join("\n\n"),
      faults: flaws.map(({ path, message, line, column }) => ({
        flag: `${formatPath(path)} (${line}:${column})`,
        message,
      })),
    },
  );
}

/** Faults that the server found, at their places in the file. */
export function locateFlaws(file: CatalogFile, faults: { loc: (string | number)[]; msg: string }[]): Fault {
  return describeFlaws(
    file.name,
    file.text,
    faults.map(({ loc, msg }) => {
      const path = restoreWrittenPath(loc[0] === "body" && loc[1] === "document" ? loc.slice(2) : loc, file.catalog);
      return { path, message: hideText(msg, file.secrets), ...getPlace(file.document, file.lines, path) };
    }),
  );
}
