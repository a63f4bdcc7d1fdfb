import type { z } from "zod";
import type { RefundPreview } from "../../shared/api/refunds.ts";
import { formatMoney } from "../../shared/money.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { request } from "../request.ts";

/** Ask before a refund, with what goes back and what is taken back, as the server has computed it. */
export async function describe(context: Context, body: unknown): Promise<string> {
  const { order_id, amount, revoke_benefits } = body as { order_id: string; amount: number; revoke_benefits?: boolean };
  const shown = (await request(
    context,
    routes.refunds.preview,
    { query: { order_id, amount, ...(revoke_benefits && { revoke_benefits }) } },
    { organization: true },
  )) as z.input<typeof RefundPreview>;
  const formatAmount = (units: number) => formatMoney(units, shown.currency);
  const parts =
    shown.tax_amount > 0 ? ` (${formatAmount(shown.amount)} and ${formatAmount(shown.tax_amount)} of tax)` : "";
  const names = shown.benefits.map(({ description }) => description).join(", ");
  const benefits = shown.revoke_benefits ? `Taken back: ${names || "no benefits"}.` : "The customer keeps access.";
  const left = `${formatAmount(shown.remaining_amount)} (before tax) can still be refunded afterwards.`;
  return `Refund ${formatAmount(shown.total_amount)}${parts} of the order ${order_id}? ${left} ${benefits}`;
}
