import { AsyncLocalStorage } from "node:async_hooks";
import postgres, { type Sql } from "postgres";
import { awaitStatement, awaitWithin, getHeavyWork, startStatement } from "../jobs/heavy-work.ts";
import { unpreparedPlan } from "./unprepared.ts";
import { ConnectionLostError } from "./unreachable.ts";

/** A client of one connection, in use by one asker at a time. */
type Connection = {
  sql: Sql;
  statementTimeoutMs: number;
  isGone: boolean;
  isCancelled: boolean;
  isHeavy: boolean;
  prepared: Set<string>;
};
/** A statement of the driver; it is sent once it is awaited. */
type Query<T> = PromiseLike<T> & { canceller?: ((query: Query<T>) => Promise<unknown>) | null };
type Ask = <T>(query: (connection: Connection) => PromiseLike<T>, text: string) => Promise<T>;

const connectSecondsMax = 10;
const closeSecondsMax = 5;
/** What a connection keeps prepared, here and in the database: as many statements, none longer than this. */
const preparedMax = 1_000;
const preparedCharactersMax = 16_000;

/** Statements that share a connection: which one, once the first has it, and how many of them are still to be answered. */
type Bundle = { connection: Connection | Promise<Connection> | undefined; open: number };
const bundles = new AsyncLocalStorage<Bundle>();

/**
 * Ask these at once, outside of a transaction over one connection: the second is sent without waiting for what the first
 * is answered, mostly in the same packet. Each is a transaction of its own, as ever. For what belongs together and is quick: the
 * second waits where the first takes long.
 */
export const queryTogether = <T extends readonly unknown[]>(
  ask: () => { readonly [K in keyof T]: PromiseLike<T[K]> },
): Promise<T> => bundles.run({ connection: undefined, open: 0 }, () => Promise.all(ask())) as Promise<T>;

/** One statement. A connection that fails otherwise than by the database's word, or by its last word, is not used again. */
async function run<T>(connection: Connection, query: (connection: Connection) => PromiseLike<T>): Promise<T> {
  try {
    const work = getHeavyWork();
    if (work) await startStatement(work);
    const statement: Query<T> = query(connection);
    const cancel = () => {
      // Should the cancellation come late, it would meet the statement of somebody else.
      connection.isCancelled = true;
      connection.isGone = true;
      statement.canceller?.(statement).catch(() => {});
    };
    return await (work
      ? awaitStatement(work, statement, cancel)
      : awaitWithin(connection.statementTimeoutMs, statement, cancel));
  } catch (error) {
    if (!(error instanceof postgres.PostgresError && error.severity === "ERROR")) connection.isGone = true;
    throw error;
  }
}

/**
 * Whether the connection keeps the statement, so that it is parsed and planned once and needs no first question about its
 * types. Inserts of many rows have a text for each number of rows, and are not worth the room.
 */
function isKept({ prepared }: Connection, text: string): boolean {
  if (prepared.has(text)) return true;
  if (text.length > preparedCharactersMax || prepared.size >= preparedMax) return false;
  if (text.includes(unpreparedPlan)) return false;
  prepared.add(text);
  return true;
}

/** What drizzle takes of a client: `unsafe`, whose rows are asked for as arrays before it runs. */
const unsafeOf =
  (ask: Ask): Sql["unsafe"] =>
  (text: string, values: Parameters<Sql["unsafe"]>[1] = []) => {
    let asArrays = false;
    const result = Promise.resolve().then(() =>
      ask<unknown>((connection) => {
        const prepare = values.length > 0 && isKept(connection, text);
        const query = connection.sql.unsafe(text, values, { prepare });
        return asArrays ? query.values() : query;
      }, text),
    );
    const pending = Object.assign(result, {
      values: () => {
        asArrays = true;
        return result;
      },
    });
    return pending as never;
  };

/** How many connections there are at most, and how long each statement may take. */
export type PoolLimits = { connections: number; statementTimeoutMs: number };

/**
 * Connections to PostgreSQL, as one client for drizzle. The driver's own pool writes to a connection that has ended under a
 * transaction, which ends the process, or sends what was left of the transaction over another, outside of it. Here each
 * connection has a client of its own, which is thrown away once its connection has ended, and a transaction that has lost its
 * connection asks nothing more.
 */
