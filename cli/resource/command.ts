/** One operation of the contract as a command. */
import type { Command } from "commander";
import { formatUrl } from "../../shared/request.ts";
import { confirm } from "../ask.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import type { FlagEntry, GroupEntry, OperationEntry } from "../manifest.ts";
import { removeControls } from "../ui/theme.ts";
import type { Body, FollowUp } from "./body.ts";
import { addFlags, addWatchFlag, describeMissing, getFlagName, readTyped } from "./flags.ts";
import { findList, pageSizeMax } from "./pick.ts";
import { findNames, readIdOrName, WrittenAmount } from "./shorthand.ts";
import { checkAskedFields, isQuiet, openPage, showList, showWritten } from "./show.ts";
import { readJson } from "./values.ts";

type Options = Record<string, unknown> & {
  yes?: boolean;
  dryRun?: boolean;
  data?: unknown;
  all?: boolean;
  max?: number;
  output?: string;
  open?: boolean;
  idempotencyKey?: string;
};
type Asked = {
  describe(context: Context, body: unknown, params: Record<string, string>): Promise<string>;
  /** What is done in place of the question with --yes: the line that is said when the change is made, if there is one. */
  checkCharge?(
    context: Context,
    body: unknown,
    params: Record<string, string>,
    options: Options,
  ): Promise<string | undefined>;
};
/** Questions that say what the request would do, which the server knows, by group and operation. */
const loadQuestion = () => import("./change-question.ts");
const questions: Record<string, Record<string, () => Promise<Asked>>> = {
  refunds: { create: () => import("./refund-question.ts") },
  subscriptions: { update: loadQuestion, uncancel: loadQuestion, resume: loadQuestion, revoke: loadQuestion },
};

/** Flags that stand beside those of an operation, and what is done in place of its request where one of them says so. */
type Beside = {
  addFlags(command: Command): void;
  run?(context: Context, options: Options): Promise<boolean>;
};
const besides: Record<string, Record<string, () => Promise<Beside>>> = {
  events: { ingest: async () => (await import("../commands/tools.ts")).eventsIngest },
  webhooks: { redeliver: async () => (await import("../commands/tools.ts")).webhooksRedeliver },
  subscriptions: { update: loadQuestion, uncancel: loadQuestion, resume: loadQuestion, revoke: loadQuestion },
  seats: { revoke: () => import("./seat-names.ts"), resend: () => import("./seat-names.ts") },
};
/** Answers that a person sees drawn. */
type Drawn = { show(context: Context, answer: unknown, query: Record<string, unknown>, named: string): void };
const drawings: Record<string, Record<string, () => Promise<Drawn>>> = {
  meters: { quantities: async () => (await import("../commands/tools.ts")).metersWatch },
  seats: { list: () => import("./held.ts") },
  "license-keys": { get: () => import("./held.ts") },
  customers: { erase: () => import("./erasure.ts"), erasure: () => import("./erasure.ts") },
};

/** What is taken where flags that the server asks for are left out. */
type Filling = { fill(context: Context, said: Record<string, unknown>): Promise<Record<string, unknown>> };
const fillings: Record<string, Record<string, () => Promise<Filling>>> = {
  meters: { quantities: () => import("../commands/meters-stretch.ts") },
};
/** What a list without a row says besides. */
const nones: Record<string, string> = {
  "sandbox mails":
    "There are none. Kept is what a store made as a sandbox writes; a developer's own server shows the rest: `floe open mail`\n",
};
/** Whose commands show what buyers open, or lead to it. */
const offers: Record<string, readonly string[]> = {
  products: ["create"],
  "checkout-links": ["list", "get", "create", "update"],
};
/** Of these lists no more than so many rows are counted. */
const countedTo: Record<string, number> = { events: 10_000 };

type Page = { items?: unknown[]; pagination?: { total_count?: number; max_page?: number } };

const withoutBody: Body = { body: undefined, further: [], told: (fault) => fault };

/** An operation with what people type for its fields, which is loaded only where there is such. */
async function complete(op: OperationEntry): Promise<OperationEntry> {
  if (!op.body?.some(({ shorthands }) => shorthands)) return op;
  const { addShorthands } = await import("./shorthands.ts");
  return { ...op, body: addShorthands(op.body) };
}

