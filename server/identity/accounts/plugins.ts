import type { FastifyInstance } from "fastify";
import type { Deps } from "../../platform/context.ts";
import { createCompatGuards } from "./compat/guards.ts";
import { createDevicePlugin } from "./device/plugin.ts";
import type { Identify } from "./http/own-routes.ts";
import { createGuardedBearer } from "./identity/bearer.ts";
import type { IdentifyCustomer } from "./identity/identify.ts";
import { createStepUp } from "./identity/step-up.ts";
import { createGuessingLimits } from "./limits/guessing.ts";
import { createOrganizationGuards } from "./organizations/guards.ts";
import { createOrganizationPlugin } from "./organizations/plugin.ts";
import type { HasFinancialRecords } from "./people/deletion.ts";
import { createLinkGuards } from "./people/links.ts";
import { createAdministration, createPlatformGuards } from "./people/platform.ts";
import { createGuestPlugin } from "./sign-in/guests.ts";
import type { PasswordRecipe } from "./sign-in/passwords.ts";
import { createPasswordGuard } from "./sign-in/passwords-guard.ts";
import { createSocialSignIn } from "./sign-in/social.ts";
import { createUsernamePlugin } from "./sign-in/usernames.ts";
import type { AccountWork } from "./work.ts";

/** What accounts ask of the rest of the server. */
export type AuthOptions = {
  hasFinancialRecords: HasFinancialRecords;
  identifyCustomer: IdentifyCustomer;
  /** Routes of the audit log whose tables belong to a later context. */
  addSealedAuditRoutes: (scope: FastifyInstance, deps: Deps, identify: Identify) => void;
  /** How passwords are kept, where that is not as well as this machine can: in tests, whose passwords nobody looks for. */
  passwordRecipe?: PasswordRecipe;
};

/** What better-auth is asked to do beyond e-mail and password. The order matters: guards come first. */
export const createPlugins = (deps: Deps, { hasFinancialRecords }: AuthOptions, work: AccountWork) => {
  const { config } = deps;
  return [
    createGuardedBearer(),
    createPlatformGuards(deps, hasFinancialRecords),
    createDevicePlugin(deps),
    createGuessingLimits(deps),
    createCompatGuards(deps),
    createLinkGuards(deps, work),
    createStepUp(deps),
    createPasswordGuard(),
    createOrganizationGuards(deps),
    createSocialSignIn(deps),
    createUsernamePlugin(),
    createGuestPlugin(deps),
    createAdministration(config),
    createOrganizationPlugin(deps, hasFinancialRecords, work),
  ];
};
