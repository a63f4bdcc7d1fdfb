import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "../context.ts";

const keepAliveMs = 15_000;

/** One server-sent event; `data` goes out as JSON on one line. */
export const formatSseMessage = (data: unknown, { id, event }: { id?: string; event?: string } = {}): string =>
  `${id === undefined ? "" : `id: ${id}\n`}${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;

/** Says a piece of the stream; resolves when the client has room for more. */
export type Send = (text: string) => Promise<void>;

/**
 * Answer with server-sent events until `write` is done or the client has gone, which its signal tells.
 * A comment every 15 s keeps proxies from closing a quiet connection.
 */
export function sendEvents(
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Log },
  write: (send: Send, signal: AbortSignal) => Promise<void>,
): FastifyReply {
  const gone = new AbortController();
  let goOn: (() => void) | undefined;
  const out = new Readable({ read: () => goOn?.() });
  const leave = () => {
    gone.abort();
    goOn?.();
  };
  request.raw.socket.once("close", leave);
  out.once("close", leave);
  const send: Send = async (text) => {
    if (gone.signal.aborted || out.push(text)) return;
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
  };
  const keepAlive = setInterval(() => !gone.signal.aborted && out.push(": keep-alive\n\n"), keepAliveMs);
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
      .header("Cache-Control", "no-store")
      .header("X-Accel-Buffering", "no")
      // A connection kept for another request would hold up the server's end.
      .header("Connection", "close")
      .send(out)
  );
}
