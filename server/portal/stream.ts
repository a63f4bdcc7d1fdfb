import type { FastifyInstance } from "fastify";
import { customer as ofCustomer } from "../../shared/contract.ts";
import { streamPaths } from "../../shared/stream-paths.ts";
import { findInvitation } from "../entitlements/seats/service.ts";
import { isOfCustomer } from "../messaging/streams/rules.ts";
import { anonymous } from "../platform/context.ts";
import type { TailedEvent } from "../platform/events/tail.ts";
import { checkIdentity } from "../platform/http/actor.ts";
import { type Streams, streamEvents } from "../platform/http/event-stream.ts";
import { authenticate, createRequestContext } from "../platform/http/mount.ts";
import { formatSseMessage } from "../platform/http/sse.ts";
import { limitPage } from "../platform/http/stream-limits.ts";

const invitationLifetimeMs = 10 * 60 * 1000;

const operation = {
  method: "GET",
  path: streamPaths.customer,
  access: ofCustomer("customer_portal:own:read"),
} as const;

const getField = (data: unknown, key: string): unknown =>
  typeof data === "object" && data !== null ? (data as Record<string, unknown>)[key] : undefined;

/**
 * The news of a customer as their own place hears it (CUP-25): what happened to what, and no more. A plain member of a team hears of
 * their own alone.
 */
export function describeNews(
  { type, data }: Pick<TailedEvent, "type" | "data">,
  customer_id: string,
  member_id: string | null = null,
): string | undefined {
  if (!isOfCustomer({ type, data }, customer_id, member_id)) return undefined;
  if (type === "benefit_grant.created" && getField(data, "is_granted") === true) return "benefit.granted";
  if (type === "benefit_grant.revoked") return "benefit.revoked";
  if (type === "order.updated" && getField(data, "is_invoice_generated") === true) return "order.invoice_generated";
  return type;
}

/**
 * `GET /v1/customer-portal/customers/stream`: what becomes of what a customer has, as server-sent events, while their session
 * lasts; and `GET /v1/customer-seats/claim/{token}/stream`: when an invited person has what the seat gives (SEAT-11).
 */
export function routePortalStreams(app: FastifyInstance, streams: Streams): void {
  const { deps, tail, identify, limitStreams } = streams;
  app.get(operation.path, async (request, reply) => {
    const { organization_id, customer } = await authenticate(request, identify, operation);
    if (!customer || organization_id === null) throw new Error("A customer's stream without a customer was reached.");
    limitStreams(reply, limitPage(request, `customer:${customer.customer_id}`));
    const own = customer.member?.role === "member" ? customer.member.id : null;
    return streamEvents(
      streams,
      { request, reply },
      {
        organization_id,
        from: await tail.now(),
        check: () => authenticate(request, identify, operation),
        begin: (send) => send(formatSseMessage({ key: "connected", payload: {} })),
        async onEvent(event, send) {
          const key = describeNews(event, customer.customer_id, own);
          if (key !== undefined)
            await send(formatSseMessage({ id: event.id, key, payload: { id: getField(event.data, "id") } }));
        },
      },
    );
  });
  app.get<{ Params: { invitation_token: string } }>(streamPaths.seat, async (request, reply) => {
    checkIdentity(await identify(request));
    limitStreams(reply, limitPage(request, `seat:${request.params.invitation_token}`));
    const from = await tail.now();
    const seat = await findInvitation(createRequestContext(deps, request, anonymous), request.params.invitation_token);
    return streamEvents(
      streams,
      { request, reply },
      {
        organization_id: seat.organization_id,
        from,
        lifetimeMs: invitationLifetimeMs,
        begin: (send) => send(formatSseMessage({ key: "connected", payload: {} })),
        async onEvent(event, send) {
          const isClaim = event.type === "customer_seat.claimed" && getField(event.data, "id") === seat.id;
          const news = describeNews(event, seat.customer_id ?? "");
          const key = isClaim ? event.type : news === "benefit.granted" ? news : undefined;
          if (key !== undefined) await send(formatSseMessage({ id: event.id, key, payload: {} }));
        },
      },
    );
  });
}
