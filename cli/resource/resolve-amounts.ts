/** The amounts of a request in minor units, once the currency is known that they are in. */
import { computePercent, formatMoney, parseMoney } from "../../shared/money.ts";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { request } from "../request.ts";
import { readAmount } from "./amounts.ts";
import { findStandardCurrency } from "./currency.ts";
import { rejectText, WrittenAmount } from "./shorthand.ts";

const howToRefund = "Write 24.50, 50% of what was paid, or all.";

type Given = Record<string, unknown>;
/** What an amount is in, and a part of what it may be. */
type Basis = { currency: string; net_amount?: number; refundable_amount?: number };

/** A part of an order that is refunded: an amount, a percentage of its amount before tax, or all that can be refunded. */
function readRefund(text: string, { currency, net_amount = 0, refundable_amount = 0 }: Basis): number {
  if (text === "all") return refundable_amount;
  const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(text)?.[1];
  if (percent === undefined) return readAmount(text, currency, howToRefund);
  const basis_points = parseMoney(percent, "usd") ?? 0;
  if (basis_points < 1 || basis_points > 10_000)
    return rejectText(text, "is not a percentage above 0 and up to 100", howToRefund);
  const amount = computePercent(net_amount, basis_points);
  const left = `${formatMoney(refundable_amount, currency)} is left`;
  return amount > refundable_amount ? rejectText(text, `is more than can be refunded: ${left}`, howToRefund) : amount;
}

/** What the amounts of a command are in: an order's currency, a checkout's, or the one that was named. */
async function findBasis(context: Context, group: string, given: Given, id: unknown): Promise<Basis> {
  if (group === "refunds" && typeof given.order_id === "string")
    return request(context, routes.orders.get, { params: { id: given.order_id } });
  if (group === "checkouts" && typeof id === "string")
    return request(context, routes.checkouts.get, { params: { id } });
  return { currency: typeof given.currency === "string" ? given.currency : await findStandardCurrency(context) };
}

/** The same fields with amounts in minor units. */
export async function resolveAmounts<T extends Given>(
  context: Context,
  group: string,
  given: T,
  id?: unknown,
): Promise<T> {
  const written = Object.entries(given).filter(([, value]) => value instanceof WrittenAmount) as [
    string,
    WrittenAmount,
  ][];
  if (written.length === 0) return given;
  const basis = await findBasis(context, group, given, id);
  const read = ({ text }: WrittenAmount): number =>
    group === "refunds" ? readRefund(text, basis) : readAmount(text, basis.currency);
  return { ...given, ...Object.fromEntries(written.map(([name, value]) => [name, read(value)])) };
}
