import { randomInt } from "node:crypto";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../context.ts";

export const keepAliveMs = 15_000;
/** A client that has not read for so long is disconnected; it goes on where it was. */
const stallMsStandard = 30_000;

/** One server-sent event; `data` goes out as JSON on one line. */
export const formatSseMessage = (data: unknown, fields: { id?: string; event?: string } = {}): string =>
  formatSseText(JSON.stringify(data), fields);

/** The same of data that are JSON already. */
export const formatSseText = (json: string, { id, event }: { id?: string; event?: string } = {}): string =>
  `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}data: ${json}\n\n`;

/** How long a client waits before it connects again, so that many do not come at once. */
export const formatSseRetry = (leastMs: number, mostMs: number): string => `retry: ${randomInt(leastMs, mostMs + 1)}\n`;

/** Says a piece of the stream; resolves when the client has room for more. */
export type Send = (text: string) => Promise<void>;

export type SseOptions = { request: FastifyRequest; reply: FastifyReply; log: Log; stallMs?: number };

/**
 * Answer with server-sent events until `write` is done or the client has gone, which its signal tells.
 * A comment every 15 s keeps proxies from closing a quiet connection. Nothing is buffered for a client beyond one message.
 */
export function sendEvents(
  { request, reply, log, stallMs = stallMsStandard }: SseOptions,
  write: (send: Send, signal: AbortSignal) => Promise<void>,
): FastifyReply {
  const gone = new AbortController();
  const waiting: (() => void)[] = [];
  let stalled: NodeJS.Timeout | undefined;
  const releaseWriters = () => {
    clearTimeout(stalled);
    stalled = undefined;
    for (const resolve of waiting.splice(0)) resolve();
  };
  const out = new Readable({ read: releaseWriters });
  const leave = () => {
    gone.abort();
    releaseWriters();
  };
  request.raw.socket.once("close", leave);
  out.once("close", leave);
  const send: Send = async (text) => {
    if (gone.signal.aborted || out.push(text)) return;
    stalled ??= setTimeout(() => request.raw.socket.destroy(), stallMs);
    await new Promise<void>((resolve) => waiting.push(resolve));
  };
  // A client that does not read would collect them.
  const keepAlive = setInterval(
    () => !gone.signal.aborted && waiting.length === 0 && out.push(": keep-alive\n\n"),
    keepAliveMs,
  );
  const end = () => {
    clearInterval(keepAlive);
    request.raw.socket.off("close", leave);
    if (!out.destroyed) out.push(null);
  };
  write(send, gone.signal)
    .catch((error: unknown) => {
      if (!gone.signal.aborted) log.error({ err: error }, "A stream of events ended early.");
    })
    .finally(end);
  return (
    reply
      .header("Content-Type", "text/event-stream; charset=utf-8")
      .header("Cache-Control", "no-store, no-transform")
      .header("X-Accel-Buffering", "no")
      // A connection kept for another request would hold up the server's end.
      .header("Connection", "close")
      .send(out)
  );
}
