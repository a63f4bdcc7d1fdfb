import { sql } from "drizzle-orm";
import { bigint, bigserial, index, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "./columns.ts";

/**
 * What happened, in wire form, written in the transaction of the change itself (the outbox).
 * `xid` is the writing transaction: readers that tail the table only look below the oldest open transaction,
 * so that a slow commit is never skipped by a cursor that has already passed its `seq`.
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
  },
  (table) => [
    ownedKey(table.id),
    index("events_tail").on(table.organization_id, table.xid, table.seq),
    index("events_undispatched").on(table.organization_id, table.seq).where(sql`${table.dispatched_at} is null`),
    // A page that waits for its checkout asks for what was told of it last.
    index("events_of_checkout")
      .on(table.organization_id, sql`(${table.data} ->> 'id')`)
      .where(sql`${table.type} = 'checkout.updated'`),
  ],
);

/** The lists that may be long, so that counting them is left to tallies. */
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
 * How many rows of a list an organization has: the sum of its rows here. Whatever statement makes or takes away such rows notes
 * how many (triggers see to it), so that nobody who makes one waits for another, and counting a million reads a few rows; a
 * sweep adds them up.
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

/** First answers of POST requests that carried an `Idempotency-Key`, kept for 24 hours. */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    subject: text().notNull(),
    key: text().notNull(),
    request_hash: text().notNull(),
    status: integer(),
    /** Sealed: an answer may carry a secret that is shown once. */
    body: text(),
    /** Whom the answer is about, by which an erasure finds it (kept-answers.ts). */
    mentions: text().array(),
    created_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.subject, table.key] }),
    index("idempotency_keys_age").on(table.created_at),
    index("idempotency_keys_mentions").using("gin", table.mentions).where(sql`${table.mentions} is not null`),
  ],
);

/**
 * Mail that was or is to be sent; without a mail server, the development inbox. Its words are sealed, as there may be a link
 * in them that lets in whoever reads it, and not kept once it is sent. What is kept is what it says: it is set, as text and as
 * HTML, when somebody is to read it, which in a sandbox is seldom.
 */
export const mails = pgTable(
  "mails",
  {
    id: uuid().primaryKey(),
    /** The sandbox in whose name it is written, and with which it stays: it is never sent. */
    organization_id: text().references(() => organization.id, { onDelete: "cascade" }),
    /** The customer whom it is written to; null for everybody else. */
    customer_id: uuid(),
    to: text().notNull(),
    subject: text().notNull(),
    letter: text().notNull(),
    created_at: instant().notNull(),
    sent_at: instant(),
    /** From when on it is of no use: the link in it has died. */
    expires_at: instant(),
    attempts: integer().notNull().default(0),
    /** When the next attempt is due; null: nothing to do. A sender that takes the row moves it ahead of itself. */
    next_attempt_at: instant(),
  },
  (table) => [
    index("mails_age").on(table.created_at),
    index("mails_of_sandbox")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.organization_id} is not null`),
    index("mails_of_customer").on(table.customer_id).where(sql`${table.customer_id} is not null`),
    index("mails_due").on(table.next_attempt_at).where(sql`${table.next_attempt_at} is not null`),
  ],
);

/** Who did what, when and from where. Written with the change; a trigger refuses to change or delete it. */
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
    /** What was done: `member.role_updated`, `product.created`. */
    action: text().notNull(),
    subject_type: text(),
    subject_id: text(),
    details: jsonb().$type<Record<string, unknown>>().notNull().default({}),
    ip_address: text(),
    user_agent: text(),
    created_at: instant().notNull(),
  },
  (table) => [
    index("audit_log_organization").on(table.organization_id, table.id),
    index("audit_log_user").on(table.user_id, table.id),
    index("audit_log_subject").on(table.subject_id, table.id),
  ],
);

/**
 * Calls that were refused, counted by hour, caller, operation and reason, so that a flood of them is a few rows. A row of the audit
 * log that is still being counted: kept apart, because the log itself is never changed.
 */
export const refusedCalls = pgTable(
  "refused_calls",
  {
    /** A hash of what the row counts, so that all servers count in the same row. */
    key: text().primaryKey(),
    /** In the order of time with the ids of the audit log. */
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
    /** From where the last one came. */
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

/** How often something was tried in a window of time, and until when it is refused: by address, account or code. */
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

/** Rows whose work failed. They are tried again later, and hold up no other; what was given up is a dead letter. */
export const failedWork = pgTable(
  "failed_work",
  {
    /** Which work: the name of its sweep. */
    kind: text().notNull(),
    row_id: text().notNull(),
    organization_id: text(),
    attempts: integer().notNull(),
    error: text().notNull(),
    first_failed_at: instant().notNull(),
    /** By the server's clock; null: given up. */
    retry_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.kind, table.row_id] }),
    index("failed_work_dead").on(table.kind).where(sql`${table.retry_at} is null`),
  ],
);
