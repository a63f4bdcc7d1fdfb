import { type FormEvent, useEffect, useState } from "react";
import { formatUnitMoney } from "../../shared/money.ts";
import { describeLine } from "../../shared/usage.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { describeOffer } from "../offers.ts";
import { Button } from "../parts/Button.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Money } from "../parts/Money.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Preview, Seller, Subscription } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

function Line({ label, amount, currency }: { label: string; amount: number; currency: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <Money amount={amount} currency={currency} />
      </dd>
    </div>
  );
}

/** Lines by their places, as two may say the same; what is drawn of one preview never changes its order. */
const pairWithIndex = <T,>(lines: T[]): [string, T][] => lines.map((line, index) => [`${index}`, line]);

/** What a change costs, now and later, before it is made. */
function Consequences({ preview, subscription }: { preview: Preview; subscription: Subscription }) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const { charge, reduced_amount, later, after, currency } = preview;
  const formatPreviewLine = (line: Preview["later"][number]): string =>
    describeLine(line, {
      unit: (amount) => formatUnitMoney(amount, currency, i18n.locale),
      money: (amount) => i18n.money(amount, currency),
      locale: i18n.locale,
      messages: messages.use,
    });
  const isPending = after.pending_product_id !== null && after.product_id === subscription.product_id;
  return (
    <div className="stack" aria-live="polite">
      {charge && charge.due_amount > 0 ? (
        <dl className="amounts">
          {pairWithIndex(charge.derivation.lines).map(([place, line]) => (
            <Line
              key={place}
              label={formatPreviewLine(line)}
              amount={line.amount - line.discount_amount}
              currency={currency}
            />
          ))}
          {charge.derivation.tax_lines.length > 0 && charge.derivation.tax.behavior === "exclusive" && (
            <Line label={i18n.messages.tax} amount={charge.derivation.tax_amount ?? 0} currency={currency} />
          )}
          {charge.applied_balance_amount !== 0 && (
            <Line label={messages.balance} amount={charge.applied_balance_amount} currency={currency} />
          )}
          <div className="sum">
            <dt>{messages.due_today}</dt>
            <dd>
              <Money amount={charge.due_amount} currency={currency} />
            </dd>
          </div>
        </dl>
      ) : (
        <p>{messages.nothing_due}</p>
      )}
      {reduced_amount > 0 && <p>{messages.unpaid_less(i18n.money(reduced_amount, currency))}</p>}
      {later.length > 0 && (
        <>
          <h3>{messages.next_order}</h3>
          <dl className="amounts">
            {pairWithIndex(later).map(([place, line]) => (
              <Line key={place} label={formatPreviewLine(line)} amount={line.amount} currency={currency} />
            ))}
          </dl>
        </>
      )}
      <p className="soft">
        {isPending
          ? messages.from_next(i18n.day(new Date(after.current_period_end)))
          : messages.afterwards(
              i18n.money(after.amount, currency),
              i18n.messages.every(after.recurring_interval, after.recurring_interval_count),
            )}
      </p>
    </div>
  );
}

type Product = Seller["products"][number];

/** The price of a product in a currency, for the order of the choices; what is charged by use alone counts as nothing. */
const getBasePrice = ({ prices }: Product, currency: string): number => {
  const own = prices.filter((price) => price.price_currency === currency);
  const [first] = own.flatMap((price) => (price.amount_type === "fixed" ? [price.price_amount] : []));
  return first ?? 0;
};

/** Whether two ways of being billed can be compared: in the same currency, and both by seats or neither. */
const isComparable = ({ prices }: Product, subscription: Subscription): boolean => {
  const own = prices.filter((price) => price.price_currency === subscription.currency);
  const isBySeats = own.some((price) => price.amount_type === "seat_based");
  return own.length > 0 && isBySeats === ((subscription.seats ?? null) !== null);
};

/**
 * The plans that a subscription can change to. Where the seller has put its product in a group, these are the others of the group, in
 * the seller's order. Otherwise they are what is comparable and in no group: what is billed as often as the subscription is comes
 * first, and of these the cheapest.
 */
