import type { Address } from "../../../shared/addresses.ts";
import { resolveFormats } from "../../../shared/formats.ts";
import type { Language } from "../../../shared/messages/index.ts";

/** One side of an invoice. */
export type Party = {
  name: string;
  /** The name that it trades under, where that is another. */
  trade_name: string | null;
  address: Address | null;
  tax_id: string | null;
  email: string | null;
};

/** What of the tax falls under one rate; the rate is in percent, as text. */
export type InvoiceTax = {
  name: string;
  country: string;
  state: string | null;
  rate: string;
  taxable_amount: number;
  amount: number;
};

export const documentKinds = ["invoice", "credit_note", "receipt"] as const;
export type DocumentKind = (typeof documentKinds)[number];

/**
 * A document as it is printed: everything that stands on it, and nothing else. Amounts are in minor units. The same data makes
 * the page and the electronic invoice in it, so that the two cannot disagree; its digest says whether it has to be made again.
 */
export type InvoiceDocument = {
  kind: DocumentKind;
  number: string;
  /** `YYYY-MM-DD`, in UTC. */
  issued_on: string;
  /** The invoice that a credit note or a receipt belongs to. */
  reference: { number: string; issued_on: string } | null;
  language: Language;
  /** How amounts and dates are written, where other than usual in the language. Absent on others, whose digests stay the same. */
  formats?: string;
  currency: string;
  /** What a seller calls the buyer and the sale in its own books: the ids of the API. */
  order_id: string;
  customer_id: string;
  seller: Party & { id: string; website: string | null };
  buyer: Party;
  /** A line that gives something back names the invoice that it was sold by. */
  lines: { label: string; amount: number }[];
  /** Whether the lines and the discount hold their tax. */
  is_tax_inclusive: boolean;
  subtotal_amount: number;
  discount: { label: string; amount: number } | null;
  net_amount: number;
  tax: InvoiceTax[];
  tax_amount: number;
  /** Why no tax is taken, or the buyer pays it: `reverse_charge` is told to the buyer as the law wants it. */
  tax_reason: string | null;
  total_amount: number;
  /** Credit of the buyer that was used (negative), or a debt that was added. */
  balance_amount: number;
  /** What was given back of an unpaid invoice, on that invoice and on the one that gives it back. */
  reduction?: { label: string; amount: number };
  paid_amount: number;
  due_amount: number;
  paid_on: string | null;
  payment: string | null;
  /** Stands on the page and in the electronic invoice. */
  note: string | null;
  /** Set on documents of a sandbox: the page says so at its head. Absent on others, whose digests stay the same. */
  is_test?: true;
  footer: string | null;
  accent_color: string;
};

/** The locale by which a document writes amounts and dates. */
export const getFormats = ({ language, formats }: Pick<InvoiceDocument, "language" | "formats">): string =>
  formats ?? resolveFormats(null, null, language);

/** A picture on a document. */
export type Logo = { format: "png" | "jpg"; bytes: Uint8Array };

/** Characters that neither a font has nor XML may hold, and those that turn the direction of what stands around them. */
const unprintable = /(?!\u200c|\u200d)[\p{Cc}\p{Cf}\u2028\u2029\ufffe\uffff]/gu;

/** A text of a stranger as it may be printed: no controls, no turned direction, no halves of characters. */
export const cleanText = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\t\r\n]+/g, " ")
    .replace(unprintable, "")
    .trim();

/** The lines of an address as it is written in most of the world: postal code before the city, the country last. */
export function formatAddress(address: Address, language: Language): string[] {
  const { line1, line2, postal_code, city, state, country } = address;
  const isAmerican = country === "US" || country === "CA" || country === "AU";
  const region = state?.replace(/^[A-Z]{2}-/, "") ?? null;
  const place = isAmerican
    ? [city, [region, postal_code].filter(Boolean).join(" ")].filter(Boolean).join(", ")
    : [postal_code, city].filter(Boolean).join(" ");
  const name = new Intl.DisplayNames([language], { type: "region" }).of(country) ?? country;
  return [line1, line2, place, isAmerican ? null : state, name].map((line) => cleanText(line ?? "")).filter(Boolean);
}
