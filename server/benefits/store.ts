import { and, eq, inArray, isNull } from "drizzle-orm";
import type { Database } from "../lib/context.ts";
import type { BenefitRow } from "./rules.ts";
import { benefits } from "./tables.ts";

const living = (organization_id: string) =>
  and(eq(benefits.organization_id, organization_id), isNull(benefits.deleted_at));

/** These benefits of an organization that were not deleted, in no order. */
export async function findBenefits(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<BenefitRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(benefits)
    .where(and(living(organization_id), inArray(benefits.id, [...ids])));
}
