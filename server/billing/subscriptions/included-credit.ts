import { and, eq, sql } from "drizzle-orm";
import { benefitGrants } from "../../entitlements/grants/tables.ts";
import type { Database } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";

/** Whether a subscription has granted meter credit for a period that is not over. The grant can be revoked, or of a seat holder. */
export async function hasIncludedCredit(db: Database, { organization_id, id }: RowKey, now: Date): Promise<boolean> {
  const { properties } = benefitGrants;
  const count = await db.$count(
    benefitGrants,
    and(
      eq(benefitGrants.organization_id, organization_id),
      eq(benefitGrants.subscription_id, id),
      sql`(${properties} ->> 'last_credited_until')::timestamptz > ${now.toISOString()}::timestamptz`,
      sql`(${properties} ->> 'last_credited_units')::bigint > 0`,
    ),
  );
  return count > 0;
}
