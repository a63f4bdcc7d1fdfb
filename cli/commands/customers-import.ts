/** `floe customers import`: customers from a CSV file. A run that ended early is repeated, and goes on. */
import type { Command } from "commander";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { type CsvFault, createFileFault, formatFaults } from "../csv/faults.ts";
import { readCsvFile } from "../csv/file.ts";
import { CsvError, decodeText } from "../csv/parse.ts";
import { customerColumns, listDifferences, type PlannedRow, planCustomers } from "../customers/rows.ts";
import { Fault, isFault } from "../fault.ts";
import { formatCount } from "../format-count.ts";
import { showProgress } from "../ui/progress.ts";

type Options = { dryRun?: boolean; update?: boolean };
type Difference = { line: number; email: string; fields: string[] };
type Report = {
  rows: number;
  created: number;
  updated: number;
  unchanged: number;
  different: Difference[];
  rejected: CsvFault[];
};
type Existing = { id: string } & Record<string, unknown>;

const requestsAtOnce = 4;

export function add(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("import")
    .argument("<file>", "a CSV file with a header")
    .description("Create customers from a CSV file; repeated, it goes on where it ended")
    .option("--dry-run", "check the file and send nothing")
    .option("--update", "also change customers who are there and differ from the file");
  command.addHelpText(
    "after",
    `\nColumns:\n  ${customerColumns.slice(0, 6).join(", ")}\n  ${customerColumns.slice(6).join(", ")}\n  metadata.KEY\n\nExamples:\n  floe customers import customers.csv --dry-run\n  floe customers import customers.csv --update --json`,
  );
  command.action((path: string, options: Options) => importCustomers(contextOf(command), path, options));
}

async function importCustomers(context: Context, path: string, options: Options): Promise<void> {
  const { rows, faults } = await readPlan(path);
  if (faults.length > 0)
    throw createFileFault(`${path} has ${formatCount(faults.length, "fault")}; nothing was sent`, faults);
  const report: Report = { rows: rows.length, created: 0, updated: 0, unchanged: 0, different: [], rejected: [] };
  if (!options.dryRun) await sendRows(context, path, rows, options, report);
  showReport(context, report, options);
  if (report.rejected.length + report.different.length > 0)
    throw new Fault("conflict", "some rows of the file are not in the store as the file has them", {
      hint:
        report.different.length > 0
          ? "Change those who differ with --update."
          : "Correct these rows, and run it again.",
    });
}

async function readPlan(path: string) {
  const bytes = await readCsvFile(path);
  if (bytes === undefined) throw new Fault("usage", `${path} cannot be read (ENOENT)`);
  try {
    return planCustomers(decodeText(bytes));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new Fault("error", `${path}, line ${error.line}: ${error.message}`, { name: "file_wrong" });
  }
}

/** Send the rows, a few at a time. What does not concern one row ends the run. */
async function sendRows(
  context: Context,
  path: string,
  rows: readonly PlannedRow[],
  { update = false }: Options,
  report: Report,
): Promise<void> {
  const progress = showProgress(context, path, rows.length, (count) => formatCount(count, "row"));
  progress.start("");
  let next = 0;
  let failure: unknown;
  const runLane = async (): Promise<void> => {
    for (let row = rows[next++]; row && failure === undefined; row = rows[next++]) {
      await sendRow(context, row, update, report);
      progress.add(1);
    }
  };
  await Promise.all(
    Array.from({ length: requestsAtOnce }, () =>
      runLane().catch((error: unknown) => {
        failure ??= error;
      }),
    ),
  );
  progress.end();
  if (failure === undefined) return;
  const done = report.created + report.updated + report.unchanged;
  context.say(`${done} of ${rows.length} rows are done. Run the same command again: it goes on.\n`);
  throw failure;
}

