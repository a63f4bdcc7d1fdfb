import { sql } from "drizzle-orm";
import { index, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { Member } from "../../../shared/api/members.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { customers } from "../customers/tables.ts";

/** The people of customers that are teams. Who leaves stays as a row, as grants and keys go on naming them. */
export const members = pgTable(
  "members",
  {
    ...owned(),
    deleted_at: instant(),
    customer_id: uuid().notNull(),
    /** As given; compared in lower case. */
    email: text().notNull(),
    name: text(),
    external_id: text(),
    role: text().$type<Member["role"]>().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    uniqueIndex("members_email")
      .on(table.organization_id, table.customer_id, sql`lower(${table.email})`)
      .where(sql`${table.deleted_at} is null`),
    uniqueIndex("members_external_id")
      .on(table.organization_id, table.customer_id, table.external_id)
      .where(sql`${table.deleted_at} is null`),
    uniqueIndex("members_one_owner")
      .on(table.organization_id, table.customer_id)
      .where(sql`${table.role} = 'owner' and ${table.deleted_at} is null`),
    index("members_by_creation").on(table.organization_id, table.created_at, table.id),
    index("members_of_customer").on(table.organization_id, table.customer_id, table.created_at, table.id),
    index("members_by_email").on(table.organization_id, sql`lower(${table.email})`),
  ],
);
