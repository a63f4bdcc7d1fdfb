/** `floe trigger EVENT`: makes an event happen in a sandbox, by making and changing real objects there. */
import { Argument, type Command } from "commander";
import { type EventType, eventTypes } from "../../shared/event-types.ts";
import * as routes from "../../shared/routes.ts";
import { quote } from "../../shared/shell.ts";
import { type Context, findCurrentOrganization } from "../context.ts";
import { Fault } from "../fault.ts";
import { type Delivery, parseDelivery } from "../listen/forward.ts";
import { readHello, streamEvents } from "../listen/stream.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { isQuiet, showList, showOne } from "../resource/show.ts";
import { requireSandbox } from "../sandbox/require.ts";
import { createObjects, type Made } from "../trigger/objects.ts";
import { listIgnored, type Override, parseOverrides } from "../trigger/overrides.ts";
import { recipes } from "../trigger/recipes.ts";
import { renderColumns } from "../ui/table.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { list?: boolean; endpoint?: string; override: string[] };
type Endpoint = { id: string; url: string; enabled: boolean; events: string[] };
type Attempt = { succeeded: boolean; http_code: number | null; created_at: string; response: string | null };

/** A pending refund of the test processor takes a minute. */
const eventMsMax = 100_000;
const deliveryMsMax = 60_000;
const pollMs = 500;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("trigger")
    .description(
      "Make an event happen in a sandbox. The objects are real ones of the sandbox, and its clock moves where time has to pass.",
    )
    .addArgument(new Argument("[event]", "which one; --list shows all").choices([...eventTypes]))
    .option("--list", "show all events, and how each comes about")
    .option("--endpoint <url>", "wait until this webhook endpoint has received it (its address or id)")
    .option(
      "--override <data.field=value>",
      "a value of the event; may be repeated",
      (text, all: string[]) => [...all, text],
      [],
    )
    .addHelpText(
      "after",
      "\nExamples:\n  floe trigger --list\n  floe trigger order.paid\n  floe trigger subscription.cycled --endpoint https://example.com/hooks\n  floe trigger customer.created --override data.email=ada@example.com --override data.metadata.plan=gold",
    );
  command.action((event: EventType | undefined, options: Options) => runTrigger(contextOf(command), event, options));
}

async function runTrigger(context: Context, event: EventType | undefined, options: Options): Promise<void> {
  if (options.list) return listRecipes(context);
  if (event === undefined)
    throw new Fault("usage", "no event is named", { hint: "See them all: `floe trigger --list`" });
  if (event === "subscription.migrated")
    throw new Fault("error", "floe never sends subscription.migrated", {
      hint: "Clients of Polar know the event. See what floe sends: `floe trigger --list`",
    });
  const overrides = parseOverrides(options.override);
  const organization_id = await findCurrentOrganization(context);
  await requireSandbox(context, organization_id, "trigger makes objects and moves time");
  const endpoint = options.endpoint === undefined ? undefined : await findEndpoint(context, options.endpoint, event);
  const { cursor } = await readHello(context);
  const recipe = recipes[event];
  const objects = createObjects(context, organization_id, recipe.own, overrides);
  await recipe.run(objects);
  const ids = [organization_id, ...objects.made.map(({ id }) => id)];
  const delivery = await findEvent(context, event, cursor, event === "organization.updated" ? ids : ids.slice(1));
  const body = parseDelivery(delivery);
  const attempt = endpoint && (await awaitAttempt(context, endpoint, event, delivery));
  report(context, { event, delivery, body, made: objects.made, endpoint, attempt });
  requireOverrides(body.data, overrides);
}

function listRecipes(context: Context): void {
  const rows = eventTypes.map((event) => ({
    event,
    about: event === "subscription.migrated" ? "never sent by floe" : recipes[event].about,
    moves_clock: event !== "subscription.migrated" && recipes[event].takesTime === true,
  }));
  if (context.json || isQuiet(context)) showList(context, rows, ["event:name", "about", "moves_clock:flag"]);
  else context.page(renderRecipes(context, rows));
}

/** Each event with how it comes about, in lines that fit. */
function renderRecipes(context: Context, rows: { event: string; about: string; moves_clock: boolean }[]): string {
  const lines = rows.map(({ event, about, moves_clock }): [string, string] => [
    event,
    `${about}${moves_clock ? " (moves the clock of the sandbox)" : ""}`,
  ]);
  return renderColumns(lines, context.paint.out(), context.io.stdout.columns ?? 80);
}

async function findEndpoint(context: Context, named: string, event: EventType): Promise<Endpoint> {
  const query = { limit: 100 };
  const { items } = await request(context, routes.webhooks.listEndpoints, { query });
  const found = items.find(({ id, url }) => id === named || url === named);
  if (!found)
    throw new Fault("not_found", `there is no webhook endpoint ${named}`, { hint: "See: `floe webhooks list`" });
  if (!found.enabled)
    throw new Fault("error", `the webhook endpoint ${found.url} is switched off`, {
      hint: `Run: \`floe webhooks enable ${found.id}\``,
    });
  if (!found.events.includes(event))
    throw new Fault("error", `the webhook endpoint ${found.url} does not listen to ${event}`, {
      hint: `Run: \`floe webhooks update ${found.id} --events ${[...found.events, event].join(",")}\``,
    });
  return found;
}

