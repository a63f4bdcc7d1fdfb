import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { asRoleHeader } from "../../../shared/as-role.ts";
import { notFound } from "../../../shared/errors.ts";
import { eventTypes } from "../../../shared/event-types.ts";
import { streamPaths } from "../../../shared/stream-paths.ts";
import { withSellerClock } from "../../platform/clock.ts";
import type { Actor, Identity } from "../../platform/context.ts";
import { type Cursor, formatCursor, parseCursor } from "../../platform/events/tail.ts";
import { type ActorRequest, admitIdentity } from "../../platform/http/actor.ts";
import { type Streams, streamEvents } from "../../platform/http/event-stream.ts";
import { authenticate } from "../../platform/http/mount.ts";
import { getReaderProfile } from "../../platform/http/profiles.ts";
import { formatSseMessage, keepAliveMs } from "../../platform/http/sse.ts";
import { limitReader } from "../../platform/http/stream-limits.ts";
import { createMessageWriter } from "./messages.ts";
import {
  checkReader,
  createReader,
  parseInput,
  rejectPlace,
  type StreamFilters,
  StreamQuery,
  TokenBody,
} from "./reader.ts";
import { readScopes } from "./rules.ts";
import { findStart } from "./start.ts";
import { issueToken, redeemToken } from "./tokens.ts";

const operation = {
  method: "GET",
  path: streamPaths.events,
  access: { by: "seller", scopes: [...readScopes, "customer_portal:own:read"] },
} satisfies ActorRequest;
const tokenOperation = { ...operation, method: "POST", path: streamPaths.tokens } satisfies ActorRequest;

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

type Credential = { from: "header" | "cookie"; text: string; isRecheck?: boolean };
/** Seen from here, the account side reads a credential and says whose it is. */
type Accounts = {
  credentialOf(request: FastifyRequest): Credential | undefined;
  whoIs(credential: Credential | undefined): Promise<Identity>;
};
export type EventStreams = Streams & { accounts: Accounts };
type Exchange = { request: FastifyRequest; reply: FastifyReply };
/** Who reads, what, and how that is looked up again. */
type Admitted = { actor: Actor; filters: StreamFilters; authenticateAgain(): Promise<Actor> };

/**
 * `GET /v1/events/stream`: the events of an organization as they happen, to whom may read their objects. Each message has its
 * place, after which `Last-Event-ID` or `cursor` goes on (STR-01 to STR-08). `POST /v1/events/stream/tokens` makes a token that
 * opens one such stream, for pages that can send no headers (STR-10).
 */
export function routeEventStream(app: FastifyInstance, streams: EventStreams): void {
  const { deps, identify, limitStreams, accounts } = streams;
  app.get(operation.path, async (request, reply) => {
    const { cursor, since, token, organization_id, ...filters } = parseInput(StreamQuery, "query", request.query);
    const admitted = token === undefined ? await admit(request, filters) : await admitToken(token, filters);
    if (organization_id !== undefined && organization_id !== admitted.actor.organization_id) throw notFound();
    limitStreams(reply, limitReader(request, admitted.actor));
    return openStream(streams, { request, reply }, admitted, { cursor: readCursor(request, cursor), since });
  });

  app.post(tokenOperation.path, async (request, reply) => {
    const actor = await authenticate(request, identify, tokenOperation);
    const { organization_id: named, ...filters } = parseInput(TokenBody, "body", request.body ?? {});
    const { text } = accounts.credentialOf(request) ?? {};
    if (text === undefined) throw notFound();
    // The stream is opened with the whole credential, which may do more than the role.
    if (request.headers[asRoleHeader] !== undefined)
      throw rejectPlace(["header", asRoleHeader], "A token is made without naming a role.", null);
    const { organization_id, types, omitted } = await createReader(
      deps,
      actor,
      filters,
      getReaderProfile({}, request.client),
    );
    if (named !== undefined && named !== organization_id) throw notFound();
    const { token, expires_at } = await issueToken(deps, { organization_id, credential: text, filters });
    const sent = { types: eventTypes.filter((type) => types.has(type)), omitted_types: omitted };
    return reply
      .code(201)
      .header("Cache-Control", "no-store")
      .send({ token, expires_at, ...sent });
  });

  async function admit(request: FastifyRequest, filters: StreamFilters): Promise<Admitted> {
    const authenticateAgain = () => authenticate(request, identify, operation);
    return { actor: await authenticateAgain(), filters, authenticateAgain };
  }

  async function admitToken(token: string, filters: StreamFilters): Promise<Admitted> {
    const extra = Object.entries(filters).find(([, value]) => value !== undefined);
    if (extra)
      throw rejectPlace(["query", extra[0]], "The token has its own filters: name them where it is made.", null);
    const grant = await redeemToken(deps, token);
    const authenticateAgain = async () => {
      const identity = await accounts.whoIs({ from: "header", text: grant.credential, isRecheck: true });
      return admitIdentity(identity, grant.organization_id, operation);
    };
    return { actor: await authenticateAgain(), filters: grant.filters, authenticateAgain };
  }
}

async function openStream(
  streams: Streams,
  { request, reply }: Exchange,
  { actor, filters, authenticateAgain }: Admitted,
  place: { cursor: Cursor | undefined; since: Date | undefined },
): Promise<FastifyReply> {
  const { deps, tail } = streams;
  const client = getReaderProfile(request.headers, request.client);
  const reader = await createReader(deps, actor, filters, client);
  const { organization_id, types, omitted } = reader;
  const { clock } = withSellerClock(deps, actor);
  const { from, reset } = await findStart({ db: deps.db, tail, organization_id, now: clock.now(), ...place });
  const write = createMessageWriter(reader, client, deps.config.secrets);
  const cursor = formatCursor(from);
  const hello = {
    cursor,
    organization_id,
    server_time: clock.now().toISOString(),
    types: eventTypes.filter((type) => types.has(type)),
    omitted_types: omitted,
    heartbeat_seconds: keepAliveMs / 1000,
  };
  return streamEvents(
    streams,
    { request, reply },
    {
      organization_id,
      from,
      hasProgress: true,
      check: async () => checkReader(reader, await authenticateAgain()),
      async begin(send) {
        await send(formatSseMessage(hello, { id: cursor, event: "hello" }));
        if (reset) await send(formatSseMessage({ reason: reset, cursor }, { id: cursor, event: "reset" }));
      },
      async onEvent(event, send) {
        const message = write(event);
        if (message !== undefined) await send(message);
      },
    },
  );
}
