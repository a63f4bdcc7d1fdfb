/** `floe logs`: what a store was asked, and what it sent. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { LogEntry, LogKind, RequestTrace } from "../../shared/api/logs.ts";
import { formatMoney } from "../../shared/money.ts";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { parseSince, resolveSince, type Since } from "../duration.ts";
import { Fault, isFault } from "../fault.ts";
import { pause } from "../pause.ts";
import { addReading } from "../reading.ts";
import { truncateCell } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";
import { createCountParser } from "./count-parser.ts";

/** An entry as JSON carries it. */
type Entry = Omit<LogEntry, "created_at"> & { created_at: string };
type Dated<T> = { [K in keyof T]: T[K] extends (infer One)[] | null ? (One & { created_at: string })[] : T[K] };
type Trace = Dated<Omit<RequestTrace, "requests" | "mails" | "deliveries">> & {
  requests: Entry[];
  mails: Entry[];
  deliveries: Entry[];
};
type Options = {
  kind?: string[];
  status?: string[];
  method?: string;
  path?: string;
  request?: string;
  since?: Since;
  limit?: number;
  showBody?: boolean;
};

const pollMs = 1000;
const pageSize = 100;
const pagesMax = 50;
/** An entry is written a moment after its request, and by several servers. */
const lateMs = 30_000;
/** From this width on, a line has room for the id of its request. */
const wideColumns = 120;

const kinds: Record<string, LogKind> = {
  ...{ request: "request", requests: "request", delivery: "delivery", deliveries: "delivery" },
  ...{ mail: "mail", mails: "mail", job: "job", jobs: "job" },
};

