import { z } from "zod";
import { type EventType, payloads } from "../../shared/events.ts";
import type { Ctx, Deps, Tx } from "./context.ts";
import { newId } from "./ids.ts";
import { events } from "./tables.ts";

/**
 * Record that something happened, in wire form, with the change itself: the event exists if and only if the change
 * does. Who is told, and how, is the work of the `events.dispatch` job written beside it.
 */
export async function emit<T extends keyof typeof payloads & EventType>(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  type: T,
  data: z.output<(typeof payloads)[T]>,
): Promise<void> {
  const id = newId();
  const wire = z.encode(payloads[type] as z.ZodType, data);
  await tx.insert(events).values({ id, organization_id, type, data: wire, created_at: ctx.clock.now() });
  await ctx.jobs.send(tx, "events.dispatch", { event_id: id });
}