export const listPlans = (
  products: readonly Product[],
  subscription: Subscription,
  groups: readonly (readonly string[])[],
): Product[] => {
  const plans = products.filter((product) => product.is_recurring && product.id !== subscription.product_id);
  const group = groups.find((one) => one.includes(subscription.product_id));
  if (group) return group.flatMap((id) => plans.find((product) => product.id === id) ?? []);
  const grouped = new Set(groups.flat());
  const isAsOften = (product: Product): boolean =>
    product.recurring_interval === subscription.recurring_interval &&
    product.recurring_interval_count === subscription.recurring_interval_count;
  return plans
    .filter((product) => !grouped.has(product.id) && isComparable(product, subscription))
    .toSorted(
      (a, b) =>
        Number(isAsOften(b)) - Number(isAsOften(a)) ||
        getBasePrice(a, subscription.currency) - getBasePrice(b, subscription.currency),
    );
};

/** Another product for a subscription: chosen, seen with all that it costs, and charged exactly so or not at all. */
export function ChangePlan({ subscription, left }: { subscription: Subscription; left: () => void }) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const { portal, seller, reload } = usePlace();
  const others = listPlans(
    seller.products,
    subscription,
    seller.organization.customer_portal_settings.subscription.plan_groups,
  );
  const [chosen, setChosen] = useState(others[0]?.id ?? "");
  const [preview, setPreview] = useState<Preview>();
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a further attempt asks for the terms of now
  useEffect(() => {
    if (chosen === "") return;
    let gone = false;
    setPreview(undefined);
    void portal.preview(subscription.id, { product_id: chosen }).then((answer) => {
      if (gone) return;
      if (answer.ok) setPreview(answer.value);
      else setFault(describeFailure(answer.failure, i18n.messages));
    });
    return () => {
      gone = true;
    };
  }, [portal, subscription.id, chosen, attempt, i18n.messages]);

  const change = async (): Promise<void> => {
    const answer = await portal.change(subscription.id, { product_id: chosen, quote: preview?.quote });
    if (answer.ok) {
      await reload();
      return left();
    }
    const isStale = answer.failure.error === "QuoteChanged";
    setFault(isStale ? messages.terms_changed : describeFailure(answer.failure, i18n.messages));
    if (isStale) setAttempt((count) => count + 1);
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy || !preview) return;
    setBusy(true);
    setFault(undefined);
    void change().finally(() => setBusy(false));
  };
  const isFree = others.find(({ id }) => id === chosen)?.prices.every(({ amount_type }) => amount_type === "free");
  const isUnpayable = seller.is_payment_available === false && isFree === false;
  if (others.length === 0)
    return (
      <Dialog title={messages.change_plan} left={left}>
        <p className="soft">{messages.no_plans}</p>
        <div className="row">
          <Button quiet onClick={left}>
            {messages.back}
          </Button>
        </div>
      </Dialog>
    );
  return (
    <Dialog title={messages.change_plan} left={left}>
      <form className="stack" noValidate onSubmit={submit} aria-busy={busy}>
        <fieldset>
          <legend className="legend">{messages.choose_plan}</legend>
          <div className="choices">
            {others.map((product) => (
              <label key={product.id}>
                <input
                  type="radio"
                  name="plan"
                  checked={product.id === chosen}
                  onChange={() => {
                    setFault(undefined);
                    setChosen(product.id);
                  }}
                />
                <span className="offer">{product.name}</span>
                <span className="price">
                  {describeOffer(
                    { prices: { [product.id]: product.prices }, currency: subscription.currency },
                    product,
                    i18n,
                  )}
                </span>
              </label>
            ))}
          </div>
        </fieldset>
        {preview ? (
          <Consequences preview={preview} subscription={subscription} />
        ) : (
          !fault && (
            <div className="stack" aria-busy>
              <GhostLine width="100%" />
              <GhostLine width="70%" />
            </div>
          )
        )}
        {isUnpayable && <Notice tone="fault">{i18n.messages.no_payments}</Notice>}
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={left}>
            {messages.cancel_action}
          </Button>
          {!isUnpayable && (
            <Button type="submit" busy={busy || !preview}>
              {preview?.charge && preview.charge.due_amount > 0
                ? messages.pay_now(i18n.money(preview.charge.due_amount, preview.currency))
                : messages.change_to(others.find(({ id }) => id === chosen)?.name ?? "")}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
