/** Amounts as people write them, in place of minor units. */
import { parseMoney } from "../../shared/money.ts";
import { findWrongAmount, parseWrittenAmount } from "../../shared/written-amount.ts";
import { rejectText } from "./shorthand.ts";

const howTo = "Write 24.50, 24.50eur or €24.50.";

/** An amount in minor units, or why it is none. */
export function readAmount(text: string, currency: string, how = howTo): number {
  const amount = parseWrittenAmount(text);
  if (!amount) return rejectText(text, "is not an amount", how);
  if (amount.currency !== undefined && amount.currency !== currency)
    return rejectText(text, `is in ${amount.currency}, and ${currency} is meant`, how);
  const wrong = amount.currency !== undefined ? undefined : findWrongAmount(amount.amount, currency);
  const minor = wrong === undefined ? parseMoney(amount.amount, currency) : undefined;
  return minor ?? rejectText(text, `is not an amount in ${currency}. ${wrong ?? ""}`.trim(), how);
}
