import { useCallback, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Money } from "../parts/Money.tsx";
import { Notice } from "../parts/Notice.tsx";
import { type QueryState, useQuery } from "../use-query.ts";
import { Cancel } from "./Cancel.tsx";
import { ChangePlan } from "./ChangePlan.tsx";
import type { Card, Failure, Order, Subscription } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { isUnpaid } from "./Orders.tsx";
import { Part, Refused } from "./Part.tsx";
import { Pay } from "./Pay.tsx";
import { usePlace } from "./portal-context.ts";
import { Seats } from "./Seats.tsx";

/** What will be charged in a year, asked for once it is opened. */
function Forecast({ subscription: { id, currency } }: { subscription: Subscription }) {
  const { day, money } = useI18n();
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const { value, failure } = useQuery(useCallback(() => portal.forecast(id), [portal, id]));
  if (!value) return <Refused failure={failure} />;
  const total = value.charges.reduce((sum, { due_amount }) => sum + due_amount, 0);
  return (
    <>
      {value.charges.length === 0 && <p className="soft">{messages.no_forecast}</p>}
      {value.charges.length > 0 && (
        <dl className="amounts">
          {value.charges.map(({ at, due_amount }) => (
            <div key={at}>
              <dt>{day(new Date(at))}</dt>
              <dd>
                <Money amount={due_amount} currency={currency} />
              </dd>
            </div>
          ))}
          <div className="sum">
            <dt>{messages.forecast_total}</dt>
            <dd className="money">{money(total, currency)}</dd>
          </div>
        </dl>
      )}
      {value.ends_at && <p className="soft small">{messages.forecast_ends(day(new Date(value.ends_at)))}</p>}
    </>
  );
}

/** What becomes of a subscription next, in a sentence. */
function useNext({ status, ...subscription }: Subscription): string | undefined {
  const { day } = useI18n();
  const messages = usePortalMessages();
  const formatDate = (text: string): string => day(new Date(text));
  const { cancel_at_period_end, pause_at_period_end, current_period_end, ended_at, trial_end, resumes_at } =
    subscription;
  if (ended_at) return messages.ended(formatDate(ended_at));
  if (status === "paused")
    return [messages.paused, resumes_at && messages.resumes(formatDate(resumes_at))].filter(Boolean).join(" ");
  if (cancel_at_period_end) return messages.ends(formatDate(current_period_end));
  if (pause_at_period_end)
    return [messages.pauses(formatDate(current_period_end)), resumes_at && messages.resumes(formatDate(resumes_at))]
      .filter(Boolean)
      .join(" ");
  if (status === "trialing" && trial_end)
    return `${messages.trial_until(formatDate(trial_end))} ${messages.first_payment(formatDate(trial_end))}`;
  if (status === "active") return messages.renews(formatDate(current_period_end));
  return undefined;
}

/** Whether it goes on, paid or not. */
export const isLiving = ({ status }: Subscription): boolean => ["active", "trialing", "past_due"].includes(status);

