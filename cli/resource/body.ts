/** The body of a request, from what was typed, what was asked, and what is there. */
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { FlagEntry, GroupEntry, OperationEntry } from "../manifest.ts";
import { readInCurrency } from "./currency.ts";
import { describeMissing, findFlag, getFlagName, readTyped } from "./flags.ts";
import { type FormField, forms } from "./forms.ts";
import { isMap, mergeDeep, nestEntries } from "./maps.ts";
import { resolveNames } from "./names.ts";
import { resolveAmounts } from "./resolve-amounts.ts";
import { getValueAt, type TypedInput, translateFault } from "./typed.ts";

type Given = Record<string, unknown>;
/** A further request, sent when the first is done. */
export type FollowUp = { operation: OperationEntry; body: Given };
export type Body = {
  body: unknown;
  further: FollowUp[];
  /** A fault of the server, told by what was typed. */
  told(fault: Fault): Fault;
  /** The body with other answers to what a fault refuses; undefined where none of it was asked. */
  again?(fault: Fault): Promise<Body | undefined>;
};

/** What a command needs to know and was not told. */
function createFieldFinder(group: GroupEntry, op: OperationEntry): (given: Given) => FormField[] {
  const required = (op.body ?? []).filter((entry) => entry.required).map((entry) => getFlagName(entry).slice(2));
  const all = forms[`${group.name} ${op.name}`] ?? (() => required.map((flag) => ({ flag })));
  return (given) => all(given).filter(({ flag }) => getValueAt(given, findFlag(op, flag).place) === undefined);
}

const getMissing = (asks: FormField[]): string[] =>
  asks.filter(({ optional }) => !optional).map(({ flag, missing }) => missing ?? `--${flag}`);

/** The parts of a field that shorthands wrote, whose rest is not to be lost. */
const isPartlyWritten = (typed: TypedInput[]): Set<string> =>
  new Set(typed.flatMap(({ short }) => (short?.writes[0].includes(".") ? [short.writes[0].split(".")[0] ?? ""] : [])));

/** The type that was said, or that only one of the flags given belongs to. */
function getType(op: OperationEntry, given: Given, typed: TypedInput[]): Given {
  if (op.method !== "POST" || given.type !== undefined) return given;
  const types = new Set(typed.flatMap(({ short }) => (short?.of?.length === 1 ? short.of : [])));
  const [type, ...others] = types;
  return type !== undefined && others.length === 0 ? { ...given, type } : given;
}

/** A flag of another type would be dropped without a word. */
function checkTypes(type: unknown, typed: TypedInput[]): void {
  const stranger = typed.find(({ short }) => short?.of && typeof type === "string" && !short.of.includes(type));
  if (stranger)
    throw new Fault("usage", `${stranger.flag} is for ${stranger.short?.of?.join(" and ")}, not for ${String(type)}`);
}

/** What follows from the flags that were given, where nothing else was said. */
function omitEmpty(given: Given, typed: TypedInput[]): Given {
  let whole = given;
  for (const { short } of typed) {
    for (const [place, value] of Object.entries(short?.fills ?? {})) {
      const path = place.split(".");
      const isThere = isMap(getValueAt(whole, path.slice(0, -1)));
      if (isThere && getValueAt(whole, path) === undefined) whole = mergeDeep(whole, nestEntries(path, value)) as Given;
    }
  }
  return whole;
}

/** What the server takes whole and only a part was said of, with the rest as it is. */
async function isComplete(
  context: Context,
  op: OperationEntry,
  params: Record<string, unknown>,
  given: Given,
  typed: TypedInput[],
): Promise<Given> {
  if (op.method !== "PATCH") return given;
  const parts = isPartlyWritten(typed);
  for (const { name, whole } of op.body ?? []) if (op.current && whole) parts.add(name);
  const wanted = [...parts].filter((name) => isMap(given[name]));
  if (wanted.length === 0) return given;
  const there = (await context.call({ method: "GET", path: op.path, params })) as Given;
  checkTypes(there.type, typed);
  return { ...given, ...Object.fromEntries(wanted.map((name) => [name, mergeDeep(there[name], given[name])])) };
}

