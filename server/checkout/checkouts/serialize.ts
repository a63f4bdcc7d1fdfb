import type { CheckoutOrder, CheckoutPublic } from "../../../shared/api/checkout-client.ts";
import type { Checkout } from "../../../shared/api/checkouts.ts";
import { notFound } from "../../../shared/errors.ts";
import { hasInvoice } from "../../billing/invoices/rules.ts";
import { computeTotals, type OrderAggregate } from "../../billing/orders/rules.ts";
import { allowsPayments, type PaymentDeps } from "../../billing/payments/rules.ts";
import type { WaitingPayment } from "../../billing/payments/settlement.ts";
import { serializeDiscountBase } from "../../catalog/discounts/rules.ts";
import { serializeAttached, serializeCheckoutProduct, serializePrice } from "../../catalog/products/rules.ts";
import { type OrganizationRow, serializeCheckoutOrganization } from "../../identity/organizations/rules.ts";
import { findConfirmationAddress } from "../../messaging/email/rules.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Config } from "../../platform/config.ts";
import { type Ctx, hasScope } from "../../platform/context.ts";
import { maskedSecret, seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { computeFlags, computeSeatBounds, computeTrial } from "./quote.ts";
import {
  type CheckoutAggregate,
  type CheckoutRow,
  computeAddressFields,
  fillSuccessUrl,
  getOffer,
  getPrices,
  getProduct,
} from "./rules.ts";
import { signQuote } from "./signed-quote.ts";

type Shown = { config: Config; clock: Clock; processor: { publishable_key: string | null } };

/** What opens a checkout; nothing where the server's secret that sealed it is gone. */
const openSecret = ({ id, client_secret }: Pick<CheckoutRow, "id" | "client_secret">, { secrets }: Config): string =>
  tryUnseal(secrets, "checkout-secret", id, client_secret) ?? "";

export const buildUrl = (row: Pick<CheckoutRow, "id" | "client_secret">, config: Config): string =>
  `${config.url}/checkout/${openSecret(row, config)}`;

/** How an attempt to pay stands, with what the browser finishes its challenge with, as a checkout keeps it: sealed. */
export const sealChallenge = (
  checkout_id: string,
  intent: WaitingPayment,
  { secret }: Config,
): Record<string, string> => ({
  intent_status: intent.status,
  intent_client_secret: seal(secret, "checkout-challenge", checkout_id, intent.client_secret),
});

/** The same as the browser gets it. */
function openChallenge(
  { id, payment_processor_metadata: kept }: Pick<CheckoutRow, "id" | "payment_processor_metadata">,
  { secrets }: Config,
) {
  const sealed = kept.intent_client_secret;
  return sealed === undefined
    ? kept
    : { ...kept, intent_client_secret: tryUnseal(secrets, "checkout-challenge", id, sealed) ?? "" };
}

function serializeCommon(aggregate: CheckoutAggregate, { config, clock, processor }: Shown) {
  const { row, products, price, discount } = aggregate;
  const product = getProduct(aggregate);
  const prices = getPrices(aggregate);
  const url = buildUrl(row, config);
  const {
    product_ids: _,
    quote,
    order_id: __,
    is_customer_named: ___,
    is_customer_made: _____,
    own_price_ids: ____,
    ...fields
  } = row;
  const key = processor.publishable_key;
  const { trial_end } = row;
  const seated = quote.lines.find(({ source }) => source.rule === "seats")?.source;
  const range = computeSeatBounds(prices, row);
  return {
    ...fields,
    ...computeFlags({ quote, prices, product, discount, trial_end }),
    quote: signQuote(row, product, { config, clock }),
    client_secret: openSecret(row, config),
    url,
    success_url: fillSuccessUrl(row, url),
    payment_processor: "stripe" as const,
    payment_processor_metadata: {
      ...(key ? { publishable_key: key } : {}),
      ...openChallenge(row, config),
    },
    billing_address_fields: computeAddressFields(row),
    customer_tax_id: row.customer_tax_id?.[0] ?? null,
    min_seats: range?.least ?? null,
    max_seats: row.max_seats,
    price_per_seat: seated?.rule === "seats" ? seated.tier.price_per_seat : null,
    units: null,
    min_units: null,
    max_units: null,
    ...computeTrial(row, product, row.modified_at ?? row.created_at),
    trial_end,
    discount: discount && serializeDiscountBase(discount),
    products: products.map((one) => serializeCheckoutProduct(one, config.media_url)),
    product: serializeCheckoutProduct(product, config.media_url),
    product_price: serializePrice(price, product),
    prices: Object.fromEntries(
      products.map((one) => [one.id, getOffer(aggregate, one).map((each) => serializePrice(each, one))]),
    ),
    attached_custom_fields: serializeAttached(product),
  };
}

/** That the customer of a checkout has another external id than it was made with, or none (CHK-49). */
function findConflict({
  row,
  customer_external_id: actual,
}: CheckoutAggregate): Checkout["external_customer_id_conflict"] {
  const { external_customer_id: requested } = row;
  return requested === null || actual === undefined || actual === requested ? null : { requested, actual };
}

/** A checkout as its seller sees it. */
export function serializeCheckout(aggregate: CheckoutAggregate, shown: Shown): Checkout {
  return {
    ...serializeCommon(aggregate, shown),
    customer_external_id: aggregate.row.external_customer_id,
    external_customer_id_conflict: findConflict(aggregate),
  };
}

/** A checkout without what opens it: its client secret, also in its address, and what answers the buyer's bank. */
function redactCheckout(checkout: Checkout): Checkout {
  const { client_secret, url, success_url, payment_processor_metadata } = checkout;
  const mask = (text: string) => (client_secret === "" ? text : text.replaceAll(client_secret, maskedSecret));
  const { intent_client_secret, ...shown } = payment_processor_metadata;
  return {
    ...checkout,
    client_secret: maskedSecret,
    url: mask(url),
    success_url: mask(success_url),
    payment_processor_metadata:
      intent_client_secret === undefined ? shown : { ...shown, intent_client_secret: maskedSecret },
  };
}

/** A checkout as this caller may see it: without `checkouts:write` what opens it is masked. */
export function serializeCheckoutFor(ctx: Ctx, aggregate: CheckoutAggregate): Checkout {
  const checkout = serializeCheckout(aggregate, ctx);
  return hasScope(ctx, aggregate.row.organization_id, "checkouts:write") ? checkout : redactCheckout(checkout);
}

/** The order that a checkout has become, as its buyer sees it. */
export function serializeBought({ order, ...parts }: OrderAggregate, seller: OrganizationRow): CheckoutOrder {
  const { invoice_number, ...fields } = order;
  if (invoice_number === null) throw notFound();
  return {
    ...fields,
    ...computeTotals(order),
    invoice_number,
    items: parts.items.map(({ label, amount }) => ({ label, amount })),
    is_invoice_available: hasInvoice(order),
    confirmation_email: findConfirmationAddress({ order, ...parts }, seller),
  };
}

/** A checkout as its buyer sees it: without the seller's own notes. */
export function serializePublicCheckout(
  aggregate: CheckoutAggregate,
  seller: OrganizationRow,
  shown: Shown & PaymentDeps,
): CheckoutPublic {
  const {
    metadata: _,
    customer_metadata: __,
    external_customer_id: ___,
    trial_interval: ____,
    trial_interval_count: _____,
    subscription_id: ______,
    ...fields
  } = serializeCommon(aggregate, shown);
  const { status, created_at, modified_at } = aggregate.row;
  const as_of = status === "open" ? shown.clock.now() : (modified_at ?? created_at);
  const is_payment_available = allowsPayments(shown);
  return { ...fields, organization: serializeCheckoutOrganization(seller), as_of, is_payment_available };
}
