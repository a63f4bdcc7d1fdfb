import { linkParameters } from "../../shared/api/buyer-requests.ts";
import type { CheckoutLink, checkoutLinks } from "../../shared/api/checkout-links.ts";
import { CheckoutCreate } from "../../shared/api/checkouts.ts";
import type { Service } from "../../shared/contract.ts";
import { type Fault, fault, invalid, notFound } from "../../shared/errors.ts";
import { checkSeats, findPricesWith, isDiscountable, pickPrice } from "../checkouts/quote.ts";
import { checkProduct } from "../checkouts/rules.ts";
import { createOpened } from "../checkouts/service.ts";
import { keepFitting } from "../custom-fields/rules.ts";
import { covers, findDiscountTerms, isRedeemable, type LimitedDiscount } from "../discounts/rules.ts";
import { findByCode, findDiscount } from "../discounts/store.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../lib/context.ts";
import { createId, createToken } from "../lib/ids.ts";
import { buildPage } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { checkEmbed, type OrganizationRow } from "../organizations/rules.ts";
import { findOrganization } from "../organizations/store.ts";
import { type PricedProduct, type PriceRow, serializeCheckoutProduct } from "../products/rules.ts";
import { findPrice, findProducts } from "../products/store.ts";
import {
  checkProducts,
  findEmbedOrigin,
  isCovered,
  isRead,
  type LinkAggregate,
  mergeMetadata,
  readPrefill,
  serializeLink,
} from "./rules.ts";
import * as store from "./store.ts";

async function reread(tx: Tx, ctx: Ctx, organization_id: string, id: string): Promise<CheckoutLink> {
  const whole = await store.findLink(tx, organization_id, id);
  if (!whole) throw new Error(`The checkout link ${id} is gone.`);
  return serializeLink(whole, ctx.config);
}

/** Whether a discount covers what is offered (CHK-64). */
async function checkDiscount(
  tx: Tx,
  organization_id: string,
  id: string | null | undefined,
  offered: readonly string[],
): Promise<Fault[]> {
  if (!id) return [];
  const discount = await findDiscount(tx, organization_id, id);
  const say = (msg: string) => [fault(["discount_id"], msg, "value_error", id)];
  if (!discount) return say("Discount does not exist.");
  if (isCovered(discount, offered)) return [];
  return say("The discount is for none of these products.");
}

/** The products that a new link offers, named by the list, by one, or by the price of one. */
async function wantedBy(
  tx: Tx,
  organization_id: string,
  body: { products?: string[] | null; product_id?: string | null; product_price_id?: string | null },
): Promise<{ ids: string[]; placeOf: (index: number) => (string | number)[] }> {
  if (body.products) return { ids: body.products, placeOf: (index) => ["products", index] };
  if (body.product_id) return { ids: [body.product_id], placeOf: () => ["product_id"] };
  const price = body.product_price_id ? await findPrice(tx, organization_id, body.product_price_id) : undefined;
  if (!price || price.is_archived)
    throw invalid(fault(["product_price_id"], "Price does not exist.", "value_error", body.product_price_id));
  return { ids: [price.product_id], placeOf: () => ["product_price_id"] };
}

/** The checkout links of the API. */
export const checkoutLinkService: Service<typeof checkoutLinks, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listLinks(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((whole) => serializeLink(whole, ctx.config)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const whole = await store.findLink(ctx.db, requireOrganization(ctx), params.id);
    if (!whole) throw notFound();
    return serializeLink(whole, ctx.config);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const { ids, placeOf } = await wantedBy(tx, organization_id, {
        products: body.products ?? null,
        product_id: body.product_id ?? null,
        product_price_id: body.product_price_id ?? null,
      });
      const faults = checkProducts(ids, await findProducts(tx, organization_id, ids), placeOf);
      faults.push(...(await checkDiscount(tx, organization_id, body.discount_id, ids)));
      if (faults.length > 0) throw invalid(...faults);
      const id = createId(ctx.clock.now());
      await store.insertLink(tx, {
        id,
        organization_id,
        created_at: ctx.clock.now(),
        client_secret: createToken("polar_cl_"),
        label: body.label ?? null,
        trial_interval: body.trial_interval ?? null,
        trial_interval_count: body.trial_interval_count ?? null,
        allow_discount_codes: body.allow_discount_codes,
        require_billing_address: body.require_billing_address,
        discount_id: body.discount_id ?? null,
        seats: body.seats ?? null,
        success_url: body.success_url ?? null,
        return_url: body.return_url ?? null,
        metadata: body.metadata,
      });
      await store.setProducts(tx, { organization_id, id }, ids);
      return reread(tx, ctx, organization_id, id);
    }),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const row = await store.lockLink(tx, organization_id, params.id);
      if (!row) throw notFound();
      const { products, trial_interval, trial_interval_count, ...plain } = body;
      const found = products ? await findProducts(tx, organization_id, products) : [];
      const faults = products ? checkProducts(products, found, (index) => ["products", index]) : [];
      if (products || body.discount_id) {
        const offered = products ?? (await store.findProductIds(tx, row));
        const discount_id = body.discount_id === undefined ? row.discount_id : body.discount_id;
        faults.push(...(await checkDiscount(tx, organization_id, discount_id, offered)));
      }
      if (faults.length > 0) throw invalid(...faults);
      // What is bought once has no trial (CHK-65).
      const isOnce = found.length > 0 && found.every(({ recurring_interval }) => recurring_interval === null);
      const trial =
        trial_interval === undefined && trial_interval_count === undefined && !isOnce
          ? {}
          : { trial_interval: trial_interval ?? null, trial_interval_count: trial_interval_count ?? null };
      const patch = Object.fromEntries(
        Object.entries({ ...plain, ...trial }).filter(([, value]) => value !== undefined),
      );
      if (products) await store.setProducts(tx, row, products);
      if (products || Object.keys(patch).length > 0)
        await store.updateLink(tx, row, { ...patch, modified_at: ctx.clock.now() });
      return reread(tx, ctx, organization_id, row.id);
    }),
  async delete(ctx, { params }) {
    const gone = await transact(ctx, (tx) =>
      store.deleteLink(tx, { organization_id: requireOrganization(ctx), id: params.id }),
    );
    if (!gone) throw notFound();
  },
};

