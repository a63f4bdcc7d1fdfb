import { Link } from "../account/Link.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { Money } from "../parts/Money.tsx";
import type { Overview } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";

type Order = Pick<
  NonNullable<Overview["orders"]>[number],
  "id" | "created_at" | "invoice_number" | "status" | "total_amount" | "currency" | "product_name"
> & { customer_id?: string; customer_name?: string | null; customer_email?: string | null };

/** Good news, bad news, or neither: the color of a state. */
const tones: Partial<Record<Order["status"], string>> = { paid: "good", pending: "fault", void: "fault" };

export function OrderState({ status }: { status: Order["status"] }) {
  const messages = useHomeMessages();
  return <span className={`state ${tones[status] ?? ""}`}>{messages.order_states[status]}</span>;
}

/** Orders as a table; on a narrow screen each is a block of lines. */
export function OrderTable({ orders, label }: { orders: readonly Order[]; label: string }) {
  const messages = useHomeMessages();
  const { locale } = useI18n();
  const time = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  const hasCustomers = orders.some(({ customer_id }) => customer_id !== undefined);
  return (
    <table className="list" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{messages.number}</th>
          {hasCustomers && <th scope="col">{messages.customer}</th>}
          <th scope="col">{messages.product}</th>
          <th scope="col">{messages.date}</th>
          <th scope="col">{messages.state}</th>
          <th scope="col" className="amount">
            {messages.amount}
          </th>
        </tr>
      </thead>
      <tbody>
        {orders.map((order) => (
          <tr key={order.id}>
            <td>
              <Link href={`/store/orders/${order.id}`}>{order.invoice_number}</Link>
            </td>
            {order.customer_id !== undefined && (
              <td>
                <Link href={`/store/customers/${order.customer_id}`}>
                  {order.customer_name ?? order.customer_email ?? messages.unnamed}
                </Link>
              </td>
            )}
            <td>{order.product_name}</td>
            <td className="soft">{time.format(new Date(order.created_at))}</td>
            <td>
              <OrderState status={order.status} />
            </td>
            <td className="amount">
              <Money amount={order.total_amount} currency={order.currency} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
