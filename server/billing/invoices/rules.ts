import { createHash } from "node:crypto";
import type { InvoiceExport } from "../../../shared/api/invoices.ts";
import { ApiError } from "../../../shared/errors.ts";
import { resolveFormats } from "../../../shared/formats.ts";
import { getMessages, type Language, resolveLanguage } from "../../../shared/messages/index.ts";
import { allocate, computeFraction, formatMoney, formatUnitMoney } from "../../../shared/money.ts";
import { describeLine } from "../../../shared/usage.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { isTestAccount } from "../../platform/processors/processor.ts";
import { computeTotals, isPaid, type OrderAggregate, type OrderItemRow, type OrderRow } from "../orders/rules.ts";
import type { PaymentRow } from "../payments/rules.ts";
import type { RefundRow } from "../refunds/rules.ts";
import type { RegistrationRow } from "../tax/rules.ts";
import { cleanText, type InvoiceDocument, type InvoiceTax, type Party } from "./document.ts";
import type { invoiceExports, invoices } from "./tables.ts";

export type InvoiceRow = typeof invoices.$inferSelect;
/** Everything that a document is made of. */
export type Sources = {
  /** Whether the server sells as a test now, which decides where no payment tells. */
  sells_test: boolean;
  invoice: Pick<InvoiceRow, "kind" | "number" | "created_at">;
  sale: OrderAggregate;
  seller: OrganizationRow;
  registrations: readonly RegistrationRow[];
  payment: PaymentRow | undefined;
  refund: RefundRow | undefined;
};

const neutral = "#17212b";
const getDay = (date: Date): string => date.toISOString().slice(0, 10);
const cleanTextOrNull = (text: string | null | undefined): string | null => cleanText(text ?? "") || null;

/** The seller's number where the tax is paid, and its main one otherwise. */
function getTaxId({ seller, registrations }: Sources, tax: readonly InvoiceTax[]): string | null {
  const [first] = tax;
  const own = registrations.find(
    ({ tax_id, country, state }) => tax_id && country === first?.country && (state === null || state === first.state),
  );
  return cleanTextOrNull(own?.tax_id ?? seller.invoice_settings.tax_id);
}

function describeSeller(sources: Sources, tax: readonly InvoiceTax[]): InvoiceDocument["seller"] {
  const { seller } = sources;
  const { legal_name, address } = seller.invoice_settings;
  const bare = { line1: null, line2: null, postal_code: null, city: null, state: null };
  const name = cleanText(legal_name ?? seller.name);
  return {
    id: seller.id,
    name,
    trade_name: name === cleanText(seller.name) ? null : cleanText(seller.name),
    address: address ?? (seller.country ? { ...bare, country: seller.country } : null),
    tax_id: getTaxId(sources, tax),
    email: cleanTextOrNull(seller.email),
    website: cleanTextOrNull(seller.website),
  };
}

/** What stands at the foot: the seller's own words, else its imprint, and where its terms are; null where none of it is set. */
function describeFooter({ invoice_settings, legal_settings, name, website }: OrganizationRow, language: Language) {
  const words = cleanTextOrNull(invoice_settings.footer ?? legal_settings.imprint);
  const { terms_url } = legal_settings;
  if (!terms_url) return words;
  const own =
    words ??
    [invoice_settings.legal_name ?? name, website]
      .map((text) => cleanText(text ?? ""))
      .filter(Boolean)
      .join(" · ");
  return `${own} · ${getMessages(language).invoice.terms(terms_url)}`;
}

function describeBuyer({ order, customer }: OrderAggregate): Party {
  return {
    name: cleanText(order.billing_name ?? customer.name ?? customer.email ?? ""),
    trade_name: null,
    address: order.billing_address,
    tax_id: cleanTextOrNull(order.customer_tax_id?.[0]),
    email: cleanTextOrNull(customer.email),
  };
}

