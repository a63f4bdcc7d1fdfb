/** Orders that wait, and cards that customers left, without the page on which one pays. */

import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { type NewOrder, openOrder } from "../../server/billing/orders/service.ts";
import { startPayment } from "../../server/billing/payments/settlement.ts";
import { startSetup } from "../../server/billing/payments/setups.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { computeQuote, untaxed } from "../../shared/pricing.ts";
import type { Floe, Seller } from "./floe.ts";

let buyers = 0;
/** A new customer of a seller. */
export function newBuyer({ client }: Seller) {
  buyers += 1;
  return client.customers.create({ body: { email: `buyer-${buyers}@example.com`, name: `Buyer ${buyers}` } });
}

/** What an order is sold for: lines of such amounts. */
const quoteOf = (...amounts: number[]) =>
  computeQuote({
    currency: "usd",
    seats: null,
    lines: amounts.map((amount) => ({
      label: "Guide",
      product_price_id: null,
      proration: amount < 0,
      source: { rule: "fixed", amount },
    })),
    discount: null,
    tax: untaxed,
  });

/** An order of a customer that waits for so much; for nothing, it waits for a card to be left. */
export async function newOrder(
  { deps }: Floe,
  seller: Seller,
  { amount = 0, customer_id }: { amount?: number; customer_id?: string } = {},
): Promise<OrderRow> {
  const product = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
  const buyer = customer_id ?? (await newBuyer(seller)).id;
  return transact(deps, (tx) =>
    openOrder(tx, deps, {
      organization_id: seller.organization_id,
      billing_reason: "subscription_create",
      billing_name: null,
      billing_address: null,
      description: product.name,
      customer_id: buyer,
      product_id: product.id,
      checkout_id: null,
      metadata: {},
      custom_field_data: {},
      customer_tax_id: null,
      begins: null,
      applied_balance_amount: 0,
      quote: quoteOf(amount),
    }),
  );
}

/** The same order, on other terms: of which nothing is to be paid either. */
export const termsOf = (order: OrderRow, amount: number): NewOrder => ({ ...order, quote: quoteOf(amount, -amount) });

const email = "buyer@example.com";
/** Write down that a card is going to be kept for an order. */
export const beginSetup = ({ deps }: Pick<Floe, "deps">, order: OrderRow, confirmation_token_id = "pm_card_visa") =>
  transact(deps, (tx) => startSetup(tx, deps, order, { email, confirmation_token_id }));

/** Write down that an order is going to be paid, by a card that is kept or not. */
export const beginPayment = (
  { deps }: Pick<Floe, "deps">,
  order: OrderRow,
  { confirmation_token_id = "pm_card_visa", keep = true } = {},
) => transact(deps, (tx) => startPayment(tx, deps, order, { email, confirmation_token_id, keep }));
