import type { StripeElements, StripePaymentElement } from "@stripe/stripe-js";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import {
  allowedMethods,
  buildElementsOptions,
  type CollectedMethod,
  getLocale,
  openStripe,
  readAppearance,
  watchAppearance,
} from "../stripe.ts";
import { Button } from "./Button.tsx";
import { Notice } from "./Notice.tsx";

/** Turns the card entered into a token; a refusal comes back as a sentence for the buyer. */
export type StripeHandle = {
  token: (billing_details: object) => Promise<{ id: string } | { fault: string }>;
};
type Props = {
  publishable_key: string;
  checkout: CollectedMethod & { organization: { name: string } };
  /** Whether who pays is asked for here, and not by the page. */
  asks?: boolean;
  handle: RefObject<StripeHandle | null>;
  /** Id of the text that says why the card was refused. */
  faultId?: string | undefined;
};

/** Stripe's own card fields in Stripe's own frame, so that the card never reaches this page. */
export default function StripeCard({ publishable_key, checkout, asks = false, handle, faultId }: Props) {
  const { locale } = useI18n();
  const place = useRef<HTMLDivElement>(null);
  const elements = useRef<StripeElements | null>(null);
  const field = useRef<StripePaymentElement | null>(null);
  const [fault, setFault] = useState<string>();
  const [attempt, setAttempt] = useState(0);
  const { is_payment_required, is_payment_setup_required, total_amount, currency } = checkout;
  const first = useRef(checkout);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a further attempt opens it anew
  useEffect(() => {
    const undo: (() => void)[] = [];
    let gone = false;
    const open = async (): Promise<void> => {
      const stripe = await openStripe(publishable_key);
      const frame = place.current;
      if (gone || !frame) return;
      const collected = stripe.elements({
        ...buildElementsOptions(first.current),
        allowedPaymentMethodTypes: allowedMethods,
        appearance: readAppearance(frame),
        locale: getLocale(locale),
      });
      const card = collected.create("payment", {
        // They are asked for by this page, and sent along with the card.
        fields: { billingDetails: asks ? "auto" : "never" },
        business: { name: first.current.organization.name },
        // They stand above the form.
        wallets: { applePay: "never", googlePay: "never" },
        layout: "tabs",
      });
      card.on("loaderror", ({ error }) => setFault(error.message ?? "The card form could not be loaded."));
      card.mount(frame);
      undo.push(
        () => card.destroy(),
        watchAppearance(() => collected.update({ appearance: readAppearance(frame) })),
      );
      elements.current = collected;
      field.current = card;
      handle.current = {
        token: async (billing_details) => {
          const { error: unfinished } = await collected.submit();
          if (unfinished) return { fault: unfinished.message ?? "The card is not complete." };
          const params = { payment_method_data: { billing_details } };
          const { error, confirmationToken } = await stripe.createConfirmationToken({ elements: collected, params });
          return confirmationToken ? { id: confirmationToken.id } : { fault: error.message ?? "The card was refused." };
        },
      };
    };
    setFault(undefined);
    open().catch(() => setFault("The card form could not be loaded. Check your connection."));
    return () => {
      gone = true;
      handle.current = null;
      elements.current = null;
      field.current = null;
      for (const step of undo) step();
    };
  }, [publishable_key, handle, locale, attempt, asks]);

  useEffect(() => {
    const now = { is_payment_required, is_payment_setup_required, total_amount, currency };
    first.current = { ...first.current, ...now };
    void elements.current?.update(buildElementsOptions(now));
  }, [is_payment_required, is_payment_setup_required, total_amount, currency]);

  return (
    <>
      {fault && (
        <>
          <Notice tone="fault">{fault}</Notice>
          <Button quiet onClick={() => setAttempt((count) => count + 1)}>
            Try again
          </Button>
        </>
      )}
      {/* It takes the keyboard where the page leads it to the first fault, and hands it on to Stripe's frame. */}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would draw a border of its own */}
      <div
        ref={place}
        role="group"
        aria-label="Card"
        aria-invalid={faultId ? true : undefined}
        aria-describedby={faultId}
        tabIndex={-1}
        onFocus={({ target, currentTarget }) => target === currentTarget && field.current?.focus()}
        style={{ minHeight: fault ? undefined : "16rem" }}
      />
    </>
  );
}
