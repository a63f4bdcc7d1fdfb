import { Suspense, useEffect, useRef, useState } from "react";
import { findWebPage } from "../../shared/destinations.ts";
import type { Checkout, CheckoutOrder } from "../api.ts";
import { checkouts } from "../checkouts.ts";
import { ConfirmationMessagesProvider, useConfirmationMessages } from "../confirmation/messages.tsx";
import { isEmbedded, notifyParent, postMessage } from "../embed-messages.ts";
import { awaitEnd, buildPortalHref, findPurchaseSession, findSellerPage } from "../follow-checkout.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { Documents } from "../parts/Documents.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { Sides, SidesGhost, Summary } from "../parts/Summary.tsx";
import { Unavailable } from "../parts/Unavailable.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { createLazyPart } from "../reload.ts";
import { navigate } from "../router.tsx";
import { getDueToday, getSchedule } from "../terms.ts";
import { useCheckout } from "../use-checkout.ts";
import { useDelay } from "../use-delay.ts";
import "../checkout.css";

/** The order that a checkout has become: undefined until it is known, null where nothing can be learnt of it. */
function useSale({ client_secret, status }: Checkout): CheckoutOrder | null | undefined {
  const [sale, setSale] = useState<CheckoutOrder | null>();
  useEffect(() => {
    if (status !== "succeeded") return;
    let gone = false;
    void checkouts.order(client_secret).then((answer) => {
      if (!gone) setSale(answer.ok ? answer.value : null);
    });
    return () => {
      gone = true;
    };
  }, [client_secret, status]);
  return sale;
}

const Purchase = createLazyPart(() => import("../portal/Purchase.tsx"));

/**
 * What the buyer has now: files, keys, notes, accounts to connect; or seats to assign. Without the session of the purchase it
 * says where that is.
 */
function Delivery({ checkout, sale }: { checkout: Checkout; sale: CheckoutOrder | null | undefined }) {
  const { client_secret, organization, product, seats } = checkout;
  const token = findPurchaseSession(client_secret);
  const benefits = product?.benefits ?? [];
  const messages = useConfirmationMessages();
  if (seats === null ? benefits.length === 0 : sale === null) return null;
  // The address of an existing customer opens no session, for anybody could type it.
  if (token === null) return <p>{messages.in_purchases}</p>;
  const ghost = <GhostLine width="100%" height="6rem" />;
  if (seats !== null && !sale) return ghost;
  const seats_of = seats === null ? null : (sale?.id ?? null);
  return (
    <Suspense fallback={ghost}>
      <Purchase slug={organization.slug} token={token} benefits={benefits} seats_of={seats_of} />
    </Suspense>
  );
}

/** Where a contract is canceled without signing in, with the number of the order where it is known (CUP-30). */
const buildCancelHref = ({ organization }: Checkout, sale: CheckoutOrder | null | undefined): string =>
  `/${encodeURIComponent(organization.slug)}/cancel?${new URLSearchParams({ reference: sale?.invoice_number ?? "" })}`;

/** What was bought, for how much, and whether it is through. */
function Outcome({ checkout, refresh }: { checkout: Checkout; refresh: () => Promise<unknown> }) {
  const { messages: common, money, day } = useI18n();
  const messages = useConfirmationMessages();
  const heading = useRef<HTMLHeadingElement>(null);
  const done = checkout.status === "succeeded";
  const due = getDueToday(checkout);
  const sale = useSale(checkout);
  const delay = useDelay(!done, refresh);
  const { product } = checkout;
  const next = getSchedule(checkout)?.steps[0];
  const seller = findSellerPage(checkout, null);
  const back = findWebPage(checkout.return_url) ?? findWebPage(checkout.organization.website);
  useTitle(done ? messages.thank_you : messages.your_order);

  // A reader hears the outcome, wherever the focus was left.
  useEffect(() => {
    if (done) heading.current?.focus();
  }, [done]);

  return (
    <Sides
      summary={<Summary checkout={checkout} />}
      close={
        isEmbedded() && checkout.embed_origin && done ? () => notifyParent(checkout, { event: "close" }) : undefined
      }
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
          {done ? (checkout.trial_end ? messages.thanks_trial : messages.thanks) : messages.completing_title}
        </h1>
        <p className="soft" role="status">
          {done ? (due > 0 ? messages.paid : messages.unpaid) : messages.wait}
          {sale?.confirmation_email && ` ${messages.sent_to(sale.confirmation_email)}`}
        </p>
        {!done && <Waiting delay={delay} email={checkout.customer_email ?? ""} />}
        {done && <Delivery checkout={checkout} sale={sale} />}
        <dl className="facts">
          {done && sale !== null && (
            <div>
              <dt className="soft">{messages.order_number}</dt>
              <dd>{sale ? sale.invoice_number : <GhostLine width="7rem" />}</dd>
            </div>
          )}
          <div>
            <dt className="soft">{common.email}</dt>
            <dd>{checkout.customer_email}</dd>
          </div>
          <div>
            <dt className="soft">{messages.status}</dt>
            <dd>{done ? (due > 0 ? messages.is_paid : messages.is_complete) : messages.is_underway}</dd>
          </div>
          {done && next && (
            <div>
              <dt className="soft">{messages.next_charge}</dt>
              <dd>{messages.charge_on(money(next.amount, checkout.currency), day(next.from))}</dd>
            </div>
          )}
        </dl>
        {done && seller !== null && (
          <a className="button" href={seller} target="_top">
            {messages.continue_to(checkout.organization.name)}
          </a>
        )}
        {done && (
          <a
            className={seller === null ? "button" : "button quiet"}
            href={buildPortalHref(checkout)}
            target={isEmbedded() ? "_blank" : undefined}
            rel="noopener"
          >
            {messages.to_purchases}
          </a>
        )}
        {sale && <Documents secret={checkout.client_secret} order={sale} />}
        {done && checkout.customer_billing_address?.country === "DE" && product?.recurring_interval && (
          <a className="button quiet" href={buildCancelHref(checkout, sale)} target="_blank" rel="noopener">
            {messages.cancel_contract}
          </a>
        )}
        {done && seller === null && back && !isEmbedded() && (
          <a className="button quiet" href={back.href}>
            {messages.back_to(checkout.organization.name)}
          </a>
        )}
      </div>
    </Sides>
  );
}

/** What the checkout loads ahead with this page. */
export { loadConfirmationMessages as loadMessages } from "../confirmation/messages.tsx";

/** The page after a purchase. */
export default function ConfirmationPage({ params }: { params: Record<string, string> }) {
  const secret = params.client_secret ?? "";
  const { checkout, failure, load, take, refresh } = useCheckout(secret);
  const status = checkout?.status;

  useEffect(() => {
    if (status === "confirmed") {
      return awaitEnd(secret, (ended) => {
        take(ended);
        const { success_url: successURL } = ended;
        if (ended.status === "succeeded") notifyParent(ended, { event: "success", successURL, redirect: false });
      });
    }
    if (status === "open") navigate(`/checkout/${secret}`, { replace: true });
    return undefined;
  }, [status, secret, take]);

  useEffect(() => {
    if (checkout) postMessage(checkout);
  }, [checkout]);

  return (
    <I18nProvider locale={failure ? null : checkout?.locale} before={<SidesGhost />}>
      {failure ? (
        <Unavailable failure={failure} retry={() => void load()} />
      ) : checkout ? (
        <ConfirmationMessagesProvider before={<SidesGhost />}>
          <Outcome checkout={checkout} refresh={refresh} />
        </ConfirmationMessagesProvider>
      ) : (
        <SidesGhost />
      )}
    </I18nProvider>
  );
}
