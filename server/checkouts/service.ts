import type { checkoutClient } from "../../shared/api/checkout-client.ts";
import { CheckoutCreate, type checkouts } from "../../shared/api/checkouts.ts";
import type { Service } from "../../shared/contract.ts";
import { ApiError, type Fault, fault, invalid, notFound } from "../../shared/errors.ts";
import { checkAnswers } from "../custom-fields/rules.ts";
import { findCustomer, findCustomerByEmail } from "../customers/store.ts";
import { type Ctx, organizationOf, type Tx } from "../lib/context.ts";
import { newId, newToken } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { isLocal, isOwnPage, isReadyForPayment, type OrganizationRow } from "../organizations/rules.ts";
import { findOrganization } from "../organizations/store.ts";
import { reconcile_after_ms } from "../payments/rules.ts";
import { insertPayment } from "../payments/store.ts";
import type { PricedProduct, PriceRow } from "../products/rules.ts";
import { findPrice, findProducts } from "../products/store.ts";
import { resolveCustomer } from "./buyer.ts";
import { planAnswers, planCleared, planUpdate } from "./changes.ts";
import {
  asksForAddress,
  type CheckoutRow,
  checkAmount,
  checkComplete,
  checkCurrency,
  checkNotYet,
  checkProduct,
  computeAmount,
  computeFlags,
  lifetime_ms,
  pickPrice,
} from "./rules.ts";
import { emitCheckout, move, pay, paymentError } from "./settlement.ts";
import { checkoutOut, checkoutPublicOut, urlOf } from "./shapes.ts";
import * as store from "./store.ts";

type Create = ReturnType<typeof CheckoutCreate.parse>;
type Chosen = { products: PricedProduct[]; product: PricedProduct; price: PriceRow };

/** The products that a body names, and the price that is bought (CHK-01 to CHK-03). */
async function choose(tx: Tx, seller: OrganizationRow, body: Create, faults: Fault[]): Promise<Chosen | undefined> {
  const organization_id = seller.id;
  const byPrice = body.products || body.product_id ? undefined : body.product_price_id;
  const named = byPrice ? await findPrice(tx, organization_id, byPrice) : undefined;
  const ids = body.products ?? [body.product_id ?? named?.product_id].filter((id) => id !== undefined && id !== null);
  const found = await findProducts(tx, organization_id, ids);
  const placeOf = (index: number) =>
    body.products ? ["products", index] : [byPrice ? "product_price_id" : "product_id"];
  if (byPrice && !named) faults.push(fault(["product_price_id"], "Price does not exist.", "value_error", byPrice));
  if (named?.is_archived)
    faults.push(fault(["product_price_id"], "Price is archived.", "value_error", byPrice ?? undefined));
  const products = ids.flatMap((id, index) => {
    const product = found.find((one) => one.id === id);
    const wrong = checkProduct(product, placeOf(index), id);
    if (wrong) faults.push(wrong);
    return product ? [product] : [];
  });
  const [product] = products;
  const price = named ?? (product && pickPrice(product, body.currency ?? seller.default_presentment_currency));
  return product && price && faults.length === 0 ? { products, product, price } : undefined;
}

/** The customer that a checkout is made for: by our id, or by the seller's own, which may be of nobody yet (CHK-10). */
async function linkedCustomer(tx: Tx, organization_id: string, body: Create, faults: Fault[]) {
  const external_id = body.external_customer_id ?? body.customer_external_id ?? null;
  if (body.customer_id) {
    const customer = await findCustomer(tx, organization_id, { id: body.customer_id });
    if (!customer) faults.push(fault(["customer_id"], "Customer does not exist.", "value_error", body.customer_id));
    return { customer, external_id: customer?.external_id ?? external_id };
  }
  const customer = external_id ? await findCustomer(tx, organization_id, { external_id }) : undefined;
  return { customer, external_id };
}

