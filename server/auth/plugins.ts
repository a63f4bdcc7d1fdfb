import { admin, anonymous, deviceAuthorization, username } from "better-auth/plugins";
import type { Deps } from "../lib/context.ts";
import type { Mail } from "../lib/mail.ts";
import { guardedBearer } from "./bearer.ts";
import { compat } from "./compat.ts";
import type { KeepsBooks } from "./deletion.ts";
import { isKnownClient } from "./device.ts";
import { guessingLimits } from "./limits-guessing.ts";
import { organizations } from "./organizations.ts";
import { organizationGuards } from "./organizations-guards.ts";
import { platformGuards, platformRoles } from "./platform.ts";
import { social } from "./social.ts";

/** What better-auth is asked to do beyond e-mail and password. The order matters: guards come first. */
export const pluginsOf = (deps: Deps, keepsBooks: KeepsBooks, mailLater: (mail: Mail) => void) => {
  const { config } = deps;
  return [
    guardedBearer(),
    platformGuards(deps, keepsBooks),
    guessingLimits(deps),
    compat(deps.clock),
    organizationGuards(deps),
    social(deps),
    username(),
    anonymous(),
    admin({ ...platformRoles, adminUserIds: config.admin_user_ids }),
    organizations(deps, keepsBooks, mailLater),
    deviceAuthorization({ verificationUri: `${config.url}/device`, validateClient: isKnownClient }),
  ];
};
