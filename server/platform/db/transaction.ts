import type { SQLWrapper } from "drizzle-orm";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { SystemEvent } from "../../../shared/system-events.ts";
import type { auditLog, events } from "./tables.ts";

/** PostgreSQL through either driver. A transaction is also a `Database`, so reads accept both. */
export type Database = PgDatabase<PgQueryResultHKT>;

type EventRow = typeof events.$inferSelect;
/** Pending events that share their data. */
export type PendingEvents = Pick<EventRow, "organization_id" | "created_at"> & {
  readonly emitted: readonly Pick<EventRow, "id" | "type" | "request_id" | "traceparent">[];
  /**
   * Returns the data as JSON text, and their entries in the list of usage events. It is called once, when the events are
   * written, so that values known only at the end, such as a number, are included.
   */
  write(): { wire: string; listed: readonly ListedEvent[] };
};
/** An event that floe itself adds to the list of usage events. */
export type ListedEvent = SystemEvent & { id: string; timestamp: Date };

/** The pending writes of a transaction or a savepoint, and its callbacks at the end and after the commit. */
export type TransactionUnit = {
  /** The unit that contains the savepoint; null for a transaction. */
  readonly parent: TransactionUnit | null;
  /** The transaction itself, if this is the unit of one of several concurrent jobs in it. */
  readonly root?: Database;
  isUndone: boolean;
  readonly events: PendingEvents[];
  readonly entries: (typeof auditLog.$inferInsert)[];
  /** Inserts that nothing in the transaction reads, written by the statement that writes the events. */
  readonly inserts: SQLWrapper[];
  /** Functions that run last, so that their locks are held as briefly as possible. */
  readonly atEnd: (() => Promise<void>)[];
  readonly afterCommit: (() => Promise<void> | void)[];
};

/** A transaction begun by `transact`. The type rejects a pool, and a transaction that would lose its pending writes. */
export type Tx = Parameters<Parameters<Database["transaction"]>[0]>[0] & { readonly unit: TransactionUnit };

/**
 * A write that a request adds to the transactions of its operation, given their result. Examples: the entry of the audit
 * log, the response of an idempotency key.
 */
export type ExtraWrite = (tx: Tx, made: unknown) => Promise<void>;
