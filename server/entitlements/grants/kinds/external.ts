import type { BenefitGrantProperties } from "../../../../shared/api/benefits.ts";
import type { Platform } from "../../../../shared/api/portal-accounts.ts";
import type { BenefitRow } from "../../../catalog/benefits/rules.ts";
import { findAccount } from "../../../customers/linked-accounts/store.ts";
import { platformNames } from "../../../customers/linked-accounts/vendors.ts";
import type { Deps } from "../../../platform/context.ts";
import { createId } from "../../../platform/ids.ts";
import { type AccessRow, openAccess, releaseAccess } from "../accesses.ts";
import type { BenefitKind } from "./kind.ts";

/** A benefit that another service gives. Its calls are made outside of transactions, and each may be repeated. */
export type ExternalProvider = {
  platform: Platform;
  type: BenefitRow["type"];
  /** Where an account is let in, as one text, and the part of it that is left where somebody is put out altogether. */
  placeOf(properties: BenefitRow["properties"]): string;
  wholeOf(place: string): string;
  /** As what: the later of `forms` have all of those before. */
  formOf(properties: BenefitRow["properties"]): string;
  forms: readonly string[];
  /** Whether who loses it is put out altogether. */
  kicks(properties: BenefitRow["properties"]): boolean;
  /** What the grant shows of it once it is given. */
  properties(benefit: BenefitRow, account_number: string): BenefitGrantProperties;
  /** Let the account in. Rejects with ExternalBusyError or ExternalRefusedError if it is not; so does `take`, if the account may still be in. */
  give(deps: Deps, access: AccessRow, form: string): Promise<void>;
  take(deps: Deps, access: AccessRow, isKicked: boolean): Promise<void>;
};

/** The name of the sweep that asks other services, as it is woken. */
export const accessWorkerName = "grants.settle_accesses";

/** What is said where a customer has shown no account. */
export const describeMissingAccount = (platform: Platform): string =>
  `The customer needs to connect their ${platformNames[platform]} account`;

/** The same as one of the kinds: within a transaction it is only noted what another service is to be asked for. */
export const defineOutsideKind = ({ platform, placeOf, formOf, kicks }: ExternalProvider): BenefitKind => ({
  // Who is put out with it, and who is not, matters once it is taken (BEN-66, BEN-74).
  terms: (properties) => [placeOf(properties), formOf(properties)],
  // Two that give the same are one to the other service, which is asked when the last one goes.
  isRevokedAlone: true,
  async grant(tx, { clock, jobs }, { row, benefit }) {
    const now = clock.now();
    const { organization_id, customer_id, access_id } = row;
    const account = await findAccount(tx, row, platform);
    const access =
      account &&
      (await openAccess(tx, {
        id: createId(now),
        organization_id,
        created_at: now,
        customer_id,
        platform,
        account_number: account.account_number,
        place: placeOf(benefit.properties),
      }));
    jobs.wake(tx, accessWorkerName);
    if (access_id !== null && access_id !== access?.id)
      await releaseAccess(tx, { organization_id, id: access_id }, now, kicks(benefit.properties));
    if (!access) return { action_required: describeMissingAccount(platform) };
    return { access_id: access.id, properties: { account_id: access.account_number } };
  },
  async revoke(tx, { clock, jobs }, { row, benefit }) {
    const { organization_id, access_id, properties } = row;
    jobs.wake(tx, accessWorkerName);
    if (access_id !== null)
      await releaseAccess(tx, { organization_id, id: access_id }, clock.now(), kicks(benefit.properties));
    // Whose account it was is all that is kept (BEN-65).
    return properties.account_id ? { account_id: properties.account_id } : {};
  },
});
