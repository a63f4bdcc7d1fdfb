/**
 * All usage is billed once: what each subscription was billed for, held against the periods that it pays for, whatever floe decided
 * as it billed. That these are what the events come to is checked beside it.
 */
import { sql } from "drizzle-orm";
import type { Database } from "../../server/lib/transaction.ts";
import { customerMeterWindows } from "../../server/meters/tables.ts";
import type { OrderRow } from "../../server/orders/rules.ts";
import { productPrices } from "../../server/products/tables.ts";

type Terms = { unit_amount: string | null; cap_amount: number | null };
/** What units of a period cost at a price, to the cent. */
const computeCost = ({ unit_amount, cap_amount }: Terms, units: number): number =>
  Math.min(cap_amount ?? Number.POSITIVE_INFINITY, Math.max(0, units) * Number(unit_amount ?? 0));

type Billed = { amount: number; units: number; lines: number };
const nothing: Billed = { amount: 0, units: 0, lines: 0 };

/** What each subscription was billed for each price of usage, by the lines of its orders. */
function sumBilled(all: readonly OrderRow[]): Map<string, Billed> {
  const billed = new Map<string, Billed>();
  for (const { subscription_id, invoice_number, derivation } of all)
    for (const { source, product_price_id } of derivation.lines) {
      if (source.rule !== "metered" || invoice_number === null) continue;
      const key = `${subscription_id} ${product_price_id}`;
      const { amount, units, lines } = billed.get(key) ?? nothing;
      const own = Number(source.consumed_units) - Number(source.before_units ?? 0);
      billed.set(key, { amount: amount + source.amount, units: units + own, lines: lines + 1 });
    }
  return billed;
}

/** Where a subscription was billed for more or less than the periods that it was billed for cost: usage is billed once. */
export async function findUsageFaults(
  db: Database,
  organization_id: string,
  all: readonly OrderRow[],
): Promise<string[]> {
  const of = sql`organization_id = ${organization_id}`;
  const prices = new Map((await db.select().from(productPrices).where(of)).map((price) => [price.id, price]));
  const billed = sumBilled(all);
  const owed = new Map<string, Pick<Billed, "amount" | "units">>();
  const periods = new Set<string>();
  for (const one of await db.select().from(customerMeterWindows).where(of)) {
    const price = prices.get(one.price_id ?? "");
    if (one.payer_id === null || one.billed_units === null || !price) continue;
    const key = `${one.payer_id} ${price.id}`;
    const units = Number(one.billed_units) - Number(one.free_units) - one.credited_units;
    // What ends at the same time is billed as one.
    const period = `${key} ${one.ended_at.toISOString()}`;
    if (periods.has(period)) continue;
    periods.add(period);
    const { amount, units: had } = owed.get(key) ?? nothing;
    owed.set(key, { amount: amount + computeCost(price, units), units: had + Number(one.billed_units) });
  }
  return [...new Set([...billed.keys(), ...owed.keys()])].flatMap((key) => {
    const { amount, units, lines } = billed.get(key) ?? nothing;
    const due = owed.get(key) ?? nothing;
    // Each line is rounded by itself, and there is none of what costs nothing.
    if (Math.abs(amount - due.amount) <= lines + 1 && units <= due.units) return [];
    return [
      `Of the usage of ${key} (subscription, price) ${units} units were billed with ${amount}; its periods have ${due.units}, for ${due.amount}.`,
    ];
  });
}
