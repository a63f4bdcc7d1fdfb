import { sql } from "drizzle-orm";
import {
  bigint,
  bigserial,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "./columns.ts";

/**
 * Events in wire form, written in the transaction of the change itself (the outbox). `xid` is the writing transaction:
 * readers that tail the table only read below the oldest open transaction, so that a cursor past a `seq` never skips a slow
 * commit.
 */
export const events = pgTable(
  "events",
  {
    id: uuid().notNull(),
    seq: bigserial({ mode: "number" }).notNull(),
    xid: bigint({ mode: "bigint" }).notNull().default(sql`(pg_current_xact_id()::text::bigint)`),
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    type: text().notNull(),
    data: jsonb().notNull(),
    created_at: instant().notNull(),
    /** When the webhook endpoints' copies were written; an event is dispatched together with all before it, in order. */
    dispatched_at: instant(),
    /** The request whose transaction wrote the event; null for an event of a job. */
    request_id: text(),
    /** The trace in which it happened, for webhooks; null where nobody traces. */
    traceparent: text(),
  },
  (table) => [
    ownedKey(table.id),
    index("events_of_request").on(table.organization_id, table.request_id).where(sql`${table.request_id} is not null`),
    index("events_tail").on(table.organization_id, table.xid, table.seq),
    index("events_undispatched").on(table.organization_id, table.seq).where(sql`${table.dispatched_at} is null`),
    // A page that waits for its checkout reads the checkout's latest event.
    index("events_of_checkout")
      .on(table.organization_id, sql`(${table.data} ->> 'id')`)
      .where(sql`${table.type} = 'checkout.updated'`),
  ],
);

/** Lists that may be long, so that they are counted by `list_tallies`. */
export type CountedList =
  | "benefit_grants"
  | "checkouts"
  | "customers"
  | "discounts"
  | "license_keys"
  | "orders"
  | "payments"
  | "products"
  | "refunds"
  | "subscriptions"
  | "webhook_deliveries";

/**
 * The number of rows of an organization's list is the sum of its rows here. Triggers add a row for every insert and delete,
 * so that concurrent inserts do not wait for each other. Counting a million rows reads a few rows; a worker compacts them.
 */
export const listTallies = pgTable(
  "list_tallies",
  {
    organization_id: text()
      .notNull()
      .references(() => organization.id, { onDelete: "cascade" }),
    id: bigserial({ mode: "number" }).notNull(),
    list: text().$type<CountedList>().notNull(),
    change: integer().notNull(),
  },
  (table) => [ownedKey(table.id)],
);

/** First responses to POST requests with an `Idempotency-Key`, kept for 24 hours. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    subject: text().notNull(),
    key_hash: text().notNull(),
    request_hash: text().notNull(),
    status: integer(),
    /** Sealed, because a response may contain a secret that is shown once. */
    body: text(),
    /** The ids of those whom the response mentions, by which an erasure finds it (kept-answers.ts). */
    mentions: text().array(),
    created_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.subject, table.key_hash] }),
    index("idempotency_keys_age").on(table.created_at),
    index("idempotency_keys_mentions").using("gin", table.mentions).where(sql`${table.mentions} is not null`),
  ],
);

/**
 * Mails, sent and pending; without a mail server, the development inbox. The content is sealed, because it may contain a
 * sign-in link, and is deleted once the mail is sent. It is stored unrendered: text and HTML are rendered when the mail is
 * sent or read.
 */
