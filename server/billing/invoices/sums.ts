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
  const money = (amount: number) => formatMoney(amount, currency, words.locale);
  const percent = (rate: string) =>
    new Intl.NumberFormat(words.locale, { maximumFractionDigits: 4 }).format(rate as Intl.StringNumericLiteral);
  const plain = (label: string, amount: number): Sum => ({ label, amount, weight: "plain" });
  const taxOf = ({ name, rate, taxable_amount, amount }: InvoiceTax): Sum => {
    const own = words.taxes[name as keyof typeof words.taxes] ?? name;
    const say = document.is_tax_inclusive ? words.included : words.rated;
    const label = say(own, percent(rate), money(taxable_amount));
    return { label, amount, weight: document.is_tax_inclusive ? "soft" : "plain" };
  };
  const taxes = document.tax.map(taxOf);
  const isBare = document.subtotal_amount === total_amount && discount === null;
  return [
    ...(isBare ? [] : [plain(words.subtotal, document.subtotal_amount)]),
    ...(discount ? [plain([words.discount, discount.label].filter(Boolean).join(": "), -discount.amount)] : []),
    ...(document.is_tax_inclusive ? [] : taxes),
    { label: words.total[kind], amount: total_amount, weight: "grand" },
    ...(document.is_tax_inclusive ? taxes : []),
    ...(balance_amount === 0 ? [] : [plain(balance_amount < 0 ? words.credit : words.debt, balance_amount)]),
    ...(reduction ? [plain(reduction.label, reduction.amount)] : []),
    ...(paid_amount === 0 ? [] : [plain(kind === "credit_note" ? words.refunded : words.paid, paid_amount)]),
    ...(kind === "invoice" ? [{ label: words.due, amount: due_amount, weight: "due" } as const] : []),
  ];
}
