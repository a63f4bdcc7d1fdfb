import { index, integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "../lib/columns.ts";
import type { Card, Decline, Intent, RefundOutcome, SetupOutcome } from "./processor.ts";

/** Test cards as tokens: what kind, and what is to happen; never a number. */
export const testTokens = pgTable("test_tokens", {
  id: text().primaryKey(),
  scenario: text().notNull(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** The test processor's own books. One intent a payment: a repeated charge finds the first one. */
export const testIntents = pgTable("test_intents", {
  payment_id: uuid().primaryKey(),
  organization_id: text().notNull(),
  id: text().notNull().unique(),
  client_secret: text().notNull().unique(),
  status: text().$type<Intent["status"]>().notNull(),
  amount: integer().notNull(),
  currency: text().notNull(),
  decline: jsonb().$type<Decline>(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** Cards that it keeps for later charges: one row a set-up. */
export const testSetups = pgTable("test_setups", {
  setup_id: uuid().primaryKey(),
  id: text().notNull().unique(),
  client_secret: text().notNull().unique(),
  customer_processor_id: text().notNull(),
  status: text().$type<SetupOutcome["status"]>().notNull(),
  decline: jsonb().$type<Decline>(),
  method_id: text().notNull().unique(),
  scenario: text().notNull(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** Money that it gave back. One row a refund. */
export const testRefunds = pgTable(
  "test_refunds",
  {
    refund_id: uuid().primaryKey(),
    id: text().notNull().unique(),
    intent_id: text().notNull(),
    amount: integer().notNull(),
    status: text().$type<RefundOutcome["status"]>().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [index("test_refunds_by_intent").on(table.intent_id)],
);
