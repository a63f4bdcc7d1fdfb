import { getMessages } from "../../../shared/messages/index.ts";
import { formatMoney } from "../../../shared/money.ts";
import { getFormats, type InvoiceDocument, type InvoiceTax } from "./document.ts";

/** One line beneath the lines of a document, and how much it matters. */
export type Sum = { label: string; amount: number; weight: "plain" | "grand" | "soft" | "due" };

/** What stands beneath the lines of a document, from its subtotal to what is due. */
export function computeSums(document: InvoiceDocument): Sum[] {
  const { kind, language, currency, discount, balance_amount, paid_amount, due_amount, total_amount } = document;
  const { reduction } = document;
  const messages = getMessages(language).invoice;
  const formats = getFormats(document);
  const formatAmount = (amount: number) => formatMoney(amount, currency, formats);
  const formatPercent = (rate: string) =>
    new Intl.NumberFormat(formats, { maximumFractionDigits: 4 }).format(rate as Intl.StringNumericLiteral);
  const buildPlainSum = (label: string, amount: number): Sum => ({ label, amount, weight: "plain" });
  const getTax = ({ name, rate, taxable_amount, amount }: InvoiceTax): Sum => {
    const own = messages.taxes[name as keyof typeof messages.taxes] ?? name;
    const say = document.is_tax_inclusive ? messages.included : messages.rated;
    const label = say(own, formatPercent(rate), formatAmount(taxable_amount));
    return { label, amount, weight: document.is_tax_inclusive ? "soft" : "plain" };
  };
  const taxes = document.tax.map(getTax);
  const isBare = document.subtotal_amount === total_amount && discount === null;
  return [
    ...(isBare ? [] : [buildPlainSum(messages.subtotal, document.subtotal_amount)]),
    ...(discount
      ? [buildPlainSum([messages.discount, discount.label].filter(Boolean).join(": "), -discount.amount)]
      : []),
    ...(document.is_tax_inclusive ? [] : taxes),
    { label: messages.total[kind], amount: total_amount, weight: "grand" },
    ...(document.is_tax_inclusive ? taxes : []),
    ...(balance_amount === 0
      ? []
      : [buildPlainSum(balance_amount < 0 ? messages.credit : messages.debt, balance_amount)]),
    ...(reduction ? [buildPlainSum(reduction.label, reduction.amount)] : []),
    ...(paid_amount === 0
      ? []
      : [buildPlainSum(kind === "credit_note" ? messages.refunded : messages.paid, paid_amount)]),
    ...(kind === "invoice" ? [{ label: messages.due, amount: due_amount, weight: "due" } as const] : []),
  ];
}