/** Make the command of an operation, and answer its flags; `makeContext` is called when it runs, with those that were given. */
export async function addOperation(
  parent: Command,
  group: GroupEntry,
  entry: OperationEntry,
  makeContext: (command: Command) => Context,
): Promise<FlagEntry[]> {
  const whole = await complete(entry);
  const isFilled = fillings[group.name]?.[whole.name] !== undefined;
  const op = isFilled ? { ...whole, query: whole.query.map(({ required: _, ...flag }) => flag) } : whole;
  const command = getPlace(parent, group, op.name).description(op.summary);
  const names = group.namedBy?.map((name) => name.replaceAll(/[._]/g, " ")).join(", ");
  const which = group.within ? `id or name of one of the ${group.within}` : names && `its id, or its ${names}`;
  for (const param of op.params) {
    const isPicked = param === "id" && !group.within && findList(group) !== undefined;
    // Commander would refuse it before anybody can be asked.
    command.argument(isPicked ? `[${param}]` : `<${param}>`, param === "id" ? which : undefined);
  }
  const writes = op.method !== "GET";
  if (op.query.length > 0) addFlags(command, op.query, op.list ? "Filters:" : "Options:");
  if (op.body) {
    addFlags(command, op.body, "Fields:");
    command.option("--data <json|@file|->", "the whole body as JSON, from a file, or from standard input", (text) =>
      readJson(text),
    );
  }
  const beside = await besides[group.name]?.[op.name]?.();
  beside?.addFlags(command);
  if (op.list) {
    command.option("--all", "every page, as one list");
    command.option("--max <number>", "as many as this, over several pages", (text) => {
      const max = Number(text);
      if (!Number.isSafeInteger(max) || max < 1) throw new Fault("usage", "--max is a whole number from 1");
      return max;
    });
  }
  if (op.opens) command.option("--open", "open it in the browser");
  if (!writes && !op.file) addWatchFlag(command);
  if (op.file) command.option("-o, --output <file>", "where to (the standard output)");
  if (writes) command.option("--dry-run", "show the request instead of sending it");
  if (op.method === "POST") command.option("--idempotency-key <key>", "repeat an earlier request safely");
  if (op.confirm) command.option("-y, --yes", "do not ask");
  if (op.examples) command.addHelpText("after", `\nExamples:\n${op.examples.map((line) => `  ${line}`).join("\n")}`);
  command.action(async (...args: unknown[]) => {
    const [context, options] = [makeContext(command), command.opts<Options>()];
    const values = args.slice(0, op.params.length) as string[];
    const meant: Meant = {};
    const runOnce = (to: Context) => runOperation(to, group, op, values, options, meant);
    if (options.watch) return (await import("./watch.ts")).watch(context, options.watch, runOnce);
    if (!(await beside?.run?.(context, options))) await runOnce(context);
    if (offers[group.name]?.includes(op.name) && !options.dryRun)
      await (await import("./no-payments.ts")).warnOfNoPayments(context);
  });
  return [...op.query, ...(op.body ?? [])];
}

/** The command of this name; of two words, the first is a command that holds others. */
function getPlace(parent: Command, { parts }: GroupEntry, name: string): Command {
  const [part = "", verb] = name.split(" ");
  if (verb === undefined) return parent.command(part);
  const holder = parent.commands.find((one) => one.name() === part) ?? parent.command(part).helpCommand(false);
  return holder.description(parts?.[part] ?? "").command(verb);
}

/** What names were found to mean: asked once, however often the command runs. */
type Meant = { params?: Record<string, string>; query?: Record<string, unknown> };

/** A question about the thing that was named, by its name: `Archive the product "Free sample"?`. */
function describeNamed(question: string, noun: string, word: string): string {
  const name = `"${removeControls(word)}"`;
  const named = question.replace(`this ${noun}`, () => `the ${noun} ${name}`);
  return named === question ? `${name}: ${question}` : named;
}

