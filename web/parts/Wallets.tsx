import type { StripeElements } from "@stripe/stripe-js";
import { useEffect, useRef, useState } from "react";
import type { Checkout } from "../api.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { allowedMethods, buildElementsOptions, getLocale, openStripe, readAppearance } from "../stripe.ts";
import { GhostLine } from "./Ghost.tsx";

/** Who pays, as their wallet tells, and the token that stands for its card. */
export type WalletPayer = {
  name: string;
  email: string | undefined;
  address: Record<string, string | null>;
  token: () => Promise<{ id: string } | { fault: string }>;
};
type Props = {
  publishable_key: string;
  checkout: Checkout;
  /** Whether all that no wallet tells is there; where it is not, the page says so instead of opening the wallet. */
  ready: () => boolean;
  /** Pays; false where nothing was charged. */
  pay: (payer: WalletPayer) => Promise<boolean>;
};

/**
 * Apple Pay and Google Pay, where the browser has them. Their place is kept while Stripe finds out, and is taken by what is said
 * of the card where there are none, so that nothing below it ever moves.
 */
export default function Wallets({ publishable_key, checkout, ready, pay }: Props) {
  const { messages, locale } = useI18n();
  const place = useRef<HTMLDivElement>(null);
  const elements = useRef<StripeElements | null>(null);
  const [isThere, setThere] = useState<boolean>();
  const { is_payment_required, is_payment_setup_required, total_amount, currency } = checkout;
  const latest = useRef({ checkout, ready, pay, failed: messages.wallet_failed });
  useEffect(() => {
    latest.current = { checkout, ready, pay, failed: messages.wallet_failed };
  });

  useEffect(() => {
    let gone = false;
    let close = (): void => undefined;
    const open = async (): Promise<void> => {
      const stripe = await openStripe(publishable_key);
      const frame = place.current;
      if (gone || !frame) return;
      const { checkout: first } = latest.current;
      const collected = stripe.elements({
        ...buildElementsOptions(first),
        allowedPaymentMethodTypes: allowedMethods,
        appearance: readAppearance(frame),
        locale: getLocale(locale),
      });
      const buttons = collected.create("expressCheckout", {
        business: { name: first.organization.name },
        emailRequired: first.customer_id === null || first.customer_email === null,
        billingAddressRequired: true,
        buttonHeight: 48,
        layout: { maxColumns: 2, maxRows: 1 },
        paymentMethods: { amazonPay: "never", klarna: "never", link: "never", paypal: "never" },
      });
      buttons.on("ready", ({ availablePaymentMethods }) => setThere(availablePaymentMethods !== undefined));
      buttons.on("loaderror", () => setThere(false));
      buttons.on("click", (event) => (latest.current.ready() ? event.resolve({}) : event.reject()));
      buttons.on("confirm", async (event) => {
        const { billingDetails } = event;
        const createToken = async () => {
          const { error: unfinished } = await collected.submit();
          if (unfinished) return { fault: unfinished.message ?? latest.current.failed };
          const { error, confirmationToken } = await stripe.createConfirmationToken({ elements: collected });
          return confirmationToken ? { id: confirmationToken.id } : { fault: error.message ?? latest.current.failed };
        };
        const { name = "", email, address = {} } = billingDetails ?? {};
        const isPaid = await latest.current.pay({ name, email, address: { ...address }, token: createToken });
        if (!isPaid) event.paymentFailed({ reason: "fail" });
      });
      buttons.mount(frame);
      elements.current = collected;
      close = () => buttons.destroy();
    };
    // Without Stripe there are no wallets, and the card form says why.
    open().catch(() => setThere(false));
    return () => {
      gone = true;
      elements.current = null;
      close();
    };
  }, [publishable_key, locale]);

  useEffect(() => {
    const now = { is_payment_required, is_payment_setup_required, total_amount, currency };
    void elements.current?.update(buildElementsOptions(now));
  }, [is_payment_required, is_payment_setup_required, total_amount, currency]);

  return (
    <div className="wallets">
      <div ref={place} />
      {isThere === undefined && <GhostLine width="100%" height="3rem" />}
      {isThere && <p className="or">{messages.or_by_card}</p>}
      {isThere === false && (
        <p className="none">
          {messages.payments_by("Stripe")}. {messages.card_safe}
        </p>
      )}
    </div>
  );
}
