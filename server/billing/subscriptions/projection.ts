import type { Usage } from "./metering.ts";
import type { PlanInput, SubscriptionPlan } from "./plan.ts";

/** The same subscription after a plan, as the next one is made from it. */
export function projectPlan(
  { aggregate, entries, usage, usagePrices, limit }: PlanInput,
  plan: SubscriptionPlan,
): PlanInput {
  const row = { ...aggregate.row, ...plan.patch };
  const { product, prices } = plan.choice ?? aggregate;
  const discount = plan.discount === undefined ? aggregate.discount : plan.discount;
  const billed = new Set(plan.bill?.entry_ids);
  const isTaken = (one: Usage[number]) =>
    plan.taken?.some((taken) =>
      one.ended_at === null
        ? taken.is_running && taken.meter_id === one.meter_id
        : taken.window_ids.some((id) => one.window_ids.includes(id)),
    );
  // What was used in a trial is free once it is over.
  const left = aggregate.row.status === "trialing" ? undefined : usage?.filter((one) => !isTaken(one));
  return {
    aggregate: { ...aggregate, row, product, prices, discount },
    entries: [...entries.filter(({ id }) => !billed.has(id)), ...plan.entries.map((line) => ({ id: "", line }))],
    pending: null,
    ...(limit ? { limit } : {}),
    ...(left && usagePrices ? { usage: left, usagePrices } : {}),
  };
}
