import { createHash } from "node:crypto";
import type { Address } from "../../../shared/addresses.ts";
import type { TaxIdFormat } from "../../../shared/api/fields.ts";
import type { Quote } from "../../../shared/pricing.ts";
import type { TaxTreatment } from "../../../shared/tax.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { type TaxCalculator, TaxError, type TaxRequest } from "../../platform/processors/tax-calculator.ts";
import { getBehavior, getTaxation, type TaxedSeller, type TaxFacts } from "./rules.ts";

/** Who buys where, at which price; what it comes to before tax, and how it is taxed so far. */
export type Sale = Pick<TaxFacts, "tax_id" | "is_business" | "price_tax_behavior"> & {
  address: Address | null;
  quote: Pick<Quote, "currency" | "subtotal_amount" | "discount_amount">;
  standing: TaxTreatment;
};
type Seller = { country: string | null; default_tax_behavior: TaxFacts["default_tax_behavior"] };

/**
 * What a service is to be asked, and the same as one value to compare. What is given back by a bill is asked for as what is sold,
 * and counts the other way.
 */
export type TaxQuestion = { request: TaxRequest; basis: string; isCredit: boolean };
/** What it answered. */
export type ComputedTax = { basis: string; treatment: TaxTreatment };

/** What a service is to be asked about a sale; null where it is about nothing, or nobody knows where the buyer is. */
export function planRequest(sale: Sale, seller: Seller, at: Date): TaxQuestion | null {
  const { address, tax_id, quote } = sale;
  const amount = quote.subtotal_amount - quote.discount_amount;
  if (!address || amount === 0) return null;
  const isCredit = amount < 0;
  const behavior = getBehavior({ ...seller, ...sale, seller_country: seller.country });
  const request: TaxRequest = {
    currency: quote.currency,
    behavior,
    amount: isCredit ? 0 - amount : amount,
    address,
    tax_id: tax_id && [tax_id[0], tax_id[1] as TaxIdFormat],
    at,
  };
  const { country, state, line1, line2, city, postal_code } = address;
  const where = [country, state, line1, line2, city, postal_code];
  const asked = [quote.currency, behavior, amount, where, tax_id, at.toISOString().slice(0, 10)];
  return { request, isCredit, basis: createHash("sha256").update(JSON.stringify(asked)).digest("base64url") };
}

/** How a sale is taxed as far as a service has been asked: what stands or was just answered, where it is of this very sale. */
function getTreatment(sale: Sale, seller: Seller, at: Date, computed?: ComputedTax): TaxTreatment {
  const behavior = getBehavior({ ...seller, ...sale, seller_country: seller.country });
  const wanted = planRequest(sale, seller, at);
  const buildUntaxed = (reason: TaxTreatment["reason"]): TaxTreatment => ({
    behavior,
    reason,
    rates: [],
    source: null,
  });
  if (!wanted) return buildUntaxed(sale.address ? "zero_rated" : "unknown");
  if (sale.standing.given?.basis === wanted.basis) return sale.standing;
  return computed?.basis === wanted.basis ? computed.treatment : buildUntaxed("unknown");
}

/**
 * How the sales of a seller are taxed now: by their registrations, or, where a service computes tax, as far as it has been
 * asked. `computed` is what it answered.
 */
export function openTaxation(
  { taxCalculator, clock }: Pick<Deps, "taxCalculator" | "clock">,
  taxed: TaxedSeller,
  computed?: ComputedTax,
): (sale: Sale) => TaxTreatment {
  if (!taxCalculator) return getTaxation(taxed, clock.now());
  const now = getServerClock(clock).now();
  return (sale) => getTreatment(sale, taxed.seller, now, computed);
}

async function computeTax(calculator: TaxCalculator, { request, basis, isCredit }: TaxQuestion): Promise<ComputedTax> {
  const { id, treatment, rates } = await calculator.calculate(request);
  const applySign = (amount: number): number => (isCredit ? 0 - amount : amount);
  const amounts = rates.map(({ taxable_amount, tax_amount }) => ({
    taxable_amount: applySign(taxable_amount),
    amount: applySign(tax_amount),
  }));
  return { basis, treatment: { ...treatment, given: { calculation_id: id, basis, rates: amounts } } };
}

/** Ask the service about something that is sold; undefined where it does not say. No transaction is open. */
export async function requestTax(
  { taxCalculator, log }: Pick<Deps, "taxCalculator" | "log">,
  wanted: TaxQuestion,
  { what, ...about }: { what: string } & Record<string, string>,
): Promise<ComputedTax | undefined> {
  if (!taxCalculator) throw new Error("No service computes tax.");
  try {
    return await computeTax(taxCalculator, wanted);
  } catch (error) {
    if (!(error instanceof TaxError)) throw error;
    log.warn({ err: error, ...about }, `The tax of ${what} was not computed.`);
    return undefined;
  }
}
