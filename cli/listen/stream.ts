/** The stream of deliveries, connected again and again until it is stopped. */
import type { IncomingMessage } from "node:http";
import { formatUrl } from "../../shared/request.ts";
import { streamPaths } from "../../shared/stream-paths.ts";
import { getAuthHeaders, readFault } from "../client.ts";
import type { Context } from "../context.ts";
import { Fault, getFaultKind } from "../fault.ts";
import { open, UnreachableError } from "../http.ts";
import { pause } from "../pause.ts";
import { createEventReader, type StreamEvent } from "./events.ts";

/** How patient a listener is. */
export type StreamTimeouts = {
  silenceMs: number;
  giveUpMs: number;
  backoffMs: number;
  backoffMsMax: number;
  /** A pause that took so much longer than asked for was a sleep of the machine. */
  sleepMs: number;
};
/** The server says something every 15 s; after three times nothing the connection is dead, whatever the system thinks. */
export const streamTimeouts: StreamTimeouts = {
  silenceMs: 45_000,
  giveUpMs: 300_000,
  backoffMs: 500,
  backoffMsMax: 10_000,
  sleepMs: 30_000,
};

type Watch = {
  /** The stream: that of signed deliveries where nothing is said. */
  path?: string;
  /** What of it: `events` names types; all where none is named. */
  query: Record<string, string | string[] | undefined>;
  /** The id to go on after. */
  cursor(): string | undefined;
  onEvent(event: StreamEvent): Promise<void>;
  onOpen(again: boolean): void;
  onLost(reason: string, waitMs: number): void;
  /** Ends the stream, in place of the signals of the program. */
  signal?: AbortSignal;
};

async function connect(
  context: Context,
  { path = streamPaths.deliveries, query, signal = context.io.signal }: Pick<Watch, "path" | "query" | "signal">,
  cursor: string | undefined,
): Promise<{ response: IncomingMessage; stop: () => void }> {
  const { server, timeoutMs } = context.settings();
  const headers = {
    accept: "text/event-stream",
    "user-agent": `floe-cli/${context.version}`,
    ...(await getAuthHeaders(context)),
    ...(cursor !== undefined && { "last-event-id": cursor }),
  };
  const opening = open({
    method: "GET",
    url: new URL(server + formatUrl(path, { query })),
    headers,
    timeoutMs,
    env: context.io.env,
    signal,
  });
  let timer: NodeJS.Timeout | undefined;
  const slow = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new UnreachableError("ETIMEDOUT", `${server} did not answer within ${timeoutMs / 1000} s`));
      opening.then(({ stop }) => stop()).catch(() => undefined);
    }, timeoutMs);
  });
  const { response, stop } = await Promise.race([opening, slow]).finally(() => clearTimeout(timer));
  const status = response.statusCode ?? 0;
  if (status === 200) return { response, stop };
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += part as string;
  throw readFault({ status, headers: response.headers, text }, server);
}

/** Read events until the connection ends. Silence is measured only while waiting, not while an event is handled. */
async function readAll(response: IncomingMessage, watch: Watch, silenceMs: number): Promise<string> {
  const reader = createEventReader();
  response.setEncoding("utf8");
  let timer: NodeJS.Timeout | undefined;
  const arm = (): void => {
    timer = setTimeout(() => response.destroy(new Error("nothing was heard")), silenceMs);
  };
  try {
    arm();
    for await (const part of response) {
      clearTimeout(timer);
      for (const event of reader.push(part as string)) await watch.onEvent(event);
      arm();
    }
    return "the server closed it";
  } catch (error) {
    if (error instanceof Fault) throw error;
    return (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  } finally {
    clearTimeout(timer);
    response.destroy();
  }
}

/** The place in the stream of events at which it is now, and the secret that signs what is forwarded. */
export async function readHello(context: Context): Promise<{ cursor: string; secret: string }> {
  const { response, stop } = await connect(context, { query: {} }, undefined);
  const reader = createEventReader();
  response.setEncoding("utf8");
  try {
    for await (const part of response)
      for (const { event, id, data } of reader.push(part as string))
        if (event === "hello" && id !== undefined)
          return { cursor: id, secret: (JSON.parse(data) as { secret: string }).secret };
  } finally {
    stop();
  }
  throw new Fault("unreachable", `${context.settings().server} closed the stream of events`);
}

const isStopped = (signal: AbortSignal): Fault =>
  new Fault(signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped listening");

/** Follow the stream for good. Ends by a Fault: stopped, refused, or out of reach for too long. */
export async function streamEvents(
  context: Context,
  watch: Watch,
  limits: StreamTimeouts = streamTimeouts,
): Promise<never> {
  const { signal = context.io.signal } = watch;
  let lostAt: number | undefined;
  let attempt = 0;
  let connected = false;
  for (;;) {
    let reason: string;
    try {
      const { response } = await connect(context, watch, watch.cursor());
      watch.onOpen(connected);
      connected = true;
      lostAt = undefined;
      attempt = 0;
      reason = await readAll(response, watch, limits.silenceMs);
    } catch (error) {
      if (signal.aborted) throw isStopped(signal);
      if (!(error instanceof Fault)) throw error;
      // Refused is refused; a server that is away, restarting or busy may come back, once it had been there.
      const passing =
        error.kind === "unreachable" ||
        error.kind === "rate_limited" ||
        getFaultKind(error.parts.status ?? 0) === "unreachable";
      if (!connected || !passing) throw error;
      reason = error.message;
    }
    if (signal.aborted) throw isStopped(signal);
    const now = Date.now();
    lostAt ??= now;
    if (now - lostAt >= limits.giveUpMs) {
      throw new Fault(
        "unreachable",
        `${context.settings().server} could not be reached again for ${limits.giveUpMs / 60_000} minutes`,
        {
          hint: "Run: `floe listen`   (it goes on where it stopped)",
        },
      );
    }
    const waitMs = Math.min(limits.backoffMs * 2 ** attempt, limits.backoffMsMax) * (0.5 + Math.random() / 2);
    attempt++;
    watch.onLost(reason, waitMs);
    await pause(waitMs, signal);
    if (signal.aborted) throw isStopped(signal);
    // The machine has slept: the server was not tried meanwhile, so the time does not count.
    if (Date.now() - now > waitMs + limits.sleepMs) lostAt = undefined;
  }
}
