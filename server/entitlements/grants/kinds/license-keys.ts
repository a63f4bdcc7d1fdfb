import type { KeyRow } from "../../license-keys/rules.ts";
import { getLimits, type KeyTerms } from "../../license-keys/rules.ts";
import { issueKey, withdrawKey } from "../../license-keys/service.ts";
import type { BenefitKind } from "./kind.ts";

/** What a grant says of its key. */
export const describeKey = ({ id, display_key }: KeyRow) => ({ license_key_id: id, display_key });

/** A license key, one for each grant: the key that somebody has lost comes back with what it is given by (BEN-33). */
export const licenseKeys: BenefitKind = {
  terms: (properties) => {
    const terms = properties as KeyTerms;
    // The prefix is of new keys alone.
    return { ...getLimits(terms), expires: terms.expires };
  },
  isRevokedAlone: true,
  async grant(tx, ctx, { row, benefit }) {
    const { organization_id, id: grant_id, customer_id, member_id, benefit_id, subscription_id } = row;
    const named = { organization_id, grant_id, customer_id, member_id, benefit_id };
    const terms = benefit.properties as KeyTerms;
    const key = await issueKey(tx, ctx, { ...named, isSubscribed: subscription_id !== null }, terms);
    return { properties: describeKey(key) };
  },
  async revoke(tx, ctx, { row }) {
    await withdrawKey(tx, ctx, row.organization_id, row.id);
    return row.properties;
  },
};
