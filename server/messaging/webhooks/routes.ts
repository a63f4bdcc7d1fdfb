import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { instant, many, seller } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import { type EventType, eventTypes, eventTypesOf } from "../../../shared/event-types.ts";
import { streamPaths } from "../../../shared/stream-paths.ts";
import { toUnixSeconds } from "../../platform/clock.ts";
import { hasScope, requireOrganization } from "../../platform/context.ts";
import { maskedSecret, openTokens, redactTokens } from "../../platform/crypto/secrets.ts";
import { type Cursor, formatCursor, parseCursor, type Tail } from "../../platform/events/tail.ts";
import { type Streams, streamEvents } from "../../platform/http/event-stream.ts";
import { authenticate } from "../../platform/http/mount.ts";
import { getReaderProfile } from "../../platform/http/profiles.ts";
import { formatSseMessage } from "../../platform/http/sse.ts";
import { limitReader } from "../../platform/http/stream-limits.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { deriveListenSecret, sign, writeRawBody } from "./rules.ts";

const operation = { path: streamPaths.deliveries, access: seller("webhooks:read") };
const place = z.string().transform((text, issues) => {
  const cursor = parseCursor(text);
  if (cursor) return cursor;
  issues.addIssue("This is not a cursor.");
  return z.NEVER;
});
const types = many(z.string())
  .transform((given) =>
    given
      ?.flatMap((text) => text.split(","))
      .map((text) => text.trim())
      .filter((text) => text !== ""),
  )
  .pipe(z.array(z.enum(eventTypes)).optional());
const Query = z.object({ cursor: place.optional(), events: types, replay_since: instant.optional() });

/**
 * `GET /v1/webhooks/listen`: every event of the organization as an endpoint of the raw format would get it, signed.
 * Each message carries its place; `Last-Event-ID` or `cursor` goes on after it and misses nothing.
 */
export function routeListening(app: FastifyInstance, streams: Streams): void {
  const { deps, tail, identify, limitStreams } = streams;
  app.get(operation.path, async (request, reply) => {
    const actor = await authenticate(request, identify, operation);
    const organization_id = requireOrganization({ actor });
    const isShown = hasScope({ actor }, organization_id, "webhooks:write");
    limitStreams(reply, limitReader(request, actor));
    const last = request.headers["last-event-id"];
    const asked = {
      ...(request.query as object),
      ...(typeof last === "string" && last !== "" ? { cursor: last } : {}),
    };
    const parsed = Query.safeParse(asked);
    if (!parsed.success)
      throw new ApiError("RequestValidationError", readFaults(["query"], parsed.error.issues, asked));
    const client = getReaderProfile(request.headers, request.client);
    const from = await startOf(parsed.data, await tail.now(), tail, organization_id);
    const isWanted = (type: string): boolean => {
      const one = type as EventType;
      return (parsed.data.events?.includes(one) ?? true) && eventTypesOf[client.generation].has(one);
    };
    const secret = deriveListenSecret(deps.config.secret, organization_id);
    return streamEvents(
      streams,
      { request, reply },
      {
        organization_id,
        from,
        hasProgress: true,
        check: () => authenticate(request, identify, operation),
        begin: (send) =>
          send(
            formatSseMessage(
              { secret: isShown ? secret : maskedSecret, organization_id },
              { id: formatCursor(from), event: "hello" },
            ),
          ),
        async onEvent(event, send) {
          if (!isWanted(event.type)) return;
          const written = writeRawBody(client, event);
          const body = isShown
            ? openTokens(deps.config.secrets, "event-tokens", organization_id, written)
            : redactTokens(written);
          const timestamp = toUnixSeconds(deps.clock.now());
          const signature = sign(secret, event.id, timestamp, body);
          const data = { id: event.id, type: event.type, created_at: event.created_at, timestamp, body, signature };
          await send(formatSseMessage(data, { id: formatCursor(event), event: "delivery" }));
        },
      },
    );
  });
}

async function startOf(
  query: z.output<typeof Query>,
  now: Cursor,
  tail: Tail,
  organization_id: string,
): Promise<Cursor> {
  // A place that lies ahead is of another database; waiting for it would be for ever.
  if (query.cursor) return query.cursor.xid > now.xid ? now : query.cursor;
  return query.replay_since ? tail.since(organization_id, query.replay_since) : now;
}
