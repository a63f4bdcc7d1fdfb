import { sql } from "drizzle-orm";
import { index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { instant } from "../../platform/db/columns.ts";

/**
 * The seals of the audit log. Each covers some entries of one chain, and names the seal before it by its hash (AUD-01). A chain is
 * an organization, or the accounts. It has no foreign key, because it stays when the organization is deleted.
 */
export const auditSeals = pgTable(
  "audit_seals",
  {
    /** The id of the organization; `accounts` for entries of no organization. */
    chain: text().notNull(),
    /** Counts from 1 without a gap. */
    number: integer().notNull(),
    previous_hash: text().notNull(),
    entries: integer().notNull(),
    first_id: uuid().notNull(),
    last_id: uuid().notNull(),
    /** The hash over the hashes of the entries, in the order of their ids. */
    entries_hash: text().notNull(),
    sealed_at: instant().notNull(),
    hash: text().notNull(),
    /** When the entries were removed because of their age. The seal stays, so that the chain can still be verified. */
    removed_at: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.chain, table.number] }),
    index("audit_seals_kept").on(table.sealed_at).where(sql`${table.removed_at} is null`),
  ],
);

/** Which seal covers an entry, and the hash of the entry. */
export const auditSealed = pgTable(
  "audit_sealed",
  {
    entry_id: uuid().notNull(),
    chain: text().notNull(),
    number: integer().notNull(),
    hash: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.chain, table.number, table.entry_id] }),
    uniqueIndex("audit_sealed_entry").on(table.entry_id),
  ],
);
