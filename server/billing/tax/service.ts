import type { tax } from "../../../shared/api/tax.ts";
import type { Service } from "../../../shared/contract.ts";
import { invalid, notFound } from "../../../shared/errors.ts";
import { type Ctx, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import {
  buildPlaceTakenError,
  describeRates,
  planRegistration,
  planUpdate,
  serializeRegistration,
} from "./registrations.ts";
import * as store from "./store.ts";

const getKey = (ctx: Ctx, id: string) => ({ organization_id: requireOrganization(ctx), id });

/** Tax registrations and rates of the API. */
export const taxService: Service<typeof tax, Ctx> = {
  async listRegistrations(ctx, { query }) {
    const { items, total } = await store.listRegistrations(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeRegistration), total, query);
  },
  async getRegistration(ctx, { params }) {
    const row = await store.findRegistration(ctx.db, getKey(ctx, params.id));
    if (!row) throw notFound();
    return serializeRegistration(row);
  },
  createRegistration: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const now = ctx.clock.now();
      const { values, faults } = planRegistration(body, now);
      if (faults.length > 0) throw invalid(...faults);
      const owned = { ...getKey(ctx, createId(now)), created_at: now, modified_at: null };
      const row = await store.insertRegistration(tx, { ...owned, ...values });
      if (!row) throw invalid(buildPlaceTakenError(values));
      return serializeRegistration(row);
    }),
  updateRegistration: (ctx, { params, body }) =>
    transact(ctx, async (tx) => {
      const row = await store.lockRegistration(tx, getKey(ctx, params.id));
      if (!row) throw notFound();
      const now = ctx.clock.now();
      const { patch, faults } = planUpdate(row, body, now);
      if (faults.length > 0) throw invalid(...faults);
      if (Object.keys(patch).length === 0) return serializeRegistration(row);
      return serializeRegistration(await store.updateRegistration(tx, row, { ...patch, modified_at: now }));
    }),
  deleteRegistration: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      if (!(await store.deleteRegistration(tx, getKey(ctx, params.id)))) throw notFound();
    }),
  async rates(ctx, { query }) {
    const registrations = await store.loadRegistrations(ctx.db, requireOrganization(ctx));
    return describeRates(query.country, query.state, registrations, ctx.clock.now());
  },
};
