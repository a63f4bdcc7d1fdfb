/** `floe events stream`: what happens in the organization, as it happens, one line for each event. */
import { type Command, InvalidArgumentError } from "commander";
import { streamPaths } from "../../shared/stream-paths.ts";
import { readClock } from "../clock.ts";
import type { Context } from "../context.ts";
import { parseSince, resolveSince, type Since } from "../duration.ts";
import { Fault } from "../fault.ts";
import type { StreamEvent } from "../listen/events.ts";
import { streamEvents } from "../listen/stream.ts";
import { removeControls } from "../ui/theme.ts";

type Options = {
  types?: string[];
  customer?: string;
  externalCustomer?: string;
  product?: string;
  subscription?: string;
  since?: Since;
  cursor?: string;
};
/** An event as the stream sends it. */
type Envelope = { id: string; type: string; timestamp: string; data?: { id?: string }; object_id?: string };
type Hello = { types: string[]; omitted_types: string[] };

function parseCursorText(text: string): string {
  if (!/^\d{1,18}-\d{1,15}$/.test(text))
    throw new InvalidArgumentError("is a place, as `floe events stream --json` shows it.");
  return text;
}

export function add(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("stream")
    .description("Show what happens in the organization: orders, subscriptions, customers and more, as it happens")
    .option("--types <a,b>", "only these: order.*,customer.created", (text) => text.split(",").filter(Boolean))
    .option("--customer <id>", "only events about this customer")
    .option("--external-customer <id>", "the same by your own id")
    .option("--product <id>", "only events about this product")
    .option("--subscription <id>", "only events about this subscription")
    .option("--since <when>", "begin with what happened since: 10m, 2h, or a time", parseSince)
    .option("--cursor <place>", "go on after this place", parseCursorText)
    .addHelpText(
      "after",
      "\nExamples:\n  floe events stream\n  floe events stream --types 'order.*' --since 1h\n  floe events stream --external-customer user-42 --json      # one JSON object per line, each with its cursor",
    );
  command.action((options: Options) => showStream(contextOf(command), options));
}

async function showStream(context: Context, options: Options): Promise<void> {
  const { since, types, customer, externalCustomer, product, subscription } = options;
  const query = {
    types,
    customer_id: customer,
    external_customer_id: externalCustomer,
    product_id: product,
    subscription_id: subscription,
    since: since && (await formatSince(context, since)),
  };
  let { cursor } = options;
  await streamEvents(context, {
    path: streamPaths.events,
    query,
    cursor: () => cursor,
    onEvent: async (event) => {
      if (event.event === "hello") showHello(context, JSON.parse(event.data) as Hello);
      else if (event.event === "reset") showReset(context, event);
      else if (event.event !== "cursor" && event.event !== "reconnect") context.print(formatLine(context, event));
      cursor = event.id ?? cursor;
    },
    onOpen: (again) => context.say(again ? "Connected again.\n" : "Waiting for events. Ctrl-C stops.\n"),
    onLost: (reason) => context.say(`Connection lost (${reason}); connecting again.\n`),
  });
}

/** A length of time is counted back from the organization's clock. */
const formatSince = async (context: Context, since: Since): Promise<string> =>
  new Date(resolveSince(since, (await readClock(context))())).toISOString();

function showHello(context: Context, { types, omitted_types }: Hello): void {
  if (types.length === 0) throw new Fault("not_permitted", "your key may read no event of these types");
  if (omitted_types.length > 0)
    context.say(`Left out, as your key may not read them: ${removeControls(omitted_types.join(", "))}\n`);
}

const showReset = (context: Context, { data }: StreamEvent): void =>
  context.say(
    `The place is not available (${removeControls((JSON.parse(data) as { reason: string }).reason)}). Beginning now.\n`,
  );

function formatLine(context: Context, { data, id }: StreamEvent): string {
  const event = JSON.parse(data) as Envelope;
  if (context.json) return `${JSON.stringify({ cursor: id, ...event })}\n`;
  const paint = context.paint.out();
  const time = new Date(event.timestamp).toTimeString().slice(0, 8);
  const object = removeControls(String(event.data?.id ?? event.object_id ?? ""));
  return `${paint.dim(time)}  ${paint.strong(removeControls(event.type).padEnd(24))}  ${object}\n`;
}
