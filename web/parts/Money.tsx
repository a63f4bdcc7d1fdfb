import { useI18n } from "../i18n/i18n.tsx";

/** An amount in minor units, in the reader's own way of writing it. */
export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span className="money">{useI18n().money(amount, currency)}</span>;
}
