import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { instant, ownedKey, references } from "../lib/columns.ts";
import { owned } from "../organizations/tables.ts";
import { payments } from "../payments/tables.ts";
import type { RefundOutcome } from "../processors/processor.ts";

/** Money that goes back to a buyer. Its id is the processor's idempotency key, so it is written before the processor is asked. */
export const refunds = pgTable(
  "refunds",
  {
    ...owned(),
    status: text().$type<RefundOutcome["status"]>().notNull().default("pending"),
    /** Why it goes back: it was taken although nothing was due. */
    origin: text().$type<"surplus">().notNull(),
    amount: integer().notNull(),
    currency: text().notNull(),
    payment_id: uuid().notNull(),
    processor_id: text(),
    failure_reason: text(),
    /** When the processor is to be asked for it, or what became of it; null when that is known for good. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.payment_id, payments),
    // Surplus money goes back once.
    uniqueIndex("refunds_of_surplus")
      .on(table.organization_id, table.payment_id)
      .where(sql`${table.origin} = 'surplus'`),
    index("refunds_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);
