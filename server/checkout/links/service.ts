import { linkParameters } from "../../../shared/api/buyer-requests.ts";
import type { CheckoutLink, checkoutLinks } from "../../../shared/api/checkout-links.ts";
import { CheckoutCreate } from "../../../shared/api/checkouts.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { ApiError, type Fault, fault, invalid, notFound } from "../../../shared/errors.ts";
import { pickValidAnswers } from "../../catalog/custom-fields/rules.ts";
import { coversProduct, findDiscountTerms, isRedeemable, type LimitedDiscount } from "../../catalog/discounts/rules.ts";
import { findByCode, findDiscount, findDiscounts } from "../../catalog/discounts/store.ts";
import { type PricedProduct, type PriceRow, serializeCheckoutProduct } from "../../catalog/products/rules.ts";
import { findPrices, findProducts } from "../../catalog/products/store.ts";
import { checkEmbed, type OrganizationRow } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId, createToken } from "../../platform/ids.ts";
import { checkSeats, findPricesWith, isDiscountable, pickPrice } from "../checkouts/quote.ts";
import { checkProduct } from "../checkouts/rules.ts";
import { createOpened } from "../checkouts/service.ts";
import {
  checkProducts,
  findEmbedOrigin,
  isCovered,
  isRead,
  type LinkAggregate,
  type LinkRow,
  mergeMetadata,
  readPrefill,
  serializeLink,
} from "./rules.ts";
import * as store from "./store.ts";

type Created = Input<(typeof checkoutLinks)["create"]>["body"];
type Changed = { id: string; body: Input<(typeof checkoutLinks)["update"]>["body"] };

/** The fault of a discount that is not there, or covers nothing of what is offered (CHK-64). */
function checkDiscount(
  id: string | null | undefined,
  discount: LimitedDiscount | undefined,
  offered: readonly string[],
): Fault[] {
  if (!id) return [];
  const buildDiscountFault = (msg: string) => [fault(["discount_id"], msg, "value_error", id)];
  if (!discount) return buildDiscountFault("Discount does not exist.");
  return isCovered(discount, offered) ? [] : buildDiscountFault("The discount is for none of these products.");
}

/** The products that a new link offers, named by the list, by one, or by the price of one. */
function readOffered(body: Created, prices: ReturnType<typeof mapById<PriceRow>>) {
  if (body.products) return { ids: body.products, placeOf: (index: number) => ["products", index] };
  if (body.product_id) return { ids: [body.product_id], placeOf: () => ["product_id"] };
  const price = body.product_price_id ? prices.get(body.product_price_id) : undefined;
  if (!price || price.is_archived)
    return invalid(fault(["product_price_id"], "Price does not exist.", "value_error", body.product_price_id));
  return { ids: [price.product_id], placeOf: () => ["product_price_id"] };
}

/** The products and discounts that a batch of links names. */
async function loadNamed(
  tx: Tx,
  organization_id: string,
  named: { products: readonly string[]; discounts: readonly (string | null | undefined)[] },
) {
  const discounts = new Set(named.discounts.filter((id) => typeof id === "string"));
  return {
    products: mapById(await findProducts(tx, organization_id, [...new Set(named.products)])),
    discounts: mapById(await findDiscounts(tx, organization_id, [...discounts])),
  };
}

/** Answer links as they are by now. */
async function reload(tx: Tx, ctx: Ctx, drafts: readonly ({ id: string } | ApiError)[]): Promise<Batch<CheckoutLink>> {
  const ids = listAccepted(drafts).map(({ id }) => id);
  const links = await store.findLinks(tx, requireOrganization(ctx), ids);
  const byId = new Map(links.map((link) => [link.row.id, link]));
  return mapAccepted(drafts, ({ id }) => {
    const link = byId.get(id);
    if (!link) throw new Error(`The checkout link ${id} is gone.`);
    return serializeLink(link, ctx.config);
  });
}

/** Create links, in as many statements for one as for a thousand. */
export async function createLinks(tx: Tx, ctx: Ctx, bodies: readonly Created[]): Promise<Batch<CheckoutLink>> {
  const organization_id = requireOrganization(ctx);
  const now = ctx.clock.now();
  const priceIds = bodies.flatMap(({ products, product_id, product_price_id }) =>
    !products && !product_id && product_price_id ? [product_price_id] : [],
  );
  const prices = mapById(await findPrices(tx, organization_id, [...new Set(priceIds)]));
  const wanted = bodies.map((body) => ({ body, offered: readOffered(body, prices) }));
  const named = await loadNamed(tx, organization_id, {
    products: wanted.flatMap(({ offered }) => (offered instanceof ApiError ? [] : offered.ids)),
    discounts: bodies.map(({ discount_id }) => discount_id),
  });
  const drafts = wanted.map(({ body, offered }) => {
    if (offered instanceof ApiError) return offered;
    const { ids, placeOf } = offered;
    const faults = [
      ...checkProducts(ids, named.products, placeOf),
      ...checkDiscount(body.discount_id, named.discounts.get(body.discount_id ?? ""), ids),
    ];
    if (faults.length > 0) return invalid(...faults);
    const values = {
      ...{ id: createId(now), organization_id, created_at: now },
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
    };
    return { id: values.id, values, ids };
  });
  const accepted = listAccepted(drafts);
  await store.insertLinks(
    tx,
    accepted.map(({ values }) => values),
  );
  await store.addProducts(
    tx,
    accepted.map(({ values, ids }) => ({ link: values, product_ids: ids })),
  );
  return reload(tx, ctx, drafts);
}

