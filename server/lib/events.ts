import { z } from "zod";
import { type EventType, payloads } from "../../shared/events.ts";
import type { Ctx, Deps, Tx } from "./context.ts";
import { newId } from "./ids.ts";
import { sealTokensIn } from "./secrets.ts";

type Data<T extends keyof typeof payloads> = z.output<(typeof payloads)[T]>;

/**
 * Note that something happened, in wire form, with the change itself: the event exists if and only if the change does. Who
 * is told, and how, is the work of the sweep `events.dispatch`. Secret tokens in it are sealed. Data that are complete at the end of the transaction only are given as a function.
 */
export async function emit<T extends keyof typeof payloads & EventType>(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  type: T,
  data: Data<T> | (() => Data<T>),
): Promise<void> {
  const created_at = ctx.clock.now();
  const id = newId(created_at);
  const encode = (payload: Data<T>) => z.encode(payloads[type] as z.ZodType, payload);
  // What is there already is encoded now, so that it fails here, and is as it was at this moment.
  const now = typeof data === "function" ? undefined : encode(data);
  const wire = () => sealTokensIn(ctx.config.secret, now ?? encode((data as () => Data<T>)()));
  tx.unit.events.push(() => ({ id, organization_id, type, data: wire(), created_at }));
  ctx.jobs.wake(tx, "events.dispatch");
}
