/** What floe.yaml does not hold, such as a customer: the fields that its update takes, as the API has them. */
import { isMap as isYamlMap, LineCounter, parseDocument } from "yaml";
import { isSame } from "../../shared/catalog/compare.ts";
import { findNearest } from "../../shared/nearest.ts";
import { formatFlow } from "../catalog/show.ts";
import { writeNewText } from "../catalog/write.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault, isFault } from "../fault.ts";
import type { GroupEntry, OperationEntry } from "../manifest.ts";
import type { Change, Subject } from "./subject.ts";

type Fields = Record<string, unknown>;

function getOperation({ name, operations }: GroupEntry, wanted: string): OperationEntry {
  const found = operations.find((one) => one.name === wanted);
  if (!found) throw new Error(`Of ${name} there is no ${wanted}.`);
  return found;
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);

/** What a text says, as far as it is a map of fields that can be changed. */
function parseFields(text: string, names: readonly string[]): Fields {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) {
    const { line, col } = lines.linePos(broken.pos[0]);
    throw new Fault("error", "this is not YAML", { faults: [{ flag: `(${line}:${col})`, message: broken.message }] });
  }
  if (!isYamlMap(document.contents))
    throw new Fault("error", "this is no map of fields", { hint: "Written as name: Ada" });
  const fields = document.toJS() as Fields;
  const faults = Object.keys(fields)
    .filter((name) => !names.includes(name))
    .map((name) => {
      const [near] = findNearest(name, names);
      return {
        flag: name,
        message: `There is no such field that can be changed.${near ? ` Did you mean ${near}?` : ""}`,
      };
    });
  if (faults.length > 0) throw new Fault("error", "some fields are not known", { faults });
  return fields;
}

/** Open a record by the fields that its update takes. */
export async function openRecord(context: Context, entry: GroupEntry, id: string | undefined): Promise<Subject> {
  const [get, update] = [getOperation(entry, "get"), getOperation(entry, "update")];
  const params = { id: id ?? (await findCurrentOrganization(context)) };
  let ifMatch: string | undefined;
  const onTag = (tag: string): void => {
    ifMatch = tag;
  };
  const row = ((await context.call({ method: "GET", path: get.path, params, onTag })) ?? {}) as Fields;
  const names = (update.body ?? []).map(({ name }) => name).filter((name) => name in row);
  const pickFields = (from: Fields): Fields =>
    Object.fromEntries(names.filter((name) => !isEmpty(from[name])).map((name) => [name, from[name]]));
  const before = pickFields(row);
  const unset = names.filter((name) => !(name in before));
  const label = [row.email, row.name, row.invoice_number, row.display_key, params.id].find(
    (one) => typeof one === "string",
  );
  const rejectChanged = (error: unknown): never => {
    if (!isFault(error) || error.parts.status !== 412) throw error;
    throw new Fault("conflict", `this ${entry.noun} has changed meanwhile; nothing was written`, {
      hint: "Edit it again to see it as it is.",
    });
  };
  const plan = async (text: string): Promise<Change | undefined> => {
    const after = parseFields(text, names);
    const changed = names.filter((name) => !isSame(before[name] ?? null, after[name] ?? null));
    if (changed.length === 0) return undefined;
    const body = Object.fromEntries(changed.map((name) => [name, after[name] ?? (name === "metadata" ? {} : null)]));
    const lines = changed.map((name) => `    ${name}: ${formatFlow(before[name])} → ${formatFlow(after[name])}\n`);
    const write = async (): Promise<void> => {
      // The server compares the tag in the transaction that makes the change, so no change in between is lost.
      const made = { method: update.method, path: update.path, params, body, ifMatch };
      const answer = (await context.call(made).catch(rejectChanged)) as Fields;
      // The API takes null for "not sent" where a field must have a value.
      const kept = changed.filter((name) => isEmpty(after[name]) && !isEmpty(answer[name]));
      if (kept.length > 0) context.say(`Not cleared, since it needs a value: ${kept.join(", ")}\n`);
    };
    return { text, shown: `${context.paint.err().warn(`~ change ${entry.noun} ${label}`)}\n${lines.join("")}`, write };
  };
  return {
    title: `${entry.noun} ${label}`,
    name: entry.noun,
    text: `${writeNewText("record.yaml", before, undefined)}${unset.length > 0 ? `# Not set: ${unset.join(", ")}\n` : ""}`,
    plan,
    createRefusal: () =>
      new Fault("error", `the ${entry.noun} was not changed: the text still has something wrong in it`),
  };
}
