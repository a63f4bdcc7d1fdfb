import { index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "../db/columns.ts";
import type { Card, Decline, Dispute, IntentStatus, ProcessorEvent, RefundOutcome } from "./processor.ts";

/** Test cards as tokens: what kind, and what is to happen; never a number. */
export const testTokens = pgTable("test_tokens", {
  id: text().primaryKey(),
  scenario: text().notNull(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** What the test processor's intents and set-ups have in common. */
const attempt = () => ({
  organization_id: text().notNull(),
  id: text().notNull().unique(),
  client_secret: text().notNull().unique(),
  status: text().$type<IntentStatus>().notNull(),
  decline: jsonb().$type<Decline>(),
  scenario: text().notNull(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** The test processor's own books. One intent a payment: a repeated charge finds the first one. */
export const testIntents = pgTable("test_intents", {
  payment_id: uuid().primaryKey(),
  ...attempt(),
  amount: integer().notNull(),
  currency: text().notNull(),
  /** The card that is kept with the charge, once it has succeeded, and for whom. */
  method_id: text().unique(),
  customer_processor_id: text(),
});

/** Cards that it keeps for later charges without charging them: one row a set-up. */
export const testSetups = pgTable("test_setups", {
  setup_id: uuid().primaryKey(),
  ...attempt(),
  method_id: text().notNull().unique(),
  customer_processor_id: text().notNull(),
});

/** Money that it gave back. */
export const testRefunds = pgTable(
  "test_refunds",
  {
    id: text().primaryKey(),
    organization_id: text().notNull(),
    /** Ours; null where it was made at the processor itself. */
    refund_id: uuid().unique(),
    intent_id: text().notNull(),
    amount: integer().notNull(),
    reason: text(),
    status: text().$type<RefundOutcome["status"]>().notNull(),
    /** What becomes of it some time later. */
    later_status: text().$type<RefundOutcome["status"]>(),
    later_at: instant(),
    created_at: instant().notNull(),
  },
  (table) => [index("test_refunds_by_intent").on(table.intent_id)],
);

/** Charges that buyers went to their bank about. */
export const testDisputes = pgTable(
  "test_disputes",
  {
    id: text().primaryKey(),
    organization_id: text().notNull(),
    intent_id: text().notNull(),
    status: text().$type<Dispute["status"]>().notNull(),
    amount: integer().notNull(),
    reason: text().notNull(),
    evidence_due_at: instant().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [index("test_disputes_by_intent").on(table.intent_id)],
);

/** What it is going to tell, and when: a processor far away would send it. */
export const testEvents = pgTable(
  "test_events",
  {
    id: text().primaryKey(),
    organization_id: text().notNull(),
    event: jsonb().$type<ProcessorEvent>().notNull(),
    due_at: instant().notNull(),
  },
  (table) => [index("test_events_due").on(table.organization_id, table.due_at)],
);
