/** `floe usage`: what was counted, held against what somebody else has. */
import type { Command } from "commander";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { canRedraw } from "../io.ts";
import { request } from "../request.ts";
import { showProgress } from "../ui/progress.ts";
import {
  drawLate,
  type IngestAnswer,
  type LateEvents,
  type Line,
  measureSize,
  type Options,
  reportLateEvents,
  splitBatches,
} from "./events-ingest.ts";

type Report = {
  events: number;
  counted: number;
  repeated: number;
  conflicts: number[];
  missing: number[];
  late: LateEvents;
};

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("usage").description("Check usage against your own records").helpCommand(false);
  const receipt = group
    .command("receipt")
    .argument("<file>", "events, a line of JSON each, as they were sent")
    .description("Hold a log of events against what was counted")
    .option("--as <name>", "the name that its lines were counted under")
    .addHelpText(
      "after",
      "\nExamples:\n  floe usage receipt events.ndjson\n  floe usage receipt events.ndjson --json missing",
    );
  const verifying = group
    .command("verify")
    .description("Recount every balance from the events and credits")
    .option("--customer <id>", "only of this customer")
    .option("--meter <id>", "only of this meter")
    .addHelpText("after", "\nExamples:\n  floe usage verify\n  floe usage verify --json differences");
  verifying.action((options: { customer?: string; meter?: string }) => verify(contextOf(verifying), options));
  receipt.action((path: string, options: Options) => compare(contextOf(receipt), path, options));
}

type Difference = {
  customer_id: string;
  meter_id: string;
  what: string;
  kept: string;
  recounted: string;
  started_at: string | null;
  ended_at: string | null;
};

/** Have everything recounted, so much at once, and name what differs. */
async function verify(context: Context, asked: { customer?: string; meter?: string }): Promise<void> {
  const query = {
    ...(asked.customer === undefined ? {} : { customer_id: asked.customer }),
    ...(asked.meter === undefined ? {} : { meter_id: asked.meter }),
  };
  const sums = { checked: 0, skipped: 0 };
  const differences: Difference[] = [];
  const formatChecked = (checked: number) => `${checked.toLocaleString("en-US")} balances and periods recounted`;
  const isDrawn = canRedraw(context.io);
  let after: string | null | undefined;
  do {
    const page = { ...query, ...(after ? { after } : {}) };
    const part = await request(context, routes.customerMeters.verify, { query: page });
    sums.checked += part.checked;
    sums.skipped += part.skipped;
    differences.push(...part.differences);
    if (isDrawn) context.say(`\r\u001b[2K${formatChecked(sums.checked)}`);
    if (!context.json) for (const one of part.differences) context.print(`${listDiffering(one)}\n`);
    after = part.next;
  } while (after !== null);
  if (isDrawn) context.say("\r\u001b[2K");
  if (context.json) context.print(`${JSON.stringify({ ...sums, differences })}\n`);
  else {
    const skipped = `; ${sums.skipped.toLocaleString("en-US")} passed over, as their events are not all kept`;
    const found = differences.length.toLocaleString("en-US");
    context.print(`${formatChecked(sums.checked)}, ${found} differences${sums.skipped > 0 ? skipped : ""}\n`);
  }
  if (differences.length > 0)
    throw new Fault("conflict", "What is kept is not what the events and credits come to", {
      hint: "Please report this with the lines above. Taking a meter out of use and back again counts it anew.",
    });
}

function listDiffering({ customer_id, meter_id, what, kept, recounted, started_at, ended_at }: Difference): string {
  const stretch = `${started_at?.slice(0, 10) ?? "ever"} to ${ended_at?.slice(0, 10) ?? "now"}`;
  return `customer ${customer_id}, meter ${meter_id}, ${stretch}: ${what} ${kept} is kept, ${recounted} recounted`;
}

const linesShown = 5;

async function compare(context: Context, path: string, options: Options): Promise<void> {
  const report: Report = { events: 0, counted: 0, repeated: 0, conflicts: [], missing: [], late: {} };
  const seen = new Set<unknown>();
  const total = path === "-" ? 0 : measureSize(path);
  const bar = total > 0 ? showProgress(context, path, total) : undefined;
  bar?.start("");
  for await (const { lines, bytes } of splitBatches(context, path, options)) {
    const fresh = lines.filter(({ event }) => !seen.has(event.external_id) && seen.add(event.external_id));
    report.events += lines.length;
    report.repeated += lines.length - fresh.length;
    if (fresh.length > 0) note(report, fresh, await ingestLines(context, fresh));
    bar?.add(bytes);
  }
  bar?.end();
  if (context.json) context.print(`${JSON.stringify(report)}\n`);
  else context.print(`${isDrawn(report).join("\n")}\n`);
  const wrong = report.missing.length + report.conflicts.length;
  if (wrong > 0)
    throw new Fault(
      "conflict",
      `${wrong.toLocaleString("en-US")} of ${report.events.toLocaleString("en-US")} events are not counted as the file has them`,
      {
        hint: "Send what is missing: `floe events ingest --from-file FILE`",
      },
    );
}

/** What would become of the lines if they were sent: those that were counted would be duplicates. */
async function ingestLines(context: Context, lines: readonly Line[]): Promise<IngestAnswer[]> {
  const body = { events: lines.map(({ event }) => event) };
  const query = { preview: true, representation: true };
  // The events are as the file has them, and the server checks them.
  const call = { ...splitRoute(routes.events.ingest), query, body, isRepeatSafe: true };
  return ((await context.call(call)) as { events: IngestAnswer[] }).events;
}

function note(report: Report, lines: readonly Line[], answers: readonly IngestAnswer[]): void {
  for (const [index, { number }] of lines.entries()) {
    const answer = answers[index] ?? { status: "missing", is_late: false, period: null };
    const { status } = answer;
    if (status === "conflict") report.conflicts.push(number);
    else if (status !== "duplicate") report.missing.push(number);
    else {
      report.counted += 1;
      reportLateEvents(report.late, answer);
    }
  }
}

const formatNumbered = (lines: readonly number[]): string =>
  `line ${lines.slice(0, linesShown).join(", ")}${lines.length > linesShown ? ", …" : ""}`;

function isDrawn({ counted, repeated, conflicts, missing, late }: Report): string[] {
  const rows: [number, string][] = [
    [counted, "counted"],
    [repeated, "more than once in the file, counted once"],
    [conflicts.length, `counted with other content: ${formatNumbered(conflicts)}`],
    [missing.length, `not counted: ${formatNumbered(missing)}`],
    ...drawLate(late),
  ];
  const width = Math.max(...rows.map(([count]) => count.toLocaleString("en-US").length));
  return rows
    .filter(([count], index) => count > 0 || index === 0)
    .map(([count, what]) => `${count.toLocaleString("en-US").padStart(width)} ${what}`);
}
