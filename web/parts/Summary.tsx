import { type ReactNode, Suspense, useEffect, useId, useRef, useState } from "react";
import { describeBenefit } from "../../shared/benefit-text.ts";
import { findWebPage } from "../../shared/destinations.ts";
import { type Checkout, isTestKey } from "../api.ts";
import { isEmbedded } from "../embed-messages.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { createLazyPart } from "../reload.ts";
import { focusHeading } from "../router.tsx";
import {
  describeSchedule,
  describeUse,
  getDueToday,
  getLines,
  getPrices,
  getSchedule,
  getSeatRange,
} from "../terms.ts";
import type { Order } from "../use-checkout.ts";
import { Discount } from "./Discount.tsx";
import { GhostLine } from "./Ghost.tsx";
import { Markdown } from "./Markdown.tsx";
import { Money } from "./Money.tsx";

/** Few products are sold by the seat. */
const Seats = createLazyPart(() => import("./Seats.tsx"));

/** Pieces of ice adrift, seen from above. */
function Drift() {
  return (
    <svg className="drift" viewBox="0 0 400 240" preserveAspectRatio="xMidYMax slice" aria-hidden="true">
      <g fill="#14414f">
        <path d="M-10 176 58 132l52 22-6 48-70 44H-10z" />
        <path d="m120 160 60-26 40 30-14 46-66 22-34-30z" />
        <path d="m238 168 44-40 74 6 30 40-36 46-86 8z" />
      </g>
      <g fill="#1d5362">
        <path d="m18 198 36-22 30 8-4 28-36 20z" />
        <path d="m268 176 28-22 44 4 10 24-30 22-44-2z" />
        <path d="m136 178 36-18 20 14-8 24-32 10z" />
      </g>
      <path fill="#8fd6dd" opacity=".5" d="m296 164 22-12 18 10-8 16-26 2z" />
      <path fill="#e9f6f7" opacity=".45" d="m36 200 16-10 14 6-4 12-18 6z" />
    </svg>
  );
}

export const isTestMode = ({ payment_processor_metadata }: Checkout): boolean =>
  isTestKey(payment_processor_metadata.publishable_key);

