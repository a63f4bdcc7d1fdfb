import { and, isNotNull, lt, sql } from "drizzle-orm";
import type { Database, Deps, Tx } from "../../platform/context.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import { incomingEvents } from "./tables.ts";

export type IncomingEvent = typeof incomingEvents.$inferSelect;

/** Store an event, or count that it came again. One statement: the same delivery a hundred times at once is one row. */
export async function storeEvent(db: Database, values: typeof incomingEvents.$inferInsert) {
  const { duplicates, body_hash, id } = incomingEvents;
  const [row] = await db
    .insert(incomingEvents)
    .values(values)
    .onConflictDoUpdate({
      target: [incomingEvents.organization_id, incomingEvents.webhook_id],
      set: { duplicates: sql`${duplicates} + 1` },
    })
    .returning({ id, body_hash });
  return { isNew: row?.id === values.id, isSame: row?.body_hash === values.body_hash };
}

/** An event that waits to be applied, kept from others until the transaction ends. */
export async function lockEvent(tx: Tx, key: RowKey): Promise<IncomingEvent | undefined> {
  const [row] = await tx
    .select()
    .from(incomingEvents)
    .where(and(matchKey(incomingEvents, key), isNotNull(incomingEvents.due_at)))
    .for("update");
  return row;
}

export async function closeEvent(
  tx: Tx,
  key: RowKey,
  state: IncomingEvent["state"],
  object_id: string | null,
  error: string | null = null,
): Promise<void> {
  await tx.update(incomingEvents).set({ state, object_id, error, due_at: null }).where(matchKey(incomingEvents, key));
}

/** Drop the bodies of events that are older. */
export async function dropPayloads({ db }: Deps, before: Date, limit: number): Promise<number> {
  const some = sql`array(select ctid from ${incomingEvents} where ${lt(incomingEvents.received_at, before)}
    and ${isNotNull(incomingEvents.payload)} limit ${limit} for update skip locked)`;
  const dropped = await db
    .update(incomingEvents)
    .set({ payload: null })
    .where(sql`ctid = any(${some})`)
    .returning({ id: incomingEvents.id });
  return dropped.length;
}
