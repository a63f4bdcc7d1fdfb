/** What a plan makes of the money of subscriptions, as people read it. */
import type { Rehearsal } from "../../shared/api/catalog.ts";
import { formatMoney } from "../../shared/money.ts";
import { formatCount } from "../format-count.ts";
import { wrap } from "../ui/table.ts";
import { type Paint, removeControls } from "../ui/theme.ts";

const formatKept = (count: number): string => `${formatCount(count, "subscription")} ${count === 1 ? "keeps" : "keep"}`;

/** `$10.00 → $12.00 a month (+$2.00)`. */
function formatChange(from: number, to: number, currency: string): string {
  const formatAmount = (amount: number): string => formatMoney(amount, currency);
  const sign = to > from ? "+" : "-";
  return `${formatAmount(from)} → ${formatAmount(to)} a month (${sign}${formatAmount(Math.abs(to - from))})`;
}

function formatProductLines({ name, key, subscriptions, ...product }: Rehearsal["products"][number]): string[] {
  const label = removeControls(key === null ? name : `products.${key}`);
  const lines = product.keeps.map(({ currency, subscriptions: count, monthly_amount, new_monthly_amount }) => {
    const now = `${formatKept(count)} the old prices, and ${count === 1 ? "pays" : "pay"} ${formatMoney(monthly_amount, currency)} a month as before`;
    if (new_monthly_amount === null) return `${now}.`;
    const difference = new_monthly_amount - monthly_amount;
    const sign = difference < 0 ? "-" : "+";
    return `${now}. At the new prices that would be ${formatMoney(new_monthly_amount, currency)} (${sign}${formatMoney(Math.abs(difference), currency)}).`;
  });
  if (product.is_archived) lines.push(`Not sold any more; ${formatKept(subscriptions)} it.`);
  const addLine = (what: string, names: string[]) =>
    names.length > 0 &&
    lines.push(`${formatCount(subscriptions, "subscription")} ${what}: ${names.map(removeControls).join(", ")}.`);
  addLine(subscriptions === 1 ? "gets" : "get", product.gains);
  addLine(subscriptions === 1 ? "loses" : "lose", product.loses);
  return lines.map((line) => `${label}: ${line}`);
}

/** The lines of a rehearsal, and whether each means that somebody pays otherwise, or loses something. */
function listRehearsalLines(told: Rehearsal): { text: string; isLoss: boolean }[] {
  if (told.subscriptions === 0) return [{ text: "No subscription is concerned.", isLoss: false }];
  const { pay_more, pay_less, renewals } = told;
  const differs = pay_more + pay_less > 0;
  const sums = renewals.map(({ currency, subscriptions, monthly_amount: from, new_monthly_amount: to }) =>
    from === to
      ? `${formatCount(subscriptions, "renewal")} in ${currency.toUpperCase()}: ${formatMoney(from, currency)} a month, as before.`
      : `${formatCount(subscriptions, "renewal")} in ${currency.toUpperCase()}: ${formatChange(from, to, currency)}.`,
  );
  return [
    {
      text: `${formatCount(told.subscriptions, "subscription")} ${told.subscriptions === 1 ? "is" : "are"} concerned.`,
      isLoss: false,
    },
    ...sums.map((text) => ({ text, isLoss: differs })),
    ...(differs
      ? [
          {
            text: `At the next renewal ${pay_more} ${pay_more === 1 ? "pays" : "pay"} more, ${pay_less} ${pay_less === 1 ? "pays" : "pay"} less.`,
            isLoss: true,
          },
        ]
      : renewals.length > 0
        ? [{ text: "Nobody pays more or less at the next renewal.", isLoss: false }]
        : []),
    ...told.differing.map(
      ({ customer_email, product_name, renews_at, currency, amount, new_amount, subscription_id }) => ({
        text: `${String(renews_at).slice(0, 10)}  ${removeControls(customer_email ?? subscription_id)}  ${removeControls(product_name)}: ${formatMoney(amount, currency)} → ${formatMoney(new_amount, currency)}`,
        isLoss: new_amount > amount,
      }),
    ),
    ...told.products.flatMap((product) =>
      formatProductLines(product).map((text) => ({ text, isLoss: / loses?: /.test(text) })),
    ),
    ...told.discounts
      .filter(({ subscriptions }) => subscriptions > 0)
      .map(({ key, name, subscriptions, is_deleted }) => ({
        text: `${removeControls(key === null ? name : `discounts.${key}`)}: ${is_deleted ? `not given any more; ${formatKept(subscriptions)} it` : `${formatCount(subscriptions, "subscription")} ${subscriptions === 1 ? "has" : "have"} it`}.`,
        isLoss: false,
      })),
  ];
}

/** A rehearsal for a terminal of so many columns; what goes on in a further line stands below its beginning. */
export function formatRehearsal(told: Rehearsal, paint: Paint, columns: number): string {
  const lines = listRehearsalLines(told).map(({ text, isLoss }) =>
    wrap(text, Math.max(20, columns - 4))
      .map((part, index) => `${index === 0 ? "  " : "    "}${isLoss ? paint.warn(part) : part}\n`)
      .join(""),
  );
  return `\n${paint.strong("Subscriptions")}  before tax, without use that is counted\n${lines.join("")}`;
}

/** A rehearsal for a pull request. */
export const formatRehearsalMarkdown = (told: Rehearsal, escaped: (text: string) => string): string =>
  `\n#### Subscriptions (before tax, without use that is counted)\n\n${listRehearsalLines(told)
    .map(({ text }) => `- ${escaped(text)}\n`)
    .join("")}`;
