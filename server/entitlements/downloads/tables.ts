import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { benefits } from "../../catalog/benefits/tables.ts";
import { files } from "../../catalog/files/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/** Which files a customer may download, by which benefit, and how often they have (BEN-21). */
export const downloadables = pgTable(
  "downloadables",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    benefit_id: uuid().notNull(),
    file_id: uuid().notNull(),
    status: text().$type<"granted" | "revoked">().notNull(),
    downloads: integer().notNull().default(0),
    last_downloaded_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.benefit_id, benefits),
    references(table.file_id, files),
    uniqueIndex("downloadables_once").on(table.organization_id, table.customer_id, table.benefit_id, table.file_id),
    index("downloadables_by_file").on(table.organization_id, table.file_id),
  ],
);