/** The event that tells of one of these objects, from the stream of events since a cursor. */
async function findEvent(context: Context, type: EventType, cursor: string, ids: readonly string[]): Promise<Delivery> {
  let found: Delivery | undefined;
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), eventMsMax);
  try {
    await streamEvents(context, {
      query: { events: [type] },
      cursor: () => cursor,
      signal: AbortSignal.any([context.io.signal, over.signal]),
      onEvent: async ({ event, data }) => {
        if (event !== "delivery") return;
        const delivery = JSON.parse(data) as Delivery;
        if (!ids.some((id) => delivery.body.includes(id))) return;
        found = delivery;
        over.abort();
      },
      onOpen: () => undefined,
      onLost: () => undefined,
    });
  } catch (error) {
    if (!found && (context.io.signal.aborted || !over.signal.aborted)) throw error;
  } finally {
    clearTimeout(timer);
  }
  if (found) return found;
  throw new Fault("error", `the objects are made, but ${type} did not come within ${eventMsMax / 1000} s`, {
    hint: "Background jobs may not run. Run: `floe doctor`",
  });
}

/** The first attempt to deliver an event to an endpoint. */
async function awaitAttempt(
  context: Context,
  endpoint: Endpoint,
  event_type: EventType,
  { body }: Delivery,
): Promise<Attempt> {
  const { timestamp } = JSON.parse(body) as { timestamp: string };
  const query = { endpoint_id: endpoint.id, event_type, query: timestamp, limit: 1 };
  for (const ends = Date.now() + deliveryMsMax; Date.now() < ends && !context.io.signal.aborted; ) {
    const [attempt] = (await request(context, routes.webhooks.listDeliveries, { query })).items;
    if (attempt) return attempt;
    await pause(pollMs, context.io.signal);
  }
  throw new Fault("error", `${endpoint.url} has not been sent ${event_type} within ${deliveryMsMax / 1000} s`, {
    hint: "Run: `floe doctor`",
  });
}

type Result = {
  event: EventType;
  delivery: Delivery;
  body: { data: unknown; timestamp: string };
  made: readonly Made[];
  endpoint: Endpoint | undefined;
  attempt: Attempt | undefined;
};

type Sent = { url: string; succeeded: boolean; http_code: number | null };

function report(context: Context, { event, delivery, body, made, endpoint, attempt }: Result): void {
  const sent = endpoint && attempt && { url: endpoint.url, succeeded: attempt.succeeded, http_code: attempt.http_code };
  if (context.json) {
    showOne(context, { event, id: delivery.id, made, delivery: sent ?? null, payload: body });
    return;
  }
  const paint = context.paint.err();
  context.say(`${paint.good("✓")} ${event}\n${describeMade(made)}`);
  if (sent) {
    const answer = sent.http_code === null ? "no answer" : String(sent.http_code);
    context.say(
      `  ${sent.succeeded ? "delivered to" : "refused by"} ${removeControls(sent.url)}: ${sent.succeeded ? paint.good(answer) : paint.bad(answer)}\n`,
    );
  }
  const step = findNextStep(event, made, sent);
  if (step !== undefined) context.say(`${step}\n`);
}

/** What was made, by its names, as they are typed; of what has none, only what it is. */
function describeMade(made: readonly Made[]): string {
  const named = made.flatMap(({ kind, name }) => (name === null ? [] : [[kind, removeControls(name)] as const]));
  const others = made.flatMap(({ kind, name }) => (name === null ? [kind.replaceAll("_", " ")] : []));
  const lines = [...named, ...(others.length > 0 ? [["also", others.join(", ")] as const] : [])];
  return lines.map(([kind, name]) => `  ${kind.replaceAll("_", " ").padEnd(12)} ${name}\n`).join("");
}

/** Where to look at what was made, or why it was not delivered. */
function findNextStep(event: EventType, made: readonly Made[], sent: Sent | undefined): string | undefined {
  if (sent && !sent.succeeded) return `See why: \`floe webhooks doctor ${sent.url}\``;
  if (event.endsWith(".deleted")) return undefined;
  const shown = made.findLast(({ kind, name }) => name !== null && ["order", "customer"].includes(kind));
  return shown?.name ? `See it: \`floe ${shown.kind}s get ${quote(removeControls(shown.name))}\`` : undefined;
}

function requireOverrides(data: unknown, overrides: readonly Override[]): void {
  const ignored = listIgnored(data, overrides);
  if (ignored.length === 0) return;
  throw new Fault("error", `the event has another value at ${ignored.join(", ")}`, {
    name: "override_ignored",
    hint: "These values follow from other objects, and cannot be set. The event was sent without them.",
  });
}
