import { useState } from "react";
import { Link } from "../account/Link.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { Command } from "./Command.tsx";
import type { Overview } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";
import { Panel } from "./Panel.tsx";
import { FailedEvents } from "./Redeliver.tsx";

type Payment = NonNullable<Overview["failed_payments"]>[number];
type Endpoint = NonNullable<Overview["failing_endpoints"]>[number];

function FailedPayment({ payment }: { payment: Payment }) {
  const messages = useHomeMessages();
  const { money, day } = useI18n();
  const name = payment.customer_name ?? payment.customer_email ?? messages.unnamed;
  const next = payment.next_payment_attempt_at;
  return (
    <li>
      <p>{messages.payment_failed(money(payment.amount, payment.currency), name)}</p>
      <p className="soft small">
        {payment.decline_reason !== null && messages.declined(payment.decline_reason.replaceAll("_", " "))}{" "}
        {next === null ? messages.no_retry : messages.retry_on(day(new Date(next)))}
      </p>
      {payment.invoice_number !== null && (
        <>
          <Link href={`/store/orders/${payment.order_id}`}>{payment.invoice_number}</Link>
          <Command text={`floe orders get ${payment.invoice_number}`} />
        </>
      )}
    </li>
  );
}

function FailingEndpoint({ endpoint: { id, url, enabled, failed, recent, pending } }: { endpoint: Endpoint }) {
  const messages = useHomeMessages();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <p className="address">{url}</p>
      <p className="soft small">
        {enabled ? messages.endpoint_failing(failed, recent) : messages.endpoint_off}{" "}
        {pending > 0 && messages.endpoint_pending(pending)}
      </p>
      <Command text={`floe webhooks doctor ${url}`} />
      {failed > 0 && (
        <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
          <summary>{messages.failed_events}</summary>
          {isOpen && <FailedEvents endpoint_id={id} />}
        </details>
      )}
    </li>
  );
}

/** What is wrong now: failed payments, endpoints that get no events, jobs that were given up. */
export function Attention({ overview }: { overview: Overview }) {
  const messages = useHomeMessages();
  const { failed_payments, failing_endpoints, dead_letters } = overview;
  const isFine = !failed_payments?.length && !failing_endpoints?.length && dead_letters.count === 0;
  return (
    <Panel title={messages.attention} command="floe doctor">
      {isFine ? (
        <p className="soft">{messages.all_fine}</p>
      ) : (
        <ul className="rows">
          {failed_payments?.map((payment) => (
            <FailedPayment key={payment.id} payment={payment} />
          ))}
          {failing_endpoints?.map((endpoint) => (
            <FailingEndpoint key={endpoint.id} endpoint={endpoint} />
          ))}
          {dead_letters.count > 0 && (
            <li>
              <p>{messages.dead_letters(dead_letters.count)}</p>
              <p className="soft small">{dead_letters.kinds.join(", ")}</p>
              <Command text="floe jobs list" />
            </li>
          )}
        </ul>
      )}
    </Panel>
  );
}
