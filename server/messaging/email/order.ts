import { describeDocument, hasInvoice } from "../../billing/invoices/rules.ts";
import { computeSums } from "../../billing/invoices/sums.ts";
import type { OrderAggregate } from "../../billing/orders/rules.ts";
import type { BenefitRow } from "../../catalog/benefits/rules.ts";
import type { PortalSection } from "../../customers/sessions/portal-link.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { describeDelivery } from "./delivery.ts";
import { describeRenewal, type UpcomingRenewal } from "./lifecycle.ts";
import { findConfirmationAddress, getOccasion, getSpeech } from "./rules.ts";

/** Documents, where a contract is canceled, and the sections of the customer portal. */
export type LinkKind = "invoice" | "receipt" | "cancel" | PortalSection;

/** The section of the portal where a customer gets what the order is for: seats are assigned, benefits taken, documents opened. */
function chooseSection({ seats, subscription_id }: OrderAggregate["order"], hasDelivery: boolean): PortalSection {
  if (seats !== null && subscription_id !== null) return "subscriptions";
  return hasDelivery && seats === null ? "benefits" : "orders";
}

/**
 * Tells a buyer what they have paid for, how their subscription goes on where it is for one, and where its documents are; null
 * where nobody is to be told.
 */
export function writeOrderMail(
  sale: OrderAggregate,
  seller: OrganizationRow,
  { ahead, benefits }: { ahead: UpcomingRenewal | null; benefits: readonly BenefitRow[] },
  linkTo: (kind: LinkKind) => string,
  to = findConfirmationAddress(sale, seller),
): Mail | null {
  const { order, customer, product } = sale;
  if (to === null || order.invoice_number === null) return null;
  const number = order.invoice_number;
  const document = describeDocument({
    sells_test: false,
    invoice: { kind: "invoice", number, created_at: order.created_at },
    sale,
    seller,
    registrations: [],
    payment: undefined,
    refund: undefined,
  });
  const billing_address = customer.billing_address ?? order.billing_address;
  const speech = getSpeech({ ...customer, billing_address }, seller);
  const { messages } = speech;
  const formatAmount = (amount: number) => speech.money(amount, order.currency);
  const date = speech.date(order.created_at);
  const sums = computeSums(document).filter(({ weight, amount }) => weight !== "due" || amount !== 0);
  const links = [
    ...(hasInvoice(order) ? [{ label: messages.open_invoice, url: linkTo("invoice") }] : []),
    ...(order.receipt_number === null ? [] : [{ label: messages.open_receipt, url: linkTo("receipt") }]),
    // In Germany a contract must be as easy to end as to begin, without an account (CUP-30).
    ...(billing_address?.country === "DE" && order.subscription_id !== null
      ? [{ label: messages.cancel_contract, url: linkTo("cancel") }]
      : []),
  ];
  const notes = [
    hasInvoice(order) || order.receipt_number !== null ? messages.kept : messages.portal_days,
    seller.email === null ? null : messages.questions(seller.email),
  ];
  const note = notes.filter((text) => text !== null).join(" ");
  const occasion = getOccasion(order);
  const paid =
    order.receipt_number === null
      ? messages.unpaid(seller.name)
      : messages.paid(formatAmount(document.paid_amount), seller.name);
  const consent = order.withdrawal_consent;
  const agreed = consent === null ? [] : [messages.agreed(speech.moment(new Date(consent.agreed_at)))];
  const after = ahead && occasion !== null ? describeRenewal(ahead, speech) : null;
  // The last bill of a subscription that ends, and what was paid back, leave the customer nothing to get.
  const keepsBenefits = order.status === "paid" && (order.billing_reason === "purchase" || occasion !== null);
  const delivery = keepsBenefits ? describeDelivery(benefits, order.seats, speech) : undefined;
  return {
    to,
    ...speech.letter,
    subject: occasion === null ? messages.subject(number, seller.name) : messages.subjects[occasion](product.name, ""),
    paragraphs: [paid, ...(after === null ? [] : [after]), ...agreed],
    table: {
      caption: messages.order(number, date),
      rows: [
        ...document.lines.map(({ label, amount }) => ({ label, amount: formatAmount(amount), isStrong: false })),
        ...sums.map(({ label, amount, weight }) => ({
          label,
          amount: formatAmount(amount),
          isStrong: weight === "grand",
        })),
      ],
    },
    ...(delivery && { delivery }),
    action: { label: messages.open_portal, url: linkTo(chooseSection(order, delivery !== undefined)) },
    links,
    ...(note ? { note } : {}),
  };
}
