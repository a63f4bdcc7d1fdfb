import type { z } from "zod";
import type { SubscriptionPreview } from "../../shared/api/subscriptions.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Context } from "../context.ts";

/**
 * Ask before a subscription is changed, with what that comes to, as the server has computed it. What is agreed to is sent along,
 * so that it is charged exactly so, or not at all.
 */
export async function describe(context: Context, body: unknown, params: Record<string, string>): Promise<string> {
  const shown = (await context.call({
    method: "POST",
    path: "/v1/subscriptions/:id/preview",
    params,
    body,
    organization: true,
  })) as z.input<typeof SubscriptionPreview>;
  Object.assign(body as object, { quote: shown.quote });
  const { charge, later, after, currency } = shown;
  // No part of the preview: it is no bill of this change, but what is owed already.
  if ("payment_method_id" in (body as object))
    return `Charge this card from now on? ${after.status === "past_due" ? "All that is unpaid is charged to it at once." : "Nothing is charged now."}`;
  const money = (amount: number) => formatMoney(amount, currency);
  const lines = charge?.derivation.lines ?? [];
  const why = lines.map(({ label, amount }) => `${label}: ${money(amount)}`).join("; ");
  const now = charge ? `Charged now: ${money(charge.due_amount)} (${why}).` : "Nothing is charged now.";
  const next = later.map(({ label, amount }) => `${label}: ${money(amount)}`).join("; ");
  const soon = next === "" ? "" : ` With the next order: ${next}.`;
  return `Change this subscription, to ${money(after.amount)} a period? ${now}${soon}`;
}
