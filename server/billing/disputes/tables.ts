import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { DisputeStatus } from "../../../shared/api/disputes.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { orders } from "../orders/tables.ts";
import { payments } from "../payments/tables.ts";

/** A payment that the buyer's bank wants back, as the processor tells of it. */
export const disputes = pgTable(
  "disputes",
  {
    ...owned(),
    /** Null while it was only heard of, and the processor has not said yet what it is about. */
    status: text().$type<DisputeStatus>(),
    /** Without tax. */
    amount: integer().notNull().default(0),
    tax_amount: integer().notNull().default(0),
    currency: text().notNull(),
    reason: text(),
    evidence_due_by: instant(),
    order_id: uuid().notNull(),
    customer_id: uuid().notNull(),
    payment_id: uuid().notNull(),
    /** Of money that never paid the order: the order does not know of it. */
    is_surplus: boolean().notNull(),
    /** What the customer's balance lost as it was lost, and the tax in that. */
    balance_amount: integer().notNull().default(0),
    balance_tax_amount: integer().notNull().default(0),
    processor_id: text().notNull(),
    /** When the seller gave in; the processor is told until it has taken note. */
    accepted_at: instant(),
    /** When the processor is to be asked; null when nothing is to be asked for now. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    references(table.payment_id, payments),
    // Heard of once, however often.
    uniqueIndex("disputes_at_processor").on(table.organization_id, table.processor_id),
    index("disputes_by_creation").on(table.organization_id, table.created_at, table.id),
    index("disputes_by_order").on(table.organization_id, table.order_id),
    index("disputes_by_payment").on(table.organization_id, table.payment_id),
    index("disputes_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);
