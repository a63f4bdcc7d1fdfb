import type { SubscriptionForecast } from "../../../shared/api/subscriptions.ts";
import { addInterval } from "../../../shared/calendar.ts";
import { getMinimumAmount } from "../../../shared/money.ts";
import { applyBalance, computeBalanceUse } from "../orders/rules.ts";
import { type PlanInput, planCycle, planMeterCycle, planResume } from "./plan.ts";
import { projectPlan } from "./projection.ts";
import { findCycle } from "./rules.ts";
import { quoteDraft, type TaxForecast } from "./tax.ts";

/** As many charges as are told, however short the periods are. */
const chargesMax = 400;

/**
 * Each charge of the year from `now`, by the plans that renewals are made by: a period that begins, a trial, a discount or a
 * pause that ends, a change that was put off, and what was not billed yet. `taxationAt`: how each is taxed at its time, as
 * far as that is known. `balance`: what the customer has.
 */
export function forecast(
  ground: PlanInput,
  taxationAt: TaxForecast,
  now: Date,
  balance: number,
  most = chargesMax,
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
      const quote = quoteDraft(here, plan, bill, taxationAt(at));
      const { applied_balance_amount, due_amount } = computeBalanceUse(quote, left);
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
    here = projectPlan(here, plan);
  }
  const { ended_at } = here.aggregate.row;
  return { currency, charges, ends_at: ended_at };
}
