import { and, eq, ne, sql } from "drizzle-orm";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import type { Database } from "../../platform/context.ts";
import { matchKey } from "../../platform/db/rows.ts";
import type { CreditGround, CreditPeriod, CreditPool } from "./credit-rules.ts";
import type { GrantRow } from "./rules.ts";
import { benefitGrants } from "./tables.ts";

/** The period and the seats of what a grant is of. An order has no period. */
async function findSource(db: Database, { organization_id, subscription_id, order_id }: GrantRow) {
  if (subscription_id === null) {
    const key = { organization_id, id: order_id ?? "" };
    const [row] = await db.select({ seats: orders.seats }).from(orders).where(matchKey(orders, key));
    return { seats: row?.seats ?? null, period: null };
  }
  const { current_period_start, current_period_end, current_meter_period_start, current_meter_period_end, seats } =
    subscriptions;
  const [row] = await db
    .select({
      seats,
      starts_at: sql`coalesce(${current_meter_period_start}, ${current_period_start})`.mapWith(current_period_start),
      ends_at: sql`coalesce(${current_meter_period_end}, ${current_period_end})`.mapWith(current_period_end),
    })
    .from(subscriptions)
    .where(matchKey(subscriptions, { organization_id, id: subscription_id }));
  if (!row) throw new Error(`The subscription ${subscription_id} of a grant is gone.`);
  return { seats: row.seats, period: { starts_at: row.starts_at, ends_at: row.ends_at } };
}

/** What the other seats of a purchase have of the same credit, and what former holders used of it in this period. */
async function findPool(
  db: Database,
  { id, organization_id, subscription_id, order_id, benefit_id }: GrantRow,
  seats: number,
  since: Date | undefined,
): Promise<CreditPool> {
  const { properties, revoked_at, granted_at } = benefitGrants;
  const credited_at = sql`(${properties} ->> 'last_credited_at')::timestamptz`;
  const used = sql`(${properties} ->> 'last_credited_units')::bigint - (${properties} ->> 'last_revoked_units')::bigint`;
  const isOfPeriod = since === undefined ? sql`true` : sql`${credited_at} >= ${since.toISOString()}::timestamptz`;
  const [row] = await db
    .select({
      granted: sql`count(${granted_at})`.mapWith(Number),
      used: sql`coalesce(sum(${used}) filter (where ${revoked_at} is not null and ${isOfPeriod}), 0)`.mapWith(Number),
    })
    .from(benefitGrants)
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        subscription_id === null
          ? eq(benefitGrants.order_id, order_id ?? "")
          : eq(benefitGrants.subscription_id, subscription_id),
        eq(benefitGrants.benefit_id, benefit_id),
        ne(benefitGrants.id, id),
      ),
    );
  return { seats, granted: row?.granted ?? 0, used: row?.used ?? 0 };
}

/** The period that a grant of credit is for now. */
export const findCreditPeriod = async (db: Database, row: GrantRow): Promise<CreditPeriod | null> =>
  (await findSource(db, row)).period;

/** What decides how many units a grant of credit credits now (BEN-56). */
export async function findCreditGround(db: Database, row: GrantRow): Promise<CreditGround> {
  const { seats, period } = await findSource(db, row);
  return { period, pool: seats === null ? null : await findPool(db, row, seats, period?.starts_at) };
}
