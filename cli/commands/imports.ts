/** `floe import`: a shop moves here from another product, one step after the other. Each step goes on where it ended. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { importKinds, importRowsMax, imports as operations } from "../../shared/api/imports.ts";
import type { Api } from "../../shared/api/index.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Answer } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { faultsShown } from "../csv/faults.ts";
import { readCsvFile } from "../csv/file.ts";
import { Fault, isFault } from "../fault.ts";
import { formatCount } from "../format-count.ts";
import { describeFault, type KindRow, throwFaults } from "../imports/faults.ts";
import { type FileFault, fileNames, formatTemplate, type ImportFile, readImportFile } from "../imports/files.ts";
import { readPages } from "../read-pages.ts";
import { request } from "../request.ts";
import { showList } from "../resource/show.ts";
import { showProgress } from "../ui/progress.ts";
import { removeControls } from "../ui/theme.ts";
import { createCountParser } from "./count-parser.ts";

export type ImportRun = Answer<Api["imports"]["get"]>;
type Comparison = Answer<Api["imports"]["compare"]>;
type Record = Answer<Api["imports"]["records"]>["items"][number];
type ContextOf = (command: Command) => Context;

/** Each step may be asked for again: what is done is not done twice. */
const repeatSafe = { isRepeatSafe: true } as const;
const open = ["reading", "checking", "planned", "applying", "applied", "rolling_back"] as const;

export function addCsv(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("csv")
    .argument("<folder>", `the folder of ${Object.values(fileNames).join(", ")}`)
    .description("Read a shop from CSV files, check every row, and show the plan; nothing is created")
    .option("--examples", "write the three files into the folder, with their columns and two examples each");
  command.addHelpText(
    "after",
    "\nRepeated, it reads the files again.\nApply what differs: floe import apply --update\n\nExamples:\n  floe import csv shop --examples\n  floe import csv shop\n  floe import csv shop --json",
  );
  command.action((folder: string, options: { examples?: boolean }) =>
    options.examples ? writeTemplate(contextOf(command), folder) : readShop(contextOf(command), folder),
  );
}

export function addApply(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("apply")
    .description("Create what the plan shows; subscriptions are held, and not charged here")
    .option("--update", "also change held subscriptions that differ in the last reading")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe import apply\n  floe import apply --update --yes --json");
  command.action(async ({ update = false, yes }: { update?: boolean; yes?: boolean }) => {
    const context = contextOf(command);
    const run = await findOpen(context);
    await confirm(context, operations.apply.confirm, yes);
    const body = { update };
    const applied = await runSteps(context, ["ready"], () =>
      request(context, routes.imports.apply, { params: { id: run.id }, body }, repeatSafe),
    );
    await showRun(context, applied);
    context.say(
      "Nothing is charged yet. Look at it: floe import status. Then switch some: floe import switch --first 10\n",
    );
  });
}

type SwitchOptions = {
  first?: number;
  id?: string[];
  withoutCard?: boolean;
  sourceHasStopped?: boolean;
  yes?: boolean;
};

export function addSwitch(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("switch")
    .description("Have floe bill held subscriptions from their next renewal on")
    .option("--first <count>", "so many, those that renew next; without it: all", createCountParser())
    .option("--id <ids...>", "these, by their ids at the source")
    .option("--source-has-stopped", "you state that the source bills none of them again")
    .option("--without-card", "also those who have no card: they are asked for one as their renewal fails")
    .option("-y, --yes", "do not ask");
  command.addHelpText(
    "after",
    "\nCancel them at the source first, at the end of their period.\n\nExamples:\n  floe import switch --first 10 --source-has-stopped --without-card\n  floe import switch --id sub_1 sub_2 --source-has-stopped --without-card --yes --json",
  );
  command.action((options: SwitchOptions) => switchSome(contextOf(command), options));
}

