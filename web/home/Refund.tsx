import { useState } from "react";
import { parseMoney, writeMoney } from "../../shared/money.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Field, SelectField } from "../parts/Field.tsx";
import { ActDialog } from "./Act.tsx";
import type { Order } from "./calls.ts";
import { useHome } from "./home-context.ts";
import { useHomeMessages } from "./messages.tsx";

type Reason =
  | "customer_request"
  | "duplicate"
  | "fraudulent"
  | "service_disruption"
  | "satisfaction_guarantee"
  | "other";

/** Refunds an order, in whole or in part; the share of the tax goes back with it. */
export function RefundDialog({ order, onDone, onClose }: { order: Order; onDone: () => void; onClose: () => void }) {
  const messages = useHomeMessages();
  const { money } = useI18n();
  const { calls } = useHome();
  const { currency, refundable_amount } = order;
  const [text, setText] = useState(() => writeMoney(refundable_amount, currency));
  const [reason, setReason] = useState<Reason>("customer_request");
  const [revokes, setRevokes] = useState(false);
  const amount = parseMoney(text.trim().replace(",", "."), currency);
  const isReady = amount !== undefined && amount > 0 && amount <= refundable_amount;
  const isPurchase = order.subscription_id === null;
  return (
    <ActDialog
      title={messages.refund_order(order.invoice_number)}
      action={messages.refund}
      command={[
        `floe refunds create --order-id ${order.invoice_number}`,
        `--amount ${isReady ? writeMoney(amount, currency) : "AMOUNT"} --reason ${reason}`,
        ...(revokes ? ["--revoke-benefits"] : []),
      ].join(" ")}
      isReady={isReady}
      send={(key) => calls.refund(key, { order_id: order.id, amount: amount ?? 0, reason, revoke_benefits: revokes })}
      onDone={onDone}
      onClose={onClose}
    >
      <Field
        label={messages.amount_in(currency.toUpperCase())}
        inputMode="decimal"
        value={text}
        error={isReady ? undefined : messages.wrong_amount(money(refundable_amount, currency))}
        hint={messages.refund_hint}
        onChange={({ target }) => setText(target.value)}
      />
      <SelectField label={messages.reason} value={reason} onChange={({ target }) => setReason(target.value as Reason)}>
        {Object.entries(messages.refund_reasons).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </SelectField>
      {isPurchase && (
        <label className="check">
          <input type="checkbox" checked={revokes} onChange={({ target }) => setRevokes(target.checked)} />
          {messages.revoke_benefits}
        </label>
      )}
    </ActDialog>
  );
}
