/** A thing of the catalog as floe.yaml writes it: the same text, the same checks and the same plan. */
import { isMap as isYamlMap, parseDocument } from "yaml";
import type { CatalogPlan } from "../../shared/api/catalog.ts";
import { isSame } from "../../shared/catalog/compare.ts";
import { Catalog, type CatalogInput } from "../../shared/catalog/document.ts";
import type { Kind } from "../../shared/catalog/kinds/kind.ts";
import { selectTargets } from "../../shared/catalog/target.ts";
import { readCatalog, standardCatalog } from "../catalog/file.ts";
import { type Pulled, requestApply, requestPlan, requestPull } from "../catalog/session.ts";
import { formatPlan } from "../catalog/show.ts";
import { writeNewText } from "../catalog/write.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { GroupEntry } from "../manifest.ts";
import { isMap } from "../resource/maps.ts";
import type { Change, Subject } from "./subject.ts";

type Fields = Record<string, unknown>;
type Sections = Record<string, Record<string, Fields> | undefined>;
/** A thing as the server has it, and the catalog in which it stands: what it refers to is there, too. */
type Read = { pulled: Pulled; key: string; item: Fields };

const getSections = (document: object): Sections => ({ ...document }) as Sections;

/** The fields of which one says in another way what another one says: one that is taken out is replaced by another. */
const alternatives: Partial<Record<Kind, readonly string[]>> = {
  products: ["price", "prices", "recurring"],
  discounts: ["percent", "amount"],
};
const othersMax = 100;

async function read(context: Context, kind: Kind, id: string): Promise<Read | undefined> {
  const find = (pulled: Pulled): Read | undefined => {
    const key = pulled.entries.find((entry) => entry.kind === kind && entry.id === id)?.key;
    const item = key === undefined ? undefined : (pulled.document as Sections)[kind]?.[key];
    return key === undefined || !item ? undefined : { pulled, key, item };
  };
  const pulled = await requestPull(context, standardCatalog, true);
  const found = find(pulled);
  if (found) return found;
  for (const { catalog } of pulled.others.slice(0, othersMax)) {
    const other = find(await requestPull(context, catalog, true));
    if (other) return other;
  }
  return undefined;
}

/** What an absent field means where the server has a value: nothing, or what goes without saying. */
function clearValue(value: unknown): unknown {
  if (Array.isArray(value)) return [];
  if (typeof value === "boolean") return !value;
  return null;
}

/** The fields that were taken out, as cleared. Within properties each one counts by itself. */
function listCleared(kind: Kind, before: Fields, after: Fields): Fields {
  const cleared: Fields = {};
  for (const [field, value] of Object.entries(before)) {
    if (alternatives[kind]?.includes(field)) continue;
    if (!(field in after)) cleared[field] = field === "metadata" ? {} : clearValue(value);
    else if (field === "properties" && isMap(value) && isMap(after.properties)) {
      const inner = listCleared(kind, value, after.properties);
      if (Object.keys(inner).length > 0) cleared.properties = { ...after.properties, ...inner };
    }
  }
  return cleared;
}

/** Refuse a text that says anything but this one thing. What cannot be read at all is told with its place afterwards. */
function checkPlace(text: string, kind: Kind, key: string): void {
  const { errors, contents } = parseDocument(text, { merge: true, prettyErrors: false });
  if (errors.length > 0 || !isYamlMap(contents)) return;
  const section = contents.get(kind);
  const keys = isYamlMap(section) ? section.items.map((pair) => String(pair.key)) : [];
  if (contents.items.length === 1 && keys.length === 1 && keys[0] === key) return;
  throw new Fault("error", `only ${kind}.${key} is edited here, under this key`, {
    hint: "What stands in several places is changed in a file: floe pull --all",
  });
}

/** The catalog that a text asks for: what was read, with this one thing as the text has it. */
function readDocument(
  context: Context,
  name: string,
  text: string,
  { pulled, key, item }: Read,
  kind: Kind,
): CatalogInput {
  checkPlace(text, kind, key);
  const { [kind]: section, ...others } = pulled.document as Sections;
  const file = readCatalog(name, text, context.io.env, undefined, others);
  const catalog = getSections(file.catalog);
  const after = catalog[kind]?.[key] ?? {};
  const cleared = listCleared(kind, item, after);
  const document: CatalogInput = { ...file.catalog, [kind]: { ...section, [key]: { ...after, ...cleared } } };
  const result = Catalog.safeParse(document);
  if (!result.success) {
    const faults = result.error.issues.map(({ path, message }) => ({ flag: path.join("."), message }));
    const names = Object.keys(cleared).join(" or ");
    throw new Fault("error", `${names} cannot be taken out: write the value that it gets`, { faults });
  }
  return document;
}

/** What keeps a plan from being carried out. */
function checkPlan({ issues, steps }: CatalogPlan, kind: Kind, key: string): void {
  if (issues.length > 0)
    throw new Fault("error", "the server does not accept this", {
      faults: issues.map(({ path, message, hint }) => ({
        flag: path,
        message: hint ? `${message}\n${hint}` : message,
      })),
    });
  const other = steps.find((step) => step.kind !== kind || step.key !== key || step.action !== "update");
  if (other) throw createConflict(`${other.kind}.${other.key}, to which it refers, has`);
}

const createConflict = (what: string): Fault =>
  new Fault("conflict", `${what} changed meanwhile; nothing was written`, {
    hint: "Edit it again to see it as it is.",
  });

/** Open a thing of the catalog. */
export async function openItem(context: Context, { noun }: GroupEntry, kind: Kind, id: string): Promise<Subject> {
  const opened = await read(context, kind, id);
  if (!opened) throw new Fault("not_found", `there is no ${noun} ${id} in this organization`);
  const { key, item, pulled } = opened;
  const lost = JSON.stringify(item).match(/"#[0-9a-f-]{36}"/);
  if (lost)
    throw new Fault("usage", `this ${noun} refers to something of another catalog`, {
      hint: `Use: \`floe ${kind.replaceAll("_", "-")} update ${id} --help\``,
    });
  const name = `${key}.yaml`;
  const title = `${noun} ${typeof item.name === "string" ? item.name : key}`;
  const plan = async (text: string): Promise<Change | undefined> => {
    const whole = readDocument(context, name, text, opened, kind);
    const document = selectTargets(whole, [{ kind, key }]) ?? whole;
    const sections = getSections(document);
    const keys = pulled.entries.filter((entry) => sections[entry.kind]?.[entry.key] !== undefined);
    const made = await requestPlan(context, document, false, undefined, keys);
    // Whatever changes after the plan makes it stale. What changed before it is seen here.
    const now = await read(context, kind, id);
    if (!now || !isSame(now.item, item)) throw createConflict(`this ${noun} has`);
    checkPlan(made, kind, key);
    if (made.steps.length === 0) return undefined;
    const view = { pruning: false, verbose: false, paint: context.paint.err(), place: context.globals };
    const write = async (): Promise<void> => {
      await requestApply(context, { document, prune: false, keys, fingerprint: made.fingerprint });
    };
    return { text, shown: formatPlan(made, view).replace(/.*\n$/, ""), write };
  };
  return {
    title,
    name: key,
    text: writeNewText(name, { [kind]: { [key]: item } }, undefined),
    plan,
    createRefusal: () => new Fault("error", `the ${noun} was not changed: the text still has something wrong in it`),
  };
}
