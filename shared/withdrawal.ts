import { unionCountries } from "./tax.ts";

/** The text of the consent that the page shows. A change of its meaning in any language needs another version. */
export const withdrawalConsentVersion = "2026-11";

/**
 * Whether a buyer has to agree that delivery begins at once and ends the right of withdrawal: consumers in the European Union who
 * pay, as all that is sold is digital (Directive 2011/83/EU, article 16 m).
 */
export const requiresWithdrawalConsent = (
  country: string | null | undefined,
  {
    is_business_customer,
    is_payment_form_required,
  }: { is_business_customer: boolean; is_payment_form_required: boolean },
): boolean => is_payment_form_required && !is_business_customer && unionCountries.has(country ?? "");
