import type { Benefit } from "../../../../shared/api/benefits.ts";
import type { Platform } from "../../../../shared/api/portal-accounts.ts";
import type { BenefitRow } from "../../../catalog/benefits/rules.ts";
import { hashGrantTerms } from "../rules.ts";
import { discord } from "./discord.ts";
import { downloadables } from "./downloadables.ts";
import { defineOutsideKind, type ExternalProvider } from "./external.ts";
import { gitHubRepository } from "./github-repository.ts";
import type { BenefitKind } from "./kind.ts";
import { licenseKeys } from "./license-keys.ts";
import { meterCredit } from "./meter-credit.ts";

/** What is said or switched on needs nothing done. */
const plain: BenefitKind = { grant: async () => ({ properties: {} }) };
/** What nobody here can open. */
const impossible: BenefitKind = { grant: async () => ({ action_required: "This server cannot grant it." }) };

export const kinds: Readonly<Record<Benefit["type"], BenefitKind>> = {
  custom: plain,
  feature_flag: plain,
  downloadables,
  license_keys: licenseKeys,
  meter_credit: meterCredit,
  discord: defineOutsideKind(discord),
  github_repository: defineOutsideKind(gitHubRepository),
  slack_shared_channel: impossible,
};

/** What a grant of a benefit depends on now, as one value. */
export function getTerms({ type, properties }: BenefitRow): string | null {
  const { terms } = kinds[type];
  return terms ? hashGrantTerms(terms(properties)) : null;
}

/** How a platform gives what it gives. */
export const getExternalProvider: Readonly<Record<Platform, ExternalProvider>> = { discord, github: gitHubRepository };