async function runOperation(
  context: Context,
  group: GroupEntry,
  op: OperationEntry,
  values: string[],
  options: Options,
  meant: Meant,
): Promise<void> {
  const asked = context.globals.json;
  const fields =
    typeof asked === "string" ? checkAskedFields(asked, context.manifest.fields(group.name, op.name)) : undefined;
  const filling = await fillings[group.name]?.[op.name]?.();
  const typed = readTyped(op.query, options).said;
  const said = filling ? { ...typed, ...(await filling.fill(context, typed)) } : typed;
  const missing = op.query.filter(({ name, required }) => required && said[name] === undefined);
  if (missing.length > 0) throw describeMissing(op, missing.map(getFlagName));
  meant.params ??= await getParams(context, group, op, values, options);
  const { params } = meant;
  // What only some commands need is loaded by them: a list starts without it.
  if (!meant.query && findNames(said).length > 0)
    meant.query = await (await import("./names.ts")).resolveNames(context, said);
  const named = meant.query ?? said;
  const query = Object.values(named).some((value) => value instanceof WrittenAmount)
    ? await (await import("./resolve-amounts.ts")).resolveAmounts(context, group.name, named)
    : named;
  if (op.file)
    return (await import("./download.ts")).download(context, formatUrl(op.path, { params, query }), options.output);
  const columns = group.columnsOf?.[op.name] ?? group.columns;
  if (op.list) {
    // Nothing at all, and not merely nothing that the filters let through.
    const first = Object.keys(query).length === 0 ? group.operations.find(({ name }) => name === "create") : undefined;
    const none = first
      ? `There are none yet. Make one: \`floe ${group.name} create\`\n`
      : (nones[`${group.name} ${op.name}`] ?? "There are none.\n");
    const most = countedTo[group.name] ?? Number.POSITIVE_INFINITY;
    return list(context, op, params, query, options, { columns, none, most, ...(fields && { fields }) });
  }
  let sent = op.body
    ? await (await import("./body.ts")).readBody(context, group, op, params, options)
    : { ...withoutBody, body: op.preset && { ...op.preset } };
  if (options.dryRun) return dryRun(context, op, params, query, sent.body, sent.further);
  let agreed: string | undefined;
  if (op.confirm) {
    const [named] = op.params.filter((param, index) => values[index] !== undefined && params[param] !== values[index]);
    const word = named && values[op.params.indexOf(named)];
    const asked = await questions[group.name]?.[op.name]?.();
    if (options.yes) agreed = await asked?.checkCharge?.(context, sent.body, params, options);
    else {
      const question = (await asked?.describe(context, sent.body, params)) ?? op.confirm;
      await confirm(context, word ? describeNamed(question, group.noun, String(word)) : question, false);
    }
  }
  const send = async (): Promise<unknown> => {
    const { body, told, again } = sent;
    const made = {
      method: op.method,
      path: op.path,
      params,
      query,
      ...(body !== undefined && { body }),
      organization: !op.ofPerson,
      repeatable: true,
      ...(options.idempotencyKey && { idempotencyKey: options.idempotencyKey }),
    };
    try {
      return await context.call(made);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const fault = rejectMissing(told(error), group, values);
      const next = await again?.(fault);
      if (!next) throw fault;
      sent = next;
      return send();
    }
  };
  // An update of nothing but what is sent afterwards is no update.
  const isEmpty = sent.further.length > 0 && op.method === "PATCH" && Object.keys(sent.body as object).length === 0;
  let answer = isEmpty ? params : await send();
  const { further, told } = sent;
  for (const one of further) {
    const made = { group, id: String((answer as { id?: unknown }).id), changed: !isEmpty, done: op.name };
    answer = await callFurther(context, made, one, told, options.idempotencyKey);
  }
  if (agreed !== undefined) context.say(`${agreed}\n`);
  if (answer === undefined || answer === null) return context.say(`${op.done ?? "Done."}\n`);
  const drawing = context.json ? undefined : await drawings[group.name]?.[op.name]?.();
  if (drawing) return drawing.show(context, answer, query, values.join(" "));
  showWritten(
    context,
    answer,
    { verb: op.name.split(" ").at(-1) ?? "", noun: group.noun, columns, next: group.next },
    fields,
  );
  if (/^(products|benefits|meters) (create|update)$/.test(`${group.name} ${op.name}`))
    await (await import("./namesakes.ts")).warnOfNamesakes(context, group, sent.body, answer);
  if (options.open && op.opens) await openPage(context, (answer as Record<string, unknown>)[op.opens]);
}

