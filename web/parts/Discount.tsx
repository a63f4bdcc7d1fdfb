import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { readFaults } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import type { Order } from "../use-checkout.ts";
import { Button } from "./Button.tsx";
import { Field } from "./Field.tsx";

/** The code that makes it cheaper: entered here, or applied and removable. */
export function Discount({ order: { checkout, update, updating } }: { order: Order }) {
  const { messages, money } = useI18n();
  const { discount } = checkout;
  const [open, setOpen] = useState(false);
  const [code, setCode] = useState("");
  const [error, setError] = useState<string>();
  const [told, setTold] = useState("");
  const place = useRef<HTMLDivElement>(null);
  const moved = useRef(false);

  // The keyboard stays where it was, on what has taken the place of what was pressed.
  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    place.current?.querySelector<HTMLElement>("input, button")?.focus();
  });

  const send = async (discount_code: string | null): Promise<void> => {
    const answer = await update({ discount_code });
    if (!answer.ok) {
      const { discount_code: fault, form } = readFaults(answer.failure, messages);
      setError(fault ?? form);
      place.current?.querySelector<HTMLElement>("input")?.focus();
      return;
    }
    setError(undefined);
    setCode("");
    setOpen(false);
    moved.current = true;
    setTold(discount_code === null ? messages.code_removed : messages.code_applied(discount_code));
  };
  const apply = (): void => {
    if (code.trim() === "") setError(messages.missing.discount_code);
    else void send(code.trim());
  };
  const name = discount?.code ?? discount?.name ?? "";
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter") apply();
  };
  return (
    <div ref={place} className="discount">
      {discount ? (
        <p className="applied">
          <span className="discount-name">{name}</span>
          <button
            type="button"
            className="plain"
            aria-label={messages.remove_code(name)}
            onClick={() => void send(null)}
          >
            {messages.remove}
          </button>
        </p>
      ) : open ? (
        <div className="with-button">
          <Field
            label={messages.code}
            name="discount_code"
            autoComplete="off"
            autoCapitalize="characters"
            value={code}
            error={error}
            onChange={({ target }) => {
              setCode(target.value);
              setError(undefined);
            }}
            onKeyDown={onKeyDown}
          />
          <Button quiet busy={updating} onClick={apply}>
            {messages.apply}
          </Button>
        </div>
      ) : (
        <button
          type="button"
          className="plain"
          onClick={() => {
            moved.current = true;
            setOpen(true);
          }}
        >
          {messages.add_code}
        </button>
      )}
      <p className="hidden" role="status">
        {told &&
          `${told} ${messages.now_due(money(checkout.is_payment_required ? checkout.total_amount : 0, checkout.currency))}`}
      </p>
    </div>
  );
}
