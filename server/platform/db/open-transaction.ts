/**
 * No call to another service is made while a transaction is open: its locks would be held for as long as the other side takes,
 * and what the other side did stays done where the transaction is rolled back (OPS-08).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";

/** `money`: the call moves money, or asks where it is. `service`: any other call. */
type CallKind = "money" | "service";

const transactions = new AsyncLocalStorage<{ isOpen: boolean }>();

/** A fault of the program: the call was not made. */
export class CallInTransactionError extends Error {
  override readonly name = "CallInTransactionError";
}

/** Run a whole transaction of a driver, from its begin to its commit or rollback. */
export async function runAsTransaction<T>(run: () => Promise<T>): Promise<T> {
  const transaction = { isOpen: true };
  try {
    return await transactions.run(transaction, run);
  } finally {
    // Work that was started inside and goes on after the end is outside.
    transaction.isOpen = false;
  }
}

const isInTransaction = (): boolean => transactions.getStore()?.isOpen === true;

let report: ((call: string) => void) | undefined;

/**
 * From now on, report a call of kind `service` and let it pass: a lock that is held longer is better than a failed sale. A call
 * of kind `money` is refused anyway: a charge whose transaction is rolled back would be unknown.
 */
export function setCallReport(reportCall: ((call: string) => void) | undefined): void {
  report = reportCall;
}

/** Refuse a call inside of a transaction. Everything that calls another service asks here first. */
export function assertOutsideTransaction(call: string, kind: CallKind = "service"): void {
  if (!isInTransaction()) return;
  report?.(call);
  if (kind === "money" || !report)
    throw new CallInTransactionError(
      `A call inside of a transaction: ${call}. Make it before or after the transaction.`,
    );
}

/** An object whose functions are all refused inside of a transaction. */
export function guardCalls<T extends object>(name: string, kind: CallKind, calls: T): T {
  const guarded = Object.entries(calls).map(([key, value]: [string, unknown]) => {
    if (typeof value !== "function") return [key, value];
    const call = (...given: unknown[]): unknown => {
      assertOutsideTransaction(`${name} ${key}`, kind);
      return Reflect.apply(value, calls, given);
    };
    return [key, call];
  });
  return Object.fromEntries(guarded) as T;
}

/** Node tells on these channels of each HTTP request that begins, also in packages. The second is that of `fetch`. */
const channels = ["http.client.request.created", "undici:request:create"];

/** Report HTTP requests that begin inside of a transaction and did not ask here first. Returns the function that ends it. */
export function watchRequests(reportCall: (call: string) => void): () => void {
  const check = () => {
    if (isInTransaction()) reportCall("an HTTP request");
  };
  for (const channel of channels) diagnostics.subscribe(channel, check);
  return () => {
    for (const channel of channels) diagnostics.unsubscribe(channel, check);
  };
}
