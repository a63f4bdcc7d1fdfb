import { admin, anonymous, bearer, deviceAuthorization, organization, username } from "better-auth/plugins";
import { createAccessControl } from "better-auth/plugins/access";
import { organizationRoles, statements } from "../../shared/permissions.ts";
import type { Deps } from "../lib/context.ts";
import type { Mail } from "../lib/mail.ts";
import { compat } from "./compat.ts";
import { isKnownClient } from "./device.ts";
import { invitationMail } from "./mails.ts";
import { social } from "./social.ts";

/** The platform's roles (section 6): exactly these, without better-auth's `set-email`. */
const platform = createAccessControl({
  user: ["create", "list", "set-role", "ban", "impersonate", "delete", "set-password", "get", "update"],
  session: ["list", "revoke", "delete"],
} as const);
const platformRoles = {
  admin: platform.newRole({
    user: ["create", "list", "set-role", "ban", "impersonate", "delete", "set-password", "get", "update"],
    session: ["list", "revoke", "delete"],
  }),
  user: platform.newRole({ user: [], session: [] }),
};

const mutable = <T extends Record<string, readonly string[]>>(permissions: T) =>
  Object.fromEntries(Object.entries(permissions).map(([resource, actions]) => [resource, [...actions]]));
const access = createAccessControl(mutable(statements));
const roles = {
  owner: access.newRole(mutable(organizationRoles.owner)),
  admin: access.newRole(mutable(organizationRoles.admin)),
  member: access.newRole(mutable(organizationRoles.member)),
};

/** What better-auth is asked to do beyond e-mail and password. The order matters: guards come first. */
export const pluginsOf = (deps: Deps, mailLater: (mail: Mail) => void) => {
  const { config } = deps;
  return [
    compat(deps.clock),
    social(config),
    bearer(),
    username(),
    anonymous(),
    admin({ ac: platform, roles: platformRoles, defaultRole: "user", adminUserIds: config.admin_user_ids }),
    organization({
      ac: access,
      roles,
      creatorRole: "owner",
      dynamicAccessControl: { enabled: true },
      teams: { enabled: true, defaultTeam: { enabled: false } },
      // Its orders are somebody's books: nothing here may take them away.
      disableOrganizationDeletion: true,
      requireEmailVerificationOnInvitation: true,
      sendInvitationEmail: async ({ id, email, organization: { name }, inviter }) =>
        mailLater(invitationMail(email, name, inviter.user.name, `${config.url}/accept-invitation?id=${id}`)),
    }),
    deviceAuthorization({ verificationUri: `${config.url}/device`, validateClient: isKnownClient }),
  ];
};
