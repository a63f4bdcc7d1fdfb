import { setTimeout as sleep } from "node:timers/promises";
import { and, asc, desc, eq, gt, gte, inArray, lt, or, sql } from "drizzle-orm";
import type { Database, Deps } from "../context.ts";
import { events } from "../db/tables.ts";
import { findOutage } from "../db/unreachable.ts";
import { eventHorizon } from "./epoch.ts";
import { type Horizon, openLagWatch } from "./tail-lag.ts";

/** A place in an organization's events. Written `xid-seq`. */
export type Cursor = { xid: bigint; seq: number };
export type TailedEvent = Pick<typeof events.$inferSelect, "id" | "xid" | "seq" | "type" | "data" | "created_at">;

export const formatCursor = ({ xid, seq }: Cursor): string => `${xid}-${seq}`;
/** A cursor from its text; undefined when it is none. */
export function parseCursor(text: string): Cursor | undefined {
  const [, xid, seq] = /^(\d{1,18})-(\d{1,15})$/.exec(text) ?? [];
  return xid === undefined || seq === undefined ? undefined : { xid: BigInt(xid), seq: Number(seq) };
}

/**
 * Reading only below the horizon is what makes a cursor safe: numbers are given when a row is written, and become visible in
 * another order.
 */
const settled = sql`${events.xid} < ${eventHorizon}`;
const matchAfter = ({ xid, seq }: Cursor) => or(gt(events.xid, xid), and(eq(events.xid, xid), gt(events.seq, seq)));

const pollMs = 250;
const pollIdleMs = 1000;
/** The same where the other processes notify of their commits. */
const pollNotifiedMs = 5000;
/** The least time between two polls. */
const pollWokenMs = 25;
/** Polls without news after which they become rarer. */
const idlePolls = 120;
const pageRows = 100;

export type Tail = {
  /** The place after everything that is over by now. */
  now(): Promise<Cursor>;
  /** The place before everything of an organization that happened since a time. */
  since(organization_id: string, time: Date): Promise<Cursor>;
  /** Everything of an organization after a place, and then whatever comes, until the signal. */
  follow(organization_id: string, from: Cursor, signal: AbortSignal): Follower;
  /** Look for news at once, and not at the next poll. */
  wake(): void;
  /** Whether notifications of other processes arrive. While they do, and there is no news, it looks rarely. */
  setNotified(is: boolean): void;
  /** End every follower. */
  close(): void;
  /** How long the followers have waited for a transaction that is still open, in seconds. */
  getLagSeconds(): number;
  /** Aborted once the followers are ended. */
  closed: AbortSignal;
};

export type Follower = AsyncGenerator<TailedEvent> & {
  /** A place after everything that was read so far: also where nothing of this organization has come for long. */
  getPlace(): Cursor;
};

const isBefore = (a: Cursor, b: Cursor): boolean => a.xid < b.xid || (a.xid === b.xid && a.seq < b.seq);

async function readAfter(db: Database, organization_id: string, from: Cursor): Promise<TailedEvent[]> {
  const { id, xid, seq, type, data, created_at } = events;
  return db
    .select({ id, xid, seq, type, data, created_at })
    .from(events)
    .where(and(eq(events.organization_id, organization_id), matchAfter(from), settled))
    .orderBy(asc(events.xid), asc(events.seq))
    .limit(pageRows);
}

/** Reads backwards from the end, so that the work is in proportion to what will be sent. */
async function findCursorBefore(db: Database, organization_id: string, time: Date): Promise<Cursor> {
  const { xid, seq, created_at } = events;
  let cursor: Cursor = { xid: await getHorizon(db), seq: 0 };
  for (;;) {
    const page = await db
      .select({ xid, seq, created_at })
      .from(events)
      .where(
        and(
          eq(events.organization_id, organization_id),
          or(lt(xid, cursor.xid), and(eq(xid, cursor.xid), lt(seq, cursor.seq))),
        ),
      )
      .orderBy(desc(xid), desc(seq))
      .limit(pageRows);
    for (const row of page) {
      if (row.created_at < time) return { xid: row.xid, seq: row.seq };
      cursor = { xid: row.xid, seq: row.seq };
    }
    if (page.length < pageRows) return { xid: 0n, seq: 0 };
  }
}

/** Join reads of the same place that run at once: the followers of an organization are mostly at the same one. */
function openSharedReads(db: Database) {
  const running = new Map<string, Promise<TailedEvent[]>>();
  return {
    read(organization_id: string, from: Cursor): Promise<TailedEvent[]> {
      const key = `${organization_id} ${formatCursor(from)}`;
      const known = running.get(key);
      if (known) return known;
      const reading = readAfter(db, organization_id, from).finally(() => {
        if (running.get(key) === reading) running.delete(key);
      });
      running.set(key, reading);
      return reading;
    },
    /** Nobody joins a read that began before the news. */
    forget: () => running.clear(),
  };
}

const isHorizonHeld = sql<boolean>`pg_snapshot_xmin(pg_current_snapshot()) < pg_snapshot_xmax(pg_current_snapshot())`;

async function readHorizon(db: Database): Promise<Horizon> {
  const [row] = await db.select({ xmin: eventHorizon, isHeld: isHorizonHeld }).from(sql`(select 1) as one`);
  return { xmin: BigInt(row?.xmin ?? 0), isHeld: row?.isHeld ?? false };
}

