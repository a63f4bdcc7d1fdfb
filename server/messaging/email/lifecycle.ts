import { addUp } from "../../../shared/money.ts";
import { computeTotals, type OrderRow } from "../../billing/orders/rules.ts";
import type { PaymentMethodRow } from "../../billing/payments/rules.ts";
import { computeDeadline } from "../../billing/subscriptions/dunning.ts";
import { isBillable, type SubscriptionAggregate, type SubscriptionRow } from "../../billing/subscriptions/rules.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import type { EmailOccasion } from "./messages.ts";
import { type EmailLocale, getAddressee, getSpeech, settingOf } from "./rules.ts";

/** How a subscription goes on: what is charged next, and what it is then; null where nothing is. */
export type UpcomingRenewal = {
  row: SubscriptionRow;
  charge: { at: Date; amount: number } | null;
  /** What it is from the next period on, where that is another thing. */
  planned: { product: string; seats: number | null } | null;
};

/** The data of a mail about a subscription. */
export type LifecycleFacts = {
  aggregate: SubscriptionAggregate;
  seller: OrganizationRow;
  ahead: UpcomingRenewal;
  /** The card that it is charged to. */
  card: PaymentMethodRow | undefined;
  /** Orders whose charge failed. */
  unpaid: readonly OrderRow[];
  /** What was left to be paid as it ended. */
  last: OrderRow | undefined;
  /** Where another card is left, and until when. */
  link: { url: string; until: Date };
  /** The link that opens the customer's portal. */
  portal: string;
};

/** When a subscription goes on or ends, and for how much. */
export function describeRenewal({ row, charge }: UpcomingRenewal, { words, day, money }: EmailLocale): string | null {
  const end = day(row.current_period_end);
  if (row.ended_at !== null || !isBillable(row.status)) return null;
  if (row.cancel_at_period_end) return words.ends(end);
  const isDue = charge !== null && charge.amount > 0;
  if (row.status === "trialing")
    return [words.trial_runs(end), isDue ? words.then_charged(money(charge.amount, row.currency)) : ""]
      .join(" ")
      .trim();
  return isDue ? words.renews(day(charge.at), money(charge.amount, row.currency)) : words.runs(end);
}

const getBrand = (brand: string): string => brand.charAt(0).toUpperCase() + brand.slice(1);
const getCard = ({ card }: PaymentMethodRow): string => `${getBrand(card.brand)} •••• ${card.last4}`;

/** Whether what is to be told is still so (a payment that has come since is not missing any more). */
function isSo(occasion: EmailOccasion, { aggregate: { row }, ahead, unpaid }: LifecycleFacts): boolean {
  if (occasion === "ended") return row.ended_at !== null;
  if (occasion === "payment_failed") return unpaid.length > 0 && (row.past_due_at !== null || row.ended_at !== null);
  if (row.ended_at !== null) return false;
  if (occasion === "canceled") return row.cancel_at_period_end;
  if (occasion === "uncanceled") return !row.cancel_at_period_end;
  if (occasion === "paused") return row.status === "paused";
  if (occasion === "resumed") return row.status !== "paused";
  if (occasion === "change_planned") return ahead.planned !== null;
  // What is past due is asked for by mails of its own.
  if (occasion === "card_expiring" && row.status === "past_due") return false;
  if (occasion === "trial_ending" || occasion === "renewal_ahead" || occasion === "card_expiring")
    return ahead.charge !== null && ahead.charge.amount > 0 && !row.cancel_at_period_end;
  return true;
}

type Said = { paragraphs: (string | null)[]; leaves?: boolean };

