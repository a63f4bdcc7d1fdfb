import { z } from "zod";
import { type EventType, payloads } from "../../shared/events.ts";
import { record } from "./audit.ts";
import type { Ctx, Deps, Tx } from "./context.ts";
import { newId } from "./ids.ts";

/**
 * Note that something happened, in wire form, with the change itself: the event exists if and only if the change does. Who
 * is told, and how, is the work of the `events.dispatch` job written beside it, one for all events of an organization that a
 * transaction has.
 */
export async function emit<T extends keyof typeof payloads & EventType>(
  tx: Tx,
  ctx: Deps | Ctx,
  organization_id: string,
  type: T,
  data: z.output<(typeof payloads)[T]>,
): Promise<void> {
  const created_at = ctx.clock.now();
  const id = newId(created_at);
  const wire = z.encode(payloads[type] as z.ZodType, data);
  tx.unit.events.push({ id, organization_id, type, data: wire, created_at });
  await ctx.jobs.send(tx, "events.dispatch", { organization_id });
  if (moneyMoves.has(type)) await recordMoney(tx, ctx, organization_id, type, wire);
}

/** What moves money, or will: in the audit log whoever brought it about, be it a buyer or a sweep. */
const moneyMoves: ReadonlySet<EventType> = new Set<EventType>([
  "order.paid",
  "order.refunded",
  "subscription.created",
  "subscription.active",
  "subscription.cycled",
  "subscription.past_due",
  "subscription.canceled",
  "subscription.uncanceled",
  "subscription.revoked",
]);
const system = { kind: "system", user_id: null, key_id: null } as const;

async function recordMoney(tx: Tx, ctx: Deps | Ctx, organization_id: string, action: string, wire: unknown) {
  const { id, amount, total_amount, currency } = Money.parse(wire);
  await record(tx, ctx, {
    action,
    actor: "actor" in ctx ? ctx.actor : system,
    subject: { type: action.split(".")[0] ?? "", id },
    organization_id,
    details: { amount: total_amount ?? amount ?? null, currency: currency ?? null },
    ip_address: "ip" in ctx ? ctx.ip : null,
    user_agent: null,
  });
}
const Money = z.object({
  id: z.string(),
  amount: z.number().nullish(),
  total_amount: z.number().nullish(),
  currency: z.string().nullish(),
});
