/** `floe listen`: events of the organization, as signed webhooks, to a program on this machine. */
import { createHash } from "node:crypto";
import { type Command, InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { openCursor } from "../listen/cursor.ts";
import type { StreamEvent } from "../listen/events.ts";
import { expandTypes, isMatching, parseMatch } from "../listen/filters.ts";
import { type Delivery, forwardEvent, type Outcome, parseTarget } from "../listen/forward.ts";
import { streamEvents } from "../listen/stream.ts";
import { removeControls } from "../ui/theme.ts";

type Options = {
  forwardTo: string[];
  events?: string[];
  match: string[];
  retry: number;
  latest?: boolean;
  print?: boolean;
  printSecret?: boolean;
};

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("listen")
    .description(
      "Forward events to a program on this machine, signed as a webhook. What happens while it is not running is forwarded when it starts again.",
    )
    .option("--forward-to <url>", "where to send them: http://localhost:3000/hooks; may be repeated", addText, [])
    .option("--events <a,b>", "only these: order.*,customer.created", (text) => text.split(",").filter(Boolean))
    .option("--match <data.field=value>", "only events with this value; may be repeated", addText, [])
    .option("--print", "print the body of each event")
    .option("--retry <number>", "send again so many times what is not accepted", count, 0)
    .option("--latest", "do not forward what was missed")
    .option("--print-secret", "print the signing secret and exit")
    .addHelpText(
      "after",
      "\nExamples:\n  floe listen --forward-to http://localhost:3000/hooks\n  floe listen --events order.paid --forward-to 3000/hooks\n  floe listen --events 'order.*' --match data.customer.email=ada@example.com --print\n  floe listen --forward-to 3000/hooks --forward-to 4000/hooks\n  floe listen --json                                      # one JSON object per line",
    );
  command.action((options: Options) => listen(contextOf(command), options));
}

function count(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError("is a whole number up to 99.");
  return Number(text);
}

const addText = (text: string, all: string[]): string[] => [...all, text];

const formatTime = (): string => new Date().toTimeString().slice(0, 8);
/** Clocks differ a little; only what is clearly older than the connection happened while nobody listened. */
const skewMs = 500;

async function listen(context: Context, options: Options): Promise<void> {
  const targets = options.forwardTo.map(parseTarget);
  const matches = options.match.map(parseMatch);
  const types = expandTypes(options.events ?? []);
  const { server, apiKey } = context.settings();
  const organization =
    (await context.organization()) ??
    createHash("sha256")
      .update(apiKey ?? "")
      .digest("hex");
  const saved = openCursor(context.io.env, [server, organization, targets.map(({ href }) => href).join(" ")]);
  let cursor = options.latest ? undefined : saved.read();
  const resuming = cursor !== undefined;
  let secret = "";
  let openedAt = Date.now();
  const paint = context.paint.err();
  const settle = (id: string | undefined): void => {
    if (id === undefined || id === cursor) return;
    cursor = id;
    if (!options.printSecret) saved.write(id);
  };

  const handleHello = (event: StreamEvent): void => {
    const said = parse<{ secret?: string }>(event.data);
    if (options.printSecret) {
      context.print(`${said.secret ?? ""}\n`);
      throw new Done();
    }
    if (said.secret && said.secret !== secret) {
      secret = said.secret;
      context.tell(`Signing secret: ${paint.strong(removeControls(secret))}\n`);
    }
    // Where the stream begins; with it, what happens before the first delivery is not lost either.
    if (cursor === undefined) settle(event.id);
  };

  const deliver = async (event: StreamEvent): Promise<void> => {
    const delivery = parse<Delivery>(event.data);
    const missed = delivery.created_at !== undefined && Date.parse(delivery.created_at) < openedAt - skewMs;
    const isWanted = matches.length === 0 || isMatching(parse(delivery.body), matches);
    if (isWanted)
      await forwardToAll(context, {
        delivery,
        targets,
        missed,
        isPrinted: options.print === true,
        retries: options.retry,
      });
    // Only now: an event that was cut off on its way comes again.
    settle(event.id);
  };

  try {
    await streamEvents(context, {
      query: { events: types },
      cursor: () => cursor,
      onEvent: async (event) => {
        if (event.event === "hello") return handleHello(event);
        if (event.event === "delivery") return deliver(event);
        // A kind of event that a newer server may send: it counts as seen.
        return settle(event.id);
      },
      onOpen: (again) => {
        openedAt = Date.now();
        if (options.printSecret) return;
        const to = targets.map(({ href }, at) => `${at === 0 ? "Forwarding to" : "          and"} ${href}\n`).join("");
        context.say(
          again
            ? `${formatTime()}  Connected again.\n`
            : `${paint.good("Listening")} at ${server}. Ctrl-C stops.\n${to}`,
        );
        if (!again && resuming) context.say("Going on where the last one stopped; what was missed comes first.\n");
      },
      onLost: (reason, waitMs) =>
        context.say(
          `${formatTime()}  ${paint.warn("Connection lost")} (${reason}); trying again in ${(Math.trunc(waitMs / 100) / 10).toString()} s.\n`,
        ),
    });
  } catch (error) {
    if (error instanceof Done) return;
    throw error;
  }
}

