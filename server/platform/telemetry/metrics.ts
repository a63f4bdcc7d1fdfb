/** The metrics of this process. Labels are names of the code, never values that callers send. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { sql } from "drizzle-orm";
import type { Database, Deps } from "../context.ts";
import { isDeadLetter } from "../db/due.ts";
import { getPoolUse } from "../db/pool.ts";
import { failedWork, restores } from "../db/tables.ts";
import { measureTailLag } from "../events/tail-lag.ts";
import { createRegistry } from "./registry.ts";

export const registry = createRegistry();

const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const requestDuration = registry.createHistogram(
  "floe_http_request_duration_seconds",
  "How long requests took, by operation.",
  secondsBounds,
);
export const requests = registry.createCounter("floe_http_requests_total", "Requests, by operation and status.");
export const jobs = registry.createCounter("floe_jobs_total", "Rows that workers processed, by worker and outcome.");
export const jobSearches = registry.createCounter(
  "floe_job_searches_total",
  "Searches of a worker for due rows, by outcome.",
);
export const deliveries = registry.createCounter(
  "floe_webhook_deliveries_total",
  "Attempts to deliver a webhook, by outcome.",
);
export const processorCalls = registry.createHistogram(
  "floe_processor_call_duration_seconds",
  "How long calls of the card processor took, by call and outcome.",
  secondsBounds,
);
export const callsInTransactions = registry.createCounter(
  "floe_calls_in_transactions_total",
  "Calls of other services while a transaction was open, by call.",
);
export const mailsSent = registry.createCounter("floe_mails_total", "Attempts to send a mail, by outcome.");
export const bounces = registry.createCounter("floe_mail_bounces_total", "Addresses that took no mail, by kind.");
export const payments = registry.createCounter("floe_payments_total", "Payments, by result.");
/** Checks of a seller's books, by what they found. */
export const bookChecks = registry.createCounter(
  "floe_book_checks_total",
  "Checks of what changed in a seller's books, by outcome.",
);
export const moneyHolds = registry.createCounter(
  "floe_money_holds_total",
  "Sellers whose money was held because their books broke a rule.",
);
const outages = registry.createCounter("floe_database_outages_total", "Outages of the database that began.");

/** When the oldest row of a worker that its last search found fell due, in milliseconds before the search. */
const lateness = new Map<string, number>();
export const recordLateness = (worker: string, ms: number): void => void lateness.set(worker, ms);

let isDatabaseUp = true;
/** Record that an outage of the database begins or ends. */
export function recordOutage(isOut: boolean): void {
  if (isOut) outages.add();
  isDatabaseUp = !isOut;
}

const scrapeMsMax = 2000;
const gauges = [
  "floe_build_info",
  "floe_event_loop_delay_seconds",
  "floe_database_up",
  "floe_database_connections",
  "floe_database_connections_max",
  "floe_database_waiters",
  "floe_job_oldest_due_seconds",
  "floe_dead_letters",
  "floe_outbox_oldest_seconds",
  "floe_tail_lag_seconds",
  "floe_restores",
  "floe_money_held",
  "process_resident_memory_bytes",
  "process_cpu_seconds_total",
  "process_start_time_seconds",
];

/** What waits to be told to receivers, from the context that sends it. */
type FindOutbox = (db: Database) => Promise<{ undispatched_at: Date | null; undelivered_at: Date | null }>;

