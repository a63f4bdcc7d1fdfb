import { EventEmitter } from "node:events";
import { sql } from "drizzle-orm";
import { type ConstructorOptions, fromDrizzle, PgBoss } from "pg-boss";
import type { Job, Tx } from "./transaction.ts";

/** Every job and its payload. A job is a hint: its handler looks at the rows and checks that there is still work. */
export type JobPayloads = {
  "orders.settle_free": { organization_id: string; order_id: string };
};
export type JobName = keyof JobPayloads;
/** What does each job; `D` is what it works with, which is of no interest here. */
export type Handlers<D> = { [N in JobName]: (deps: D, payload: JobPayloads[N]) => Promise<void> };

const names: readonly JobName[] = ["orders.settle_free"];
const poll_seconds = 2;
const retry_limit = 10;
const no_job = "00000000-0000-0000-0000-000000000000";

type Logging = { log: { warn(fields: object, text?: string): void } };

/** The only door to what is done later. */
export type Jobs = {
  /** Have a sweep look at once for what is due, when the transaction is committed; without it, it looks in a moment. */
  wake(tx: Tx, sweep: string): void;
  /** Answers how to hear it no longer. */
  onWake(sweep: string, look: () => void): () => void;
  /**
   * Note a job on the caller's transaction: it exists if and only if the change that asked for it does. Asking twice for the
   * same in one transaction is asking once.
   */
  send<N extends JobName>(tx: Tx, name: N, payload: JobPayloads[N]): Promise<void>;
  /** Write the jobs that were noted on a transaction. */
  write(tx: Tx, jobs: readonly Job[]): Promise<void>;
  /** Work until stopped. */
  work<D extends Logging>(deps: D, handlers: Handlers<D>): Promise<void>;
  /** Run what is waiting now, until nothing is; answers how many ran. For tests. */
  drain<D>(deps: D, handlers: Handlers<D>): Promise<number>;
  /** Whether the worker was started and has not been stopped. */
  working(): boolean;
  stop(): Promise<void>;
};

/** Start the queue on its own tables. `options` name the database (a connection string, or PGlite through its adapter). */
export async function openJobs(options: ConstructorOptions, onError: (error: Error) => void): Promise<Jobs> {
  const boss = new PgBoss({ ...options, schedule: false, useListenNotify: true, monitorVacuum: false, reindex: false });
  boss.on("error", onError);
  await boss.start();
  const known = new Set((await boss.getQueues()).map((queue) => queue.name));
  for (const name of names) {
    if (!known.has(name)) {
      await boss.createQueue(name, {
        retryLimit: retry_limit,
        retryBackoff: true,
        retryDelay: 1,
        notify: true,
        expireInSeconds: 120,
      });
    }
  }
  // Sending looks the queue up once, on the queue's own connection; inside a transaction of an embedded database that
  // look-up would wait for the very transaction that it is part of. So every queue is looked up now.
  for (const name of names) await boss.findJobs(name, { id: no_job });
  let working = false;
  const wakes = new EventEmitter();
  return {
    wake: (tx, sweep) => void tx.unit.afterCommit.push(() => void wakes.emit(sweep)),
    onWake(sweep, look) {
      wakes.on(sweep, look);
      return () => void wakes.off(sweep, look);
    },
    async send(tx, name, payload) {
      tx.unit.jobs.push({ name, payload });
    },
    async write(tx, jobs) {
      const db = fromDrizzle(tx as never, sql as never);
      const once = new Map(jobs.map((job) => [JSON.stringify([job.name, job.payload]), job]));
      for (const [name, some] of Map.groupBy(once.values(), (job) => job.name))
        await boss.insert(
          name,
          some.map(({ payload }) => ({ data: payload })),
          { db },
        );
    },
    async work(deps, handlers) {
      working = true;
      for (const name of names) {
        const pace = {
          pollingIntervalSeconds: poll_seconds,
          // A notice wakes for one batch only. Without these two the rest of a burst, and every retry, waits half a minute.
          notifyPollingIntervalSeconds: poll_seconds,
          burstWhenBatchFull: true,
        };
        await boss.work(name, { batchSize: 10, ...pace, perJobResults: false }, async (jobs) => {
          for (const job of jobs)
            await handlers[name](deps, job.data as never).catch((error: unknown) => {
              deps.log.warn({ err: error, job: name }, "A job failed; it will be tried again.");
              throw error;
            });
        });
      }
    },
    async drain(deps, handlers) {
      let ran = 0;
      for (let found = true; found; ) {
        found = false;
        for (const name of names) {
          const jobs = (await boss.fetch(name, { batchSize: 50 })) ?? [];
          for (const job of jobs) {
            found = true;
            ran += 1;
            try {
              await handlers[name](deps, job.data as never);
              await boss.complete(name, job.id);
            } catch (error) {
              await boss.fail(name, job.id, { message: String(error) });
              throw error;
            }
          }
        }
      }
      return ran;
    },
    working: () => working,
    async stop() {
      working = false;
      await boss.stop({ graceful: true, timeout: 5000, close: true });
    },
  };
}
