import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type { Database, Deps, Tx } from "../lib/context.ts";
import { loggable } from "../lib/loggable.ts";
import { type Mail, queueMail } from "../lib/mail.ts";
import { transact } from "../lib/unit-of-work.ts";

type Handler = (request: Request) => Promise<Response>;

/**
 * Mail of the account side. It is written before the request is answered: in better-auth's own transaction where one is
 * open (as on sign-up), so that neither exists without the other, and in one of its own otherwise. A mail that cannot be
 * written fails the transaction, and the request.
 */
export function outbox(deps: Deps, note: (error: unknown) => void) {
  const open = new AsyncLocalStorage<{ tx: Tx; failure: { error?: unknown } }>();
  /** The database as better-auth is given it: what runs inside a transaction can find that transaction. */
  const db: Database = Object.assign(Object.create(deps.db) as Database, {
    transaction: <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      deps.db.transaction(async (begun) => {
        // What begins it makes it a unit of work.
        const tx = begun as Tx;
        const failure: { error?: unknown } = {};
        const result = await open.run({ tx, failure }, () => work(tx));
        if ("error" in failure) throw failure.error;
        return result;
      }),
  });
  return {
    db,
    /** The transaction that better-auth has open, or the database: a second connection may not be to be had meanwhile. */
    here: (): Database => open.getStore()?.tx ?? deps.db,
    async mail(mail: Mail): Promise<void> {
      const within = open.getStore();
      try {
        await (within ? queueMail(within.tx, deps, mail) : transact(deps, (tx) => queueMail(tx, deps, mail)));
      } catch (error) {
        deps.log.error({ error: loggable(error) }, "A mail could not be written down.");
        // better-auth only logs it and goes on.
        if (within) within.failure.error = error;
        note(error);
        throw error;
      }
    },
  };
}

export type Outbox = ReturnType<typeof outbox>;

/** Asking for a mail to somebody's address takes this long at least, so that its time does not tell whether there is one. */
const even_ms = 500;

/** Answers in even time where a mail is written for those who are known, and nothing for others. */
export const evenly =
  (handle: Handler): Handler =>
  async (request) => {
    if (!new URL(request.url).pathname.endsWith("/request-password-reset")) return handle(request);
    const [response] = await Promise.all([handle(request), pause(even_ms)]);
    return response;
  };
