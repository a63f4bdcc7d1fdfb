import type { customFields } from "../../shared/api/custom-fields.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, requireOrganization, requireOrganizations } from "../lib/context.ts";
import { createId } from "../lib/ids.ts";
import { buildPage } from "../lib/page.ts";
import { defineSignal, sendSignal } from "../lib/reactions.ts";
import type { RowKey } from "../lib/rows.ts";
import { refuseTaken } from "../lib/unique.ts";
import { transact } from "../lib/unit-of-work.ts";
import { describeSlugInUse, describeTakenSlug, planUpdate, serializeCustomField } from "./rules.ts";
import * as store from "./store.ts";

/** No product asks for it any more (CUF-05). */
export const customFieldDeleted = defineSignal<RowKey>("custom_field.deleted");

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
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const { organization_id: _, ...given } = body;
      const owned = {
        id: createId(ctx.clock.now()),
        organization_id: requireOrganization(ctx),
        created_at: ctx.clock.now(),
      };
      if (await store.isSlugFormer(tx, owned.organization_id, given.slug)) throw invalid(describeSlugInUse(given.slug));
      // The index decides, so that two at once cannot both have it.
      const row = await store.insertCustomField(tx, { ...given, ...owned });
      if (!row) throw invalid(describeTakenSlug(given.slug));
      return serializeCustomField(row);
    }),
  update: (ctx, { params, body }) =>
    refuseTaken(body.slug === undefined ? undefined : describeTakenSlug(body.slug), () =>
      transact(ctx, async (tx) => {
        const row = await store.lockCustomField(tx, requireOrganization(ctx), params.id);
        if (!row) throw notFound();
        const { patch, faults } = planUpdate(row, body, ctx.clock.now());
        if (patch.slug !== undefined && (await store.isSlugTaken(tx, row.organization_id, patch.slug, row.id)))
          faults.push(describeTakenSlug(patch.slug));
        else if (patch.slug !== undefined && (await store.isSlugFormer(tx, row.organization_id, patch.slug, row.id)))
          faults.push(describeSlugInUse(patch.slug));
        if (faults.length > 0) throw invalid(...faults);
        if (Object.keys(patch).length === 0) return serializeCustomField(row);
        const former_slugs = patch.slug === undefined ? [] : [...row.former_slugs, row.slug];
        const changed = await store.updateCustomField(tx, row, { ...patch, ...(patch.slug && { former_slugs }) });
        if (patch.slug !== undefined) ctx.jobs.wake(tx, "custom_fields.move_answers");
        return serializeCustomField(changed);
      }),
    ),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockCustomField(tx, requireOrganization(ctx), params.id);
      if (!row) throw notFound();
      await store.updateCustomField(tx, row, { deleted_at: ctx.clock.now() });
      await sendSignal(tx, ctx, customFieldDeleted, row);
    }),
};
