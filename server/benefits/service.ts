import type { Benefit, benefits } from "../../shared/api/benefits.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound, notPermitted } from "../../shared/errors.ts";
import { type Ctx, organizationOf } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { benefitOut, checkNamed, namedBy, planUpdate } from "./rules.ts";
import * as store from "./store.ts";

/** The benefits of the API. */
export const benefitService: Service<typeof benefits, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listBenefits(ctx.db, organizationOf(ctx), query);
    return pageOf(items.map(benefitOut), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findBenefits(ctx.db, organizationOf(ctx), [params.id]);
    if (!row) throw notFound();
    return benefitOut(row);
  },
  create: (ctx, { body }) =>
    ctx.db.transaction(async (tx) => {
      const organization_id = organizationOf(ctx);
      const { type, description, metadata, properties } = body;
      const named = namedBy(type, properties);
      const faults = checkNamed(named, await store.findNamed(tx, organization_id, named));
      if (faults.length > 0) throw invalid(...faults);
      const row = await store.insertBenefit(tx, {
        id: newId(),
        organization_id,
        created_at: ctx.clock.now(),
        type,
        description,
        metadata,
        visibility: body.visibility ?? "public",
        properties: properties as Benefit["properties"],
      });
      const out = benefitOut(row);
      await emit(tx, ctx, organization_id, "benefit.created", out);
      return out;
    }),
  update: (ctx, { params, body }) =>
    ctx.db.transaction(async (tx) => {
      const organization_id = organizationOf(ctx);
      const row = await store.lockBenefit(tx, organization_id, params.id);
      if (!row) throw notFound();
      const { patch, faults } = planUpdate(row, body);
      if (patch.properties) {
        const named = namedBy(row.type, patch.properties);
        faults.push(...checkNamed(named, await store.findNamed(tx, organization_id, named)));
      }
      if (faults.length > 0) throw invalid(...faults);
      const same = Object.keys(patch).length === 0;
      const changed = same ? row : await store.updateBenefit(tx, row.id, { ...patch, modified_at: ctx.clock.now() });
      const out = benefitOut(changed);
      await emit(tx, ctx, organization_id, "benefit.updated", out);
      return out;
    }),
  delete: (ctx, { params }) =>
    ctx.db.transaction(async (tx) => {
      const organization_id = organizationOf(ctx);
      const row = await store.lockBenefit(tx, organization_id, params.id);
      if (!row) throw notFound();
      if (!row.deletable) throw notPermitted("This benefit cannot be deleted.");
      const now = ctx.clock.now();
      const gone = await store.updateBenefit(tx, row.id, { deleted_at: now, modified_at: now });
      await store.detach(tx, row.id);
      await emit(tx, ctx, organization_id, "benefit.updated", benefitOut(gone));
    }),
};
