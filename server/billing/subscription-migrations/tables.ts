import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { SubscriptionMigrationItem } from "../../../shared/api/subscription-migrations.ts";
import { products } from "../../catalog/products/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";
import { subscriptions } from "../subscriptions/tables.ts";

/** A move of all subscribers of a product to another product, or to its present prices. */
export const subscriptionMigrations = pgTable(
  "subscription_migrations",
  {
    ...owned(),
    from_product_id: uuid().notNull(),
    to_product_id: uuid().notNull(),
    /** The prices that everybody moves to, in all currencies: later prices of the product do not change what was announced. */
    price_ids: jsonb().$type<string[]>().notNull(),
    notify_days: integer().notNull(),
    /** When the search for subscriptions goes on; null: it is over, stopped or undone. */
    due_at: instant(),
    /** The last subscription that was found. */
    cursor: uuid(),
    stopped_at: instant(),
    undone_at: instant(),
    /** When the last subscription was dealt with. */
    finished_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.from_product_id, products),
    references(table.to_product_id, products),
    index("subscription_migrations_due")
      .on(table.organization_id, table.due_at)
      .where(sql`${table.due_at} is not null`),
    index("subscription_migrations_by_time").on(table.organization_id, table.created_at, table.id),
    uniqueIndex("subscription_migrations_open")
      .on(table.organization_id, table.from_product_id)
      .where(sql`${table.finished_at} is null`),
  ],
);

/** A subscription of a move. */
export const subscriptionMigrationItems = pgTable(
  "subscription_migration_items",
  {
    ...owned(),
    migration_id: uuid().notNull(),
    subscription_id: uuid().notNull(),
    state: text().$type<SubscriptionMigrationItem["state"]>().notNull(),
    reason: text().$type<NonNullable<SubscriptionMigrationItem["reason"]>>(),
    /** The prices that were paid when the subscription was found: who pays others by now has changed. */
    from_price_ids: jsonb().$type<string[]>().notNull(),
    currency: text().notNull(),
    old_amount: integer().notNull(),
    new_amount: integer(),
    notified_at: instant(),
    /** The first moment at which the new price may be charged. */
    not_before: instant(),
    applies_at: instant(),
    /** The scheduled change of the subscription that this item wrote. */
    pending_id: uuid(),
    due_at: instant(),
    finished_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.migration_id, subscriptionMigrations, "cascade"),
    references(table.subscription_id, subscriptions, "cascade"),
    index("subscription_migration_items_due")
      .on(table.organization_id, table.due_at)
      .where(sql`${table.due_at} is not null`),
    index("subscription_migration_items_by_state").on(table.organization_id, table.migration_id, table.state, table.id),
    uniqueIndex("subscription_migration_items_open")
      .on(table.organization_id, table.subscription_id)
      .where(sql`${table.finished_at} is null`),
    index("subscription_migration_items_by_subscription").on(table.organization_id, table.subscription_id),
  ],
);
export type MigrationRow = typeof subscriptionMigrations.$inferSelect;
export type ItemRow = typeof subscriptionMigrationItems.$inferSelect;