function parseKinds(text: string, before: string[] = []): string[] {
  const named = text.split(",").filter(Boolean);
  const unknown = named.filter((name) => !Object.hasOwn(kinds, name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`must be one of: requests, deliveries, mails, jobs; not ${unknown.join(", ")}.`);
  return [...before, ...named.map((name) => kinds[name] ?? name)];
}
function parseStatuses(text: string, before: string[] = []): string[] {
  const named = text.split(",").filter(Boolean);
  const unknown = named.filter((name) => !["ok", "failed", "pending"].includes(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`must be one of: ok, failed, pending; not ${unknown.join(", ")}.`);
  return [...before, ...named];
}
const parseCount = createCountParser(pageSize * pagesMax);

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root
    .command("logs")
    .description("Requests, webhook deliveries, mails and failed jobs of the store")
    .helpCommand(false);
  const addFilters = (command: Command): Command =>
    command
      .option("--kind <kinds>", "only these: requests,deliveries,mails,jobs", parseKinds)
      .option("--status <statuses>", "only what came out so: ok, failed, pending", parseStatuses)
      .addOption(
        new Option("--method <method>", "only requests of this method").choices(["GET", "POST", "PATCH", "DELETE"]),
      )
      .option("--path <path>", "only requests whose path begins so: /v1/orders")
      .option("--request <id>", "only what belongs to this request")
      .option("--show-body", "also what was sent: numbers, ids and names of fields, never texts");
  const tail = addFilters(group.command("tail").description("Show them as they come"))
    .option("--since <when>", "begin with what happened since: 10m, 2h, or a time", parseSince)
    .addHelpText(
      "after",
      "\nExamples:\n  floe logs tail\n  floe logs tail --status failed --since 1h\n  floe logs tail --kind requests --path /v1/checkouts --show-body\n  floe logs tail --json      # one JSON object per line",
    );
  tail.action((options: Options) => tailLogs(contextOf(tail), options));
  const list = addFilters(group.command("list").description("List the latest, the newest first"))
    .option("--since <when>", "not before: 10m, 2h, or a time (24h)", parseSince)
    .option("--limit <count>", "how many lines", parseCount, 50)
    .addHelpText(
      "after",
      "\nExamples:\n  floe logs list --status failed --since 2d\n  floe logs list --kind deliveries --limit 200 --json id,name,http_status",
    );
  addReading(list, contextOf, listLogs);
  const get = group
    .command("get")
    .argument("<request-id>", "the id in the X-Request-Id header of the answer, or in floe logs list --json")
    .description("Show what one request did: events, orders, payments, mails, deliveries")
    .option("--show-body", "also what was sent: numbers, ids and names of fields, never texts")
    .addHelpText("after", "\nExamples:\n  floe logs get REQUEST_ID");
  addReading(get, contextOf, getRequest);
}

const buildQuery = ({ kind, status, method, path, request, showBody }: Options): Record<string, unknown> => ({
  ...(kind && { kind }),
  ...(status && { status }),
  ...(method && { method }),
  ...(path && { path }),
  ...(request && { request_id: request }),
  ...(showBody && { bodies: true }),
});

/** Entries that are not known yet, the newest first, page after page back to a time. */
async function readEntries(
  context: Context,
  query: Record<string, unknown>,
  since: number | undefined,
  known: Map<string, number>,
  count = pageSize * pagesMax,
): Promise<Entry[]> {
  const found: Entry[] = [];
  let until: string | undefined;
  while (found.length < count) {
    const { items } = (await context.call({
      ...splitRoute(routes.logs.list),
      query: {
        ...query,
        ...(since !== undefined && { since: new Date(since).toISOString() }),
        ...(until !== undefined && { until }),
        limit: pageSize,
      },
    })) as { items: Entry[] };
    const fresh = items.filter(({ id }) => !known.has(id));
    for (const { id, created_at } of fresh) known.set(id, new Date(created_at).getTime());
    found.push(...fresh);
    until = items.at(-1)?.created_at;
    // A page without anything new is the end: the next one would be the same.
    if (items.length < pageSize || fresh.length === 0) break;
  }
  return found.slice(0, count);
}

async function tailLogs(context: Context, options: Options): Promise<void> {
  const query = buildQuery(options);
  const { signal } = context.io;
  const known = new Map<string, number>();
  // The first answer says what time the store has.
  await context.call({ ...splitRoute(routes.logs.list), query: { ...query, limit: 1 } });
  const begin = resolveSince(options.since ?? { ago_ms: 0 }, context.now());
  let start = begin;
  if (!context.json) context.say("Waiting for requests, deliveries, mails and jobs. Ctrl-C stops.\n");
  while (!signal.aborted) {
    const news = await readEntries(context, query, start, known);
    for (const entry of news.reverse()) context.print(formatEntry(context, entry));
    start = Math.max(begin, context.now() - lateMs);
    for (const [id, at] of known) if (at < start - lateMs) known.delete(id);
    await pause(pollMs, signal);
  }
  throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped");
}

async function listLogs(context: Context, options: Options): Promise<void> {
  const { since, limit = 50 } = options;
  const start = since && resolveSince(since, context.now());
  const entries = await readEntries(context, buildQuery(options), start, new Map(), limit);
  const { checkAskedFields, isQuiet, pick } = await import("../resource/show.ts");
  if (isQuiet(context)) context.page(entries.map(({ id }) => `${id}\n`).join(""));
  else if (context.json) {
    const fields = checkAskedFields(context.globals.json, entryFields);
    context.page(`${JSON.stringify(fields ? entries.map((one) => pick(one, fields)) : entries, null, 2)}\n`);
  } else if (entries.length === 0) context.say("There is nothing in the log. Look further back with --since 7d.\n");
  else {
    context.page(entries.map((one) => formatEntry(context, one)).join(""));
    if ((context.io.stdout.columns ?? 80) < wideColumns)
      context.say("More of one: `floe logs get REQUEST_ID`. Ids: --json request_id,target\n");
  }
}

const entryFields = [
  ...["id", "kind", "created_at", "request_id", "status", "http_status", "duration_ms", "method", "target", "name"],
  ...["actor.*", "error", "skipped", "body.*"],
];

async function getRequest(context: Context, request_id: string, { showBody }: Options): Promise<void> {
  const call = { ...splitRoute(routes.logs.get), params: { request_id }, query: showBody ? { bodies: true } : {} };
  const trace = (await context.call(call).catch(explainMissing)) as Trace;
  if (context.json) {
    context.page(`${JSON.stringify(trace, null, 2)}\n`);
    return;
  }
  const paint = context.paint.out();
  const writeSection = (title: string, lines: string[] | null): string =>
    lines === null || lines.length === 0 ? "" : `${paint.strong(title)}\n${lines.join("")}`;
  const formatStart = (at: string) => `  ${paint.dim(formatTime(at))}  `;
  context.page(
    [
      writeSection(
        "Requests",
        trace.requests.map((one) => formatEntry(context, one)),
      ),
      writeSection(
        "Events",
        trace.events.map(
          ({ created_at, type, subject_id }) => `${formatStart(created_at)}${type.padEnd(28)} ${subject_id ?? ""}\n`,
        ),
      ),
      writeSection(
        "Orders",
        trace.orders?.map(
          ({ created_at, invoice_number, id, status, total_amount, currency }) =>
            `${formatStart(created_at)}${(invoice_number ?? id).padEnd(28)} ${status.padEnd(10)} ${formatMoney(total_amount, currency)}\n`,
        ) ?? null,
      ),
      writeSection(
        "Payments",
        trace.payments?.map(
          ({ created_at, id, status, amount, currency }) =>
            `${formatStart(created_at)}${id.padEnd(28)} ${status.padEnd(10)} ${formatMoney(amount, currency)}\n`,
        ) ?? null,
      ),
      writeSection(
        "Mails",
        trace.mails.map((one) => formatEntry(context, one)),
      ),
      writeSection(
        "Deliveries",
        trace.deliveries.map((one) => formatEntry(context, one)),
      ),
    ]
      .filter((text) => text !== "")
      .join("\n"),
  );
}

/** A request is known for some days, and by the id that its answer named. */
function explainMissing(error: unknown): never {
  if (!isFault(error) || error.kind !== "not_found") throw error;
  throw new Fault("not_found", "the log has no request of this id", {
    hint: "It keeps seven days. See the ids: `floe logs list --kind requests --json request_id,method,target`",
  });
}

const formatTime = (at: string): string => new Date(at).toTimeString().slice(0, 8);

/** Who made a request: the name of a key or of a person. */
const getActor = ({ actor }: Entry): string => (actor === null ? "" : (actor.name ?? actor.kind));

/** What a line begins with: method and status of a request, the kind of all else. */
const getHead = ({ kind, method, http_status, status }: Entry): string =>
  `${(kind === "request" ? (method ?? "") : kind).padEnd(8)} ${String(http_status ?? status).padEnd(7)}`;

const getSubject = ({ kind, target, name }: Entry): string =>
  kind === "request" ? (target ?? name) : [name, target].filter(Boolean).join("  ");

function formatEntry(context: Context, entry: Entry): string {
  if (context.json) return `${JSON.stringify(entry)}\n`;
  const paint = context.paint.out();
  const { columns = 80 } = context.io.stdout;
  const { status, duration_ms, request_id, error, skipped, body } = entry;
  const tint = status === "ok" ? paint.good : status === "failed" ? paint.bad : paint.dim;
  const time = formatTime(entry.created_at);
  const head = getHead(entry);
  const length = duration_ms === null ? "" : `${duration_ms} ms`;
  const isWide = columns >= wideColumns;
  const end = [error, getActor(entry), isWide ? request_id : null].filter(Boolean).join("  ");
  const start = `${time}  ${head} ${length.padStart(8)}  `;
  const room = Math.max(10, columns - start.length);
  const subject = removeControls(getSubject(entry));
  const text = truncateCell(`${subject}  ${removeControls(end)}`.trimEnd(), room);
  const lines = [
    ...(skipped > 0 ? [paint.dim(`${" ".repeat(10)}${skipped} requests were too many to be kept`)] : []),
    `${paint.dim(time)}  ${tint(head)} ${paint.dim(length.padStart(8))}  ${text}`,
    // Where a line has no room for the id, a failure still says how to see more of it.
    ...(!isWide && status === "failed" && request_id !== null
      ? [paint.dim(truncateCell(`${" ".repeat(10)}request ${request_id}`, columns))]
      : []),
    ...(body === undefined || body === null ? [] : [paint.dim(`${" ".repeat(10)}${JSON.stringify(body)}`)]),
  ];
  return `${lines.join("\n")}\n`;
}
