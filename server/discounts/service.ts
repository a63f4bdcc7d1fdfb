import type { Discount, discounts } from "../../shared/api/discounts.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { createId } from "../lib/ids.ts";
import { buildPage } from "../lib/page.ts";
import { refuseTaken } from "../lib/unique.ts";
import { transact } from "../lib/unit-of-work.ts";
import { findOrganization } from "../organizations/store.ts";
import { checkProducts, describeTakenCode, planTerms, planUpdate, serializeDiscount } from "./rules.ts";
import * as store from "./store.ts";

async function reread(tx: Tx, organization_id: string, id: string): Promise<Discount> {
  const row = await store.findDiscount(tx, organization_id, id);
  if (!row) throw new Error(`The discount ${id} is gone.`);
  return serializeDiscount(row);
}

async function currencyOf(tx: Tx, organization_id: string): Promise<string> {
  const row = await findOrganization(tx, organization_id);
  if (!row) throw notFound();
  return row.default_presentment_currency;
}

/** The discounts of the API. */
export const discountService: Service<typeof discounts, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listDiscounts(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeDiscount), total, query);
  },
  async get(ctx, { params }) {
    const row = await store.findDiscount(ctx.db, requireOrganization(ctx), params.id);
    if (!row) throw notFound();
    return serializeDiscount(row);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const wanted = body.products ?? [];
      const faults = checkProducts(wanted, await store.findProductIds(tx, organization_id, wanted));
      const id = createId(ctx.clock.now());
      const { name, code = null, duration, metadata } = body;
      if (code !== null && (await store.isCodeTaken(tx, organization_id, code, id)))
        faults.push(describeTakenCode(code));
      if (faults.length > 0) throw invalid(...faults);
      const row = await store.insertDiscount(tx, {
        id,
        organization_id,
        created_at: ctx.clock.now(),
        name,
        code,
        duration,
        metadata,
        ...planTerms(body, await currencyOf(tx, organization_id)),
        duration_in_months: body.duration_in_months ?? null,
        starts_at: body.starts_at ?? null,
        ends_at: body.ends_at ?? null,
        max_redemptions: body.max_redemptions ?? null,
        max_redemptions_per_customer: body.max_redemptions_per_customer ?? null,
      });
      if (!row) throw invalid(describeTakenCode(code ?? ""));
      await store.setProducts(tx, row, wanted);
      const out = await reread(tx, organization_id, id);
      await emit(tx, ctx, organization_id, "discount.created", out);
      return out;
    }),
  update: (ctx, { params, body }) =>
    refuseTaken(body.code ? describeTakenCode(body.code) : undefined, () =>
      transact(ctx, async (tx) => {
        const organization_id = requireOrganization(ctx);
        const row = await store.lockDiscount(tx, organization_id, params.id);
        if (!row) throw notFound();
        const { patch, faults } = planUpdate(row, body, await currencyOf(tx, organization_id));
        if (patch.code && (await store.isCodeTaken(tx, organization_id, patch.code, row.id)))
          faults.push(describeTakenCode(patch.code));
        const wanted = body.products ?? undefined;
        if (wanted) faults.push(...checkProducts(wanted, await store.findProductIds(tx, organization_id, wanted)));
        if (faults.length > 0) throw invalid(...faults);
        const changed = Object.keys(patch).length > 0 || wanted !== undefined;
        if (changed) await store.updateDiscount(tx, row, { ...patch, modified_at: ctx.clock.now() });
        if (wanted) await store.setProducts(tx, row, wanted);
        const out = await reread(tx, organization_id, row.id);
        await emit(tx, ctx, organization_id, "discount.updated", out);
        return out;
      }),
    ),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const organization_id = requireOrganization(ctx);
      const row = await store.lockDiscount(tx, organization_id, params.id);
      if (!row) throw notFound();
      const out = await reread(tx, organization_id, row.id);
      await store.updateDiscount(tx, row, { deleted_at: ctx.clock.now() });
      await emit(tx, ctx, organization_id, "discount.deleted", out);
    }),
};
