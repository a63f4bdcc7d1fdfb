import { fault, invalid } from "../../../shared/errors.ts";
import { computeQuote, type Quote } from "../../../shared/pricing.ts";
import { type ComputedTax, planRequest, requestTax, type Sale, type TaxQuestion } from "../../billing/tax/computed.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import type { OrganizationRow } from "../../identity/organizations/rules.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Ctx } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emitCheckout } from "./reactions.ts";
import type { CheckoutAggregate, CheckoutRow } from "./rules.ts";
import { loadCheckout, lockCheckout, updateCheckout } from "./store.ts";

export type Buyer = Pick<CheckoutRow, "customer_billing_address" | "customer_tax_id" | "is_business_customer">;

/** A sale as its tax follows from it. Who sends a tax number is a business; who says that they are none has none (CHK-33). */
export const describeSale = (
  { customer_billing_address: address, customer_tax_id: tax_id, is_business_customer }: Buyer,
  { tax_behavior }: PriceRow,
  quote: Sale["quote"],
  standing: Quote["tax"],
): Sale => ({
  address,
  tax_id,
  is_business: is_business_customer || tax_id !== null,
  price_tax_behavior: tax_behavior,
  quote,
  standing,
});

/** What a service is to be asked, where it computes the tax and has not yet computed that of this checkout; else null. */
export function findWanted(ctx: Ctx, { row, price }: CheckoutAggregate, seller: OrganizationRow): TaxQuestion | null {
  if (!ctx.taxCalculator || row.quote.tax_amount !== null) return null;
  return planRequest(describeSale(row, price, row.quote, row.quote.tax), seller, getServerClock(ctx.clock).now());
}

const requestCheckoutTax = (ctx: Ctx, checkout_id: string, wanted: TaxQuestion): Promise<ComputedTax | undefined> =>
  requestTax(ctx, wanted, { what: "a checkout", checkout_id });

/**
 * Have the tax of an open checkout computed, where a service does that, and written unless the checkout has changed meanwhile.
 * What cannot be computed stays unknown until it is confirmed (CHK-18).
 */
export async function completeTax(
  ctx: Ctx,
  before: CheckoutAggregate,
  seller: OrganizationRow,
): Promise<CheckoutAggregate> {
  const { id, organization_id } = before.row;
  const wanted = findWanted(ctx, before, seller);
  const computed = wanted && (await requestCheckoutTax(ctx, id, wanted));
  if (!computed) return before;
  return transact({ ...ctx, extraWrites: [] }, async (tx) => {
    const row = await lockCheckout(tx, organization_id, id);
    if (!row) return before;
    const loaded = await loadCheckout(tx, row);
    if (row.status !== "open" || findWanted(ctx, loaded, seller)?.basis !== computed.basis) return loaded;
    const quote = computeQuote({ ...row.quote, tax: computed.treatment });
    const changed = await updateCheckout(tx, row, { quote, modified_at: ctx.clock.now() });
    const aggregate = { ...loaded, row: changed };
    await emitCheckout(tx, ctx, "checkout.updated", aggregate);
    return aggregate;
  });
}

/** Have the tax of a checkout that is being confirmed computed; refused where that cannot be (CHK-48). */
export async function requireTax(ctx: Ctx, { row }: CheckoutAggregate, wanted: TaxQuestion): Promise<ComputedTax> {
  const computed = await requestCheckoutTax(ctx, row.id, wanted);
  if (!computed) throw invalid(taxUnknown);
  return computed;
}

export const taxUnknown = fault(
  ["customer_billing_address"],
  "The tax for this address cannot be computed.",
  "value_error",
);
