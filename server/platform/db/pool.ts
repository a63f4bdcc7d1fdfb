import { AsyncLocalStorage } from "node:async_hooks";
import postgres, { type Sql } from "postgres";
import { getDeadline, runWithoutDeadline } from "../jobs/deadline.ts";
import { awaitStatement, awaitWithin, getHeavyWork, startStatement } from "../jobs/heavy-work.ts";
import { runStatementSpan } from "../telemetry/spans.ts";
import { getTrace } from "../telemetry/trace.ts";
import { runAsTransaction } from "./open-transaction.ts";
import { unpreparedPlan } from "./unprepared.ts";
import { ConnectionLostError, isConnectionLost, PoolBusyError } from "./unreachable.ts";

/** A client with one connection, used by one caller at a time. */
type Connection = {
  sql: Sql;
  statementTimeoutMs: number;
  /** When the database last answered over it, or when it was opened. */
  answeredAt: number;
  isGone: boolean;
  isCancelled: boolean;
  isHeavy: boolean;
  prepared: Set<string>;
  /** Report that the database has not even answered a cancellation. */
  reportSilence(since: number): void;
  reportOutcome(error?: unknown): void;
};
/** A statement of the driver; it is sent when it is awaited. */
type Query<T> = PromiseLike<T> & { canceller?: ((query: Query<T>) => Promise<unknown>) | null };
type Ask = <T>(query: (connection: Connection) => PromiseLike<T>, text: string) => Promise<T>;

const connectSecondsMax = 4;
const closeSecondsMax = 5;
/** When the system begins to ask whether the other end of an idle connection is still there. */
const keepAliveSeconds = 10;
/** How long heavy work waits for a connection. */
const heavyWaitMs = 60_000;
/** If all connections are taken for this long and none is given back, the process does not recover by itself. */
const stuckMs = 60_000;
/** How long the database may take to end a statement that is canceled. After that, the connection is destroyed. */
const cancelMsMax = 2_000;
/** How long a transaction may wait for a lock, and how long the database keeps one open that sends no statement. */
const lockMsMax = 60_000;
const idleMsMax = 60_000;
/** Limits for prepared statements of a connection: their number, and the characters of each text. */
const preparedMax = 1_000;
const preparedCharactersMax = 16_000;

/**
 * Statements that share a connection: the connection, once the first statement has it, and the number of pending statements.
 */
type Bundle = { connection: Connection | Promise<Connection> | undefined; open: number };
const bundles = new AsyncLocalStorage<Bundle>();

/**
 * Run statements at the same time over one connection, outside of a transaction. The second is sent without waiting for the
 * first result, mostly in the same packet. Each statement is a transaction of its own. Use it for fast statements only: the
 * second waits while the first runs.
 */
export const queryTogether = <T extends readonly unknown[]>(
  ask: () => { readonly [K in keyof T]: PromiseLike<T[K]> },
): Promise<T> => bundles.run({ connection: undefined, open: 0 }, () => Promise.all(ask())) as Promise<T>;

/** Run one statement. After any error other than a plain `ERROR` of PostgreSQL, the connection is not used again. */
async function run<T>(connection: Connection, query: (connection: Connection) => PromiseLike<T>): Promise<T> {
  let destruction: NodeJS.Timeout | undefined;
  try {
    const work = getHeavyWork();
    if (work) await startStatement(work);
    const deadline = getDeadline();
    deadline?.signal.throwIfAborted();
    const sentAt = performance.now();
    const statement: Query<T> = query(connection);
    const cancel = () => {
      // A late cancellation could hit the statement of another caller, so the connection is not used again.
      connection.isCancelled = true;
      connection.isGone = true;
      statement.canceller?.(statement).catch(() => {});
      destruction ??= setTimeout(() => {
        void connection.sql.end({ timeout: 0 });
        connection.reportSilence(sentAt);
      }, cancelMsMax);
    };
    const result = await (work
      ? awaitStatement(work, statement, cancel)
      : awaitWithin(deadline?.timeoutMs ?? connection.statementTimeoutMs, statement, cancel));
    connection.answeredAt = performance.now();
    connection.reportOutcome();
    return result;
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.severity === "ERROR")
      connection.answeredAt = performance.now();
    else connection.isGone = true;
    connection.reportOutcome(error);
    throw error;
  } finally {
    clearTimeout(destruction);
  }
}