export function openPool(url: string, { connections: max, statementTimeoutMs }: PoolLimits): Sql {
  const free: Connection[] = [];
  // Heavy work takes half of the connections at most: buyers find one also while it goes on.
  const heavyMax = Math.max(1, max >> 1);
  let heavyCount = 0;
  const waitingHeavy: PromiseWithResolvers<Connection>[] = [];
  const waiting: PromiseWithResolvers<Connection>[] = [];
  const open = new Set<Connection>();
  let isOver = false;
  // Never connected: it has the options that drizzle sets, and the shape that it wants.
  const client = postgres(url);

  function connect(): Connection {
    const sql = postgres(url, {
      max: 1,
      connect_timeout: connectSecondsMax,
      // Else it would end connections by age, also under a transaction.
      max_lifetime: null,
      // Else each connection first asks for the types of arrays, whose failure nobody would hear of: it ends the process.
      fetch_types: false,
      onnotice: () => {},
      onclose: () => {
        connection.isGone = true;
      },
    });
    Object.assign(sql.options.parsers, client.options.parsers);
    Object.assign(sql.options.serializers, client.options.serializers);
    const state = { isGone: false, isCancelled: false, isHeavy: false };
    const connection: Connection = { sql, statementTimeoutMs, ...state, prepared: new Set() };
    open.add(connection);
    return connection;
  }
  function discard(connection: Connection): void {
    open.delete(connection);
    void connection.sql.end({ timeout: 0 });
  }
  function take(): Connection | Promise<Connection> {
    if (isOver) throw new ConnectionLostError("The connections to the database are closed.");
    const isHeavy = getHeavyWork() !== undefined;
    const turn = Promise.withResolvers<Connection>();
    if (isHeavy && heavyCount >= heavyMax) {
      waitingHeavy.push(turn);
      return turn.promise;
    }
    for (let one = free.pop(); one; one = free.pop()) {
      if (!one.isGone) return reserve(one, isHeavy);
      discard(one);
    }
    if (open.size < max) return reserve(connect(), isHeavy);
    (isHeavy ? waitingHeavy : waiting).push(turn);
    return turn.promise;
  }
  function reserve(connection: Connection, isHeavy: boolean): Connection {
    connection.isHeavy = isHeavy;
    if (isHeavy) heavyCount += 1;
    return connection;
  }
  function give(connection: Connection): void {
    if (connection.isHeavy) heavyCount -= 1;
    if (connection.isGone) discard(connection);
    const isHeavy = waiting.length === 0 && heavyCount < heavyMax;
    const next = isHeavy ? waitingHeavy.shift() : waiting.shift();
    if (next) next.resolve(reserve(connection.isGone ? connect() : connection, isHeavy));
    else if (!connection.isGone) free.push(connection);
  }

  async function begin<T>(work: (client: object) => Promise<T>): Promise<T> {
    const connection = await take();
    let begun: Promise<unknown> | undefined;
    let last: Promise<unknown> = Promise.resolve();
    let isEnded = false;
    let savepoints = 0;
    const send = <T>(query: (connection: Connection) => PromiseLike<T>): Promise<T> => {
      if (isEnded) throw new Error("A statement came after the end of its transaction.");
      if (connection.isGone) throw new ConnectionLostError("The connection of the transaction has ended.");
      return run(connection, query);
    };
    // One statement after the other, so that none waits in the driver for a connection that may be another by then.
    const ask: Ask = (query, text) => {
      const result = last.then(async () => {
        if (begun) return send(query);
        begun = send(({ sql }) => sql.unsafe("begin"));
        // Were the beginning refused, what was sent behind it would be done outside of any transaction. What only reads may be, and
        // where the connection keeps it, it is sent at once.
        if (!(text.startsWith("select ") && connection.prepared.has(text))) await begun;
        const [answer] = await Promise.all([send(query), begun]);
        return answer;
      });
      last = result.catch(() => {});
      return result;
    };
    const control = (statement: string) => ask(({ sql }) => sql.unsafe(statement), statement);
    const unsafe = unsafeOf(ask);
    async function savepoint<S>(inner: (client: object) => Promise<S>): Promise<S> {
      savepoints += 1;
      const name = `s${savepoints}`;
      await control(`savepoint ${name}`);
      try {
        const result = await inner({ unsafe, savepoint });
        await control(`release savepoint ${name}`);
        return result;
      } catch (error) {
        if (!connection.isGone) await control(`rollback to savepoint ${name}`);
        throw error;
      }
    }
    try {
      const result = await work({ unsafe, savepoint });
      await last;
      if (!begun) return result;
      // PostgreSQL answers the commit of a transaction in which a statement has failed by undoing it, without an error.
      const { command } = await control("commit");
      if (command !== "COMMIT") throw new Error("A transaction was undone: one of its statements had failed.");
      return result;
    } catch (error) {
      if (connection.isCancelled) throw error;
      if (connection.isGone)
        throw new ConnectionLostError("The connection of a transaction has ended.", { cause: error });
      // Where nothing can be undone the connection is not used again; its end undoes everything.
      if (begun)
        await control("rollback").catch(() => {
          connection.isGone = true;
        });
      throw error;
    } finally {
      isEnded = true;
      give(connection);
    }
  }

  const ask: Ask = async (query) => {
    const bundle = bundles.getStore() ?? { connection: undefined, open: 0 };
    bundle.connection ??= take();
    bundle.open += 1;
    const connection = await bundle.connection;
    try {
      return await run(connection, query);
    } finally {
      bundle.open -= 1;
      if (bundle.open === 0) {
        bundle.connection = undefined;
        give(connection);
      }
    }
  };

  async function end(): Promise<void> {
    isOver = true;
    for (const turn of [...waiting, ...waitingHeavy])
      turn.reject(new ConnectionLostError("The connections to the database are closed."));
    await Promise.all([...open].map(({ sql }) => sql.end({ timeout: closeSecondsMax })));
  }
  return Object.assign(client, { unsafe: unsafeOf(ask), begin, end });
}