/** The one thing that was wanted is done. It is a Fault so that every loop on the way lets it through. */
class Done extends Fault {
  constructor() {
    super("ok", "done");
  }
}

function parse<T>(data: string): T {
  try {
    return JSON.parse(data) as T;
  } catch {
    throw new Fault("error", "the server sent an event that is not JSON", {
      hint: "Is this the address of a floe server?",
    });
  }
}

type Forwarding = {
  delivery: Delivery;
  targets: readonly URL[];
  missed: boolean;
  isPrinted: boolean;
  retries: number;
};

/** Hand an event to every target at once; each answer is told by itself. */
async function forwardToAll(context: Context, { targets, retries, ...event }: Forwarding): Promise<void> {
  if (targets.length === 0) report(context, event);
  const { timeoutMs } = context.settings();
  const options = { retries, timeoutMs, signal: context.io.signal };
  const outcomes = await Promise.all(targets.map((target) => forwardEvent(target, event.delivery, options)));
  const isNamed = targets.length > 1;
  for (const [index, outcome] of outcomes.entries())
    report(context, event, { target: targets[index], outcome, isNamed });
  if (event.isPrinted && !context.json)
    context.print(
      `${JSON.stringify(parse(event.delivery.body), null, 2).split("\n").map(removeControls).join("\n")}\n`,
    );
}

/** Most types are no longer. */
const typeWidth = 24;

function report(
  context: Context,
  { delivery, missed, isPrinted }: Pick<Forwarding, "delivery" | "missed" | "isPrinted">,
  forwarded?: { target: URL | undefined; outcome: Outcome; isNamed: boolean },
): void {
  const { id, type, timestamp } = delivery;
  const { target, outcome, isNamed } = forwarded ?? {};
  if (context.json) {
    const body = target && !isPrinted ? {} : { body: parse<unknown>(delivery.body) };
    const sent = target ? { forward_to: target.href, ...outcome } : {};
    context.print(`${JSON.stringify({ id, type, timestamp, missed, ...sent, ...body })}\n`);
    return;
  }
  const paint = context.paint.err();
  const { status, error, duration_ms } = outcome ?? {};
  const answer = error
    ? paint.bad(error)
    : status === undefined
      ? ""
      : status < 300
        ? paint.good(String(status))
        : paint.bad(String(status));
  const tail = outcome ? `  → ${answer}  ${paint.dim(`${duration_ms} ms`)}` : "";
  // Of several programs, which one answered is wanted more than the id, which --json has.
  const which = isNamed && target ? `${tail}  ${paint.dim(target.href)}` : `  ${paint.dim(removeControls(id))}${tail}`;
  const name = removeControls(type).padEnd(isNamed ? typeWidth : 0);
  context.say(`${formatTime()}  ${name}${missed ? paint.dim("  (missed)") : ""}${which}\n`);
}