/** Add what is read when the metrics are asked for. Returns the function that ends it. */
export function openGauges(deps: Deps, version: string, findOutbox: FindOutbox): () => void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  // What the workers of an earlier server in this process were late by is no matter of this one.
  lateness.clear();
  const add = registry.createGauge;
  const addOne = (name: string, help: string, read: () => number | undefined | Promise<number | undefined>) =>
    add(name, help, async () => {
      const value = await read();
      return value === undefined ? [] : [[{}, value]];
    });
  add("floe_build_info", "The version of floe.", () => [[{ version, node: process.version }, 1]]);
  add("floe_event_loop_delay_seconds", "The delay of the event loop since the last scrape.", () => {
    const read: [Record<string, string>, number][] = [
      [{ quantile: "0.5" }, delay.percentile(50) / 1e9],
      [{ quantile: "0.99" }, delay.percentile(99) / 1e9],
      [{ quantile: "1" }, delay.max / 1e9],
    ];
    delay.reset();
    return read;
  });
  addOne("floe_database_up", "1 while the database answers.", () => Number(isDatabaseUp));
  add("floe_database_connections", "Connections to the database, by state.", () => {
    const use = getPoolUse(deps.db);
    return use
      ? [
          [{ state: "used" }, use.used],
          [{ state: "idle" }, use.open - use.used],
        ]
      : [];
  });
  addOne("floe_database_connections_max", "The maximum of connections.", () => getPoolUse(deps.db)?.max);
  addOne("floe_database_waiters", "Statements that wait for a connection.", () => getPoolUse(deps.db)?.waiting);
  add("floe_job_oldest_due_seconds", "How long the oldest row that a worker last found had been due.", () =>
    [...lateness].map(([worker, ms]) => [{ worker }, ms / 1000]),
  );
  addOne("floe_dead_letters", "Failed jobs that are not retried any more.", () => countDeadLetters(deps));
  add(
    "floe_outbox_oldest_seconds",
    "How long the oldest event has waited that is not dispatched, or not delivered.",
    async () => {
      const outbox = await readInTime(findOutbox(deps.db));
      const computeAge = (at: Date | null): number =>
        at ? Math.max(0, deps.clock.now().getTime() - at.getTime()) / 1000 : 0;
      return outbox
        ? [
            [{ stage: "dispatch" }, computeAge(outbox.undispatched_at)],
            [{ stage: "deliver" }, computeAge(outbox.undelivered_at)],
          ]
        : [];
    },
  );
  addOne("floe_tail_lag_seconds", "How long the oldest open transaction holds back the streams of events.", () =>
    readInTime(measureTailLag(deps.db)),
  );
  addOne("floe_money_held", "Sellers whose money is held because their books break a rule.", () =>
    readInTime(countHeldMoney(deps.db)),
  );
  add("floe_restores", "Restores of the database: all that were found, and those with charges to settle.", async () => {
    const found = await readInTime(countRestores(deps.db));
    return found
      ? [
          [{ state: "found" }, found.found],
          [{ state: "open" }, found.open],
        ]
      : [];
  });
  addOne("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  addOne("process_cpu_seconds_total", "CPU time of user and system.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  addOne("process_start_time_seconds", "When the process started.", () => performance.timeOrigin / 1000);
  return () => {
    delay.disable();
    registry.remove(gauges);
  };
}

/** Undefined while the database does not answer: then the other metrics still do. */
async function readInTime<T>(reading: Promise<T>): Promise<T | undefined> {
  const late = new Promise<undefined>((resolve) => setTimeout(resolve, scrapeMsMax, undefined).unref());
  return Promise.race([reading.catch(() => undefined), late]);
}

async function countDeadLetters({ db }: Deps): Promise<number | undefined> {
  const counted = db.select({ count: sql<number>`count(*)::int` }).from(failedWork).where(isDeadLetter);
  const rows = await readInTime(counted.then((found) => found));
  return rows?.[0]?.count;
}

/** The table is of a later context, so its name stands in the text. */
async function countHeldMoney(db: Database): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`held.count` })
    .from(sql`(select count(*)::int as count from organization where money_held_at is not null) as held`);
  return row?.count ?? 0;
}

async function countRestores(db: Database): Promise<{ found: number; open: number } | undefined> {
  const [row] = await db
    .select({
      found: sql<number>`count(*)::int`,
      open: sql<number>`(count(*) filter (where ${restores.settled_at} is null))::int`,
    })
    .from(restores);
  return row;
}
