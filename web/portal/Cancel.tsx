import { type FormEvent, useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { SelectField, TextField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Subscription } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

type Reason = NonNullable<Subscription["customer_cancellation_reason"]>;

/** Ends a subscription with its period, once its customer has read what that means. */
export function Cancel({ subscription, left }: { subscription: Subscription; left: () => void }) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const { portal, reload } = usePlace();
  const [reason, setReason] = useState<Reason | "">("");
  const [comment, setComment] = useState("");
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const { product } = subscription;

  const cancel = async (): Promise<void> => {
    const answer = await portal.change(subscription.id, {
      cancel_at_period_end: true,
      ...(reason && { cancellation_reason: reason }),
      ...(comment.trim() && { cancellation_comment: comment.trim() }),
    });
    if (!answer.ok) return setFault(describeFailure(answer.failure, i18n.messages));
    await reload();
    left();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void cancel().finally(() => setBusy(false));
  };
  const end = i18n.day(new Date(subscription.current_period_end));
  return (
    <Dialog title={messages.cancel_title(product.name)} left={left}>
      <form className="stack" noValidate onSubmit={submit} aria-busy={busy}>
        <p>{subscription.status === "past_due" ? messages.cancel_unpaid(end) : messages.cancel_keeps(end)}</p>
        {product.benefits.length > 0 && (
          <div>
            <p>{messages.cancel_loses}</p>
            <ul className="plain-list">
              {product.benefits.map(({ id, description }) => (
                <li key={id}>{description}</li>
              ))}
            </ul>
          </div>
        )}
        <SelectField
          label={messages.cancel_why}
          optional={i18n.messages.optional}
          value={reason}
          onChange={({ target }) => setReason(target.value as Reason | "")}
        >
          <option value="">{messages.no_reason}</option>
          {Object.entries(messages.reasons).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </SelectField>
        <TextField
          label={messages.cancel_say}
          optional={i18n.messages.optional}
          rows={3}
          maxLength={10_000}
          value={comment}
          onChange={({ target }) => setComment(target.value)}
        />
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={left}>
            {messages.keep}
          </Button>
          <Button type="submit" danger busy={busy}>
            {messages.cancel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
