import { type FormEvent, useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useSpeech } from "../i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { SelectField, TextField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Subscription } from "./calls.ts";
import { usePortalWords } from "./i18n.tsx";
import { Dialog } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

/** Ends a subscription with its period, once its customer has read what that means. */
export function Cancel({ subscription, left }: { subscription: Subscription; left: () => void }) {
  const speech = useSpeech();
  const words = usePortalWords();
  const { portal, reload } = usePlace();
  const [reason, setReason] = useState("");
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
    if (!answer.ok) return setFault(describeFailure(answer.failure, speech.words));
    await reload();
    left();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void cancel().finally(() => setBusy(false));
  };
  const end = speech.day(new Date(subscription.current_period_end));
  return (
    <Dialog title={words.cancel_title(product.name)} left={left}>
      <form className="stack" noValidate onSubmit={submit} aria-busy={busy}>
        <p>{subscription.status === "past_due" ? words.cancel_unpaid(end) : words.cancel_keeps(end)}</p>
        {product.benefits.length > 0 && (
          <div>
            <p>{words.cancel_loses}</p>
            <ul className="plain-list">
              {product.benefits.map(({ id, description }) => (
                <li key={id}>{description}</li>
              ))}
            </ul>
          </div>
        )}
        <SelectField
          label={words.cancel_why}
          optional={speech.words.optional}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
        >
          <option value="">{words.no_reason}</option>
          {Object.entries(words.reasons).map(([key, text]) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </SelectField>
        <TextField
          label={words.cancel_say}
          optional={speech.words.optional}
          rows={3}
          maxLength={10_000}
          value={comment}
          onChange={({ target }) => setComment(target.value)}
        />
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={left}>
            {words.keep}
          </Button>
          <Button type="submit" danger busy={busy}>
            {words.cancel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
