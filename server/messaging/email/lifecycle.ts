import { addUp } from "../../../shared/money.ts";
import { computeTotals, type OrderRow } from "../../billing/orders/rules.ts";
import type { PaymentMethodRow } from "../../billing/payments/rules.ts";
import { computeDeadline } from "../../billing/subscriptions/dunning.ts";
import { isBillable, type SubscriptionAggregate, type SubscriptionRow } from "../../billing/subscriptions/rules.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import { describeDelivery } from "./delivery.ts";
import { type EmailLocale, type EmailOccasion, getAddressee, getSpeech, settingOf } from "./rules.ts";

/** How a subscription goes on: what is charged next, and what it is then; null where nothing is. */
export type UpcomingRenewal = {
  row: SubscriptionRow;
  charge: { at: Date; amount: number } | null;
  /** What it is from the next period on, where that is another thing. */
  planned: { product: string; seats: number | null } | null;
};

/** The change of a move of subscribers, as a customer is told of it. */
export type Announcement = {
  product: { id: string; name: string };
  isMetered: boolean;
  old_amount: number;
  new_amount: number;
  applies_at: Date;
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
  /** What the seller moves the subscription to; absent where the mail is of something else. */
  announcement?: Announcement | undefined;
};

/** When a subscription goes on or ends, and for how much. */
export function describeRenewal(
  { row, charge }: UpcomingRenewal,
  { messages, day, money }: EmailLocale,
): string | null {
  const end = day(row.current_period_end);
  if (row.ended_at !== null || !isBillable(row.status)) return null;
  if (row.cancel_at_period_end) return messages.ends(end);
  const isDue = charge !== null && charge.amount > 0;
  if (row.status === "trialing")
    return [messages.trial_runs(end), isDue ? messages.then_charged(money(charge.amount, row.currency)) : ""]
      .join(" ")
      .trim();
  return isDue ? messages.renews(day(charge.at), money(charge.amount, row.currency)) : messages.runs(end);
}

const getBrand = (brand: string): string => brand.charAt(0).toUpperCase() + brand.slice(1);
const getCard = ({ card }: PaymentMethodRow): string => `${getBrand(card.brand)} •••• ${card.last4}`;

