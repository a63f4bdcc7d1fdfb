import { useI18n } from "../i18n/i18n.tsx";
import type { Product } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";

/** What a product costs, as far as it fits in a line: the fixed prices, or what kind of price it is. */
export function usePrices({ prices, recurring_interval }: Pick<Product, "prices" | "recurring_interval">): string {
  const messages = useHomeMessages();
  const { money } = useI18n();
  const texts = prices.map((price) =>
    price.amount_type === "fixed"
      ? money(price.price_amount, price.price_currency)
      : messages.price_kinds[price.amount_type],
  );
  return [...new Set(texts), ...(recurring_interval ? [messages.intervals[recurring_interval]] : [])].join(" · ");
}
