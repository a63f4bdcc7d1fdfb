import { type FormEvent, useCallback, useState } from "react";
import { describeFailure, readFaults } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { useQuery } from "../use-query.ts";
import type { Failure } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Refused } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

/** What seats are of: a subscription, or an order of something that is bought once. */
export type SeatContainer = { subscription_id: string } | { order_id: string };

/** The seats of a purchase: who has one, and an invitation for who is to have one. */
export function Seats({ container }: { container: SeatContainer }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { portal } = usePlace();
  const subscription_id = "subscription_id" in container ? container.subscription_id : undefined;
  const order_id = "order_id" in container ? container.order_id : undefined;
  const { value, failure, reload } = useQuery(
    useCallback(() => portal.seats({ subscription_id, order_id }), [portal, subscription_id, order_id]),
  );
  const [email, setEmail] = useState("");
  const [fault, setFault] = useState<string>();
  const [refused, setRefused] = useState<Failure>();
  const [said, setSaid] = useState<string>();
  const [busy, setBusy] = useState<string>();

  const runAction = async (
    id: string,
    doing: Promise<{ ok: true } | { ok: false; failure: Failure }>,
    text?: string,
  ) => {
    setBusy(id);
    setSaid(undefined);
    const answer = await doing;
    setRefused(answer.ok ? undefined : answer.failure);
    if (answer.ok) {
      await reload();
      setSaid(text);
    }
    setBusy(undefined);
  };
  const assignSeat = async (): Promise<void> => {
    const answer = await portal.giveSeat({ ...container, email: email.trim() });
    if (!answer.ok)
      return setFault(readFaults(answer.failure, common).email ?? describeFailure(answer.failure, common));
    setFault(undefined);
    setEmail("");
    await reload();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy("give");
    void assignSeat().finally(() => setBusy(undefined));
  };
  const given = value?.seats.filter(({ status }) => status !== "revoked") ?? [];
  return (
    <div className="stack">
      <p className="head">
        <strong>{messages.seats}</strong>
        {value && <span className="soft">{messages.seats_left(value.available_seats, value.total_seats)}</span>}
      </p>
      <Refused failure={failure ?? refused} />
      {given.length > 0 && (
        <ul className="items">
          {given.map((seat) => {
            const who = seat.email ?? seat.customer_email ?? "";
            return (
              <li key={seat.id}>
                <div>
                  {who} <span className="tag">{messages.seat_status[seat.status]}</span>
                </div>
                <div className="row">
                  {seat.status === "pending" && (
                    <Button
                      quiet
                      busy={busy === seat.id}
                      onClick={() => void runAction(seat.id, portal.resendSeat(seat.id), messages.resent)}
                    >
                      {messages.resend}
                    </Button>
                  )}
                  <Button
                    quiet
                    aria-label={messages.take_seat(who)}
                    onClick={() => void runAction(seat.id, portal.takeSeat(seat.id))}
                  >
                    {messages.take_seat_short}
                  </Button>
                </div>
              </li>
            );
          })}
        </ul>
      )}
      {said && <Notice tone="good">{said}</Notice>}
      {value && value.available_seats > 0 && (
        <form className="stack" noValidate onSubmit={submit}>
          <Field
            label={messages.seat_for}
            type="email"
            name="seat_email"
            autoComplete="off"
            required
            value={email}
            error={fault}
            onChange={({ target }) => {
              setEmail(target.value);
              setFault(undefined);
            }}
          />
          <div className="row">
            <Button type="submit" quiet busy={busy === "give"}>
              {messages.give_seat}
            </Button>
          </div>
        </form>
      )}
    </div>
  );
}
