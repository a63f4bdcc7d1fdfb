/** `floe webhooks redeliver` by filter: every event of an endpoint, or of all, whose delivery failed. */

import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { parseSince, resolveSince, type Since } from "../duration.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { removeControls } from "../ui/theme.ts";

type Options = Record<string, unknown> & {
  failed?: boolean;
  since?: Since;
  endpoint?: string;
  event?: string;
  yes?: boolean;
  dryRun?: boolean;
};
type Delivery = {
  url: string;
  webhook_event: { id: string; type: string; succeeded: boolean | null; is_archived: boolean };
};
type Page = { items: Delivery[]; pagination: { max_page: number } };

/** Each page has a hundred attempts. */
const pagesMax = 50;

export function addFlags(command: Command): void {
  command
    .option("--failed", "all events that are not delivered, in place of one")
    .option("--since <time>", "only those attempted since: 30m, 2h, 7d or a date", parseSince)
    .option("--endpoint <url>", "only to this endpoint: its address, id or name")
    .option("--event <type>", "only of this type, as order.paid")
    .option("-y, --yes", "do not ask");
}

/** Whether it was done: by filter, in place of one event. */
export async function run(context: Context, options: Options): Promise<boolean> {
  const { failed, since, endpoint, event } = options;
  if (!failed) {
    if (since === undefined && endpoint === undefined && event === undefined) return false;
    throw new Fault("usage", "--since, --endpoint and --event choose among failed events", { hint: "Add --failed." });
  }
  const events = await listFailed(context, {
    succeeded: false,
    ...(since !== undefined && { start_timestamp: new Date(resolveSince(since, context.now())).toISOString() }),
    ...(endpoint !== undefined && { endpoint_id: await resolveId(context, "webhooks", endpoint) }),
    ...(event !== undefined && { event_type: event }),
  });
  if (!options.dryRun && events.length > 0) {
    context.say(describeEvents(events));
    await confirm(context, `Send ${countEvents(events.length)} again?`, options.yes);
  }
  const sent: string[] = [];
  const refused: { id: string; reason: string }[] = [];
  for (const { id } of options.dryRun ? [] : events) {
    if (context.io.signal.aborted)
      throw new Fault("interrupted", `stopped after ${sent.length} of ${events.length} events`);
    try {
      await request(context, routes.webhooks.redeliver, { params: { id } });
      sent.push(id);
    } catch (error) {
      // Its endpoint is switched off, or it was archived meanwhile. The others have nothing to do with it.
      if (!(error instanceof Fault) || (error.parts.status !== 404 && error.parts.status !== 422)) throw error;
      refused.push({ id, reason: error.parts.places?.[0]?.msg ?? error.message });
    }
  }
  const named = events.map(({ id, type }) => ({ id, type }));
  if (context.json)
    context.print(`${JSON.stringify({ found: events.length, redelivered: sent.length, refused, events: named })}\n`);
  else if (options.dryRun) context.print(named.map(({ id, type }) => `${type}  ${id}\n`).join(""));
  else if (events.length === 0) context.say("No delivery has failed.\n");
  else context.say(`Sending ${countEvents(sent.length)} again. See how they go: \`floe webhooks deliveries\`\n`);
  if (refused.length > 0) throw new Fault("error", describeRefused(refused, events.length));
  return true;
}

/** How many were refused, and why, each reason once. */
const describeRefused = (refused: readonly { reason: string }[], total: number): string =>
  [`${refused.length} of ${total} events were not sent`, ...new Set(refused.map(({ reason }) => reason))].join("\n");

type Failed = { id: string; type: string; url: string };
const countEvents = (count: number): string => (count === 1 ? "1 event" : `${count} events`);
const shownMax = 10;

/** What would be sent where, before it is asked. */
function describeEvents(events: readonly Failed[]): string {
  const groups = Object.entries(Object.groupBy(events, ({ type, url }) => `${type} to ${url}`));
  const lines = groups.slice(0, shownMax).map(([what, all]) => `  ${all?.length ?? 0} × ${removeControls(what)}\n`);
  return lines.join("") + (groups.length > shownMax ? `  and ${groups.length - shownMax} more\n` : "");
}

/** The events of failed attempts that no later attempt has delivered, the oldest first. */
async function listFailed(context: Context, filter: Record<string, unknown>): Promise<Failed[]> {
  const events = new Map<string, Failed>();
  for (let page = 1, last = 1; page <= Math.min(last, pagesMax); page += 1) {
    const query = { ...filter, page, limit: 100 };
    const { items, pagination } = (await request(context, routes.webhooks.listDeliveries, { query })) as Page;
    for (const { url, webhook_event: one } of items)
      if (one.succeeded !== true && !one.is_archived) events.set(one.id, { id: one.id, type: one.type, url });
    last = pagination.max_page;
  }
  return [...events.values()].reverse();
}
