import type { CustomerOrganization, CustomerPortalCustomer } from "../../shared/api/portal.ts";
import type { CustomerRow } from "../customers/customers/rules.ts";
import type { AccountRow } from "../customers/linked-accounts/store.ts";
import { type OrganizationRow, serializeOrganization } from "../identity/organizations/rules.ts";

/** A customer as they see themselves, with the accounts that they have shown to be theirs. */
export function serializePortalCustomer(row: CustomerRow, accounts: readonly AccountRow[]): CustomerPortalCustomer {
  const { id, created_at, modified_at, type, email, email_verified, name, locale, tax_id } = row;
  const { billing_name, billing_address, default_payment_method_id } = row;
  const person = { id, created_at, modified_at, type, email, email_verified, name, locale, tax_id };
  const oauth_accounts = Object.fromEntries(
    accounts.map(({ platform, account_number, username }) => [
      `${platform}:${account_number}`,
      { account_id: account_number, account_username: username },
    ]),
  );
  return { ...person, billing_name, billing_address, default_payment_method_id, oauth_accounts };
}

/** A seller as their customers see it. */
export function serializePortalOrganization(row: OrganizationRow): CustomerOrganization {
  const whole = serializeOrganization(row);
  const { member_model_enabled, checkout_localization_enabled } = whole.feature_settings;
  return { ...whole, organization_features: { member_model_enabled, checkout_localization_enabled } };
}

/** Letters and digits that a code is made of. */
const codeLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
export const codeLength = 6;

/** A code out of random bytes, or nothing where too few of them can be used: every letter is equally likely. */
export function drawCode(bytes: Uint8Array): string | undefined {
  const usable = 256 - (256 % codeLetters.length);
  const letters = [...bytes].filter((byte) => byte < usable).map((byte) => codeLetters[byte % codeLetters.length]);
  return letters.length < codeLength ? undefined : letters.slice(0, codeLength).join("");
}

/** A code as people type it: letters of any size, with spaces and dashes. */
export const readCode = (typed: string): string => typed.toUpperCase().replace(/[\s-]/g, "");
