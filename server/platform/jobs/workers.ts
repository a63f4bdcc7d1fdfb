import { and, lt, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { getServerClock, withSellerClock } from "../clock.ts";
import type { Database, Deps } from "../context.ts";
import { type DueContext, type DueQuery, type DueRow, deleteFailures, findDue, scheduleRetries } from "../db/due.ts";
import type { RowKey } from "../db/rows.ts";
import { failedWork } from "../db/tables.ts";
import { ConnectionLostError, findOutage } from "../db/unreachable.ts";
import { jobSearches, jobs, recordLateness } from "../telemetry/metrics.ts";
import { runInSpan } from "../telemetry/spans.ts";
import { DeadlineError, runWithDeadline, runWithStatementLimit } from "./deadline.ts";
import type { StoppableWorker } from "./drain.ts";

/** A worker processes one kind of due work. Each worker has a loop of its own, so a slow one does not delay the others. */
export type Worker = RowWorker | BulkWorker;
type Named = {
  name: string;
  /** The pause between two polls that find nothing due. */
  pollIntervalMs: number;
};

/** A worker that processes rows independently: a row that fails does not block the others. */
export type RowWorker = Named & {
  due: DueQuery | ((deps: DueContext) => DueQuery);
  /** How many batches run at the same time (default 1), and how many of these may belong to one seller (default: all). */
  concurrency?: number;
  maxPerTenant?: number;
  /** The maximum rows of one seller in a batch (default 1). If a batch fails, its rows are retried one by one. */
  batchSize?: number;
  /** A batch that takes longer is aborted with `DeadlineError` and retried later (default 60 s). */
  timeoutMs?: number;
  /** How long an aborted batch may take to end before its rows may be claimed again (default 30 s). */
  graceMs?: number;
  /** The batch size while requests are served and a seller's whole share is due; such batches run in turn (`throttle.ts`). */
  yieldBatchSize?: number;
  /** A processed row may be due again at once, because it represents a queue. */
  isRepeated?: true;
  /** Whether each row is processed at its own due time during time travel (`withRowTime`), in order of the due times. */
  atRowTime?: true;
  /**
   * Process due rows by the seller's clock. It must read the rows again, because another server may have processed them.
   * After a success the rows are no longer due. Rows without a seller have an empty `organization_id`.
   */
  run(deps: Deps, rows: readonly [DueWorkRow, ...DueWorkRow[]]): Promise<void>;
};

/** A row to process. `at` is set if the row is processed at another time than the seller's current time. */
export type DueWorkRow = RowKey & { at?: Date };

/** The dependencies with the clock set to the row's own time, if it has one. */
export const withRowTime = (deps: Deps, { at }: DueWorkRow): Deps =>
  at ? { ...deps, clock: { now: () => at, server: getServerClock(deps.clock) } } : deps;

/** The batch size of rows that are processed at their own time, during time travel. */
export const timeTravelBatchSize = 1000;

/** A worker that processes up to `limit` rows in one statement. `runBatch` returns the number of rows. */
export type BulkWorker = Named & { limit: number; runBatch(deps: Deps, limit: number): Promise<number> };

const timeoutMsStandard = 60_000;
const graceMsStandard = 30_000;
/** Limits one run of a worker that processes rows in bulk. */
const bulkTimeoutMs = 600_000;
/** How many times as long as a statement of a request a search for due rows may take. */
export const searchPatience = 2;
const backoffMostMs = 60_000;
/** How often a worker polls while the process is quiet; and one for whose rows a search looks, or that has none. */
const [quietEveryMs, quietSearchedMs] = [5000, 60_000];
/** How long running batches may take to finish when a worker is stopped alone. */
const stopMs = 5000;

/** A table of sellers' rows that `createSyncWorker` polls by one of its columns. */
type Followed = PgTable & { id: PgColumn; organization_id: PgColumn };

/**
 * Create a worker that asks an external service for the state of rows at the time in column `at`. `take` postpones the row
 * first, so that no other server asks at the same time. It returns undefined if another server took the row.
 */
export const createSyncWorker = <R>(
  name: string,
  table: Followed,
  at: PgColumn,
  again_ms: number,
  take: (db: Database, key: RowKey, now: Date, again: Date) => Promise<R | undefined>,
  follow: (deps: Deps, row: R) => Promise<void>,
  more: Pick<DueQuery, "movesMoney"> = {},
): Worker => ({
  name,
  pollIntervalMs: 1000,
  due: { table, id: table.id, organization_id: table.organization_id, at, where: sql`${at} is not null`, ...more },
  concurrency: 10,
  maxPerTenant: 4,
  async run(deps, [key]) {
    const now = deps.clock.now();
    const row = await take(deps.db, key, now, new Date(now.getTime() + again_ms));
    if (row) await follow(deps, row);
  },
});

/** Create a worker that deletes rows no longer needed, at most 1000 in a statement. */
export const createCleanupWorker = (
  name: string,
  pollIntervalMs: number,
  table: PgTable,
  isOld: (now: Date) => SQL | undefined,
): Worker => ({
  name,
  pollIntervalMs,
  limit: 1000,
  runBatch: ({ db, clock }, limit) => deleteSome(db, table, isOld(clock.now()), limit),
});

async function deleteSome(db: Database, table: PgTable, where: SQL | undefined, limit: number): Promise<number> {
  const some = sql`array(select ctid from ${table} where ${where} limit ${limit} for update skip locked)`;
  const gone = await db
    .delete(table)
    .where(and(sql`ctid = any(${some})`, where))
    .returning({ one: sql`1` });
  return gone.length;
}

/**
 * Delete failures whose retry has been due for a week: the row was processed otherwise, or is deleted. Dead letters stay
 * until they are requeued.
 */
export const failureCleanup: Worker = createCleanupWorker("failed_work.forget", 10 * 60 * 1000, failedWork, (now) =>
  lt(failedWork.retry_at, new Date(now.getTime() - failureKeptMs)),
);
const failureKeptMs = 7 * 24 * 60 * 60 * 1000;

type Turn = "more" | "wait" | "none";
type Runner = {
  /** Poll for due rows, and start their batches. */
  turn(): Promise<Turn>;
  /** The running batches. */
  pieces: ReadonlySet<Promise<void>>;
  isFull(): boolean;
  /** Abort the running batches. */
  abort(): void;
  /** The number of rows started so far. */
  count(): number;
};

/**
 * Limits a run to the rows of one seller. With `since`, rows with `atRowTime` are processed at their due time, at `since` at
 * the earliest.
 */
type Walked = { only?: string | undefined; since?: Date | undefined };

function openRunner(deps: Deps, sweep: Worker, rest_ms: number, { only, since }: Walked = {}): Runner {
  const pieces = new Set<Promise<void>>();
  let count = 0;
  if (!("due" in sweep)) {
    const runTurn = async () => {
      const touched = await runWithDeadline(
        { timeoutMs: bulkTimeoutMs, graceMs: graceMsStandard, stopping: new AbortController().signal },
        () => sweep.runBatch(deps, sweep.limit),
      );
      count += touched;
      return touched >= sweep.limit ? "more" : "none";
    };
    return { turn: runTurn, pieces, isFull: () => false, abort: () => {}, count: () => count };
  }
  const { name, due, timeoutMs = timeoutMsStandard, graceMs = graceMsStandard, isRepeated = false, run } = sweep;
  const stopping = new AbortController();
  const givesWay = sweep.yieldBatchSize !== undefined && rest_ms > 0;
  const isDated = sweep.atRowTime === true && since !== undefined;
  const {
    concurrency = 1,
    maxPerTenant = concurrency,
    batchSize = 1,
  } = isDated ? { batchSize: timeTravelBatchSize } : sweep;
  const getDate = ({ due_at }: DueRow): { at?: Date } =>
    isDated && due_at ? { at: due_at < since ? since : due_at } : {};
  /** Rows being processed; rows just processed, with the time until which they are skipped; running batches per seller. */
  const working = new Set<string>();
  const resting = new Map<string, number>();
  const underWay = new Map<string, number>();
  /** Partitions in which a row is being processed. */
  const lanes = new Set<string>();
  let after = "";

  async function runTurn(): Promise<Turn> {
    const now = performance.now();
    for (const [id, until] of resting) if (until <= now) resting.delete(id);
    const busy = [...underWay].filter(([, count]) => count >= maxPerTenant).map(([seller]) => seller);
    const limit = (concurrency - pieces.size) * batchSize;
    const search = {
      name,
      limit,
      share: maxPerTenant * batchSize,
      after,
      busy,
      except: [...working, ...resting.keys()],
      taken: [...lanes],
      only,
    };
    const searchTimeoutMs = searchPatience * 1000 * deps.config.FLOE_DATABASE_STATEMENT_SECONDS;
    const rows = await runWithStatementLimit(searchTimeoutMs, () =>
      findDue(deps.db, deps.clock.now(), typeof due === "function" ? due(deps) : due, search),
    );
    recordLateness(name, findOldest(rows));
    const isBehind = after !== "";
    after = rows.length < limit ? "" : (rows.at(-1)?.organization_id ?? "");
    let isHeldBack = busy.length > 0 || lanes.size > 0;
    for (const [seller, own] of Map.groupBy(rows, (row) => row.organization_id)) {
      isHeldBack ||= own.length >= maxPerTenant * batchSize;
      const yields = givesWay && own.length >= Math.min(limit, maxPerTenant * batchSize);
      const begun = new Set(lanes);
      const free = own.filter(({ lane }) => {
        const isFree = lane === null || !begun.has(lane);
        if (lane !== null) begun.add(lane);
        return isFree;
      });
      isHeldBack ||= free.length < own.length;
      while (free.length > 0 && (seller === "" || (underWay.get(seller) ?? 0) < maxPerTenant))
        begin(seller, free.splice(0, getStep(yields)) as [DueRow, ...DueRow[]], yields);
    }
    isHeldBack ||= isRepeated && pieces.size > 0;
    if (rows.length >= limit || isBehind || (rows.length > 0 && isHeldBack)) return "more";
    return isHeldBack ? "wait" : "none";
  }

  const getStep = (yields: boolean): number =>
    yields && deps.jobs.throttle.hasRecentRequests() ? (sweep.yieldBatchSize ?? batchSize) : batchSize;

  function begin(seller: string, rows: [DueRow, ...DueRow[]], yields: boolean): void {
    count += rows.length;
    for (const { id, lane } of rows) {
      working.add(id);
      if (lane !== null) lanes.add(lane);
    }
    if (seller !== "") underWay.set(seller, (underWay.get(seller) ?? 0) + 1);
    const piece = (yields ? processInTurn(rows) : handle(rows)).finally(() => {
      pieces.delete(piece);
      const others = (underWay.get(seller) ?? 1) - 1;
      if (others === 0) underWay.delete(seller);
      else underWay.set(seller, others);
      for (const { id, lane } of rows) {
        working.delete(id);
        if (lane !== null) lanes.delete(lane);
        if (rest_ms > 0 && !isRepeated) resting.set(id, performance.now() + rest_ms);
      }
    });
    pieces.add(piece);
    deps.jobs.begin(seller, piece);
  }

  async function processInTurn(rows: [DueRow, ...DueRow[]]): Promise<void> {
    const end = await deps.jobs.throttle.acquireSlot();
    await handle(rows).finally(end);
  }

  /** How long the oldest of these rows has been due, by its seller's clock. */
  function findOldest(rows: readonly DueRow[]): number {
    const now = deps.clock.now().getTime();
    return Math.max(0, ...rows.map((row) => (row.due_at ? now + row.clock_offset_ms - row.due_at.getTime() : 0)));
  }

  async function handle(rows: [DueRow, ...DueRow[]]): Promise<void> {
    const error = await attempt(rows);
    if (error === undefined) return jobs.add({ worker: name, outcome: "done" }, rows.length);
    for (const row of rows) {
      const own = rows.length === 1 || error instanceof DeadlineError ? error : await attempt([row]);
      if (own === undefined) {
        jobs.add({ worker: name, outcome: "done" });
        continue;
      }
      try {
        const outage = findOutage(own);
        jobs.add({ worker: name, outcome: outage ? "outage" : "failed" });
        if (outage) deps.log.warn({ err: own, work: name }, outage.message);
        else await scheduleRetries(deps, name, row, own);
      } catch (fault) {
        deps.log.error({ err: own, work: name, id: row.id, fault: String(fault) }, "What failed could not be put off.");
      }
    }
  }

  /** Returns the error with which the batch failed, or undefined. */
  async function attempt(rows: [DueRow, ...DueRow[]]): Promise<unknown> {
    const [seller] = rows;
    const theirs = withSellerClock(deps, seller);
    const dated = rows.map((row): DueWorkRow => ({ ...row, ...getDate(row) })) as [DueWorkRow, ...DueWorkRow[]];
    try {
      await runInSpan(`job ${name}`, "consumer", { "floe.worker": name, "floe.rows": rows.length }, () =>
        runWithDeadline({ timeoutMs, graceMs, stopping: stopping.signal }, () => run(theirs, dated)),
      );
      const failed = rows.filter(({ failing_since }) => failing_since !== null).map(({ id }) => id);
      if (failed.length > 0) await deleteFailures(deps.db, name, failed);
      return undefined;
    } catch (error) {
      return error ?? new Error("It failed without saying why.");
    }
  }
  return {
    turn: runTurn,
    pieces,
    isFull: () => pieces.size >= concurrency,
    abort: () => stopping.abort(new ConnectionLostError("The server stops.")),
    count: () => count,
  };
}

/** Run a worker until it is stopped. It polls at its interval, and immediately when it is woken. */
export function startWorkerLoop(deps: Deps, sweep: Worker): StoppableWorker {
  const runner = openRunner(deps, sweep, sweep.pollIntervalMs);
  let stopped = false;
  let failures = 0;
  let isWoken = false;
  let wake = () => {};
  let wakeWorker = () => {};
  const unsubscribe = deps.jobs.onWake(sweep.name, () => {
    isWoken = true;
    wake();
  });
  const ignore = deps.jobs.onActivity(() => wakeWorker());
  const releaseThread = async (ms: number, untilPiece: boolean) => {
    if (isWoken || stopped) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = setTimeout(resolve, ms);
    await Promise.race([promise, ...(untilPiece ? runner.pieces : [])]);
    clearTimeout(timer);
  };
  const { name, pollIntervalMs } = sweep;
  const quietMs = Math.max(quietEveryMs, "due" in sweep ? 0 : Math.min(4 * pollIntervalMs, quietSearchedMs));
  const getQuietMs = () => Math.max(pollIntervalMs, deps.jobs.isSearched(name) ? quietSearchedMs : quietMs);
  const waitUntilNext = async (untilPiece: boolean) => {
    let isRoused = !deps.jobs.isQuiet();
    if (!isRoused) {
      wakeWorker = () => {
        isRoused = true;
        wake();
      };
      await releaseThread(getQuietMs(), untilPiece);
      wakeWorker = () => {};
    }
    if (isRoused) await releaseThread(pollIntervalMs, untilPiece);
  };
  async function runLoop() {
    await releaseThread(sweep.pollIntervalMs, false);
    while (!stopped) {
      isWoken = false;
      try {
        const isHeld = runner.isFull() || deps.jobs.getClock().state === "wrong";
        const turn = isHeld ? "wait" : await runner.turn();
        failures = 0;
        jobSearches.add({ worker: sweep.name, outcome: "done" });
        if (turn !== "more") await waitUntilNext(turn === "wait");
      } catch (error) {
        if (stopped) return;
        jobSearches.add({ worker: sweep.name, outcome: "failed" });
        deps.log.error(
          { err: error, work: sweep.name },
          "What is due could not be looked for; it will be tried again.",
        );
        failures += 1;
        await releaseThread(Math.max(sweep.pollIntervalMs, Math.min(1000 * 2 ** failures, backoffMostMs)), false);
      }
    }
  }
  const running = runLoop();
  return {
    async stop(graceMs = stopMs) {
      stopped = true;
      unsubscribe();
      ignore();
      wake();
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, graceMs);
      await Promise.race([promise, running.then(() => Promise.all(runner.pieces))]);
      clearTimeout(timer);
      runner.abort();
    },
  };
}

/**
 * Run the workers until nothing is due or `isOver` returns true, for all sellers or for one. Returns the number of rows
 * processed.
 */
export async function runWorkers(
  deps: Deps,
  sweeps: readonly Worker[],
  { isOver = () => false, ...walked }: Walked & { isOver?: () => boolean } = {},
): Promise<number> {
  let total = 0;
  for (const sweep of sweeps) {
    const runner = openRunner(deps, sweep, 0, walked);
    for (let turn: Turn = "more"; (turn !== "none" || runner.pieces.size > 0) && !isOver(); ) {
      turn = await runner.turn();
      await Promise.all(runner.pieces);
    }
    total += runner.count();
  }
  return total;
}
