import { type SQL, sql } from "drizzle-orm";
import {
  type AnyPgColumn,
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { EventType } from "../../../shared/event-types.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references, stamps } from "../../platform/db/columns.ts";
import { events } from "../../platform/db/tables.ts";
import type { ApiVersion, ClientProfile } from "../../platform/http/profiles.ts";

export type PreviousSecret = { secret: string; expires_at: string };

/** Where a seller wants to be told, and in which words: those of the client the endpoint was made with. */
export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    ...owned(),
    deleted_at: instant(),
    url: text().notNull(),
    name: text(),
    format: text().$type<"raw" | "discord" | "slack">().notNull(),
    /** Sealed: signing needs it, and it is shown on every read (WHK-02). */
    secret: text().notNull(),
    /** Replaced secrets that events are signed with as well, each until a time of the server's clock; sealed, the newest first. */
    previous_secrets: jsonb().$type<PreviousSecret[]>().notNull().default([]),
    /** The seller's own headers of the requests, as a sealed JSON object; null: none. */
    headers: text(),
    events: jsonb().$type<string[]>().notNull(),
    enabled: boolean().notNull().default(true),
    generation: text().$type<ClientProfile["generation"]>().notNull(),
    release: integer().notNull(),
    api_version: text().$type<ApiVersion>().notNull(),
    /** Nothing that was emitted up to here is sent: it was before the endpoint existed, or while nothing was kept for it. */
    since_seq: bigint({ mode: "number" }).notNull(),
    /** Nothing is sent before this time: the receiver asked for it by `Retry-After`, or the endpoint rests (WHK-48). */
    paused_until: instant(),
    /** Attempts in a row that failed, of whichever events; and since when. */
    failures: integer().notNull().default(0),
    failing_since: instant(),
    /**
     * When the queue of the endpoint is looked at next; null while nothing waits, or nothing may be sent. This one row represents
     * all that waits. A sender that takes the queue moves it ahead of itself.
     */
    due_at: instant(),
    /** The sender that has the queue: an id of its own for each time it is taken. */
    lease: uuid(),
    /** The process of that sender. When it is gone, another takes the queue at once. */
    process_id: uuid(),
    /** Since when the endpoint is off and its events are kept for it; null if it is on, or nothing is kept. */
    off_since: instant(),
  },
  (table) => [
    ownedKey(table.id),
    index("webhook_endpoints_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    index("webhook_endpoints_leased").on(table.process_id).where(sql`${table.lease} is not null`),
    index("webhook_endpoints_off")
      .on(table.organization_id, table.off_since)
      .where(sql`${table.off_since} is not null`),
    index("webhook_endpoints_list").on(table.organization_id, table.created_at).where(sql`${table.deleted_at} is null`),
  ],
);

type Waiting = Record<"attempted_at" | "next_attempt_at" | "waits", AnyPgColumn>;
/** An event waits in the queue for its first attempt. */
export const isQueued = ({ attempted_at, next_attempt_at, waits }: Waiting): SQL =>
  sql`${next_attempt_at} is not null and ${attempted_at} is null and not ${waits}`;
/** An event waits outside of the queue: for another attempt, or for an earlier event of its object. */
export const isHeld = ({ attempted_at, next_attempt_at, waits }: Waiting): SQL =>
  sql`${next_attempt_at} is not null and (${attempted_at} is not null or ${waits})`;
/** An event waits for another attempt. */
export const isRepeated = ({ attempted_at, next_attempt_at }: Waiting): SQL =>
  sql`${next_attempt_at} is not null and ${attempted_at} is not null`;

/** One occurrence for one endpoint. The body is written once and never made again (WHK-06). */
export const webhookEvents = pgTable(
  "webhook_events",
  {
    id: uuid().notNull(),
    organization_id: text().notNull(),
    endpoint_id: uuid().notNull(),
    event_id: uuid().notNull(),
    /** The occurrence's own number: the order of emission, whatever order the fan-out ran in. */
    seq: bigint({ mode: "number" }).notNull(),
    ...stamps(),
    type: text().notNull(),
    /** Secret tokens in it are sealed. */
    payload: text(),
    /** Null until final: true once an attempt succeeded, false when the attempts are used up (WHK-11). */
    succeeded: boolean(),
    skipped: boolean().notNull().default(false),
    is_archived: boolean().notNull().default(false),
    /** Attempts of this round; a redelivery begins a new one. */
    attempts: integer().notNull().default(0),
    attempted_at: instant(),
    /** The object that it tells of: its events are sent in their order (WHK-13). Null: its order does not matter. */
    object_id: text(),
    /** When a repeated attempt is due; a first attempt has its turn in the queue. Null: nothing to do. */
    next_attempt_at: instant(),
    /** Whether an earlier event of the same object is attempted again, so that this one must wait. */
    waits: boolean().notNull().default(false),
    /** Counts redeliveries, so that a sender notices one while it sends. */
    round: integer().notNull().default(0),
    /** When it was last asked for again; such an event delays no other of its object. */
    requeued_at: instant(),
    last_http_code: integer(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.endpoint_id, webhookEndpoints, "cascade"),
    references(table.event_id, events, "cascade"),
    uniqueIndex("webhook_events_once").on(table.organization_id, table.event_id, table.endpoint_id),
    index("webhook_events_order").on(table.organization_id, table.endpoint_id, table.seq),
    index("webhook_events_queue").on(table.organization_id, table.endpoint_id, table.seq).where(isQueued(table)),
    index("webhook_events_held")
      .on(table.organization_id, table.endpoint_id, table.object_id, table.seq)
      .where(isHeld(table)),
    index("webhook_events_repeated")
      .on(table.organization_id, table.endpoint_id, table.next_attempt_at)
      .where(isRepeated(table)),
    index("webhook_events_age").on(table.organization_id, table.created_at).where(sql`not ${table.is_archived}`),
  ],
);

/** One attempt, and what came of it. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    id: uuid().notNull(),
    organization_id: text().notNull(),
    endpoint_id: uuid().notNull(),
    webhook_event_id: uuid().notNull(),
    ...stamps(),
    succeeded: boolean().notNull(),
    http_code: integer(),
    response: text(),
    /** Until the answer, or until there was none; null for attempts from before it was measured. */
    duration_ms: integer(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.endpoint_id, webhookEndpoints, "cascade"),
    references(table.webhook_event_id, webhookEvents, "cascade"),
    index("webhook_deliveries_list").on(table.organization_id, table.created_at),
    index("webhook_deliveries_event").on(table.organization_id, table.webhook_event_id),
  ],
);

/** Sending the events of an endpoint again, from a time on, in the order in which they happened. */
export const webhookReplays = pgTable(
  "webhook_replays",
  {
    ...owned(),
    endpoint_id: uuid().notNull(),
    since: instant().notNull(),
    /** Null: of every type. */
    types: jsonb().$type<EventType[]>(),
    failed_only: boolean().notNull(),
    /** How many events it was about when it began, and how many of them are in the queue or were. */
    total: integer().notNull(),
    requeued: integer().notNull().default(0),
    /** The number of the last event that was put in the queue, and of the last one that it is about. */
    last_seq: bigint({ mode: "number" }).notNull(),
    until_seq: bigint({ mode: "number" }).notNull(),
    /** When the next events have their turn; null: it is over. */
    due_at: instant(),
    stopped_at: instant(),
    finished_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.endpoint_id, webhookEndpoints, "cascade"),
    index("webhook_replays_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    uniqueIndex("webhook_replays_open")
      .on(table.organization_id, table.endpoint_id)
      .where(sql`${table.finished_at} is null`),
  ],
);