async function insert(tx: Tx, ctx: Ctx, organization_id: string, body: Create): Promise<CheckoutRow> {
  const seller = await findOrganization(tx, organization_id);
  if (!seller || seller.blocked_at !== null) throw new ApiError("NotPermitted", "This organization cannot sell.");
  const faults = checkNotYet(body);
  if (body.subscription_id)
    faults.push(fault(["subscription_id"], "Subscription does not exist.", "value_error", body.subscription_id));
  const chosen = await choose(tx, seller, body, faults);
  const { customer, external_id } = await linkedCustomer(tx, organization_id, body, faults);
  const answers = checkAnswers(chosen?.product.fields ?? [], body.custom_field_data ?? {}, { complete: false });
  faults.push(...answers.faults);
  if (chosen) faults.push(...checkAmount(chosen.price, body.amount), ...checkCurrency(chosen.price, body.currency));
  if (!chosen || faults.length > 0) throw invalid(...faults);
  const { products, product, price } = chosen;
  const now = ctx.clock.now();
  const draft: CheckoutRow = {
    id: newId(now),
    organization_id,
    created_at: now,
    modified_at: null,
    status: "open",
    client_secret: newToken("polar_c_"),
    expires_at: new Date(now.getTime() + lifetime_ms),
    success_url: body.success_url ?? null,
    return_url: body.return_url ?? null,
    embed_origin: body.embed_origin ?? null,
    product_ids: products.map((one) => one.id),
    product_id: product.id,
    product_price_id: price.id,
    amount: computeAmount(price, body.amount),
    currency: price.price_currency,
    allow_discount_codes: body.allow_discount_codes,
    require_billing_address: body.require_billing_address || asksForAddress(body.customer_billing_address),
    allow_trial: body.allow_trial,
    customer_id: customer?.id ?? null,
    external_customer_id: external_id,
    // Prefilled from the customer where nothing was sent (CHK-11).
    customer_name: body.customer_name ?? customer?.name ?? null,
    customer_email: body.customer_email ?? customer?.email ?? null,
    customer_ip_address: body.customer_ip_address ?? null,
    customer_billing_name: body.customer_billing_name ?? customer?.billing_name ?? null,
    customer_billing_address: body.customer_billing_address ?? customer?.billing_address ?? null,
    is_business_customer:
      body.is_business_customer ?? Boolean(customer?.billing_name && customer.billing_address?.line1),
    customer_tax_id: customer?.tax_id ?? null,
    locale: body.locale ?? null,
    payment_method_type: null,
    payment_processor_metadata: {},
    metadata: body.metadata,
    customer_metadata: body.customer_metadata,
    custom_field_data: answers.answers,
  };
  const tax = planUpdate({ row: draft, products, price }, { customer_tax_id: body.customer_tax_id ?? undefined }, true);
  if (tax.faults.length > 0) throw invalid(...tax.faults);
  const row = await store.insertCheckout(tx, { ...draft, ...tax.patch });
  await emitCheckout(tx, ctx, "checkout.created", row);
  return row;
}

/** The checkout of a secret, unless its time is up or its seller is blocked (CHK-26). */
async function findOfBuyer(ctx: Ctx, client_secret: string): Promise<CheckoutRow> {
  const row = await store.findBySecret(ctx.db, client_secret);
  if (!row) throw notFound();
  if (row.expires_at < ctx.clock.now()) throw new ApiError("ExpiredCheckoutError", "This checkout has expired.");
  const seller = await findOrganization(ctx.db, row.organization_id);
  if (!seller || seller.blocked_at !== null) throw new ApiError("NotPermitted", "This organization cannot sell.");
  return row;
}

type Changes = Parameters<typeof planUpdate>[1];

/** Change an open checkout under its lock (CHK-27, CHK-28). */
async function change(tx: Tx, ctx: Ctx, id: string, body: Changes, by: "seller" | "buyer" | "confirmation") {
  const row = await store.lockOrRefuse(tx, id);
  if (row.status !== "open" || row.expires_at < ctx.clock.now())
    throw new ApiError("NotOpenCheckout", "This checkout is no longer open.");
  const whole = await store.wholeOf(tx, row);
  const { patch: asked, faults } = planUpdate(whole, body, by === "seller");
  const answers = planAnswers(whole, asked, body.custom_field_data, by === "confirmation");
  faults.push(...answers.faults);
  if (faults.length > 0) throw invalid(...faults);
  const patch = { ...asked, ...answers.patch, ...planCleared(whole, asked) };
  if (Object.keys(patch).length === 0) return row;
  return store.updateCheckout(tx, id, { ...patch, modified_at: ctx.clock.now() });
}

/** The checkouts of the API. */
export const checkoutService: Service<typeof checkouts, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listCheckouts(ctx.db, organizationOf(ctx), query);
    return pageOf(
      items.map((whole) => checkoutOut(whole, ctx)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const row = await store.findCheckout(ctx.db, organizationOf(ctx), params.id);
    if (!row) throw notFound();
    return checkoutOut(await store.wholeOf(ctx.db, row), ctx);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) =>
      checkoutOut(await store.wholeOf(tx, await insert(tx, ctx, organizationOf(ctx), body)), ctx),
    ),
  async update(ctx, { params, body }) {
    const known = await store.findCheckout(ctx.db, organizationOf(ctx), params.id);
    if (!known) throw notFound();
    return transact(ctx, async (tx) => {
      const row = await change(tx, ctx, known.id, body, "seller");
      await emitCheckout(tx, ctx, "checkout.updated", row);
      return checkoutOut(await store.wholeOf(tx, row), ctx);
    });
  },
};

