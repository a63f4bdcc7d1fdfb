import type { z } from "zod";
import type { AttachedCustomFieldInput } from "../../../shared/api/custom-fields.ts";
import type { Product, products } from "../../../shared/api/products.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { ApiError, type Fault, fault, invalid, notFound } from "../../../shared/errors.ts";
import { getMinimumAmount } from "../../../shared/money.ts";
import { serializeOrganization } from "../../identity/organizations/rules.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit } from "../../platform/events/events.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { mapInParts } from "../../platform/jobs/heavy-work.ts";
import { lockUsedMeters } from "../../usage/meters/store.ts";
import { findBenefits } from "../benefits/store.ts";
import { findCustomFields } from "../custom-fields/store.ts";
import { checkPrices, checkReturn, type PricingContext, type RequestedPrice } from "./price-rules.ts";
import {
  checkBenefits,
  computeSortColumns,
  type PricedProduct,
  type PriceInsert,
  type ProductRow,
  planPrice,
  planUpdate,
  serializeProduct,
} from "./rules.ts";
import * as store from "./store.ts";

/** The meters that new prices name. */
const getMeters = (wanted: readonly RequestedPrice[]): string[] =>
  wanted.flatMap((price) => ("amount_type" in price && price.amount_type === "metered_unit" ? [price.meter_id] : []));

/** What prices are held against in this organization; of the named meters, those that count. */
async function getGround(
  tx: Tx,
  organization_id: string,
  named: readonly string[],
): Promise<Omit<PricingContext, "recurring" | "active">> {
  const row = await findOrganization(tx, organization_id);
  if (!row) throw notFound();
  const { default_presentment_currency, feature_settings } = serializeOrganization(row);
  return {
    currency: default_presentment_currency,
    seats_enabled: feature_settings.seat_based_pricing_enabled,
    meter_ids: await lockUsedMeters(tx, organization_id, named),
  };
}

type Attached = z.output<typeof AttachedCustomFieldInput>;

type Attachable = { pictures: ReadonlySet<string>; fields: ReadonlySet<string> };

/** Which of these pictures and fields there are. */
async function findAttachable(
  tx: Tx,
  organization_id: string,
  medias: readonly string[],
  attached: readonly Attached[],
): Promise<Attachable> {
  const pictures = await store.findMedias(tx, organization_id, [...new Set(medias)]);
  const ids = new Set(attached.map(({ custom_field_id }) => custom_field_id));
  const fields = await findCustomFields(tx, organization_id, [...ids]);
  return { pictures, fields: new Set(fields.map(({ id }) => id)) };
}

/** Every fault of wanted pictures and fields: unknown ones, and fields that stand twice (PRD-29, PRD-31). */
function checkAttached(
  { pictures, fields: known }: Attachable,
  medias: readonly string[],
  attached: readonly Attached[],
): Fault[] {
  const seen = new Set<string>();
  return [
    ...medias.flatMap((id, index) =>
      pictures.has(id)
        ? []
        : [fault(["medias", index], "File does not exist or is not yet uploaded.", "value_error", id)],
    ),
    ...attached.flatMap(({ custom_field_id: id }, index) => {
      const at = ["attached_custom_fields", index];
      if (!known.has(id)) return [fault(at, "Custom field does not exist.", "value_error", id)];
      if (seen.has(id)) return [fault(at, "Custom field is already attached.", "value_error", id)];
      seen.add(id);
      return [];
    }),
  ];
}

const buildPrices = (
  wanted: readonly RequestedPrice[],
  product: { id: string; organization_id: string },
  currency: string,
  now: Date,
): PriceInsert[] =>
  wanted.flatMap((price) => {
    if (!("amount_type" in price)) return [];
    const place = {
      id: createId(now),
      organization_id: product.organization_id,
      product_id: product.id,
      created_at: now,
      source: "catalog" as const,
    };
    return [planPrice(price, place, { currency, minimumAmount: getMinimumAmount })];
  });

/** Products give other benefits than before, in whatever order. */
export const productBenefitsChanged = defineSignal<readonly RowKey[]>("product.gives_otherwise");
/** Products are not sold any more. */
export const productsArchived = defineSignal<readonly RowKey[]>("product.archived");

type ProductBody = Input<(typeof products)["create"]>["body"];

/** Whether something only a subscription has is kept: not of a one-time purchase (PRD-03). */
function planCycleColumns(body: ProductBody) {
  const recurring_interval = body.recurring_interval ?? null;
  const isRecurring = recurring_interval !== null;
  const meter_interval = (isRecurring && body.meter_interval) || null;
  return {
    recurring_interval,
    recurring_interval_count: isRecurring ? (body.recurring_interval_count ?? 1) : null,
    trial_interval: (isRecurring && body.trial_interval) || null,
    trial_interval_count: isRecurring ? (body.trial_interval_count ?? null) : null,
    meter_interval,
    meter_interval_count: meter_interval && (body.meter_interval_count ?? 1),
  };
}

