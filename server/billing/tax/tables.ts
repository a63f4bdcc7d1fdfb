import { sql } from "drizzle-orm";
import { index, pgTable, text, uniqueIndex } from "drizzle-orm/pg-core";
import type { Country } from "../../../shared/countries.ts";
import type { TaxScheme } from "../../../shared/tax.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey } from "../../platform/db/columns.ts";

/** Where a seller collects tax. Sales keep how they were taxed, so a registration can be changed and deleted. */
export const taxRegistrations = pgTable(
  "tax_registrations",
  {
    ...owned(),
    country: text().$type<Country>().notNull(),
    /** Of the states of the US and Canada, `US-NY`. */
    state: text(),
    scheme: text().$type<TaxScheme>().notNull(),
    /** The seller's number there, as it stands on invoices. */
    tax_id: text(),
    /** The seller's own rate in percent, in place of the table's. */
    rate: text(),
    starts_at: instant().notNull(),
    ends_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    uniqueIndex("tax_registrations_place").on(
      table.organization_id,
      table.country,
      sql`coalesce(${table.state}, '')`,
      table.scheme,
    ),
    index("tax_registrations_by_creation").on(table.organization_id, table.created_at, table.id),
  ],
);
