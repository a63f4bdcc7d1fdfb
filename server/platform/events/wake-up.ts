import { sql } from "drizzle-orm";
import postgres, { type Sql } from "postgres";
import type { Deps } from "../context.ts";
import { getSessionName } from "../db/processes.ts";
import type { Tail } from "./tail.ts";

const channel = "floe_wake_up";
/** PostgreSQL commits notifications one after the other, in all databases: so each process sends few. */
const notifyEveryMs = 50;
/** How often it is checked that notifications arrive. */
const checkEveryMs = 60_000;
/** The worker of events: where it has work, streams have news. */
const dispatching = "events.dispatch";

export type WakeUp = { end(): Promise<void> };
type Woken = Pick<Tail, "wake" | "setNotified">;

/** Whether processes of this database notify each other. A pooler that shares connections passes no notifications on. */
const isNotifying = ({ FLOE_NOTIFY, DATABASE_URL }: Deps["config"]): boolean =>
  DATABASE_URL !== undefined && (FLOE_NOTIFY ?? new URL(DATABASE_URL).searchParams.get("prepare") !== "false");

/**
 * Wake the streams when a transaction of this process has committed events; and the streams and workers of the other processes, by a
 * notification that names the workers. What is lost costs a poll's time alone: everybody looks by themselves, too.
 */
export function openWakeUp(
  deps: Pick<Deps, "db" | "config" | "jobs" | "log" | "process_id">,
  tail: Woken,
  checkMs = checkEveryMs,
): WakeUp {
  const { db, config, jobs, log, process_id } = deps;
  const isShared = isNotifying(config);
  const notify = (names: readonly string[]): Promise<unknown> =>
    db
      .execute(sql`select pg_notify(${channel}, ${[process_id, ...names].join(" ")})`)
      .catch((error: unknown) => log.warn({ err: error }, "Other servers could not be woken."));
  const listener = isShared ? openListener(deps, tail, () => notify([]), checkMs) : undefined;
  const woken = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let sentAt = Number.NEGATIVE_INFINITY;
  const notifyOthers = () => {
    timer = undefined;
    sentAt = performance.now();
    const names = [...woken];
    woken.clear();
    void notify(names);
  };
  const stopHearing = jobs.onCommit((name) => {
    if (name === dispatching) tail.wake();
    if (!isShared || jobs.isAlone()) return;
    woken.add(name);
    timer ??= setTimeout(notifyOthers, Math.max(0, sentAt + notifyEveryMs - performance.now())).unref();
  });
  return {
    async end() {
      stopHearing();
      clearTimeout(timer);
      await listener?.end();
    },
  };
}

/**
 * Hear notifications, and wake whom they name. A connection that fell silent, or a pooler between, says nothing: so a process
 * notifies itself each minute, and connects again if it does not hear that.
 */
function openListener(
  { config, jobs, log, process_id }: Pick<Deps, "config" | "jobs" | "log" | "process_id">,
  tail: Woken,
  notifySelf: () => Promise<unknown>,
  checkMs: number,
): WakeUp {
  const url = String(config.DATABASE_URL);
  let client: Promise<Sql> | undefined;
  let isHeard = false;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const handleNotice = (payload: string) => {
    const [from, ...names] = payload.split(" ");
    if (from === process_id) {
      isHeard = true;
      tail.setNotified(true);
      return;
    }
    if (names.includes(dispatching)) tail.wake();
    for (const name of names) jobs.wakeNow(name);
  };
  const close = async () => (await client?.catch(() => undefined))?.end({ timeout: 1 });
  const open = () => {
    client = listen(url, getSessionName(process_id), handleNotice);
    client.catch((error: unknown) => log.warn({ err: error }, "Other servers cannot wake this one."));
  };
  async function check(): Promise<void> {
    if (!isHeard) {
      tail.setNotified(false);
      await close();
      if (isOver) return;
      open();
    }
    isHeard = false;
    await client?.catch(() => undefined);
    await notifySelf();
  }
  const schedule = (ms: number) => {
    timer = setTimeout(async () => {
      await check();
      if (!isOver) schedule(checkMs);
    }, ms).unref();
  };
  schedule(0);
  return {
    async end() {
      isOver = true;
      clearTimeout(timer);
      await close();
    },
  };
}

/** One connection beside the pool: a pooler between would not pass notifications on. The driver connects again by itself. */
async function listen(url: string, name: string, handleNotice: (payload: string) => void): Promise<Sql> {
  const connection = { application_name: name };
  const client = postgres(url, { max: 1, connection, max_lifetime: null, fetch_types: false, onnotice: () => {} });
  await client.listen(channel, handleNotice);
  return client;
}