export function addStatus(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("status")
    .description("Compare what the source has with what floe has; exit code 1 where that differs");
  command.addHelpText("after", "\nExamples:\n  floe import status\n  floe import status --json");
  command.action(async () => {
    const context = contextOf(command);
    const run = await findOpen(context);
    const comparison = await request(context, routes.imports.compare, { params: { id: run.id } });
    if (context.json) context.print(`${JSON.stringify(comparison)}\n`);
    else {
      await showRun(context, run);
      showComparison(context, comparison);
    }
    if (comparison.differences_total > 0)
      throw new Fault("error", `${formatCount(comparison.differences_total, "difference")}`, {
        name: "import_differs",
      });
  });
}

export function addFinish(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("finish")
    .description("Finish the import: what was read of the source is deleted, its ids stay")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe import finish\n  floe import finish --yes --json");
  command.action(async ({ yes }: { yes?: boolean }) => {
    const context = contextOf(command);
    const run = await findOpen(context);
    await confirm(context, operations.finish.confirm, yes);
    await showRun(
      context,
      await request(context, routes.imports.finish, { params: { id: run.id }, body: {} }, repeatSafe),
    );
  });
}

export function addRollback(group: Command, contextOf: ContextOf): void {
  const command = group
    .command("rollback")
    .description("Remove what the import made, where it is not in use and floe has charged nothing")
    .option("-y, --yes", "do not ask");
  command.addHelpText("after", "\nExamples:\n  floe import rollback\n  floe import rollback --yes --json");
  command.action(async ({ yes }: { yes?: boolean }) => {
    const context = contextOf(command);
    const run = await findOpen(context);
    await confirm(context, operations.rollback.confirm, yes);
    const body = {};
    const rolled = await runSteps(context, ["applied", "held", "switched"], () =>
      request(context, routes.imports.rollback, { params: { id: run.id }, body }, repeatSafe),
    );
    await showRun(context, rolled);
  });
}

async function findOpenOrNone(context: Context): Promise<ImportRun | undefined> {
  const { items } = await request(context, routes.imports.list, { query: { status: [...open], limit: 1 } });
  return items[0];
}

/** The open import from a source. */
export async function findOpenOf(context: Context, source: ImportRun["source"]): Promise<ImportRun | undefined> {
  const run = await findOpenOrNone(context);
  if (run && run.source !== source)
    throw new Fault("conflict", `an import from ${run.source} is under way`, {
      hint: "Finish it, or remove what it made: `floe import rollback`",
    });
  return run;
}

async function findOpen(context: Context): Promise<ImportRun> {
  const run = await findOpenOrNone(context);
  if (!run) throw new Fault("not_found", "no import is under way", { hint: "Begin one: floe import csv FOLDER" });
  return run;
}

type Status = ImportRun["counts"][number]["status"];
const sumCounts = ({ counts }: ImportRun, statuses: readonly Status[]): number =>
  counts.reduce((sum, { status, count }) => (statuses.includes(status) ? sum + count : sum), 0);

/** Take a step until all of it is done. `waiting`: the states of the rows that it is about. */
async function runSteps(
  context: Context,
  waiting: readonly Status[],
  step: () => Promise<ImportRun>,
): Promise<ImportRun> {
  try {
    let run = await step();
    let left = sumCounts(run, waiting);
    const progress = showProgress(context, "import", Math.max(left, 1), (count) => formatCount(count, "row"));
    progress.start("");
    while (run.has_more) {
      run = await step();
      const now = sumCounts(run, waiting);
      if (now < left) progress.add(left - now);
      left = Math.min(left, now);
    }
    progress.end();
    return run;
  } catch (error) {
    context.say("Run the same command again: it goes on.\n");
    throw error;
  }
}

async function writeTemplate(context: Context, folder: string): Promise<void> {
  for (const kind of importKinds) {
    const path = join(folder, fileNames[kind]);
    await writeFile(path, formatTemplate(kind), { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      throw new Fault("usage", `${path} cannot be written (${error.code})`);
    });
  }
  if (context.json)
    context.print(`${JSON.stringify({ files: importKinds.map((kind) => join(folder, fileNames[kind])) })}\n`);
  else context.say(`Written: ${Object.values(fileNames).join(", ")}\n`);
}