/** Whether what is to be told is still so (a payment that has come since is not missing any more). */
function isSo(occasion: EmailOccasion, { aggregate: { row }, ahead, unpaid, announcement }: LifecycleFacts): boolean {
  if (occasion === "ended") return row.ended_at !== null;
  if (occasion === "payment_failed") return unpaid.length > 0 && (row.past_due_at !== null || row.ended_at !== null);
  if (row.ended_at !== null) return false;
  if (occasion === "migration_announced") return announcement !== undefined && !row.cancel_at_period_end;
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

/** Occasions on which the customer goes on having the benefits of the product, so that the mail names them. */
const keepsBenefits: ReadonlySet<EmailOccasion> = new Set([
  "changed",
  "canceled",
  "uncanceled",
  "resumed",
  "trial_ending",
  "renewal_ahead",
]);

type Said = { paragraphs: (string | null)[]; leaves?: boolean };

/** What is said of each thing that is not told with an order. */
const sayings: Partial<Record<EmailOccasion, (facts: LifecycleFacts, speech: EmailLocale) => Said>> = {
  changed: ({ aggregate: { product, row }, seller, ahead }, speech) => ({
    paragraphs: [
      `${speech.messages.changed(product.name, seller.name)}${row.seats === null ? "" : ` ${speech.messages.seats(row.seats)}`}`,
      describeRenewal(ahead, speech),
    ],
  }),
  change_planned: ({ aggregate: { product, row }, seller, ahead }, speech) => {
    const { messages, day } = speech;
    const next = ahead.planned ?? { product: product.name, seats: row.seats };
    const seats = next.seats === null ? "" : ` ${messages.seats(next.seats)}`;
    const said = messages.change_planned(day(row.current_period_end), next.product, seller.name);
    return { paragraphs: [`${said}${seats}`, describeRenewal(ahead, speech)] };
  },
  migration_announced: ({ aggregate: { product, row }, seller, announcement }, { messages, day, money }) => {
    if (!announcement) return { paragraphs: [] };
    const { product: to, isMetered, old_amount, new_amount, applies_at } = announcement;
    const amounts = { from: money(old_amount, row.currency), to: money(new_amount, row.currency) };
    const said =
      to.id === product.id
        ? [messages.price_changes(day(applies_at), product.name, seller.name, amounts)]
        : [
            messages.product_changes(day(applies_at), product.name, to.name, seller.name),
            messages.amount_changes(amounts),
          ];
    const use = isMetered ? messages.usage_prices_change(to.name) : null;
    return { paragraphs: [...said, use, messages.change_or_leave(day(applies_at))] };
  },
  migration_withdrawn: ({ aggregate: { product }, seller }, { messages }) => ({
    paragraphs: [messages.migration_off(product.name, seller.name)],
  }),
  canceled: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [
      speech.messages.canceled(product.name, seller.name),
      describeRenewal(ahead, speech),
      ahead.charge === null ? speech.messages.no_charge : null,
    ],
  }),
  uncanceled: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [speech.messages.uncanceled(product.name, seller.name), describeRenewal(ahead, speech)],
  }),
  paused: ({ aggregate: { product, row }, seller }, { messages, day }) => ({
    paragraphs: [messages.paused(product.name, seller.name), row.resumes_at && messages.resumes(day(row.resumes_at))],
  }),
  resumed: ({ aggregate: { product }, seller, ahead }, speech) => ({
    paragraphs: [speech.messages.resumed(product.name, seller.name), describeRenewal(ahead, speech)],
  }),
  ended: ({ aggregate: { product, row }, seller, last }, { messages, money }) => {
    const { due_amount } = last ? computeTotals(last) : { due_amount: 0 };
    return {
      paragraphs: [
        messages.ended(product.name, seller.name),
        row.past_due_at === null ? null : messages.was_unpaid,
        due_amount > 0 ? messages.last_charge(money(due_amount, row.currency)) : messages.no_charge,
      ],
    };
  },
  trial_ending: ({ aggregate: { product, row }, seller, ahead, card }, { messages, day, money }) => ({
    paragraphs: [
      messages.trial(product.name, seller.name, day(row.current_period_end)),
      messages.then_charged(money(ahead.charge?.amount ?? 0, row.currency)),
      card ? messages.charged_to(getCard(card)) : messages.no_card,
    ],
    leaves: card === undefined,
  }),
  renewal_ahead: ({ aggregate: { product, row }, seller, ahead, card }, { messages, day, money }) => ({
    paragraphs: [
      messages.renewal(
        product.name,
        seller.name,
        day(row.current_period_end),
        money(ahead.charge?.amount ?? 0, row.currency),
      ),
      card ? messages.charged_to(getCard(card)) : messages.no_card,
    ],
    leaves: card === undefined,
  }),
  payment_failed: ({ aggregate, seller, unpaid, card }, { messages, day, moment, money }) => {
    const { row, product, retries } = aggregate;
    const amount = money(addUp(unpaid.map((order) => computeTotals(order).due_amount)), row.currency);
    const last = moment(computeDeadline(row.past_due_at ?? row.current_period_start));
    const [next] = retries;
    const again = next ? messages.next_try(moment(next.next_payment_attempt_at), last) : messages.last_try(last);
    const goesOn = [
      row.cancel_at_period_end ? messages.ends(day(row.current_period_end)) : again,
      messages.leave_and_pay,
    ];
    const rest = row.ended_at === null ? goesOn : [messages.no_more_tries, messages.pay_last];
    const failed = messages.failed(seller.name, amount, product.name, card ? getCard(card) : null);
    return { paragraphs: [failed, ...rest], leaves: true };
  },
  card_expiring: ({ aggregate: { product }, seller, card }, { messages, month }) => {
    if (!card) return { paragraphs: [] };
    const { exp_year, exp_month } = card.card;
    const expiry = month(new Date(Date.UTC(exp_year, exp_month - 1, 1)));
    return {
      paragraphs: [messages.expiring(getCard(card), expiry, product.name, seller.name), messages.leave_in_time],
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
  const speech = getSpeech(customer, seller);
  const { messages, day } = speech;
  const said = say(facts, speech);
  const [first, ...more] = said.paragraphs.filter((text) => text !== null);
  if (first === undefined) return null;
  const leaves = said.leaves ? link : null;
  const notes = [
    leaves ? messages.link_until(day(leaves.until)) : messages.portal_days,
    seller.email && messages.questions(seller.email),
  ];
  const note = notes.filter(Boolean).join(" ");
  const delivery = keepsBenefits.has(occasion) ? describeDelivery(product.benefits, row.seats, speech) : undefined;
  const opens = { label: messages.open_portal, url: portal };
  const pays = leaves && { label: row.ended_at === null ? messages.leave_card : messages.pay, url: leaves.url };
  return {
    to,
    ...speech.letter,
    subject: messages.subjects[occasion](product.name, day(row.current_period_end)),
    paragraphs: [first, ...more],
    ...(delivery && { delivery }),
    ...(pays ? { action: pays, links: [opens] } : { action: opens }),
    ...(note ? { note } : {}),
  };
}