/** Change links, in as many statements for one as for a thousand. */
export async function updateLinks(tx: Tx, ctx: Ctx, changes: readonly Changed[]): Promise<Batch<CheckoutLink>> {
  const organization_id = requireOrganization(ctx);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockLinks(tx, organization_id, ids));
  const keeping = changes.filter(({ body }) => !body.products && body.discount_id).map(({ id }) => id);
  const offeredBefore = await store.findProductIds(tx, organization_id, keeping);
  const named = await loadNamed(tx, organization_id, {
    products: changes.flatMap(({ body }) => body.products ?? []),
    discounts: changes.map(({ id, body }) =>
      body.discount_id === undefined ? rows.get(id)?.discount_id : body.discount_id,
    ),
  });
  const drafts = changes.map(({ id, body }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const { products, discount_id = row.discount_id } = body;
    const faults = products ? checkProducts(products, named.products, (index) => ["products", index]) : [];
    if (products || body.discount_id)
      faults.push(
        ...checkDiscount(
          discount_id,
          named.discounts.get(discount_id ?? ""),
          products ?? offeredBefore.get(row.id) ?? [],
        ),
      );
    if (faults.length > 0) return invalid(...faults);
    return {
      id: row.id,
      row,
      products,
      patch: planColumns(
        body,
        products?.flatMap((one) => named.products.get(one) ?? []),
      ),
    };
  });
  const accepted = listAccepted(drafts);
  await store.setProducts(
    tx,
    accepted.flatMap(({ row, products }) => (products ? [{ link: row, product_ids: products }] : [])),
  );
  const modified_at = ctx.clock.now();
  await store.updateLinks(
    tx,
    accepted.flatMap(({ row, products, patch }) =>
      products || Object.keys(patch).length > 0 ? [{ row, patch: { ...patch, modified_at } }] : [],
    ),
  );
  return reload(tx, ctx, drafts);
}

/** The columns that an update sets; `offered` are the products, where it names them. */
function planColumns(body: Changed["body"], offered: readonly PricedProduct[] = []): Partial<LinkRow> {
  const { products: _, trial_interval, trial_interval_count, ...plain } = body;
  // What is bought once has no trial (CHK-65).
  const isOnce = offered.length > 0 && offered.every(({ recurring_interval }) => recurring_interval === null);
  const keepsTrial = trial_interval === undefined && trial_interval_count === undefined && !isOnce;
  const trial = { trial_interval: trial_interval ?? null, trial_interval_count: trial_interval_count ?? null };
  return Object.fromEntries(
    Object.entries({ ...plain, ...(keepsTrial ? {} : trial) }).filter(([, value]) => value !== undefined),
  );
}

/** Delete links, in as many statements for one as for a thousand. */
export async function deleteLinks(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<void>> {
  const deleted = new Set(await store.deleteLinks(tx, requireOrganization(ctx), ids));
  return ids.map((id) => (deleted.has(id.toLowerCase()) ? undefined : notFound()));
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
  create: (ctx, { body }) => transact(ctx, async (tx) => getOnly(await createLinks(tx, ctx, [body]))),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => getOnly(await updateLinks(tx, ctx, [{ id: params.id, body }]))),
  async delete(ctx, { params }) {
    const [refusal] = await transact(ctx, (tx) => deleteLinks(tx, ctx, [params.id]));
    if (refusal) throw refusal;
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
const pickAnswers = (query: Record<string, string>): Record<string, string> =>
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
    coversProduct(one, id) &&
    isDiscountable(prices) &&
    findDiscountTerms(one, currency) !== undefined;
  return [typed, own].find(isGood)?.id ?? null;
}

/** The seats that a link fixes, where the product that is chosen has seats, and so many. */
function clampSeats(prices: readonly PriceRow[], seats: number | null) {
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
    custom_field_data: pickValidAnswers(chosen.fields, pickAnswers(query)),
    trial_interval: row.trial_interval,
    trial_interval_count: row.trial_interval_count,
    discount_id: await findGiven(ctx, link, chosen, prices, query.discount_code),
    ...clampSeats(prices, row.seats),
  };
  let body = CheckoutCreate.parse(base);
  for (const [field, value] of Object.entries(readPrefill(query, prices))) {
    const tried = CheckoutCreate.safeParse({ ...body, [field]: value });
    if (tried.success) body = tried.data;
  }
  const { url } = await createOpened(ctx, row.organization_id, body);
  return { url, rest: Object.fromEntries(Object.entries(query).filter(([key]) => !isRead(key))) };
}
