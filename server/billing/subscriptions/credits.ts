import { addUp, allocate, computeFraction } from "../../../shared/money.ts";
import { computeAmount, computeTaxes, type LineTerms, type Reversal, type TaxLine } from "../../../shared/pricing.ts";
import type { TaxTreatment } from "../../../shared/tax.ts";
import type { EntryRow } from "./rules.ts";

/** An order that a subscription was billed with, and what can still be given back of it, with its tax and of its tax alone. */
export type SoldOrder = {
  id: string;
  invoice_number: string | null;
  /** Whether it waits for its money. */
  is_open: boolean;
  tax: TaxTreatment;
  /** Whether its customer was somewhere else then, or bought under another tax number. */
  is_elsewhere: boolean;
  /** What its taxes were computed from: the lines after the discount. */
  taxed_amount: number;
  left_amount: number;
  left_tax_amount: number;
};

/** A line that was sold, before its tax if the order adds it; `reversed_amount`: what was given back of it. */
export type SoldLine = {
  item_id: string;
  product_price_id: string | null;
  /** Null where it waits to be billed with the next order. */
  order: SoldOrder | null;
  start: Date;
  amount: number;
  reversed_amount: number;
};

type Entry = Pick<EntryRow, "id" | "line">;
/** Lines that can be billed, and those that give back what was not paid yet. */
export type Credits = { lines: LineTerms[]; unpaid: LineTerms[] };

const sumOf = (taxes: readonly TaxLine[]): number => addUp(taxes.map(({ amount }) => amount));

/** The same taxes, adding up to `sum`. */
function scaleTaxes(taxes: readonly TaxLine[], sum: number): TaxLine[] {
  const shares = allocate(
    sum,
    taxes.map(({ amount }) => amount),
  );
  return taxes.map((tax, index) => ({ ...tax, amount: shares[index] ?? 0 }));
}

/** The taxes of a part of an order, as it was taxed. */
function computeTaxesOf({ tax, taxed_amount }: SoldOrder, amount: number): TaxLine[] {
  const { given } = tax;
  if (!given || taxed_amount <= 0) return computeTaxes(amount, tax);
  const computeShare = (of: number) => computeFraction(of, amount, taxed_amount);
  return tax.rates.map((rate, index) => {
    const { taxable_amount = 0, amount: charged = 0 } = given.rates[index] ?? {};
    return { ...rate, taxable_amount: computeShare(taxable_amount), amount: computeShare(charged) };
  });
}

/** Take so much of a sold line, as far as there is so much of it; what is taken is not there for the next one. */
function deductFrom(line: SoldLine, wanted: number): { amount: number; reverses: Reversal } {
  const { item_id, order } = line;
  const most = Math.max(0, Math.min(wanted, line.amount - line.reversed_amount));
  if (!order) {
    line.reversed_amount += most;
    const bare = { order_id: null, behavior: "exclusive", tax_lines: [], is_apart: false } as const;
    return { amount: most, reverses: { ...bare, item_id, tax_lines: [] } };
  }
  const { behavior } = order.tax;
  let taxes = computeTaxesOf(order, most);
  let amount = most;
  const total = behavior === "inclusive" ? most : most + sumOf(taxes);
  if (total > order.left_amount) {
    const tax = computeFraction(sumOf(taxes), order.left_amount, total);
    taxes = scaleTaxes(taxes, tax);
    amount = behavior === "inclusive" ? order.left_amount : order.left_amount - tax;
  }
  if (sumOf(taxes) > order.left_tax_amount) taxes = scaleTaxes(taxes, order.left_tax_amount);
  const tax = sumOf(taxes);
  line.reversed_amount += amount;
  order.left_amount -= behavior === "inclusive" ? amount : amount + tax;
  order.left_tax_amount -= tax;
  const net = behavior === "inclusive" ? amount - tax : amount;
  const tax_lines = taxes.map((one) => ({ ...one, taxable_amount: 0 - net, amount: 0 - one.amount }));
  const { id: order_id, invoice_number: order_number, is_elsewhere: is_apart } = order;
  return { amount, reverses: { order_id, order_number, item_id, behavior, tax_lines, is_apart } };
}

/** What of a sold line is for the time from `at` until `end`. */
function computeRest({ amount, start }: SoldLine, at: Date, end: Date): number {
  const whole = end.getTime() - start.getTime();
  return whole <= 0 ? 0 : computeFraction(amount, Math.max(0, end.getTime() - at.getTime()), whole);
}

