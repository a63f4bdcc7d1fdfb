import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { computeAccent } from "../accent.ts";
import { formatCard } from "../card.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { SelectField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Bank } from "./Bank.tsx";
import { CardEntry, type CardHandle } from "./CardEntry.tsx";
import type { Card, Order } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

const pollMs = 2000;
type Standing = "entering" | "bank" | "paying" | "paid";

/** Pays what a card was charged with in vain: by one that is kept, or by another one. */
export function Pay({ order, cards, left }: { order: Order; cards: Card[]; left: () => void }) {
  const i18n = useI18n();
  const messages = usePortalMessages();
  const { portal, seller, reload } = usePlace();
  const [by, setBy] = useState((cards.find(({ is_default }) => is_default) ?? cards[0])?.id ?? "");
  const [standing, setStanding] = useState<Standing>("entering");
  const [secret, setSecret] = useState<string>();
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const entry = useRef<CardHandle>(null);

  const paid = useCallback((): void => {
    setStanding("paid");
    void reload();
  }, [reload]);
  const refused = useCallback((text: string): void => {
    setStanding("entering");
    setFault(text);
  }, []);
  const pay = async (): Promise<void> => {
    setFault(undefined);
    const token = by === "" ? await entry.current?.read() : undefined;
    if (by === "" && !token) return;
    const answer = await portal.pay(order.id, by === "" ? { confirmation_token_id: token } : { payment_method_id: by });
    if (!answer.ok) return refused(describeFailure(answer.failure, i18n.messages));
    const { status, client_secret } = answer.value;
    if (status === "succeeded") paid();
    else if (status === "failed") refused(messages.payment_failed);
    else if (status === "requires_action" && client_secret) {
      setSecret(client_secret);
      setStanding("bank");
    } else setStanding("paying");
  };
  const answered = useCallback(() => setStanding("paying"), []);

  useEffect(() => {
    if (standing !== "paying") return;
    const refresh = async (): Promise<void> => {
      const now = await portal.paymentStatus(order.id);
      if (!now.ok) return;
      if (now.value.status === "succeeded") paid();
      else if (now.value.status === "failed" || now.value.status === "pending") refused(messages.payment_failed);
    };
    void refresh();
    const timer = setInterval(() => void refresh(), pollMs);
    return () => clearInterval(timer);
  }, [standing, portal, order.id, paid, refused, messages]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy || standing !== "entering") return;
    setBusy(true);
    void pay().finally(() => setBusy(false));
  };
  const { due_amount: amount, currency } = order;
  return (
    <Dialog title={messages.pay_title} left={left}>
      {standing === "paid" ? (
        <>
          <Notice tone="good">{messages.is_paid}</Notice>
          <div className="row">
            <Button onClick={left}>{messages.back}</Button>
          </div>
        </>
      ) : seller.is_payment_available === false ? (
        <>
          <Notice tone="fault">{i18n.messages.no_payments}</Notice>
          <div className="row">
            <Button onClick={left}>{messages.back}</Button>
          </div>
        </>
      ) : (
        <form className="stack" noValidate onSubmit={submit} aria-busy={busy || standing !== "entering"}>
          {cards.length > 0 && (
            <SelectField label={messages.pay_by} value={by} onChange={({ target }) => setBy(target.value)}>
              {cards.map((card) => (
                <option key={card.id} value={card.id}>
                  {formatCard(card.method_metadata)}
                </option>
              ))}
              <option value="">{messages.another_card}</option>
            </SelectField>
          )}
          {by === "" && <CardEntry handle={entry} due={{ amount, currency }} />}
          {fault && <Notice tone="fault">{fault}</Notice>}
          {standing === "paying" && <Notice>{messages.paying}</Notice>}
          <div className="row">
            <Button quiet onClick={left}>
              {messages.cancel_action}
            </Button>
            <Button
              type="submit"
              busy={busy || standing !== "entering"}
              style={computeAccent(seller.organization.branding.accent_color)}
            >
              {messages.pay_now(i18n.money(amount, currency))}
            </Button>
          </div>
        </form>
      )}
      {standing === "bank" && secret && <Bank secret={secret} answered={answered} />}
    </Dialog>
  );
}
