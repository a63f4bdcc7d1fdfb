import { formatMoney } from "../../../shared/money.ts";
import { findMemberEmails, findOrganizationName } from "../../identity/organizations/store.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import { record, systemActor } from "../../platform/events/audit.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { addToBalance, lockBalance } from "./balances.ts";
import { type GrossAmount, loadCredited, planRecall } from "./credits.ts";
import { type OrderRow, writeDebtMail } from "./rules.ts";
import * as store from "./store.ts";

/** What moves money is in the audit log whoever brought it about, be it a buyer or the calendar. */
export function recordMove(
  tx: Tx,
  ctx: Deps | Ctx,
  action: `order.${string}`,
  order: OrderRow,
  amount: number,
): Promise<void> {
  const { id, organization_id, currency } = order;
  return record(tx, ctx, {
    action,
    actor: "actor" in ctx ? ctx.actor : systemActor,
    subject: { type: "order", id },
    organization_id,
    details: { amount, currency },
    ip_address: "ip" in ctx ? ctx.ip : null,
    user_agent: null,
  });
}

/** What was taken back of a customer's credit, and the tax in it. */
export type RecalledCredit = { balance_amount: number; balance_tax_amount: number };

/**
 * Take back the credit that was given for an order whose money goes back in another way (RFD-13). If it was spent, its customer
 * owes it, and the seller is told. The caller holds the order's lock.
 */
export async function recallCredit(
  tx: Tx,
  ctx: Deps | Ctx,
  order: OrderRow,
  back: { returned: GrossAmount; change: number },
): Promise<RecalledCredit> {
  const credited = (await loadCredited(tx, order.organization_id, [order])).get(order.id);
  if (!credited || credited.amount === 0) return { balance_amount: 0, balance_tax_amount: 0 };
  const balance = await lockBalance(tx, order);
  const { amount, tax_amount } = planRecall(credited, order, { ...back, balance });
  if (amount === 0) return { balance_amount: 0, balance_tax_amount: 0 };
  await moveRecalled(tx, ctx, order, { amount, tax_amount });
  await recordMove(tx, ctx, "order.credit_recalled", order, amount);
  if (balance - amount < 0) await emitDebt(tx, ctx, order, { amount, balance: balance - amount });
  return { balance_amount: amount, balance_tax_amount: tax_amount };
}

/** Give back the credit that was taken back, as the money of its order came back after all. */
export async function restoreCredit(
  tx: Tx,
  ctx: Deps | Ctx,
  order: OrderRow,
  { balance_amount, balance_tax_amount }: RecalledCredit,
): Promise<RecalledCredit> {
  if (balance_amount > 0)
    await moveRecalled(tx, ctx, order, { amount: 0 - balance_amount, tax_amount: 0 - balance_tax_amount });
  return { balance_amount: 0, balance_tax_amount: 0 };
}

async function moveRecalled(
  tx: Tx,
  ctx: Deps | Ctx,
  order: OrderRow,
  { amount, tax_amount }: GrossAmount,
): Promise<void> {
  const now = ctx.clock.now();
  // What an earlier version took back is not known by its order.
  const recalled_amount = Math.max(0, order.recalled_amount + amount);
  const recalled_tax_amount = Math.max(0, order.recalled_tax_amount + tax_amount);
  await store.updateOrder(tx, order, { recalled_amount, recalled_tax_amount });
  await addToBalance(tx, order, 0 - amount, now);
}

/** Tell the seller that a customer owes what was given back to them twice. */
async function emitDebt(
  tx: Tx,
  ctx: Deps | Ctx,
  order: OrderRow,
  { amount, balance }: { amount: number; balance: number },
): Promise<void> {
  const { organization_id, currency } = order;
  const name = await findOrganizationName(tx, organization_id);
  for (const to of await findMemberEmails(tx, organization_id))
    await queueMail(tx, ctx, {
      ...writeDebtMail(to, name, order, formatMoney(amount, currency), formatMoney(0 - balance, currency)),
      organization_id,
    });
}