async function readFiles(folder: string): Promise<ImportFile[]> {
  const files: ImportFile[] = [];
  for (const kind of importKinds) {
    const path = join(folder, fileNames[kind]);
    const bytes = await readCsvFile(path);
    if (bytes !== undefined) files.push(readImportFile(kind, bytes));
  }
  if (files.length === 0)
    throw new Fault("usage", `${folder} has none of ${Object.values(fileNames).join(", ")}`, {
      hint: "Write them with their columns: floe import csv FOLDER --examples",
    });
  return files;
}

async function readShop(context: Context, folder: string): Promise<void> {
  const files = await readFiles(folder);
  throwFaults(files.flatMap(({ faults }) => faults));
  for (const { kind, unknown } of files)
    for (const column of unknown)
      context.say(`${fileNames[kind]} has a column that is not imported: ${removeControls(column)}\n`);
  const before = (await findOpenOf(context, "csv")) ?? (await create(context));
  const rows = files.flatMap(({ kind, rows }) => rows.map((row) => ({ kind, ...row })));
  if (rows.length === 0) throw new Fault("usage", "the files have no rows");
  const faults: FileFault[] = [];
  await planRows(context, before, rows, {
    send: (part, reading) => sendPart(context, before, part, { reading, faults }),
    end: () => throwFaults(faults),
  });
}

export type SentRows = KindRow["row"][];
type Sending<T> = {
  send(part: T[], reading: number): Promise<void>;
  end?(): void;
  /** What is in no row. */
  left_out?: { kind: string; source_id: string; reason: string }[];
};

/** Send what was read of the source, have it checked, and show what would be made. */
export async function planRows<T>(
  context: Context,
  before: ImportRun,
  rows: T[],
  { send, end, left_out }: Sending<T>,
): Promise<void> {
  const reading = before.counts.length === 0 && before.reading === 1 ? 1 : before.reading + 1;
  const progress = showProgress(context, "rows", rows.length, (count) => formatCount(count, "row"));
  progress.start("");
  for (let first = 0; first < rows.length; first += importRowsMax) {
    const part = rows.slice(first, first + importRowsMax);
    await send(part, reading);
    progress.add(part.length);
  }
  progress.end();
  end?.();
  const params = { id: before.id };
  const run = await runSteps(context, ["read"], () =>
    request(context, routes.imports.check, { params, body: {} }, repeatSafe),
  );
  const comparison = await request(context, routes.imports.compare, { params });
  const blocked = await listBlocked(context, run);
  if (context.json)
    context.print(`${JSON.stringify({ run, comparison, blocked, ...(left_out ? { left_out } : {}) })}\n`);
  else {
    await showRun(context, run);
    showComparison(context, comparison);
    showBlocked(context, blocked);
    showLeftOut(context, left_out ?? []);
    context.say("Create the rest: `floe import apply`\n");
  }
}

function showBlocked(context: Context, blocked: Record[]): void {
  const shown = blocked.slice(0, faultsShown);
  if (shown.length > 0) {
    context.say(`\n${formatCount(blocked.length, "row")} cannot be imported, and stay at the source:\n`);
    showList(context, shown, ["kind:name", "source_id:key", "line", "reason:state", "detail:name"]);
  }
  if (blocked.length > shown.length)
    context.say("All of them: `floe import records IMPORT_ID --status blocked --all`\n");
}

function showLeftOut(context: Context, left_out: NonNullable<Sending<unknown>["left_out"]>): void {
  if (left_out.length === 0) return;
  context.say(`\n${formatCount(left_out.length, "thing")} of the source are not imported:\n`);
  showList(context, left_out.slice(0, faultsShown), ["kind:name", "source_id:key", "reason:name"]);
  if (left_out.length > faultsShown) context.say("All of them: run it with --json left_out\n");
}

const create = (context: Context): Promise<ImportRun> =>
  request(context, routes.imports.create, { body: { source: "csv" } });

type Place = NonNullable<Fault["parts"]["places"]>[number];

