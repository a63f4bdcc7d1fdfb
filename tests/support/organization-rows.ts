/** What an organization has sold and to whom, in a form in which the rows of two organizations can be compared. */
import { sql } from "drizzle-orm";
import type { Floe, Seller } from "./floe.ts";

const tables = [
  ...["checkouts", "orders", "order_items", "subscriptions", "subscription_prices", "trial_claims", "payments"],
  ...["payment_methods", "discounts", "discount_redemptions", "customer_balances", "customers", "members"],
  ...["customer_seats", "benefit_grants", "license_keys", "license_key_activations", "products", "product_prices"],
  ...["checkout_links", "usage_events"],
];
/** Random by design, or a number that counts up. */
const random = /hash|secret|token|digest|fingerprint|sealed|_number$|processor_|terms/;
const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** The numbered addresses of the helpers that make rows, and the ends of license keys. */
const numbered = /[\w-]+-(?:id|\d+|\w{12})@|\*{4}-\w+/g;

/** One text a row, sorted. `known`: ids that keep a name, so that a row which points at another thing is another text. */
export async function listRows(
  { deps }: Floe,
  { organization_id }: Seller,
  known: Record<string, string>,
): Promise<string[]> {
  const selects = tables.map(
    (table) => sql`select ${table}::text as name, to_jsonb(t) as row from ${sql.identifier(table)} t
      where organization_id = ${organization_id}`,
  );
  const found = await deps.db.execute(sql.join(selects, sql` union all `));
  const names = new Map(Object.entries(known).map(([name, value]) => [value, `<${name}>`]));
  return Array.from(found as Iterable<{ name: string; row: object }>, ({ name, row }) => {
    const kept = Object.fromEntries(Object.entries(row).filter(([column]) => !random.test(column)));
    const text = JSON.stringify(kept).replace(id, (one) => names.get(one) ?? "id");
    return `${name} ${text.replace(numbered, "…")}`;
  }).sort();
}

/** The rows of the first that the second does not have as often. */
export function listUnmatched(rows: readonly string[], others: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const row of others) left.set(row, (left.get(row) ?? 0) + 1);
  return rows.filter((row) => {
    const count = left.get(row) ?? 0;
    left.set(row, count - 1);
    return count <= 0;
  });
}
