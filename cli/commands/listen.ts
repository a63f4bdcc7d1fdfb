/** `floe listen`: events of the organization, as signed webhooks, to a program on this machine. */
import { createHash } from "node:crypto";
import { type Command, InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { openCursor } from "../listen/cursor.ts";
import type { StreamEvent } from "../listen/events.ts";
import { type Delivery, forwardEvent, type Outcome, parseTarget } from "../listen/forward.ts";
import { streamEvents } from "../listen/stream.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { forwardTo?: string; events?: string[]; retry: number; latest?: boolean; printSecret?: boolean };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("listen")
    .description(
      "Forward events to a program on this machine, signed as a webhook. What happens while it is not running is forwarded when it starts again.",
    )
    .option("--forward-to <url>", "where to send them: http://localhost:3000/hooks")
    .option("--events <a,b>", "only these: order.paid,order.created", (text) => text.split(",").filter(Boolean))
    .option("--retry <number>", "send again so many times what is not accepted", count, 0)
    .option("--latest", "do not forward what was missed")
    .option("--print-secret", "print the signing secret and exit")
    .addHelpText(
      "after",
      "\nExamples:\n  floe listen --forward-to http://localhost:3000/hooks\n  floe listen --events order.paid --forward-to 3000/hooks\n  floe listen --json                                      # one JSON object per line",
    );
  command.action((options: Options) => listen(contextOf(command), options));
}

function count(text: string): number {
  if (!/^\d{1,2}$/.test(text)) throw new InvalidArgumentError("is a whole number up to 99.");
  return Number(text);
}

const formatTime = (): string => new Date().toTimeString().slice(0, 8);
/** Clocks differ a little; only what is clearly older than the connection happened while nobody listened. */
const skewMs = 500;

async function listen(context: Context, options: Options): Promise<void> {
  const target = options.forwardTo === undefined ? undefined : parseTarget(options.forwardTo);
  const { server, apiKey, timeoutMs } = context.settings();
  const organization =
    (await context.organization()) ??
    createHash("sha256")
      .update(apiKey ?? "")
      .digest("hex");
  const saved = openCursor(context.io.env, [server, organization, target?.href ?? ""]);
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
      context.say(`Signing secret: ${paint.strong(removeControls(secret))}\n`);
    }
    // Where the stream begins; with it, what happens before the first delivery is not lost either.
    if (cursor === undefined) settle(event.id);
  };

  const deliver = async (event: StreamEvent): Promise<void> => {
    const delivery = parse<Delivery>(event.data);
    const missed = delivery.created_at !== undefined && Date.parse(delivery.created_at) < openedAt - skewMs;
    const outcome =
      target &&
      (await forwardEvent(target, delivery, { retries: options.retry, timeoutMs, signal: context.io.signal }));
    report(context, delivery, target, outcome, missed);
    // Only now: an event that was cut off on its way comes again.
    settle(event.id);
  };

  try {
    await streamEvents(context, {
      events: options.events ?? [],
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
        const to = target ? `, forwarding to ${target.href}` : "";
        context.say(
          again
            ? `${formatTime()}  Connected again.\n`
            : `${paint.good("Listening")} at ${server}${to}. Ctrl-C stops.\n`,
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

function report(
  context: Context,
  delivery: Delivery,
  target: URL | undefined,
  outcome: Outcome | undefined,
  missed: boolean,
): void {
  const { id, type, timestamp } = delivery;
  if (context.json) {
    const forwarded = target ? { forward_to: target.href, ...outcome } : { body: parse<unknown>(delivery.body) };
    context.print(`${JSON.stringify({ id, type, timestamp, missed, ...forwarded })}\n`);
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
  context.say(
    `${formatTime()}  ${removeControls(type)}  ${paint.dim(removeControls(id))}${missed ? paint.dim("  (missed)") : ""}${tail}\n`,
  );
}
