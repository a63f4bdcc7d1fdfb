/** Amounts in a catalogue, written as people write them: with the decimals of their currency (`written-amount.ts`). */
import { z } from "zod";
import { formatDecimal, getCurrencyDigits, parseMoney } from "../money.ts";

/** A whole number of JSON says nothing of decimals, and so is refused later like any amount without them. */
export const Amount = z
  .union([z.string(), z.number()])
  .transform(String)
  .describe("An amount with its decimals: 25.00, or 2500 in a currency that has none.");

/** An amount in minor units, once it is known to be one. */
export function readMinor(text: string, currency: string): number {
  const amount = parseMoney(text, currency);
  if (amount === undefined) throw new RangeError(`${text} is not an amount in ${currency}`);
  return amount;
}

/** The price of a unit in minor units: a decimal, of which no digit is lost. */
export const readMinorUnit = (text: string, currency: string): string =>
  formatDecimal(`${text}e${getCurrencyDigits(currency)}`);

/** The other way round. */
export const formatUnitPrice = (unit_amount: string, currency: string): string => {
  const digits = getCurrencyDigits(currency);
  const [units = "", decimals = ""] = formatDecimal(`${unit_amount}e-${digits}`).split(".");
  const written = decimals.padEnd(digits, "0");
  return written === "" ? units : `${units}.${written}`;
};
