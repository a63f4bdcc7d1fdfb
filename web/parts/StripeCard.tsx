import { type RefObject, useEffect, useRef, useState } from "react";
import type { Checkout } from "../api.ts";
import { elementsOptions, openStripe } from "../stripe.ts";
import { Notice } from "./Notice.tsx";

/** Turns the card entered into a token; a refusal comes back as a sentence for the buyer. */
export type StripeHandle = {
  token: (billing_details: object) => Promise<{ id: string } | { fault: string }>;
};
type Props = { publishable_key: string; checkout: Checkout; handle: RefObject<StripeHandle | null> };

/** Stripe's own card fields in Stripe's own frame, so that the card never reaches this page. */
export default function StripeCard({ publishable_key, checkout, handle }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const elements = useRef<{ update(options: object): void } | null>(null);
  const [fault, setFault] = useState<string>();
  const { is_payment_required, total_amount, currency } = checkout;
  const first = useRef(checkout);

  useEffect(() => {
    let gone = false;
    let destroy = (): void => {};
    openStripe(publishable_key)
      .then((stripe) => {
        if (gone || !place.current) return;
        const dark = getComputedStyle(place.current).colorScheme === "dark";
        const collected = stripe.elements({
          ...elementsOptions(first.current),
          appearance: { theme: dark ? "night" : "stripe" },
        });
        const card = collected.create("payment", { fields: { billingDetails: "never" } });
        card.mount(place.current);
        destroy = () => card.destroy();
        elements.current = collected;
        handle.current = {
          token: async (billing_details) => {
            const { error: unfinished } = await collected.submit();
            if (unfinished) return { fault: unfinished.message ?? "The card is not complete." };
            const params = { payment_method_data: { billing_details } };
            const { error, confirmationToken } = await stripe.createConfirmationToken({ elements: collected, params });
            return confirmationToken
              ? { id: confirmationToken.id }
              : { fault: error?.message ?? "The card was refused." };
          },
        };
      })
      .catch((error: Error) => setFault(error.message));
    return () => {
      gone = true;
      handle.current = null;
      destroy();
    };
  }, [publishable_key, handle]);

  useEffect(() => {
    elements.current?.update(elementsOptions({ is_payment_required, total_amount, currency }));
  }, [is_payment_required, total_amount, currency]);

  return (
    <>
      {fault && <Notice tone="fault">{fault}</Notice>}
      <div ref={place} style={{ minHeight: "16rem" }} />
    </>
  );
}