async function publicOut(ctx: Ctx, row: CheckoutRow) {
  const seller = await findOrganization(ctx.db, row.organization_id);
  if (!seller) throw notFound();
  return checkoutPublicOut(await store.wholeOf(ctx.db, row), seller, ctx);
}

/** Whatever the browser has learnt of the payment is told in this form. */
const confirmedRow = (row: CheckoutRow, latest: CheckoutRow | undefined): CheckoutRow => ({
  ...row,
  payment_processor_metadata: latest?.payment_processor_metadata ?? row.payment_processor_metadata,
});

/** The buyer's side of checkouts. */
export const checkoutClientService: Service<typeof checkoutClient, Ctx> = {
  get: async (ctx, { params }) => publicOut(ctx, await findOfBuyer(ctx, params.client_secret)),
  async update(ctx, { params, body }) {
    const { id } = await findOfBuyer(ctx, params.client_secret);
    const row = await transact(ctx, async (tx) => {
      const changed = await change(tx, ctx, id, body, "buyer");
      await emitCheckout(tx, ctx, "checkout.updated", changed);
      return changed;
    });
    return publicOut(ctx, row);
  },
  async confirm(ctx, { params, body }) {
    const { id } = await findOfBuyer(ctx, params.client_secret);
    const { confirmation_token_id, ...sent } = body;
    // First everything is written down; only then is the processor asked.
    const { row, payment } = await transact(ctx, async (tx) => {
      const changed = await change(tx, ctx, id, sent, "confirmation");
      const whole = await store.wholeOf(tx, changed);
      const flags = computeFlags(changed.amount, whole.price);
      const seller = await findOrganization(tx, changed.organization_id);
      if (!seller || (flags.is_payment_required && !isReadyForPayment(seller))) {
        throw new ApiError("PaymentNotReady", "This organization cannot take payments now.");
      }
      const asked = whole.products.find((one) => one.id === changed.product_id)?.fields ?? [];
      const faults = checkComplete(changed, flags.is_payment_form_required, confirmation_token_id);
      // What stands may have been answered before a bound was moved, so it is looked at again (CUF-08).
      faults.push(...checkAnswers(asked, changed.custom_field_data, { complete: true }).faults);
      if (whole.price.is_archived)
        faults.push(fault(["product_price_id"], "Price is archived.", "value_error", whole.price.id));
      if (faults.length > 0) throw invalid(...faults);
      const customer = await resolveCustomer(tx, ctx, changed);
      const confirmed = await move(tx, ctx, changed, "confirmed", {
        customer_id: customer.id,
        customer_email: customer.email,
      });
      await emitCheckout(tx, ctx, "checkout.updated", confirmed);
      if (!flags.is_payment_required) {
        await ctx.jobs.send(tx, "checkouts.settle", { checkout_id: id });
        return { row: confirmed, payment: null };
      }
      const now = ctx.clock.now();
      const attempt = await insertPayment(tx, {
        id: newId(now),
        organization_id: changed.organization_id,
        created_at: now,
        amount: flags.total_amount,
        currency: changed.currency,
        checkout_id: id,
        customer_id: customer.id,
        customer_email: customer.email,
        confirmation_token_id: confirmation_token_id ?? "",
        reconcile_due_at: new Date(now.getTime() + reconcile_after_ms),
      });
      return { row: confirmed, payment: attempt };
    });
    if (payment) {
      const product = (await store.wholeOf(ctx.db, row)).products.find((one) => one.id === row.product_id);
      const settled = await pay(ctx, payment, product?.name ?? "");
      if (settled.status === "failed") throw paymentError(settled.message);
    }
    const latest = await store.findBySecret(ctx.db, params.client_secret);
    // A session would let whoever typed an address act as its owner; customers prove who they are in the portal (CHK-50).
    return { ...(await publicOut(ctx, confirmedRow(row, latest))), status: "confirmed", customer_session_token: null };
  },
};

/** Start a checkout for whoever opened a link of this organization. */
export async function createOpened(ctx: Ctx, organization_id: string, body: Create): Promise<{ url: string }> {
  const row = await transact(ctx, (tx) => insert(tx, ctx, organization_id, body));
  return { url: urlOf(row, ctx.config) };
}

