import { and, eq, sql } from "drizzle-orm";
import { z } from "zod";
import { type EventType, payloads } from "../../../shared/events.ts";
import { buildSystemEvent, type SystemEvent } from "../../../shared/system-events.ts";
import { getServerClock } from "../clock.ts";
import type { Ctx, Deps, Tx } from "../context.ts";
import { sealTokens } from "../crypto/secrets.ts";
import { writeArray } from "../db/arrays.ts";
import { matchKey, type RowKey } from "../db/rows.ts";
import { events } from "../db/tables.ts";
import type { PendingEvents } from "../db/transaction.ts";
import { isCommitting } from "../db/unit-of-work.ts";
import { createId } from "../ids.ts";
import { getPassedTraceparent } from "../telemetry/spans.ts";
import { getTrace, noteServed } from "../telemetry/trace.ts";

type Data<T extends keyof typeof payloads> = z.output<(typeof payloads)[T]>;

/**
 * Emit an event in wire form, in the transaction of the change: the event exists if and only if the change commits. The
 * worker `events.dispatch` delivers it. Secret tokens in the data are sealed. Pass a function if the data are complete only
 * at the end of the transaction.
 */
export const emit = <T extends keyof typeof payloads & EventType>(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  type: T,
  data: Data<T> | (() => Data<T>),
): Promise<void> => emitEach(tx, ctx, organization_id, [type], data);

/** Emit several events with the same data, in this order. */
export async function emitEach<T extends keyof typeof payloads & EventType>(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  types: readonly T[],
  data: Data<T> | (() => Data<T>),
): Promise<void> {
  const [first] = types;
  if (first === undefined || !isCommitting(tx.unit)) return;
  if (types.some((type) => payloads[type] !== payloads[first]))
    throw new Error("These events have not the same shape.");
  const encode = (payload: Data<T>) => z.encode(payloads[first] as z.ZodType, payload);
  // Data that are not a function are encoded now, so that an error surfaces here and later changes have no effect.
  const now = typeof data === "function" ? undefined : encode(data);
  const created_at = ctx.clock.now();
  if (!getTrace()?.served)
    noteServed(organization_id, created_at.getTime() - getServerClock(ctx.clock).now().getTime());
  const request_id = getTrace()?.request_id ?? null;
  const traceparent = getPassedTraceparent() ?? null;
  const emitted: PendingEvents["emitted"][number][] = [];
  for (const type of types) {
    emitted.push({ id: createId(created_at), type, request_id, traceparent });
    ctx.jobs.wake(tx, "events.dispatch");
  }
  const write = () => {
    const sent = now ?? encode((data as () => Data<T>)());
    const listed = emitted.flatMap(({ id, type }) => {
      const event = buildSystemEvent(type as T, sent as never);
      return event ? [{ ...event, id, timestamp: created_at }] : [];
    });
    return { wire: sealTokens(ctx.config.secret, "event-tokens", organization_id, JSON.stringify(sent)), listed };
  };
  tx.unit.events.push({ organization_id, created_at, emitted, write });
}

/**
 * Write an event of another service to the outbox, for its readers. It is dispatched already: the service sends it to the
 * seller's endpoints itself.
 */
export async function recordForeignEvent(
  tx: Tx,
  { clock, config }: Deps | Ctx,
  {
    organization_id,
    data,
    ...event
  }: { id: string; organization_id: string; type: string; data: unknown; created_at: Date },
): Promise<void> {
  const wire = sealTokens(config.secret, "event-tokens", organization_id, JSON.stringify(data));
  await tx
    .insert(events)
    .values({ ...event, organization_id, data: JSON.parse(wire) as unknown, dispatched_at: clock.now() })
    .onConflictDoNothing();
}

/** Record an event only in the list of usage events (MTR-05), in the transaction of the change. */
export function recordListedEvent(
  tx: Tx,
  { clock }: Deps | Ctx,
  organization_id: string,
  event: SystemEvent,
  timestamp: Date = clock.now(),
): void {
  const created_at = clock.now();
  const listed = [{ ...event, id: createId(created_at), timestamp }];
  tx.unit.events.push({ organization_id, created_at, emitted: [], write: () => ({ wire: "null", listed }) });
}

/** The maximum events that one search reads. */
const searchedTogether = 1000;

/**
 * Search one page of events for any of these lower-case words, in the order of the tail, after a cursor. Returns the next
 * cursor, or null after the last page.
 */
export async function searchEvents(tx: Tx, organization_id: string, after: string | null, words: readonly string[]) {
  const { id, xid, seq, data } = events;
  const isFound = sql`exists (select 1 from unnest(${writeArray(words, "text")}) as word
    where position(word in lower(${data}::text)) > 0)`;
  const [last_xid, last_seq] = after?.split(" ") ?? [];
  const slice = await tx
    .select({ id, xid, seq, data: sql<unknown>`case when ${isFound} then ${data} end` })
    .from(events)
    .where(
      and(
        eq(events.organization_id, organization_id),
        after === null ? undefined : sql`(${xid}, ${seq}) > (${last_xid}::bigint, ${last_seq}::bigint)`,
      ),
    )
    .orderBy(xid, seq)
    .limit(searchedTogether);
  const found = slice.flatMap((one) => (one.data === null ? [] : [{ id: one.id, data: one.data }]));
  const last = slice.length === searchedTogether ? slice.at(-1) : undefined;
  return { found, next: last ? `${last.xid} ${last.seq}` : null };
}

/** Replace the data of an event. */
export async function rewriteEvent(tx: Tx, key: RowKey, data: unknown): Promise<void> {
  await tx.update(events).set({ data }).where(matchKey(events, key));
}
