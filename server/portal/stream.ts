import type { FastifyInstance } from "fastify";
import { customer as ofCustomer } from "../../shared/contract.ts";
import { ApiError } from "../../shared/errors.ts";
import { findInvitation } from "../entitlements/seats/service.ts";
import { anonymous, type Deps } from "../platform/context.ts";
import type { Tail, TailedEvent } from "../platform/events/tail.ts";
import { checkIdentity, type Identify } from "../platform/http/actor.ts";
import { authenticate, createRequestContext } from "../platform/http/mount.ts";
import { formatSseMessage, sendEvents } from "../platform/http/sse.ts";
import type { LimitStreams } from "../platform/http/stream-limits.ts";

/** How often it is asked whether a session is still good. */
const checkMsStandard = 15_000;
const lifetimeMs = 10 * 60 * 1000;

export type PortalStreamOptions = {
  deps: Deps;
  tail: Tail;
  identify: Identify;
  limitStreams: LimitStreams;
  check_ms?: number;
};

const operation = {
  method: "GET",
  path: "/v1/customer-portal/customers/stream",
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
  const isTheirs = type.startsWith("customer.") ? getField(data, "id") : getField(data, "customer_id");
  if (isTheirs !== customer_id || (member_id !== null && getField(data, "member_id") !== member_id)) return undefined;
  if (type === "benefit_grant.created" && getField(data, "is_granted") === true) return "benefit.granted";
  if (type === "benefit_grant.revoked") return "benefit.revoked";
  if (type === "order.updated" && getField(data, "is_invoice_generated") === true) return "order.invoice_generated";
  return type;
}

/**
 * `GET /v1/customer-portal/customers/stream`: what becomes of what a customer has, as server-sent events, while their session
 * lasts; and `GET /v1/customer-seats/claim/{token}/stream`: when an invited person has what the seat gives (SEAT-11).
 */
export function routePortalStreams(app: FastifyInstance, options: PortalStreamOptions): void {
  const { deps, tail, identify, limitStreams, check_ms = checkMsStandard } = options;
  app.get(operation.path, async (request, reply) => {
    const { organization_id, customer } = await authenticate(request, identify, operation);
    if (!customer || organization_id === null) throw new Error("A customer's stream without a customer was reached.");
    limitStreams(request, reply, `customer:${customer.customer_id}`);
    const own = customer.member?.role === "member" ? customer.member.id : null;
    const from = await tail.now();
    return sendEvents({ request, reply, log: deps.log }, async (send, gone) => {
      const refused = new AbortController();
      const check = setInterval(() => {
        authenticate(request, identify, operation).catch((error) => error instanceof ApiError && refused.abort());
      }, check_ms);
      try {
        await send(formatSseMessage({ key: "connected", payload: {} }));
        for await (const event of tail.follow(organization_id, from, AbortSignal.any([gone, refused.signal]))) {
          const key = describeNews(event, customer.customer_id, own);
          if (key !== undefined)
            await send(formatSseMessage({ id: event.id, key, payload: { id: getField(event.data, "id") } }));
        }
      } finally {
        clearInterval(check);
      }
    });
  });
  app.get<{ Params: { invitation_token: string } }>(
    "/v1/customer-seats/claim/:invitation_token/stream",
    async (request, reply) => {
      checkIdentity(await identify(request));
      limitStreams(request, reply, `seat:${request.params.invitation_token}`);
      const from = await tail.now();
      const seat = await findInvitation(
        createRequestContext(deps, request, anonymous),
        request.params.invitation_token,
      );
      return sendEvents({ request, reply, log: deps.log }, async (send, gone) => {
        const signal = AbortSignal.any([gone, AbortSignal.timeout(lifetimeMs)]);
        await send(formatSseMessage({ key: "connected", payload: {} }));
        for await (const event of tail.follow(seat.organization_id, from, signal)) {
          const isClaim = event.type === "customer_seat.claimed" && getField(event.data, "id") === seat.id;
          const news = describeNews(event, seat.customer_id ?? "");
          const key = isClaim ? event.type : news === "benefit.granted" ? news : undefined;
          if (key !== undefined) await send(formatSseMessage({ id: event.id, key, payload: {} }));
        }
      });
    },
  );
}
