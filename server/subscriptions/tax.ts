import type { Address } from "../../shared/addresses.ts";
import { type Quote, untaxed } from "../../shared/pricing.ts";
import type { TaxTreatment } from "../../shared/tax.ts";
import { getServerClock } from "../lib/clock.ts";
import type { Ctx, Database, Deps } from "../lib/context.ts";
import { isFree } from "../products/lines.ts";
import { askTax, type Computed, openTaxation, planRequest, type Sale, type Wanted } from "../tax/computed.ts";
import { getTaxation, type TaxedSeller } from "../tax/rules.ts";
import { findLastOrder } from "./lists.ts";
import { type Bill, type Plan, type PlanContext, quoteBill } from "./plan.ts";
import type { SubscriptionAggregate, SubscriptionRow } from "./rules.ts";

/** How the bills of a seller's subscriptions are taxed. Unknown, as long as a service is to be asked. */
export type Taxation = (sale: Sale) => TaxTreatment;
/** How a subscription's next bills are taxed, each at its time. */
export type Outlook = (at: Date) => Taxation;
/** What a bill comes to; and what a service is to be asked before it can be written, null where its tax is known. */
export type Billed = { quote: Quote; asks: Wanted | null };

/**
 * By the seller's registrations at a time, or as far as a service has been asked, whose answer is `computed`. Where nobody knows
 * where the customer is, nothing is added.
 */
export function openBillTaxation(
  { taxCalculator, clock }: Pick<Deps, "taxCalculator" | "clock">,
  seller: TaxedSeller,
  at: Date,
  computed?: Computed | null,
): Taxation {
  const decide = taxCalculator
    ? openTaxation({ taxCalculator, clock }, seller, computed ?? undefined)
    : getTaxation(seller, at);
  return (sale) => {
    const tax = decide(sale);
    return tax.reason === "unknown" && !(taxCalculator && sale.address) ? untaxed : tax;
  };
}

/**
 * How a subscription will be taxed. A service says it when it is billed and no earlier: until then by what it said of the last
 * order, unless the customer has moved since.
 */
export async function foreseeTax(
  db: Database,
  ctx: Pick<Deps, "taxCalculator" | "clock">,
  seller: TaxedSeller,
  { row, customer }: Pick<SubscriptionAggregate, "row" | "customer">,
): Promise<Outlook> {
  if (!ctx.taxCalculator) return (at) => openBillTaxation(ctx, seller, at);
  const last = await findLastOrder(db, row);
  const placeOf = (address: Address | null, tax_id: unknown) => JSON.stringify([address, tax_id]);
  const isThere =
    last && placeOf(last.billing_address, last.customer_tax_id) === placeOf(customer.billing_address, customer.tax_id);
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
function saleOf({ aggregate, entryPrices = [] }: PlanContext, plan: Plan, bill: Bill, row: SubscriptionRow): Sale {
  const { billing_address: address, tax_id } = aggregate.customer;
  const prices = [...(plan.choice?.prices ?? []), ...aggregate.prices, ...entryPrices];
  const price = prices.find((one) => !isFree(one)) ?? prices[0];
  return {
    address,
    tax_id,
    is_business: tax_id !== null,
    price_tax_behavior: price?.tax_behavior ?? null,
    quote: quoteBill(bill, row, untaxed),
    standing: untaxed,
  };
}

/** A bill with its amounts, taxed by where the customer is now. */
export function quoteFor(ground: PlanContext, plan: Plan, bill: Bill, taxation: Taxation): Quote {
  const row = { ...ground.aggregate.row, ...plan.patch };
  return quoteBill(bill, row, taxation(saleOf(ground, plan, bill, row)));
}

/** The same, and what is missing of it. */
export function billFor(
  { clock }: Pick<Deps, "clock">,
  ground: PlanContext,
  plan: Plan & { bill: Bill },
  { seller }: TaxedSeller,
  taxation: Taxation,
): Billed {
  const quote = quoteFor(ground, plan, plan.bill, taxation);
  if (quote.tax_amount !== null) return { quote, asks: null };
  const sale = saleOf(ground, plan, plan.bill, { ...ground.aggregate.row, ...plan.patch });
  return { quote, asks: planRequest(sale, seller, getServerClock(clock).now()) };
}

/** Ask the service about a bill; null where it does not say. No transaction is open. */
export const askBillTax = async (ctx: Deps | Ctx, id: string, wanted: Wanted): Promise<Computed | null> =>
  (await askTax(ctx, wanted, { what: "a subscription", subscription_id: id })) ?? null;
