import type { Address } from "../../../shared/addresses.ts";
import { type LineTerms, type Quote, untaxed } from "../../../shared/pricing.ts";
import type { TaxRate, TaxTreatment } from "../../../shared/tax.ts";
import { isFree } from "../../catalog/products/lines.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Ctx, Database, Deps } from "../../platform/context.ts";
import {
  type ComputedTax,
  openTaxation,
  planRequest,
  requestTax,
  type Sale,
  type TaxQuestion,
} from "../tax/computed.ts";
import { getTaxation, type TaxedSeller } from "../tax/rules.ts";
import { findLastOrder } from "./lists.ts";
import { computeBillQuote, type OrderDraft, type PlanInput, type SubscriptionPlan } from "./plan.ts";
import type { SubscriptionAggregate, SubscriptionRow } from "./rules.ts";

/** How the bills of a seller's subscriptions are taxed. Unknown, as long as a service is to be asked. */
export type TaxResolver = (sale: Sale) => TaxTreatment;
/** How a subscription's next bills are taxed, each at its time. */
export type TaxForecast = (at: Date) => TaxResolver;
/** What a bill comes to; and what a service is to be asked before it can be written, null where its tax is known. */
export type QuotedDraft = { quote: Quote; asks: TaxQuestion | null };

/**
 * By the seller's registrations at a time, or as far as a service has been asked, whose answer is `computed`. Where nobody knows
 * where the customer is, nothing is added.
 */
export function openBillTaxation(
  { taxCalculator, clock }: Pick<Deps, "taxCalculator" | "clock">,
  seller: TaxedSeller,
  at: Date,
  computed?: ComputedTax | null,
): TaxResolver {
  const decide = taxCalculator
    ? openTaxation({ taxCalculator, clock }, seller, computed ?? undefined)
    : getTaxation(seller, at);
  return (sale) => {
    const tax = decide(sale);
    return tax.reason === "unknown" && !(taxCalculator && sale.address) ? untaxed : tax;
  };
}

/** Where and as whom somebody buys, as one value to compare. */
export const getTaxPlace = (address: Address | null, tax_id: unknown): string => JSON.stringify([address, tax_id]);

/**
 * How a subscription will be taxed. A service says it when it is billed and no earlier: until then by what it said of the last
 * order, unless the customer has moved since.
 */
export async function forecastTax(
  db: Database,
  ctx: Pick<Deps, "taxCalculator" | "clock">,
  seller: TaxedSeller,
  { row, customer }: Pick<SubscriptionAggregate, "row" | "customer">,
): Promise<TaxForecast> {
  if (!ctx.taxCalculator) return (at) => openBillTaxation(ctx, seller, at);
  const last = await findLastOrder(db, row);
  const here = getTaxPlace(customer.billing_address, customer.tax_id);
  const isThere = last && getTaxPlace(last.billing_address, last.customer_tax_id) === here;
  const { given, ...said } = (isThere && last.derivation.tax) || untaxed;
  return (at) => {
    const decide = openBillTaxation(ctx, seller, at);
    return (sale) => {
      const tax = decide(sale);
      return tax.reason === "unknown" && given ? said : tax;
    };
  };
}

/**
 * A bill as its tax follows from it. Whether tax is within the prices is for those to say that cost something: what is given back
 * for them has its tax, too, where what follows is free.
 */
function getSale(
  { aggregate, entryPrices = [] }: PlanInput,
  plan: SubscriptionPlan,
  bill: OrderDraft,
  row: SubscriptionRow,
): Sale {
  const { billing_address: address, tax_id } = aggregate.customer;
  const prices = [...(plan.choice?.prices ?? []), ...aggregate.prices, ...entryPrices];
  const price = prices.find((one) => !isFree(one)) ?? prices[0];
  return {
    address,
    tax_id,
    is_business: tax_id !== null,
    price_tax_behavior: price?.tax_behavior ?? null,
    // What was sold under other taxes goes back with those.
    quote: computeBillQuote({ ...bill, lines: bill.lines.filter((line) => !line.reverses?.is_apart) }, row, untaxed),
    standing: untaxed,
  };
}

/** A line that gives back what was sold, set apart from others where it bore other taxes than they do. */
function separate(line: LineTerms, { given, reason, behavior, rates }: TaxTreatment): LineTerms {
  const { reverses } = line;
  // What a service computes for all of a bill is asked for without what is apart.
  if (!reverses || reverses.order_id === null || given || reason === "unknown") return line;
  const getName = ({ name, country, state, rate }: TaxRate) => [name, country, state, rate].join();
  const isSame = reverses.tax_lines.map(getName).join(";") === rates.map(getName).join(";");
  const isPlain = rates.length === 0 || reverses.behavior === behavior;
  return { ...line, reverses: { ...reverses, is_apart: !isSame || !isPlain } };
}

/** A bill with its amounts: what is sold by where the customer is now, what is given back with the taxes that it was sold with. */
export function quoteDraft(ground: PlanInput, plan: SubscriptionPlan, bill: OrderDraft, taxation: TaxResolver): Quote {
  const row = { ...ground.aggregate.row, ...plan.patch };
  const tax = taxation(getSale(ground, plan, bill, row));
  return computeBillQuote({ ...bill, lines: bill.lines.map((line) => separate(line, tax)) }, row, tax);
}

/** The same, and what is missing of it. */
export function billFor(
  { clock }: Pick<Deps, "clock">,
  ground: PlanInput,
  plan: SubscriptionPlan & { bill: OrderDraft },
  { seller }: TaxedSeller,
  taxation: TaxResolver,
): QuotedDraft {
  const quote = quoteDraft(ground, plan, plan.bill, taxation);
  if (quote.tax_amount !== null) return { quote, asks: null };
  const sale = getSale(ground, plan, plan.bill, { ...ground.aggregate.row, ...plan.patch });
  return { quote, asks: planRequest(sale, seller, getServerClock(clock).now()) };
}

/** Ask the service about a bill; null where it does not say. No transaction is open. */
export const requestDraftTax = async (ctx: Deps | Ctx, id: string, wanted: TaxQuestion): Promise<ComputedTax | null> =>
  (await requestTax(ctx, wanted, { what: "a subscription", subscription_id: id })) ?? null;
