import { useLayoutEffect, useRef } from "react";
import { brandOf, digitsOf, formatExpiry, formatNumber } from "../card.ts";
import { Field } from "./Field.tsx";

type CardValues = { card_number: string; card_expiry: string; card_cvc: string };
type Props = {
  values: CardValues;
  errors: { [K in keyof CardValues]?: string | undefined };
  /** Id of the text that says why the card was refused as a whole. */
  faultId?: string | undefined;
  change: (patch: Partial<CardValues>) => void;
};

/** Keeps the caret behind the same digit when a number is regrouped while it is being typed. */
function useCaret(value: string) {
  const input = useRef<HTMLInputElement | null>(null);
  const digitsBefore = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    const wanted = digitsBefore.current;
    digitsBefore.current = undefined;
    if (wanted === undefined || !input.current) return;
    let at = 0;
    for (let seen = 0; at < value.length && seen < wanted; at += 1) if (/\d/.test(value[at] ?? "")) seen += 1;
    input.current.setSelectionRange(at, at);
  }, [value]);
  return (element: HTMLInputElement): void => {
    input.current = element;
    const caret = element.selectionStart ?? element.value.length;
    if (caret < element.value.length) digitsBefore.current = digitsOf(element.value.slice(0, caret)).length;
  };
}

/** Number, expiry and security code of a card, the way browsers and phones fill them in. */
export function CardForm({ values, errors, faultId, change }: Props) {
  const keepCaret = useCaret(values.card_number);
  const brand = brandOf(values.card_number);
  return (
    <>
      <Field
        label="Card number"
        name="card_number"
        autoComplete="cc-number"
        inputMode="numeric"
        placeholder="1234 1234 1234 1234"
        required
        value={values.card_number}
        error={errors.card_number}
        faultId={faultId}
        onChange={({ target }) => {
          keepCaret(target);
          change({ card_number: formatNumber(target.value) });
        }}
        aside={brand.name !== "" && <span className="brand">{brand.name}</span>}
      />
      <div className="pair">
        <Field
          label="Expiry date"
          name="card_expiry"
          autoComplete="cc-exp"
          inputMode="numeric"
          placeholder="MM / YY"
          required
          value={values.card_expiry}
          error={errors.card_expiry}
          onChange={({ target }) => change({ card_expiry: formatExpiry(target.value) })}
        />
        <Field
          label="Security code"
          name="card_cvc"
          autoComplete="cc-csc"
          inputMode="numeric"
          placeholder={"•".repeat(brand.cvc)}
          maxLength={4}
          required
          value={values.card_cvc}
          error={errors.card_cvc}
          onChange={({ target }) => change({ card_cvc: digitsOf(target.value).slice(0, 4) })}
        />
      </div>
    </>
  );
}