function Row({ label, children, className }: { label: ReactNode; children: ReactNode; className?: string }) {
  return (
    <div className={className}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** One thing at one price, which its name and the total say already. */
const isPlain = (checkout: Checkout): boolean =>
  getPrices(checkout).length === 1 &&
  checkout.seats === null &&
  checkout.discount_amount === 0 &&
  checkout.tax_amount === 0 &&
  checkout.product.recurring_interval === null;

/** Every amount that leads to what is due, and what use costs besides. */
function Lines({ checkout }: { checkout: Checkout }) {
  const i18n = useI18n();
  const { messages, money } = i18n;
  const { discount_amount, tax_amount, tax_behavior, total_amount, currency, discount, product } = checkout;
  const all = getLines(checkout);
  // During a trial the only line is what is charged after it, which has a line of its own.
  const lines = checkout.trial_end && all.length === 1 && all[0]?.amount === total_amount ? [] : all;
  const uses = getPrices(checkout).flatMap((price) => describeUse(price, i18n) ?? []);
  const due = getDueToday(checkout);
  const isTaxed = tax_amount === null || tax_amount > 0;
  const isIncluded = tax_behavior === "inclusive" && tax_amount !== null;
  const tax = tax_amount === null ? messages.tax_later : <Money amount={tax_amount} currency={currency} />;
  return (
    <dl className="lines">
      {lines.map(({ amount, seats }) => (
        <Row
          key={`${seats?.price} ${seats?.count} ${amount}`}
          label={seats ? `${messages.count_seats(seats.count)} × ${money(seats.price, currency)}` : product.name}
        >
          <Money amount={amount} currency={currency} />
        </Row>
      ))}
      {lines.length > 1 && (
        <Row label={messages.subtotal}>
          <Money amount={checkout.amount} currency={currency} />
        </Row>
      )}
      {discount_amount > 0 && (
        <Row className="cheaper" label={`${messages.discount}${discount?.name ? ` (${discount.name})` : ""}`}>
          <Money amount={-discount_amount} currency={currency} />
        </Row>
      )}
      {isTaxed && !isIncluded && (
        <Row className={tax_amount === null ? "soft" : ""} label={messages.tax}>
          {tax}
        </Row>
      )}
      {total_amount !== due && (
        <Row label={checkout.trial_end ? messages.total_later : messages.total}>
          <Money amount={total_amount} currency={currency} />
        </Row>
      )}
      <Row className="sum" label={checkout.status === "succeeded" ? messages.total_paid : messages.total_today}>
        <Money amount={due} currency={currency} />
      </Row>
      {isTaxed && isIncluded && (
        <Row className="soft small" label={messages.tax_included}>
          {tax}
        </Row>
      )}
      {uses.map(({ name, cost }) => (
        <Row key={name} className="soft" label={name}>
          {messages.plus_use(cost)}
        </Row>
      ))}
    </dl>
  );
}

/** Buys without the trial. What was pressed is gone then, and the keyboard goes on from the heading. */
export function SkipTrial({ order: { update }, className }: { order: Order; className: string }) {
  const { messages } = useI18n();
  const pressed = useRef(false);
  useEffect(
    () => () => {
      if (pressed.current) focusHeading();
    },
    [],
  );
  const skip = (): void => {
    pressed.current = true;
    void update({ allow_trial: false });
  };
  return (
    <button type="button" className={className} onClick={skip}>
      {messages.skip_trial}
    </button>
  );
}

/** What is bought, from whom, what it costs, and when. `order`: how it can still be changed. */
export function Summary({ checkout, order }: { checkout: Checkout; order?: Order | undefined }) {
  const i18n = useI18n();
  const { messages } = i18n;
  // What was bought is all there is to see afterwards.
  const [open, setOpen] = useState(order === undefined);
  const id = useId();
  const { product, organization } = checkout;
  const back = findWebPage(checkout.return_url);
  const logo = organization.branding.logo_url ?? organization.avatar_url;
  const picture = product.medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url;
  const schedule = getSchedule(checkout);
  const later = describeSchedule(schedule, checkout.currency, i18n);
  const due = getDueToday(checkout);
  const isOpen = order !== undefined && checkout.status === "open";
  const takesCode = isOpen && checkout.allow_discount_codes && checkout.is_discount_applicable;
  const hasDetails = takesCode || Boolean(product.description) || !isPlain(checkout);
  return (
    <section className="water" aria-label={messages.order} aria-busy={order?.updating}>
      <p className="seller">
        {logo ? (
          <img src={logo} alt="" />
        ) : (
          <span className="initial" aria-hidden="true">
            {organization.name.slice(0, 1).toUpperCase()}
          </span>
        )}
        <span className="seller-name">{organization.name}</span>
        {isTestMode(checkout) && (
          <span className="badge" title={messages.test_mode}>
            {messages.test}
          </span>
        )}
        {back && !isEmbedded() && (
          <a className="back" href={back.href}>
            {messages.back}
          </a>
        )}
      </p>
      <div className="bought">
        <div className="what">
          {picture && <img className="picture" src={picture} alt="" />}
          <h1>{product.name}</h1>
        </div>
        <p className="total">
          {due === 0 && !schedule ? messages.free : <Money amount={due} currency={checkout.currency} />}
          {schedule && checkout.status !== "succeeded" && <span className="per">{messages.due_today}</span>}
        </p>
        {later && <p className="later">{later}</p>}
        {product.benefits.length > 0 && order && (
          <div className="gets">
            <h2>{messages.what_you_get}</h2>
            <ul>
              {product.benefits.map((benefit) => (
                <Get key={benefit.id} benefit={benefit} />
              ))}
            </ul>
          </div>
        )}
        {isOpen && checkout.trial_end && <SkipTrial order={order} className="plain" />}
        {isOpen && getSeatRange(checkout) && (
          <Suspense
            fallback={
              <div className="seats">
                <GhostLine width="100%" height="2.75rem" />
              </div>
            }
          >
            <Seats order={order} />
          </Suspense>
        )}
        {hasDetails && (
          <button type="button" className="fold" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
            {messages.details}
            <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
              <path d="m2 4 4 4 4-4" fill="none" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
            </svg>
          </button>
        )}
        <div id={id} className={open ? "details" : "details folded"}>
          {product.description && (
            <div className="description">
              <Markdown text={product.description} />
            </div>
          )}
          {!isPlain(checkout) && <Lines checkout={checkout} />}
          {takesCode && <Discount order={order} />}
        </div>
      </div>
      <Drift />
    </section>
  );
}

/** What is bought: as the seller says it, and what it is. */
function Get({ benefit }: { benefit: Checkout["product"]["benefits"][number] }) {
  const { messages } = useI18n();
  const sentence = "terms" in benefit ? describeBenefit(benefit, messages.benefit) : undefined;
  return (
    <li>
      {benefit.description}
      {sentence && <span className="gets-how">{sentence}</span>}
    </li>
  );
}

/** The two sides of every checkout page, with the way out of the overlay: a button, and Escape. */
export function Sides({
  summary,
  children,
  close,
}: {
  summary: ReactNode;
  children: ReactNode;
  close?: (() => void) | undefined;
}) {
  const { messages } = useI18n();
  useEffect(() => {
    if (!close) return;
    const leave = ({ key, defaultPrevented }: KeyboardEvent): void => {
      if (key === "Escape" && !defaultPrevented && !document.querySelector("dialog[open]")) close();
    };
    addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [close]);
  return (
    <div className="checkout">
      {summary}
      <main className="ice">{children}</main>
      {close && (
        <button type="button" className="close" aria-label={messages.close} onClick={close}>
          <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
            <path d="m4 4 12 12M16 4 4 16" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
          </svg>
        </button>
      )}
    </div>
  );
}

/** The shape of the summary before anything is known, in the space it will take. */
function SummaryGhost() {
  return (
    <section className="water" aria-hidden="true">
      <p className="seller">
        <span className="initial" />
        <GhostLine width="9rem" />
      </p>
      <div>
        <GhostLine width="14rem" height="1.75rem" />
        <p className="total">
          <GhostLine width="8rem" height="2.75rem" />
        </p>
        <GhostLine width="100%" height="6rem" />
      </div>
      <Drift />
    </section>
  );
}

/** The checkout before it is known what is sold. */
export function SidesGhost() {
  return (
    <Sides summary={<SummaryGhost />}>
      <p className="hidden" role="status">
        {useI18n().messages.loading}
      </p>
      <div className="stack" aria-hidden="true">
        <GhostLine width="9rem" />
        <GhostLine width="100%" height="2.875rem" />
        <GhostLine width="100%" height="2.875rem" />
        <GhostLine width="100%" height="2.875rem" />
      </div>
    </Sides>
  );
}
