import { and, desc, eq, sql } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { streamPaths } from "../../../shared/stream-paths.ts";
import { findTold } from "../../messaging/webhooks/store.ts";
import { anonymous, type Ctx, type Deps } from "../../platform/context.ts";
import { events } from "../../platform/db/tables.ts";
import type { TailedEvent } from "../../platform/events/tail.ts";
import { checkIdentity } from "../../platform/http/actor.ts";
import { type Streams, streamEvents } from "../../platform/http/event-stream.ts";
import { createRequestContext } from "../../platform/http/mount.ts";
import { formatSseMessage, type Send } from "../../platform/http/sse.ts";
import { limitPage } from "../../platform/http/stream-limits.ts";
import { createId } from "../../platform/ids.ts";
import { openDeliveryWatch } from "./deliveries.ts";

const lifetimeMs = 10 * 60 * 1000;

type FollowedCheckout = { id: string; status: string; organization_id: string; products: readonly { id: string }[] };

export type StreamOptions = Streams & {
  /** The checkout of a client secret, or 404, or 410 when it has expired: as the buyer's own read answers. */
  find(ctx: Ctx, client_secret: string): Promise<FollowedCheckout>;
};

const getField = (data: unknown, key: string): unknown =>
  typeof data === "object" && data !== null ? (data as Record<string, unknown>)[key] : undefined;

/** The news of one checkout as its page hears it (CHK-60). What is sold may change, too, and with it what is to be paid. */
function getKey(event: TailedEvent, { id: checkout_id, products }: FollowedCheckout): string | undefined {
  const isIts = getField(event.data, "checkout_id") === checkout_id;
  if (event.type === "product.updated")
    return products.some(({ id }) => id === getField(event.data, "id")) ? "checkout.updated" : undefined;
  if (event.type === "order.created") return isIts ? "checkout.order_created" : undefined;
  if (event.type === "subscription.created") return isIts ? "checkout.subscription_created" : undefined;
  const changed = event.type === "checkout.updated" || event.type === "checkout.expired";
  return changed && getField(event.data, "id") === checkout_id ? "checkout.updated" : undefined;
}

const buildMessage = (id: string, key: string, payload: object): string => formatSseMessage({ id, key, payload });

/** `GET /v1/checkouts/client/{client_secret}/stream`: what becomes of a checkout, as server-sent events (CHK-60, CHK-61). */
export function routeCheckoutStream(app: FastifyInstance, options: StreamOptions): void {
  const { deps, tail, identify, limitStreams } = options;
  const deliveries = openDeliveryWatch(deps.log, (organization_id, ids) => findTold(deps.db, organization_id, ids));
  app.get<{ Params: { client_secret: string } }>(streamPaths.checkout, async (request, reply) => {
    checkIdentity(await identify(request));
    const { client_secret } = request.params;
    limitStreams(reply, limitPage(request, `checkout:${client_secret}`));
    // The place is taken before the checkout is read: what happens in between is said twice rather than not at all.
    const from = await tail.now();
    const checkout = await options.find(createRequestContext(deps, request, anonymous), client_secret);
    const latest = await findLatestUpdate(deps, checkout.organization_id, checkout.id);
    /** The latest event of each status that is not delivered to the seller yet. */
    const waits = new Map<string, AbortController>();
    const reportWhenDelivered = async (status: string, event_id: string, send: Send, signal: AbortSignal) => {
      waits.get(status)?.abort();
      const newer = new AbortController();
      waits.set(status, newer);
      const until = AbortSignal.any([signal, newer.signal]);
      await deliveries.untilTold(checkout.organization_id, event_id, until);
      if (until.aborted) return;
      await send(buildMessage(createId(deps.clock.now()), "checkout.webhook_event_delivered", { status }));
    };
    let { status } = checkout;
    let report = (_event_id: string) => {};
    return streamEvents(
      { lifetimeMs, ...options },
      { request, reply },
      {
        organization_id: checkout.organization_id,
        from,
        // The published checkout page reads messages alone.
        farewell: formatSseMessage({ type: "reconnect" }),
        async begin(send, signal) {
          report = (event_id) => void reportWhenDelivered(status, event_id, send, signal);
          if (status === "succeeded")
            await send(buildMessage(createId(deps.clock.now()), "checkout.order_created", {}));
          await send(buildMessage(latest?.id ?? createId(deps.clock.now()), "checkout.updated", { status }));
          if (latest?.status === status) report(latest.id);
        },
        async onEvent(event, send) {
          const key = event.seq > (latest?.seq ?? 0) ? getKey(event, checkout) : undefined;
          if (key === undefined) return;
          if (event.type.startsWith("checkout.")) status = String(getField(event.data, "status"));
          await send(buildMessage(event.id, key, key === "checkout.updated" ? { status } : {}));
          if (event.type === "checkout.updated") report(event.id);
        },
      },
    );
  });
}

async function findLatestUpdate(deps: Deps, organization_id: string, checkout_id: string) {
  const status = sql<string>`${events.data} ->> 'status'`;
  const [row] = await deps.db
    .select({ id: events.id, seq: events.seq, status })
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        eq(sql`(${events.data} ->> 'id')`, checkout_id),
        // Said in the words of its index, also where the statement is planned without its values.
        sql`${events.type} = 'checkout.updated'`,
      ),
    )
    .orderBy(desc(events.seq))
    .limit(1);
  return row;
}
