import { useEffect, useRef } from "react";
import { announce, isEmbedded, tellParent } from "../parent.ts";
import { Money } from "../parts/Money.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { Sides, SidesGhost, Summary } from "../parts/Summary.tsx";
import { Unavailable } from "../parts/Unavailable.tsx";
import { navigate } from "../router.tsx";
import { useCheckout } from "../use-checkout.ts";
import { awaitEnd, sellerPage } from "../watch.ts";
import "../checkout.css";

/** The page after a purchase: what was bought, for how much, and whether it is through. */
export default function ConfirmationPage({ params }: { params: Record<string, string> }) {
  const secret = params.client_secret ?? "";
  const { checkout, failure, load, take } = useCheckout(secret);
  const status = checkout?.status;
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(status === "succeeded" ? "Thank you" : "Your order");

  useEffect(() => {
    if (status === "confirmed") {
      return awaitEnd(secret, (ended) => {
        take(ended);
        const { success_url: successURL } = ended;
        if (ended.status === "succeeded") tellParent(ended, { event: "success", successURL, redirect: false });
      });
    }
    if (status === "open") navigate(`/checkout/${secret}`, { replace: true });
    // A reader hears the outcome, wherever the focus was left.
    if (status === "succeeded") heading.current?.focus();
    return undefined;
  }, [status, secret, take]);

  useEffect(() => {
    if (checkout) announce(checkout);
  }, [checkout]);

  if (failure) return <Unavailable failure={failure} retry={() => void load()} />;
  if (!checkout) return <SidesGhost />;
  const done = status === "succeeded";
  const seller = sellerPage(checkout, null);
  return (
    <Sides
      summary={<Summary checkout={checkout} updating={false} />}
      close={isEmbedded() && checkout.embed_origin && done ? () => tellParent(checkout, { event: "close" }) : undefined}
    >
      <div className="sail">
        <span className={done ? "sign" : "sign waiting"} aria-hidden="true">
          {done ? (
            <svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">
              <path d="m4 13 5 5L20 6" fill="none" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round" />
            </svg>
          ) : (
            <span className="spinner" />
          )}
        </span>
        <h1 ref={heading} tabIndex={-1}>
          {done ? "Thank you, it is yours" : "Completing your purchase"}
        </h1>
        <p className="soft" role="status">
          {done
            ? checkout.is_payment_required
              ? "The payment went through."
              : "Nothing had to be paid."
            : "This takes a moment. You can leave this page open; it will change by itself."}
        </p>
        <dl className="facts">
          <div>
            <dt className="soft">Bought</dt>
            <dd>{checkout.product?.name}</dd>
          </div>
          <div>
            <dt className="soft">{checkout.trial_end ? "After the trial" : "Amount"}</dt>
            <dd>
              <Money amount={checkout.total_amount} currency={checkout.currency} />
            </dd>
          </div>
          <div>
            <dt className="soft">E-mail</dt>
            <dd>{checkout.customer_email}</dd>
          </div>
          <div>
            <dt className="soft">Order</dt>
            <dd>{done ? (checkout.is_payment_required ? "Paid" : "Complete") : "Being completed"}</dd>
          </div>
        </dl>
        {done && seller !== null && (
          <a className="button" href={seller} target="_top">
            Continue to {checkout.organization.name}
          </a>
        )}
      </div>
    </Sides>
  );
}