/** The share of each rate in what goes back: of one order's refunds all together no more than was taken. */
function allocateRefund(tax: readonly InvoiceTax[], net_amount: number, refund: RefundRow): InvoiceTax[] {
  const amounts = allocate(
    refund.tax_amount,
    tax.map(({ amount }) => amount),
  );
  const base = tax.reduce((sum, { taxable_amount }) => sum + taxable_amount, 0);
  const bases =
    base === net_amount
      ? allocate(
          refund.amount,
          tax.map(({ taxable_amount }) => taxable_amount),
        )
      : tax.map(({ taxable_amount }) =>
          net_amount === 0 ? 0 : computeFraction(refund.amount, taxable_amount, net_amount),
        );
  return tax.map((one, index) => ({ ...one, taxable_amount: bases[index] ?? 0, amount: amounts[index] ?? 0 }));
}

/** A line; one that gives something back names the invoice of what it gives back. */
function formatLineName(
  { derivation, currency }: OrderRow,
  { label, position }: OrderItemRow,
  { language, formats: locale }: { language: Language; formats: string },
): string {
  const messages = getMessages(language).invoice;
  const line = derivation.lines[position];
  const number = line?.reverses?.order_number;
  const said = line
    ? describeLine(line, {
        unit: (amount) => formatUnitMoney(amount, currency, locale),
        money: (amount) => formatMoney(amount, currency, locale),
        locale,
        messages: messages.use,
      })
    : label;
  return [cleanText(said), ...(number ? [`${messages.reference} ${number}`] : [])].join(" — ");
}

/** What was given back of an unpaid invoice (ORD-31): how much less it asks for, or which one what is given back is taken off. */
function describeReduction(order: OrderRow, language: Language): Pick<InvoiceDocument, "reduction"> {
  const messages = getMessages(language).invoice;
  const reduced = order.reduced_amount + order.reduced_tax_amount;
  if (reduced !== 0) return { reduction: { label: messages.given_back, amount: 0 - reduced } };
  if (order.reduces_order_id === null) return {};
  const number = order.derivation.lines[0]?.reverses?.order_number ?? "";
  return { reduction: { label: messages.taken_off(number), amount: 0 - computeTotals(order).total_amount } };
}

const getBrand = (brand: string): string => brand.charAt(0).toUpperCase() + brand.slice(1);

/** The document that a sale, its payment or a refund of it makes. */
export function describeDocument(sources: Sources): InvoiceDocument {
  const { invoice, sale, seller, payment, refund } = sources;
  const { order, customer, items } = sale;
  const totals = computeTotals(order);
  const language = resolveLanguage(customer.locale, order.billing_address?.country ?? null);
  const formats = resolveFormats(customer.locale, order.billing_address?.country ?? null, language);
  const { tax_lines, tax: treatment, discount } = order.derivation;
  const tax: InvoiceTax[] = tax_lines.map(({ name, country, state, rate, taxable_amount, amount }) => ({
    name,
    country,
    state,
    rate,
    taxable_amount,
    amount,
  }));
  // A document keeps its mark when the server takes real money later, and gets none for what was paid with real money.
  const isTest = seller.sandbox || (payment ? isTestAccount(payment.account) : sources.sells_test);
  const order_number = order.invoice_number ?? "";
  const common = {
    kind: invoice.kind,
    number: invoice.number,
    language,
    ...(formats === resolveFormats(null, null, language) ? {} : { formats }),
    currency: order.currency,
    order_id: order.id,
    customer_id: order.customer_id,
    seller: describeSeller(sources, tax),
    buyer: describeBuyer(sale),
    tax_reason: treatment.reason === "standard" ? null : treatment.reason,
    note: isTest ? getMessages(language).invoice.test : null,
    ...(isTest ? { is_test: true as const } : {}),
    footer: describeFooter(seller, language),
    accent_color: seller.branding.accent_color ?? neutral,
  };
  if (invoice.kind === "credit_note") {
    if (!refund) throw new Error(`The credit note ${invoice.number} is of no refund.`);
    const total_amount = refund.amount + refund.tax_amount;
    return {
      ...common,
      issued_on: getDay(invoice.created_at),
      reference: { number: order_number, issued_on: getDay(order.created_at) },
      lines: [{ label: getMessages(language).invoice.refund_of(order_number), amount: refund.amount }],
      is_tax_inclusive: false,
      subtotal_amount: refund.amount,
      discount: null,
      net_amount: refund.amount,
      tax: allocateRefund(tax, totals.net_amount, refund),
      tax_amount: refund.tax_amount,
      total_amount,
      balance_amount: 0,
      paid_amount: total_amount,
      due_amount: 0,
      paid_on: null,
      payment: null,
    };
  }
  const paid = isPaid(order.status);
  const isReceipt = invoice.kind === "receipt";
  return {
    ...common,
    issued_on: getDay(isReceipt && payment ? payment.created_at : order.created_at),
    reference: isReceipt ? { number: order_number, issued_on: getDay(order.created_at) } : null,
    lines: items.map((item) => ({ label: formatLineName(order, item, { language, formats }), amount: item.amount })),
    is_tax_inclusive: order.tax_behavior === "inclusive",
    subtotal_amount: order.subtotal_amount,
    discount:
      order.discount_amount === 0
        ? null
        : { label: cleanText(discount?.code ?? discount?.name ?? ""), amount: order.discount_amount },
    net_amount: totals.net_amount,
    tax,
    tax_amount: order.tax_amount,
    total_amount: totals.total_amount,
    balance_amount: order.applied_balance_amount,
    ...describeReduction(order, language),
    paid_amount: paid ? totals.due_amount : 0,
    due_amount: paid ? 0 : totals.due_amount,
    paid_on: paid && payment ? getDay(payment.created_at) : null,
    payment: paid && payment?.card ? `${getBrand(payment.card.brand)} •••• ${payment.card.last4}` : null,
  };
}

