import type { Checkout } from "./api.ts";
import type { I18n } from "./i18n/i18n.tsx";
import { describeUse, getPrices, type Price } from "./terms.ts";

/** What is on offer: what each product, seat and year costs beside the others. */

function describePrice(price: Price, i18n: I18n): string {
  const { messages, money } = i18n;
  switch (price.amount_type) {
    case "fixed":
      return money(price.price_amount, price.price_currency);
    case "free":
      return messages.free;
    case "custom":
      return messages.choose_amount;
    case "seat_based": {
      const costs = price.seat_tiers.tiers.map(({ price_per_seat }) => price_per_seat);
      const least = money(Math.min(...costs), price.price_currency);
      return costs.length > 1 ? messages.per_seat_from(least) : messages.per_seat(least);
    }
    case "metered_unit":
      return describeUse(price, i18n)?.cost ?? messages.by_use;
  }
}

/** What a product on offer costs, in a few words. */
export function describeOffer(
  checkout: Pick<Checkout, "prices" | "currency">,
  product: Pick<Checkout["product"], "id" | "recurring_interval" | "recurring_interval_count">,
  i18n: I18n,
): string {
  const { messages } = i18n;
  const offered = checkout.prices[product.id] ?? [];
  const currency = offered.some((price) => price.price_currency === checkout.currency)
    ? checkout.currency
    : offered[0]?.price_currency;
  const parts = offered.filter((price) => price.price_currency === currency).map((price) => describePrice(price, i18n));
  const every = product.recurring_interval
    ? ` ${messages.every(product.recurring_interval, product.recurring_interval_count ?? 1)}`
    : "";
  const [first = messages.free, ...more] = parts;
  const byUse = offered[0]?.amount_type === "metered_unit";
  return [`${first}${byUse ? "" : every}`, ...more.map((text) => messages.plus_use(text))].join(", ");
}

/** What a seat costs from how many on, where that depends on how many there are. */
export function describeTiers(checkout: Checkout, { messages, money }: I18n): string[] {
  const price = getPrices(checkout).find(({ amount_type }) => amount_type === "seat_based");
  if (price?.amount_type !== "seat_based" || price.seat_tiers.tiers.length < 2) return [];
  return price.seat_tiers.tiers.map(({ min_seats, max_seats, price_per_seat }) =>
    messages.tier(min_seats, max_seats, messages.per_seat(money(price_per_seat, price.price_currency))),
  );
}

type Product = Checkout["products"][number];

/** What a product with a fixed price alone costs each month, in twelfths of it; undefined for any other. */
function computeYearly({ prices, currency }: Checkout, product: Product): number | undefined {
  const offered = (prices[product.id] ?? []).filter(({ price_currency }) => price_currency === currency);
  const [price] = offered;
  if (offered.length !== 1 || price?.amount_type !== "fixed") return undefined;
  const perYear = { month: 12, year: 1, day: 0, week: 0 }[product.recurring_interval ?? "day"];
  const periods = perYear / (product.recurring_interval_count ?? 1);
  return Number.isInteger(periods) && periods > 0 ? price.price_amount * periods : undefined;
}

/** How much less a year of this product costs than a year by the month, in whole percent; 0 where nothing is saved. */
export function computeSaving(checkout: Checkout, product: Product): number {
  const isMonthly = (one: Product) => one.recurring_interval === "month" && (one.recurring_interval_count ?? 1) === 1;
  const monthly = checkout.products.filter(isMonthly);
  // Which of several months it stands for nobody knows.
  if (monthly.length !== 1 || !monthly[0] || isMonthly(product)) return 0;
  const [whole, less] = [computeYearly(checkout, monthly[0]), computeYearly(checkout, product)];
  return whole && less && less < whole ? Math.floor(((whole - less) * 100) / whole) : 0;
}
