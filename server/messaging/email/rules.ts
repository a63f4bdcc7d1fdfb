import { getMessages, resolveLanguage, type ServerMessages } from "../../../shared/messages/index.ts";
import { formatMoney } from "../../../shared/money.ts";
import type { OrderRow } from "../../billing/orders/rules.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { type OrganizationRow, serializeOrganization } from "../../identity/organizations/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";

export type EmailOccasion = keyof ServerMessages["email"]["subjects"];
type Setting = keyof ReturnType<typeof serializeOrganization>["customer_email_settings"];

/** The seller's setting that enables the mail of each occasion; null: it is always sent, as nobody pays more untold (SUB-67). */
export const settingOf: Record<EmailOccasion, Setting | null> = {
  started: "subscription_confirmation",
  trial_started: "subscription_confirmation",
  trial_over: "subscription_cycled_after_trial",
  renewed: "subscription_cycled",
  changed: "subscription_updated",
  change_planned: "subscription_updated",
  migration_announced: null,
  migration_withdrawn: null,
  canceled: "subscription_cancellation",
  uncanceled: "subscription_uncanceled",
  paused: "subscription_paused",
  resumed: "subscription_resumed",
  payment_failed: "subscription_past_due",
  ended: "subscription_revoked",
  trial_ending: "subscription_trial_conversion_reminder",
  renewal_ahead: "subscription_renewal_reminder",
  card_expiring: "payment_method_expiration_reminder",
};

/** What an order means to its customer; null where it is a purchase, or the last bill of a subscription before an end or a pause. */
export function getOccasion({ billing_reason, begins, occasion }: OrderRow): EmailOccasion | null {
  if (billing_reason === "purchase" || occasion === "ended" || occasion === "paused") return null;
  if (billing_reason === "subscription_create") return begins?.trial_end ? "trial_started" : "started";
  if (billing_reason === "subscription_update") return "changed";
  return occasion ?? "renewed";
}

/** The setting that the mail of an order follows: a renewal is not a purchase. */
const getSettingOfOrder = (order: OrderRow): Setting | null => {
  const occasion = getOccasion(order);
  if (occasion !== null) return settingOf[occasion];
  return order.billing_reason === "purchase" ? "order_confirmation" : "subscription_cycled";
};

/** The address of a customer who can still be written to; null if there is none. */
export const findAddress = ({ email, anonymized_at, deleted_at }: CustomerRow): string | null =>
  anonymized_at === null && deleted_at === null ? email : null;

/** The recipient of a mail; null if the seller has disabled it or the customer has no address. */
export const getAddressee = (customer: CustomerRow, seller: OrganizationRow, setting: Setting | null): string | null =>
  setting === null || serializeOrganization(seller).customer_email_settings[setting] ? findAddress(customer) : null;

/** The recipient of an order's confirmation; null if there is none. */
export const findConfirmationAddress = (
  { order, customer }: { order: OrderRow; customer: CustomerRow },
  seller: OrganizationRow,
): string | null => getAddressee(customer, seller, getSettingOfOrder(order));

/**
 * The time of day where a customer is, as far as their country says: where it has several that differ at this moment, nobody
 * knows, and it is UTC.
 */
export function findZone(country: string | null, moment: Date): string {
  if (country === null || !/^[A-Z]{2}$/.test(country)) return "UTC";
  const zones = zonesOf(country);
  const [first = "UTC"] = zones;
  const shown = new Set(zones.map((timeZone) => clockIn(timeZone).format(moment)));
  return shown.size === 1 ? first : "UTC";
}

/** The same, worked out once: there are few, and each takes longer than all else that a mail is written with. */
function memoizeOnce<K extends string, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    const found = made.get(key) ?? make(key);
    made.set(key, found);
    return found;
  };
}

/** Newer engines have a method where older ones have a property, and the published types have neither. */
const zonesOf = memoizeOnce((country: string): string[] => {
  const locale: Intl.Locale & { getTimeZones?(): string[]; timeZones?: string[] } = new Intl.Locale(`und-${country}`);
  return locale.getTimeZones?.() ?? locale.timeZones ?? [];
});

const clockIn = memoizeOnce(
  (timeZone: string) =>
    new Intl.DateTimeFormat("en-GB", { timeZone, day: "numeric", hour: "numeric", minute: "numeric" }),
);

const styles = {
  day: { dateStyle: "long" },
  moment: {
    year: "numeric",
    month: "long",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  },
} satisfies Record<string, Intl.DateTimeFormatOptions>;
/** By style, language and time zone. */
const formatOf = memoizeOnce((key) => {
  const [style, locale, timeZone] = key.split(" ");
  return new Intl.DateTimeFormat(locale, { timeZone, ...styles[style as keyof typeof styles] });
});

/** Who the seller is by law, and its terms, for the foot of a mail; undefined where the seller has set none of it. */
function describeLegal(seller: OrganizationRow, messages: ServerMessages["email"]) {
  const { legal_name, legal_settings } = serializeOrganization(seller);
  const { terms_url, privacy_url, imprint } = legal_settings;
  const links = [
    ...(terms_url === null ? [] : [{ label: messages.terms, url: terms_url }]),
    ...(privacy_url === null ? [] : [{ label: messages.privacy, url: privacy_url }]),
  ];
  const lines = [legal_name, ...(imprint?.split(/\r?\n/) ?? [])].filter((line) => line !== null && line.trim() !== "");
  return lines.length + links.length > 0 ? { lines: lines as string[], links } : undefined;
}

/** How a customer is written to by a seller: the words, how amounts and times are written, and how the seller looks. */
export function getSpeech(
  { locale, billing_address }: Pick<CustomerRow, "locale" | "billing_address">,
  seller: OrganizationRow,
) {
  const country = billing_address?.country ?? null;
  const language = resolveLanguage(locale, country);
  const messages = getMessages(language).email;
  const formats = resolveFormats(locale, country, language);
  const legal = describeLegal(seller, messages);
  const write = (moment: Date, style: keyof typeof styles): string =>
    formatOf(`${style} ${formats} ${findZone(country, moment)}`).format(moment);
  return {
    messages,
    language,
    money: (amount: number, currency: string) => formatMoney(amount, currency, formats),
    number: (count: number) => new Intl.NumberFormat(formats).format(count),
    /** A month and its year, such as that in which a card expires. */
    month: (date: Date) =>
      new Intl.DateTimeFormat(formats, { month: "long", year: "numeric", timeZone: "UTC" }).format(date),
    day: (moment: Date) => write(moment, "day"),
    /** The day in UTC, as documents have it. */
    date: (moment: Date) => formatOf(`day ${formats} UTC`).format(moment),
    moment: (moment: Date) => write(moment, "moment"),
    letter: {
      speech: {
        language,
        fallback: messages.fallback,
        sent_by: messages.sent_by,
        via: messages.via,
        test: messages.test,
      },
      brand: {
        name: seller.name,
        ...serializeOrganization(seller).branding,
        reply_to: seller.email,
        // The queue sets it, which knows how the server takes payments (INV-13).
        test: null,
        ...(legal && { legal }),
      },
    } satisfies Partial<Mail>,
  };
}
export type EmailLocale = ReturnType<typeof getSpeech>;

import { resolveFormats } from "../../../shared/formats.ts";