/**
 * The statement that begins a transaction, with the limits that the database itself keeps: they end a transaction even if
 * this process has stopped responding. A job's statements end with the job, heavy work's after their own limit.
 */
function buildBegin({ statementTimeoutMs }: Connection): string {
  const heavyMs = getHeavyWork()?.statementTimeoutMs;
  const jobMs = getDeadline()?.timeoutMs;
  const statementMs = heavyMs ?? jobMs ?? statementTimeoutMs;
  const trace = getTrace();
  return [
    // Who reads the log of the database finds the request. Both texts have a plain form (`trace.ts`).
    trace ? `/*request_id='${trace.request_id}',traceparent='${trace.traceparent}'*/ begin` : "begin",
    `set local statement_timeout = ${statementMs + cancelMsMax}`,
    `set local lock_timeout = ${Math.min(statementMs, lockMsMax)}`,
    `set local idle_in_transaction_session_timeout = ${heavyMs === undefined ? idleMsMax : heavyMs + idleMsMax}`,
  ].join("; ");
}

/**
 * Whether the connection prepares the statement, so that it is parsed and planned once and needs no round trip for its
 * types. Inserts of many rows have a different text for each number of rows, so preparing them does not pay.
 */
function isKept({ prepared }: Connection, text: string): boolean {
  if (prepared.has(text)) return true;
  if (text.length > preparedCharactersMax || prepared.size >= preparedMax) return false;
  if (text.includes(unpreparedPlan)) return false;
  prepared.add(text);
  return true;
}

/**
 * The part of a client that drizzle uses: `unsafe`. Drizzle may call `values` on the result, for rows as arrays, before the
 * statement is sent.
 */
const getUnsafe =
  (ask: Ask): Sql["unsafe"] =>
  (text: string, values: Parameters<Sql["unsafe"]>[1] = []) => {
    let asArrays = false;
    const result = Promise.resolve().then(() =>
      runStatementSpan(text, () =>
        ask<unknown>((connection) => {
          const prepare = values.length > 0 && isKept(connection, text);
          const query = connection.sql.unsafe(text, values, { prepare });
          return asArrays ? query.values() : query;
        }, text),
      ),
    );
    const pending = Object.assign(result, {
      values: () => {
        asArrays = true;
        return result;
      },
    });
    return pending as never;
  };

export type PoolLimits = {
  connections: number;
  /** Limits a statement that belongs to no job and no heavy work. */
  statementTimeoutMs: number;
  /** How long such a statement waits for a free connection. */
  waitTimeoutMs: number;
  /** The name of this process in `pg_stat_activity`. */
  applicationName: string;
  /** Receives the outcome of each statement: undefined if the database has answered, or the error of a lost connection. */
  onOutcome?: (error?: unknown) => void;
};
export type PoolUse = { open: number; used: number; waiting: number; max: number; isStuck: boolean };
export type Pool = Sql & { getUse(): PoolUse };

/** How the connections of a database are used; undefined for the embedded one. */
export const getPoolUse = (db: object): PoolUse | undefined => (db as { $client?: Partial<Pool> }).$client?.getUse?.();

/**
 * Open a connection pool to PostgreSQL, as one client for drizzle. If a connection ends during a transaction, the driver's
 * own pool crashes the process or sends the rest over another connection. Here each connection has a client of its own,
 * which is discarded when the connection ends. A transaction that has lost its connection sends no more statements.
 */
