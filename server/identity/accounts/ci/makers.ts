/** What the person who made a CI rule may do now. */
import { and, eq, isNull, lte, ne, or } from "drizzle-orm";
import type { Scope } from "../../../../shared/scopes.ts";
import type { Database } from "../../../platform/context.ts";
import { organization } from "../../organizations/tables.ts";
import { memberships, readMemberships } from "../identity/memberships.ts";
import { ciRules, member, user } from "../tables.ts";

/** The scopes of the person who made a rule, in its organization; undefined where they may do nothing there any more. */
export async function findMakerScopes(
  db: Database,
  organization_id: string,
  rule_id: string,
  now: Date,
): Promise<ReadonlySet<Scope> | undefined> {
  const [row] = await db
    .select({ memberships })
    .from(ciRules)
    .innerJoin(user, eq(user.id, ciRules.user_id))
    .innerJoin(member, and(eq(member.userId, user.id), eq(member.organizationId, ciRules.organization_id)))
    .innerJoin(organization, eq(organization.id, member.organizationId))
    .where(
      and(
        eq(ciRules.organization_id, organization_id),
        eq(ciRules.id, rule_id),
        or(ne(user.banned, true), isNull(user.banned), lte(user.banExpires, now)),
      ),
    )
    .groupBy(user.id);
  return readMemberships(row?.memberships ?? [])[0]?.scopes;
}
