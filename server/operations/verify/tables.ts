import { bigint, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { organization } from "../../identity/organizations/tables.ts";
import { instant } from "../../platform/db/columns.ts";
import type { Breach } from "./rules.ts";

/** How far the books of an organization were checked while it sells, and what was found (RST-10). */
export const bookChecks = pgTable("book_checks", {
  organization_id: text()
    .primaryKey()
    .references(() => organization.id, { onDelete: "cascade" }),
  /** The last event whose change was checked. Both are 0 where none was. */
  xid: bigint({ mode: "bigint" }).notNull(),
  seq: bigint({ mode: "number" }).notNull(),
  /** Nobody checks it before this time of the server's clock: another process does, or it has just been done. */
  rests_until: instant(),
  /** The process's mark on the row while it checks: an id for each time. */
  lease: uuid(),
  /** Why money is held, with the customers whose rows it is about. */
  held: jsonb().$type<{ customers: string[]; breaches: Breach[] }>(),
  /** What an operator has seen and accepted: it does not hold money again. */
  accepted: jsonb().$type<string[]>().notNull().default([]),
});
