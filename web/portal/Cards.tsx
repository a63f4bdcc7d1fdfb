import { type FormEvent, useCallback, useRef, useState } from "react";
import { formatCard } from "../card.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { TickField } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { QueryState } from "../use-query.ts";
import { Bank } from "./Bank.tsx";
import { CardEntry, type CardHandle } from "./CardEntry.tsx";
import type { Card, Failure } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog, Part, Refused } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

/** Leaves a card for later charges; the bank may have to be asked first. */
function AddCard({ left, added }: { left: () => void; added: () => void }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal, reload } = usePlace();
  const card = useRef<CardHandle>(null);
  const [first, setFirst] = useState(true);
  const [secret, setSecret] = useState<string>();
  const [busy, setBusy] = useState(false);

  const take = useCallback(
    async (answer: Awaited<ReturnType<typeof portal.addCard>>): Promise<void> => {
      if (!answer.ok) return card.current?.refuse(describeFailure(answer.failure, common));
      if (answer.value.status === "requires_action") return setSecret(answer.value.client_secret);
      await reload();
      added();
    },
    [common, reload, added],
  );
  const answered = useCallback((): void => {
    // The processor's name of what the bank was asked about stands before the secret.
    const setup_intent_id = secret?.split("_secret_")[0] ?? "";
    setSecret(undefined);
    setBusy(true);
    void portal
      .confirmCard({ setup_intent_id, set_default: first })
      .then(take)
      .finally(() => setBusy(false));
  }, [portal, secret, first, take]);
  const save = async (): Promise<void> => {
    const confirmation_token_id = await card.current?.read();
    if (confirmation_token_id) await take(await portal.addCard({ confirmation_token_id, set_default: first }));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    void save().finally(() => setBusy(false));
  };
  return (
    <Dialog title={messages.add_card} left={left}>
      <form className="stack" noValidate onSubmit={submit} aria-busy={busy}>
        <CardEntry handle={card} due={undefined} />
        <TickField label={messages.set_default} checked={first} onChange={({ target }) => setFirst(target.checked)} />
        <p className="soft small">{common.card_safe}</p>
        <div className="row">
          <Button quiet onClick={left}>
            {messages.cancel_action}
          </Button>
          <Button type="submit" busy={busy}>
            {messages.save_card}
          </Button>
        </div>
      </form>
      {secret && <Bank secret={secret} answered={answered} />}
    </Dialog>
  );
}

/** The cards that are kept. */
export function Cards({ asked }: { asked: QueryState<Card[]> }) {
  const { locale, messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal, seller, reload } = usePlace();
  const isPayable = seller.is_payment_available !== false;
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Card>();
  const [said, setSaid] = useState<string>();
  const [failure, setFailure] = useState<Failure>();
  const [busy, setBusy] = useState<string>();
  const month = new Intl.DateTimeFormat(locale, { month: "2-digit", year: "numeric", timeZone: "UTC" });

  const runAction = async (
    id: string,
    doing: Promise<{ ok: true } | { ok: false; failure: Failure }>,
  ): Promise<void> => {
    setBusy(id);
    setSaid(undefined);
    const answer = await doing;
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) await reload();
    setBusy(undefined);
  };
  return (
    <Part id="cards" title={messages.cards} asked={asked}>
      {(cards) => (
        <div className="card stack">
          {cards.length === 0 && <p className="soft">{messages.no_cards}</p>}
          {cards.length > 0 && (
            <ul className="items">
              {cards.map((card) => {
                const { exp_year, exp_month } = card.method_metadata;
                return (
                  <li key={card.id}>
                    <div>
                      <strong>{formatCard(card.method_metadata)}</strong>{" "}
                      <span className="soft">
                        {messages.card_until(month.format(Date.UTC(exp_year, exp_month - 1)))}
                      </span>{" "}
                      {card.is_default && <span className="tag">{messages.default_card}</span>}
                    </div>
                    <div className="row">
                      {!card.is_default && (
                        <Button
                          quiet
                          busy={busy === card.id}
                          onClick={() => void runAction(card.id, portal.update({ default_payment_method_id: card.id }))}
                        >
                          {messages.make_default}
                        </Button>
                      )}
                      <Button
                        quiet
                        aria-label={`${messages.remove_card}: ${formatCard(card.method_metadata)}`}
                        onClick={() => setRemoving(card)}
                      >
                        {messages.remove_card}
                      </Button>
                    </div>
                  </li>
                );
              })}
            </ul>
          )}
          <Refused failure={failure} />
          {said && <Notice tone="good">{said}</Notice>}
          {isPayable ? (
            <div className="row">
              <Button quiet onClick={() => setAdding(true)}>
                {messages.add_card}
              </Button>
            </div>
          ) : (
            <Notice tone="fault">{common.no_payments}</Notice>
          )}
          {adding && (
            <AddCard
              left={() => setAdding(false)}
              added={() => {
                setAdding(false);
                setSaid(messages.card_added);
              }}
            />
          )}
          {removing && (
            <Dialog
              title={messages.remove_card_title(formatCard(removing.method_metadata))}
              left={() => setRemoving(undefined)}
            >
              <p className="soft">{messages.remove_card_how}</p>
              <div className="row">
                <Button quiet onClick={() => setRemoving(undefined)}>
                  {messages.cancel_action}
                </Button>
                <Button
                  danger
                  busy={busy === removing.id}
                  onClick={() =>
                    void runAction(removing.id, portal.removeCard(removing.id)).then(() => setRemoving(undefined))
                  }
                >
                  {messages.remove_card}
                </Button>
              </div>
            </Dialog>
          )}
        </div>
      )}
    </Part>
  );
}