/** What is said of each thing that is not told with an order. */
const sayings: Partial<Record<EmailOccasion, (facts: LifecycleFacts, speech: EmailLocale) => Said>> = {
  changed: ({ aggregate: { product, row }, seller, ahead }, speech) => ({
    paragraphs: [
      `${speech.words.changed(product.name, seller.name)}${row.seats === null ? "" : ` ${speech.words.seats(row.seats)}`}`,
      describeRenewal(ahead, speech),
    ],
  }),
  change_planned: ({ aggregate: { product, row }, seller, ahead }, speech) => {
    const { words, day } = speech;
    const next = ahead.planned ?? { product: product.name, seats: row.seats };
    const seats = next.seats === null ? "" : ` ${words.seats(next.seats)}`;
    const said = words.change_planned(day(row.current_period_end), next.product, seller.name);
    return { paragraphs: [`${said}${seats}`, describeRenewal(ahead, speech)] };
  },
  canceled: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [
      speech.words.canceled(product.name, seller.name),
      describeRenewal(ahead, speech),
      ahead.charge === null ? speech.words.no_charge : null,
    ],
  }),
  uncanceled: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [speech.words.uncanceled(product.name, seller.name), describeRenewal(ahead, speech)],
  }),
  paused: ({ aggregate: { product, row }, seller }, { words, day }) => ({
    paragraphs: [words.paused(product.name, seller.name), row.resumes_at && words.resumes(day(row.resumes_at))],
  }),
  resumed: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [speech.words.resumed(product.name, seller.name), describeRenewal(ahead, speech)],
  }),
  ended: ({ aggregate: { product, row }, seller, last }, { words, money }) => {
    const { due_amount } = last ? computeTotals(last) : { due_amount: 0 };
    return {
      paragraphs: [
        words.ended(product.name, seller.name),
        row.past_due_at === null ? null : words.was_unpaid,
        due_amount > 0 ? words.last_charge(money(due_amount, row.currency)) : words.no_charge,
      ],
    };
  },
  trial_ending: ({ aggregate: { product, row }, seller, ahead, card }, { words, day, money }) => ({
    paragraphs: [
      words.trial(product.name, seller.name, day(row.current_period_end)),
      words.then_charged(money(ahead.charge?.amount ?? 0, row.currency)),
      card ? words.charged_to(getCard(card)) : words.no_card,
    ],
    leaves: card === undefined,
  }),
  renewal_ahead: ({ aggregate: { product, row }, seller, ahead, card }, { words, day, money }) => ({
    paragraphs: [
      words.renewal(
        product.name,
        seller.name,
        day(row.current_period_end),
        money(ahead.charge?.amount ?? 0, row.currency),
      ),
      card ? words.charged_to(getCard(card)) : words.no_card,
    ],
    leaves: card === undefined,
  }),
  payment_failed: ({ aggregate, seller, unpaid, card }, { words, day, moment, money }) => {
    const { row, product, retries } = aggregate;
    const amount = money(addUp(unpaid.map((order) => computeTotals(order).due_amount)), row.currency);
    const last = moment(computeDeadline(row.past_due_at ?? row.current_period_start));
    const [next] = retries;
    const again = next ? words.next_try(moment(next.next_payment_attempt_at), last) : words.last_try(last);
    const goesOn = [row.cancel_at_period_end ? words.ends(day(row.current_period_end)) : again, words.leave_and_pay];
    const rest = row.ended_at === null ? goesOn : [words.no_more_tries, words.pay_last];
    const failed = words.failed(seller.name, amount, product.name, card ? getCard(card) : null);
    return { paragraphs: [failed, ...rest], leaves: true };
  },
  card_expiring: ({ aggregate: { product }, seller, card }, { words }) => {
    if (!card) return { paragraphs: [] };
    const { exp_year, exp_month } = card.card;
    const month = new Intl.DateTimeFormat(words.locale, { month: "long", year: "numeric", timeZone: "UTC" });
    const expiry = month.format(new Date(Date.UTC(exp_year, exp_month - 1, 1)));
    return {
      paragraphs: [words.expiring(getCard(card), expiry, product.name, seller.name), words.leave_in_time],
      leaves: true,
    };
  },
};

/** Build a mail about a subscription; null if no recipient remains, or the occasion no longer applies. */
export function writeLifeMail(occasion: EmailOccasion, facts: LifecycleFacts): Mail | null {
  const { aggregate, seller, link, portal } = facts;
  const { customer, product, row } = aggregate;
  const to = getAddressee(customer, seller, settingOf[occasion]);
  const say = sayings[occasion];
  if (to === null || !say || !isSo(occasion, facts)) return null;
  const speech = getSpeech(customer);
  const { words, day } = speech;
  const said = say(facts, speech);
  const [first, ...more] = said.paragraphs.filter((text) => text !== null);
  if (first === undefined) return null;
  const leaves = said.leaves ? link : null;
  const notes = [
    leaves ? words.link_until(day(leaves.until)) : words.portal_days,
    seller.email && words.questions(seller.email),
  ];
  const note = notes.filter(Boolean).join(" ");
  const opens = { label: words.open_portal, url: portal };
  const pays = leaves && { label: row.ended_at === null ? words.leave_card : words.pay, url: leaves.url };
  return {
    to,
    ...speech.letter,
    subject: words.subjects[occasion](product.name, day(row.current_period_end)),
    paragraphs: [first, ...more],
    ...(pays ? { action: pays, links: [opens] } : { action: opens }),
    ...(note ? { note } : {}),
  };
}
