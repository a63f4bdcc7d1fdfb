/** Prices in a catalogue: as they are spoken, or in fields. */
import { z } from "zod";
import { currency, taxBehaviorOption } from "../api/fields.ts";
import { getCurrencyDigits } from "../money.ts";
import { readPriceText, type WrittenInterval } from "../price-text.ts";
import { findWrongAmount } from "../written-amount.ts";
import { Amount } from "./amounts.ts";
import { key } from "./key.ts";

const priced = { currency: currency.optional(), tax_behavior: taxBehaviorOption.nullable().optional() };
const Fields = z.union([
  z.strictObject({ fixed: Amount, ...priced }),
  z.strictObject({ free: z.literal(true), ...priced }),
  z.strictObject({
    custom: z.strictObject({
      minimum: Amount.optional(),
      maximum: Amount.nullable().optional(),
      preset: Amount.nullable().optional(),
    }),
    ...priced,
  }),
  z.strictObject({
    metered: key.describe("Key of the meter."),
    unit_price: Amount.describe("Price of one unit, with as many decimals as it takes: 0.002"),
    cap: Amount.nullable().optional(),
    ...priced,
  }),
  z.strictObject({
    seats: z
      .array(z.strictObject({ from: z.int().min(1), to: z.int().min(1).nullable().optional(), price: Amount }))
      .min(1),
    tiers: z.enum(["volume", "graduated"]).optional(),
    ...priced,
  }),
]);
/** One price, in fields. */
export type Price = z.output<typeof Fields>;
export type Path = (string | number)[];
/** One amount of a catalogue, where it stands; what names no currency is in that of the organization. */
type Written = { path: Path; text: string; currency: string | undefined; ofUnit?: boolean };

/** The amounts of a price. */
function listPriceAmounts(price: Price, path: Path): Written[] {
  const { currency: code } = price;
  const listWritten = (name: string | number, text: string | null | undefined, more: Path = []): Written[] =>
    typeof text === "string" ? [{ path: [...path, name, ...more], text, currency: code }] : [];
  if ("fixed" in price) return listWritten("fixed", price.fixed);
  if ("custom" in price)
    return Object.entries(price.custom).flatMap(([name, text]) => listWritten("custom", text, [name]));
  if ("seats" in price) return price.seats.flatMap((tier, index) => listWritten("seats", tier.price, [index, "price"]));
  if ("metered" in price)
    return [
      ...listWritten("unit_price", price.unit_price).map((one) => ({ ...one, ofUnit: true })),
      ...listWritten("cap", price.cap),
    ];
  return [];
}

/** In the currency of most, where none is named: nearly all have decimals, and those that have none name themselves. */
const usual = "usd";

/** What is wrong with the amounts of a price; `standard` is the currency of one that names none. */
export const validatePrice = (price: Price, path: Path, standard: string): { path: Path; message: string }[] =>
  listPriceAmounts(price, path).flatMap(({ path: at, text, currency: code = standard, ofUnit }) => {
    const message = findWrongAmount(text, code, ofUnit);
    return message === undefined ? [] : [{ path: at, message }];
  });

type Spoken = { price: Price; interval: WrittenInterval | undefined };

/** A price as on the command line; a currency that stands with the amount says how many decimals it has. */
function parsePriceText(text: string, refuse: (why: string) => never): Spoken {
  const { amount, isOpen, currency: code, interval: every } = readPriceText(text, refuse);
  const in_currency = code === undefined ? {} : { currency: code as z.output<typeof currency> };
  if (amount === undefined) return { price: { free: true, ...in_currency }, interval: every };
  const digits = code === undefined ? 0 : getCurrencyDigits(code);
  const fixed = amount.includes(".") || digits === 0 ? amount : `${amount}.${"0".repeat(digits)}`;
  return {
    price: isOpen ? { custom: { minimum: fixed }, ...in_currency } : { fixed, ...in_currency },
    interval: every,
  };
}

export const SpokenPrice = z
  .union([z.string(), z.number()])
  .transform((text, context): Spoken => {
    const throwNoPrice = (why: string): never => {
      throw new NoPrice(`"${text}" ${why}. Write 25.00, 25.00 eur, 25.00/month, 5.00+ or free.`);
    };
    try {
      const spoken = parsePriceText(String(text), throwNoPrice);
      for (const { message } of validatePrice(spoken.price, [], usual)) context.addIssue({ code: "custom", message });
      return spoken;
    } catch (error) {
      if (!(error instanceof NoPrice)) throw error;
      context.addIssue({ code: "custom", message: error.message });
      return z.NEVER;
    }
  })
  .describe("A price as it is spoken: 25.00, 25.00 eur, 25.00/month, 5.00+ (pay what you want), free.");
class NoPrice extends Error {}

const PriceFields = Fields.superRefine((price, context) => {
  for (const wrong of validatePrice(price, [], usual)) context.addIssue({ code: "custom", ...wrong });
}).transform((price): Spoken => ({ price, interval: undefined }));

export const Price = z
  .union([SpokenPrice, PriceFields], {
    error: "Written as 25.00/month, or in fields: fixed, free, custom, metered or seats.",
  })
  .describe("25.00 eur, or in fields: fixed, free, custom, metered or seats.");

/** What a price is among the prices of its product: a product has one of each (PRD-17, PRD-18). */
export function getPriceSlot(price: Price, standard = ""): string {
  const in_currency = price.currency ?? standard;
  if ("metered" in price) return `metered ${price.metered} ${in_currency}`;
  const kind = "seats" in price ? "seats" : "custom" in price ? "custom" : "fixed";
  return `${kind} ${in_currency}`;
}
