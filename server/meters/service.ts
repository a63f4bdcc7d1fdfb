import type { meters } from "../../shared/api/meters.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound } from "../../shared/errors.ts";
import { type Ctx, organizationOf, organizationsOf } from "../lib/context.ts";
import { newId } from "../lib/ids.ts";
import { pageOf } from "../lib/page.ts";
import { transact } from "../lib/unit-of-work.ts";
import { checkUpdate, meterOut, planUpdate } from "./rules.ts";
import * as store from "./store.ts";

/** The meters of the API. */
export const meterService: Service<typeof meters, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listMeters(ctx.db, organizationsOf(ctx), query);
    return pageOf(items.map(meterOut), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findMeters(ctx.db, organizationOf(ctx), [params.id]);
    if (!row) throw notFound();
    return meterOut(row);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const { organization_id: _, custom_label = null, custom_multiplier = null, ...given } = body;
      const values = { ...given, custom_label, custom_multiplier };
      const owned = { id: newId(ctx.clock.now()), organization_id: organizationOf(ctx), created_at: ctx.clock.now() };
      return meterOut(await store.insertMeter(tx, { ...values, ...owned }));
    }),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockMeter(tx, organizationOf(ctx), params.id);
      if (!row) throw notFound();
      const use = body.is_archived ? await store.usesOf(tx, row) : { priced: false, credited: false };
      const faults = checkUpdate(row, body, use);
      if (faults.length > 0) throw invalid(...faults);
      const patch = planUpdate(row, body, ctx.clock.now());
      return meterOut(Object.keys(patch).length === 0 ? row : await store.updateMeter(tx, row, patch));
    }),
};
