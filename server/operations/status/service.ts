/** How a server stands, read from its database: `floe admin status`. */
import { and, desc, isNotNull, isNull, lt, min, sql } from "drizzle-orm";
import {
  findOutbox,
  listWaitingEndpoints,
  type Outbox,
  type WaitingEndpoint,
} from "../../messaging/webhooks/backlog.ts";
import type { Database } from "../../platform/context.ts";
import { isDeadLetter } from "../../platform/db/due.ts";
import { failedWork, mails, type restores } from "../../platform/db/tables.ts";
import { countDeadLetters } from "../diagnostics/store.ts";
import { findLeftOver, findOpenRestore } from "../restore/detection.ts";

export type ServerStatus = {
  /** The restore whose charges are not settled yet. */
  restore: { created_at: Date; reason: (typeof restores.$inferSelect)["reason"] } | null;
  /** What a restore has left to be settled by hand: how many of each outcome. */
  left_over: Record<string, number> | null;
  outbox: Outbox;
  /** The endpoints with the oldest events that have not arrived. */
  endpoints: WaitingEndpoint[];
  dead_letters: { count: number; kinds: string[]; oldest_at: Date | null };
  mails: { waiting: number; oldest_at: Date | null; refused: RefusedMail[] };
};
export type RefusedMail = { id: string; to: string; subject: string; created_at: Date; refusal: string };

const endpointsMax = 10;
const refusedMax = 10;

async function findMails(db: Database, now: Date): Promise<ServerStatus["mails"]> {
  const isDue = and(isNotNull(mails.next_attempt_at), lt(mails.created_at, now));
  const [waiting] = await db
    .select({ count: sql<number>`count(*)::int`, oldest_at: min(mails.created_at) })
    .from(mails)
    .where(isDue);
  const { id, to, subject, created_at } = mails;
  const refused = await db
    .select({ id, to, subject, created_at, refusal: sql<string>`${mails.refusal}` })
    .from(mails)
    .where(and(isNotNull(mails.refusal), isNull(mails.sent_at)))
    .orderBy(desc(mails.created_at))
    .limit(refusedMax);
  return { waiting: waiting?.count ?? 0, oldest_at: waiting?.oldest_at ?? null, refused };
}

/** Read how the server stands. Nothing is written. */
export async function readStatus(db: Database, now: Date): Promise<ServerStatus> {
  const open = await findOpenRestore(db);
  const [oldest] = await db
    .select({ at: min(failedWork.first_failed_at) })
    .from(failedWork)
    .where(isDeadLetter);
  return {
    restore: open ? { created_at: open.created_at, reason: open.reason } : null,
    left_over: await findLeftOver(db),
    outbox: await findOutbox(db),
    endpoints: await listWaitingEndpoints(db, endpointsMax),
    dead_letters: { ...(await countDeadLetters(db)), oldest_at: oldest?.at ?? null },
    mails: await findMails(db, now),
  };
}
