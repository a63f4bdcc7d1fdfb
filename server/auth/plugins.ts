import type { Deps } from "../lib/context.ts";
import { guardedBearer } from "./bearer.ts";
import { compat } from "./compat.ts";
import type { KeepsBooks } from "./deletion.ts";
import { devices } from "./device-plugin.ts";
import { guests } from "./guests.ts";
import type { IdentifyCustomer } from "./identify.ts";
import { guessingLimits } from "./limits-guessing.ts";
import { organizations } from "./organizations.ts";
import { organizationGuards } from "./organizations-guards.ts";
import type { PasswordRecipe } from "./passwords.ts";
import { passwordGuard } from "./passwords-guard.ts";
import { administration, platformGuards } from "./platform.ts";
import { social } from "./social.ts";
import { usernames } from "./usernames.ts";
import type { AccountWork } from "./work.ts";

/** What accounts ask of the rest of the server. */
export type AuthOptions = {
  keepsBooks: KeepsBooks;
  identifyCustomer: IdentifyCustomer;
  /** How passwords are kept, where that is not as well as this machine can: in tests, whose passwords nobody looks for. */
  passwordRecipe?: PasswordRecipe;
};

/** What better-auth is asked to do beyond e-mail and password. The order matters: guards come first. */
export const pluginsOf = (deps: Deps, { keepsBooks }: AuthOptions, work: AccountWork) => {
  const { config } = deps;
  return [
    guardedBearer(),
    platformGuards(deps, keepsBooks),
    devices(deps),
    guessingLimits(deps),
    compat(deps.clock),
    passwordGuard(),
    organizationGuards(deps),
    social(deps),
    usernames(),
    guests(deps),
    administration(config),
    organizations(deps, keepsBooks, work),
  ];
};
