import type { products } from "../../shared/api/products.ts";
import type { Service } from "../../shared/contract.ts";
import { type Fault, fault, invalid, notFound } from "../../shared/errors.ts";
import { minimumAmount } from "../../shared/money.ts";
import { type Ctx, type Database, organizationOf } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { organizationOut } from "../organizations/rules.ts";
import { findOrganization } from "../organizations/store.ts";
import { checkPrices, type PriceGround, type PriceWanted } from "./price-rules.ts";
import { type PricedProduct, type PriceInsert, planPrice, productOut } from "./rules.ts";
import * as store from "./store.ts";

/** What prices are held against in this organization. There are no meters yet, so none can be named. */
async function groundOf(db: Database, organization_id: string): Promise<Omit<PriceGround, "recurring" | "active">> {
  const row = await findOrganization(db, organization_id);
  if (!row) throw notFound();
  const { default_presentment_currency, feature_settings } = organizationOut(row);
  return {
    currency: default_presentment_currency,
    seats_enabled: feature_settings.seat_based_pricing_enabled,
    meter_ids: new Set(),
  };
}

/** Neither files nor custom fields can be made yet, so whatever is named does not exist (PRD-29, PRD-31). */
function checkAttached(medias: readonly string[] = [], fields: readonly { custom_field_id: string }[] = []): Fault[] {
  return [
    ...medias.map((id, index) =>
      fault(["medias", index], "File does not exist or is not yet uploaded.", "value_error", id),
    ),
    ...fields.map(({ custom_field_id }, index) =>
      fault(
        ["attached_custom_fields", index, "custom_field_id"],
        "Custom field does not exist.",
        "value_error",
        custom_field_id,
      ),
    ),
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
      id: newId(),
      organization_id: product.organization_id,
      product_id: product.id,
      created_at: now,
      source: "catalog" as const,
    };
    return [planPrice(price, place, { currency, minimumAmount })];
  });

async function reread(db: Database, organization_id: string, id: string): Promise<PricedProduct> {
  const row = await store.findProduct(db, organization_id, id);
  if (!row) throw new Error(`The product ${id} is gone.`);
  return row;
}

/** The products of the API. */
export const productService: Service<typeof products, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listProducts(ctx.db, organizationOf(ctx), query);
    return pageOf(items.map(productOut), total, query);
  },
  async get(ctx, { params }) {
    const row = await store.findProduct(ctx.db, organizationOf(ctx), params.id);
    if (!row) throw notFound();
    return productOut(row);
  },
  create: (ctx, { body }) =>
    ctx.db.transaction(async (tx) => {
      const organization_id = organizationOf(ctx);
      const ground = await groundOf(tx, organization_id);
      const { name, description = null, visibility, metadata, recurring_interval = null } = body;
      const recurring = recurring_interval !== null;
      const faults = [
        ...checkPrices(body.prices, { ...ground, recurring, active: [] }),
        ...checkAttached(body.medias, body.attached_custom_fields),
      ];
      if (faults.length > 0) throw invalid(...faults);
      const now = ctx.clock.now();
      const id = newId();
      // What only a subscription has is not kept of a one-time purchase (PRD-03).
      const cycle = recurring
        ? {
            recurring_interval,
            recurring_interval_count: body.recurring_interval_count ?? 1,
            trial_interval: body.trial_interval ?? null,
            trial_interval_count: body.trial_interval_count ?? null,
            meter_interval: body.meter_interval ?? null,
            meter_interval_count: body.meter_interval ? (body.meter_interval_count ?? 1) : null,
          }
        : {};
      await store.insertProduct(tx, {
        id,
        organization_id,
        created_at: now,
        name,
        description,
        visibility,
        metadata,
        ...cycle,
      });
      await store.insertPrices(tx, newPrices(body.prices, { id, organization_id }, ground.currency, now));
      const out = productOut(await reread(tx, organization_id, id));
      await emit(tx, ctx, organization_id, "product.created", out);
      return out;
    }),
  update: (ctx, { params, body }) =>
    ctx.db.transaction(async (tx) => {
      const organization_id = organizationOf(ctx);
      const row = await store.lockProduct(tx, organization_id, params.id);
      if (!row) throw notFound();
      const { id } = row;
      const { prices: active } = await reread(tx, organization_id, id);
      const ground = await groundOf(tx, organization_id);
      const recurring = row.recurring_interval !== null;
      const faults: Fault[] = [];
      for (const field of ["recurring_interval", "recurring_interval_count"] as const) {
        const sent = body[field];
        if (sent !== undefined && sent !== row[field])
          faults.push(fault([field], "Recurring interval cannot be changed.", "value_error", sent));
      }
      for (const field of ["trial_interval", "trial_interval_count"] as const) {
        if (body[field] && !recurring)
          faults.push(fault([field], "Trials are only for subscription products.", "value_error", body[field]));
      }
      if (body.prices) faults.push(...checkPrices(body.prices, { ...ground, recurring, active }));
      faults.push(...checkAttached(body.medias, body.attached_custom_fields));
      if (faults.length > 0) throw invalid(...faults);

      const now = ctx.clock.now();
      const wanted = body.prices ?? active.map((price) => ({ id: price.id }));
      const kept = new Set(wanted.flatMap((price) => ("amount_type" in price ? [] : [price.id.toLowerCase()])));
      const gone = active.filter((price) => !kept.has(price.id)).map((price) => price.id);
      const added = newPrices(wanted, row, ground.currency, now);
      await store.archivePrices(tx, gone, now);
      await store.insertPrices(tx, added);
      const { name, description, visibility, is_archived, metadata } = body;
      const sent = Object.entries({ name, description, visibility, is_archived, metadata, ...trialOf(body) }).filter(
        ([, value]) => value !== undefined,
      );
      if (sent.length + gone.length + added.length > 0)
        await store.updateProduct(tx, id, { ...Object.fromEntries(sent), modified_at: now });
      const out = productOut(await reread(tx, organization_id, id));
      await emit(tx, ctx, organization_id, "product.updated", out);
      return out;
    }),
};

/** Both halves of a trial change together; a null of either is none (PRD-04). */
function trialOf({
  trial_interval,
  trial_interval_count,
}: {
  trial_interval?: unknown;
  trial_interval_count?: unknown;
}) {
  if (trial_interval === undefined && trial_interval_count === undefined) return {};
  if (trial_interval && trial_interval_count) return { trial_interval, trial_interval_count };
  return { trial_interval: null, trial_interval_count: null };
}
