import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import type { CustomerSeat } from "../../../shared/api/seats.ts";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import { members } from "../../customers/members/tables.ts";
import { owned } from "../../identity/organizations/tables.ts";
import { instant, ownedKey, references } from "../../platform/db/columns.ts";

/** Seats that were given. One that was taken back is given again as the same row (SEAT-05). */
export const customerSeats = pgTable(
  "customer_seats",
  {
    ...owned(),
    subscription_id: uuid(),
    order_id: uuid(),
    status: text().$type<CustomerSeat["status"]>().notNull(),
    customer_id: uuid(),
    /** Whom of the team that has bought it is for; null where it is another customer's. */
    member_id: uuid(),
    /** Where the invitation went. */
    email: text(),
    /** Of the token of an invitation a keyed hash, and the token sealed, as it is sent again. */
    token_hash: text(),
    token: text(),
    /** By the clock of its seller. */
    invitation_token_expires_at: instant(),
    claimed_at: instant(),
    revoked_at: instant(),
    seat_metadata: jsonb().$type<CustomerSeat["seat_metadata"]>(),
    /** When the invitation is to be mailed; null once it is. */
    mail_due_at: instant(),
  },
  (table) => [
    ownedKey(table.id),
    references(table.subscription_id, subscriptions),
    references(table.order_id, orders),
    references(table.customer_id, customers),
    references(table.member_id, members),
    check("customer_seats_of_one", sql`num_nonnulls(${table.subscription_id}, ${table.order_id}) <= 1`),
    uniqueIndex("customer_seats_once_of_subscription")
      .on(table.organization_id, table.subscription_id, sql`coalesce(${table.member_id}, ${table.customer_id})`)
      .where(sql`${table.status} <> 'revoked' and ${table.subscription_id} is not null`),
    uniqueIndex("customer_seats_once_of_order")
      .on(table.organization_id, table.order_id, sql`coalesce(${table.member_id}, ${table.customer_id})`)
      .where(sql`${table.status} <> 'revoked' and ${table.order_id} is not null`),
    index("customer_seats_by_member").on(table.organization_id, table.member_id),
    index("customer_seats_by_customer").on(table.organization_id, table.customer_id),
    index("customer_seats_by_subscription").on(table.organization_id, table.subscription_id),
    index("customer_seats_by_order").on(table.organization_id, table.order_id),
    index("customer_seats_by_token").on(table.token_hash).where(sql`${table.token_hash} is not null`),
    index("customer_seats_due")
      .on(table.organization_id, table.mail_due_at)
      .where(sql`${table.mail_due_at} is not null`),
  ],
);
