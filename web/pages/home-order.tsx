import { useCallback, useState } from "react";
import { Link } from "../account/Link.tsx";
import type { Explanation, Order } from "../home/calls.ts";
import { useHome } from "../home/home-context.ts";
import { HomePage } from "../home/Layout.tsx";
import { Loaded } from "../home/Loaded.tsx";
import { useHomeMessages } from "../home/messages.tsx";
import { OrderState } from "../home/Orders.tsx";
import { Panel } from "../home/Panel.tsx";
import { RefundDialog } from "../home/Refund.tsx";
import { ResendMail } from "../home/ResendMail.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Money } from "../parts/Money.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { useQuery } from "../use-query.ts";

function Facts({ order }: { order: Order }) {
  const messages = useHomeMessages();
  const { locale } = useI18n();
  const time = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
  const { customer } = order;
  return (
    <dl className="home-facts">
      <dt>{messages.customer}</dt>
      <dd>
        <Link href={`/store/customers/${order.customer_id}`}>
          {customer.name ?? customer.email ?? messages.unnamed}
        </Link>
      </dd>
      <dt>{messages.product}</dt>
      <dd>{order.product.name}</dd>
      <dt>{messages.date}</dt>
      <dd>{time.format(new Date(order.created_at))}</dd>
      <dt>{messages.reason}</dt>
      <dd>{messages.billing_reasons[order.billing_reason]}</dd>
      <dt>{messages.state}</dt>
      <dd>
        <OrderState status={order.status} />
      </dd>
      <dt>{messages.amount}</dt>
      <dd>
        <Money amount={order.total_amount} currency={order.currency} />
      </dd>
      {order.refunded_amount > 0 && (
        <>
          <dt>{messages.refunded}</dt>
          <dd>
            <Money amount={order.refunded_amount + order.refunded_tax_amount} currency={order.currency} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** Why the customer was charged so much: each figure with its reason. The server writes the reasons in English. */
function Explained({ explanation: { steps, currency } }: { explanation: Explanation }) {
  return (
    <ul className="rows explained" lang="en">
      {steps.map((step, index) => (
        // The steps of an order never change their places.
        // biome-ignore lint/suspicious/noArrayIndexKey: a step has no other name
        <li key={index} className="between" data-depth={Math.min(step.depth, 3)}>
          <div>
            <p>{step.label}</p>
            <p className="soft small">{step.because}</p>
          </div>
          <Money amount={step.amount} currency={currency} />
        </li>
      ))}
    </ul>
  );
}

function Payments({ order }: { order: Order }) {
  const messages = useHomeMessages();
  const { day } = useI18n();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.paymentsOf(order.id), [calls, order.id]));
  return (
    <Panel title={messages.payments} command={`floe payments list --order-id ${order.invoice_number ?? order.id}`}>
      <Loaded state={state}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="soft">{messages.none}</p>
          ) : (
            <ul className="rows">
              {items.map(({ id, status, amount, currency, created_at, decline_reason }) => (
                <li key={id} className="between">
                  <div>
                    <p>{messages.payment_states[status]}</p>
                    <p className="soft small">
                      {day(new Date(created_at))}{" "}
                      {decline_reason !== null && messages.declined(decline_reason.replaceAll("_", " "))}
                    </p>
                  </div>
                  <Money amount={amount} currency={currency} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** What support does with an order at once. */
function Acts({ order, reload }: { order: Order; reload: () => void }) {
  const messages = useHomeMessages();
  const { overview } = useHome();
  const [isOpen, setIsOpen] = useState(false);
  const isRefundable = order.refundable_amount > 0 && overview.scopes.includes("refunds:write");
  return (
    <div className="stack">
      {isRefundable && (
        <div className="row">
          <Button quiet onClick={() => setIsOpen(true)}>
            {messages.refund}
          </Button>
          {isOpen && <RefundDialog order={order} onDone={reload} onClose={() => setIsOpen(false)} />}
        </div>
      )}
      {overview.scopes.includes("orders:write") && <ResendMail order={order} />}
    </div>
  );
}

function OrderPage({ id }: { id: string }) {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.order(id), [calls, id]));
  const explanation = useQuery(useCallback(() => calls.explain(id), [calls, id]));
  const order = state.value;
  const name = order?.invoice_number ?? messages.order;
  useTitle(`${name} · floe`);
  return (
    <>
      <h1>{name}</h1>
      <Panel title={messages.order} command={`floe orders get ${order?.invoice_number ?? id}`}>
        <Loaded state={state}>
          {(value) => (
            <>
              <Facts order={value} />
              <Acts order={value} reload={() => void state.reload()} />
            </>
          )}
        </Loaded>
      </Panel>
      {order && (
        <div className="home-columns">
          <Panel title={messages.why} command={`floe orders explain ${order.invoice_number}`}>
            <Loaded state={explanation}>{(value) => <Explained explanation={value} />}</Loaded>
          </Panel>
          <Payments order={order} />
        </div>
      )}
    </>
  );
}

/** One order: who bought what, why it cost so much, and how it was paid. */
export default function HomeOrderPage({ params }: { params: Record<string, string> }) {
  return (
    <HomePage>
      <OrderPage id={params.id ?? ""} />
    </HomePage>
  );
}
