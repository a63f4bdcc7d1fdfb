/** What is to be charged, as figures and what they are made of: a forecast of a subscription, a preview of a change. */
import type { z } from "zod";
import type { SubscriptionForecast, SubscriptionPreview } from "../../shared/api/subscriptions.ts";
import { addUp, formatMoney, formatUnitMoney } from "../../shared/money.ts";
import { describeLine } from "../../shared/usage.ts";
import { formatLocalTime } from "../ui/table.ts";

type Forecast = z.input<typeof SubscriptionForecast>;
type Preview = z.input<typeof SubscriptionPreview>;
type Charge = NonNullable<Preview["charge"]>;
type Step = { depth: number; label: string; amount: number; because: string };

/** A line as people read it. */
export const formatChargeLine = (line: Preview["later"][number], currency: string): string =>
  describeLine(line, {
    unit: (amount) => formatUnitMoney(amount, currency),
    money: (amount) => formatMoney(amount, currency),
  });

/** What it comes to, and what that is made of where it is more than one thing. */
function getSteps(label: string, { derivation, applied_balance_amount, due_amount }: Charge): Step[] {
  const { lines, discount_amount, tax_amount, tax, currency } = derivation;
  const buildPart = (name: string, amount: number): Step => ({ depth: 1, label: name, amount, because: "" });
  const parts = [
    ...lines.map((line) => buildPart(formatChargeLine(line, currency), line.amount)),
    ...(discount_amount === 0 ? [] : [buildPart("Discount", -discount_amount)]),
    ...(!tax_amount ? [] : [buildPart(tax.behavior === "inclusive" ? "Tax, included" : "Tax", tax_amount)]),
    ...(applied_balance_amount === 0 ? [] : [buildPart("Balance", applied_balance_amount)]),
  ];
  const [only] = parts;
  const isPlain = parts.length === 1 && only?.amount === due_amount;
  return [{ depth: 0, label, amount: due_amount, because: isPlain ? only.label : "" }, ...(isPlain ? [] : parts)];
}

function drawForecast({ charges, ends_at, currency }: Forecast): { steps: Step[]; currency: string } {
  const all = addUp(charges.map(({ due_amount }) => due_amount));
  const until = ends_at === null ? "in a year" : `until it ends, ${formatLocalTime(String(ends_at))}`;
  const steps = charges.flatMap(({ at, ...charge }) => getSteps(formatLocalTime(String(at)), charge));
  return { currency, steps: [...steps, { depth: 0, label: "In all", amount: all, because: until }] };
}

function drawPreview({ charge, unpaid_amount, reduced_amount, later, after, currency }: Preview): {
  steps: Step[];
  currency: string;
} {
  const because = unpaid_amount > 0 ? "what is unpaid" : "nothing";
  const now = charge
    ? getSteps("Charged now", charge)
    : [{ depth: 0, label: "Charged now", amount: unpaid_amount, because }];
  const less = { depth: 0, label: "Less due of what is unpaid", amount: -reduced_amount, because: "" };
  const soon = later.map((line) => ({
    depth: 1,
    label: formatChargeLine(line, currency),
    amount: line.amount,
    because: "",
  }));
  const next = {
    depth: 0,
    label: "With the next order",
    amount: addUp(later.map(({ amount }) => amount)),
    because: "",
  };
  const period = {
    ...{ depth: 0, label: "A period, afterwards", amount: after.amount },
    because: `${after.status}; this one ends ${formatLocalTime(String(after.current_period_end))}`,
  };
  return {
    currency,
    steps: [...now, ...(reduced_amount === 0 ? [] : [less]), ...(soon.length > 0 ? [next, ...soon] : []), period],
  };
}

/** The figures of an answer that says what is to be charged; null where it is another one. */
export function readCharges(row: unknown): { steps: Step[]; currency: string } | null {
  if (typeof row !== "object" || row === null) return null;
  if ("charges" in row && "ends_at" in row) return drawForecast(row as Forecast);
  if ("quote" in row && "after" in row && "later" in row) return drawPreview(row as Preview);
  return null;
}
