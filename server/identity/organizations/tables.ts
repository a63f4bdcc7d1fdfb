import { sql } from "drizzle-orm";
import { bigint, boolean, index, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { z } from "zod";
import type {
  Organization,
  OrganizationBranding,
  OrganizationCustomerEmailSettings,
  OrganizationCustomerPortalSettings,
  OrganizationFeatureSettings,
  OrganizationInvoiceSettings,
  OrganizationLegalSettings,
  OrganizationNotificationSettings,
  OrganizationSubscriptionSettings,
  OrganizationUpdate,
} from "../../../shared/api/organizations.ts";
import type { Country } from "../../../shared/countries.ts";
import { instant, stamps } from "../../platform/db/columns.ts";

/**
 * An organization is one row for accounts and billing. The camelCase columns are the account side's own; the others are
 * billing's and have defaults, so that an organization is complete from the moment the account side inserts it. A group
 * of settings holds what was set; what is missing has the default that `rules.ts` names.
 */
export const organization = pgTable(
  "organization",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    slug: text().notNull(),
    logo: text(),
    metadata: text(),
    createdAt: instant().notNull(),
    modified_at: instant(),
    email: text(),
    website: text(),
    socials: jsonb().$type<Organization["socials"]>().notNull().default([]),
    status: text().$type<Organization["status"]>().notNull().default("created"),
    details: jsonb().$type<NonNullable<z.output<typeof OrganizationUpdate>["details"]>>(),
    details_submitted_at: instant(),
    country: text().$type<Country>(),
    default_presentment_currency: text().notNull().default("usd"),
    default_tax_behavior: text().$type<Organization["default_tax_behavior"]>().notNull().default("location"),
    feature_settings: jsonb().$type<Partial<z.output<typeof OrganizationFeatureSettings>>>().notNull().default({}),
    subscription_settings: jsonb()
      .$type<Partial<z.output<typeof OrganizationSubscriptionSettings>>>()
      .notNull()
      .default({}),
    notification_settings: jsonb()
      .$type<Partial<z.output<typeof OrganizationNotificationSettings>>>()
      .notNull()
      .default({}),
    customer_email_settings: jsonb()
      .$type<Partial<z.output<typeof OrganizationCustomerEmailSettings>>>()
      .notNull()
      .default({}),
    customer_portal_settings: jsonb()
      .$type<Partial<z.output<typeof OrganizationCustomerPortalSettings>>>()
      .notNull()
      .default({}),
    branding: jsonb().$type<Partial<z.output<typeof OrganizationBranding>>>().notNull().default({}),
    invoice_settings: jsonb().$type<Partial<z.output<typeof OrganizationInvoiceSettings>>>().notNull().default({}),
    legal_settings: jsonb().$type<Partial<z.output<typeof OrganizationLegalSettings>>>().notNull().default({}),
    dispute_settings: jsonb().$type<Partial<Organization["dispute_settings"]>>().notNull().default({}),
    embed_hosts: jsonb().$type<string[]>().notNull().default([]),
    customer_event_names: jsonb().$type<string[]>().notNull().default([]),
    sso_enforced: boolean().notNull().default(false),
    blocked_at: instant(),
    /** Since when it is held, because an archive is restored into it: no job of it runs, and it sells nothing (MOV-05). */
    held_at: instant(),
    /** Since when its money is held, because its books break a rule, and which: nothing is charged or refunded (RST-10). */
    money_held_at: instant(),
    money_held_reason: text(),
    /** Its id at hosted Polar, where that has what is sold in its name. */
    polar_id: text().unique(),
    /** How far the organization's clock is ahead of the server's, so that what falls due by the calendar can be tried. */
    clock_offset_ms: bigint({ mode: "number" }).notNull().default(0),
    /** Whether it was made to try things out: its cards are test cards whatever the server has, and its mail is kept. */
    sandbox: boolean().notNull().default(false),
    /** Where its clock is on the way to; null while it only goes on by itself. */
    clock_target: instant(),
    /** Until when, by the server's clock, one request alone works on what it has due, because it moves it through time. */
    clock_held_until: instant(),
  },
  (table) => [
    uniqueIndex("organization_slug").on(sql`lower(${table.slug})`),
    // The sellers of the storefront.
    index("organization_with_storefront")
      .on(table.createdAt, table.id)
      .where(sql`${table.blocked_at} is null and ${table.feature_settings} @> '{"storefront_enabled": true}'`),
    index("organization_with_held_money").on(table.id).where(sql`${table.money_held_at} is not null`),
    index("organization_with_own_clock").on(table.id).where(sql`${table.clock_offset_ms} <> 0`),
  ],
);

/** What every row begins with that belongs to an organization; it goes with its organization. Its key is `ownedKey`. */
export const owned = () => ({
  id: uuid().notNull(),
  organization_id: text()
    .notNull()
    .references(() => organization.id, { onDelete: "cascade" }),
  ...stamps(),
});
