import type { Database } from "../../platform/context.ts";
import type { Cursor, Tail } from "../../platform/events/tail.ts";
import { retentionMs } from "../webhooks/rules.ts";
import { rejectPlace } from "./reader.ts";
import { findEventOffset, findFirstAfter, hasEventAt } from "./store.ts";

/** Where a stream begins. */
export type Start = {
  from: Cursor;
  /** Why it does not begin at the reader's own cursor: the reader has to read its lists again (STR-05). */
  reset?: "cursor_expired" | "cursor_unknown" | "database_restored";
};

type StartOptions = {
  db: Database;
  tail: Tail;
  organization_id: string;
  /** The organization's time. */
  now: Date;
  cursor: Cursor | undefined;
  since: Date | undefined;
};

/** The place of a stream's beginning: after its cursor, at a time, or now. */
export async function findStart({ db, tail, organization_id, now, cursor, since }: StartOptions): Promise<Start> {
  const oldest = new Date(now.getTime() - retentionMs);
  const end = await tail.now();
  if (!cursor) {
    if (!since) return { from: end };
    if (since < oldest)
      throw rejectPlace(["query", "since"], "Events are replayed for 90 days. Name a later time.", since.toISOString());
    return { from: await tail.since(organization_id, since) };
  }
  if (cursor.xid > end.xid) return { from: end, reset: "cursor_unknown" };
  if (cursor.xid < (await findEventOffset(db))) return { from: end, reset: "database_restored" };
  // A cursor without a number is a place between events; any other is an event's own.
  if (cursor.seq > 0 && !(await hasEventAt(db, organization_id, cursor))) return { from: end, reset: "cursor_unknown" };
  const next = await findFirstAfter(db, organization_id, cursor);
  return next && next.created_at < oldest ? { from: end, reset: "cursor_expired" } : { from: cursor };
}
