import type { Order } from "../../shared/api/orders.ts";
import { type Fault, fault } from "../../shared/errors.ts";
import { type CustomerRow, customerOut } from "../customers/rules.ts";
import { orderProductOut, type ProductRow } from "../products/rules.ts";
import type { orderItems, orders } from "./tables.ts";

export type OrderRow = typeof orders.$inferSelect;
export type OrderItemRow = typeof orderItems.$inferSelect;
/** An order with everything that it is answered with. */
export type WholeOrder = { order: OrderRow; items: OrderItemRow[]; customer: CustomerRow; product: ProductRow };

/** Which states may follow which (ORD-13). */
export const moves: Record<Order["status"], readonly Order["status"][]> = {
  draft: ["pending"],
  pending: ["paid", "void"],
  paid: ["partially_refunded", "refunded"],
  partially_refunded: ["refunded", "paid"],
  refunded: ["partially_refunded", "paid"],
  void: ["pending"],
};

type Amounts = Pick<OrderRow, "subtotal_amount" | "discount_amount" | "tax_amount" | "applied_balance_amount">;

/** The amounts that follow from those that are kept (ORD-01). */
export function computeTotals(row: Amounts) {
  const net_amount = row.subtotal_amount - row.discount_amount;
  const total_amount = net_amount + row.tax_amount;
  return { net_amount, total_amount, due_amount: Math.max(0, total_amount + row.applied_balance_amount) };
}

/** A subtotal that is not the sum of its lines is a fault of ours, and no order is made of it. */
export function assertItems(order: Pick<OrderRow, "subtotal_amount">, items: readonly { amount: number }[]): void {
  const sum = items.reduce((total, item) => total + item.amount, 0);
  if (sum !== order.subtotal_amount)
    throw new Error(`The lines of an order make ${sum}, its subtotal is ${order.subtotal_amount}.`);
}

export const isPaid = (status: Order["status"]): boolean =>
  status === "paid" || status === "refunded" || status === "partially_refunded";

/** An order as it is answered. */
export function orderOut({ order, items, customer, product }: WholeOrder): Order {
  const totals = computeTotals(order);
  const { organization_id: _, ...fields } = order;
  const paid = isPaid(order.status);
  return {
    ...fields,
    ...totals,
    paid,
    refundable_amount: paid ? totals.net_amount - order.refunded_amount : 0,
    refundable_tax_amount: paid ? order.tax_amount - order.refunded_tax_amount : 0,
    receipt_number: null,
    seats: null,
    units: null,
    user_id: order.customer_id,
    discount_id: null,
    subscription_id: null,
    next_payment_attempt_at: null,
    platform_fee_currency: null,
    customer: customerOut(customer),
    product: orderProductOut(product),
    discount: null,
    subscription: null,
    items: items.map((item) => ({ ...item, start_timestamp: null, end_timestamp: null })),
  };
}

/** What an update may not do: the tax was computed on this country and state (ORD-25). */
export function checkAddress(order: OrderRow, address: OrderRow["billing_address"] | undefined): Fault[] {
  const had = order.billing_address;
  if (!address || !had) return [];
  return (["country", "state"] as const)
    .filter((field) => address[field] !== had[field])
    .map((field) =>
      fault(
        ["billing_address", field],
        `The ${field} cannot be changed after the tax was computed.`,
        "value_error",
        address[field],
      ),
    );
}
