import { sql } from "drizzle-orm";
import { boolean, check, index, integer, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { BenefitGrant } from "../../../shared/api/benefit-grants.ts";
import type { BenefitGrantProperties } from "../../../shared/api/benefits.ts";
import type { Platform } from "../../../shared/api/portal-accounts.ts";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { members } from "../../customers/members/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/**
 * What an account elsewhere is let into by what its customer has: a role of a guild, a repository. It is one row however many grants
 * give the same, and says what the other side is to be asked for next.
 */
export const grantAccesses = pgTable(
  "grant_accesses",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    platform: text().$type<Platform>().notNull(),
    account_number: text().notNull(),
    /** What it is let into, in the platform's words: guild and role, owner and name. */
    place: text().notNull(),
    /** What was asked for last, written before it was: null where there is nothing there for sure. */
    asked: text(),
    /** What the platform has said is given. */
    given: text(),
    /** Whether the account is put out of the guild with it. */
    kicks: boolean().notNull().default(false),
    /** Moves on with each change of what is wanted: an answer to what was asked before is not the last word. */
    turn: integer().notNull().default(0),
    /** Until when somebody is asking. */
    leased_until: instant(),
    attempts: integer().notNull().default(0),
    /** When to ask; null once both sides agree. */
    due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    uniqueIndex("grant_accesses_once").on(
      table.organization_id,
      table.platform,
      table.account_number,
      table.place,
      table.customer_id,
    ),
    index("grant_accesses_by_customer").on(table.organization_id, table.customer_id),
    index("grant_accesses_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
  ],
);

/**
 * What a customer was given of what they bought, once for each benefit and each subscription or order that gives it (BEN-06). The row
 * stays when it is taken back, and is granted again should they buy on. Neither granted nor revoked: it waits, or has failed.
 */
export const benefitGrants = pgTable(
  "benefit_grants",
  {
    ...owned(),
    customer_id: uuid().notNull(),
    /** Whom of a team it is for; null: the customer as such. */
    member_id: uuid(),
    benefit_id: uuid().notNull(),
    subscription_id: uuid(),
    order_id: uuid(),
    granted_at: instant(),
    revoked_at: instant(),
    error: jsonb().$type<NonNullable<BenefitGrant["error"]>>(),
    /** What its kind keeps of it. */
    properties: jsonb().$type<BenefitGrantProperties>().notNull().default({}),
    /** Of the benefit, what it was granted by: where that is another by now, the grant is to be updated. */
    terms: text(),
    /** What an account elsewhere is let into by it; null where nothing is, and of what is given here. */
    access_id: uuid(),
    /** What is told once that account is let in. */
    telling: text().$type<"created" | "updated">(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.customer_id, customers),
    references(table.member_id, members),
    references(table.benefit_id, benefits),
    references(table.subscription_id, subscriptions),
    references(table.order_id, orders),
    references(table.access_id, grantAccesses),
    uniqueIndex("benefit_grants_of_subscription")
      .on(
        table.organization_id,
        table.subscription_id,
        table.benefit_id,
        table.customer_id,
        sql`coalesce(${table.member_id}, ${table.customer_id})`,
      )
      .where(sql`${table.subscription_id} is not null`),
    uniqueIndex("benefit_grants_of_order")
      .on(
        table.organization_id,
        table.order_id,
        table.benefit_id,
        table.customer_id,
        sql`coalesce(${table.member_id}, ${table.customer_id})`,
      )
      .where(sql`${table.order_id} is not null`),
    index("benefit_grants_by_customer").on(table.organization_id, table.customer_id),
    index("benefit_grants_by_benefit").on(table.organization_id, table.benefit_id, table.created_at, table.id),
    index("benefit_grants_by_creation").on(table.organization_id, table.created_at, table.id),
    index("benefit_grants_by_grant").on(table.organization_id, table.granted_at, table.id),
    index("benefit_grants_by_revocation").on(table.organization_id, table.revoked_at, table.id),
    index("benefit_grants_by_access")
      .on(table.organization_id, table.access_id)
      .where(sql`${table.access_id} is not null`),
    check("benefit_grants_one_source", sql`num_nonnulls(${table.subscription_id}, ${table.order_id}) <= 1`),
    check("benefit_grants_one_state", sql`num_nonnulls(${table.granted_at}, ${table.revoked_at}) <= 1`),
    check(
      "benefit_grants_failed",
      sql`${table.error} is null or num_nonnulls(${table.granted_at}, ${table.revoked_at}) = 0`,
    ),
    check(
      "benefit_grants_let_in",
      sql`${table.access_id} is null or num_nonnulls(${table.error}, ${table.revoked_at}) = 0`,
    ),
    check("benefit_grants_telling", sql`${table.telling} is null or ${table.access_id} is not null`),
  ],
);

/** A subscription or an order whose grants are to be held against what it gives, at a time; one row for each. */
export const grantChecks = pgTable(
  "grant_checks",
  {
    ...owned(),
    subscription_id: uuid(),
    order_id: uuid(),
    due_at: instant().notNull(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.subscription_id, subscriptions),
    references(table.order_id, orders),
    uniqueIndex("grant_checks_of_subscription").on(table.organization_id, table.subscription_id),
    uniqueIndex("grant_checks_of_order").on(table.organization_id, table.order_id),
    index("grant_checks_due").on(table.organization_id, table.due_at),
    check("grant_checks_one_source", sql`num_nonnulls(${table.subscription_id}, ${table.order_id}) <= 1`),
  ],
);

/**
 * A product gives something else from now on, or a benefit has changed or is gone: everybody who has it is looked up, a slice at
 * a time, and what is to be looked at is noted in `grantChecks`. It goes on where it was broken off.
 */
export const grantRuns = pgTable(
  "grant_runs",
  {
    ...owned(),
    product_id: uuid(),
    benefit_id: uuid(),
    /** Transactions that began before may not have seen the change: once all below this are over, nobody is missed. */
    fence: text(),
    stage: text().$type<"subscriptions" | "orders">().notNull().default("subscriptions"),
    /** The last one that was noted. */
    cursor: uuid(),
    /** How many were noted so far. */
    noted: integer().notNull().default(0),
    /** When to go on; null once it is done, or while it is stopped. */
    due_at: instant(),
    /** Since when it waits because the seller has stopped it. */
    stopped_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.product_id, products),
    references(table.benefit_id, benefits),
    index("grant_runs_by_creation").on(table.organization_id, table.created_at, table.id),
    index("grant_runs_due").on(table.organization_id, table.due_at).where(sql`${table.due_at} is not null`),
    check("grant_runs_one_reason", sql`num_nonnulls(${table.product_id}, ${table.benefit_id}) <= 1`),
  ],
);
