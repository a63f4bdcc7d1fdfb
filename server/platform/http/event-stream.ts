import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError } from "../../../shared/errors.ts";
import type { Deps } from "../context.ts";
import { type Cursor, formatCursor, type Tail, type TailedEvent } from "../events/tail.ts";
import type { Identify } from "./actor.ts";
import { formatSseMessage, formatSseRetry, type Send, sendEvents } from "./sse.ts";
import type { LimitStreams } from "./stream-limits.ts";

/** How often a stream makes sure that its reader may still read: a key that ended closes it within 15 s (STR-06). */
const checkMsStandard = 10_000;
const progressMsStandard = 30_000;
const lifetimeMsStandard = 60 * 60 * 1000;
/** How long clients have to take the last message of a server that stops. */
const endMs = 1000;
const [retryMsLeast, retryMsMost, reconnectMsMost] = [1000, 3000, 3000];

/** What all streams of events share. The times are for tests. */
export type Streams = {
  deps: Deps;
  tail: Tail;
  identify: Identify;
  limitStreams: LimitStreams;
  checkMs?: number;
  progressMs?: number;
  lifetimeMs?: number;
  stallMs?: number;
};

/** One stream of an organization's events. */
export type EventStream = {
  organization_id: string;
  from: Cursor;
  /** What is said before any event. */
  begin(send: Send, signal: AbortSignal): Promise<void>;
  onEvent(event: TailedEvent, send: Send): Promise<void>;
  /** Refuses by an `ApiError` once the reader may no longer read. */
  check?(): Promise<unknown>;
  lifetimeMs?: number;
  /** Whether its place is said every 30 s, so that a filtered stream resumes near its end. */
  hasProgress?: boolean;
  /** What is said before the server ends the stream, where that is not `event: reconnect`. */
  farewell?: string;
};

/**
 * Follow an organization's events for one reader: until the reader has gone or may no longer read, or for its lifetime, or until
 * the server stops. In the latter two cases a last message says to connect again (STR-07).
 */
export function streamEvents(
  { deps, tail, checkMs = checkMsStandard, ...times }: Omit<Streams, "identify" | "limitStreams">,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  stream: EventStream,
): FastifyReply {
  return sendEvents({ request, reply, log: deps.log, ...pickStall(times) }, async (send, gone) => {
    const [refused, ended] = [new AbortController(), new AbortController()];
    const over = AbortSignal.timeout(stream.lifetimeMs ?? times.lifetimeMs ?? lifetimeMsStandard);
    const signal = AbortSignal.any([gone, over, refused.signal, ended.signal]);
    const follower = tail.follow(stream.organization_id, stream.from, signal);
    const check = setInterval(() => {
      stream.check?.().catch((error) => error instanceof ApiError && refused.abort());
    }, checkMs);
    const progress = setInterval(() => {
      if (!stream.hasProgress) return;
      const cursor = formatCursor(follower.getPlace());
      const lag_seconds = tail.getLagSeconds();
      void send(formatSseMessage({ cursor, lag_seconds }, { id: cursor, event: "cursor" }));
    }, times.progressMs ?? progressMsStandard);
    // A client that does not read would hold up the end of the server.
    const disconnect = () => void setTimeout(() => request.raw.socket.destroy(), endMs).unref();
    tail.closed.addEventListener("abort", disconnect, { once: true });
    try {
      await send(`${formatSseRetry(retryMsLeast, retryMsMost)}\n`);
      await stream.begin(send, signal);
      for await (const event of follower) {
        await stream.onEvent(event, send);
        if (signal.aborted) break;
      }
      const isReaderLeft = gone.aborted || refused.signal.aborted;
      if (!isReaderLeft && (over.aborted || tail.closed.aborted)) await send(writeFarewell(stream));
    } finally {
      tail.closed.removeEventListener("abort", disconnect);
      clearInterval(check);
      clearInterval(progress);
      // Also when it was the server that ended the following.
      ended.abort();
    }
  });
}

const pickStall = ({ stallMs }: { stallMs?: number }) => (stallMs === undefined ? {} : { stallMs });

const writeFarewell = ({ farewell }: EventStream): string =>
  `${formatSseRetry(0, reconnectMsMost)}${farewell ?? formatSseMessage({}, { event: "reconnect" })}`;
