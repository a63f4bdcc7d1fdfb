import { formatDecimal, formatMoney, formatUnitMoney } from "./money.ts";
import type { AmountSource, Quote, QuoteLine, TaxLine } from "./pricing.ts";
import { describeUse } from "./usage.ts";

/** A figure, what it is called, by which rule it came about, and why in plain words. `depth` says what it is a part of. */
export type Step = { depth: number; label: string; amount: number; rule: string; because: string };

/** What an order shows besides what was quoted. */
export type SettledOrder = {
  applied_balance_amount: number;
  reduced_amount: number;
  reduced_tax_amount: number;
  due_amount: number;
  refunded_amount: number;
  refunded_tax_amount: number;
};

const formatPercent = (basis_points: number): string => `${basis_points / 100} %`;
const getSeats = (count: number): string => (count === 1 ? "1 seat" : `${count} seats`);

/** Why a line costs what it costs. */
function explainSource(
  source: AmountSource,
  money: (amount: number) => string,
  unit: (amount: string) => string,
): string {
  switch (source.rule) {
    case "fixed":
      return "a fixed price";
    case "chosen": {
      const who = {
        buyer: "chosen by the buyer",
        preset: "the amount that is proposed",
        minimum: "the least that is asked",
      };
      return `${who[source.by]}, of a price that the buyer may choose`;
    }
    case "free":
      return "free of charge";
    case "metered":
      return `${describeUse(source, { unit, money })}, rounded half away from zero`;
    case "trial":
      return "nothing is asked for a trial period";
    case "prorated": {
      const { before, after, part, whole, cut } = source;
      const share = `${formatDecimal(`${(100_000n * BigInt(part)) / BigInt(whole)}e-3`)} %`;
      const computeNet = (one: { amount: number; discount_amount: number }) =>
        money(one.amount - one.discount_amount) +
        (one.discount_amount === 0 ? "" : ` (${money(one.amount)} less ${money(one.discount_amount)})`);
      const what =
        after.amount === 0
          ? `given back: ${computeNet(before)}`
          : before.amount === 0
            ? computeNet(after)
            : `from ${computeNet(before)} to ${computeNet(after)}`;
      return `${what}, for the ${share} of the period that was left, ${cut === "rounded" ? "rounded half away from zero" : "cut to whole units"}`;
    }
    case "seats": {
      const { min_seats, max_seats, price_per_seat } = source.tier;
      const range = max_seats === null ? `${min_seats} and more` : `${min_seats} to ${max_seats}`;
      const how = source.tier_type === "volume" ? "every seat at the price of this tier" : "these seats of this tier";
      return `${getSeats(source.seats)} × ${money(price_per_seat)}, the price from the tier of ${range}: ${how}`;
    }
  }
}

function explainDiscount({ discount, lines, discount_amount }: Quote, money: (amount: number) => string): Step[] {
  if (discount === null) return [];
  const name = discount.code === null ? discount.name : `${discount.name} (${discount.code})`;
  const reduced = lines.filter((line) => line.discount_amount !== 0);
  const because =
    discount.type === "percentage"
      ? `${formatPercent(discount.basis_points)} of each line, each rounded half away from zero`
      : `${money(discount.amount)} at most, spread over the lines in proportion`;
  const getShare = (line: QuoteLine) =>
    discount.type === "percentage"
      ? `${formatPercent(discount.basis_points)} of ${money(line.amount)}`
      : `the share of ${money(line.amount)}`;
  return [
    { depth: 1, label: `Discount ${name}`, amount: -discount_amount, rule: `discount_${discount.type}`, because },
    ...reduced.map((line) => ({
      depth: 2,
      label: `on ${line.label}`,
      amount: -line.discount_amount,
      rule: `discount_${discount.type}_share`,
      because: getShare(line),
    })),
  ];
}