const getHorizon = async (db: Database): Promise<bigint> => (await readHorizon(db)).xmin;

/** One poller for all followers of this process: it asks which organizations have news and wakes those who wait for it. */
export function openTail({ db, log }: Pick<Deps, "db" | "log">): Tail {
  const waiting = new Map<string, Set<() => void>>();
  const closing = new AbortController();
  const reads = openSharedReads(db);
  const lag = openLagWatch({ db, log });
  /** Every waiting follower was told of everything below. */
  let seen: bigint | undefined;
  let polling = false;
  let isWoken = false;
  let nap: AbortController | undefined;
  let quiet = 0;
  let idleMs = pollIdleMs;

  /** Wait for the next poll. Who is woken again and again still waits a moment, so that many commits lead to few polls. */
  const awaitPoll = async () => {
    if (!isWoken) {
      nap = new AbortController();
      const signal = AbortSignal.any([closing.signal, nap.signal]);
      await sleep(quiet > idlePolls ? idleMs : pollMs, undefined, { signal }).catch(() => {});
      nap = undefined;
    } else await sleep(pollWokenMs, undefined, { signal: closing.signal }).catch(() => {});
    isWoken = false;
  };
  /** Look for news as long as someone waits. Places are kept over a rest, so nothing is passed over. */
  const poll = async () => {
    if (polling) return;
    polling = true;
    while (waiting.size > 0 && !closing.signal.aborted) {
      await awaitPoll();
      const { found, upTo } = closing.signal.aborted ? { found: [], upTo: seen } : await findReady();
      quiet = found.length > 0 ? 0 : quiet + 1;
      if (found.length > 0) reads.forget();
      for (const organization_id of found) for (const notice of waiting.get(organization_id) ?? []) notice();
      seen = upTo;
    }
    polling = false;
  };
  const findReady = async (): Promise<{ found: string[]; upTo: bigint | undefined }> => {
    try {
      const horizon = await readHorizon(db);
      const { xmin: upTo } = horizon;
      await lag.note(horizon);
      // Looked up after the horizon: who begins to wait later reads up to it without a notice.
      const organizations = [...waiting.keys()];
      // The first look knows no place to look from: everyone looks for themselves once more.
      if (seen === undefined) return { found: organizations, upTo };
      if (upTo === seen) return { found: [], upTo };
      if (organizations.length === 0) return { found: [], upTo: seen };
      const news = await db
        .selectDistinct({ organization_id: events.organization_id })
        .from(events)
        .where(and(inArray(events.organization_id, organizations), gte(events.xid, seen), lt(events.xid, upTo)));
      return { found: news.map(({ organization_id }) => organization_id), upTo };
    } catch (error) {
      if (!closing.signal.aborted)
        log.warn({ err: error }, "The events could not be looked at; it will be tried again.");
      return { found: [], upTo: seen };
    }
  };

  /** Until there may be news of an organization. The caller must have looked once after it began to wait. */
  const listen = (organization_id: string, signal: AbortSignal) => {
    let fresh = false;
    let go: (() => void) | undefined;
    const noteFresh = () => {
      fresh = true;
      go?.();
    };
    const group = waiting.get(organization_id) ?? new Set();
    group.add(noteFresh);
    waiting.set(organization_id, group);
    signal.addEventListener("abort", noteFresh, { once: true });
    quiet = 0;
    void poll();
    return {
      async news() {
        if (!fresh) await new Promise<void>((resolve) => (go = resolve));
        fresh = false;
        go = undefined;
      },
      /** Whether everything that is known of was read. */
      isIdle: () => go !== undefined && !fresh,
      stop() {
        signal.removeEventListener("abort", noteFresh);
        group.delete(noteFresh);
        if (group.size === 0) waiting.delete(organization_id);
      },
    };
  };

  return {
    async now() {
      return { xid: await getHorizon(db), seq: 0 };
    },
    since: (organization_id, time) => findCursorBefore(db, organization_id, time),
    follow(organization_id, from, outer) {
      let getPlace = () => from;
      async function* read(): AsyncGenerator<TailedEvent> {
        const signal = AbortSignal.any([outer, closing.signal]);
        if (signal.aborted) return;
        const listening = listen(organization_id, signal);
        let cursor = from;
        getPlace = () => {
          const horizon = { xid: seen ?? 0n, seq: 0 };
          return listening.isIdle() && isBefore(cursor, horizon) ? horizon : cursor;
        };
        try {
          while (!signal.aborted) {
            const page = await reads.read(organization_id, cursor).catch(async (error: unknown) => {
              if (!findOutage(error)) throw error;
              log.warn({ err: error }, "The events could not be read; it will be tried again.");
              await sleep(pollIdleMs, undefined, { signal }).catch(() => {});
            });
            if (!page) continue;
            for (const event of page) {
              cursor = { xid: event.xid, seq: event.seq };
              yield event;
              if (signal.aborted) return;
            }
            if (page.length < pageRows) await listening.news();
          }
        } finally {
          listening.stop();
        }
      }
      return Object.assign(read(), { getPlace: () => getPlace() });
    },
    close: () => closing.abort(),
    getLagSeconds: lag.getSeconds,
    setNotified(is) {
      idleMs = is ? pollNotifiedMs : pollIdleMs;
    },
    wake() {
      isWoken = true;
      // What a transaction that is still open holds back is looked for again soon.
      quiet = 0;
      nap?.abort();
    },
    closed: closing.signal,
  };
}
