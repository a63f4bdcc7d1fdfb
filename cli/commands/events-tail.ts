/** `floe events tail`: what customers use, as it comes. */

import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import { readClock } from "../clock.ts";
import type { Context } from "../context.ts";
import { parseSince, resolveSince, type Since } from "../duration.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { resolveNames } from "../resource/names.ts";
import { readIdOrName } from "../resource/shorthand.ts";
import { truncateCell } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { name?: string[]; customer?: string[]; externalCustomer?: string[]; source?: string; since?: Since };
type Event = {
  id: string;
  timestamp: string;
  name: string;
  source: string;
  customer: { email: string | null } | null;
  external_customer_id: string | null;
  metadata: Record<string, unknown>;
};
type Page = { items: Event[] };

const pollMs = 1000;
const [page_size, pages_max] = [100, 20];
/** What comes so much later than it happened is still told. */
const lateMs = 10 * 60_000;

const parseList = (text: string, before: string[] = []): string[] => [...before, ...text.split(",").filter(Boolean)];

export function add(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("tail")
    .description("Show events as they come")
    .option("--name <names>", "only of these names: completion,image", parseList)
    .option("--customer <names>", "only of these customers, by address or id", parseList)
    .option("--external-customer <ids>", "the same by your own ids", parseList)
    .option("--source <source>", "only what you sent (user), or what floe noted (system)")
    .option("--since <when>", "begin with what happened since: 10m, 2h, or a time", parseSince)
    .addHelpText(
      "after",
      "\nExamples:\n  floe events tail\n  floe events tail --name completion --since 10m\n  floe events tail --customer ada@example.com --json      # one JSON object per line",
    );
  command.action((options: Options) => tail(contextOf(command), options));
}

async function tail(context: Context, options: Options): Promise<void> {
  const { source } = options;
  if (source !== undefined && !["user", "customer", "system"].includes(source))
    throw new Fault("usage", `there is no source ${source}`, { hint: "There are: user, customer, system" });
  const asked = await resolveNames(context, {
    ...(options.name && { name: options.name }),
    ...(options.customer && { customer_id: options.customer.map((name) => readIdOrName("customers", name)) }),
    ...(options.externalCustomer && { external_customer_id: options.externalCustomer }),
    ...(source && { source }),
  } as Record<string, unknown>);
  const clock = await readClock(context);
  const since = resolveSince(options.since ?? { ago_ms: 0 }, clock());
  /** What was told, by its time, as far back as is asked. */
  const told = new Map<string, number>();
  const { signal } = context.io;
  let start = since;
  if (!context.json) context.say("Waiting for events. Ctrl-C stops.\n");
  while (!signal.aborted) {
    const news = await read(context, { ...asked, start_timestamp: new Date(start).toISOString() }, told);
    for (const event of news.reverse()) context.print(getLine(context, event));
    start = Math.max(since, clock() - lateMs);
    for (const [id, at] of told) if (at < start) told.delete(id);
    await pause(pollMs, signal);
  }
  throw new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped");
}

/** What was not told yet, the newest first: pages are read until one has nothing new. */
async function read(context: Context, query: Record<string, unknown>, told: Map<string, number>): Promise<Event[]> {
  const news: Event[] = [];
  for (let page = 1; page <= pages_max; page += 1) {
    const { items } = (await request(context, routes.events.list, {
      query: { ...query, sorting: "-timestamp", limit: page_size, page },
    })) as Page;
    const fresh = items.filter(({ id }) => !told.has(id));
    for (const { id, timestamp } of fresh) told.set(id, new Date(timestamp).getTime());
    news.push(...fresh);
    if (fresh.length === 0 || items.length < page_size) break;
  }
  return news;
}

const formatTime = (at: string): string => new Date(at).toTimeString().slice(0, 8);
const getText = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

function getLine(context: Context, event: Event): string {
  if (context.json) return `${JSON.stringify(event)}\n`;
  const { timestamp, name, customer, external_customer_id, metadata } = event;
  const paint = context.paint.out();
  const whose = customer?.email ?? external_customer_id ?? "";
  const said = Object.entries(metadata).map(([key, value]) => `${key}=${getText(value)}`);
  const start = `${formatTime(timestamp)}  ${removeControls(name).padEnd(16)}  ${removeControls(whose).padEnd(24)}  `;
  const { columns = 80 } = context.io.stdout;
  if (start.length >= columns) return `${truncateCell(start, columns - 1)}\n`;
  const rest = truncateCell(removeControls(said.join(" ")), columns - start.length);
  return `${paint.dim(formatTime(timestamp))}  ${paint.strong(removeControls(name).padEnd(16))}  ${removeControls(whose).padEnd(24)}  ${paint.dim(rest)}\n`;
}
