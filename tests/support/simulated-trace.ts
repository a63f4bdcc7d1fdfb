/** What became of the things that a fault of a simulated shop names, for whoever looks for its cause. */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../../server/platform/db/transaction.ts";

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const thingsMax = 2;
const linesMax = 24;

/** The last events and orders of what these texts name, a line each. */
export async function traceNamed(db: Database, organization_id: string, texts: readonly string[]): Promise<string[]> {
  const ids = [...new Set(texts.flatMap((text) => text.match(uuid) ?? []))].slice(0, thingsMax);
  const read = async (statement: SQL): Promise<string[]> =>
    ((await db.execute(statement)) as unknown as { line: string }[]).map(({ line }) => `    ${line}`).reverse();
  const traces = ids.map(async (id) => [
    `  ${id}:`,
    ...(await read(sql`select concat_ws(' ', seq, created_at, type, data ->> 'status', data ->> 'billing_reason',
        data ->> 'current_period_start', data ->> 'current_period_end') as line from events
      where organization_id = ${organization_id} and (data ->> 'id' = ${id} or data ->> 'subscription_id' = ${id})
      order by seq desc limit ${linesMax}`)),
    ...(await read(sql`select concat_ws(' ', 'order', id, created_at, status, billing_reason, occasion, invoice_number, 'of',
        period_start) as line from orders
      where organization_id = ${organization_id} and ${id}::uuid in (id, subscription_id) order by created_at desc, id desc limit ${linesMax}`)),
  ]);
  return (await Promise.all(traces)).flat();
}
