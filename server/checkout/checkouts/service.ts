import type { Address } from "../../../shared/addresses.ts";
import type { checkoutClient } from "../../../shared/api/checkout-client.ts";
import type { CheckoutCreate, checkouts } from "../../../shared/api/checkouts.ts";
import type { Service } from "../../../shared/contract.ts";
import type { Country } from "../../../shared/countries.ts";
import { ApiError, type Fault, fault, invalid, notFound } from "../../../shared/errors.ts";
import { untaxed } from "../../../shared/pricing.ts";
import { fetchDocument, openDocumentLink } from "../../billing/invoices/service.ts";
import { findOrder } from "../../billing/orders/store.ts";
import { assertPayments } from "../../billing/payments/rules.ts";
import { openTaxation } from "../../billing/tax/computed.ts";
import { findTaxedSeller } from "../../billing/tax/store.ts";
import { checkAnswers } from "../../catalog/custom-fields/rules.ts";
import type { PriceRow } from "../../catalog/products/rules.ts";
import { insertPrices } from "../../catalog/products/store.ts";
import { isInGoodStanding } from "../../identity/organizations/rules.ts";
import { withSellerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { hashToken, seal } from "../../platform/crypto/secrets.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId, createToken } from "../../platform/ids.ts";
import { getCountry } from "../../platform/ip-countries.ts";
import { checkSubscribed, findOfBuyer, lockOfBuyer, type OpenedCheckout } from "./access.ts";
import { findNamedDiscount, linkCustomer, resolveSelection } from "./choose.ts";
import { confirmCheckout } from "./confirm.ts";
import { planChange, type SentUpdate } from "./plan-update.ts";
import { computeBasketQuote, computeFlags, computeSeatBounds, findPricesWith } from "./quote.ts";
import { emitCheckout } from "./reactions.ts";
import { type CheckoutAggregate, type CheckoutRow, requiresAddress } from "./rules.ts";
import { buildUrl, serializeBought, serializeCheckoutFor, serializePublicCheckout } from "./serialize.ts";
import * as store from "./store.ts";
import { completeTax } from "./tax.ts";

type Create = ReturnType<typeof CheckoutCreate.parse>;
/** Create a checkout and emit `checkout.created`. */
export async function openCheckout(tx: Tx, asked: Ctx, organization_id: string, body: Create): Promise<OpenedCheckout> {
  const taxed = await findTaxedSeller(tx, organization_id);
  if (!taxed || !isInGoodStanding(taxed.seller)) throw new ApiError("NotPermitted", "This organization cannot sell.");
  const { seller } = taxed;
  const ctx = withSellerClock(asked, seller);
  const faults: Fault[] = [];
  const country = body.customer_ip_address ? getCountry(body.customer_ip_address) : null;
  const chosen = await resolveSelection(tx, ctx, seller, body, country, faults);
  const { customer, external_id } = await linkCustomer(tx, organization_id, body, faults);
  const answers = checkAnswers(chosen?.product.fields ?? [], body.custom_field_data ?? {}, { complete: false });
  faults.push(...answers.faults);
  if (chosen)
    faults.push(
      ...checkBounds(findPricesWith(chosen.own.get(chosen.product.id) ?? chosen.product.prices, chosen.price), body),
    );
  if (!chosen || faults.length > 0) throw invalid(...faults);
  const { products, product, price, own, made } = chosen;
  const now = ctx.clock.now();
  const prices = findPricesWith(own.get(product.id) ?? product.prices, price);
  const seats =
    computeSeatBounds(prices, { min_seats: body.min_seats ?? null, max_seats: body.max_seats ?? null })?.least ?? null;
  const secret = createToken("polar_c_");
  const id = createId(now);
  const draft: CheckoutRow = {
    id,
    organization_id,
    created_at: now,
    modified_at: null,
    status: "open",
    client_secret: seal(ctx.config.secret, "checkout-secret", id, secret),
    expires_at: new Date(now.getTime() + ctx.config.FLOE_CHECKOUT_HOURS * 60 * 60 * 1000),
    success_url: body.success_url ?? null,
    return_url: body.return_url ?? null,
    embed_origin: body.embed_origin ?? null,
    product_ids: products.map((one) => one.id),
    product_id: product.id,
    product_price_id: price.id,
    own_price_ids:
      own.size === 0 ? null : Object.fromEntries([...own].map(([id, some]) => [id, some.map((one) => one.id)])),
    seats,
    min_seats: body.min_seats ?? null,
    max_seats: body.max_seats ?? null,
    chosen_amount: null,
    discount_id: null,
    trial_interval: body.trial_interval ?? null,
    trial_interval_count: body.trial_interval_count ?? null,
    trial_end: null,
    subscription_id: body.subscription_id ?? null,
    quote: computeBasketQuote({ product, prices, seats, chosen: null, discount: null, tax: untaxed }),
    allow_discount_codes: body.allow_discount_codes,
    require_billing_address: body.require_billing_address || requiresAddress(body.customer_billing_address),
    allow_trial: body.allow_trial,
    customer_id: customer?.id ?? null,
    is_customer_named: customer !== undefined,
    is_customer_made: false,
    external_customer_id: external_id,
    // Prefilled from the customer where nothing was sent (CHK-11).
    customer_name: body.customer_name ?? (customer?.type === "team" ? null : customer?.name) ?? null,
    customer_email: body.customer_email ?? customer?.email ?? null,
    customer_ip_address: body.customer_ip_address ?? null,
    customer_billing_name: body.customer_billing_name ?? customer?.billing_name ?? null,
    customer_billing_address:
      body.customer_billing_address ?? customer?.billing_address ?? (country && buildAddress(country)),
    is_business_customer:
      body.is_business_customer ?? Boolean(customer?.billing_name && customer.billing_address?.line1),
    customer_tax_id: customer?.tax_id ?? null,
    locale: body.locale ?? null,
    payment_method_type: null,
    payment_processor_metadata: {},
    order_id: null,
    metadata: body.metadata,
    customer_metadata: body.customer_metadata,
    custom_field_data: answers.answers,
  };
  // What is asked for is held against the draft like any later change, so the same rules hold for both.
  const { seats: wanted, amount, currency, discount_id, customer_tax_id } = body;
  const sent = {
    seats: wanted,
    amount,
    currency,
    ...(discount_id ? { discount_id } : {}),
    ...(customer_tax_id ? { customer_tax_id } : {}),
  };
  const ground = {
    now,
    discount: await findNamedDiscount(tx, draft, sent, true),
    taxation: openTaxation(ctx, taxed),
  };
  const planned = planChange({ row: draft, products, own, price, discount: null }, sent, "seller", ground);
  const { quote, trial_end } = planned.aggregate.row;
  const { discount } = planned.aggregate;
  if (computeFlags({ quote, prices, product, discount, trial_end }).is_payment_form_required) assertPayments(ctx);
  await insertPrices(tx, made);
  const row = await store.insertCheckout(tx, { ...draft, ...planned.patch }, hashToken(ctx.config.secret, secret));
  const aggregate = { ...planned.aggregate, row };
  await emitCheckout(tx, ctx, "checkout.created", aggregate);
  return { ...taxed, aggregate, ctx };
}

/** All that is known of where somebody is: the country (CHK-19). */
const buildAddress = (country: Country): Address => ({
  country,
  state: null,
  line1: null,
  line2: null,
  city: null,
  postal_code: null,
});

/** The bounds of seats that a checkout is made with fit each other and the price (CHK-07). */
function checkBounds(prices: readonly PriceRow[], { min_seats, max_seats }: Create): Fault[] {
  const range = computeSeatBounds(prices, { min_seats: min_seats ?? null, max_seats: max_seats ?? null });
  const field = min_seats ? "min_seats" : "max_seats";
  const sent = min_seats ?? max_seats;
  if (!sent) return [];
  if (!range) return [fault([field], "Seats can only be set for seat-based pricing.", "value_error", sent)];
  if (range.least > range.most)
    return [fault([field], "No number of seats is within these bounds.", "value_error", sent)];
  return [];
}

/** The checkouts of the API. */
export const checkoutService: Service<typeof checkouts, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listCheckouts(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((one) => serializeCheckoutFor(ctx, one)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const row = await store.findCheckout(ctx.db, requireOrganization(ctx), params.id);
    if (!row) throw notFound();
    return serializeCheckoutFor(ctx, await store.loadCheckout(ctx.db, row));
  },
  create: (ctx, { body }) =>
    withTax(
      (keep) => transact(ctx, async (tx) => keep(await openCheckout(tx, ctx, requireOrganization(ctx), body))),
      (aggregate) => serializeCheckoutFor(ctx, aggregate),
    ),
  update: (ctx, { params, body }) =>
    withTax(
      (keep) =>
        transact(ctx, async (tx) => {
          const row = await store.lockOrRefuse(tx, requireOrganization(ctx), params.id);
          if (!row) throw notFound();
          if (row.status !== "open" || row.expires_at < ctx.clock.now())
            throw new ApiError("NotOpenCheckout", "This checkout is no longer open.");
          const taxed = await findTaxedSeller(tx, row.organization_id);
          if (!taxed) throw notFound();
          const opened = { ...taxed, aggregate: await store.loadCheckout(tx, row), ctx };
          return keep(await update(tx, opened, body, "seller"));
        }),
      (aggregate) => serializeCheckoutFor(ctx, aggregate),
    ),
};

/**
 * Change a checkout in a transaction, whose answer is what `keep` makes of it, and have its tax computed afterwards, where a
 * service does that.
 */
export async function withTax<T>(
  change: (keep: (opened: OpenedCheckout) => T) => Promise<T>,
  show: (aggregate: CheckoutAggregate, opened: OpenedCheckout) => T,
): Promise<T> {
  let changed: OpenedCheckout | undefined;
  const answer = await change((opened) => {
    changed = opened;
    return show(opened.aggregate, opened);
  });
  if (!changed) return answer;
  const aggregate = await completeTax(changed.ctx, changed.aggregate, changed.seller);
  return aggregate === changed.aggregate ? answer : show(aggregate, changed);
}

/** Change an open checkout that is locked, and say so (CHK-27, CHK-28). */
async function update(
  tx: Tx,
  opened: OpenedCheckout,
  body: SentUpdate,
  by: "seller" | "buyer",
): Promise<OpenedCheckout> {
  const { aggregate: before, seller, ctx } = opened;
  const discount = await findNamedDiscount(tx, before.row, body, by === "seller");
  const now = ctx.clock.now();
  const { aggregate, patch } = planChange(before, body, by, { now, discount, taxation: openTaxation(ctx, opened) });
  await checkSubscribed(tx, seller, aggregate);
  const row =
    Object.keys(patch).length === 0
      ? before.row
      : await store.updateCheckout(tx, before.row, { ...patch, modified_at: now });
  await emitCheckout(tx, ctx, "checkout.updated", { ...aggregate, row });
  return { ...opened, aggregate: { ...aggregate, row } };
}

/** The sale that a checkout has become; while it is under way there is none. */
async function findBought(asked: Ctx, client_secret: string) {
  const { aggregate, seller, ctx } = await findOfBuyer(asked, client_secret);
  const { status, organization_id, order_id } = aggregate.row;
  const sale =
    status === "succeeded" && order_id !== null ? await findOrder(ctx.db, organization_id, order_id) : undefined;
  if (!sale) throw notFound();
  return { sale, seller, ctx };
}

/** The buyer's side of checkouts. */
export const checkoutClientService: Service<typeof checkoutClient, Ctx> = {
  async get(ctx, { params }) {
    const { aggregate, seller, ctx: own } = await findOfBuyer(ctx, params.client_secret);
    return serializePublicCheckout(aggregate, seller, own);
  },
  update: (ctx, { params, body }) =>
    withTax(
      (keep) =>
        transact(ctx, async (tx) =>
          keep(await update(tx, await lockOfBuyer(tx, ctx, params.client_secret), body, "buyer")),
        ),
      (aggregate, { seller, ctx: own }) => serializePublicCheckout(aggregate, seller, own),
    ),
  confirm: (ctx, { params, body }) => confirmCheckout(ctx, params.client_secret, body),
  async order(ctx, { params }) {
    const { sale, seller } = await findBought(ctx, params.client_secret);
    return serializeBought(sale, seller);
  },
  async invoice(ctx, { params }) {
    const { sale, ctx: own } = await findBought(ctx, params.client_secret);
    return openDocumentLink(await fetchDocument(own, sale, "invoice"));
  },
  async receipt(ctx, { params }) {
    const { sale, ctx: own } = await findBought(ctx, params.client_secret);
    return openDocumentLink(await fetchDocument(own, sale, "receipt"));
  },
};

/** Start a checkout for whoever opened a link of this organization. */
export async function createOpened(ctx: Ctx, organization_id: string, body: Create): Promise<{ url: string }> {
  const from = { ...body, customer_ip_address: body.customer_ip_address ?? ctx.ip };
  return withTax(
    (keep) => transact(ctx, async (tx) => keep(await openCheckout(tx, ctx, organization_id, from))),
    ({ row }) => ({ url: buildUrl(row, ctx.config) }),
  );
}
