import { useCallback, useState } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Money } from "../parts/Money.tsx";
import { useQuery } from "../use-query.ts";
import { ActDialog } from "./Act.tsx";
import type { Subscription } from "./calls.ts";
import { useHome } from "./home-context.ts";
import { Loaded } from "./Loaded.tsx";
import { useHomeMessages } from "./messages.tsx";
import { OrderTable } from "./Orders.tsx";
import { Panel } from "./Panel.tsx";

function SubscriptionRow({ one, reload }: { one: Subscription; reload: () => void }) {
  const messages = useHomeMessages();
  const { calls, overview } = useHome();
  const [isOpen, setIsOpen] = useState(false);
  const { day } = useI18n();
  const { status, cancel_at_period_end, current_period_end, ends_at, product } = one;
  const isRunning = status === "active" || status === "trialing";
  const end = new Date(ends_at ?? current_period_end);
  return (
    <li className="between">
      <div className="item">
        <p>
          {product.name}{" "}
          <span className={`state ${isRunning ? "good" : ""}`}>{messages.subscription_states[status]}</span>
        </p>
        {isRunning && (
          <p className="soft small">
            {cancel_at_period_end ? messages.ends_on(day(end)) : messages.renews_on(day(end))}
          </p>
        )}
        {isRunning && !cancel_at_period_end && overview.scopes.includes("subscriptions:write") && (
          <button type="button" className="plain" onClick={() => setIsOpen(true)}>
            {messages.cancel_subscription}
            <span className="hidden"> {product.name}</span>
          </button>
        )}
      </div>
      <Money amount={one.amount} currency={one.currency} />
      {isOpen && (
        <ActDialog
          title={messages.cancel_subscription}
          action={messages.cancel_subscription}
          command={`floe subscriptions cancel ${one.id}`}
          send={(key) => calls.cancelSubscription(key, one.id)}
          onDone={reload}
          onClose={() => setIsOpen(false)}
        >
          <p>{messages.cancel_text(product.name, day(end))}</p>
        </ActDialog>
      )}
    </li>
  );
}

/** The customer, and how commands name them: by address where there is one. */
type Named = { id: string; named: string };

/** What the customer subscribes to now and subscribed to before. */
export function Subscriptions({ id, named }: Named) {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.subscriptionsOf(id), [calls, id]));
  return (
    <Panel title={messages.subscriptions} command={`floe subscriptions list --customer-id ${named}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.none}</p>
          ) : (
            <ul className="rows">
              {items.map((one) => (
                <SubscriptionRow key={one.id} one={one} reload={() => void state.reload()} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What the customer paid, and what is unpaid. */
export function CustomerOrders({ id, named }: Named) {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.ordersOf(id), [calls, id]));
  return (
    <Panel title={messages.orders} command={`floe orders list --customer-id ${named}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.no_orders}</p>
          ) : (
            <OrderTable
              label={messages.orders}
              orders={items.map(({ product, customer_id: _, ...order }) => ({ ...order, product_name: product.name }))}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What the customer was given of what they bought. */
export function Grants({ id, named }: Named) {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.grantsOf(id), [calls, id]));
  return (
    <Panel title={messages.benefits} command={`floe benefit-grants list --customer-id ${named}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.none}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id: grant_id, benefit, is_granted, is_revoked, error }) => (
                <li key={grant_id}>
                  <p>
                    {benefit.description}{" "}
                    <span className={`state ${is_granted ? "good" : error ? "fault" : ""}`}>
                      {is_granted ? messages.granted : is_revoked ? messages.revoked : messages.waiting}
                    </span>
                  </p>
                  {error && <p className="soft small">{error.message}</p>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What the customer used in the current periods. */
export function CustomerUsage({ id, named }: Named) {
  const messages = useHomeMessages();
  const { locale } = useI18n();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.metersOf(id), [calls, id]));
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  return (
    <Panel title={messages.usage} command={`floe customer-meters list --customer-id ${named}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.none}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id: meter_id, meter, consumed_units, credited_units }) => (
                <li key={meter_id} className="between">
                  <div>
                    <p>{meter.name}</p>
                    {credited_units > 0 && (
                      <p className="soft small">{messages.credited(number.format(credited_units))}</p>
                    )}
                  </div>
                  <span className="money">{number.format(consumed_units)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What happened with the customer last. */
export function Events({ id, named }: Named) {
  const messages = useHomeMessages();
  const { locale } = useI18n();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.eventsOf(id), [calls, id]));
  const time = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  return (
    <Panel title={messages.events} command={`floe events list --customer-id ${named}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.none}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id: event_id, label, name, timestamp }) => (
                <li key={event_id} className="between">
                  <span>{label || name}</span>
                  <span className="soft small">{time.format(new Date(timestamp))}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}