/** Send rows. `note` receives each place that the server refuses, and answers whether it is of a row. */
export async function sendRows(
  context: Context,
  id: string,
  body: { reading: number; rows: { line?: number; row: KindRow["row"] }[] },
  note: (place: Place) => boolean,
): Promise<void> {
  await request(context, routes.imports.read, { params: { id }, body }, repeatSafe).catch((error: unknown) => {
    const isRefused = isFault(error) && error.parts.status === 422 && error.parts.places?.every(note);
    if (!isRefused) throw error;
  });
}

/** Send rows of the files, and note what the server refuses in them. */
async function sendPart(
  context: Context,
  { id }: ImportRun,
  part: KindRow[],
  { reading, faults }: { reading: number; faults: FileFault[] },
): Promise<void> {
  const rows = part.map(({ line, row }) => ({ line, row }));
  await sendRows(context, id, { reading, rows }, (place) => faults.push(describeFault(part, place)) > 0);
}

const listBlocked = (context: Context, { id }: ImportRun): Promise<Record[]> =>
  readPages((page) =>
    request(context, routes.imports.records, { params: { id }, query: { status: ["blocked"], ...page } }),
  );

async function switchSome(context: Context, options: SwitchOptions): Promise<void> {
  const { first, id: ids, withoutCard = false, sourceHasStopped, yes } = options;
  if (!sourceHasStopped)
    throw new Fault("usage", "a subscription is switched when its source bills it no more", {
      hint: "Cancel it at the source, at the end of its period. Then say so: --source-has-stopped",
    });
  const run = await findOpen(context);
  await confirm(context, operations.switch.confirm, yes);
  const switched: string[] = [];
  let refused: { source_id: string; reason: string }[] = [];
  const waiting = ids ? [...ids] : null;
  for (let left = waiting?.length ?? first ?? Number.POSITIVE_INFINITY; left > 0; ) {
    const source_ids = waiting?.splice(0, importRowsMax) ?? null;
    const body = {
      source_has_stopped: true as const,
      without_card: withoutCard,
      ...(source_ids ? { source_ids } : { first: Math.min(left, importRowsMax) }),
    };
    const made = await request(context, routes.imports.switch, { params: { id: run.id }, body }, repeatSafe);
    switched.push(...made.switched);
    refused = source_ids ? [...refused, ...made.refused] : made.refused;
    left -= source_ids ? source_ids.length : made.switched.length;
    if (!source_ids && made.switched.length === 0) break;
  }
  if (context.json) context.print(`${JSON.stringify({ switched, refused })}\n`);
  else {
    context.print(`${formatCount(switched.length, "subscription")} switched, ${refused.length} not.\n`);
    if (refused.length > 0) showList(context, refused, ["source_id:key", "reason:state"]);
  }
  if (refused.length > 0 && switched.length === 0) throw new Fault("conflict", "no subscription was switched");
}

/** How far an import is: what is in each state. */
async function showRun(context: Context, run: ImportRun): Promise<void> {
  if (context.json) {
    context.print(`${JSON.stringify(run)}\n`);
    return;
  }
  context.print(`The import from ${run.source} is ${run.status.replace("_", " ")}.\n`);
  showList(context, run.counts, ["kind:name", "status:state", "count", "changed"], undefined, "It has no rows.\n");
}

function showComparison(context: Context, comparison: Comparison): void {
  for (const { currency, source, floe } of comparison.currencies)
    context.print(
      `${currency.toUpperCase()}: ${source.count} subscriptions with ${formatMoney(source.monthly_amount, currency)} a month at the source, ${floe.count} with ${formatMoney(floe.monthly_amount, currency)} in floe\n`,
    );
  if (comparison.without_card > 0)
    context.print(`${formatCount(comparison.without_card, "subscription")} in floe without a card\n`);
  for (const { country, subscriptions } of comparison.unregistered)
    context.print(`${country}: ${formatCount(subscriptions, "subscription")}, and no tax registration in floe\n`);
  if (comparison.differences.length > 0)
    showList(context, comparison.differences.slice(0, faultsShown), [
      ...["kind:name", "source_id:key", "field:name", "source:name", "floe:name"],
    ]);
}
