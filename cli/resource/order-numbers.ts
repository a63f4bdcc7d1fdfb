/** The numbers of orders in a table of what only has their ids. */
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";

const ordersMax = 100;
type Row = Record<string, unknown>;

/** Rows with the number of their order beside its id. Without permission to read orders they stay as they are. */
export async function addOrderNumbers(context: Context, rows: readonly unknown[]): Promise<unknown[]> {
  const ids = [...new Set(rows.flatMap((row) => (row as Row).order_id ?? []))].filter(
    (id): id is string => typeof id === "string",
  );
  const numbers = new Map<string, string>();
  try {
    for (let at = 0; at < ids.length; at += ordersMax) {
      const query = { id: ids.slice(at, at + ordersMax), limit: ordersMax };
      const { items } = await request(context, routes.orders.list, { query });
      for (const { id, invoice_number } of items) if (invoice_number) numbers.set(id, invoice_number);
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return rows.map((row) => ({ ...(row as Row), order_number: numbers.get(String((row as Row).order_id)) }));
}
