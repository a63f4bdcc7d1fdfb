import type { Order, orders } from "../../shared/api/orders.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, type Database, type Deps, organizationOf, type Tx } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { nextInvoiceNumber } from "../organizations/store.ts";
import { assertItems, checkAddress, orderOut } from "./rules.ts";
import * as store from "./store.ts";

export type NewOrder = Omit<
  Parameters<typeof store.insertOrder>[1],
  "id" | "created_at" | "invoice_number" | "status" | "billing_reason"
> & {
  items: { label: string; amount: number; product_price_id: string | null }[];
};

async function read(db: Database, organization_id: string, id: string): Promise<Order> {
  const whole = await store.findOrder(db, organization_id, id);
  if (!whole) throw notFound();
  return orderOut(whole);
}

/** Make the paid order of a one-time purchase, and say so: created, updated, paid, in this order (ORD-12, ORD-16). */
export async function createPaidOrder(tx: Tx, deps: Deps, { items, ...wanted }: NewOrder): Promise<Order> {
  assertItems(wanted, items);
  const created_at = deps.clock.now();
  const id = newId(created_at);
  const invoice_number = await nextInvoiceNumber(tx, wanted.organization_id);
  const order = { ...wanted, id, created_at, invoice_number, status: "paid", billing_reason: "purchase" } as const;
  await store.insertOrder(
    tx,
    order,
    items.map((item) => ({
      ...item,
      id: newId(created_at),
      organization_id: wanted.organization_id,
      order_id: id,
      created_at,
    })),
  );
  const made = await read(tx, wanted.organization_id, id);
  for (const type of ["order.created", "order.updated", "order.paid"] as const)
    await emit(tx, deps, wanted.organization_id, type, made);
  return made;
}

/** The orders of the API. */
export const orderService: Service<typeof orders, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listOrders(ctx.db, organizationOf(ctx), query);
    return pageOf(items.map(orderOut), total, query);
  },
  get: (ctx, { params }) => read(ctx.db, organizationOf(ctx), params.id),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const organization_id = organizationOf(ctx);
      const row = await store.lockOrder(tx, organization_id, params.id);
      if (!row) throw notFound();
      const faults = checkAddress(row, body.billing_address);
      if (faults.length > 0) throw invalid(...faults);
      const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
      if (Object.keys(sent).length > 0) await store.updateOrder(tx, row, { ...sent, modified_at: ctx.clock.now() });
      const order = await read(tx, organization_id, row.id);
      await emit(tx, ctx, organization_id, "order.updated", order);
      return order;
    }),
};
