import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../../../shared/errors.ts";
import { eventTypes } from "../../../shared/event-types.ts";
import { type Clock, withSellerClock } from "../../platform/clock.ts";
import { type Cursor, formatCursor, parseCursor } from "../../platform/events/tail.ts";
import type { ActorRequest } from "../../platform/http/actor.ts";
import { type Streams, streamEvents } from "../../platform/http/event-stream.ts";
import { authenticate } from "../../platform/http/mount.ts";
import { getReaderProfile } from "../../platform/http/profiles.ts";
import { formatSseMessage, keepAliveMs } from "../../platform/http/sse.ts";
import { limitReader } from "../../platform/http/stream-limits.ts";
import { createMessageWriter } from "./messages.ts";
import { checkReader, createReader, parseQuery, type Reader, rejectPlace, StreamQuery } from "./reader.ts";
import { readScopes } from "./rules.ts";
import { findStart, type Start } from "./start.ts";

const operation: ActorRequest = {
  method: "GET",
  path: "/v1/events/stream",
  access: { by: "seller", scopes: [...readScopes, "customer_portal:own:read"] },
};

/** The reader's own place: of the header, which a browser sends when it connects again, or else of the query. */
function readCursor({ headers }: FastifyRequest, inQuery: string | undefined): Cursor | undefined {
  const last = headers["last-event-id"];
  const isHeader = typeof last === "string" && last !== "";
  const text = isHeader ? last : inQuery;
  if (text === undefined) return undefined;
  const cursor = parseCursor(text);
  if (!cursor)
    throw rejectPlace(isHeader ? ["header", "last-event-id"] : ["query", "cursor"], "This is not a cursor.", text);
  return cursor;
}

/**
 * `GET /v1/events/stream`: the events of an organization as they happen, to whom may read their objects. Each message has its
 * place, after which `Last-Event-ID` or `cursor` goes on (STR-01 to STR-08).
 */
export function routeEventStream(app: FastifyInstance, streams: Streams): void {
  const { deps, tail, identify, limitStreams } = streams;
  app.get(operation.path, async (request, reply) => {
    const actor = await authenticate(request, identify, operation);
    limitStreams(reply, limitReader(request, actor));
    const { cursor: place, since, organization_id: named, ...filters } = parseQuery(StreamQuery, request.query);
    if (named !== undefined && named !== actor.organization_id) throw notFound();
    const cursor = readCursor(request, place);
    const client = getReaderProfile(request.headers, request.client);
    const reader = await createReader(deps, actor, filters, client);
    const { clock } = withSellerClock(deps, actor);
    const { organization_id } = reader;
    const start = await findStart({ db: deps.db, tail, organization_id, now: clock.now(), cursor, since });
    const check = async () => checkReader(reader, await authenticate(request, identify, operation));
    return openStream(streams, { request, reply }, { reader, start, clock, check });
  });

  type Opened = { reader: Reader; start: Start; clock: Clock; check(): Promise<void> };
  function openStream(
    shared: Streams,
    exchange: { request: FastifyRequest; reply: FastifyReply },
    { reader, start: { from, reset }, clock, check }: Opened,
  ): FastifyReply {
    const { organization_id, types, omitted } = reader;
    const write = createMessageWriter(
      reader,
      getReaderProfile(exchange.request.headers, exchange.request.client),
      deps.config.secrets,
    );
    const cursor = formatCursor(from);
    const hello = {
      cursor,
      organization_id,
      server_time: clock.now().toISOString(),
      types: eventTypes.filter((type) => types.has(type)),
      omitted_types: omitted,
      heartbeat_seconds: keepAliveMs / 1000,
    };
    return streamEvents(shared, exchange, {
      organization_id,
      from,
      hasProgress: true,
      check,
      async begin(send) {
        await send(formatSseMessage(hello, { id: cursor, event: "hello" }));
        if (reset) await send(formatSseMessage({ reason: reset, cursor }, { id: cursor, event: "reset" }));
      },
      async onEvent(event, send) {
        const message = write(event);
        if (message !== undefined) await send(message);
      },
    });
  }
}
