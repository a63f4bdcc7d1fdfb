/** `floe admin queues`, `dead-letters`, `retry`, `mails` and `endpoints`: what waits and fails on a server, of all sellers. */
import { type Command, Option } from "commander";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { addPlace, type Place, readPlace, runServerWork } from "./admin-place.ts";
import { createCountParser } from "./count-parser.ts";

type FilterOptions = Place & { kind?: string; organization?: string; error?: string; limit: number };
type RetryOptions = FilterOptions & { status: "dead" | "retrying"; dryRun?: boolean; yes?: boolean };
type MailOptions = Place & {
  status: "waiting" | "failing" | "refused";
  to?: string;
  limit: number;
  bounced?: boolean;
  forget?: string;
};

const listMax = 1000;
/** So many jobs are shown before they are retried. */
const previewMax = 5;

const parseCount = createCountParser(listMax);
const addLimit = (command: Command): Command => command.option("--limit <count>", "how many at most", parseCount, 50);
const addFilter = (command: Command): Command =>
  addPlace(command)
    .option("--kind <worker>", "only the jobs of this worker, such as webhooks.deliver")
    .option("--organization <id>", "only the jobs of this organization")
    .option("--error <text>", "only jobs whose error contains this");
const readFilter = ({ kind, organization, error, limit }: FilterOptions) => ({
  kind,
  organization_id: organization,
  error,
  limit,
});

export function addQueues(group: Command, contextOf: (command: Command) => Context): void {
  const queues = addPlace(
    group
      .command("queues")
      .description("List what is due for each worker, since when, and what has failed")
      .option("--all", "also the workers for which nothing is due"),
  );
  queues.addHelpText(
    "after",
    "\nExamples:\n  floe admin queues\n  floe admin queues --all --json worker,due,oldest_at",
  );
  queues.action((options: Place & { all?: boolean }) => listQueues(contextOf(queues), options));

  const dead = addLimit(
    addFilter(group.command("dead-letters").description("List background jobs that were given up, the newest first")),
  );
  dead.addHelpText(
    "after",
    "\nExamples:\n  floe admin dead-letters\n  floe admin dead-letters --kind mails.send --error timeout --json id,error",
  );
  dead.action((options: FilterOptions) => listDeadLetters(contextOf(dead), options));

  const retry = addLimit(
    addFilter(
      group
        .command("retry")
        .description("Retry the failed background jobs that a filter matches. It shows them first and asks")
        .addOption(new Option("--status <status>", "which jobs").choices(["dead", "retrying"]).default("dead"))
        .option("--dry-run", "only show what would be retried")
        .option("--yes", "do not ask"),
    ),
  );
  retry.addHelpText(
    "after",
    "\nExamples:\n  floe admin retry --kind webhooks.deliver --dry-run\n  floe admin retry --error ECONNREFUSED --limit 1000 --yes",
  );
  retry.action((options: RetryOptions) => retryFailures(contextOf(retry), options));

  const mails = addLimit(
    addPlace(
      group
        .command("mails")
        .description("List mails that wait or were refused, with what the mail server answered")
        .addOption(
          new Option("--status <status>", "which mails").choices(["waiting", "failing", "refused"]).default("refused"),
        )
        .option("--to <email>", "only mails to this address")
        .option("--bounced", "list the addresses that took no mail instead")
        .option("--forget <email>", "forget that an address took no mail, so that it is sent mail again"),
    ),
  );
  mails.addHelpText(
    "after",
    "\nExamples:\n  floe admin mails\n  floe admin mails --status failing --json to,attempts,answer\n  floe admin mails --bounced\n  floe admin mails --forget ada@example.com",
  );
  mails.action((options: MailOptions) => listMails(contextOf(mails), options));

  const endpoints = addLimit(
    addPlace(group.command("endpoints").description("List webhook endpoints for which events wait, the oldest first")),
  );
  endpoints.addHelpText(
    "after",
    "\nExamples:\n  floe admin endpoints\n  floe admin endpoints --json url,waiting,oldest_at",
  );
  endpoints.action((options: Place & { limit: number }) => listEndpoints(contextOf(endpoints), options));
}