/** What products would be made of, or every fault of each. */
export async function planProducts(tx: Tx, ctx: Ctx, bodies: readonly ProductBody[]) {
  const organization_id = requireOrganization(ctx);
  const pricing = await getGround(tx, organization_id, [...new Set(bodies.flatMap(({ prices }) => getMeters(prices)))]);
  const attachable = await findAttachable(
    tx,
    organization_id,
    bodies.flatMap(({ medias }) => medias),
    bodies.flatMap(({ attached_custom_fields }) => attached_custom_fields),
  );
  const now = ctx.clock.now();
  return bodies.map((body) => {
    const recurring = (body.recurring_interval ?? null) !== null;
    const faults = [
      ...checkPrices(body.prices, { ...pricing, recurring, active: [] }),
      ...checkAttached(attachable, body.medias, body.attached_custom_fields),
    ];
    if (faults.length > 0) return invalid(...faults);
    const id = createId(now);
    const prices = buildPrices(body.prices, { id, organization_id }, pricing.currency, now);
    const { name, description = null, visibility, metadata } = body;
    const values = { id, organization_id, created_at: now, name, description, visibility, metadata };
    return { body, prices, values: { ...values, ...planCycleColumns(body), ...computeSortColumns(prices) } };
  });
}

type NewProduct = Exclude<Awaited<ReturnType<typeof planProducts>>[number], ApiError>;

/** Write products, in as many statements for one as for a thousand. Nothing is emitted. */
export async function insertDrafts(tx: Tx, drafts: readonly NewProduct[]): Promise<void> {
  await store.insertProducts(
    tx,
    drafts.map(({ values }) => values),
  );
  await store.insertPrices(
    tx,
    drafts.flatMap(({ prices }) => prices),
  );
  await store.addMedias(
    tx,
    drafts.map(({ values, body }) => ({ product: values, file_ids: body.medias })),
  );
  await store.addFields(
    tx,
    drafts.map(({ values, body }) => ({ product: values, fields: body.attached_custom_fields })),
  );
}

/**
 * Make products, in as many statements for one as for a thousand. Answers each in its place, or what was wrong with it; one that
 * is refused keeps no other from being made.
 */
export async function createProducts(tx: Tx, ctx: Ctx, bodies: readonly ProductBody[]): Promise<Batch<Product>> {
  const organization_id = requireOrganization(ctx);
  const drafts = await planProducts(tx, ctx, bodies);
  const good = listAccepted(drafts);
  await insertDrafts(tx, good);
  const ids = good.map(({ values }) => values.id);
  const rows = mapById(await store.findProducts(tx, organization_id, ids));
  return mapAccepted(drafts, async ({ values: { id } }) => {
    const row = rows.get(id);
    if (!row) throw new Error(`The product ${id} is gone.`);
    const out = serializeProduct(row, ctx.config.media_url);
    await emit(tx, ctx, organization_id, "product.created", out);
    return out;
  });
}

type ProductChange = { id: string; body: Input<(typeof products)["update"]>["body"] };

/** Change products, in as many statements for one as for a thousand. */
export async function updateProducts(tx: Tx, ctx: Ctx, changes: readonly ProductChange[]): Promise<Batch<Product>> {
  const organization_id = requireOrganization(ctx);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockProducts(tx, organization_id, ids));
  const wanted = changes.map(({ id, body }) => {
    const row = rows.get(id);
    return row ? selectPrices(row, body) : notFound();
  });
  const meters = listAccepted(wanted).flatMap(({ meters }) => meters);
  const pricing = await getGround(tx, organization_id, [...new Set(meters)]);
  const attachable = await findAttachable(
    tx,
    organization_id,
    changes.flatMap(({ body }) => body.medias ?? []),
    changes.flatMap(({ body }) => body.attached_custom_fields ?? []),
  );
  const now = ctx.clock.now();
  const drafts = await mapInParts(wanted, (one) =>
    one instanceof ApiError ? one : planChange(one, pricing, attachable, now),
  );
  await writeChanges(tx, ctx, listAccepted(drafts), now);
  return emitUpdated(tx, ctx, drafts);
}

/** Which prices an update keeps on sale, and the meters that it needs. */
function selectPrices(row: PricedProduct, body: ProductChange["body"]) {
  const active = row.prices;
  const prices: readonly RequestedPrice[] = body.prices ?? active.map(({ id }) => ({ id }));
  const stays = new Set(prices.flatMap((price) => ("id" in price ? [price.id] : [])));
  const kept = active.filter((price) => stays.has(price.id));
  const gone = active.filter((price) => !stays.has(price.id)).map((price) => price.id);
  const returns = row.is_archived && body.is_archived === false;
  const meters = [...getMeters(prices), ...(returns ? kept.flatMap(({ meter_id }) => meter_id ?? []) : [])];
  return { row, body, active, prices, kept, gone, returns, meters };
}

