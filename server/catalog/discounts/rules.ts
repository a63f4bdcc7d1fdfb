import type { z } from "zod";
import type { Discount, DiscountBase, DiscountCreate, DiscountUpdate } from "../../../shared/api/discounts.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import type { DiscountTerms } from "../../../shared/pricing.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { type ProductRow, serializeOrderProduct } from "../products/rules.ts";
import type { discounts } from "./tables.ts";

export type DiscountRow = typeof discounts.$inferSelect;
/** A discount with the products it is limited to, in their order. */
export type LimitedDiscount = DiscountRow & { products: ProductRow[] };
type Create = z.output<typeof DiscountCreate>;
type Update = z.output<typeof DiscountUpdate>;

/** A discount as its seller sees it. */
export const serializeDiscount = ({ products, ...row }: LimitedDiscount): Discount => ({
  ...serializeDiscountBase(row),
  products: products.map(serializeOrderProduct),
});

/** A discount inside an order, a subscription or a link. */
export function serializeDiscountBase(row: DiscountRow): DiscountBase {
  const { deleted_at: _, amounts, currency, basis_points, duration_in_months, ...rest } = row;
  const common = {
    ...rest,
    ...(duration_in_months === null ? {} : { duration_in_months }),
  };
  if (row.type === "percentage") {
    if (basis_points === null) throw new Error("A percentage discount lacks its basis points.");
    return { ...common, type: "percentage", basis_points };
  }
  const amount = currency === null ? undefined : amounts?.[currency];
  if (amounts === null || currency === null || amount === undefined)
    throw new Error("A fixed discount lacks its amount.");
  return { ...common, type: "fixed", amount, currency, amounts };
}

/** The code is another discount's (DSC-01). */
export const describeTakenCode = (code: string): Fault =>
  fault(["code"], "Discount with this code already exists.", "value_error", code);

/** A fault for each product that is not the organization's (DSC-05). */
export const checkProducts = (wanted: readonly string[], found: readonly { id: string }[]): Fault[] => {
  const known = new Set(found.map(({ id }) => id));
  return wanted.flatMap((id, index) =>
    known.has(id) ? [] : [fault(["products", index], "Product not found.", "value_error", id)],
  );
};

/** The money columns of a new discount. `standard` is the organization's currency. */
export function planTerms(
  body: Create,
  standard: string,
): Pick<DiscountRow, "type" | "amounts" | "currency" | "basis_points"> {
  if (body.basis_points && (body.type ?? "percentage") === "percentage")
    return { type: "percentage", amounts: null, currency: null, basis_points: body.basis_points };
  const amounts = body.amounts ?? { [body.currency ?? standard]: body.amount ?? 0 };
  return { type: "fixed", amounts, currency: getMainCurrency(amounts, standard), basis_points: null };
}

/** The currency that older clients are told: the organization's own where there is an amount in it. */
const getMainCurrency = (amounts: Record<string, number>, standard: string): string =>
  amounts[standard] === undefined ? (Object.keys(amounts)[0] ?? standard) : standard;

const frozen = "This field cannot be changed because the discount has already been redeemed.";

/** The columns that an update changes, or every fault of it (DSC-07). */
export function planUpdate(
  row: DiscountRow,
  body: Update,
  standard: string,
): { patch: Partial<DiscountRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  for (const field of ["type", "duration"] as const)
    if (body[field] !== undefined && body[field] !== row[field])
      faults.push(fault([field], `The ${field} of a discount can't be changed.`, "value_error", body[field]));
  const dated = ["starts_at", "ends_at"] as const;
  const free = ["name", "code", "max_redemptions", "max_redemptions_per_customer", "metadata"] as const;
  const patch = listChanges(row, body, [...dated, ...free]);
  const [starts_at, ends_at] = [
    patch.starts_at === undefined ? row.starts_at : patch.starts_at,
    patch.ends_at === undefined ? row.ends_at : patch.ends_at,
  ];
  if (starts_at && ends_at && starts_at >= ends_at && !(body.starts_at && body.ends_at))
    faults.push(fault([body.ends_at ? "ends_at" : "starts_at"], "Ends at must be after starts at.", "value_error"));
  faults.push(...planMoney(row, body, standard, patch));
  return { patch, faults };
}

