import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, notInArray, sql } from "drizzle-orm";
import { orders } from "../../billing/orders/tables.ts";
import { payments } from "../../billing/payments/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { products } from "../../catalog/products/tables.ts";
import { checkoutLinks } from "../../checkout/links/tables.ts";
import { customers } from "../../customers/customers/tables.ts";
import type { Database } from "../../platform/context.ts";
import { joinByKey } from "../../platform/db/rows.ts";
import { customerMeters, meters } from "../../usage/meters/tables.ts";

const ordersMax = 10;
/** So many of the latest failed payments are searched for those whose order is unpaid. */
const failedPaymentsMax = 100;
const renewalsMax = 5;
const metersMax = 5;
/** More customers of a meter are not added up: the page is loaded often. */
const balancesMax = 5000;

const customer = { customer_id: customers.id, customer_name: customers.name, customer_email: customers.email };

/** The latest numbered orders. */
export const listLatestOrders = (db: Database, organization_id: string) =>
  db
    .select({ order: orders, product_name: products.name, ...customer })
    .from(orders)
    .innerJoin(customers, joinByKey(orders.customer_id, customers))
    .innerJoin(products, joinByKey(orders.product_id, products))
    .where(and(eq(orders.organization_id, organization_id), isNotNull(orders.invoice_number)))
    .orderBy(desc(orders.created_at), desc(orders.id))
    .limit(ordersMax);

/** The latest failed payments since a time whose orders are unpaid, newest first; an order may have several. */
export function listFailedPayments(db: Database, organization_id: string, since: Date) {
  const latest = db
    .select()
    .from(payments)
    .where(and(eq(payments.organization_id, organization_id), eq(payments.status, "failed")))
    .orderBy(desc(payments.id))
    .limit(failedPaymentsMax)
    .as("latest");
  return db
    .select({
      id: latest.id,
      created_at: latest.created_at,
      amount: latest.amount,
      currency: latest.currency,
      decline_reason: latest.decline_reason,
      order_id: orders.id,
      invoice_number: orders.invoice_number,
      next_payment_attempt_at: orders.next_payment_attempt_at,
      ...customer,
    })
    .from(latest)
    .innerJoin(orders, and(eq(orders.organization_id, latest.organization_id), eq(orders.id, latest.order_id)))
    .innerJoin(customers, joinByKey(orders.customer_id, customers))
    .where(and(gt(latest.created_at, since), notInArray(orders.status, ["paid", "refunded", "partially_refunded"])))
    .orderBy(desc(latest.created_at), desc(latest.id));
}

/** The subscriptions that renew next. */
export const listNextRenewals = (db: Database, organization_id: string, now: Date) =>
  db
    .select({
      id: subscriptions.id,
      status: subscriptions.status,
      amount: subscriptions.amount,
      currency: subscriptions.currency,
      current_period_end: subscriptions.current_period_end,
      product_name: products.name,
      ...customer,
    })
    .from(subscriptions)
    .innerJoin(customers, joinByKey(subscriptions.customer_id, customers))
    .innerJoin(products, joinByKey(subscriptions.product_id, products))
    .where(
      and(
        eq(subscriptions.organization_id, organization_id),
        gt(subscriptions.current_period_end, now),
        inArray(subscriptions.status, ["active", "trialing"]),
        eq(subscriptions.cancel_at_period_end, false),
        eq(subscriptions.pause_at_period_end, false),
      ),
    )
    .orderBy(asc(subscriptions.current_period_end), asc(subscriptions.id))
    .limit(renewalsMax);

/** Meters that add up, with the usage of the current periods. The usage of other meters has no sum over customers. */
export function listMeterUsage(db: Database, organization_id: string) {
  const balances = sql`(select ${customerMeters.consumed_units} as units from ${customerMeters}
    where ${customerMeters.organization_id} = ${meters.organization_id} and ${customerMeters.meter_id} = ${meters.id}
    limit ${balancesMax + 1})`;
  const usage = sql`lateral (select coalesce(sum(units), 0) as units, count(*) as customers from ${balances} balances)`;
  return db
    .select({
      id: meters.id,
      name: meters.name,
      consumed_units: sql<number>`usage.units`.mapWith(Number),
      customers: sql<number>`least(usage.customers, ${balancesMax})`.mapWith(Number),
      partial: sql<boolean>`usage.customers > ${balancesMax}`,
    })
    .from(meters)
    .innerJoin(sql`${usage} usage`, sql`true`)
    .where(
      and(
        eq(meters.organization_id, organization_id),
        isNull(meters.archived_at),
        sql`${meters.aggregation} ->> 'func' in ('count', 'sum')`,
      ),
    )
    .orderBy(asc(meters.name), asc(meters.id))
    .limit(metersMax);
}

/** Whether the organization has any product and any checkout link. */
export async function findCatalogState(db: Database, organization_id: string) {
  const selectExists = (table: typeof products | typeof checkoutLinks) =>
    sql<boolean>`exists (select 1 from ${table} where ${table.organization_id} = ${organization_id})`;
  const [row] = await db
    .select({ has_products: selectExists(products), has_checkout_links: selectExists(checkoutLinks) })
    .from(sql`(values (1)) as one`);
  return row ?? { has_products: false, has_checkout_links: false };
}
