/** Prices of a product as the file wants them, as the server has them, as they are sent, and as a file says them shortest. */
import type { ProductPrice } from "../api/prices.ts";
import type { Product } from "../api/products.ts";
import { formatDecimal, writeMoney } from "../money.ts";
import { formatUnitPrice, readMinor, readMinorUnit } from "./amounts.ts";
import { type Fields, isSamePrice } from "./compare.ts";
import { type Ids, type Names, omitDefaults } from "./kinds/kind.ts";
import type { Path, Price } from "./prices.ts";

/** The canonical form of a price; `standard` is the currency of one that names none. */
export function readWantedPrice(price: Price, standard: string): Fields {
  const in_currency = price.currency ?? standard;
  const common = { currency: in_currency, tax_behavior: price.tax_behavior ?? null };
  const parseMinor = (text: string): number => readMinor(text, in_currency);
  const parseOrNull = (text: string | null | undefined): number | null =>
    typeof text === "string" ? parseMinor(text) : null;
  if ("fixed" in price) {
    const fixed = parseMinor(price.fixed);
    return { ...(fixed === 0 ? { free: true } : { fixed }), ...common };
  }
  if ("free" in price) return { free: true, ...common };
  if ("custom" in price) {
    const { minimum, maximum, preset } = price.custom;
    const least = minimum === undefined ? {} : { minimum: parseMinor(minimum) };
    return { custom: { ...least, maximum: parseOrNull(maximum), preset: parseOrNull(preset) }, ...common };
  }
  if ("metered" in price)
    return {
      metered: price.metered,
      unit_amount: readMinorUnit(price.unit_price, in_currency),
      cap: parseOrNull(price.cap),
      ...common,
    };
  const seats = [...price.seats]
    .sort((a, b) => a.from - b.from)
    .map(({ from, to = null, price: each }) => ({ from, to, price: parseMinor(each) }));
  return { seats, tiers: price.tiers ?? "volume", ...common };
}

/** A price of the server in the same form. */
export function readFoundPrice(price: ProductPrice, names: Names): Fields {
  const common = { currency: price.price_currency, tax_behavior: price.tax_behavior };
  switch (price.amount_type) {
    case "fixed":
      return { ...(price.price_amount === 0 ? { free: true } : { fixed: price.price_amount }), ...common };
    case "free":
      return { free: true, ...common };
    case "custom": {
      const { minimum_amount: minimum, maximum_amount: maximum, preset_amount: preset } = price;
      return { custom: { minimum, maximum, preset }, ...common };
    }
    case "metered_unit": {
      const { meter_id, unit_amount, cap_amount } = price;
      return {
        metered: names.keyOf("meters", meter_id),
        unit_amount: formatDecimal(unit_amount),
        cap: cap_amount,
        ...common,
      };
    }
    case "seat_based": {
      const { tiers, seat_tier_type } = price.seat_tiers;
      const seats = tiers.map(({ min_seats: from, max_seats: to, price_per_seat: each }) => ({
        from,
        to,
        price: each,
      }));
      return { seats, tiers: seat_tier_type, ...common };
    }
  }
}

/** Prices that are as they are wanted are kept; the others are made, and what is left out goes off sale (PRD-22). */
export function writePrices(wantedPrices: Fields[], ids: Ids, row: Product | undefined): Fields[] {
  const bodies = wantedPrices.map((price) => buildPriceBody(price, ids));
  const left = row ? [...row.prices] : [];
  const names: Names = { keyOf: (_, id) => id, fileName: (id) => id };
  return bodies.map((body, index) => {
    const price = wantedPrices[index] ?? {};
    const compared = "metered" in price ? { ...price, metered: body.meter_id } : price;
    const at = left.findIndex((one) => isSamePrice(compared, readFoundPrice(one, names)));
    const [kept] = at < 0 ? [] : left.splice(at, 1);
    return kept ? { id: kept.id } : body;
  });
}

function buildPriceBody(price: Fields, ids: Ids): Fields {
  const common = { price_currency: price.currency, tax_behavior: price.tax_behavior };
  if ("fixed" in price) return { amount_type: "fixed", price_amount: price.fixed, ...common };
  if ("free" in price) return { amount_type: "fixed", price_amount: 0, ...common };
  if ("custom" in price) {
    const { minimum, maximum, preset } = price.custom as {
      minimum?: number;
      maximum: number | null;
      preset: number | null;
    };
    return {
      amount_type: "custom",
      ...(minimum === undefined ? {} : { minimum_amount: minimum }),
      maximum_amount: maximum,
      preset_amount: preset,
      ...common,
    };
  }
  if ("metered" in price) {
    const { metered, unit_amount, cap } = price;
    return {
      amount_type: "metered_unit",
      meter_id: ids.idOf("meters", String(metered)),
      unit_amount,
      cap_amount: cap,
      ...common,
    };
  }
  const tiers = (price.seats as { from: number; to: number | null; price: number }[]).map((tier) => ({
    min_seats: tier.from,
    max_seats: tier.to,
    price_per_seat: tier.price,
  }));
  return { amount_type: "seat_based", seat_tiers: { seat_tier_type: price.tiers, tiers }, ...common };
}

/** With its currency always: the same file may serve an organization whose usual currency is another. */
export function omitPriceDefaults(price: Fields): Fields | string {
  const { fixed, custom, seats, unit_amount, cap, ...rest } = price;
  const code = String(price.currency);
  const writeAmount = (amount: unknown) => (typeof amount === "number" ? writeMoney(amount, code) : amount);
  const mapEach = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).map(([name, amount]) => [name, writeAmount(amount)]));
  // What is said in two words needs no fields.
  if (!price.tax_behavior && fixed !== undefined) return `${writeAmount(fixed)} ${code}`;
  if (!price.tax_behavior && price.free) return `free ${code}`;
  return omitDefaults(
    {
      ...(fixed === undefined ? {} : { fixed: writeAmount(fixed) }),
      ...(custom === undefined ? {} : { custom: omitDefaults(mapEach(custom as Fields)) }),
      ...rest,
      ...(unit_amount === undefined
        ? {}
        : { unit_price: formatUnitPrice(String(unit_amount), code), cap: writeAmount(cap) }),
      ...(seats === undefined
        ? {}
        : { seats: (seats as Fields[]).map((tier) => omitDefaults({ ...tier, price: writeAmount(tier.price) })) }),
    },
    { tiers: "volume" },
  );
}

const ofPrice: Record<string, Path> = {
  price_amount: ["fixed"],
  minimum_amount: ["custom", "minimum"],
  maximum_amount: ["custom", "maximum"],
  preset_amount: ["custom", "preset"],
  unit_amount: ["unit_price"],
  cap_amount: ["cap"],
  meter_id: ["metered"],
  price_currency: ["currency"],
};
const ofTier: Record<string, string> = { min_seats: "from", max_seats: "to", price_per_seat: "price" };

/** Where in the file a field of a price is written, from the list of prices on: `0.price_amount` is `0.fixed`. */
export function locateInPrices([index, field, ...rest]: Path): Path {
  if (index === undefined) return [];
  if (field === undefined) return [index];
  if (field !== "seat_tiers") return [index, ...(ofPrice[String(field)] ?? [field]), ...rest];
  const [, tier, part] = rest;
  return [index, "seats", ...(tier === undefined ? [] : [tier]), ...(part === undefined ? [] : [ofTier[part] ?? part])];
}
