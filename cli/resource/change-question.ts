import type { z } from "zod";
import type { SubscriptionPreview } from "../../shared/api/subscriptions.ts";
import { formatMoney } from "../../shared/money.ts";
import type { Context } from "../context.ts";
import { formatLocalTime } from "../ui/table.ts";

/**
 * Ask before a subscription is changed, with what that comes to, as the server has computed it. What is agreed to is sent along,
 * so that it is charged exactly so, or not at all. What cannot be done is refused before anybody is asked.
 */
export async function describe(context: Context, body: unknown, params: Record<string, string>): Promise<string> {
  // To end one is the one change that sends no fields.
  const change = (body ?? { revoke: true }) as Record<string, unknown>;
  const shown = (await context.call({
    method: "POST",
    path: "/v1/subscriptions/:id/preview",
    params,
    body: change,
    organization: true,
  })) as z.input<typeof SubscriptionPreview>;
  const asked = ask(change, shown);
  change.quote = shown.quote;
  return asked;
}

function ask(change: Record<string, unknown>, shown: z.input<typeof SubscriptionPreview>): string {
  const { charge, unpaid_amount, later, after, currency } = shown;
  const money = (amount: number) => formatMoney(amount, currency);
  const unpaid = unpaid_amount > 0 ? `What is unpaid, ${money(unpaid_amount)}, is charged at once.` : undefined;
  const lines = charge?.derivation.lines ?? [];
  const why = lines.map(({ label, amount }) => `${label}: ${money(amount)}`).join("; ");
  const now = charge ? `Charged now: ${money(charge.due_amount)} (${why}).` : "Nothing is charged now.";
  const next = later.map(({ label, amount }) => `${label}: ${money(amount)}`).join("; ");
  const soon = next === "" ? "" : ` With the next order: ${next}.`;
  if ("payment_method_id" in change) return `Charge this card from now on? ${unpaid ?? "Nothing is charged now."}`;
  if (change.cancel_at_period_end) return "Have this subscription end with its period? It is not charged again.";
  if ("cancel_at_period_end" in change)
    return `Have this subscription go on? ${unpaid ?? "It is charged again when its period ends."}`;
  if ("resume" in change) return `Have this subscription go on now? A new period begins. ${now}`;
  if ("revoke" in change)
    return `End this subscription now? What the customer has of it is taken back at once, and nothing is refunded.${charge ? ` ${now}` : ""}`;
  if (change.trial_end && after.trial_end && after.status === "trialing")
    return `Let the trial end ${formatLocalTime(String(after.trial_end))}? The first charge, ${money(after.amount)} a period, comes then.${soon}`;
  return `Change this subscription, to ${money(after.amount)} a period? ${now}${soon}`;
}
