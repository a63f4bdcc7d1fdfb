import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { SystemEvent } from "../../../shared/system-events.ts";
import type { auditLog, events } from "./tables.ts";

/** PostgreSQL through either driver. A transaction is one too, so reads take either. */
export type Database = PgDatabase<PgQueryResultHKT>;

type EventRow = typeof events.$inferSelect;
/** Events of which the same is told. */
export type PendingEvents = Pick<EventRow, "organization_id" | "created_at"> & {
  readonly emitted: readonly Pick<EventRow, "id" | "type">[];
  /**
   * What is told, as the text of JSON, and what of it is in the list of events. Asked for once, when it is written: what is only known at
   * the end, such as a number, is in it.
   */
  write(): { wire: string; listed: readonly ListedEvent[] };
};
/** What floe itself notes in the list of events. */
export type ListedEvent = SystemEvent & { id: string; timestamp: Date };

/** What a transaction, or a savepoint in one, writes with its end, and does once it is committed. */
export type TransactionUnit = {
  /** Of what a savepoint stands in. */
  readonly parent: TransactionUnit | null;
  /** The transaction itself, where this is the unit of one of several that go side by side in it. */
  readonly root?: Database;
  isUndone: boolean;
  readonly events: PendingEvents[];
  readonly entries: (typeof auditLog.$inferInsert)[];
  /** What is done last, while as little as possible waits for it. */
  readonly atEnd: (() => Promise<void>)[];
  readonly afterCommit: (() => Promise<void> | void)[];
};

/**
 * A transaction that `transact` has begun, and only that: neither a pool nor a transaction that would forget what is noted on
 * it can be passed where one is asked for.
 */
export type Tx = Parameters<Parameters<Database["transaction"]>[0]>[0] & { readonly unit: TransactionUnit };

/**
 * What a request has written in the transactions that its operation opens, with what such a transaction has made: the entry of
 * the audit log, the answer to its key.
 */
export type ExtraWrite = (tx: Tx, made: unknown) => Promise<void>;
