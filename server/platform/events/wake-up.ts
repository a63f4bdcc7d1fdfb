import { sql } from "drizzle-orm";
import postgres from "postgres";
import type { Deps } from "../context.ts";
import type { Tail } from "./tail.ts";

const channel = "floe_events";
/** PostgreSQL commits notifications one after the other, in all databases: so each process sends few. */
const notifyEveryMs = 50;

/**
 * Wake the poller of events when a transaction of this process has committed events; with `FLOE_STREAM_NOTIFY`, the pollers of the
 * other processes too. It carries nothing, and what is lost costs a poll's time alone: every poller looks by itself, too.
 * Answers how to end it.
 */
export function openWakeUp(
  { db, config, jobs, log }: Pick<Deps, "db" | "config" | "jobs" | "log">,
  tail: Pick<Tail, "wake">,
): () => Promise<void> {
  const isShared = config.FLOE_STREAM_NOTIFY && config.DATABASE_URL !== undefined;
  const listener = isShared ? listenForOthers(String(config.DATABASE_URL), tail) : undefined;
  listener?.catch((error: unknown) => log.warn({ err: error }, "Other servers cannot wake the streams of this one."));
  let timer: NodeJS.Timeout | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  const notifyOthers = () => {
    timer = undefined;
    sentAt = performance.now();
    db.execute(sql`select pg_notify(${channel}, '')`).catch((error: unknown) =>
      log.warn({ err: error }, "The streams of other servers could not be woken."),
    );
  };
  const stopHearing = jobs.onWake("events.dispatch", () => {
    tail.wake();
    if (isShared) timer ??= setTimeout(notifyOthers, Math.max(0, sentAt + notifyEveryMs - performance.now())).unref();
  });
  return async () => {
    stopHearing();
    clearTimeout(timer);
    await (await listener?.catch(() => undefined))?.end({ timeout: 1 });
  };
}

/** One connection beside the pool: a pooler between would not pass notifications on. The driver connects again by itself. */
async function listenForOthers(url: string, tail: Pick<Tail, "wake">) {
  const connection = { application_name: `floe ${process.pid} streams` };
  const client = postgres(url, { max: 1, connection, max_lifetime: null, fetch_types: false, onnotice: () => {} });
  await client.listen(channel, () => tail.wake());
  return client;
}
