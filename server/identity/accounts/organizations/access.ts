import { APIError, createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import { and, eq } from "drizzle-orm";
import { z } from "zod";
import { asRoleHeader } from "../../../../shared/as-role.ts";
import { limitPermissions, type Permissions } from "../../../../shared/permissions.ts";
import type { Database } from "../../../platform/context.ts";
import { findDenial } from "../identity/permissions-guard.ts";
import { findRoles } from "../identity/roles.ts";
import { member, team, teamMember } from "../tables.ts";

/** A person's place in an organization and what it permits, as it is now. */
export async function findMembership(db: Database, organizationId: string, userId: string) {
  const [row] = await db
    .select({ role: member.role })
    .from(member)
    .where(and(eq(member.organizationId, organizationId), eq(member.userId, userId)));
  if (!row) return undefined;
  return { role: row.role, permissions: (await findRoles(db, organizationId, row.role)).permissions };
}

/** What a member may do, and no more than the role that the request names. */
export async function limitToRole(
  db: Database,
  organizationId: string,
  permissions: Permissions,
  role: string | undefined,
): Promise<Permissions> {
  if (role === undefined) return permissions;
  const found = await findRoles(db, organizationId, role);
  if (found.unknown.length > 0)
    throw new APIError("BAD_REQUEST", {
      code: "ROLE_NOT_FOUND",
      message: `Role not found: ${found.unknown.join(", ")}`,
    });
  return limitPermissions(permissions, found.permissions);
}

const rejectNoOrganization = () =>
  new APIError("BAD_REQUEST", { code: "NO_ACTIVE_ORGANIZATION", message: "No active organization" });
const permissionMap = z.record(z.string(), z.array(z.string()));

/**
 * Two endpoints in place of better-auth's own. Its `has-permission` asks each role of a member by itself, so that two
 * roles never permit together what `/v1` permits, and says nothing of the reason; its list of a team's members is closed
 * to those who manage the team without being in it.
 */
export const createOrganizationEndpoints = (db: Database) => ({
  hasPermission: createAuthEndpoint(
    "/organization/has-permission",
    {
      method: "POST",
      requireHeaders: true,
      use: [sessionMiddleware],
      body: z.object({
        organizationId: z.string().optional(),
        permissions: permissionMap.optional(),
        permission: permissionMap.optional(),
        /** All of them (the default), or any. */
        connector: z.enum(["AND", "OR"]).optional(),
      }),
    },
    async (ctx) => {
      const { user, session } = ctx.context.session;
      const { permission, permissions = permission, connector } = ctx.body;
      if (!permissions || (permission && ctx.body.permissions))
        throw new APIError("BAD_REQUEST", {
          code: "VALIDATION_ERROR",
          message: "Invalid body parameters",
          detail: "permissions: name what is asked for",
        });
      const organizationId = ctx.body.organizationId ?? readActive(session).organization;
      if (!organizationId) throw rejectNoOrganization();
      const membership = await findMembership(db, organizationId, user.id);
      if (!membership)
        throw new APIError("FORBIDDEN", {
          code: "USER_IS_NOT_A_MEMBER_OF_THE_ORGANIZATION",
          message: "User is not a member of the organization",
        });
      const role = ctx.headers.get(asRoleHeader) ?? undefined;
      const held = await limitToRole(db, organizationId, membership.permissions, role);
      const error = findDenial(held, permissions, connector) ?? null;
      return ctx.json({ error, success: error === null });
    },
  ),
  listTeamMembers: createAuthEndpoint(
    "/organization/list-team-members",
    {
      method: "GET",
      requireHeaders: true,
      use: [sessionMiddleware],
      query: z.object({ teamId: z.string().optional() }).optional(),
    },
    async (ctx) => {
      const { user, session } = ctx.context.session;
      const teamId = ctx.query?.teamId ?? readActive(session).team;
      if (!teamId)
        throw new APIError("BAD_REQUEST", {
          code: "YOU_DO_NOT_HAVE_AN_ACTIVE_TEAM",
          message: "You do not have an active team",
        });
      const [found] = await db.select({ organizationId: team.organizationId }).from(team).where(eq(team.id, teamId));
      const membership = found && (await findMembership(db, found.organizationId, user.id));
      // To a stranger a team of another organization does not exist.
      if (!membership) throw new APIError("NOT_FOUND", { code: "TEAM_NOT_FOUND", message: "Team not found" });
      const members = await db
        .select({
          id: teamMember.id,
          teamId: teamMember.teamId,
          userId: teamMember.userId,
          createdAt: teamMember.createdAt,
        })
        .from(teamMember)
        .where(eq(teamMember.teamId, teamId))
        .orderBy(teamMember.createdAt, teamMember.id);
      const inside = members.some(({ userId }) => userId === user.id);
      const manages = findDenial(membership.permissions, { team: ["update"] }) === undefined;
      if (!inside && !manages)
        throw new APIError("FORBIDDEN", {
          code: "USER_IS_NOT_A_MEMBER_OF_THE_TEAM",
          message: "User is not a member of the team",
        });
      return ctx.json(members);
    },
  ),
});

/** What a session has active; better-auth's own type of a session does not name these. */
export function readActive(session: Record<string, unknown>): { organization?: string; team?: string } {
  const { activeOrganizationId, activeTeamId } = session;
  return {
    ...(typeof activeOrganizationId === "string" ? { organization: activeOrganizationId } : {}),
    ...(typeof activeTeamId === "string" ? { team: activeTeamId } : {}),
  };
}