/** The parameters of the path; what is not an id is looked up by name, where things of the group have one. */
async function getParams(
  context: Context,
  group: GroupEntry,
  op: OperationEntry,
  values: string[],
  { of }: Options,
): Promise<Record<string, string>> {
  if (op.current) return { id: await findCurrentOrganization(context) };
  const params: Record<string, string> = {};
  const found = group.within ?? (group.namedBy && group.name);
  for (const [index, param] of op.params.entries()) {
    const value = values[index];
    if (value === undefined) {
      params[param] = await (await import("./pick.ts")).pickOne(context, group, param);
      continue;
    }
    if (param === "seat_id" && value.includes("@")) {
      params[param] = await (await import("./seat-names.ts")).findSeat(context, value, of);
      continue;
    }
    const named = param === "id" && found ? readIdOrName(found, value) : value;
    params[param] = typeof named === "string" ? named : await (await import("./names.ts")).findId(context, named);
  }
  return params;
}

/** What is sent when the first request is done. If it fails, the first is not undone: say what there is and how to go on. */
async function callFurther(
  context: Context,
  { group, id, changed, done }: { group: GroupEntry; id: string; changed: boolean; done: string },
  { operation, body }: FollowUp,
  told: (fault: Fault) => Fault,
  key: string | undefined,
): Promise<unknown> {
  const { method, path, name } = operation;
  const call = { method, path, params: { id }, body, ...(key && { idempotencyKey: `${key}-${name}` }) };
  return context.call(call).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    const fault = told(error);
    if (!changed) throw rejectMissing(fault, group, [id]);
    const flags = Object.entries(body).map(
      ([field, value]) => `--${field.replaceAll("_", "-")} ${[value].flat().join(",")}`,
    );
    throw new Fault(
      fault.kind,
      `the ${group.noun} is ${done}d (${id}), but ${Object.keys(body).join(" and ")} could not be set: ${fault.message}`,
      { ...fault.parts, hint: `Go on with: \`floe ${group.name} ${name} ${id} ${flags.join(" ")}\`` },
    );
  });
}

/** "Not found", with what was not found. */
function rejectMissing(fault: Fault, group: GroupEntry, [id, ...within]: string[]): Fault {
  if (fault.parts.status !== 404 || id === undefined) return fault;
  const list = group.operations.find(({ name }) => /(^| )list$/.test(name));
  const hint = list ? { hint: `See: \`floe ${group.name} ${list.name}\`` } : {};
  const orNot = within.length > 0 ? `, or it has no ${within.join(" ")}` : "";
  const message = `there is no ${group.noun} ${id} in this organization${orNot}`;
  return new Fault("not_found", message, { ...fault.parts, ...hint });
}

function dryRun(
  context: Context,
  op: OperationEntry,
  params: Record<string, unknown>,
  query: Record<string, unknown>,
  body: unknown,
  further: FollowUp[],
): void {
  const { server } = context.settings();
  const url = server + formatUrl(op.path, { params, query });
  const afterwards = further.map(({ operation: { method, path }, body }) => ({
    method,
    url: server + (params.id === undefined ? path : formatUrl(path, { params })),
    body,
  }));
  const request = {
    method: op.method,
    url,
    ...(body !== undefined && { body }),
    ...(afterwards.length > 0 && { afterwards }),
  };
  context.print(`${JSON.stringify(request, null, 2)}\n`);
}

/** `most`: so many rows are counted, and of more it is known that there are more. */
type View = { columns: string[]; fields?: string[]; none: string; most: number };

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
      organization: !op.ofPerson,
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
  const found = wanted === undefined ? rows : rows.slice(0, wanted);
  const isNumbered = view.columns.includes("order_id:order") && !context.json && !isQuiet(context);
  const shown = isNumbered ? await (await import("./order-numbers.ts")).addOrderNumbers(context, found) : found;
  showList(context, shown, view.columns, view.fields, view.none);
  const total = answer.pagination?.total_count ?? shown.length;
  // Said in a pipe too: a program that takes the first page for all of them is a fault that nobody sees.
  if (query.page === undefined && shown.length < total)
    context.say(
      `${shown.length} of ${total > view.most ? `more than ${view.most.toLocaleString("en-US")}` : total} are shown; --all shows every one.\n`,
    );
}
