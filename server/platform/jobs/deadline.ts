import { AsyncLocalStorage } from "node:async_hooks";

/** The time limit of a job. When the signal aborts, its statements, transactions and calls to other services end. */
type Deadline = { signal: AbortSignal; timeoutMs: number };

const deadlines = new AsyncLocalStorage<Deadline | undefined>();

/** The work reached its time limit and was aborted. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** The deadline of the job that this code runs for, if it runs for one. */
export const getDeadline = (): Deadline | undefined => deadlines.getStore();

/** Run what must still be done after a deadline, such as a rollback. */
export const runWithoutDeadline = <T>(run: () => T): T => deadlines.run(undefined, run);

/** How long a statement may take that prepares the start: it may touch every row of a table. */
const preparationMs = 600_000;
/** Run what a start prepares. Do not start a loop in it, whose statements would have the same limit. */
export const runPreparation = <T>(run: () => Promise<T>): Promise<T> => runWithStatementLimit(preparationMs, run);

/** Run work whose statements may each take this long. */
export const runWithStatementLimit = <T>(timeoutMs: number, run: () => T): T =>
  deadlines.run({ signal: new AbortController().signal, timeoutMs }, run);

/** The signal of a call to another service: it aborts after `timeoutMs`, and at the deadline of the job that calls. */
export function createCallSignal(timeoutMs: number): AbortSignal {
  const own = AbortSignal.timeout(timeoutMs);
  const deadline = getDeadline();
  return deadline ? AbortSignal.any([own, deadline.signal]) : own;
}

/** Await work; reject at the deadline of the job, even if the work itself never ends. */
export async function awaitUntilDeadline<T>(work: Promise<T>): Promise<T> {
  const signal = getDeadline()?.signal;
  return signal ? awaitWithSignal(work, signal) : work;
}

async function awaitWithSignal<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

type Options = {
  timeoutMs: number;
  /** How long the work may take to end after it was aborted. Until then it counts as running. */
  graceMs: number;
  /** Aborts the work before its time limit, as when the server stops. */
  stopping: AbortSignal;
};

/**
 * Run work that is aborted at its time limit. Returns or throws once the work has ended, or `graceMs` after the abort. Work
 * that goes on even then can change nothing: the database refuses its statements.
 */
export async function runWithDeadline<T>({ timeoutMs, graceMs, stopping }: Options, run: () => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const timer = setTimeout(
    () => limit.abort(new DeadlineError(`The job took longer than ${timeoutMs} ms, and was aborted.`)),
    timeoutMs,
  );
  const signal = AbortSignal.any([limit.signal, stopping]);
  const grace = Promise.withResolvers<never>();
  let graceTimer: NodeJS.Timeout | undefined;
  const startGrace = () => {
    graceTimer = setTimeout(() => grace.reject(signal.reason), graceMs);
  };
  signal.addEventListener("abort", startGrace, { once: true });
  try {
    return await Promise.race([deadlines.run({ signal, timeoutMs }, run), grace.promise]);
  } catch (error) {
    // The reason of the abort says more than the error of the statement that it canceled.
    signal.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    clearTimeout(graceTimer);
    signal.removeEventListener("abort", startGrace);
  }
}