/** Counts what is printed: documents are made anew where the way of printing them has changed what they say. */
const edition = 1;

/** Everything that a file is made of, as one value. */
export const hashDocument = (document: InvoiceDocument, logo_path: string | null): string =>
  createHash("sha256")
    .update(JSON.stringify([edition, document, logo_path]))
    .digest("base64url");

/** How a file is called where it is saved. */
export const getFileName = (number: string): string => `${number}.pdf`;

/** The series of an organization's credit notes. */
export const getSeries = (slug: string): string => `${slug.toUpperCase()}-CN`;

/** An export as it is answered. */
export function serializeExport(row: typeof invoiceExports.$inferSelect, total: number, done: number): InvoiceExport {
  const { id, created_at, modified_at, organization_id, created_after, created_before, skipped } = row;
  return {
    ...{ id, created_at, modified_at, organization_id, created_after, created_before, skipped, total, done },
    customer_id: row.customer_ids,
    product_id: row.product_ids,
    status: row.due_at !== null ? "collecting" : done < total ? "printing" : "done",
  };
}

/** Whether an order is or was sold, and says to whom: its invoice can be printed (ORD-22). */
export const hasInvoice = ({
  status,
  billing_name,
  billing_address,
}: Pick<OrderRow, "status" | "billing_name" | "billing_address">): boolean =>
  status !== "draft" && status !== "void" && Boolean(billing_name?.trim()) && billing_address !== null;

/** Where the picture of an address of ours is kept. */
export const getMediaPath = (url: string | null | undefined): string | null =>
  url && URL.canParse(url) ? new URL(url).pathname.split("/").slice(-4).map(decodeURIComponent).join("/") : null;

/** Which kind of picture these bytes are, if it can be printed. */
export function getFormat(bytes: Uint8Array): "png" | "jpg" | undefined {
  const hasPrefix = (...first: number[]) => first.every((byte, index) => bytes[index] === byte);
  if (hasPrefix(0x89, 0x50, 0x4e, 0x47)) return "png";
  return hasPrefix(0xff, 0xd8, 0xff) ? "jpg" : undefined;
}

/** What waits in the queue of an organization, and of all: exports that are collecting, and documents to be printed. */
export type PrintQueue = { exports: number; documents: number };
const queueMax = {
  organization: { exports: 10, documents: 20_000 },
  all: { exports: 100, documents: 200_000 },
} as const;

/** Refuse a further export while too much waits to be printed. */
export function checkQueue(queues: { organization: PrintQueue; all: PrintQueue }): void {
  const isFull = (["organization", "all"] as const).some(
    (of) => queues[of].exports >= queueMax[of].exports || queues[of].documents >= queueMax[of].documents,
  );
  if (isFull)
    throw new ApiError("TooManyRequests", "Too many invoices are waiting to be printed. Try again in a minute.", {
      "Retry-After": "60",
    });
}
