import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { createId } from "../../platform/ids.ts";
import type { TaxCalculator } from "../../platform/processors/tax-calculator.ts";
import { type AmountShare, computeTotals, type OrderAggregate, type OrderRow } from "../orders/rules.ts";
import type { CountedRefund } from "../refunds/service.ts";
import * as store from "./store.ts";

/** The worker that sends the reports. */
export const taxReportWorkerName = "tax_reports.tell";

/**
 * Report a paid order whose tax a service computed. The service knows the whole calculation, so what reduced the order while it
 * was unpaid (ORD-31) is reported as a reversal of the sale: its tax was never charged.
 */
export async function reportSale(tx: Tx, ctx: Deps | Ctx, { order }: OrderAggregate): Promise<void> {
  const { given } = order.derivation.tax;
  const { net_amount } = computeTotals(order);
  const { id: order_id, organization_id, tax_amount, tax_behavior, reduced_amount, reduced_tax_amount } = order;
  // An order that gives money back is not a sale, and an order that was reduced to nothing is none either.
  if (!given || net_amount - reduced_amount <= 0) return;
  const now = ctx.clock.now();
  const withTax = (net: number, tax: number): number => (tax_behavior === "inclusive" ? net + tax : net);
  const base = { organization_id, created_at: now, order_id, due_at: now };
  const isNew = await store.insertReport(tx, {
    ...base,
    id: createId(now),
    kind: "sale",
    calculation_id: given.calculation_id,
    amount: withTax(net_amount, tax_amount),
    tax_amount,
  });
  if (isNew && reduced_amount + reduced_tax_amount > 0)
    await store.insertReport(tx, {
      ...base,
      id: createId(now),
      kind: "refund",
      amount: withTax(reduced_amount, reduced_tax_amount),
      tax_amount: reduced_tax_amount,
    });
  ctx.jobs.wake(tx, taxReportWorkerName);
}

type Parts = { order: OrderRow; change: AmountShare };

/** Money of such a sale goes back, or has come back after all: the service is told of as much of its tax. */
export const reportRefund = (tx: Tx, ctx: Deps | Ctx, { refund, ...parts }: CountedRefund): Promise<void> =>
  reportReturn(tx, ctx, parts, { refund_id: refund.id });

/** A dispute of such a sale is lost: what the bank has taken has gone back, as far as that was not told already. */
export async function reportDispute(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, change }: Parts,
  dispute_id: string,
): Promise<void> {
  const { net_amount } = computeTotals(order);
  const { reduced_amount, reduced_tax_amount } = order;
  const amount = Math.min(change.amount, net_amount - reduced_amount - order.refunded_amount);
  const tax_amount = Math.min(change.tax_amount, order.tax_amount - reduced_tax_amount - order.refunded_tax_amount);
  if (amount + tax_amount > 0) await reportReturn(tx, ctx, { order, change: { amount, tax_amount } }, { dispute_id });
}

/** A dispute that was lost is won after all: what was told of it is taken back. */
export async function reportWonAfterAll(tx: Tx, ctx: Deps | Ctx, dispute: RowKey): Promise<void> {
  const { organization_id, id: dispute_id } = dispute;
  const told = await store.findReturn(tx, organization_id, { dispute_id });
  if (!told) return;
  const { order_id, amount, tax_amount } = told;
  const now = ctx.clock.now();
  const what = { kind: "undo", organization_id, dispute_id, order_id, amount, tax_amount } as const;
  await store.insertReport(tx, { ...what, id: createId(now), created_at: now, due_at: now });
  ctx.jobs.wake(tx, taxReportWorkerName);
}

async function reportReturn(
  tx: Tx,
  ctx: Deps | Ctx,
  { order, change }: Parts,
  cause: store.ReportCause,
): Promise<void> {
  if (!order.derivation.tax.given || !(await store.findSale(tx, { ...order, order_id: order.id }))) return;
  const isBack = change.amount + change.tax_amount < 0;
  const now = ctx.clock.now();
  const amount = order.tax_behavior === "inclusive" ? change.amount + change.tax_amount : change.amount;
  await store.insertReport(tx, {
    ...cause,
    id: createId(now),
    organization_id: order.organization_id,
    created_at: now,
    kind: isBack ? "undo" : "refund",
    order_id: order.id,
    amount: isBack ? 0 - amount : amount,
    tax_amount: isBack ? 0 - change.tax_amount : change.tax_amount,
    due_at: now,
  });
  ctx.jobs.wake(tx, taxReportWorkerName);
}

/** Send a report to the service, outside of transactions. The service accepts a repetition. */
export async function reportToTaxService(deps: Deps, row: store.ReportRow): Promise<void> {
  if (!deps.taxCalculator)
    throw new Error("FLOE_TAX=stripe is off, and this sale was taxed by it: turn it on to file.");
  await emitChange(deps, deps.taxCalculator, row);
}

/** Send a report after the one that it refers to: a refund after its sale, an undoing after its refund. */
async function emitChange(deps: Deps, calculator: TaxCalculator, row: store.ReportRow): Promise<store.ReportRow> {
  if (row.processor_id !== null) return row;
  const { db } = deps;
  if (row.kind === "sale") {
    const { id, line_id } = await calculator.report(row.calculation_id ?? "", row.order_id);
    return store.markTold(db, row, { processor_id: id, line_id });
  }
  const { organization_id, refund_id, dispute_id, kind } = row;
  const cause = dispute_id === null ? { refund_id: refund_id ?? "" } : { dispute_id };
  const reference = dispute_id ?? refund_id ?? `${row.order_id}_reduction`;
  const about = kind === "refund" ? await store.findSale(db, row) : await store.findReturn(db, organization_id, cause);
  if (!about) throw new Error(`The tax report ${row.id} is about none.`);
  const { processor_id, line_id } = await emitChange(deps, calculator, about);
  const id = processor_id ?? "";
  return store.markTold(db, row, {
    processor_id:
      kind === "refund"
        ? await calculator.reverse({ id, line_id: line_id ?? "" }, row, reference)
        : await calculator.undo(id, `${reference}_undone`),
  });
}