/** The page that a checkout is opened in, where the seller lets it be (CHK-25). */
function embedOrigin(seller: OrganizationRow, given: string | undefined): string | null {
  const origin = findEmbedOrigin(given);
  if (origin === null) return null;
  checkEmbed(seller, origin);
  return origin;
}

const { answer_prefix } = linkParameters;
const answersIn = (query: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(query)
      .filter(([key]) => key.startsWith(answer_prefix))
      .map(([key, text]) => [key.slice(answer_prefix.length), text]),
  );

/** The discount that a link gives: the one whose code the address carries, else the link's own; none that is not good (CHK-63). */
async function findGiven(
  { db, clock }: Ctx,
  { row, discount }: LinkAggregate,
  { id }: PricedProduct,
  prices: readonly PriceRow[],
  code: string | undefined,
): Promise<string | null> {
  const typed = code && row.allow_discount_codes ? await findByCode(db, row.organization_id, code) : undefined;
  const own = discount ? await findDiscount(db, row.organization_id, discount.id) : undefined;
  const currency = prices[0]?.price_currency ?? "";
  const isGood = (one: LimitedDiscount | undefined) =>
    one !== undefined &&
    isRedeemable(one, clock.now()) &&
    covers(one, id) &&
    isDiscountable(prices) &&
    findDiscountTerms(one, currency) !== undefined;
  return [typed, own].find(isGood)?.id ?? null;
}

/** The seats that a link fixes, where the product that is chosen has seats, and so many. */
function fitSeats(prices: readonly PriceRow[], seats: number | null) {
  if (seats === null || checkSeats(prices, { seats }, { min_seats: null, max_seats: null }).faults.length > 0)
    return {};
  return { seats, min_seats: seats, max_seats: seats };
}

/** What can be bought through a link now, its first product chosen, or the one that the address names (CHK-63). */
async function findOffer(ctx: Ctx, client_secret: string, product_id: string | undefined) {
  const link = await store.findBySecret(ctx.db, client_secret);
  const seller = link && (await findOrganization(ctx.db, link.row.organization_id));
  if (!seller) throw notFound();
  const onSale = link.products.filter((product) => checkProduct(product, [], product.id) === undefined);
  const named = onSale.find(({ id }) => id === product_id?.toLowerCase());
  // The first is the one that is chosen.
  const offered = named ? [named, ...onSale.filter((product) => product !== named)] : onSale;
  const [chosen] = offered;
  if (!chosen) throw invalid(fault(["products"], "None of the products of this link can be bought now."));
  return { link, seller, offered, chosen };
}

/** What a link sells, for who shows it before anybody opens it. */
export async function previewLink(ctx: Ctx, client_secret: string) {
  const { seller, chosen } = await findOffer(ctx, client_secret, undefined);
  const { name, description, medias } = serializeCheckoutProduct(chosen, ctx.config.media_url);
  const picture = medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url;
  return { name, description, picture, seller: seller.name };
}

/**
 * Open a checkout through a link. What the address carries fills in the form where it makes sense there, and is left out
 * where it does not: a buyer is not to be turned away by a mistyped campaign (CHK-63).
 */
export async function openLink(
  ctx: Ctx,
  client_secret: string,
  query: Record<string, string>,
): Promise<{ url: string; rest: Record<string, string> }> {
  const { link, seller, offered, chosen } = await findOffer(ctx, client_secret, query.product_id);
  const { row } = link;
  const price = pickPrice(chosen.prices, seller.default_presentment_currency);
  const prices = price ? findPricesWith(chosen.prices, price) : [];
  const base = {
    products: offered.map(({ id }) => id),
    allow_discount_codes: row.allow_discount_codes,
    require_billing_address: row.require_billing_address,
    success_url: row.success_url,
    return_url: row.return_url,
    embed_origin: embedOrigin(seller, query.embed_origin),
    metadata: mergeMetadata(row, query),
    custom_field_data: keepFitting(chosen.fields, answersIn(query)),
    trial_interval: row.trial_interval,
    trial_interval_count: row.trial_interval_count,
    discount_id: await findGiven(ctx, link, chosen, prices, query.discount_code),
    ...fitSeats(prices, row.seats),
  };
  let body = CheckoutCreate.parse(base);
  for (const [field, value] of Object.entries(readPrefill(query, prices))) {
    const tried = CheckoutCreate.safeParse({ ...body, [field]: value });
    if (tried.success) body = tried.data;
  }
  const { url } = await createOpened(ctx, row.organization_id, body);
  return { url, rest: Object.fromEntries(Object.entries(query).filter(([key]) => !isRead(key))) };
}
