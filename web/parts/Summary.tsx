import { type ReactNode, useEffect } from "react";
import { webPageOf } from "../../shared/destinations.ts";
import type { Checkout } from "../api.ts";
import { isEmbedded } from "../parent.ts";
import { GhostLine } from "./Ghost.tsx";
import { Money } from "./Money.tsx";

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

const intervals = { day: "day", week: "week", month: "month", year: "year" } as const;

/** How often an amount is due, as "per month" or "every 3 months"; empty for a single sale. */
function rhythm({ product }: Checkout): string {
  if (!product?.recurring_interval) return "";
  const unit = intervals[product.recurring_interval];
  const count = product.recurring_interval_count ?? 1;
  return count === 1 ? `per ${unit}` : `every ${count} ${unit}s`;
}

function Lines({ checkout }: { checkout: Checkout }) {
  const { amount, discount_amount, tax_amount, total_amount, currency, discount, seats } = checkout;
  return (
    <dl className="lines">
      <div>
        <dt>{seats ? `${checkout.product?.name ?? "Seats"} × ${seats}` : "Price"}</dt>
        <dd>
          <Money amount={amount} currency={currency} />
        </dd>
      </div>
      {discount_amount > 0 && (
        <div>
          <dt>Discount{discount?.name ? ` (${discount.name})` : ""}</dt>
          <dd>
            <Money amount={-discount_amount} currency={currency} />
          </dd>
        </div>
      )}
      {tax_amount !== null && tax_amount > 0 && (
        <div className="soft">
          <dt>Tax{checkout.tax_behavior === "inclusive" ? ", included" : ""}</dt>
          <dd>
            <Money amount={tax_amount} currency={currency} />
          </dd>
        </div>
      )}
      <div className="sum">
        <dt>{checkout.trial_end ? "After the trial" : "Total"}</dt>
        <dd>
          <Money amount={total_amount} currency={currency} />
        </dd>
      </div>
    </dl>
  );
}

/** What is bought, from whom, and what it costs. */
export function Summary({ checkout, updating }: { checkout: Checkout; updating: boolean }) {
  const { product, organization } = checkout;
  const back = webPageOf(checkout.return_url);
  const picture = product?.medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url;
  const due = checkout.trial_end ? 0 : checkout.total_amount;
  return (
    <section className="water" aria-label="What you are buying" aria-busy={updating}>
      <p className="seller">
        {organization.avatar_url ? (
          <img src={organization.avatar_url} alt="" />
        ) : (
          <span className="initial" aria-hidden="true">
            {organization.name.slice(0, 1).toUpperCase()}
          </span>
        )}
        <span>{organization.name}</span>
        {back && !isEmbedded() && (
          <a className="back" href={back.href}>
            Back
          </a>
        )}
      </p>
      {picture && <img className="picture" src={picture} alt="" />}
      <div>
        <h1>{product?.name ?? "Your purchase"}</h1>
        {product?.description && <p className="description">{product.description}</p>}
        <p className="total">
          <Money amount={due} currency={checkout.currency} />
          <span className="per">{checkout.trial_end ? "due today" : rhythm(checkout)}</span>
        </p>
        <Lines checkout={checkout} />
      </div>
      <Drift />
    </section>
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
        <button type="button" className="close" aria-label="Close the checkout" onClick={close}>
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
        <p className="description">
          <GhostLine width="100%" height="3rem" />
        </p>
        <p className="total">
          <GhostLine width="10rem" height="3rem" />
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
        Loading…
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
