import { useEffect, useRef, useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Money } from "../parts/Money.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { QueryState } from "../use-query.ts";
import type { Card, Order } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Part } from "./Part.tsx";
import { Pay } from "./Pay.tsx";
import { usePlace } from "./portal-context.ts";
import { Seats } from "./Seats.tsx";

const againMs = 1000;
const triesMax = 60;
type Kind = "invoice" | "receipt";

/** Whether its customer can pay it by themselves: a card was charged with it in vain. */
export const isUnpaid = ({ status, subscription_id, due_amount }: Order): boolean =>
  status === "pending" && subscription_id !== null && due_amount > 0;

/** Whether it has seats to assign. Those of a subscription stand with the subscription. */
const hasSeats = ({ seats, subscription_id, paid, status }: Order): boolean =>
  (seats ?? null) !== null && subscription_id === null && paid && status !== "refunded";

function Documents({ order }: { order: Order }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const [busy, setBusy] = useState<Kind>();
  const [fault, setFault] = useState<string>();
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);

  const open = async (kind: Kind): Promise<void> => {
    setFault(undefined);
    if (kind === "invoice" && !order.is_invoice_generated) {
      const asked = await portal.printInvoice(order.id);
      if (!asked.ok)
        return setFault(
          asked.failure.error === "MissingInvoiceBillingDetails"
            ? messages.needs_details
            : describeFailure(asked.failure, common),
        );
    }
    // It is printed in the background, and not found until then.
    for (let tries = 1; here.current; tries += 1) {
      const answer = await portal.document(order.id, kind);
      if (answer.ok && answer.value) {
        const link = document.createElement("a");
        link.href = answer.value.url;
        link.rel = "noreferrer";
        return link.click();
      }
      if (!answer.ok && (answer.failure.status !== 404 || tries >= triesMax))
        return setFault(describeFailure(answer.failure, common));
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  };
  const fetchOne = (kind: Kind): void => {
    setBusy(kind);
    void open(kind).finally(() => here.current && setBusy(undefined));
  };
  const number = order.invoice_number;
  return (
    <>
      <div className="row">
        {order.paid && (
          <Button
            quiet
            busy={busy === "invoice"}
            aria-label={messages.invoice_of(number)}
            onClick={() => fetchOne("invoice")}
          >
            {messages.invoice}
          </Button>
        )}
        {order.receipt_number !== null && (
          <Button
            quiet
            busy={busy === "receipt"}
            aria-label={messages.receipt_of(number)}
            onClick={() => fetchOne("receipt")}
          >
            {messages.receipt}
          </Button>
        )}
      </div>
      {fault && (
        <Notice tone="fault">
          <p>{fault}</p>
          {fault === messages.needs_details && <a href="#billing">{messages.billing}</a>}
        </Notice>
      )}
    </>
  );
}

/** What was bought, the newest first, with its documents. */
export function Orders({
  asked,
  cards,
  more,
}: {
  asked: QueryState<{ items: Order[]; pagination: { total_count: number } }>;
  cards: Card[];
  more: () => Promise<unknown>;
}) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const [paying, setPaying] = useState<Order>();
  const [busy, setBusy] = useState(false);
  return (
    <Part id="orders" title={messages.orders} asked={asked}>
      {({ items, pagination }) => (
        <div className="card stack">
          {items.length === 0 && <p className="soft">{messages.no_orders}</p>}
          {items.length > 0 && (
            <ul className="items">
              {items.map((order) => (
                <li key={order.id}>
                  <div>
                    <strong>{order.product?.name ?? order.description}</strong>{" "}
                    <span className={isUnpaid(order) ? "tag off" : "tag"}>
                      {messages.order_status[order.status] ?? order.status}
                    </span>
                    <p className="soft small">
                      {i18n.day(new Date(order.created_at))} ·{" "}
                      <Money amount={order.total_amount} currency={order.currency} /> · {order.invoice_number}
                      {order.refunded_amount > 0 &&
                        ` · ${messages.given_back(i18n.money(order.refunded_amount + order.refunded_tax_amount, order.currency))}`}
                    </p>
                  </div>
                  {isUnpaid(order) ? (
                    <Button onClick={() => setPaying(order)}>
                      {messages.pay_now(i18n.money(order.due_amount, order.currency))}
                    </Button>
                  ) : (
                    <Documents order={order} />
                  )}
                  {hasSeats(order) && (
                    <div className="whole">
                      <Seats container={{ order_id: order.id }} />
                    </div>
                  )}
                </li>
              ))}
            </ul>
          )}
          {items.length < pagination.total_count && (
            <Button
              quiet
              busy={busy}
              onClick={() => {
                setBusy(true);
                void more().finally(() => setBusy(false));
              }}
            >
              {messages.more_orders}
            </Button>
          )}
          {paying && <Pay order={paying} cards={cards} left={() => setPaying(undefined)} />}
        </div>
      )}
    </Part>
  );
}