/** What of an update concerns the money: frozen once somebody redeemed it, and only what the type has. */
function planMoney(row: DiscountRow, body: Update, standard: string, patch: Partial<DiscountRow>): Fault[] {
  const faults: Fault[] = [];
  const { amount, amounts, currency, basis_points, duration_in_months } = body;
  const addFault = (field: string, message: string, input?: unknown) =>
    faults.push(fault([field], message, "value_error", input));
  if (row.redemptions_count > 0) return checkFrozen(row, body);
  if (row.type === "percentage") {
    if (amount !== undefined && amount !== null) addFault("amount", "A percentage discount has no amount.", amount);
    if (amounts) addFault("amounts", "A percentage discount has no amount.", amounts);
    if (basis_points === null) addFault("basis_points", "A percentage discount needs its basis points.");
    else if (basis_points !== undefined && basis_points !== row.basis_points) patch.basis_points = basis_points;
  } else {
    if (basis_points) addFault("basis_points", "A fixed discount has an amount, no percentage.", basis_points);
    if (amount === null && !amounts) addFault("amount", "A fixed discount needs an amount.");
    if (amounts && amount !== undefined && amount !== null)
      addFault("amounts", "Give either amount and currency, or amounts.", amounts);
    const wanted = amounts ?? resolveAmounts(row, amount, currency);
    if (wanted && !hasSameAmounts(wanted, row.amounts)) {
      patch.amounts = wanted;
      patch.currency = getMainCurrency(wanted, currency ?? row.currency ?? standard);
    }
  }
  if (row.duration === "repeating") {
    if (duration_in_months === null) addFault("duration_in_months", "A repeating discount needs its number of months.");
    else if (duration_in_months !== undefined && duration_in_months !== row.duration_in_months)
      patch.duration_in_months = duration_in_months;
  } else if (duration_in_months)
    addFault("duration_in_months", "Only a repeating discount has a number of months.", duration_in_months);
  return faults;
}

/** The database keeps the currencies in an order of its own. */
const hasSameAmounts = (a: Record<string, number>, b: Record<string, number> | null): boolean =>
  b !== null &&
  Object.keys(a).length === Object.keys(b).length &&
  Object.entries(a).every(([currency, amount]) => b[currency] === amount);

/** A fault for each part of the money that is sent otherwise than it is, null among it; the same again is fine. */
function checkFrozen(row: DiscountRow, body: Update): Fault[] {
  const { amounts, currency, basis_points, duration_in_months } = row;
  const amount = currency === null ? null : (amounts?.[currency] ?? null);
  const kept = { amount, currency, basis_points, duration_in_months };
  const faults = Object.entries(kept).flatMap(([field, value]) => {
    const sent = body[field as keyof typeof kept];
    return sent === undefined || sent === value ? [] : [fault([field], frozen, "value_error", sent)];
  });
  const sent = body.amounts;
  const same = sent === undefined || (sent === null ? amounts === null : hasSameAmounts(sent, amounts));
  return same ? faults : [...faults, fault(["amounts"], frozen, "value_error", sent)];
}

/** One amount sent the old way replaces the one it names; the amounts in other currencies go with it. */
function resolveAmounts(
  row: DiscountRow,
  amount: number | null | undefined,
  currency: string | null | undefined,
): Record<string, number> | undefined {
  if ((amount === undefined || amount === null) && !currency) return undefined;
  const had = row.currency === null ? undefined : row.amounts?.[row.currency];
  const key = currency ?? row.currency;
  // What older clients send back as they read it changes nothing.
  if (key === row.currency && (amount ?? had) === had) return undefined;
  return key === null || key === undefined ? undefined : { [key]: amount ?? had ?? 0 };
}

/** Whether a discount can be taken now; who has it keeps it whatever comes (DSC-09). */
export const isRedeemable = (row: DiscountRow, now: Date): boolean =>
  row.deleted_at === null &&
  (row.starts_at === null || row.starts_at <= now) &&
  (row.ends_at === null || row.ends_at >= now) &&
  (row.max_redemptions === null || row.redemptions_count < row.max_redemptions);

/** Whether a discount is good for a product (DSC-05). */
export const coversProduct = ({ products }: LimitedDiscount, product_id: string): boolean =>
  products.length === 0 || products.some(({ id }) => id === product_id);

/** What a discount takes off in a currency; undefined where it has no amount in it. */
export function findDiscountTerms(row: DiscountRow, currency: string): DiscountTerms | undefined {
  const { id, name, code } = row;
  if (row.type === "percentage") return { id, name, code, type: "percentage", basis_points: row.basis_points ?? 0 };
  const amount = row.amounts?.[currency];
  return amount === undefined ? undefined : { id, name, code, type: "fixed", amount };
}

/** A discount has a limit, so taking it takes a lock (DSC-12). */
export const isLimited = (row: DiscountRow): boolean =>
  row.max_redemptions !== null || row.max_redemptions_per_customer !== null;
