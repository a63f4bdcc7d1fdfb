import { integer, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { instant } from "../lib/columns.ts";
import type { Card, Intent } from "./processor.ts";

/** Test cards as tokens: what kind, and what is to happen; never a number. */
export const testTokens = pgTable("test_tokens", {
  id: text().primaryKey(),
  scenario: text().notNull(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});

/** Notices that were heard, by the processor's own id: one that is sent again is not heard twice. */
export const processorNotices = pgTable("processor_notices", {
  id: text().primaryKey(),
  payment_id: uuid().notNull(),
  created_at: instant().notNull(),
});

/** The test processor's own books. One intent a payment: a repeated charge finds the first one. */
export const testIntents = pgTable("test_intents", {
  payment_id: uuid().primaryKey(),
  id: text().notNull().unique(),
  client_secret: text().notNull().unique(),
  status: text().$type<Intent["status"]>().notNull(),
  amount: integer().notNull(),
  currency: text().notNull(),
  decline: jsonb().$type<NonNullable<Intent["decline"]>>(),
  card: jsonb().$type<Card>().notNull(),
  created_at: instant().notNull(),
});
