import type Stripe from "stripe";
import type { Address } from "../../../shared/addresses.ts";
import { hasStates } from "../../../shared/countries.ts";
import { formatDecimal } from "../../../shared/money.ts";
import { normalizeState } from "../../../shared/states.ts";
import type { TaxRate, TaxTreatment } from "../../../shared/tax.ts";
import { openStripe, type StripeOptions } from "./stripe.ts";
import { type TaxAmounts, type TaxCalculator, TaxError, type TaxRequest } from "./tax-calculator.ts";

type Part = Stripe.Tax.Calculation.TaxBreakdown;

/** A buyer waits for it while typing: a slow answer is none. */
const usualTimeoutMs = 6000;

/** Stripe Tax, by the registrations and the usual tax code of the account that takes the money. */
export function createStripeTax(options: Omit<StripeOptions, "publishable_key" | "webhook_secret">): TaxCalculator {
  const stripe = openStripe({ timeout_ms: usualTimeoutMs, ...options });
  return {
    async calculate(request) {
      const calculation = await stripe.tax.calculations
        .create({
          currency: request.currency,
          customer_details: { address: getAddress(request.address), address_source: "billing", ...getTaxIds(request) },
          line_items: [{ amount: request.amount, reference: "sale", tax_behavior: request.behavior }],
          tax_date: getSeconds(request.at),
          expand: ["line_items"],
        })
        .catch((error: Error) => {
          throw new TaxError(`Tax could not be computed: ${error.message}`, { cause: error });
        });
      return readCalculation(calculation, request);
    },
    async report(calculation, reference) {
      const terms = { calculation, reference, expand: ["line_items"] };
      const made = await stripe.tax.transactions.createFromCalculation(terms, getKey(reference)).catch(throwRejection);
      const [line] = made.line_items?.data ?? [];
      if (!line) throw new TaxError(`Tax was reported without a line: ${made.id}.`);
      return { id: made.id, line_id: line.id };
    },
    async reverse({ id, line_id }, { amount, tax_amount }, reference) {
      const line = { original_line_item: line_id, reference, amount: 0 - amount, amount_tax: 0 - tax_amount };
      const terms = { mode: "partial" as const, original_transaction: id, reference, line_items: [line] };
      return (await stripe.tax.transactions.createReversal(terms, getKey(reference)).catch(throwRejection)).id;
    },
    async undo(original_transaction, reference) {
      const terms = { mode: "full" as const, original_transaction, reference };
      return (await stripe.tax.transactions.createReversal(terms, getKey(reference)).catch(throwRejection)).id;
    },
  };
}

const getKey = (reference: string) => ({ idempotencyKey: `tax_${reference}` });
const throwRejection = (error: Error): never => {
  throw new TaxError(`Tax could not be reported: ${error.message}`, { cause: error });
};

const getSeconds = (date: Date): number => (date.getTime() - (date.getTime() % 1000)) / 1000;

/** An address as Stripe takes it: states without their country. */
function getAddress(address: Address): Stripe.Tax.CalculationCreateParams.CustomerDetails.Address {
  const { country, state, ...lines } = address;
  const given = Object.fromEntries(Object.entries(lines).filter(([, line]) => line !== null));
  return { country, ...given, ...(state === null ? {} : { state: hasStates(country) ? state.slice(3) : state }) };
}

/** Formats of numbers are Stripe's own words, but for this one, which it does not know. */
function getTaxIds({ tax_id }: TaxRequest): Pick<Stripe.Tax.CalculationCreateParams.CustomerDetails, "tax_ids"> {
  return tax_id === null || tax_id[1] === "mu_tan" ? {} : { tax_ids: [{ type: tax_id[1], value: tax_id[0] }] };
}

/** Why there is no tax. What is rated has a rate of nothing then. */
const reasons: Readonly<Record<Part["taxability_reason"], TaxTreatment["reason"]>> = {
  not_collecting: "not_collected",
  not_subject_to_tax: "not_collected",
  not_supported: "not_collected",
  customer_exempt: "exempt",
  product_exempt: "exempt",
  product_exempt_holiday: "exempt",
  portion_product_exempt: "exempt",
  reverse_charge: "reverse_charge",
  zero_rated: "zero_rated",
  standard_rated: "zero_rated",
  reduced_rated: "zero_rated",
  portion_standard_rated: "zero_rated",
  portion_reduced_rated: "zero_rated",
  proportionally_rated: "zero_rated",
  taxable_basis_reduced: "zero_rated",
};
const names: Readonly<Record<string, string>> = {
  vat: "VAT",
  gst: "GST",
  hst: "HST",
  pst: "PST",
  qst: "QST",
  rst: "RST",
  igst: "IGST",
  jct: "Consumption tax",
  sales_tax: "Sales tax",
};

/** What Stripe answered, as it is kept. What does not add up is no answer. */
function readCalculation(calculation: Stripe.Tax.Calculation, { behavior, at }: TaxRequest): TaxAmounts {
  const tax_amount = calculation.tax_amount_exclusive + calculation.tax_amount_inclusive;
  const due = calculation.tax_breakdown.filter(
    ({ amount, tax_rate_details }) => amount !== 0 || Number(tax_rate_details.percentage_decimal) > 0,
  );
  const rates = due.map((part) => ({
    rate: getRate(part),
    taxable_amount: part.taxable_amount,
    tax_amount: part.amount,
  }));
  const [line] = calculation.line_items?.data ?? [];
  if (calculation.id === null || sumOf(rates) !== tax_amount || line?.amount_tax !== tax_amount)
    throw new TaxError("Tax could not be computed: the amounts of the answer do not add up.");
  const [first] = calculation.tax_breakdown;
  const treatment: TaxTreatment =
    rates.length > 0
      ? {
          behavior,
          reason: "standard",
          rates: rates.map(({ rate }) => rate),
          source: { name: "Stripe Tax", date: at.toISOString().slice(0, 10) },
        }
      : { behavior, reason: (first && reasons[first.taxability_reason]) ?? "not_collected", rates: [], source: null };
  return { id: calculation.id, treatment, tax_amount, rates };
}

const sumOf = (parts: readonly { tax_amount: number }[]): number =>
  parts.reduce((sum, part) => sum + part.tax_amount, 0);

function getRate({ tax_rate_details: details }: Part): TaxRate {
  const { country, state, tax_type, percentage_decimal } = details;
  const place = country ?? "";
  const known = state && hasStates(place) ? (normalizeState(place, state) ?? state) : (state ?? null);
  const name = names[tax_type ?? ""] ?? "Tax";
  return { name, country: place, state: known, rate: formatDecimal(percentage_decimal) };
}