async function sendRow(context: Context, { line, body }: PlannedRow, update: boolean, report: Report): Promise<void> {
  try {
    await context.call({ ...splitRoute(routes.customers.create), body });
    report.created += 1;
    return;
  } catch (error) {
    const places = readPlaces(error);
    if (!places) throw error;
    const existing = places.some(({ msg }) => /already exists/.test(msg))
      ? await findExisting(context, body)
      : undefined;
    if (!existing) {
      report.rejected.push(...places.map(({ loc, msg }) => describeRejected(line, body, loc, msg)));
      return;
    }
    const fields = listDifferences(body, existing);
    if (fields.length === 0) report.unchanged += 1;
    else if (!update || (fields.includes("external_id") && existing.external_id != null))
      report.different.push({ line, email: String(body.email ?? ""), fields });
    else await updateRow(context, existing, { line, body }, report);
  }
}

/** Change a customer to what the row gives. Metadata that the row does not name stays. */
async function updateRow(context: Context, existing: Existing, { line, body }: PlannedRow, report: Report) {
  const { type: _type, ...changes } = body;
  const metadata = body.metadata && { ...(existing.metadata as object), ...body.metadata };
  try {
    const route = splitRoute(routes.customers.update);
    const body = { ...changes, ...(metadata && { metadata }) };
    await context.call({ ...route, params: { id: existing.id }, body });
    report.updated += 1;
  } catch (error) {
    const places = readPlaces(error);
    if (!places) throw error;
    report.rejected.push(...places.map(({ loc, msg }) => describeRejected(line, body, loc, msg)));
  }
}

/** The places that a refusal of one row names; undefined where the failure is not about the row. */
const readPlaces = (error: unknown) => (isFault(error) && error.parts.status === 422 ? error.parts.places : undefined);

/** The customer of the same id of the seller, else of the same address. */
async function findExisting(
  context: Context,
  { external_id, email }: PlannedRow["body"],
): Promise<Existing | undefined> {
  if (external_id !== undefined) {
    const route = splitRoute(routes.customers.getExternal);
    const found = await context.call({ ...route, params: { external_id } }).catch((error: unknown) => {
      if (isFault(error) && error.kind === "not_found") return undefined;
      throw error;
    });
    if (found) return found as Existing;
  }
  if (email === undefined) return undefined;
  const answer = (await context.call({ ...splitRoute(routes.customers.list), query: { email, limit: 2 } })) as {
    items: Existing[];
  };
  return answer.items.length === 1 ? answer.items[0] : undefined;
}

function describeRejected(line: number, body: PlannedRow["body"], loc: (string | number)[], message: string): CsvFault {
  const [, first = "", ...rest] = loc.map(String);
  const column = first === "billing_address" ? (rest[0] ?? "country") : [first, ...rest].join(".");
  const value = body.billing_address?.[column] ?? body[first] ?? "";
  return { line, column, value: typeof value === "string" ? value : JSON.stringify(value), message };
}

function showReport(context: Context, report: Report, { dryRun }: Options): void {
  if (context.json) context.print(`${JSON.stringify(report)}\n`);
  else if (dryRun) context.print(`The file is right: ${formatCount(report.rows, "row")}. Nothing was sent.\n`);
  else printCounts(context, report);
}

function printCounts(context: Context, report: Report): void {
  const { created, updated, unchanged, different, rejected } = report;
  const counts = [
    `${created} created`,
    `${updated} updated`,
    `${unchanged} there already`,
    `${different.length} different`,
    `${rejected.length} rejected`,
  ];
  context.print(`${formatCount(report.rows, "row")}: ${counts.join(", ")}\n`);
  const differing = different.map(({ line, email, fields }) => ({
    line,
    column: "email",
    value: email,
    message: `is there with another ${fields.join(", ")}`,
  }));
  const shown = [...rejected, ...differing].toSorted((a, b) => a.line - b.line);
  if (shown.length > 0) context.print(`${formatFaults(shown)}\n`);
}
