import { AsyncLocalStorage } from "node:async_hooks";
import { runWithTransaction } from "@better-auth/core/context";
import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter } from "better-auth/adapters";
import type { Database, Deps, Tx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { findOutage } from "../../platform/db/unreachable.ts";
import { redactError } from "../../platform/loggable.ts";
import { type Mail, queueMail } from "../../platform/mail-transport/mail.ts";
import { findFault } from "./http/failures.ts";

type Handler = (request: Request) => Promise<Response>;
type Storage = DBAdapter<BetterAuthOptions>;

/** A request, or a transaction in one: what is open while better-auth works on it, and what went wrong meanwhile. */
type Scope = {
  open: { tx: Tx; storage: Storage } | null;
  failure: { error: unknown } | null;
  /** The last query that failed, whatever better-auth made of it. */
  fault: { error: unknown } | null;
  readonly outer: Scope | undefined;
};

/**
 * The one thing that is known of the account side's work without being handed on, because better-auth lies in between and
 * hands on nothing: which transaction is open, and what failed that better-auth would only log, or take for an answer.
 */
export function createAccountWork(deps: Deps) {
  const scopes = new AsyncLocalStorage<Scope>();

  /** Have the request fail, and the transaction that is open undone, whatever better-auth makes of the error. */
  function note(error: unknown): void {
    for (let scope = scopes.getStore(); scope; scope = scope.outer) scope.failure = { error };
  }

  /** Have the request answer a failed query as such, where better-auth answers no more than that something failed. */
  function noteFault(error: unknown): void {
    for (let scope = scopes.getStore(); scope; scope = scope.outer) scope.fault = { error };
  }

  async function runTransaction<T>(
    storageOn: (db: Database) => Storage,
    work: (storage: Storage, tx: Tx) => Promise<T>,
  ): Promise<T> {
    const open = scopes.getStore()?.open;
    if (open) return work(open.storage, open.tx);
    return transact(deps, async (tx) => {
      const storage = storageOn(tx);
      const scope: Scope = { open: { tx, storage }, failure: null, fault: null, outer: scopes.getStore() };
      try {
        const result = await scopes.run(scope, () => work(storage, tx));
        if (scope.failure) throw scope.failure.error;
        return result;
      } finally {
        // What was begun in it and not waited for must not write to it any more.
        scope.open = null;
      }
    });
  }

  return {
    note,
    noteFault,
    /** The transaction that is open, or the database: a second connection may not be to be had meanwhile. */
    here: (): Database => scopes.getStore()?.open?.tx ?? deps.db,
    /** What better-auth stores with inside the transaction that is open; null outside of one. */
    storage: (): Storage | null => scopes.getStore()?.open?.storage ?? null,
    /** Do something in the transaction that is open, or in one of its own. */
    transaction: runTransaction,
    /**
     * Write a mail before the request is answered: in the transaction that is open (as on sign-up), so that neither exists
     * without the other, and in one of its own otherwise. A mail that cannot be written fails both.
     */
    async mail(mail: Mail): Promise<void> {
      const open = scopes.getStore()?.open;
      try {
        const asked = { is_requested: true, ...mail };
        await (open ? queueMail(open.tx, deps, asked) : transact(deps, (tx) => queueMail(tx, deps, asked)));
      } catch (error) {
        deps.log.error({ error: redactError(error) }, "A mail could not be written down.");
        note(error);
        throw error;
      }
    },
    /** A handler of requests that fail with what was noted while they were answered. */
    answering:
      (handle: Handler): Handler =>
      async (request) => {
        const scope: Scope = { open: null, failure: null, fault: null, outer: undefined };
        const response = await scopes.run(scope, () => handle(request));
        if (scope.failure && (response.ok || findOutage(scope.failure.error))) throw scope.failure.error;
        if (scope.fault && response.status >= 500 && findFault(scope.fault.error)) throw scope.fault.error;
        return response;
      },
  };
}

export type AccountWork = ReturnType<typeof createAccountWork>;

/** An endpoint of better-auth's whose writes are one transaction, where it makes them one after the other. */
export function wrapInTransaction<E extends (given: never) => unknown>(endpoint: E): E {
  const call = (given: never) => {
    const { context } = given as { context: { adapter: Storage } };
    // By its own means, so that its hooks come after the commit.
    return runWithTransaction(context.adapter, async () => endpoint(given));
  };
  // An endpoint carries its path and options with it.
  return Object.assign(call, endpoint) as never;
}
