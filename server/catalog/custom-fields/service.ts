import type { CustomField, customFields } from "../../../shared/api/custom-fields.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { ApiError, invalid, notFound } from "../../../shared/errors.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById, openNames } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { rejectTaken } from "../../platform/db/unique.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../platform/events/signals.ts";
import { createId } from "../../platform/ids.ts";
import { describeSlugInUse, describeTakenSlug, planUpdate, serializeCustomField } from "./rules.ts";
import * as store from "./store.ts";

/** No product asks for them any more (CUF-05). */
export const customFieldsDeleted = defineSignal<readonly RowKey[]>("custom_field.deleted");

type Created = Input<(typeof customFields)["create"]>["body"];
type Changed = { id: string; body: Input<(typeof customFields)["update"]>["body"] };

/** What speaks for and against the slugs that a batch wants: who has them, and whose answers are still moved away from them. */
async function findSlugs(tx: Tx, organization_id: string, slugs: readonly (string | undefined)[]) {
  const wanted = [...new Set(slugs.filter((slug) => slug !== undefined))];
  const former = await store.findFormerSlugs(tx, organization_id, wanted);
  return {
    names: openNames(await store.findSlugHolders(tx, organization_id, wanted)),
    isFormer: (slug: string, id?: string) => former.some((one) => one.slug === slug && one.id !== id),
  };
}

/** Create custom fields, in as many statements for one as for a thousand. */
export async function createCustomFields(tx: Tx, ctx: Ctx, bodies: readonly Created[]): Promise<Batch<CustomField>> {
  const organization_id = requireOrganization(ctx);
  const created_at = ctx.clock.now();
  const slugs = bodies.map(({ slug }) => slug);
  const { names, isFormer } = await findSlugs(tx, organization_id, slugs);
  const drafts = bodies.map(({ organization_id: _, ...given }) => {
    if (isFormer(given.slug)) return invalid(describeSlugInUse(given.slug));
    const id = createId(created_at);
    if (names.isTaken(given.slug, id)) return invalid(describeTakenSlug(given.slug));
    names.take(given.slug, id, null);
    return { ...given, id, organization_id, created_at };
  });
  // The index decides, so that two at once cannot both have it.
  const rows = mapById(await store.insertCustomFields(tx, listAccepted(drafts)));
  return drafts.map((draft) => {
    if (draft instanceof ApiError) return draft;
    const row = rows.get(draft.id);
    return row ? serializeCustomField(row) : invalid(describeTakenSlug(draft.slug));
  });
}

/** Change custom fields, in as many statements for one as for a thousand. */
export async function updateCustomFields(tx: Tx, ctx: Ctx, changes: readonly Changed[]): Promise<Batch<CustomField>> {
  const organization_id = requireOrganization(ctx);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockCustomFields(tx, organization_id, ids));
  const slugs = changes.map(({ body }) => body.slug);
  const { names, isFormer } = await findSlugs(tx, organization_id, slugs);
  const drafts = changes.map(({ id, body }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const { patch, faults } = planUpdate(row, body, ctx.clock.now());
    const { slug } = patch;
    if (slug !== undefined && names.isTaken(slug, row.id)) faults.push(describeTakenSlug(slug));
    else if (slug !== undefined && isFormer(slug, row.id)) faults.push(describeSlugInUse(slug));
    if (faults.length > 0) return invalid(...faults);
    if (slug === undefined) return { row, patch };
    names.take(slug, row.id, row.slug);
    return { row, patch: { ...patch, former_slugs: [...row.former_slugs, row.slug] } };
  });
  const changed = listAccepted(drafts).filter(({ patch }) => Object.keys(patch).length > 0);
  const updated = mapById(await store.updateCustomFields(tx, changed));
  if (changed.some(({ patch }) => patch.slug !== undefined)) ctx.jobs.wake(tx, "custom_fields.move_answers");
  return mapAccepted(drafts, ({ row }) => serializeCustomField(updated.get(row.id) ?? row));
}

/** Delete custom fields, in as many statements for one as for a thousand. */
export async function deleteCustomFields(tx: Tx, ctx: Ctx, ids: readonly string[]): Promise<Batch<void>> {
  const rows = mapById(await store.lockCustomFields(tx, requireOrganization(ctx), ids));
  const drafts = ids.map((id) => rows.get(id) ?? notFound());
  const deleted = listAccepted(drafts);
  const patch = { deleted_at: ctx.clock.now() };
  await store.updateCustomFields(
    tx,
    deleted.map((row) => ({ row, patch })),
  );
  if (deleted.length > 0) await sendSignal(tx, ctx, customFieldsDeleted, deleted);
  return mapAccepted(drafts, () => {});
}

/** The custom fields of the API. */
export const customFieldService: Service<typeof customFields, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listCustomFields(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeCustomField), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findCustomFields(ctx.db, requireOrganization(ctx), [params.id]);
    if (!row) throw notFound();
    return serializeCustomField(row);
  },
  create: (ctx, { body }) => transact(ctx, async (tx) => getOnly(await createCustomFields(tx, ctx, [body]))),
  update: (ctx, { params, body }) =>
    rejectTaken(body.slug === undefined ? undefined : describeTakenSlug(body.slug), () =>
      transact(ctx, async (tx) => getOnly(await updateCustomFields(tx, ctx, [{ id: params.id, body }]))),
    ),
  delete: (ctx, { params }) => transact(ctx, async (tx) => getOnly(await deleteCustomFields(tx, ctx, [params.id]))),
};
