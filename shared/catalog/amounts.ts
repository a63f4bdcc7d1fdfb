/**
 * Amounts in a catalogue, written as people write them: with the decimals of their currency. What could be read in two
 * ways (is 2500 a lot, or 25.00 in cents?) is refused.
 */
import { z } from "zod";
import { formatDecimal, getCurrencyDigits, parseMoney, writeMoney } from "../money.ts";

/** A whole number of JSON says nothing of decimals, and so is refused later like any amount without them. */
export const Amount = z
  .union([z.string(), z.number()])
  .transform(String)
  .describe("An amount with its decimals: 25.00, or 2500 in a currency that has none.");

/** What is wrong with a text as an amount of a currency, or undefined. The price of one unit may have more decimals. */
export function findWrongAmount(text: string, currency: string, ofUnit = false): string | undefined {
  const [, units = "", decimals] = /^(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (units === "") return `"${text}" is not an amount: write 25.00.`;
  const digits = getCurrencyDigits(currency);
  if (decimals === undefined && digits > 0 && Number(units) !== 0) {
    const inMinor = Number.isSafeInteger(Number(units)) ? ` or ${writeMoney(Number(units), currency)}` : "";
    return `${units} may mean ${units}.${"0".repeat(digits)}${inMinor}: write the amount with its decimals.`;
  }
  if (ofUnit) return undefined;
  if ((decimals?.length ?? 0) > digits)
    return digits === 0
      ? `${currency} has no decimals: write ${units}.`
      : `${currency} has ${digits} decimals at most.`;
  return parseMoney(text, currency) === undefined ? `${text} is too large.` : undefined;
}

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