/** The parts of sold lines that a line gives back: of the newest first what is left of its time. */
function splitLine(line: LineTerms, sold: readonly SoldLine[]) {
  const wanted = 0 - computeAmount(line.source);
  const own = sold
    .filter((one) => one.product_price_id !== null && one.product_price_id === line.product_price_id)
    .sort((a, b) => b.start.getTime() - a.start.getTime() || (a.item_id < b.item_id ? 1 : -1));
  const { start = "", end = "" } = line.period ?? {};
  const parts = new Map<SoldLine, number>();
  let left = wanted;
  for (const isBounded of [true, false])
    for (const one of own) {
      const room = one.amount - one.reversed_amount - (parts.get(one) ?? 0);
      const bound = isBounded ? computeRest(one, new Date(start), new Date(end)) : room;
      const part = Math.min(left, room, bound);
      if (part <= 0) continue;
      parts.set(one, (parts.get(one) ?? 0) + part);
      left -= part;
    }
  return { wanted, parts: [...parts].map(([one, part]) => ({ order: one.order, ...deductFrom(one, part) })) };
}

/** The line that gives back so much. */
function limitLine(line: LineTerms, amount: number, reverses: Reversal): LineTerms {
  if (line.source.rule !== "prorated") throw new Error("Only a proration gives something back.");
  const { limited_amount: _, ...source } = line.source;
  const isWhole = 0 - computeAmount(source) === amount;
  return { ...line, source: isWhole ? source : { ...source, limited_amount: 0 - amount }, reverses };
}

/**
 * Lines that give something back, each as the sold lines that it gives back: never more than of those was paid and has not gone
 * back in another way, with the taxes that were charged of it (SUB-38).
 */
export function resolveCredits(lines: readonly LineTerms[], sold: readonly SoldLine[]): Credits {
  const found: Credits = { lines: [], unpaid: [] };
  for (const line of lines) {
    if (computeAmount(line.source) >= 0) {
      found.lines.push(line);
      continue;
    }
    for (const { order, amount, reverses } of splitLine(line, sold).parts) {
      if (amount <= 0) continue;
      (order?.is_open ? found.unpaid : found.lines).push(limitLine(line, amount, reverses));
    }
  }
  return found;
}

/** Whether a line that waits to be billed gives something back that was sold. */
export const isCredit = ({ line: { proration, source } }: Pick<Entry, "line">): boolean =>
  proration && computeAmount(source) < 0;

/** Whether a line gives back what waits for its money. */
export const isOfUnpaid = ({ reverses }: LineTerms, sold: readonly SoldLine[]): boolean =>
  sold.some(({ item_id, order }) => item_id === reverses?.item_id && order?.is_open);

/**
 * What waits to be billed as it can be billed now; `settled_entry_ids`: what nothing is left of; `unpaid`: what gives back lines of
 * orders that are not paid yet.
 */
export type ResolvedCredits = { entries: Entry[]; settled_entry_ids: string[]; unpaid: Entry[] };

/**
 * What waits to be billed, as it can be billed now: what gives back an order that is not paid yet goes on waiting, and of what is
 * void by now nothing is left.
 */
export function resolveEntries(entries: readonly Entry[], sold: readonly SoldLine[]): ResolvedCredits {
  const found: ResolvedCredits = { entries: [], settled_entry_ids: [], unpaid: [] };
  const addEntries = (id: string, lines: readonly LineTerms[]) =>
    found.entries.push(...lines.map((line) => ({ id, line: { ...line, entry_id: id } })));
  for (const { id, line } of entries) {
    const { reverses } = line;
    if (!isCredit({ line }) || reverses?.order_id === null) {
      addEntries(id, [line]);
      continue;
    }
    const { lines, unpaid } = reverses ? resolveNamed(line, reverses, sold) : resolveCredits([line], sold);
    if (unpaid.length > 0) {
      found.unpaid.push(...unpaid.map((one) => ({ id, line: one })));
      continue;
    }
    addEntries(id, lines);
    if (lines.length === 0) found.settled_entry_ids.push(id);
  }
  return found;
}

/** A line that names what it gives back. */
function resolveNamed(line: LineTerms, { item_id }: Reversal, sold: readonly SoldLine[]): Credits {
  const from = sold.find((one) => one.item_id === item_id);
  if (!from) return { lines: [], unpaid: [] };
  const { amount, reverses } = deductFrom(from, 0 - computeAmount(line.source));
  const lines = amount > 0 ? [limitLine(line, amount, reverses)] : [];
  return from.order?.is_open ? { lines: [], unpaid: lines } : { lines, unpaid: [] };
}
