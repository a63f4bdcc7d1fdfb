import { formatMoney } from "../../../shared/money.ts";
import type { InvoiceDocument, InvoiceTax } from "./document.ts";
import { getWords } from "./messages.ts";

/** One line beneath the lines of a document, and how much it matters. */
export type Sum = { label: string; amount: number; weight: "plain" | "grand" | "soft" | "due" };

/** What stands beneath the lines of a document, from its subtotal to what is due. */
export function computeSums(document: InvoiceDocument): Sum[] {
  const { kind, language, currency, discount, balance_amount, paid_amount, due_amount, total_amount } = document;
  const { reduction } = document;
  const words = getWords(language);
  const formatAmount = (amount: number) => formatMoney(amount, currency, words.locale);
  const formatPercent = (rate: string) =>
    new Intl.NumberFormat(words.locale, { maximumFractionDigits: 4 }).format(rate as Intl.StringNumericLiteral);
  const buildPlainSum = (label: string, amount: number): Sum => ({ label, amount, weight: "plain" });
  const getTax = ({ name, rate, taxable_amount, amount }: InvoiceTax): Sum => {
    const own = words.taxes[name as keyof typeof words.taxes] ?? name;
    const say = document.is_tax_inclusive ? words.included : words.rated;
    const label = say(own, formatPercent(rate), formatAmount(taxable_amount));
    return { label, amount, weight: document.is_tax_inclusive ? "soft" : "plain" };
  };
  const taxes = document.tax.map(getTax);
  const isBare = document.subtotal_amount === total_amount && discount === null;
  return [
    ...(isBare ? [] : [buildPlainSum(words.subtotal, document.subtotal_amount)]),
    ...(discount ? [buildPlainSum([words.discount, discount.label].filter(Boolean).join(": "), -discount.amount)] : []),
    ...(document.is_tax_inclusive ? [] : taxes),
    { label: words.total[kind], amount: total_amount, weight: "grand" },
    ...(document.is_tax_inclusive ? taxes : []),
    ...(balance_amount === 0 ? [] : [buildPlainSum(balance_amount < 0 ? words.credit : words.debt, balance_amount)]),
    ...(reduction ? [buildPlainSum(reduction.label, reduction.amount)] : []),
    ...(paid_amount === 0 ? [] : [buildPlainSum(kind === "credit_note" ? words.refunded : words.paid, paid_amount)]),
    ...(kind === "invoice" ? [{ label: words.due, amount: due_amount, weight: "due" } as const] : []),
  ];
}
