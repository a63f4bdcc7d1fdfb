import { z } from "zod";
import { type Discount, discounts } from "../../api/discounts.ts";
import { currency } from "../../api/fields.ts";
import { instantText } from "../../contract.ts";
import { writeMoney } from "../../money.ts";
import { findWrongAmount } from "../../written-amount.ts";
import { Amount, readMinor } from "../amounts.ts";
import { key } from "../key.ts";
import { defineKind, listPlaces, metadata, omitDefaults, previously, readMark } from "./kind.ts";

const hundredth = 100;
/** A share in hundredths of a percent, without the dust of floating point: 12.34 is 1234. */
const getBasisPoints = (percent: number): number => Number((percent * hundredth).toPrecision(8));

const number = z
  .number()
  .gt(0)
  .max(100)
  .refine((share) => Number.isInteger(getBasisPoints(share)), { message: "Two decimals at most." });
/** A share as a number, or with its sign. */
const Percent = z.union([
  number,
  z
    .string()
    .regex(/^\d{1,3}(\.\d{1,2})?\s*%$/)
    .transform((text) => Number.parseFloat(text))
    .pipe(number),
]);

/**
 * Why the share that a file takes off is unclear: who thinks in fractions writes 0.2 for 20 %. Programs send shares as they are.
 */
export function findUnclearShare({ percent }: { percent?: unknown }): string | undefined {
  if (typeof percent !== "number" || percent <= 0 || percent >= 1) return undefined;
  const whole = getBasisPoints(percent);
  return `${percent} may mean ${whole} or ${percent}: write ${whole}, or "${percent}%".`;
}

const item = z.strictObject({
  name: z.string().min(1),
  code: z.string().nullable().optional(),
  percent: Percent.optional().describe(
    "Share taken off: 20 is 20 %, two decimals at most. Below 1 with its sign: 0.5%.",
  ),
  amount: z
    .partialRecord(currency, Amount)
    .superRefine((amounts, context) => {
      for (const [code, text = ""] of Object.entries(amounts)) {
        const message = findWrongAmount(text, code);
        if (message !== undefined) context.addIssue({ code: "custom", path: [code], message });
      }
    })
    .optional()
    .describe("Amount taken off, by currency: { usd: 5.00 }"),
  duration: z.union([z.enum(["once", "forever"]), z.strictObject({ months: z.int().min(1).max(999) })], {
    error: "Must be once, forever, or so many months: { months: 3 }.",
  }),
  starts_at: instantText.nullable().optional(),
  ends_at: instantText.nullable().optional(),
  max_redemptions: z.int().min(1).nullable().optional(),
  max_redemptions_per_customer: z.int().min(1).nullable().optional(),
  products: z.array(key).optional().describe("Keys of products; left out or empty for all."),
  metadata,
  previously,
});

const writePercent = (basis_points: number): number | string =>
  basis_points < hundredth ? `${basis_points / hundredth}%` : basis_points / hundredth;
const getInstant = (text: string | null | undefined) => (text ? new Date(text).toISOString() : text);
const getIso = (date: Date | null) => (date === null ? null : date.toISOString());

export const discountKind = defineKind({
  item,
  update: discounts.update.body,
  wantedFields: ({ previously: _, percent, amount, ...rest }) => ({
    ...rest,
    ...(amount === undefined
      ? {}
      : { amount: Object.fromEntries(Object.entries(amount).map(([code, text]) => [code, readMinor(text, code)])) }),
    ...(percent === undefined ? {} : { basis_points: getBasisPoints(percent) }),
    starts_at: getInstant(rest.starts_at),
    ends_at: getInstant(rest.ends_at),
  }),
  foundFields: (row: Discount, names) => ({
    name: row.name,
    code: row.code,
    ...(row.type === "fixed" ? { amount: row.amounts } : { basis_points: row.basis_points }),
    duration: row.duration === "repeating" ? { months: row.duration_in_months } : row.duration,
    starts_at: getIso(row.starts_at),
    ends_at: getIso(row.ends_at),
    max_redemptions: row.max_redemptions,
    max_redemptions_per_customer: row.max_redemptions_per_customer,
    products: row.products.map(({ id }) => names.keyOf("products", id)),
    metadata: row.metadata,
  }),
  bodyOf({ amount, duration, products, ...plain }, ids) {
    const months =
      typeof duration === "object" && duration !== null ? (duration as { months: number }).months : undefined;
    return {
      ...plain,
      ...(amount === undefined ? {} : { type: "fixed", amounts: amount }),
      ...(plain.basis_points === undefined ? {} : { type: "percentage" }),
      ...(duration === undefined
        ? {}
        : months === undefined
          ? { duration }
          : { duration: "repeating", duration_in_months: months }),
      ...(products === undefined ? {} : { products: (products as string[]).map((one) => ids.idOf("products", one)) }),
    };
  },
  shorten({ basis_points, amount, ...rest }) {
    const amounts = Object.entries((amount ?? {}) as Record<string, number>);
    return omitDefaults({
      name: rest.name,
      code: rest.code,
      ...(basis_points === undefined ? {} : { percent: writePercent(Number(basis_points)) }),
      amount: Object.fromEntries(amounts.map(([code, value]) => [code, writeMoney(value, code)])),
      ...rest,
    });
  },
  /** A fixed discount does not become a percentage, and one that lasts once does not last for ever. */
  isFixed(field, found) {
    if (field === "amount" || field === "basis_points") return found[field] === undefined;
    return field === "duration" && typeof found.duration === "string";
  },
  nameOf: ({ name }) => name,
  marksOf: ({ name, code }) => [name, code],
  likeness: ({ code, name }) => [...readMark(code).map((text) => `code ${text}`), ...readMark(name)],
  needs: ({ products }) => listPlaces("products", products),
  findFaults({ percent, amount, products = [] }, refer) {
    for (const [index, product] of products.entries()) refer("products", product, ["products", index]);
    return (percent === undefined) === (amount === undefined)
      ? [{ path: [], message: "A discount takes off either a percent or an amount." }]
      : [];
  },
});
