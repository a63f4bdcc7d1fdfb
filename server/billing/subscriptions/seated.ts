/** Who holds seats of subscriptions. */
import { and, desc, eq, inArray, isNotNull, ne, or } from "drizzle-orm";
import { productPrices } from "../../catalog/products/tables.ts";
import { customerSeats } from "../../entitlements/seats/tables.ts";
import type { Database } from "../../platform/context.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { MeterBalanceKey } from "../../usage/meters/balances-store.ts";
import { billable, type SubscriptionRow } from "./rules.ts";
import { subscriptionPrices, subscriptions } from "./tables.ts";

/** How many seats of a subscription are given. */
export const countSeated = (db: Database, { organization_id, id }: RowKey): Promise<number> =>
  db.$count(
    customerSeats,
    and(
      eq(customerSeats.organization_id, organization_id),
      eq(customerSeats.subscription_id, id),
      ne(customerSeats.status, "revoked"),
    ),
  );

/** The customers of their own who hold a seat of a subscription. */
export async function findHolders(
  db: Database,
  { organization_id, id, customer_id }: SubscriptionRow,
): Promise<string[]> {
  const rows = await db
    .select({ customer_id: customerSeats.customer_id })
    .from(customerSeats)
    .where(
      and(
        eq(customerSeats.organization_id, organization_id),
        eq(customerSeats.subscription_id, id),
        eq(customerSeats.status, "claimed"),
        ne(customerSeats.customer_id, customer_id),
      ),
    );
  return rows.flatMap((row) => row.customer_id ?? []);
}

/**
 * The subscriptions that may pay for what a customer uses of a meter, in the order in which they are asked (MTR-28): their own, the
 * first first; then those that they hold a seat of, the one that they have held longest first.
 */
export async function findPossiblePayers(
  db: Database,
  { organization_id, customer_id, meter_id }: MeterBalanceKey,
): Promise<string[]> {
  const isTheirs = eq(subscriptions.customer_id, customer_id);
  const isSeated = and(
    eq(customerSeats.organization_id, organization_id),
    eq(customerSeats.subscription_id, subscriptions.id),
    eq(customerSeats.customer_id, customer_id),
    eq(customerSeats.status, "claimed"),
  );
  const rows = await db
    .select({ id: subscriptions.id })
    .from(subscriptions)
    .innerJoin(subscriptionPrices, eq(subscriptionPrices.subscription_id, subscriptions.id))
    .innerJoin(productPrices, joinByKey(subscriptionPrices.product_price_id, productPrices))
    .leftJoin(customerSeats, isSeated)
    .where(
      and(
        eq(subscriptions.organization_id, organization_id),
        eq(subscriptionPrices.organization_id, organization_id),
        eq(productPrices.meter_id, meter_id),
        inArray(subscriptions.status, [...billable]),
        or(isTheirs, isNotNull(customerSeats.id)),
      ),
    )
    .orderBy(desc(isTheirs), customerSeats.claimed_at, subscriptions.started_at, subscriptions.id);
  return rows.map(({ id }) => id);
}

/** Whether a subscription is a customer's own. */
export const isOwn = async (
  db: Database,
  { organization_id, customer_id }: Pick<SubscriptionRow, "organization_id" | "customer_id">,
  id: string,
): Promise<boolean> =>
  (await db.$count(
    subscriptions,
    and(matchKey(subscriptions, { organization_id, id }), eq(subscriptions.customer_id, customer_id)),
  )) > 0;
