import type { Command } from "commander";
import type { z } from "zod";
import type { SubscriptionPreview } from "../../shared/api/subscriptions.ts";
import { formatMoney } from "../../shared/money.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { formatLocalTime } from "../ui/table.ts";
import { readAmount } from "./amounts.ts";
import { formatChargeLine } from "./charges.ts";

type Change = Record<string, unknown>;
type Preview = z.input<typeof SubscriptionPreview>;
/** The fields of a subscription that a question names. */
type Subscription = {
  product_id: string;
  product: { name: string };
  customer: { email: string | null; name: string | null };
  amount: number;
  recurring_interval: string;
  recurring_interval_count: number;
};

/** What a change comes to, as the server has computed it. */
async function preview(context: Context, change: Change, params: Record<string, string>): Promise<Preview> {
  const { id = "" } = params;
  return request(context, routes.subscriptions.preview, { params: { id }, body: change }, { organization: true });
}

/**
 * Ask before a subscription is changed, with what that comes to, as the server has computed it. What is agreed to is sent along,
 * so that it is charged exactly so, or not at all. What cannot be done is refused before anybody is asked.
 */
export async function describe(context: Context, body: unknown, params: Record<string, string>): Promise<string> {
  const change = body as Change;
  const shown = await preview(context, change, params);
  const question = formatQuestion(change, shown) ?? (await requestChange(context, params, shown));
  change.quote = shown.quote;
  return question;
}

/**
 * The same with --yes: what was computed is sent along, is at most --max-charge, and is said in one line. The server checks the
 * maximum again as it makes the change, since usage that comes meanwhile adds to the amount.
 */
export async function checkCharge(
  context: Context,
  body: unknown,
  params: Record<string, string>,
  { maxCharge }: { maxCharge?: string },
): Promise<string | undefined> {
  const change = body as Change;
  let shown: Preview;
  try {
    shown = await preview(context, change, params);
  } catch (error) {
    // A key may be good for writing alone: then nobody knows the sum before.
    if (maxCharge === undefined && error instanceof Fault && error.kind === "not_permitted") return undefined;
    throw error;
  }
  const { currency, charge, unpaid_amount } = shown;
  const amount = (charge?.due_amount ?? 0) + unpaid_amount;
  const maximum = maxCharge === undefined ? undefined : readAmount(maxCharge, currency);
  if (maximum !== undefined && amount > maximum)
    throw new Fault("conflict", `${formatMoney(amount, currency)} would be charged now, more than --max-charge`, {
      hint: `Nothing was changed. See: \`floe subscriptions preview ${params.id}\``,
    });
  change.quote = shown.quote;
  if (maximum !== undefined) change.maximum_amount = maximum;
  return amount > 0 ? `Charged now: ${formatMoney(amount, currency)}.` : "Nothing was charged now.";
}

/** The flag that bounds what a script lets be charged. */
export function addFlags(command: Command): void {
  command.option("--max-charge <amount>", "with --yes: change nothing where more than this would be charged now");
}

function reportNow({ charge, currency }: Preview): string {
  const formatAmount = (amount: number) => formatMoney(amount, currency);
  const why = (charge?.derivation.lines ?? [])
    .map((line) => `${formatChargeLine(line, currency)}: ${formatAmount(line.amount)}`)
    .join("; ");
  return charge ? `Charged now: ${formatAmount(charge.due_amount)} (${why}).` : "Nothing is charged now.";
}

function reportSoon({ later, reduced_amount, currency }: Preview): string {
  const lines = later
    .map((line) => `${formatChargeLine(line, currency)}: ${formatMoney(line.amount, currency)}`)
    .join("; ");
  const less = reduced_amount === 0 ? "" : ` What is unpaid becomes ${formatMoney(reduced_amount, currency)} less.`;
  return lines === "" ? less : `${less} With the next order: ${lines}.`;
}

/** The question before a change of another kind than the plan; undefined for that. */
function formatQuestion(change: Change, shown: Preview): string | undefined {
  const { charge, unpaid_amount, after, currency } = shown;
  const formatAmount = (amount: number) => formatMoney(amount, currency);
  const unpaid = unpaid_amount > 0 ? `What is unpaid, ${formatAmount(unpaid_amount)}, is charged at once.` : undefined;
  if ("payment_method_id" in change) return `Charge this card from now on? ${unpaid ?? "Nothing is charged now."}`;
  if (change.cancel_at_period_end) return "Cancel this subscription at the end of its period? It is not charged again.";
  if ("cancel_at_period_end" in change)
    return `Have this subscription go on? ${unpaid ?? "It is charged again when its period ends."}`;
  if ("resume" in change) return `Have this subscription go on now? A new period begins. ${reportNow(shown)}`;
  if ("revoke" in change)
    return `End this subscription now? What the customer has of it is taken back at once, and nothing is refunded.${charge ? ` ${reportNow(shown)}` : ""}`;
  if (change.trial_end && after.trial_end && after.status === "trialing")
    return `Let the trial end ${formatLocalTime(String(after.trial_end))}? The first charge, ${formatAmount(after.amount)} a period, comes then.${reportSoon(shown)}`;
  return undefined;
}

const formatInterval = ({ recurring_interval, recurring_interval_count }: Preview["after"] | Subscription): string =>
  recurring_interval_count === 1
    ? `a ${recurring_interval}`
    : `every ${recurring_interval_count} ${recurring_interval}s`;

/** The question before a change of the plan: whose it is, from what to what, what is charged today and with the next order. */
async function requestChange(context: Context, params: Record<string, string>, shown: Preview): Promise<string> {
  const { after, currency } = shown;
  const subscription = await request(context, routes.subscriptions.get, { params: { id: params.id ?? "" } });
  const { product_id, product, customer, ...before } = subscription;
  const id = after.pending_product_id ?? after.product_id;
  const next = id === product_id ? product : await request(context, routes.products.get, { params: { id } });
  const whose = customer.email ?? customer.name ?? "this customer";
  const from = `${product.name}, ${formatMoney(before.amount, currency)} ${formatInterval({ product_id, product, customer, ...before })}`;
  const to =
    after.pending_product_id === null
      ? `${next.name}, ${formatMoney(after.amount, currency)} ${formatInterval(after)}`
      : `${next.name} with the next period`;
  return `Change ${whose} from ${from}, to ${to}? ${reportNow(shown)}${reportSoon(shown)}`;
}
