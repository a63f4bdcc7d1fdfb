import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { customers } from "../customers/customers/tables.ts";
import { members } from "../customers/members/tables.ts";
import { owned } from "../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../platform/db/columns.ts";

/**
 * Somebody has asked for a code to sign in. Whether there is such a customer is found out later, so that who asks is answered
 * alike whatever the answer; then the code is made and mailed, and there is a keyed hash of it here (CUP-08, CUP-09). A link
 * to a new address of a customer is kept likewise (CUP-15), and a link of a mail once it was used (CUP-28).
 */
export const portalCodes = pgTable(
  "portal_codes",
  {
    ...owned(),
    /** What it opens: a session, or the way to another address of the customer's. A `used_link` opens nothing any more. */
    purpose: text().$type<"sign_in" | "email" | "used_link">().notNull(),
    /** Where it is sent to, as it was typed. */
    email: text().notNull(),
    customer_id: uuid(),
    /** Whom of a team it is for. */
    member_id: uuid(),
    code_hash: text(),
    /** A keyed hash of what the browser that asked keeps; null where it keeps nothing. */
    request_hash: text(),
    /** How many wrong codes were tried while this one was good. */
    tries: integer().notNull().default(0),
    /** When the mail is to be written; null once it is. */
    due_at: instant(),
    /** By the server's clock. */
    expires_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.member_id, members),
    index("portal_codes_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    index("portal_codes_by_hash").on(table.code_hash),
    index("portal_codes_by_request").on(table.request_hash),
    index("portal_codes_by_email").on(sql`lower(${table.email})`),
    index("portal_codes_by_customer").on(table.organization_id, table.customer_id),
    index("portal_codes_by_end").on(table.expires_at),
  ],
);