async function listQueues(context: Context, options: Place & { all?: boolean }): Promise<void> {
  const columns = ["worker", "due", "oldest_at:date", "retrying", "dead"];
  const asked = checkAskedFields(context.globals.json, ["worker", "due", "oldest_at", "retrying", "dead"]);
  const queues = await runServerWork((server) => server.readQueues(readPlace(options)));
  const shown = queues.filter(({ due, retrying, dead }) => options.all || due + retrying + dead > 0);
  showList(context, shown, columns, asked, "Nothing is due, and nothing has failed.\n");
}

const jobColumns = ["id", "attempts", "first_failed_at:date", "error"];
const jobFields = ["id", "kind", "row_id", "organization_id", "attempts", "error", "first_failed_at", "retry_at"];
type Failure = { kind: string; row_id: string } & Record<string, unknown>;
const addId = (job: Failure) => ({ id: `${job.kind}:${job.row_id}`, ...job });

async function listDeadLetters(context: Context, options: FilterOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, jobFields);
  const { items, total } = await runServerWork((server) =>
    server.readFailures(readPlace(options), { ...readFilter(options), status: "dead" }),
  );
  showList(context, items.map(addId), jobColumns, asked, "No job was given up.\n");
  if (total > items.length) context.say(`${total - items.length} more: --limit, --kind or --error.\n`);
}

async function retryFailures(context: Context, options: RetryOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, jobFields);
  const filter = { ...readFilter(options), status: options.status };
  const { items, kinds, total } = await runServerWork((server) => server.readFailures(readPlace(options), filter));
  const count = Math.min(total, options.limit);
  if (options.dryRun || count === 0) {
    showList(context, items.map(addId), jobColumns, asked, "No failed job matches.\n");
    if (count > 0) context.say(`${count} of ${total} jobs would be retried. Nothing was changed.\n`);
    return;
  }
  const named = kinds.map(({ kind, count: of }) => `${of} ${kind}`).join(", ");
  const first = items.slice(0, previewMax).map((job) => `  ${addId(job).id}\n`);
  await confirm(
    context,
    `${total} failed jobs match (${named}), such as:\n${first.join("")}Retry ${count} of them at once?`,
    options.yes,
  );
  const retried = await runServerWork((server) => server.retryFailures(readPlace(options), filter));
  if (context.json) showList(context, retried.map(addId), jobColumns, asked);
  context.say(`${retried.length} jobs run again within seconds, and are retried for 24 hours.\n`);
}

const bounceFields = ["address", "kind", "code", "reason", "source", "count", "first_at", "last_at"];

async function listBounces(context: Context, options: MailOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, bounceFields);
  const bounces = await runServerWork((server) => server.readBounces(readPlace(options), options.limit));
  showList(context, bounces, ["address", "kind", "last_at:date", "reason"], asked, "No address has bounced.\n");
}

async function listMails(context: Context, options: MailOptions): Promise<void> {
  if (options.bounced) return listBounces(context, options);
  const fields = [
    "id",
    "to",
    "subject",
    "seller_id",
    "customer_id",
    "request_id",
    "created_at",
    "attempts",
    "next_attempt_at",
    "answer",
  ];
  const asked = checkAskedFields(context.globals.json, fields);
  const { status, to, limit, forget: address } = options;
  if (address !== undefined) {
    const isForgotten = await runServerWork((server) => server.deleteBounceOf(readPlace(options), address));
    if (!isForgotten) throw new Fault("not_found", `${address} has not bounced`);
    context.say(`${address} is sent mail again.\n`);
    return;
  }
  const mails = await runServerWork((server) => server.readMails(readPlace(options), { status, to, limit }));
  showList(context, mails, ["to", "created_at:date", "attempts", "answer"], asked, "There is no such mail.\n");
}

async function listEndpoints(context: Context, options: Place & { limit: number }): Promise<void> {
  const fields = ["organization_id", "endpoint_id", "url", "enabled", "waiting", "oldest_at"];
  const asked = checkAskedFields(context.globals.json, fields);
  const endpoints = await runServerWork((server) => server.readEndpoints(readPlace(options), options.limit));
  const columns = ["url", "enabled", "waiting", "oldest_at:date", "organization_id"];
  showList(context, endpoints, columns, asked, "No event waits for an endpoint.\n");
}
