import { useEffect, useId, useState } from "react";
import { readFaults } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { describeTiers } from "../offers.ts";
import { getDueToday, getSeatRange } from "../terms.ts";
import type { Order } from "../use-checkout.ts";

/** How many seats: by a button each way, by the arrow keys, or typed. */
export default function Seats({ order: { checkout, update } }: { order: Order }) {
  const i18n = useI18n();
  const { messages, money } = i18n;
  const id = useId();
  const standing = checkout.seats ?? 1;
  const [typed, setTyped] = useState(String(standing));
  const [error, setError] = useState<string>();
  const [told, setTold] = useState("");
  const range = getSeatRange(checkout);

  useEffect(() => setTyped(String(standing)), [standing]);

  if (!range) return null;
  const { least, most } = range;
  const wanted = Number(typed);
  const isGood = /^\d+$/.test(typed) && wanted >= least && wanted <= most;
  const send = async (seats: number): Promise<void> => {
    setTyped(String(seats));
    setError(undefined);
    const answer = await update({ seats });
    if (!answer.ok) {
      const faults = readFaults(answer.failure, messages);
      return setError(faults.seats ?? faults.form);
    }
    const due = messages.now_due(money(getDueToday(answer.value), answer.value.currency));
    setTold(`${messages.count_seats(seats)}. ${due}`);
  };
  const settle = (): void => {
    if (!isGood) setError(messages.seat_bounds(least, most));
    else if (wanted !== standing) void send(wanted);
  };
  const changeBy = (by: number): void => {
    const next = Math.min(most, Math.max(least, (isGood ? wanted : standing) + by));
    if (next !== wanted) void send(next);
  };
  const each = checkout.price_per_seat;
  const tiers = describeTiers(checkout, i18n);
  return (
    <div className="seats">
      <label htmlFor={id}>
        {messages.seats}
        {each !== null && <span className="soft small">{messages.per_seat(money(each, checkout.currency))}</span>}
      </label>
      <span className="stepper">
        <button type="button" aria-label={messages.fewer_seats} disabled={wanted <= least} onClick={() => changeBy(-1)}>
          −
        </button>
        <input
          id={id}
          name="seats"
          type="text"
          inputMode="numeric"
          role="spinbutton"
          autoComplete="off"
          aria-valuenow={isGood ? wanted : standing}
          aria-valuemin={least}
          aria-valuemax={most}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? `${id}-fault` : undefined}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          onBlur={settle}
          onKeyDown={(event) => {
            const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
            if (by !== undefined) {
              event.preventDefault();
              changeBy(by);
            } else if (event.key === "Enter") settle();
          }}
        />
        <button type="button" aria-label={messages.more_seats} disabled={wanted >= most} onClick={() => changeBy(1)}>
          +
        </button>
      </span>
      {tiers.length > 0 && (
        <ul className="soft small tiers">
          {tiers.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
      {error && (
        <p id={`${id}-fault`} className="message fault" role="alert">
          {error}
        </p>
      )}
      <p className="hidden" role="status">
        {told}
      </p>
    </div>
  );
}
