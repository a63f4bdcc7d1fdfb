import type { Discount, discounts } from "../../../shared/api/discounts.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { ApiError, invalid, notFound } from "../../../shared/errors.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById, openNames } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import { rejectTaken } from "../../platform/db/unique.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { emit } from "../../platform/events/events.ts";
import { createId } from "../../platform/ids.ts";
import { checkProducts, describeTakenCode, planTerms, planUpdate, serializeDiscount } from "./rules.ts";
import * as store from "./store.ts";

async function getCurrency(tx: Tx, organization_id: string): Promise<string> {
  const row = await findOrganization(tx, organization_id);
  if (!row) throw notFound();
  return row.default_presentment_currency;
}

type Created = Input<(typeof discounts)["create"]>["body"];
type Changed = { id: string; body: Input<(typeof discounts)["update"]>["body"] };

/** The codes that a batch wants, with the discounts that have them. */
async function findCodeNames(tx: Tx, organization_id: string, codes: readonly (string | null | undefined)[]) {
  const wanted = codes.flatMap((code) => (code ? [code.toLowerCase()] : []));
  return openNames(await store.findCodeHolders(tx, organization_id, [...new Set(wanted)]));
}

/** Answer discounts as they are by now, each with its event. */
async function emitEach(
  tx: Tx,
  ctx: Ctx,
  type: "discount.created" | "discount.updated",
  drafts: readonly ({ id: string } | ApiError)[],
): Promise<Batch<Discount>> {
  const organization_id = requireOrganization(ctx);
  const ids = listAccepted(drafts).map(({ id }) => id);
  const rows = mapById(await store.findDiscounts(tx, organization_id, ids));
  return mapAccepted(drafts, async ({ id }) => {
    const row = rows.get(id);
    if (!row) throw new Error(`The discount ${id} is gone.`);
    const out = serializeDiscount(row);
    await emit(tx, ctx, organization_id, type, out);
    return out;
  });
}

/** Create discounts, in as many statements for one as for a thousand. */
export async function createDiscounts(tx: Tx, ctx: Ctx, bodies: readonly Created[]): Promise<Batch<Discount>> {
  const organization_id = requireOrganization(ctx);
  const now = ctx.clock.now();
  const currency = await getCurrency(tx, organization_id);
  const wanted = bodies.flatMap(({ products }) => products ?? []);
  const found = await store.findProductIds(tx, organization_id, [...new Set(wanted)]);
  const codes = bodies.map(({ code }) => code);
  const names = await findCodeNames(tx, organization_id, codes);
  const drafts = bodies.map((body) => {
    const products = body.products ?? [];
    const faults = checkProducts(products, found);
    const id = createId(now);
    const { name, code = null, duration, metadata } = body;
    const codeName = code?.toLowerCase() ?? null;
    if (code !== null && codeName !== null && names.isTaken(codeName, id)) faults.push(describeTakenCode(code));
    if (faults.length > 0) return invalid(...faults);
    names.take(codeName, id, null);
    const values = {
      ...{ id, organization_id, created_at: now, name, code, duration, metadata },
      ...planTerms(body, currency),
      duration_in_months: body.duration_in_months ?? null,
      starts_at: body.starts_at ?? null,
      ends_at: body.ends_at ?? null,
      max_redemptions: body.max_redemptions ?? null,
      max_redemptions_per_customer: body.max_redemptions_per_customer ?? null,
    };
    return { id, values, products };
  });
  const planned = listAccepted(drafts);
  const inserted = mapById(
    await store.insertDiscounts(
      tx,
      planned.map(({ values }) => values),
    ),
  );
  // A parallel transaction may have taken a code since the codes were read.
  const created = drafts.map((draft) =>
    draft instanceof ApiError || inserted.get(draft.id) ? draft : invalid(describeTakenCode(draft.values.code ?? "")),
  );
  await store.addProducts(
    tx,
    listAccepted(created).map(({ values, products }) => ({ discount: values, product_ids: products })),
  );
  return emitEach(tx, ctx, "discount.created", created);
}

/** Change discounts, in as many statements for one as for a thousand. */
export async function updateDiscounts(tx: Tx, ctx: Ctx, changes: readonly Changed[]): Promise<Batch<Discount>> {
  const organization_id = requireOrganization(ctx);
  const currency = await getCurrency(tx, organization_id);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockDiscounts(tx, organization_id, ids));
  const wanted = changes.flatMap(({ body }) => body.products ?? []);
  const found = await store.findProductIds(tx, organization_id, [...new Set(wanted)]);
  const codes = changes.map(({ body }) => body.code);
  const names = await findCodeNames(tx, organization_id, codes);
  const drafts = changes.map(({ id, body }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const { patch, faults } = planUpdate(row, body, currency);
    if (patch.code && names.isTaken(patch.code.toLowerCase(), row.id)) faults.push(describeTakenCode(patch.code));
    const products = body.products ?? undefined;
    if (products) faults.push(...checkProducts(products, found));
    if (faults.length > 0) return invalid(...faults);
    if (patch.code !== undefined)
      names.take(patch.code?.toLowerCase() ?? null, row.id, row.code?.toLowerCase() ?? null);
    return { id: row.id, row, patch, products };
  });
  const accepted = listAccepted(drafts);
  const modified_at = ctx.clock.now();
  const changed = accepted.filter(({ patch, products }) => Object.keys(patch).length > 0 || products);
  await store.updateDiscounts(
    tx,
    changed.map(({ row, patch }) => ({ row, patch: { ...patch, modified_at } })),
  );
  await store.setProducts(
    tx,
    accepted.flatMap(({ row, products }) => (products ? [{ discount: row, product_ids: products }] : [])),
  );
  return emitEach(tx, ctx, "discount.updated", drafts);
}

/** Delete discounts, in as many statements for one as for a thousand. */
export async function deleteDiscounts(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<void>> {
  const organization_id = requireOrganization(ctx);
  await store.lockDiscounts(tx, organization_id, ids);
  const rows = mapById(await store.findDiscounts(tx, organization_id, ids));
  const drafts = ids.map((id) => rows.get(id) ?? notFound());
  const patch = { deleted_at: ctx.clock.now() };
  await store.updateDiscounts(
    tx,
    listAccepted(drafts).map((row) => ({ row, patch })),
  );
  return mapAccepted(drafts, (row) => emit(tx, ctx, organization_id, "discount.deleted", serializeDiscount(row)));
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
  create: (ctx, { body }) => transact(ctx, async (tx) => getOnly(await createDiscounts(tx, ctx, [body]))),
  update: (ctx, { params, body }) =>
    rejectTaken(body.code ? describeTakenCode(body.code) : undefined, () =>
      transact(ctx, async (tx) => getOnly(await updateDiscounts(tx, ctx, [{ id: params.id, body }]))),
    ),
  delete: (ctx, { params }) => transact(ctx, async (tx) => getOnly(await deleteDiscounts(tx, ctx, [params.id]))),
};
