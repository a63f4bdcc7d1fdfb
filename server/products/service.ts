import type { z } from "zod";
import type { AttachedCustomFieldInput } from "../../shared/api/custom-fields.ts";
import type { Product, products } from "../../shared/api/products.ts";
import type { Input, Service } from "../../shared/contract.ts";
import { ApiError, type Fault, fault, invalid, notFound } from "../../shared/errors.ts";
import { getMinimumAmount } from "../../shared/money.ts";
import { findBenefits } from "../benefits/store.ts";
import { findCustomFields } from "../custom-fields/store.ts";
import { type Ctx, type Database, requireOrganization, requireOrganizations, type Tx } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { createId } from "../lib/ids.ts";
import { buildPage } from "../lib/page.ts";
import { defineSignal, sendSignal } from "../lib/reactions.ts";
import type { RowKey } from "../lib/rows.ts";
import { transact } from "../lib/unit-of-work.ts";
import { holdMeters } from "../meters/store.ts";
import { serializeOrganization } from "../organizations/rules.ts";
import { findOrganization } from "../organizations/store.ts";
import { checkPrices, checkReturn, type PriceWanted, type PricingContext } from "./price-rules.ts";
import {
  checkBenefits,
  computeSortColumns,
  type PricedProduct,
  type PriceInsert,
  planPrice,
  planUpdate,
  serializeProduct,
} from "./rules.ts";
import * as store from "./store.ts";

/** The meters that new prices name. */
const metersOf = (wanted: readonly PriceWanted[]): string[] =>
  wanted.flatMap((price) => ("amount_type" in price && price.amount_type === "metered_unit" ? [price.meter_id] : []));

/** What prices are held against in this organization; of the named meters, those that count. */
async function groundOf(
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
    meter_ids: await holdMeters(tx, organization_id, named),
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
      const at = ["attached_custom_fields", index, "custom_field_id"];
      if (!known.has(id)) return [fault(at, "Custom field does not exist.", "value_error", id)];
      if (seen.has(id)) return [fault(at, "Custom field is already attached.", "value_error", id)];
      seen.add(id);
      return [];
    }),
  ];
}

