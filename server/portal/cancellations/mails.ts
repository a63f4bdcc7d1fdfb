import { getMessages } from "../../../shared/messages/index.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { getSpeech } from "../../messaging/email/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import type { NoticeRow } from "./rules.ts";

type Declared = Pick<
  NoticeRow,
  "organization_id" | "created_at" | "name" | "email" | "reference" | "kind" | "reason" | "wanted_on"
>;
type Facts = { seller: OrganizationRow; locale: string | null; url: string; days: number };

function listFacts(declared: Declared, speech: ReturnType<typeof getSpeech>) {
  const messages = getMessages(speech.language).cancellationEmail;
  const { name, email, reference, kind, reason, wanted_on } = declared;
  return [
    { label: messages.received, text: speech.moment(declared.created_at) },
    { label: messages.name, text: name },
    { label: messages.email, text: email },
    { label: messages.reference, text: reference },
    { label: messages.kind, text: messages.kinds[kind] },
    ...(reason === null ? [] : [{ label: messages.reason, text: reason }]),
    { label: messages.wanted_on, text: wanted_on === null ? messages.earliest : speech.date(new Date(wanted_on)) },
  ];
}

/** Confirm to the buyer what was declared and when; the link of the mail proves the address. Nobody is looked up for it. */
export function writeReceipt(declared: Declared, { seller, locale, url, days }: Facts): Mail {
  const speech = getSpeech({ locale, billing_address: null }, seller);
  const messages = getMessages(speech.language).cancellationEmail;
  return {
    to: declared.email,
    organization_id: declared.organization_id,
    valid_hours: 24 * days,
    ...speech.letter,
    subject: messages.subject(seller.name),
    paragraphs: [messages.text(seller.name), messages.prove],
    delivery: { caption: messages.declared, items: listFacts(declared, speech) },
    action: { label: messages.action, url },
    note: messages.note(days),
  };
}

/** Tell the seller of a declaration whose address is proved. */
export function writeSellerNotice(notice: NoticeRow, seller: OrganizationRow, to: string): Mail {
  const speech = getSpeech({ locale: null, billing_address: null }, seller);
  const messages = getMessages(speech.language).cancellationEmail;
  return {
    to,
    organization_id: notice.organization_id,
    ...speech.letter,
    subject: messages.seller_subject(notice.name),
    paragraphs: [notice.subscription_id === null ? messages.seller_open : messages.seller_done],
    delivery: { caption: messages.declared, items: listFacts(notice, speech) },
    note: `floe cancellations get ${notice.id}`,
  };
}
