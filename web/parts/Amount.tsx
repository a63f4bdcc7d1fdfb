import { getMinimumAmount, parseMoney, writeMoney } from "../../shared/money.ts";
import { useI18n } from "../i18n/i18n.tsx";
import type { Price } from "../terms.ts";
import { Field } from "./Field.tsx";

const getCurrencySign = (currency: string, locale: string): string | undefined =>
  new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "narrowSymbol" })
    .formatToParts(0)
    .find(({ type }) => type === "currency")?.value;

/** Amounts to choose by one press: the least, what the seller proposes, and twice that, as far as they are taken. */
function listAmounts(
  { preset_amount, maximum_amount }: { preset_amount: number | null; maximum_amount: number | null },
  least: number,
): number[] {
  const all = [least, ...(preset_amount ? [preset_amount, 2 * preset_amount] : [])];
  return [...new Set(all)].filter((amount) => amount >= least && amount <= (maximum_amount ?? amount));
}

type Props = {
  price: Extract<Price, { amount_type: "custom" }>;
  /** As typed. */
  value: string;
  chosen: number;
  error: string | undefined;
  change: (typed: string) => void;
  settle: (amount: number) => void;
};

/** What the buyer wants to pay, where they may choose. */
export default function Amount({ price, value, chosen, error, change, settle }: Props) {
  const { messages, money, locale } = useI18n();
  const currency = price.price_currency;
  const least = price.minimum_amount || getMinimumAmount(currency);
  const amounts = listAmounts(price, least);
  const typed = parseMoney(value, currency);
  const settleTyped = (): void => {
    if (typed !== undefined && typed !== chosen) settle(typed);
  };
  const pick = (amount: number): void => {
    change(writeMoney(amount, currency));
    if (amount !== chosen) settle(amount);
  };
  return (
    <>
      <Field
        label={messages.amount_in(currency.toUpperCase())}
        name="amount"
        aside={<span className="unit">{getCurrencySign(currency, locale)}</span>}
        inputMode="decimal"
        hint={messages.at_least(money(least, currency))}
        required
        value={value}
        error={error}
        onChange={({ target }) => change(target.value.replace(",", "."))}
        onBlur={settleTyped}
        onKeyDown={(event) => {
          // Enter here means this amount, which is to be seen in the total before it is paid.
          if (event.key !== "Enter") return;
          event.preventDefault();
          settleTyped();
        }}
      />
      {amounts.length > 1 && (
        <fieldset className="presets">
          <legend className="hidden">{messages.choose_amount}</legend>
          {amounts.map((amount) => (
            <button
              key={amount}
              type="button"
              className="button quiet"
              aria-pressed={typed === amount}
              onClick={() => pick(amount)}
            >
              {money(amount, currency)}
            </button>
          ))}
        </fieldset>
      )}
    </>
  );
}
