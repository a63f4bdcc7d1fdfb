import { type AmountSource, type LineTerms, splitSeats } from "../../../shared/pricing.ts";
import type { PricedProduct, PriceRow } from "./rules.ts";

/** What a price is bought for: how many seats, and where the buyer may choose, for how much. */
export type Purchase = { product: Pick<PricedProduct, "name">; seats: number | null; chosen(): AmountSource };

/** The lines of a price that costs something by itself; of graduated seats one for each tier, of use none. */
export function planLines(price: PriceRow, { product, seats, chosen }: Purchase): LineTerms[] {
  const line = { product_price_id: price.id, proration: false };
  switch (price.amount_type) {
    case "fixed":
      return [{ ...line, label: product.name, source: { rule: "fixed", amount: price.price_amount ?? 0 } }];
    case "custom":
      return [{ ...line, label: product.name, source: chosen() }];
    case "free":
      return [{ ...line, label: product.name, source: { rule: "free" } }];
    case "seat_based":
      if (seats === null || price.seat_tiers === null) throw new Error("A price by the seat lacks its seats.");
      return splitSeats(seats, price.seat_tiers).map((source) => ({
        ...line,
        label: formatSeatLabel(product, source),
        source,
      }));
    case "metered_unit":
      return [];
  }
}

const formatSeatLabel = ({ name }: Purchase["product"], source: AmountSource): string =>
  source.rule === "seats" ? `${name} (${source.seats === 1 ? "1 seat" : `${source.seats} seats`})` : name;

/** A price for which nothing is ever asked (CHK-40). */
export const isFree = ({ amount_type, price_amount, seat_tiers }: PriceRow): boolean =>
  amount_type === "free" ||
  (amount_type === "fixed" && price_amount === 0) ||
  (amount_type === "seat_based" && Boolean(seat_tiers?.tiers.every((tier) => tier.price_per_seat === 0)));
