import { sql } from "drizzle-orm";
import { getPermissions, getScopes, type Permissions } from "../../../../shared/permissions.ts";
import { expandScopes, type Scope } from "../../../../shared/scopes.ts";
import type { Membership, SellerTerms } from "../../../platform/context.ts";
import { organization } from "../../organizations/tables.ts";
import { member, organizationRole } from "../tables.ts";

type Stored = SellerTerms & { organization_id: string; role: string; own: Record<string, string> | null };

// What the organization's own roles of a member permit, by name and as they are stored.
const storedRoles = sql`(select json_object_agg(${organizationRole.role}, ${organizationRole.permission}) from ${organizationRole}
  where ${organizationRole.organizationId} = ${member.organizationId}
  and ${organizationRole.role} = any(string_to_array(${member.role}, ',')))`;

/** A person's organizations, for a query that joins `member` and `organization` and groups by the person. */
export const memberships = sql<Stored[]>`coalesce(
  json_agg(json_build_object(
    'organization_id', ${member.organizationId}, 'clock_offset_ms', ${organization.clock_offset_ms}, 'sandbox', ${organization.sandbox}, 'is_held', ${organization.held_at} is not null, 'is_money_held', ${organization.money_held_at} is not null, 'role', ${member.role}, 'own', ${storedRoles}) order by ${member.createdAt})
  filter (where ${member.id} is not null and ${organization.blocked_at} is null), '[]')`;

/** Memberships with what their roles give. */
export const readMemberships = (stored: readonly Stored[]): Membership[] =>
  stored.map(({ role, own, ...rest }) => {
    const ownRoles = Object.entries(own ?? {}).map(([name, text]) => [name, JSON.parse(text) as Permissions] as const);
    const permissions = getPermissions(role, new Map(ownRoles));
    return { ...rest, role, permissions, scopes: getScopes(permissions) };
  });

/** Of the scopes that are held, those that another set has, too. */
export const filterScopes = (held: ReadonlySet<Scope>, other: ReadonlySet<string>): Set<Scope> =>
  new Set([...held].filter((scope) => other.has(scope)));

/** Memberships for a sign-in that is limited to scopes: none of what their roles give beside the API is left. */
export function limitMemberships(all: readonly Membership[], given: Iterable<string>): Membership[] {
  const held = expandScopes(given);
  return all.map((one) => ({
    ...one,
    permissions: {},
    scopes: filterScopes(one.scopes, held),
  }));
}