const untaxed: Record<Quote["tax"]["reason"], string> = {
  standard: "the taxes below",
  not_collected: "the seller collects no tax where the buyer is",
  reverse_charge: "reverse charge: a business in another country accounts for the tax itself",
  zero_rated: "no tax is due on this",
  exempt: "the buyer is exempt",
  unknown: "not known before the buyer's country is",
};

function explainTax({ tax, tax_lines, tax_amount, net_amount }: Quote, money: (amount: number) => string): Step[] {
  const within = tax.behavior === "inclusive";
  const source = tax.source ? ` (${tax.source.name}, ${tax.source.date})` : "";
  const explainReason = (line: TaxLine) => {
    if (tax.given)
      return `${line.rate} % on ${money(line.taxable_amount)}, as ${tax.source?.name ?? "the tax service"} computed it (${tax.given.calculation_id})`;
    return within
      ? `within the price: ${line.rate} % of ${money(line.taxable_amount)}, taken out of what is asked`
      : `${line.rate} % of ${money(net_amount)}, rounded half away from zero`;
  };
  const formatPlace = (line: TaxLine) => [line.country, line.state].filter(Boolean).join(", ");
  return [
    {
      depth: 1,
      label: "Tax",
      amount: tax_amount ?? 0,
      rule: `tax_${tax.reason}`,
      because: untaxed[tax.reason] + source,
    },
    ...tax_lines.map((line) => ({
      depth: 2,
      label: `${line.name} ${line.rate} % (${formatPlace(line)})`,
      amount: line.amount,
      rule: tax.given ? "tax_given" : `tax_${tax.behavior}`,
      because: explainReason(line),
    })),
  ];
}

/** How every figure of a sale came about, from the total down to its parts. */
export function explainQuote(quote: Quote, settled?: SettledOrder): Step[] {
  const formatAmount = (amount: number) => formatMoney(amount, quote.currency);
  const within = quote.tax.behavior === "inclusive" && quote.tax_lines.length > 0;
  const steps: Step[] = [
    {
      depth: 0,
      label: "Total",
      amount: quote.total_amount,
      rule: "total",
      because: within
        ? "what is asked after the discount; the tax is within it"
        : "what is asked after the discount, and the tax",
    },
    { depth: 1, label: "Subtotal", amount: quote.subtotal_amount, rule: "sum", because: "the sum of the lines" },
    ...quote.lines.map((line) => ({
      depth: 2,
      label: line.label,
      amount: line.amount,
      rule: line.source.rule,
      because: explainSource(line.source, formatAmount, (amount) => formatUnitMoney(amount, quote.currency)),
    })),
    ...explainDiscount(quote, formatAmount),
    ...explainTax(quote, formatAmount),
  ];
  if (!settled) return steps;
  const { applied_balance_amount, due_amount, refunded_amount, refunded_tax_amount } = settled;
  const reduced = settled.reduced_amount + settled.reduced_tax_amount;
  if (applied_balance_amount !== 0)
    steps.push({
      depth: 0,
      label: "Balance of the customer",
      amount: applied_balance_amount,
      rule: "balance",
      because: applied_balance_amount < 0 ? "credit that was used, or too little to charge and owed" : "what was owed",
    });
  if (reduced !== 0)
    steps.push({
      depth: 0,
      label: "Given back",
      amount: -reduced,
      rule: "reduction",
      because: "given back by a change while this was unpaid, on an order of its own",
    });
  steps.push({
    depth: 0,
    label: "Due",
    amount: due_amount,
    rule: "due",
    because: `the total with the balance${reduced === 0 ? "" : ", less what was given back"}, never below nothing`,
  });
  if (refunded_amount + refunded_tax_amount !== 0)
    steps.push({
      depth: 0,
      label: "Refunded",
      amount: -(refunded_amount + refunded_tax_amount),
      rule: "refunds",
      because: `${formatAmount(refunded_amount)} and ${formatAmount(refunded_tax_amount)} of tax`,
    });
  return steps;
}
