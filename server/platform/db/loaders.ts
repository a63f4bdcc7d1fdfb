import { AsyncLocalStorage } from "node:async_hooks";
import type { Database } from "./transaction.ts";

/** A call of one concurrent job to a loader, which is batched with equal calls of the others. */
type Asked = { seat: Seat; item: unknown; resolve(answer: unknown): void; reject(error: unknown): void };
type Question = { db: Database; many: Many; isLast: boolean; asked: Asked[] };
// biome-ignore lint/suspicious/noExplicitAny: a question of any kind; `gathered` gives it its types
type Many = (db: any, items: any[]) => Promise<unknown[]>;
type Seat = { table: Table; index: number; waits: number };
type Table = {
  ask(seat: Seat, question: Omit<Question, "asked">, item: unknown): Promise<unknown>;
  leave(seat: Seat): void;
};

const seats = new AsyncLocalStorage<Seat | undefined>();

/** The connection or transaction itself, if the database is a view of it that belongs to one concurrent job. */
const getRoot = (db: Database): Database => ("unit" in db ? (db.unit as { root?: Database }).root : undefined) ?? db;

/**
 * Define a loader: a query for one item, made from a query for many. Concurrent calls within `runWithLoaders` are sent as
 * one query, in the order of the jobs. A loader with `isLast` runs only when no other query is pending.
 */
export const defineLoader =
  <D extends Database, I, R>(many: (db: D, items: I[]) => Promise<R[]>, isLast = false) =>
  async (db: D, item: I): Promise<R> => {
    const seat = seats.getStore();
    if (seat) return (await seat.table.ask(seat, { db: getRoot(db), many, isLast }, item)) as R;
    return (await many(db, [item]))[0] as R;
  };

/**
 * Run jobs concurrently and batch their loader calls. Each job runs until it calls a loader; when all jobs wait, the queries
 * are sent. The order depends only on the calls, so it is deterministic.
 */
export async function runWithLoaders<T>(works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const present = new Set<Seat>();
  let questions: Question[] = [];
  let isAsking = false;

  async function respondToQuestions(): Promise<void> {
    isAsking = true;
    const early = questions.filter(({ isLast }) => !isLast);
    const now = early.length > 0 ? early : questions;
    questions = questions.filter((question) => !now.includes(question));
    for (const { db, many, asked } of now) {
      asked.sort((a, b) => a.seat.index - b.seat.index);
      const items = asked.map(({ item }) => item);
      try {
        const answers = await seats.run(undefined, () => many(db, items));
        for (const { seat } of asked) seat.waits -= 1;
        for (const [index, { resolve }] of asked.entries()) resolve(answers[index]);
      } catch (error) {
        for (const { seat } of asked) seat.waits -= 1;
        for (const { reject } of asked) reject(error);
      }
    }
    isAsking = false;
    respondWhenComplete();
  }
  function respondWhenComplete(): void {
    if (!isAsking && questions.length > 0 && [...present].every(({ waits }) => waits > 0)) void respondToQuestions();
  }
  const table: Table = {
    ask(seat, wanted, item) {
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      let question = questions.find(({ db, many }) => db === wanted.db && many === wanted.many);
      if (!question) {
        question = { ...wanted, asked: [] };
        questions.push(question);
      }
      question.asked.push({ seat, item, resolve, reject });
      seat.waits += 1;
      respondWhenComplete();
      return promise;
    },
    leave(seat) {
      present.delete(seat);
      respondWhenComplete();
    },
  };
  const taken = works.map((work, index) => ({ work, seat: { table, index, waits: 0 } }));
  for (const { seat } of taken) present.add(seat);
  const outcomes = await Promise.allSettled(
    taken.map(({ work, seat }) =>
      seats.run(seat, async () => {
        try {
          return await work();
        } finally {
          table.leave(seat);
        }
      }),
    ),
  );
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
