/** `floe polar`: the connection to hosted Polar, for the operator of a server with FLOE_BILLING=polar. */
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList, showOne } from "../resource/show.ts";
import { showProgress } from "../ui/progress.ts";
import { renderTable } from "../ui/table.ts";
import { addPlace, type OperatorServer, type Place, readPlace, runServerWork } from "./admin-place.ts";

type ConnectOptions = Place & { organization?: string; owner?: string; url?: string };
type SyncOptions = Place & { kinds?: string; check?: boolean };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root
    .command("polar")
    .description("Connect a server with hosted Polar, on its own machine: events, and the mirror of what Polar has")
    .helpCommand(false);

  const connect = addPlace(
    group
      .command("connect")
      .description("Make the webhook endpoint at Polar, and keep its secret. Repeated, it repairs what differs")
      .option("--organization <id>", "the organization here that uses the access token, by its id or slug")
      .option("--owner <email>", "make the organization of Polar here if it is missing, with this user as its owner")
      .option("--url <address>", "the public address of this server, instead of FLOE_URL"),
  );
  connect.addHelpText(
    "after",
    "\nExamples:\n  floe polar connect\n  floe polar connect --organization acme --url https://shop.example.com\n  floe polar connect --owner ada@example.com",
  );
  connect.action((options: ConnectOptions) => connectPolar(contextOf(connect), options));

  const status = addPlace(
    group.command("status").description("Show the endpoint, the last event, what was refused and what waits"),
  );
  status.addHelpText("after", "\nExamples:\n  floe polar status\n  floe polar status --json last_event,refused");
  status.action((options: Place) => showStatus(contextOf(status), options));

  const sync = addPlace(
    group
      .command("sync")
      .description("Bring the mirror up to the lists of Polar. A run that ended early is continued")
      .option("--kinds <kinds>", "only these kinds, with commas: customer,order")
      .option("--check", "compare only, and end with 1 where something differs"),
  );
  sync.addHelpText("after", "\nExamples:\n  floe polar sync\n  floe polar sync --kinds customer,order --check");
  sync.action((options: SyncOptions) => syncMirror(contextOf(sync), options));
}

const connectFields = ["organization_id", "polar_id", "endpoint_id", "url", "outcome", "duplicates"];
const outcomes = {
  created: "made at Polar",
  repaired: "repaired at Polar",
  unchanged: "as it should be",
} as const;

async function connectPolar(context: Context, options: ConnectOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, connectFields);
  const { url: origin, organization, owner } = options;
  if (origin !== undefined && !/^https?:$/.test(URL.parse(origin)?.protocol ?? ""))
    throw new Fault("usage", "--url is an address, such as https://shop.example.com");
  const connected = await runServerWork((server) =>
    server.runPolarWork("connect", { given: readPlace(options), input: { organization, origin, owner } }),
  );
  if (context.json) return showOne(context, connected, asked);
  context.say(`The endpoint ${connected.url} is ${outcomes[connected.outcome]}, and its secret is kept here.\n`);
  const { duplicates } = connected;
  if (duplicates.length > 0)
    context.say(
      `Polar has ${duplicates.length} more with this address, so events come more than once. Delete them: floe webhooks delete ${duplicates.join(" ")}\n`,
    );
  context.say("What was sold before: `floe polar sync`\n");
}

type Status = Awaited<ReturnType<typeof readStatus>>;
type Line = { what: string; state: string; next: string };
const readStatus = (options: Place) =>
  runServerWork((server) => server.runPolarWork("status", { given: readPlace(options), input: {} }));

