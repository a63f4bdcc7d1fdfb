import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { instant, many, seller } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import { type EventType, eventTypes, eventTypesOf } from "../../../shared/event-types.ts";
import { toUnixSeconds } from "../../platform/clock.ts";
import { type Deps, hasScope, requireOrganization } from "../../platform/context.ts";
import { maskedSecret, openTokens, redactTokens } from "../../platform/crypto/secrets.ts";
import { type Cursor, formatCursor, parseCursor, type Tail } from "../../platform/events/tail.ts";
import type { Identify } from "../../platform/http/actor.ts";
import { authenticate } from "../../platform/http/mount.ts";
import { apiVersions, type ClientProfile, getVersionedProfile } from "../../platform/http/profiles.ts";
import { formatSseMessage, sendEvents } from "../../platform/http/sse.ts";
import type { LimitStreams } from "../../platform/http/stream-limits.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { deriveListenSecret, sign, writeRawBody } from "./rules.ts";

/** How often a stream makes sure that its listener may still listen. */
const checkMs = 60_000;

export type ListenOptions = {
  deps: Deps;
  tail: Tail;
  identify: Identify;
  limitStreams: LimitStreams;
};

const operation = { path: "/v1/webhooks/listen", access: seller("webhooks:read") };
const newest = getVersionedProfile(apiVersions[apiVersions.length - 1] ?? "2026-04");
/** A listener that does not say what it understands is a person at a terminal, not an old client. */
const getProfile = (headers: Record<string, unknown>, client: ClientProfile): ClientProfile =>
  headers["polar-version"] !== undefined || /speakeasy-sdk/.test(String(headers["user-agent"] ?? "")) ? client : newest;

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
export function routeListening(app: FastifyInstance, { deps, tail, identify, limitStreams }: ListenOptions): void {
  app.get(operation.path, async (request, reply) => {
    const actor = await authenticate(request, identify, operation);
    const organization_id = requireOrganization({ actor });
    const isShown = hasScope({ actor }, organization_id, "webhooks:write");
    limitStreams(request, reply, `organization:${organization_id}`);
    const last = request.headers["last-event-id"];
    const asked = {
      ...(request.query as object),
      ...(typeof last === "string" && last !== "" ? { cursor: last } : {}),
    };
    const parsed = Query.safeParse(asked);
    if (!parsed.success)
      throw new ApiError("RequestValidationError", readFaults(["query"], parsed.error.issues, asked));
    const client = getProfile(request.headers, request.client);
    const now = await tail.now();
    const from = await startOf(parsed.data, now, tail, organization_id);
    const isWanted = (type: string): boolean => {
      const one = type as EventType;
      return (parsed.data.events?.includes(one) ?? true) && eventTypesOf[client.generation].has(one);
    };
    const secret = deriveListenSecret(deps.config.secret, organization_id);
    return sendEvents({ request, reply, log: deps.log }, async (send, gone) => {
      const refused = new AbortController();
      const check = setInterval(() => {
        authenticate(request, identify, operation).catch((error) => error instanceof ApiError && refused.abort());
      }, checkMs);
      try {
        await send(
          formatSseMessage(
            { secret: isShown ? secret : maskedSecret, organization_id },
            { id: formatCursor(from), event: "hello" },
          ),
        );
        for await (const event of tail.follow(organization_id, from, AbortSignal.any([gone, refused.signal]))) {
          if (!isWanted(event.type)) continue;
          const written = writeRawBody(client, event);
          const body = isShown
            ? openTokens(deps.config.secrets, "event-tokens", organization_id, written)
            : redactTokens(written);
          const timestamp = toUnixSeconds(deps.clock.now());
          const signature = sign(secret, event.id, timestamp, body);
          const data = { id: event.id, type: event.type, created_at: event.created_at, timestamp, body, signature };
          await send(formatSseMessage(data, { id: formatCursor(event), event: "delivery" }));
        }
      } finally {
        clearInterval(check);
      }
    });
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
