import { findWebPage } from "../../shared/destinations.ts";
import type { Checkout } from "../api.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { isTestMode } from "./Summary.tsx";

function Outside({ href, text }: { href: string | null | undefined; text: string }) {
  return (
    href && (
      <li>
        <a href={href} target="_blank" rel="noreferrer">
          {text}
        </a>
      </li>
    )
  );
}

/** Who sells, who takes the money, and where to ask. */
export function Trust({ checkout }: { checkout: Checkout }) {
  const { messages } = useI18n();
  const { organization, is_payment_form_required, is_payment_setup_required } = checkout;
  const { terms_url, privacy_url, imprint } = organization.legal_settings;
  const isStripe = Boolean(checkout.payment_processor_metadata.publishable_key);
  return (
    <div className="trust">
      <p>
        {messages.sold_by(organization.legal_name ?? organization.name)}
        {is_payment_form_required && ` ${is_payment_setup_required ? messages.saved_card : messages.card_safe}`}
        {isTestMode(checkout) && ` ${messages.test_mode}`}
      </p>
      {imprint && <p className="imprint">{imprint}</p>}
      <ul>
        {is_payment_form_required && (
          <li>
            <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
              <path d="M4.5 7V5a3.5 3.5 0 0 1 7 0v2" fill="none" stroke="currentColor" strokeWidth="1.5" />
              <rect x="3" y="7" width="10" height="7" rx="1.5" fill="currentColor" />
            </svg>
            {isStripe ? messages.payments_by("Stripe") : messages.payments_tested}
          </li>
        )}
        <Outside href={terms_url} text={messages.terms} />
        <Outside href={privacy_url} text={messages.privacy} />
        <Outside href={findWebPage(organization.website)?.href} text={messages.website} />
        {organization.email && (
          <li>
            <a href={`mailto:${organization.email}`}>{messages.contact}</a>
          </li>
        )}
        <li>{messages.powered}</li>
      </ul>
    </div>
  );
}
