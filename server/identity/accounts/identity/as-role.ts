/** Trying a role: a request that names one is made with what both the caller and the role may do, and never with more. */
import type { IncomingHttpHeaders } from "node:http";
import { asRoleHeader } from "../../../../shared/as-role.ts";
import { invalid } from "../../../../shared/errors.ts";
import {
  getScopes,
  isBuiltInRole,
  limitPermissions,
  type Permissions,
  readRoles,
} from "../../../../shared/permissions.ts";
import type { Database, Identity, Membership } from "../../../platform/context.ts";
import { filterScopes } from "./memberships.ts";
import { findRolesOfEach } from "./roles.ts";

const lengthMax = 255;
const rolesMax = 10;

/** The role that a request asks to be limited to, and the organization that it names. */
export type AskedRole = { role: string; organization_id?: string };

export function readAsRole(headers: IncomingHttpHeaders): AskedRole | undefined {
  const { [asRoleHeader]: role, "polar-organization": organization } = headers;
  if (typeof role !== "string") return undefined;
  return { role, ...(typeof organization === "string" && { organization_id: organization }) };
}

/** The refusal of a role that there is not; which roles other organizations have stays unknown. */
const rejectRole = (role: string) =>
  invalid({
    loc: ["header", asRoleHeader],
    msg: `There is no role "${role.slice(0, lengthMax)}" in this organization.`,
    type: "role_not_found",
    input: role.slice(0, lengthMax),
  });

/** What the role permits in each of these organizations; an organization that does not have it is left out. */
async function findPermissions(
  db: Database,
  organizations: readonly string[],
  role: string,
): Promise<Map<string, Permissions>> {
  const names = readRoles(role);
  if (names.length === 0 || names.length > rolesMax || role.length > lengthMax) throw rejectRole(role);
  const found = await findRolesOfEach(db, organizations, role);
  return new Map(
    [...found].flatMap(([id, { permissions, unknown }]) => (unknown.length > 0 ? [] : [[id, permissions] as const])),
  );
}

/** A membership with what the role leaves of it; with nothing where its organization has no such role. */
function limitMembership(membership: Membership, permissions: Permissions = {}): Membership {
  return {
    ...membership,
    permissions: limitPermissions(membership.permissions, permissions),
    scopes: filterScopes(membership.scopes, getScopes(permissions)),
  };
}

/**
 * The same identity with no more than a role may do in each organization. Who has no part in an organization has no role: a
 * customer stays one. Nothing of the identity that was given is changed, since several requests may share it.
 */
export async function limitIdentity(
  db: Database,
  identity: Identity,
  { role, organization_id }: AskedRole,
): Promise<Identity> {
  if (identity.kind === "key") {
    const permissions = (await findPermissions(db, [identity.organization_id], role)).get(identity.organization_id);
    if (!permissions) throw rejectRole(role);
    return { ...identity, as_role: role, scopes: filterScopes(identity.scopes, getScopes(permissions)) };
  }
  if (identity.kind !== "user" && identity.kind !== "personal_key") return identity;
  const { memberships } = identity;
  const ids = memberships.map(({ organization_id }) => organization_id);
  const found = await findPermissions(db, ids, role);
  const isUnknown = found.size === 0 && readRoles(role).some((name) => !isBuiltInRole(name));
  const isNamed = organization_id !== undefined && ids.includes(organization_id);
  if (isUnknown || (isNamed && !found.has(organization_id))) throw rejectRole(role);
  const narrowed = memberships.map((one) => limitMembership(one, found.get(one.organization_id)));
  return { ...identity, as_role: role, memberships: narrowed };
}
