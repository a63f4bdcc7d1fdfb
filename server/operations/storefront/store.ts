import { and, asc, isNull, sql } from "drizzle-orm";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database } from "../../platform/context.ts";

/** A page with more sellers would be read by nobody. */
const sellersMax = 10;

/** The sellers in good standing that switched their storefront on, the oldest first. */
export const listStorefrontSellers = (db: Database): Promise<OrganizationRow[]> =>
  db
    .select()
    .from(organization)
    .where(
      and(
        isNull(organization.blocked_at),
        isNull(organization.held_at),
        sql`${organization.feature_settings} @> '{"storefront_enabled": true}'`,
      ),
    )
    .orderBy(asc(organization.createdAt), asc(organization.id))
    .limit(sellersMax);
