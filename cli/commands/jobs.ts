/** `floe jobs`: the failed background jobs of a server, for its operator. */
import { type Command, Option } from "commander";
import type { Job } from "../../shared/api/jobs.ts";
import { jobStatuses, jobsPageMax } from "../../shared/job-statuses.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { addReading } from "../reading.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";
import { createCountParser } from "./count-parser.ts";

type Answer = { items: Record<string, unknown>[]; next: string | null };
type ListOptions = { status: string; kind?: string; limit: number };

const columns = ["id", "attempts", "first_failed_at:date", "error"];
const fields = [
  ...["id", "kind", "row_id", "organization_id", "status", "attempts", "error"],
  ...["first_failed_at", "retry_at", "discarded_at"],
];

const listMax = 999_999;
const parseCount = createCountParser(listMax);

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("jobs").description("Failed background jobs, for the operator").helpCommand(false);
  const list = group
    .command("list")
    .description("List failed jobs of all organizations, dead letters if not told otherwise")
    .addOption(new Option("--status <status>", "which jobs").choices(jobStatuses).default("dead"))
    .option("--kind <worker>", "only the jobs of this worker, such as webhooks.deliver")
    .option("--limit <count>", "how many jobs", parseCount, 50);
  list.addHelpText("after", "\nExamples:\n  floe jobs list\n  floe jobs list --status retrying --json id,error");
  addReading(list, contextOf, listJobs);

  const show = group.command("show").argument("<job>", "id of the job").description("Show a failed job with its error");
  show.addHelpText("after", "\nExample:\n  floe jobs show webhooks.deliver:0192a4c0-0000-7000-8000-000000000001");
  addReading(show, contextOf, showJob);

  const retry = group
    .command("retry")
    .argument("<job...>", "ids of the jobs")
    .description("Run failed jobs again at once, and retry them for another 24 hours");
  retry.addHelpText("after", "\nExample:\n  floe jobs retry webhooks.deliver:0192a4c0-0000-7000-8000-000000000001");
  retry.action((ids: string[]) => retryJobs(contextOf(retry), ids));

  const discard = group
    .command("discard")
    .argument("<job>", "id of the job")
    .option("--yes", "do not ask")
    .description("Give up a dead letter: its row is not processed again");
  discard.addHelpText(
    "after",
    "\nExample:\n  floe jobs discard webhooks.deliver:0192a4c0-0000-7000-8000-000000000001 --yes",
  );
  discard.action((id: string, { yes }: { yes?: boolean }) => discardJob(contextOf(discard), id, yes));
}

const requestJob = async (context: Context, method: "GET" | "POST", id: string, action = ""): Promise<Job> =>
  (await context.call({
    method,
    path: `/v1/jobs/${encodeURIComponent(id)}${action}`,
    organization: false,
  })) as Job;

async function listJobs(context: Context, { limit, status, kind }: ListOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const items: Record<string, unknown>[] = [];
  for (let after: string | null | undefined; items.length < limit; ) {
    const query = { status, kind, ...(after && { after }), limit: Math.min(jobsPageMax, limit - items.length) };
    const page = (await context.call({ method: "GET", path: "/v1/jobs", query, organization: false })) as Answer;
    items.push(...page.items);
    after = page.next;
    if (after === null) break;
  }
  showList(context, items, columns, asked, "No failed jobs.\n");
}

async function showJob(context: Context, id: string): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  showOne(context, await requestJob(context, "GET", id), asked);
}

async function retryJobs(context: Context, ids: string[]): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const jobs: Job[] = [];
  for (const id of ids) {
    jobs.push(await requestJob(context, "POST", id, "/retry"));
    context.say(`Requeued ${id}. It runs now; if it fails again: \`floe jobs show ${id}\`\n`);
  }
  if (context.json) showList(context, jobs, columns, asked);
}

async function discardJob(context: Context, id: string, yes: boolean | undefined): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const { error } = await requestJob(context, "GET", id);
  await confirm(
    context,
    `It failed with: ${removeControls(error)}\nGive up ${id}? Its row is not processed again.`,
    yes,
  );
  const job = await requestJob(context, "POST", id, "/discard");
  context.say(`Discarded ${id}. To process it after all: \`floe jobs retry ${id}\`\n`);
  if (context.json) showOne(context, job, asked);
}
