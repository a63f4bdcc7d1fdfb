import type { Order } from "../../shared/api/orders.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Config } from "../config.ts";
import type { Mail } from "../lib/mail.ts";
import { seal, tryUnseal } from "../lib/secrets.ts";
import type { OrderAggregate } from "../orders/rules.ts";
import { type OrganizationRow, organizationOut } from "../organizations/rules.ts";
import { describeDocument, hasInvoice } from "./rules.ts";
import { sumsOf } from "./sums.ts";
import { wordsOf } from "./words.ts";

/** A document of an order, as an address in a mail names it. */
export type Named = { organization_id: string; order_id: string; kind: "invoice" | "receipt" };

const valid_ms = 365 * 24 * 60 * 60 * 1000;
const purpose = "document";

/** An address that opens a document for a year: it is its own permission, as whoever bought may have no account here. */
export function linkDocument({ url, secret }: Pick<Config, "url" | "secret">, named: Named, now: Date): string {
  const { organization_id, order_id, kind } = named;
  const until = now.getTime() + valid_ms;
  return `${url}/documents/${seal(secret, JSON.stringify([purpose, organization_id, order_id, kind, until]))}`;
}

/** Which document such an address names; undefined for one that is no longer good, or never was. */
export function readLink({ secrets }: Pick<Config, "secrets">, token: string, now: Date): Named | undefined {
  const text = tryUnseal(secrets, token);
  // What else is sealed with this secret is no list that begins so.
  if (!text?.startsWith(`["${purpose}",`)) return undefined;
  const [, organization_id, order_id, kind, until] = JSON.parse(text) as [
    string,
    string,
    string,
    Named["kind"],
    number,
  ];
  return until > now.getTime() ? { organization_id, order_id, kind } : undefined;
}

type Setting = keyof ReturnType<typeof organizationOut>["customer_email_settings"];

/** The setting by which a seller has the buyer told of an order: a renewal is not a purchase. */
const settingOf: Record<Order["billing_reason"], Setting> = {
  purchase: "order_confirmation",
  subscription_create: "subscription_confirmation",
  subscription_cycle: "subscription_cycled",
  subscription_meter_cycle: "subscription_cycled",
  subscription_update: "subscription_updated",
};

/** To whom an order that was paid is confirmed; null where the seller has none sent, or there is nobody to write to. */
export function confirmedTo({ order, customer }: OrderAggregate, seller: OrganizationRow): string | null {
  const isWanted = organizationOut(seller).customer_email_settings[settingOf[order.billing_reason]];
  return isWanted && customer.anonymized_at === null ? customer.email : null;
}

/** Tells a buyer what they have bought for how much, and where its documents are; null where nobody is to be told. */
export function confirmationMail(
  sale: OrderAggregate,
  seller: OrganizationRow,
  linkTo: (kind: "invoice" | "receipt") => string,
): Mail | null {
  const { order } = sale;
  const to = confirmedTo(sale, seller);
  if (to === null || order.invoice_number === null) return null;
  const number = order.invoice_number;
  const document = describeDocument({
    invoice: { kind: "invoice", number, created_at: order.created_at },
    sale,
    seller,
    registrations: [],
    payment: undefined,
    refund: undefined,
  });
  const words = wordsOf(document.language);
  const { letter } = words;
  const money = (amount: number) => formatMoney(amount, order.currency, words.locale);
  const date = new Intl.DateTimeFormat(words.locale, { dateStyle: "long", timeZone: "UTC" }).format(order.created_at);
  const sums = sumsOf(document).filter(({ weight, amount }) => weight !== "due" || amount !== 0);
  const links = [
    ...(hasInvoice(order) ? [{ label: letter.open_invoice, url: linkTo("invoice") }] : []),
    ...(order.receipt_number === null ? [] : [{ label: letter.open_receipt, url: linkTo("receipt") }]),
  ];
  const [action, ...more] = links;
  const notes = [action ? letter.kept : null, seller.email === null ? null : letter.questions(seller.email)];
  const note = notes.filter((text) => text !== null).join(" ");
  return {
    to,
    speech: { language: document.language, fallback: letter.fallback, sent_by: letter.sent_by },
    subject: letter.subject(number, seller.name),
    paragraphs: [
      order.receipt_number === null
        ? letter.unpaid(seller.name)
        : letter.paid(money(document.paid_amount), seller.name),
    ],
    table: {
      caption: letter.order(number, date),
      rows: [
        ...document.lines.map(({ label, amount }) => ({ label, amount: money(amount), isStrong: false })),
        ...sums.map(({ label, amount, weight }) => ({ label, amount: money(amount), isStrong: weight === "grand" })),
      ],
    },
    ...(action ? { action } : {}),
    links: more,
    ...(note ? { note } : {}),
  };
}
