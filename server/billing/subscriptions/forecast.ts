import type { SubscriptionForecast } from "../../../shared/api/subscriptions.ts";
import { addInterval } from "../../../shared/calendar.ts";
import { getMinimumAmount } from "../../../shared/money.ts";
import { applyBalance, meetBalance } from "../orders/rules.ts";
import { follow } from "./follow.ts";
import { type PlanContext, planCycle, planMeterCycle, planResume } from "./plan.ts";
import { findCycle } from "./rules.ts";
import { type Outlook, quoteFor } from "./tax.ts";

/** As many charges as are told, however short the periods are. */
const charges_max = 400;

/**
 * Each charge of the year from `now`, by the plans that renewals are made by: a period that begins, a trial, a discount or a
 * pause that ends, a change that was put off, and what was not billed yet. `taxationAt`: how each is taxed at its time, as
 * far as that is known. `balance`: what the customer has.
 */
export function forecast(
  ground: PlanContext,
  taxationAt: Outlook,
  now: Date,
  balance: number,
  most = charges_max,
): SubscriptionForecast {
  const until = addInterval(now, "year", 1);
  const { currency } = ground.aggregate.row;
  const charges: SubscriptionForecast["charges"] = [];
  let here = ground;
  let left = balance;
  while (charges.length < most) {
    const { row } = here.aggregate;
    const cycle = findCycle(row);
    const at = cycle ? cycle.at : row.status === "paused" ? row.resumes_at : null;
    if (at === null || at > until) break;
    const plan = !cycle ? planResume(here, at) : cycle.isOfUse ? planMeterCycle(here, at) : planCycle(here, at);
    const { bill } = plan;
    if (bill) {
      const quote = quoteFor(here, plan, bill, taxationAt(at));
      const { applied_balance_amount, due_amount } = meetBalance(quote, left);
      left = applyBalance(quote.total_amount, left, getMinimumAmount(currency)).balance;
      const { current_period_start, current_period_end } = { ...row, ...plan.patch };
      charges.push({
        at,
        billing_reason: bill.billing_reason,
        derivation: quote,
        applied_balance_amount,
        due_amount,
        period_start: bill.period_start && current_period_start,
        period_end: bill.period_start && current_period_end,
      });
    }
    here = follow(here, plan);
  }
  const { ended_at } = here.aggregate.row;
  return { currency, charges, ends_at: ended_at };
}