/** The columns and prices that an update changes, or every fault of it. */
function planChange(
  { row, body, active, prices, kept, gone, returns }: ReturnType<typeof selectPrices>,
  pricing: Omit<PricingContext, "recurring" | "active">,
  attachable: Attachable,
  now: Date,
) {
  const { patch, faults } = planUpdate(row, body);
  const recurring = row.recurring_interval !== null;
  if (returns) faults.push(...checkReturn(kept, pricing.meter_ids));
  if (body.prices) faults.push(...checkPrices(body.prices, { ...pricing, recurring, active: [...active] }));
  const { medias, attached_custom_fields: fields } = body;
  faults.push(...checkAttached(attachable, medias ?? [], fields ?? []));
  if (faults.length > 0) return invalid(...faults);
  const added = buildPrices(prices, row, pricing.currency, now);
  if (gone.length + added.length > 0) Object.assign(patch, computeSortColumns([...kept, ...added]));
  const isArchived = body.is_archived === true && !row.is_archived;
  return { row, patch, gone, added, medias, fields, isArchived };
}

type ProductDraft = Exclude<ReturnType<typeof planChange>, ApiError>;

async function writeChanges(tx: Tx, ctx: Ctx, drafts: readonly ProductDraft[], now: Date): Promise<void> {
  const [first] = drafts;
  if (!first) return;
  const gone = drafts.flatMap((draft) => draft.gone);
  await store.archivePrices(tx, first.row.organization_id, gone, now);
  await store.insertPrices(
    tx,
    drafts.flatMap(({ added }) => added),
  );
  const archived = drafts.filter(({ isArchived }) => isArchived).map(({ row }) => row);
  if (archived.length > 0) await sendSignal(tx, ctx, productsArchived, archived);
  await store.setMedias(
    tx,
    drafts.flatMap(({ row, medias }) => (medias ? [{ product: row, file_ids: medias }] : [])),
  );
  await store.setFields(
    tx,
    drafts.flatMap(({ row, fields }) => (fields ? [{ product: row, fields }] : [])),
  );
  const changed = drafts.filter(({ patch, medias, fields }) => Object.keys(patch).length > 0 || medias || fields);
  await store.updateProducts(
    tx,
    changed.map(({ row, patch }) => ({ row, patch: { ...patch, modified_at: now } })),
  );
}

/** Answer products as they are by now, each with its event. */
async function emitUpdated(tx: Tx, ctx: Ctx, drafts: readonly ({ row: ProductRow } | ApiError)[]) {
  const organization_id = requireOrganization(ctx);
  const ids = listAccepted(drafts).map(({ row }) => row.id);
  const rows = mapById(await store.findProducts(tx, organization_id, ids));
  return mapAccepted(drafts, async ({ row: { id } }) => {
    const row = rows.get(id);
    if (!row) throw new Error(`The product ${id} is gone.`);
    const out = serializeProduct(row, ctx.config.media_url);
    await emit(tx, ctx, organization_id, "product.updated", out);
    return out;
  });
}

/** Set what products give, in as many statements for one as for a thousand. */
export async function setBenefits(
  tx: Tx,
  ctx: Ctx,
  changes: readonly { id: string; benefits: readonly string[] }[],
): Promise<Batch<Product>> {
  const organization_id = requireOrganization(ctx);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockProducts(tx, organization_id, ids));
  const known = mapById(
    await findBenefits(tx, organization_id, [...new Set(changes.flatMap(({ benefits }) => benefits))]),
  );
  const drafts = changes.map(({ id, benefits: wanted }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const had = row.benefits;
    const found = wanted.flatMap((one) => known.get(one) ?? []);
    const faults = checkBenefits([...wanted], found, had);
    if (faults.length > 0) return invalid(...faults);
    const before = had.map((one) => one.id);
    const isSame = JSON.stringify(before) === JSON.stringify(wanted);
    const givesOtherwise = before.length !== wanted.length || !wanted.every((one) => before.includes(one));
    return { row, wanted, isSame, givesOtherwise };
  });
  const changed = listAccepted(drafts).filter(({ isSame }) => !isSame);
  await store.setBenefits(
    tx,
    changed.map(({ row, wanted }) => ({ product: row, benefit_ids: wanted })),
  );
  const patch = { modified_at: ctx.clock.now() };
  await store.updateProducts(
    tx,
    changed.map(({ row }) => ({ row, patch })),
  );
  const otherwise = changed.filter(({ givesOtherwise }) => givesOtherwise).map(({ row }) => row);
  if (otherwise.length > 0) await sendSignal(tx, ctx, productBenefitsChanged, otherwise);
  return emitUpdated(tx, ctx, drafts);
}

/** The products of the API. */
export const productService: Service<typeof products, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listProducts(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((row) => serializeProduct(row, ctx.config.media_url)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const row = await store.findProduct(ctx.db, requireOrganization(ctx), params.id);
    if (!row) throw notFound();
    return serializeProduct(row, ctx.config.media_url);
  },
  create: (ctx, { body }) => transact(ctx, async (tx) => getOnly(await createProducts(tx, ctx, [body]))),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => getOnly(await updateProducts(tx, ctx, [{ id: params.id, body }]))),
  setBenefits: (ctx, { params, body }) =>
    transact(ctx, async (tx) => getOnly(await setBenefits(tx, ctx, [{ id: params.id, ...body }]))),
};
