import { formatMoney } from "../../shared/money.ts";
import { language } from "../language.ts";

/** An amount in minor units, in the reader's own way of writing it. */
export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span className="money">{formatMoney(amount, currency, language)}</span>;
}