/** The body from `--data` and the flags; a flag wins. What is needed and missing is asked for on a terminal. */
export async function readBody(
  context: Context,
  group: GroupEntry,
  op: OperationEntry,
  params: Record<string, unknown>,
  options: Record<string, unknown> & { data?: unknown },
): Promise<Body> {
  const { body: entries = [] } = op;
  const { said, typed: flags } = await readInCurrency(context, (standard) => readTyped(entries, options, standard));
  if (options.data !== undefined && !isMap(options.data)) {
    if (flags.length > 0) throw new Fault("usage", "--data that is no object cannot be joined with flags");
    return { body: options.data, further: [], told: (fault) => fault };
  }
  const parts = isPartlyWritten(flags);
  const data = options.data ?? {};
  let given: Given = { ...data, ...op.preset };
  for (const [name, value] of Object.entries(said))
    given[name] = parts.has(name) ? mergeDeep(data[name], value) : value;
  const typed = flags;
  given = getType(op, given, typed);
  if (op.method === "POST") checkTypes(given.type, typed);
  const asks = createFieldFinder(group, op);
  if (getMissing(asks(given)).length > 0 && context.interactive) {
    const { promptMissing } = await import("./form.ts");
    // What was typed wrongly is said before anything is asked.
    const start = { given: await resolveNames(context, given), typed };
    const answers = new Map<string, string>();
    const promptFields = async (refused: Map<string, string>): Promise<Body> => {
      const asked = await promptMissing(context, op, start, asks, answers, refused);
      const runAgain = (fault: Fault) => {
        const wrong = getRefused(fault, answers);
        return wrong.size > 0 ? promptFields(wrong) : Promise.resolve(undefined);
      };
      return { ...(await getBody(context, group, op, params, asked)), again: runAgain };
    };
    return promptFields(new Map());
  }
  const missing = getMissing(asks(given));
  if (missing.length > 0) throw describeMissing(op, missing, given);
  if (op.method === "PATCH" && entries.length > 0 && Object.keys(given).length === 0) {
    throw new Fault("usage", "nothing to change was given", { hint: `Flags: ${entries.map(getFlagName).join(", ")}` });
  }
  return getBody(context, group, op, params, { given, typed });
}

/** What is sent for what was said. */
async function getBody(
  context: Context,
  group: GroupEntry,
  op: OperationEntry,
  params: Record<string, unknown>,
  { given, typed }: { given: Given; typed: TypedInput[] },
): Promise<Body> {
  const named = await resolveNames(context, given);
  const known = await resolveAmounts(context, group.name, named, params.id);
  const whole = omitEmpty(await isComplete(context, op, params, known, typed), typed);
  const { body, further } = isApart(group, op.body ?? [], whole);
  return { body, further, told: (fault) => translateFault(fault, op, typed) };
}

/** What a fault says of what was answered, by flag. */
function getRefused({ parts }: Fault, answers: Map<string, string>): Map<string, string> {
  const wrong = (parts.faults ?? []).flatMap(({ flag, message }): [string, string][] => {
    const [, name] = /^--([a-z][a-z-]*)/.exec(flag) ?? [];
    return name !== undefined && answers.has(name) ? [[name, message]] : [];
  });
  // With one that nobody can answer otherwise, the others would be asked in vain.
  return new Map(wrong.length === parts.faults?.length ? wrong : []);
}

/** The fields of this request, and those that are sent after it. */
function isApart(group: GroupEntry, entries: FlagEntry[], whole: Given): { body: Given; further: FollowUp[] } {
  const body = { ...whole };
  const further = entries.flatMap(({ name, sentBy }): FollowUp[] => {
    const operation = group.operations.find((one) => sentBy !== undefined && one.name === sentBy);
    if (!operation || whole[name] === undefined) return [];
    delete body[name];
    return [{ operation, body: { [name]: whole[name] } }];
  });
  return { body, further };
}
