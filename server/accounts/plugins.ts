import type { Deps } from "../lib/context.ts";
import { compat } from "./compat/guards.ts";
import { devices } from "./device/plugin.ts";
import { guardedBearer } from "./identity/bearer.ts";
import type { IdentifyCustomer } from "./identity/identify.ts";
import { guessingLimits } from "./limits/guessing.ts";
import { organizationGuards } from "./organizations/guards.ts";
import { organizations } from "./organizations/plugin.ts";
import type { KeepsBooks } from "./people/deletion.ts";
import { administration, platformGuards } from "./people/platform.ts";
import { guests } from "./sign-in/guests.ts";
import type { PasswordRecipe } from "./sign-in/passwords.ts";
import { passwordGuard } from "./sign-in/passwords-guard.ts";
import { social } from "./sign-in/social.ts";
import { usernames } from "./sign-in/usernames.ts";
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
