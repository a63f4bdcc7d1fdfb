import type { customFields } from "../../shared/api/custom-fields.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, organizationOf, organizationsOf } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { defineSignal, signal } from "../lib/reactions.ts";
import type { RowKey } from "../lib/rows.ts";
import { orTaken } from "../lib/unique.ts";
import { transact } from "../lib/unit-of-work.ts";
import { customFieldOut, planUpdate, slugInUse, slugTaken } from "./rules.ts";
import * as store from "./store.ts";

/** No product asks for it any more (CUF-05). */
export const customFieldDeleted = defineSignal<RowKey>("custom_field.deleted");

/** The custom fields of the API. */
export const customFieldService: Service<typeof customFields, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listCustomFields(ctx.db, organizationsOf(ctx), query);
    return pageOf(items.map(customFieldOut), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findCustomFields(ctx.db, organizationOf(ctx), [params.id]);
    if (!row) throw notFound();
    return customFieldOut(row);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const { organization_id: _, ...given } = body;
      const owned = { id: newId(ctx.clock.now()), organization_id: organizationOf(ctx), created_at: ctx.clock.now() };
      if (await store.isSlugFormer(tx, owned.organization_id, given.slug)) throw invalid(slugInUse(given.slug));
      // The index decides, so that two at once cannot both have it.
      const row = await store.insertCustomField(tx, { ...given, ...owned });
      if (!row) throw invalid(slugTaken(given.slug));
      return customFieldOut(row);
    }),
  update: (ctx, { params, body }) =>
    orTaken(body.slug === undefined ? undefined : slugTaken(body.slug), () =>
      transact(ctx, async (tx) => {
        const row = await store.lockCustomField(tx, organizationOf(ctx), params.id);
        if (!row) throw notFound();
        const { patch, faults } = planUpdate(row, body, ctx.clock.now());
        if (patch.slug !== undefined && (await store.isSlugTaken(tx, row.organization_id, patch.slug, row.id)))
          faults.push(slugTaken(patch.slug));
        else if (patch.slug !== undefined && (await store.isSlugFormer(tx, row.organization_id, patch.slug, row.id)))
          faults.push(slugInUse(patch.slug));
        if (faults.length > 0) throw invalid(...faults);
        if (Object.keys(patch).length === 0) return customFieldOut(row);
        const former_slugs = patch.slug === undefined ? [] : [...row.former_slugs, row.slug];
        const changed = await store.updateCustomField(tx, row, { ...patch, ...(patch.slug && { former_slugs }) });
        if (patch.slug !== undefined) ctx.jobs.wake(tx, "custom_fields.move_answers");
        return customFieldOut(changed);
      }),
    ),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockCustomField(tx, organizationOf(ctx), params.id);
      if (!row) throw notFound();
      await store.updateCustomField(tx, row, { deleted_at: ctx.clock.now() });
      await signal(tx, ctx, customFieldDeleted, row);
    }),
};
