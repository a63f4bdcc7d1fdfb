import { integer, jsonb, pgTable, text, timestamp, uniqueIndex } from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import type { z } from "zod";
import type {
  OrganizationCustomerEmailSettings,
  OrganizationFeatureSettings,
  OrganizationNotificationSettings,
  OrganizationSubscriptionSettings,
} from "../../shared/api/organizations.ts";

/**
 * An organization is one row for accounts and billing. The camelCase columns are the account side's own; the others are
 * billing's and have defaults, so that an organization is complete from the moment the account side inserts it.
 */
export const organization = pgTable(
  "organization",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    slug: text().notNull(),
    logo: text(),
    metadata: text(),
    createdAt: timestamp({ withTimezone: true }).notNull(),
    modified_at: timestamp({ withTimezone: true }),
    email: text(),
    website: text(),
    socials: jsonb().$type<{ platform: string; url: string }[]>().notNull().default([]),
    status: text().notNull().default("created"),
    details_submitted_at: timestamp({ withTimezone: true }),
    country: text(),
    default_presentment_currency: text().notNull().default("usd"),
    feature_settings: jsonb().$type<Partial<z.output<typeof OrganizationFeatureSettings>>>().notNull().default({}),
    subscription_settings: jsonb().$type<Partial<z.output<typeof OrganizationSubscriptionSettings>>>().notNull().default({}),
    notification_settings: jsonb().$type<Partial<z.output<typeof OrganizationNotificationSettings>>>().notNull().default({}),
    customer_email_settings: jsonb().$type<Partial<z.output<typeof OrganizationCustomerEmailSettings>>>().notNull().default({}),
    invoice_next_number: integer().notNull().default(1),
    blocked_at: timestamp({ withTimezone: true }),
  },
  (table) => [uniqueIndex("organization_slug").on(sql`lower(${table.slug})`)],
);
