import { and, inArray } from "drizzle-orm";
import {
  getPermissions,
  isBuiltInRole,
  isFixedRole,
  type Permissions,
  readRoles,
} from "../../../../shared/permissions.ts";
import type { Database } from "../../../platform/context.ts";
import { organizationRole } from "../tables.ts";

/** What roles permit, and which of them there are not. */
export type FoundRoles = { permissions: Permissions; unknown: string[] };

/** What roles permit in each of these organizations, and which of them it does not have. */
export async function findRolesOfEach(
  db: Database,
  organizationIds: readonly string[],
  role: string,
): Promise<Map<string, FoundRoles>> {
  const { organizationId, role: name, permission } = organizationRole;
  const named = readRoles(role).filter((one) => !isFixedRole(one));
  const own =
    named.length === 0 || organizationIds.length === 0
      ? []
      : await db
          .select({ organizationId, role: name, permission })
          .from(organizationRole)
          .where(and(inArray(organizationId, [...organizationIds]), inArray(name, named)));
  return new Map(
    organizationIds.map((id) => {
      const stored = own.filter((one) => one.organizationId === id);
      const roles = new Map(stored.map((one) => [one.role, JSON.parse(one.permission) as Permissions]));
      const unknown = named.filter((one) => !isBuiltInRole(one) && !roles.has(one));
      return [id, { permissions: getPermissions(role, roles), unknown }];
    }),
  );
}

/** The same of one organization. */
export async function findRoles(db: Database, organizationId: string, role: string): Promise<FoundRoles> {
  const found = (await findRolesOfEach(db, [organizationId], role)).get(organizationId);
  if (!found) throw new Error("The roles of an organization were not looked up.");
  return found;
}
