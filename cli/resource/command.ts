/** One operation of the contract as a command. */
import type { Command } from "commander";
import { urlOf } from "../../shared/client.ts";
import { confirm } from "../ask.ts";
import { type Context, currentOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import type { FlagEntry, GroupEntry, OperationEntry } from "../manifest.ts";
import { addFlags, flagName, laidOver, readFlags, readJson } from "./flags.ts";
import { askedFields, showList, showOne } from "./show.ts";

type Options = Record<string, unknown> & {
  yes?: boolean;
  dryRun?: boolean;
  data?: unknown;
  all?: boolean;
  max?: number;
  idempotencyKey?: string;
};
type Page = { items?: unknown[]; pagination?: { total_count?: number; max_page?: number } };

const pageSizeMax = 100;

/** Make the command of an operation; `makeContext` is called when it runs, with the flags that were given. */
export function addOperation(
  parent: Command,
  group: GroupEntry,
  op: OperationEntry,
  makeContext: (command: Command) => Context,
): Command {
  const command = parent.command(op.name).description(op.summary);
  for (const param of op.params) command.argument(`<${param}>`);
  const writes = op.method !== "GET";
  if (op.query.length > 0) addFlags(command, op.query, op.list ? "Filters:" : "Options:");
  if (op.body) {
    addFlags(command, op.body, "Fields:");
    command.option("--data <json|@file|->", "the whole body as JSON, from a file, or from standard input", (text) =>
      readJson(text),
    );
  }
  if (op.list) {
    command.option("--all", "every page, as one list");
    command.option("--max <number>", "as many as this, over several pages", (text) => {
      const max = Number(text);
      if (!Number.isSafeInteger(max) || max < 1) throw new Fault("usage", "--max is a whole number from 1");
      return max;
    });
  }
  if (writes) command.option("--dry-run", "show the request instead of sending it");
  if (op.method === "POST") command.option("--idempotency-key <key>", "repeat an earlier request safely");
  if (op.confirm) command.option("-y, --yes", "do not ask");
  if (op.examples) command.addHelpText("after", `\nExamples:\n${op.examples.map((line) => `  ${line}`).join("\n")}`);
  return command.action(async (...args: unknown[]) => {
    const values = args.slice(0, op.params.length) as string[];
    await runOperation(makeContext(command), group, op, values, command.opts<Options>());
  });
}

async function runOperation(
  context: Context,
  group: GroupEntry,
  op: OperationEntry,
  values: string[],
  options: Options,
): Promise<void> {
  const params = op.current
    ? { id: await currentOrganization(context) }
    : Object.fromEntries(op.params.map((param, index) => [param, values[index]]));
  const asked = context.globals.json;
  const fields =
    typeof asked === "string" ? askedFields(asked, context.manifest.fields(group.name, op.name)) : undefined;
  const query = readFlags(op.query, options);
  requireFlags(op, op.query, query);
  const columns = group.columnsOf?.[op.name] ?? group.columns;
  if (op.list) return list(context, op, params, query, options, { columns, ...(fields && { fields }) });
  const said = await readBody(context, op, options);
  const body = op.current && said ? await completed(context, op, params, said) : said;
  if (options.dryRun) return dryRun(context, op, params, query, body);
  if (op.confirm) await confirm(context, op.confirm, options.yes);
  const made = {
    method: op.method,
    path: op.path,
    params,
    query,
    ...(body !== undefined && { body }),
    organization: !op.anyOrganization,
    ...(options.idempotencyKey && { idempotencyKey: options.idempotencyKey }),
  };
  const answer = await context.call(made).catch((error: unknown) => {
    throw error instanceof Fault ? told(asTyped(error, op), group, values) : error;
  });
  if (answer === undefined || answer === null) return context.say(`${op.done ?? "Done."}\n`);
  showOne(context, answer, fields);
}

/** "Not found", with what was not found. */
function told(fault: Fault, group: GroupEntry, [id]: string[]): Fault {
  if (fault.parts.status !== 404 || id === undefined) return fault;
  const hint = group.operations.some(({ name }) => name === "list") ? { hint: `See: floe ${group.name} list` } : {};
  return new Fault("not_found", `there is no ${group.noun} ${id} in this organization`, { ...fault.parts, ...hint });
}

/** A fault that names flags as they are typed: what is wrong with `prices` was said by `--price`. */
function asTyped(fault: Fault, op: OperationEntry): Fault {
  const { faults } = fault.parts;
  const short = (op.body ?? []).filter(({ shorthand }) => shorthand);
  if (!faults || short.length === 0) return fault;
  const typed = faults.map((one) => {
    const [flag = "", ...where] = one.flag.split(" ");
    const entry = short.find(({ name }) => flag === `--${name.replaceAll("_", "-")}`);
    return entry ? { ...one, flag: [flagName(entry), ...where].join(" ") } : one;
  });
  return new Fault(fault.kind, fault.message, { ...fault.parts, faults: typed });
}

function missingFault(op: OperationEntry, missing: FlagEntry[]): Fault {
  const names = missing.map(flagName).join(", ");
  return new Fault("usage", `${missing.length === 1 ? "a flag is" : "flags are"} missing: ${names}`, {
    ...(op.examples?.[0] && { hint: `For example: ${op.examples[0]}` }),
  });
}

function requireFlags(op: OperationEntry, entries: FlagEntry[], given: Record<string, unknown>): void {
  const missing = entries.filter(({ name, required }) => required && given[name] === undefined);
  if (missing.length > 0) throw missingFault(op, missing);
}

/** The body from `--data` and the flags; a flag wins. What is required and missing is asked for on a terminal. */
async function readBody(context: Context, op: OperationEntry, options: Options): Promise<unknown> {
  if (op.preset) return op.preset;
  const { body: entries } = op;
  if (!entries) return undefined;
  const flags = readFlags(entries, options);
  if (Array.isArray(options.data) || (options.data !== undefined && typeof options.data !== "object")) {
    if (Object.keys(flags).length > 0) throw new Fault("usage", "--data that is no object cannot be joined with flags");
    return options.data;
  }
  const given: Record<string, unknown> = { ...(options.data as object | undefined), ...flags };
  const missing = entries.filter(({ name, required }) => required && given[name] === undefined);
  if (missing.length > 0) {
    if (!context.interactive) throw missingFault(op, missing);
    const { askFields } = await import("./form.ts");
    Object.assign(given, await askFields(context, op.summary, missing));
  }
  if (op.method === "PATCH" && entries.length > 0 && Object.keys(given).length === 0) {
    throw new Fault("usage", "nothing to change was given", { hint: `Flags: ${entries.map(flagName).join(", ")}` });
  }
  return given;
}

/** A group of settings that the server takes whole, with those of it that were not said as they are. */
async function completed(
  context: Context,
  { path, body = [] }: OperationEntry,
  params: Record<string, unknown>,
  said: unknown,
): Promise<unknown> {
  const given = said as Record<string, unknown>;
  const wholes = body.filter(({ whole, name }) => whole && given[name]);
  if (wholes.length === 0) return said;
  const there = (await context.call({ method: "GET", path, params })) as Record<string, unknown>;
  return { ...given, ...Object.fromEntries(wholes.map(({ name }) => [name, laidOver(there[name], given[name])])) };
}

function dryRun(
  context: Context,
  op: OperationEntry,
  params: Record<string, unknown>,
  query: Record<string, unknown>,
  body: unknown,
): void {
  const url = context.settings().server + urlOf(op.path, { params, query });
  context.print(`${JSON.stringify({ method: op.method, url, ...(body !== undefined && { body }) }, null, 2)}\n`);
}

type View = { columns: string[]; fields?: string[] };

async function list(
  context: Context,
  op: OperationEntry,
  params: Record<string, unknown>,
  query: Record<string, unknown>,
  options: Options,
  view: View,
): Promise<void> {
  const wanted = options.all ? Number.POSITIVE_INFINITY : options.max;
  const get = async (more: Record<string, unknown>): Promise<Page> =>
    ((await context.call({
      method: op.method,
      path: op.path,
      params,
      query: { ...query, ...more },
      organization: !op.anyOrganization,
    })) ?? {}) as Page;
  const limit = wanted === undefined || query.limit !== undefined ? undefined : Math.min(wanted, pageSizeMax);
  const rows: unknown[] = [];
  let page = typeof query.page === "number" ? query.page : 1;
  let answer: Page;
  do {
    answer = await get({ ...(wanted !== undefined && { page }), ...(limit !== undefined && { limit }) });
    rows.push(...(answer.items ?? []));
    page++;
  } while (
    wanted !== undefined &&
    rows.length < wanted &&
    page <= (answer.pagination?.max_page ?? 0) &&
    (answer.items ?? []).length > 0
  );
  const shown = wanted === undefined ? rows : rows.slice(0, wanted);
  showList(context, shown, view.columns, view.fields);
  const total = answer.pagination?.total_count ?? shown.length;
  // Said in a pipe too: a program that takes the first page for all of them is a fault that nobody sees.
  if (query.page === undefined && shown.length < total)
    context.say(`${shown.length} of ${total} are shown; --all shows every one.\n`);
}