function One({
  subscription,
  unpaid,
  cards,
}: {
  subscription: Subscription;
  unpaid: Order | undefined;
  cards: Card[];
}) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const { portal, seller, reload } = usePlace();
  const [asking, setAsking] = useState<"plan" | "cancel">();
  // Kept while it is being paid, since it is unpaid no more before its customer has read so.
  const [paying, setPaying] = useState<Order>();
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState<string>();
  const [isOpen, setIsOpen] = useState(false);
  const next = useNext(subscription);
  const { product, status, amount, currency, cancel_at_period_end, pending_update } = subscription;
  const { update_plan, pause } = seller.organization.customer_portal_settings.subscription;
  const every = i18n.messages.every(subscription.recurring_interval, subscription.recurring_interval_count);

  const runAction = async (name: string, body: object): Promise<void> => {
    setBusy(name);
    const answer = await portal.change(subscription.id, body);
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) await reload();
    setBusy(undefined);
  };
  const handleLeave = (): void => setAsking(undefined);
  const steady = isLiving(subscription) && !cancel_at_period_end;
  return (
    <li className="card stack">
      <div>
        <p className="head">
          <strong>{product.name}</strong>
          <span className={status === "past_due" || status === "canceled" ? "tag off" : "tag"}>
            {messages.status[status] ?? status}
          </span>
        </p>
        <p>
          <Money amount={amount} currency={currency} /> {every}
          {subscription.seats !== null &&
            subscription.seats !== undefined &&
            `, ${i18n.messages.count_seats(subscription.seats)}`}
          {subscription.prices.some(({ amount_type }) => amount_type === "metered_unit") && messages.and_use}
        </p>
        {next && <p className="soft">{next}</p>}
      </div>
      {unpaid && (
        <Notice tone="fault">
          <p>
            {messages.due(i18n.money(unpaid.due_amount, unpaid.currency))}{" "}
            {unpaid.next_payment_attempt_at && messages.due_next(i18n.day(new Date(unpaid.next_payment_attempt_at)))}
          </p>
        </Notice>
      )}
      {pending_update && (
        <Notice>
          <p>{messages.changes(i18n.day(new Date(pending_update.applies_at)))}</p>
          <button type="button" className="plain" onClick={() => void runAction("forget", { pending_update: null })}>
            {messages.forget_change}
          </button>
        </Notice>
      )}
      <Refused failure={failure} />
      <div className="row">
        {unpaid && (
          <Button onClick={() => setPaying(unpaid)}>
            {messages.pay_now(i18n.money(unpaid.due_amount, unpaid.currency))}
          </Button>
        )}
        {steady && update_plan && (
          <Button quiet onClick={() => setAsking("plan")}>
            {messages.change_plan}
          </Button>
        )}
        {steady && subscription.pause_at_period_end && (
          <Button
            quiet
            busy={busy === "unpause"}
            onClick={() => void runAction("unpause", { pause_at_period_end: false })}
          >
            {messages.uncancel}
          </Button>
        )}
        {steady && pause && status === "active" && !subscription.pause_at_period_end && (
          <Button quiet busy={busy === "pause"} onClick={() => void runAction("pause", { pause_at_period_end: true })}>
            {messages.pause}
          </Button>
        )}
        {status === "paused" && pause && (
          <Button quiet busy={busy === "resume"} onClick={() => void runAction("resume", { resume: true })}>
            {messages.resume}
          </Button>
        )}
        {isLiving(subscription) && cancel_at_period_end && (
          <Button quiet busy={busy === "keep"} onClick={() => void runAction("keep", { cancel_at_period_end: false })}>
            {messages.uncancel}
          </Button>
        )}
        {steady && (
          <Button quiet onClick={() => setAsking("cancel")}>
            {messages.cancel}
          </Button>
        )}
      </div>
      {isLiving(subscription) && subscription.seats !== null && subscription.seats !== undefined && (
        <Seats container={{ subscription_id: subscription.id }} />
      )}
      {isLiving(subscription) && (
        <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
          <summary>{messages.forecast}</summary>
          {isOpen && <Forecast subscription={subscription} />}
        </details>
      )}
      {asking === "plan" && <ChangePlan subscription={subscription} left={handleLeave} />}
      {asking === "cancel" && <Cancel subscription={subscription} left={handleLeave} />}
      {paying && <Pay order={paying} cards={cards} left={() => setPaying(undefined)} />}
    </li>
  );
}

/** What a customer subscribes to, each with what becomes of it next and what can be done about it. */
export function Subscriptions({
  asked,
  orders,
  cards,
}: {
  asked: QueryState<Subscription[]>;
  orders: Order[];
  cards: Card[];
}) {
  const messages = usePortalMessages();
  return (
    <Part id="subscriptions" title={messages.subscriptions} asked={asked}>
      {(subscriptions) => (
        <ul className="stack bare">
          {[...subscriptions]
            .sort((a, b) => Number(isLiving(b)) - Number(isLiving(a)))
            .map((subscription) => (
              <One
                key={subscription.id}
                subscription={subscription}
                // The oldest is to be paid first.
                unpaid={orders.findLast((order) => order.subscription_id === subscription.id && isUnpaid(order))}
                cards={cards}
              />
            ))}
        </ul>
      )}
    </Part>
  );
}