const newPrices = (
  wanted: readonly PriceWanted[],
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

async function reread(db: Database, organization_id: string, id: string): Promise<PricedProduct> {
  const row = await store.findProduct(db, organization_id, id);
  if (!row) throw new Error(`The product ${id} is gone.`);
  return row;
}

/** A product gives other benefits than before, in whatever order. */
export const productGivesOtherwise = defineSignal<RowKey>("product.gives_otherwise");
/** A product is not sold any more. */
export const productArchived = defineSignal<RowKey>("product.archived");

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

/**
 * Make products, in as many statements for one as for a thousand. Answers each in its place, or what was wrong with it; one that
 * is refused keeps no other from being made.
 */
export async function createProducts(
  tx: Tx,
  ctx: Ctx,
  bodies: readonly ProductBody[],
): Promise<(Product | ApiError)[]> {
  const organization_id = requireOrganization(ctx);
  const pricing = await groundOf(tx, organization_id, [...new Set(bodies.flatMap(({ prices }) => metersOf(prices)))]);
  const attachable = await findAttachable(
    tx,
    organization_id,
    bodies.flatMap(({ medias }) => medias),
    bodies.flatMap(({ attached_custom_fields }) => attached_custom_fields),
  );
  const now = ctx.clock.now();
  const drafts = bodies.map((body) => {
    const recurring = (body.recurring_interval ?? null) !== null;
    const faults = [
      ...checkPrices(body.prices, { ...pricing, recurring, active: [] }),
      ...checkAttached(attachable, body.medias, body.attached_custom_fields),
    ];
    if (faults.length > 0) return invalid(...faults);
    const id = createId(now);
    const prices = newPrices(body.prices, { id, organization_id }, pricing.currency, now);
    const { name, description = null, visibility, metadata } = body;
    const values = { id, organization_id, created_at: now, name, description, visibility, metadata };
    return { body, prices, values: { ...values, ...planCycleColumns(body), ...computeSortColumns(prices) } };
  });
  const good = drafts.flatMap((draft) => (draft instanceof ApiError ? [] : [draft]));
  await store.insertProducts(
    tx,
    good.map(({ values }) => values),
  );
  await store.insertPrices(
    tx,
    good.flatMap(({ prices }) => prices),
  );
  await store.addMedias(
    tx,
    good.map(({ values, body }) => ({ product: values, file_ids: body.medias })),
  );
  await store.addFields(
    tx,
    good.map(({ values, body }) => ({ product: values, fields: body.attached_custom_fields })),
  );
  const ids = good.map(({ values }) => values.id);
  const rows = new Map((await store.findProducts(tx, organization_id, ids)).map((row) => [row.id, row]));
  const results: (Product | ApiError)[] = [];
  for (const draft of drafts) {
    const row = draft instanceof ApiError ? undefined : rows.get(draft.values.id);
    if (draft instanceof ApiError) results.push(draft);
    else if (row) {
      const out = serializeProduct(row, ctx.config.media_url);
      await emit(tx, ctx, organization_id, "product.created", out);
      results.push(out);
    } else throw new Error(`The product ${draft.values.id} is gone.`);
  }
  return results;
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
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const [made] = await createProducts(tx, ctx, [body]);
      if (made === undefined || made instanceof ApiError) throw made ?? new Error("The product was not made.");
      return made;
    }),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const row = await store.lockProduct(tx, organization_id, params.id);
      if (!row) throw notFound();
      const { id } = row;
      const { prices: active } = await reread(tx, organization_id, id);
      const wanted: readonly PriceWanted[] = body.prices ?? active.map(({ id }) => ({ id }));
      const stays = new Set(wanted.flatMap((price) => ("id" in price ? [price.id] : [])));
      const kept = active.filter((price) => stays.has(price.id));
      const returns = row.is_archived && body.is_archived === false;
      const named = returns ? kept.flatMap(({ meter_id }) => meter_id ?? []) : [];
      const ground = await groundOf(tx, organization_id, [...metersOf(wanted), ...named]);
      const recurring = row.recurring_interval !== null;
      const { patch, faults } = planUpdate(row, body);
      if (returns) faults.push(...checkReturn(kept, ground.meter_ids));
      if (body.prices) faults.push(...checkPrices(body.prices, { ...ground, recurring, active }));
      const { medias, attached_custom_fields: attached } = body;
      const attachable = await findAttachable(tx, organization_id, medias ?? [], attached ?? []);
      faults.push(...checkAttached(attachable, medias ?? [], attached ?? []));
      if (faults.length > 0) throw invalid(...faults);

      const now = ctx.clock.now();
      const gone = active.filter((price) => !stays.has(price.id)).map((price) => price.id);
      const added = newPrices(wanted, row, ground.currency, now);
      await store.archivePrices(tx, organization_id, gone, now);
      await store.insertPrices(tx, added);
      if (body.is_archived && !row.is_archived) await sendSignal(tx, ctx, productArchived, row);
      if (medias) await store.setMedias(tx, row, medias);
      if (attached) await store.setFields(tx, row, attached);
      if (gone.length + added.length > 0) Object.assign(patch, computeSortColumns([...kept, ...added]));
      if (Object.keys(patch).length > 0 || medias || attached)
        await store.updateProduct(tx, row, { ...patch, modified_at: now });
      const out = serializeProduct(await reread(tx, organization_id, id), ctx.config.media_url);
      await emit(tx, ctx, organization_id, "product.updated", out);
      return out;
    }),
  setBenefits: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const row = await store.lockProduct(tx, organization_id, params.id);
      if (!row) throw notFound();
      const { benefits: had } = await reread(tx, organization_id, row.id);
      const wanted = body.benefits;
      const faults = checkBenefits(wanted, await findBenefits(tx, organization_id, wanted), had);
      if (faults.length > 0) throw invalid(...faults);
      const same = JSON.stringify(had.map(({ id }) => id)) === JSON.stringify(wanted);
      if (!same) {
        await store.setBenefits(tx, row, wanted);
        await store.updateProduct(tx, row, { modified_at: ctx.clock.now() });
        const before = new Set(had.map(({ id }) => id));
        if (before.size !== wanted.length || !wanted.every((id) => before.has(id)))
          await sendSignal(tx, ctx, productGivesOtherwise, row);
      }
      const out = serializeProduct(await reread(tx, organization_id, row.id), ctx.config.media_url);
      await emit(tx, ctx, organization_id, "product.updated", out);
      return out;
    }),
};
