import { type InputHTMLAttributes, type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { findBrand, formatExpiry, formatNumber, readDigits } from "../card.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Brands } from "./Brands.tsx";

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
    if (caret < element.value.length) digitsBefore.current = readDigits(element.value.slice(0, caret)).length;
  };
}

type CellProps = InputHTMLAttributes<HTMLInputElement> & {
  label: string;
  /** Ids of the texts that say what is wrong with it. */
  describedBy: (string | undefined)[];
  children?: ReactNode;
};

/** One field of the card's box; what is wrong with it stands below the box. */
function Cell({ label, describedBy, children, className, ...input }: CellProps) {
  const ids = describedBy.filter((id) => id !== undefined);
  return (
    <label className={`cell ${className ?? ""}`}>
      <span className="hidden">{label}</span>
      <input
        {...input}
        aria-required
        aria-invalid={ids.length > 0 ? true : undefined}
        aria-describedby={ids.join(" ") || undefined}
      />
      {children}
    </label>
  );
}

/** Number, expiry and security code of a card in one box, the way browsers and phones fill them in. */
export default function CardForm({ values, errors, faultId, change }: Props) {
  const { messages } = useI18n();
  const id = useId();
  const keepCaret = useCaret(values.card_number);
  const brand = findBrand(values.card_number);
  const getDescriptionId = (field: keyof CardValues): string | undefined =>
    errors[field] ? `${id}-${field}` : undefined;
  return (
    <fieldset>
      <legend className="legend">{messages.card}</legend>
      <div className="cells">
        <Cell
          className="number"
          label={messages.card_number}
          name="card_number"
          autoComplete="cc-number"
          inputMode="numeric"
          placeholder="1234 1234 1234 1234"
          value={values.card_number}
          describedBy={[getDescriptionId("card_number"), faultId]}
          onChange={({ target }) => {
            keepCaret(target);
            change({ card_number: formatNumber(target.value) });
          }}
        >
          <Brands name={brand.name} />
        </Cell>
        <Cell
          label={messages.expiry}
          name="card_expiry"
          autoComplete="cc-exp"
          inputMode="numeric"
          placeholder={messages.expiry_form}
          value={values.card_expiry}
          describedBy={[getDescriptionId("card_expiry")]}
          onChange={({ target }) => change({ card_expiry: formatExpiry(target.value) })}
        />
        <Cell
          label={messages.security_code}
          name="card_cvc"
          autoComplete="cc-csc"
          inputMode="numeric"
          placeholder="CVC"
          maxLength={4}
          value={values.card_cvc}
          describedBy={[getDescriptionId("card_cvc")]}
          onChange={({ target }) => change({ card_cvc: readDigits(target.value).slice(0, 4) })}
        />
      </div>
      {(["card_number", "card_expiry", "card_cvc"] as const).map(
        (field) =>
          errors[field] && (
            <p key={field} id={getDescriptionId(field)} className="message fault">
              {errors[field]}
            </p>
          ),
      )}
    </fieldset>
  );
}