export const mails = pgTable(
  "mails",
  {
    id: uuid().primaryKey(),
    /** The sandbox that wrote the mail; such a mail is kept and never sent. */
    organization_id: text().references(() => organization.id, { onDelete: "cascade" }),
    /** The customer to whom the mail is addressed; null for other recipients. */
    customer_id: uuid(),
    /** The seller of whose shop the mail is; null for mail about accounts. */
    seller_id: text(),
    /** The request whose transaction queued the mail; null for a mail of a job. */
    request_id: text(),
    to: text().notNull(),
    subject: text().notNull(),
    letter: text().notNull(),
    created_at: instant().notNull(),
    sent_at: instant(),
    /** When the link in the mail expires; the mail is not sent after that. */
    expires_at: instant(),
    attempts: integer().notNull().default(0),
    /** When the next attempt is due; null if none is. A sender that claims the row sets it to the end of its lease. */
    next_attempt_at: instant(),
    /** What the mail server said when it refused the mail for good, or why the mail was not sent. */
    refusal: text(),
    /** What the mail server last said when it did not take the mail. */
    last_answer: text(),
    /** Whether its recipient has just asked for it, as a code for signing in. Such a mail goes to an address that bounced, too. */
    is_requested: boolean().notNull().default(false),
  },
  (table) => [
    index("mails_refused").on(table.created_at).where(sql`${table.refusal} is not null`),
    index("mails_age").on(table.created_at),
    index("mails_of_sandbox")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.organization_id} is not null`),
    index("mails_of_seller").on(table.seller_id, table.created_at).where(sql`${table.seller_id} is not null`),
    index("mails_of_customer").on(table.customer_id).where(sql`${table.customer_id} is not null`),
    index("mails_due").on(table.next_attempt_at).where(sql`${table.next_attempt_at} is not null`),
  ],
);

/** Addresses that took no mail. One with a hard bounce is sent only what its owner asks for (MAIL-03). */
export const mailBounces = pgTable(
  "mail_bounces",
  {
    /** In lower case. */
    address: text().primaryKey(),
    kind: text().$type<"hard" | "soft">().notNull(),
    code: text(),
    reason: text().notNull(),
    /** Whether the mail server refused the mail, or a notice came later. */
    source: text().$type<"smtp" | "notice">().notNull(),
    count: integer().notNull(),
    first_at: instant().notNull(),
    last_at: instant().notNull(),
  },
  (table) => [index("mail_bounces_age").on(table.last_at)],
);

/** The audit log: actor, action, time and address. Written with the change; a trigger refuses updates and deletes. */
export const auditLog = pgTable(
  "audit_log",
  {
    id: uuid().primaryKey(),
    organization_id: text().references(() => organization.id, { onDelete: "set null" }),
    actor_kind: text().$type<"user" | "key" | "customer" | "system" | "anonymous">().notNull(),
    user_id: text(),
    key_id: text(),
    /** The platform admin who acted in the user's name. */
    impersonated_by: text(),
    /** The action: `member.role_updated`, `product.created`. */
    action: text().notNull(),
    subject_type: text(),
    subject_id: text(),
    details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    ip_address: text(),
    user_agent: text(),
    /** The request that wrote the entry; null for an entry of a job. */
    request_id: text(),
    created_at: instant().notNull(),
  },
  (table) => [
    index("audit_log_organization").on(table.organization_id, table.id),
    index("audit_log_user").on(table.user_id, table.id),
    index("audit_log_subject").on(table.subject_id, table.id),
  ],
);

/**
 * Refused calls, counted by hour, caller, operation and reason, so that a flood of calls takes a few rows. The counts are
 * kept apart from the audit log, because the log itself is never changed.
 */
export const refusedCalls = pgTable(
  "refused_calls",
  {
    /** A hash of what the row counts, so that all servers count in the same row. */
    key: text().primaryKey(),
    /** A time-ordered id, comparable with the ids of the audit log. */
    id: uuid().notNull(),
    organization_id: text().references(() => organization.id, { onDelete: "cascade" }),
    actor_kind: text().$type<"user" | "key" | "customer" | "system">().notNull(),
    user_id: text(),
    key_id: text(),
    /** Method and path as the API declares them; `*` where too many different calls were refused. */
    operation: text().notNull(),
    reason: text().notNull(),
    status: integer().notNull(),
    count: integer().notNull(),
    /** The client of the latest refused call. */
    ip_address: text(),
    user_agent: text(),
    created_at: instant().notNull(),
    last_at: instant().notNull(),
  },
  (table) => [
    index("refused_calls_organization").on(table.organization_id, table.id),
    index("refused_calls_user").on(table.user_id, table.id),
    index("refused_calls_age").on(table.created_at),
  ],
);

/** Changes of stored data that the server makes once, in code, when a newer version starts. */
export const upgrades = pgTable("upgrades", { name: text().primaryKey(), finished_at: instant().notNull() });

/** Attempts counted per time window, by address, account or code, and until when more are refused. */
export const attempts = pgTable(
  "attempts",
  {
    key: text().primaryKey(),
    count: integer().notNull(),
    window_ends_at: instant().notNull(),
    locked_until: instant(),
  },
  (table) => [index("attempts_age").on(table.window_ends_at)],
);

/** Rows whose job failed. They are retried later and do not block other rows; after the last retry they are dead letters. */
export const failedWork = pgTable(
  "failed_work",
  {
    /** The name of the worker. */
    kind: text().notNull(),
    row_id: text().notNull(),
    organization_id: text(),
    attempts: integer().notNull(),
    error: text().notNull(),
    first_failed_at: instant().notNull(),
    /** By the server's clock; null for a dead letter. */
    retry_at: instant(),
    /** When an operator discarded the dead letter: its row is not processed again, and no start requeues it. */
    discarded_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.row_id] }),
    index("failed_work_dead").on(table.kind).where(sql`${table.retry_at} is null`),
    index("failed_work_order").on(table.first_failed_at, table.kind, table.row_id),
  ],
);

/**
 * The times at which this database was found to be restored from a backup. The newest row says how invoices are numbered and
 * where the events of this database begin (`events/epoch.ts`).
 */
export const restores = pgTable("restores", {
  id: uuid().primaryKey(),
  created_at: instant().notNull(),
  /** `processor`: the processor knows charges that are unknown here; `cluster`: the events are of another database cluster. */
  reason: text().$type<"processor" | "cluster" | "operator">().notNull(),
  /** Is added to the transaction numbers of the events that are written from then on. */
  event_offset: bigint({ mode: "bigint" }).notNull(),
  /** When the charges that were unknown were settled. Until then the server is in maintenance. */
  settled_at: instant(),
  /** What the last run of `floe admin reconcile` left to be settled by hand: how many of each outcome. */
  left_over: jsonb().$type<Record<string, number>>(),
});

/** The processes that run, by the database's clock. One that has not been seen for 15 seconds is gone (OPS-02). */
export const serverProcesses = pgTable("server_processes", {
  id: uuid().primaryKey(),
  role: text().$type<"all" | "api" | "worker">().notNull(),
  started_at: instant().notNull(),
  seen_at: instant().notNull(),
  /** Whether it had a session of its own when it was last seen. Such a process is gone as soon as the session is. */
  has_session: boolean().notNull().default(false),
});

/**
 * The oldest program that may use this database: its newest migration has this number or a later one. A migration that takes away
 * what older programs use raises it (OPS-04).
 */
export const schemaSupport = pgTable("schema_support", {
  id: integer().primaryKey().default(1),
  oldest: integer().notNull(),
});

/** The secrets that servers of this database were started with, as hashes; the newest is the one that must be named (RST-06). */
export const secretChecks = pgTable("secret_checks", {
  hash: text().primaryKey(),
  used_at: instant().notNull(),
});
