import { APIError } from "better-auth/api";
import { type OrganizationOptions, organization } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { and, eq } from "drizzle-orm";
import { organizationRoles, statements } from "../../../../shared/permissions.ts";
import type { Deps } from "../../../platform/context.ts";
import { listMissing, removePrototype } from "../identity/permissions-guard.ts";
import { findRoles } from "../identity/roles.ts";
import { writeInvitationMail } from "../mails.ts";
import {
  deleteOrganization as deleteWithAll,
  type HasFinancialRecords,
  leaveActiveOrganization,
} from "../people/deletion.ts";
import { session } from "../tables.ts";
import { type AccountWork, wrapInTransaction } from "../work.ts";
import { createOrganizationEndpoints, findMembership } from "./access.ts";
import { membersMax, pendingInvitationsMax, rolesMax, teamsMax } from "./storage.ts";

const invitationLifetimeSeconds = 48 * 60 * 60;

const isMutable = <T extends Record<string, readonly string[]>>(permissions: T) =>
  removePrototype(
    Object.fromEntries(Object.entries(permissions).map(([resource, actions]) => [resource, [...actions]])),
  );
const access = createAccessControl(isMutable(statements));
const roles = {
  owner: access.newRole(isMutable(organizationRoles.owner)),
  admin: access.newRole(isMutable(organizationRoles.admin)),
  support: access.newRole(isMutable(organizationRoles.support)),
  viewer: access.newRole(isMutable(organizationRoles.viewer)),
  member: access.newRole(isMutable(organizationRoles.member)),
};

const rejectNotPending = (status: string) =>
  new APIError("BAD_REQUEST", { code: "INVITATION_NOT_PENDING", message: `This invitation is already ${status}.` });

/** Refuse a move that an invitation cannot make: it is answered or canceled once, and in time. */
export function checkInvitation({ status, expiresAt }: { status: string; expiresAt: Date }, now: Date): void {
  if (status !== "pending") throw rejectNotPending(status);
  if (expiresAt <= now)
    throw new APIError("BAD_REQUEST", {
      code: "INVITATION_EXPIRED",
      message: "This invitation has expired. Ask for a new one.",
    });
}

/** better-auth's organizations: their members, invitations, teams and roles, with what it leaves open closed. */
export function createOrganizationPlugin(
  deps: Deps,
  hasFinancialRecords: HasFinancialRecords,
  { here, mail }: Pick<AccountWork, "here" | "mail">,
) {
  const plugin = organization(buildOrganizationOptions(deps, hasFinancialRecords, here, mail));
  const { createOrganization, createInvitation, acceptInvitation, removeMember, deleteOrganization } = plugin.endpoints;
  // An endpoint under the name of one of the plugin's takes its place.
  return {
    ...plugin,
    endpoints: {
      ...plugin.endpoints,
      ...createOrganizationEndpoints(deps.db),
      // An organization has its owner, an invitation its mail, and an accepted one its member, or neither exists.
      createOrganization: wrapInTransaction(createOrganization),
      createInvitation: wrapInTransaction(createInvitation),
      acceptInvitation: wrapInTransaction(acceptInvitation),
      removeMember: wrapInTransaction(removeMember),
      deleteOrganization: wrapInTransaction(deleteOrganization),
    },
  };
}

/** What is done beside better-auth's own writes is done `here`, in the transaction that it has open. */
function buildOrganizationOptions(
  deps: Deps,
  hasFinancialRecords: HasFinancialRecords,
  here: AccountWork["here"],
  sendMail: AccountWork["mail"],
) {
  const { config, clock } = deps;
  return {
    ac: access,
    roles,
    creatorRole: "owner",
    membershipLimit: membersMax,
    invitationLimit: pendingInvitationsMax,
    invitationExpiresIn: invitationLifetimeSeconds,
    requireEmailVerificationOnInvitation: config.FLOE_EMAIL_VERIFICATION !== "off",
    dynamicAccessControl: { enabled: true, maximumRolesPerOrganization: rolesMax },
    teams: {
      enabled: true,
      defaultTeam: { enabled: false },
      maximumTeams: teamsMax,
      allowRemovingAllTeams: true,
    },
    sendInvitationEmail: async ({ id, email, organization: { name }, inviter }) =>
      sendMail(writeInvitationMail(email, name, inviter.user.name, `${config.url}/accept-invitation?id=${id}`)),
    organizationHooks: {
      beforeCancelInvitation: async ({ invitation: { status } }) => {
        if (status !== "pending") throw rejectNotPending(status);
      },
      // What somebody may not give any more, the invitation that they sent while they could does not give either.
      beforeAcceptInvitation: async ({ invitation: { inviterId, organizationId, role } }) => {
        const inviter = await findMembership(here(), organizationId, inviterId);
        if (!inviter)
          throw new APIError("BAD_REQUEST", {
            code: "INVITER_IS_NO_LONGER_A_MEMBER_OF_THE_ORGANIZATION",
            message: "Inviter is no longer a member of the organization",
          });
        const { permissions, unknown } = await findRoles(here(), organizationId, role);
        if (unknown.length > 0 || listMissing(inviter.permissions, permissions).length > 0)
          throw new APIError("BAD_REQUEST", {
            code: "INVITATION_ROLE_NOT_AVAILABLE",
            message: "The role of this invitation can no longer be given. Ask for a new one.",
          });
      },
      beforeDeleteOrganization: ({ organization: { id } }) =>
        deleteWithAll({ ...deps, db: here() }, hasFinancialRecords, id),
      afterDeleteTeam: async ({ team: { id } }) => {
        await here().update(session).set({ activeTeamId: null }).where(eq(session.activeTeamId, id));
      },
      afterRemoveTeamMember: async ({ teamMember: { teamId, userId } }) => {
        const theirs = and(eq(session.activeTeamId, teamId), eq(session.userId, userId));
        await here().update(session).set({ activeTeamId: null }).where(theirs);
      },
      beforeRejectInvitation: async ({ invitation }) => checkInvitation(invitation, clock.now()),
      afterRemoveMember: ({ member: { organizationId, userId } }) =>
        leaveActiveOrganization(here(), organizationId, userId),
    },
  } satisfies OrganizationOptions;
}