export function openPool(url: string, limits: PoolLimits): Pool {
  const { connections: max, statementTimeoutMs, onOutcome = () => {} } = limits;
  const free: Connection[] = [];
  // Heavy work uses at most half of the connections, so that checkouts get one while it runs.
  const heavyMax = Math.max(1, max >> 1);
  let heavyCount = 0;
  const waitingHeavy: PromiseWithResolvers<Connection>[] = [];
  const waiting: PromiseWithResolvers<Connection>[] = [];
  const open = new Set<Connection>();
  let isOver = false;
  let givenBackAt = performance.now();
  // This client never connects: it provides the options that drizzle sets, and the shape that drizzle expects.
  const client = postgres(url);

  function connect(): Connection {
    const sql = postgres(url, {
      max: 1,
      connect_timeout: connectSecondsMax,
      keep_alive: keepAliveSeconds,
      connection: { application_name: limits.applicationName },
      // Otherwise the driver would end old connections, even during a transaction.
      max_lifetime: null,
      // Otherwise each connection first loads the array types; a failure of that query is unhandled and ends the process.
      fetch_types: false,
      onnotice: () => {},
      onclose: () => {
        connection.isGone = true;
      },
    });
    Object.assign(sql.options.parsers, client.options.parsers);
    Object.assign(sql.options.serializers, client.options.serializers);
    const connection: Connection = {
      sql,
      statementTimeoutMs,
      answeredAt: performance.now(),
      isGone: false,
      isCancelled: false,
      isHeavy: false,
      prepared: new Set(),
      reportSilence: endSilent,
      reportOutcome: (error) => {
        if (error === undefined) onOutcome();
        else if (!isOver && isConnectionLost(error)) onOutcome(error);
      },
    };
    open.add(connection);
    return connection;
  }
  /**
   * One connection is silent, so the database may have failed over behind a proxy. End all that have not been answered since:
   * otherwise each of them would cost a request its time limit.
   */
  function endSilent(since: number): void {
    for (const one of open) {
      if (one.answeredAt >= since) continue;
      one.isGone = true;
      void one.sql.end({ timeout: 0 });
    }
  }
  function discard(connection: Connection): void {
    open.delete(connection);
    void connection.sql.end({ timeout: 0 });
  }
  function acquireConnection(): Connection | Promise<Connection> {
    if (isOver) throw new ConnectionLostError("The connections to the database are closed.");
    const work = getHeavyWork();
    const isHeavy = work !== undefined;
    const waitMs = work ? heavyWaitMs : (getDeadline()?.timeoutMs ?? limits.waitTimeoutMs);
    if (isHeavy && heavyCount >= heavyMax) return waitForTurn(waitingHeavy, waitMs);
    for (let one = free.pop(); one; one = free.pop()) {
      if (!one.isGone) return reserve(one, isHeavy);
      discard(one);
    }
    if (open.size < max) return reserve(connect(), isHeavy);
    return waitForTurn(isHeavy ? waitingHeavy : waiting, waitMs);
  }
  async function waitForTurn(queue: PromiseWithResolvers<Connection>[], waitMs: number): Promise<Connection> {
    const turn = Promise.withResolvers<Connection>();
    queue.push(turn);
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(turn), 1);
      turn.reject(new PoolBusyError(`No connection to the database was free within ${waitMs / 1000} s.`));
    }, waitMs);
    return turn.promise.finally(() => clearTimeout(timer));
  }
  function reserve(connection: Connection, isHeavy: boolean): Connection {
    connection.isHeavy = isHeavy;
    if (isHeavy) heavyCount += 1;
    return connection;
  }
  function releaseConnection(connection: Connection): void {
    givenBackAt = performance.now();
    if (connection.isHeavy) heavyCount -= 1;
    if (connection.isGone) discard(connection);
    const isHeavy = waiting.length === 0 && heavyCount < heavyMax;
    const next = isHeavy ? waitingHeavy.shift() : waiting.shift();
    if (next) next.resolve(reserve(connection.isGone ? connect() : connection, isHeavy));
    else if (!connection.isGone) free.push(connection);
  }

  async function begin<T>(work: (client: object) => Promise<T>): Promise<T> {
    const connection = await acquireConnection();
    let begun: Promise<unknown> | undefined;
    let last: Promise<unknown> = Promise.resolve();
    let isEnded = false;
    let savepoints = 0;
    const send = <T>(query: (connection: Connection) => PromiseLike<T>): Promise<T> => {
      if (isEnded) throw new Error("A statement came after the end of its transaction.");
      if (connection.isGone) throw new ConnectionLostError("The connection of the transaction has ended.");
      return run(connection, query);
    };
    // Send statements one after the other, so that none waits in the driver for a connection that may have changed by then.
    const runQuery: Ask = (query, text) => {
      const result = last.then(async () => {
        if (begun) return send(query);
        begun = send(({ sql }) => sql.unsafe(buildBegin(connection)));
        // If `begin` failed, a statement sent right behind it would run outside of a transaction. That is safe for reads, so
        // a prepared `select` is sent immediately.
        if (!(text.startsWith("select ") && connection.prepared.has(text))) await begun;
        const [answer] = await Promise.all([send(query), begun]);
        return answer;
      });
      last = result.catch(() => {});
      return result;
    };
    const control = (statement: string) => runQuery(({ sql }) => sql.unsafe(statement), statement);
    const unsafe = getUnsafe(runQuery);
    async function createSavepoint<S>(inner: (client: object) => Promise<S>): Promise<S> {
      savepoints += 1;
      const name = `s${savepoints}`;
      await control(`savepoint ${name}`);
      try {
        const result = await inner({ unsafe, savepoint: createSavepoint });
        await control(`release savepoint ${name}`);
        return result;
      } catch (error) {
        if (!connection.isGone) await control(`rollback to savepoint ${name}`);
        throw error;
      }
    }
    try {
      const result = await work({ unsafe, savepoint: createSavepoint });
      await last;
      if (!begun) return result;
      // PostgreSQL rolls back the commit of a transaction with a failed statement, and reports no error.
      const { command } = await control("commit");
      if (command !== "COMMIT") throw new Error("A transaction was undone: one of its statements had failed.");
      return result;
    } catch (error) {
      if (connection.isCancelled) {
        // The statement may hold locks until the database has ended it.
        await last;
        if (!isConnectionLost(error)) throw error;
      }
      if (connection.isGone)
        throw new ConnectionLostError("The connection of a transaction has ended.", { cause: error });
      // If the rollback fails, the connection is not used again; its end rolls back the transaction.
      if (begun)
        await runWithoutDeadline(() => control("rollback")).catch(() => {
          connection.isGone = true;
        });
      throw error;
    } finally {
      isEnded = true;
      releaseConnection(connection);
    }
  }

  const beginMarked = <T>(work: (client: object) => Promise<T>): Promise<T> => runAsTransaction(() => begin(work));

  const runQuery: Ask = async (query) => {
    const bundle = bundles.getStore() ?? { connection: undefined, open: 0 };
    bundle.connection ??= acquireConnection();
    bundle.open += 1;
    const connection = await bundle.connection;
    try {
      return await run(connection, query);
    } finally {
      bundle.open -= 1;
      if (bundle.open === 0) {
        bundle.connection = undefined;
        releaseConnection(connection);
      }
    }
  };

  async function end(): Promise<void> {
    isOver = true;
    for (const turn of [...waiting, ...waitingHeavy])
      turn.reject(new ConnectionLostError("The connections to the database are closed."));
    await Promise.all([...open].map(({ sql }) => sql.end({ timeout: closeSecondsMax })));
  }
  function getUse(): PoolUse {
    const waitingCount = waiting.length + waitingHeavy.length;
    const used = open.size - free.length;
    const isStuck = used >= max && performance.now() - givenBackAt > stuckMs;
    return { open: open.size, used, waiting: waitingCount, max, isStuck };
  }
  return Object.assign(client, { unsafe: getUnsafe(runQuery), begin: beginMarked, end, getUse });
}