const statusFields = [
  ...["organization_id", "polar_id", "url", "token", "breaker", "endpoint", "setting_secrets", "last_event"],
  ...["events", "waiting", "refused", "mirror", "sync"],
];
const units: [number, string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];
function describeSeconds(seconds: number): string {
  const [size, unit] = units.find(([length]) => seconds >= length) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

function describeEndpoint({ endpoint, setting_secrets }: Status): Line {
  const line = { what: "endpoint at Polar", next: "floe polar connect" };
  if (!endpoint)
    return setting_secrets > 0
      ? { ...line, state: "made by hand: POLAR_WEBHOOK_SECRET is set", next: "" }
      : { ...line, state: "none: no event arrives" };
  if (endpoint.fault !== null) return { ...line, state: endpoint.fault };
  const missing = endpoint.missing_events?.length ?? 0;
  if (endpoint.enabled === false) return { ...line, state: "switched off" };
  return missing > 0
    ? { ...line, state: `on, without ${missing} types of events` }
    : { ...line, state: `on: ${endpoint.url}`, next: "" };
}

function describeSync({ sync }: Status, now: number): Line {
  const line = { what: "sync", next: "" };
  if (!sync) return { ...line, state: "never", next: "floe polar sync" };
  const at = sync.finished_at ?? sync.started_at;
  const duration = describeSeconds(Math.max(0, (now - Date.parse(at)) / 1000));
  return sync.finished_at
    ? { ...line, state: `finished ${duration} ago` }
    : { ...line, state: `begun ${duration} ago, at page ${sync.page} of ${sync.kind ?? "the last kind"}` };
}

/** One line for each part, and the next step where one is needed. */
function listLines(status: Status, now: number): Line[] {
  const { last_event, waiting, events, breaker, token, url } = status;
  const formatAge = (at: string) => describeSeconds(Math.max(0, (now - Date.parse(at)) / 1000));
  return [
    {
      what: "Polar",
      state: `${url}, access token ${token}${breaker === "open" ? ", not asked for now" : ""}`,
      next: "",
    },
    describeEndpoint(status),
    {
      what: "last event",
      state: last_event
        ? `${last_event.type}, ${describeSeconds(last_event.age_seconds)} ago, ${describeSeconds(last_event.lag_seconds)} under way`
        : "none",
      next: "",
    },
    { what: "signed with", state: last_event?.secret ?? "-", next: "" },
    {
      what: "events to apply",
      state: waiting.oldest_at ? `${waiting.count}, the oldest for ${formatAge(waiting.oldest_at)}` : "nothing waits",
      next: waiting.oldest_at && Date.parse(waiting.oldest_at) < now - 60_000 ? "floe jobs list" : "",
    },
    {
      what: "events of 7 days",
      state: events.map(({ state, count }) => `${count} ${state}`).join(", ") || "none",
      next: "",
    },
    describeSync(status, now),
  ];
}

async function showStatus(context: Context, options: Place): Promise<void> {
  const asked = checkAskedFields(context.globals.json, statusFields);
  const status = await readStatus(options);
  if (context.json) return showOne(context, status, asked);
  const now = context.now();
  const show = (rows: unknown[], columns: string[]): string =>
    renderTable(rows, columns, context.paint.out(), context.io.stdout.columns ?? 80, now);
  const mirror = Object.entries(status.mirror).map(([kind, count]) => ({ kind, count }));
  const parts = [
    show(listLines(status, now), ["what", "state", "next"]),
    ...(status.refused.length > 0 ? [show(status.refused, ["reason", "count", "last_at:date"])] : []),
    ...(mirror.length > 0 ? [show(mirror, ["kind", "count"])] : []),
  ];
  context.page(parts.join("\n"));
}

const syncColumns = ["kind", "equal", "changed", "added", "gone"];
/** A shorter run needs no progress. */
const progressAfterMs = 1000;

async function syncMirror(context: Context, options: SyncOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, syncColumns);
  const { check: isCheck = false } = options;
  const kinds = options.kinds?.split(",").filter(Boolean);
  const report = createReporter(context);
  const { signal } = context.io;
  const result = await runServerWork(
    (server) => server.runPolarWork("sync", { given: readPlace(options), input: { kinds, isCheck }, report, signal }),
    { signal },
  ).finally(() => report());
  const rows = result.kinds.map((kind) => ({
    kind,
    ...(result.counts[kind] ?? { equal: 0, changed: 0, added: 0, gone: 0 }),
  }));
  if (result.isResumed) context.say("A run that had ended early was continued.\n");
  showList(context, rows, syncColumns, asked);
  const differing = rows.reduce((sum, { changed, added, gone }) => sum + changed + added + gone, 0);
  if (!isCheck || differing === 0) return;
  throw new Fault(
    "error",
    `The mirror differs from Polar in ${differing === 1 ? "one object" : `${differing} objects`}`,
    {
      name: "mirror_differs",
      hint: "Bring it up to date: `floe polar sync`",
    },
  );
}

type Progress =
  NonNullable<Parameters<OperatorServer["runPolarWork"]>[1]["report"]> extends (progress: infer P) => void ? P : never;

/** Show how far a sync is, kind by kind, once it takes longer than a second. Without progress, the bar is taken away. */
function createReporter(context: Context): (progress?: Progress) => void {
  const began = performance.now();
  let shown: { kind: string; total: number; done: number; bar: ReturnType<typeof showProgress> } | undefined;
  return (progress) => {
    if (!progress || progress.kind !== shown?.kind || progress.total !== shown.total) {
      shown?.bar.end();
      shown = undefined;
    }
    if (!progress?.kind || progress.total === 0 || performance.now() - began < progressAfterMs) return;
    const { kind, total, done } = progress;
    if (!shown) {
      shown = { kind, total, done: 0, bar: showProgress(context, kind, total, (count) => `${count} objects`) };
      shown.bar.start("");
    }
    shown.bar.add(Math.max(done - shown.done, 0));
    shown.done = done;
  };
}
