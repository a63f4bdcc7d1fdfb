import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Address } from "../../../shared/addresses.ts";
import type { Customer } from "../../../shared/api/customers.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, metadata, ownedKey, searchIndex } from "../../platform/db/columns.ts";

/** Who buys. Deleting keeps the row, because orders and payments go on naming it (CUS-18). */
export const customers = pgTable(
  "customers",
  {
    ...owned(),
    deleted_at: instant(),
    type: text().$type<Customer["type"]>().notNull().default("individual"),
    external_id: text(),
    /** In its one spelling; compared in lower case (CUS-01). A team may have none. */
    email: text(),
    email_verified: boolean().notNull().default(false),
    /** Counts changes to another address, so that what was mailed to an earlier one stays void. */
    email_version: integer().notNull().default(0),
    name: text(),
    billing_name: text(),
    billing_address: jsonb().$type<Address>(),
    tax_id: jsonb().$type<NonNullable<Customer["tax_id"]>>(),
    locale: text(),
    default_payment_method_id: uuid(),
    first_user_event_at: instant(),
    metadata: metadata(),
    /** What `external_id` was before the deletion freed it (CUS-17). */
    deleted_external_id: text(),
    anonymized_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("customers_email")
      .on(table.organization_id, sql`lower(${table.email})`)
      .where(sql`${table.deleted_at} is null`),
    uniqueIndex("customers_external_id").on(table.organization_id, table.external_id),
    // A user's, of all sellers.
    index("customers_by_external_id").on(table.external_id),
    index("customers_by_creation")
      .on(table.organization_id, table.created_at, table.id)
      .where(sql`${table.deleted_at} is null`),
    // Of those who were deleted, too: orders are sorted by it.
    index("customers_by_email").on(table.organization_id, table.email, table.id),
    index("customers_by_name").on(table.organization_id, table.name, table.id).where(sql`${table.deleted_at} is null`),
    // The beginning of an external id is looked for here, too: an ordinary index finds it only where texts sort by bytes.
    searchIndex("customers_search", table.email, table.name, table.external_id),
    index("customers_metadata").using("gin", sql`${table.metadata} jsonb_path_ops`),
  ],
);
