import { AsyncLocalStorage } from "node:async_hooks";
import { ApiError } from "../../../shared/errors.ts";
import { StatementTimeoutError } from "../db/unreachable.ts";
import { readSqlState } from "../loggable.ts";
import { getDeadline } from "./deadline.ts";
import { yieldToForeground } from "./priority.ts";

/**
 * An operation that uses the database for long. Each of its statements has a time limit, and none runs after the client has
 * disconnected.
 */
export type HeavyWork = { ended: AbortController; statementTimeoutMs: number; yieldedAt: number };

const works = new AsyncLocalStorage<HeavyWork | undefined>();
/** How long heavy work may block the process before it yields. */
const sliceMs = 10;

/** The heavy work that a statement is part of, if any. */
export const getHeavyWork = (): HeavyWork | undefined => works.getStore();

/** Run work that must not be aborted with the heavy work around it, such as releasing its resources. */
export const runToTheEnd = <T>(run: () => T): T => works.run(undefined, run);

const isSliceOver = ({ yieldedAt }: HeavyWork): boolean => performance.now() - yieldedAt > sliceMs;

/**
 * Await this before each statement of heavy work. It yields to foreground work, and throws once the heavy work is aborted.
 */
export async function startStatement(work: HeavyWork): Promise<void> {
  if (isSliceOver(work)) {
    await yieldToForeground();
    work.yieldedAt = performance.now();
  }
  work.ended.signal.throwIfAborted();
}

/** Await this between the parts of long work: heavy work whose time slice is over yields to foreground work. */
export function pause(): Promise<void> | undefined {
  const work = getHeavyWork();
  return work && isSliceOver(work) ? startStatement(work) : undefined;
}

/** Run work in parts, with a pause after a part when one is due. */
export async function runInParts<T>(parts: Iterator<void, T>): Promise<T> {
  for (;;) {
    const part = parts.next();
    if (part.done) return part.value;
    await pause();
  }
}

/** Map a long list, with pauses where they are due. */
export async function mapInParts<I, T>(items: Iterable<I>, map: (item: I) => T): Promise<T[]> {
  const results: T[] = [];
  for (const item of items) {
    results.push(map(item));
    await pause();
  }
  return results;
}

/** Await a statement; it is canceled when its heavy work is aborted, or at its time limit. */
export async function awaitStatement<T>(work: HeavyWork, statement: PromiseLike<T>, cancel: () => void): Promise<T> {
  const { signal } = work.ended;
  const timer = setTimeout(() => work.ended.abort(rejectTooLong(work)), work.statementTimeoutMs);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await statement;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}

/** PostgreSQL's own name for a statement that was canceled. */
const canceledState = "57014";

/** Await a statement of other work; it is canceled at its time limit, and at the deadline of its job. */
export async function awaitWithin<T>(timeoutMs: number, statement: PromiseLike<T>, cancel: () => void): Promise<T> {
  const signal = getDeadline()?.signal;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    cancel();
  }, timeoutMs);
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    return await statement;
  } catch (error) {
    // A connection that has not even answered the cancellation is lost, which is another error.
    throw isLate && readSqlState(error) === canceledState
      ? new StatementTimeoutError(`A statement took more than ${timeoutMs / 1000} s.`, { cause: error })
      : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
  }
}

const rejectTooLong = ({ statementTimeoutMs }: HeavyWork) =>
  new ApiError(
    "ServiceUnavailable",
    `This took the database more than ${statementTimeoutMs / 1000} s at a time, and was broken off. Ask for less at once.`,
    { "Retry-After": "60" },
  );
const rejectCallerGone = () => new ApiError("RequestTimeout", "The connection was closed before the work was done.");

type Options = { statementTimeoutMs: number; onGone(leave: () => void): void };

/** Run an operation as heavy work, until it is done or the client disconnects. */
export async function runHeavyWork<T>({ statementTimeoutMs, onGone }: Options, run: () => Promise<T>): Promise<T> {
  const work: HeavyWork = { ended: new AbortController(), statementTimeoutMs, yieldedAt: performance.now() };
  onGone(() => work.ended.abort(rejectCallerGone()));
  try {
    return await works.run(work, run);
  } catch (error) {
    // Throw the reason of the abort instead of the error of the database.
    work.ended.signal.throwIfAborted();
    throw error;
  }
}

/** Iterate a stream within heavy work: each chunk is produced as part of the work. */
export async function* readHeavyWork<T>(pieces: AsyncIterable<T>): AsyncIterable<T> {
  const work = getHeavyWork();
  const iterator = pieces[Symbol.asyncIterator]();
  for (;;) {
    const next = await works.run(work, () => iterator.next());
    if (next.done) return;
    yield next.value;
  }
}

type Limits = { perOrganization: number; perServer: number };
/** How many requests of an organization may wait for a slot, and how long; others are refused immediately. */
const waitingMax = 8;
const waitMs = 30_000;

const rejectBusy = () =>
  new ApiError("TooManyRequests", "Too much heavy work of this organization is under way. Try again in 2 s.", {
    "Retry-After": "2",
  });

type Waiting = { subject: string; start: () => void };

/**
 * Create the slots for heavy work of this process, limited per organization and in total. Returns the function that releases
 * the slot; throws 429 when too many requests wait, or after `waitMs`.
 */
export function openHeavySlots({ perOrganization, perServer }: Limits) {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let total = 0;

  const isFree = (subject: string) => total < perServer && (running.get(subject) ?? 0) < perOrganization;
  function begin(subject: string): void {
    total += 1;
    running.set(subject, (running.get(subject) ?? 0) + 1);
  }
  function end(subject: string): void {
    total -= 1;
    const left = (running.get(subject) ?? 1) - 1;
    if (left === 0) running.delete(subject);
    else running.set(subject, left);
    const next = waiting.findIndex((one) => isFree(one.subject));
    if (next >= 0) waiting.splice(next, 1)[0]?.start();
  }

  return async function acquire(subject: string): Promise<() => void> {
    if (isFree(subject)) begin(subject);
    else {
      if (waiting.filter((one) => one.subject === subject).length >= waitingMax) throw rejectBusy();
      await new Promise<void>((resolve, reject) => {
        const own: Waiting = {
          subject,
          start: () => {
            clearTimeout(timer);
            // The slot is reserved here, so that no new request takes it first.
            begin(subject);
            resolve();
          },
        };
        const timer = setTimeout(() => {
          waiting.splice(waiting.indexOf(own), 1);
          reject(rejectBusy());
        }, waitMs);
        waiting.push(own);
      });
    }
    let isOver = false;
    return () => {
      if (!isOver) end(subject);
      isOver = true;
    };
  };
}
export type AcquireSlot = ReturnType<typeof openHeavySlots>;