type ForUser = {
  products?: string | string[] | undefined;
  slug?: string | undefined;
  referenceId?: string | undefined;
  metadata?: Record<string, string | number | boolean> | undefined;
  customFieldData?: Record<string, string | number | boolean> | undefined;
  allowDiscountCodes?: boolean | undefined;
  discountId?: string | undefined;
  embedOrigin?: string | undefined;
  successUrl?: string | undefined;
  returnUrl?: string | undefined;
  allowTrial?: boolean | undefined;
  trialInterval?: string | undefined;
  trialIntervalCount?: number | undefined;
};

/** Where the buyer may be sent by a page that anybody can call: to this server's pages, and the seller's own. */
async function pagesOf(ctx: Ctx, organization_id: string, request: ForUser) {
  const seller = await findOrganization(ctx.db, organization_id);
  const faults: Fault[] = [];
  const read = (field: "successUrl" | "returnUrl"): string | null => {
    const text = request[field];
    if (text === undefined) return null;
    const url = URL.canParse(text, ctx.config.url) ? new URL(text, ctx.config.url) : undefined;
    const isHere =
      url && (url.origin === new URL(ctx.config.url).origin || (ctx.config.loopback && isLocal(url.hostname)));
    if (url && (isHere || (seller && isOwnPage(seller, url)))) return url.href;
    const msg = "Only a page of the organization: on its website, or on one of its embed_hosts.";
    faults.push(fault([field], msg, "value_error", text));
    return null;
  };
  const pages = { success_url: read("successUrl"), return_url: read("returnUrl") };
  if (faults.length > 0) throw invalid(...faults);
  return pages;
}

/**
 * Start a checkout for the person who is signed in on a seller's page, linked by `external_id`. Products are sold by the
 * organization that owns them; a slug is looked for in the session's active organization, or the server's only one.
 */
export async function createForUser(ctx: Ctx, request: ForUser, user_id: string | null): Promise<{ url: string }> {
  const named = request.products === undefined ? undefined : [request.products].flat();
  const seller = named
    ? await store.ownerOf(ctx.db, named)
    : (ctx.actor.organization_id ?? (await store.onlyOrganization(ctx.db)));
  const bySlug = seller && request.slug && !named ? await store.findBySlug(ctx.db, seller, request.slug) : undefined;
  const products = named ?? (bySlug ? [bySlug.id] : undefined);
  if (!seller || !products) throw invalid(fault([named ? "products" : "slug"], "Product does not exist."));
  const buyer = user_id === null ? undefined : await store.findUser(ctx.db, user_id);
  // The customer of an address is the user's own only where the user has proved the address.
  const proved = buyer?.emailVerified ? await findCustomerByEmail(ctx.db, seller, buyer.email) : undefined;
  const free = proved && proved.external_id === null ? { customer_id: proved.id } : {};
  const body = CheckoutCreate.safeParse({
    products,
    ...free,
    ...(await pagesOf(ctx, seller, request)),
    metadata: { ...(request.referenceId ? { referenceId: request.referenceId } : {}), ...request.metadata },
    ...(request.customFieldData ? { custom_field_data: request.customFieldData } : {}),
    ...(request.allowDiscountCodes === undefined ? {} : { allow_discount_codes: request.allowDiscountCodes }),
    ...(request.allowTrial === undefined ? {} : { allow_trial: request.allowTrial }),
    trial_interval: request.trialInterval,
    trial_interval_count: request.trialIntervalCount,
    ...(request.discountId ? { discount_id: request.discountId } : {}),
    ...(request.embedOrigin ? { embed_origin: new URL(request.embedOrigin).origin } : {}),
    ...(buyer && user_id
      ? {
          external_customer_id: user_id,
          // Somebody who has not said who they are has neither.
          ...(buyer.isAnonymous ? {} : { customer_email: buyer.email, customer_name: buyer.name }),
        }
      : {}),
  });
  if (!body.success) throw invalid(...body.error.issues.map((issue) => fault(issue.path.map(String), issue.message)));
  const row = await transact(ctx, async (tx) => {
    // They signed in to another account meanwhile, which has what they were buying; this would be nobody's.
    if (buyer && user_id && !(await store.holdUser(tx, user_id)))
      throw new ApiError("Unauthorized", "You are signed in to another account now. Try again.");
    return insert(tx, ctx, seller, body.data);
  });
  return { url: urlOf(row, ctx.config) };
}
