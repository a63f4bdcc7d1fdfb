import type { organizations } from "../../shared/api/organizations.ts";
import type { Service } from "../../shared/contract.ts";
import { invalid, notFound, notPermitted } from "../../shared/errors.ts";
import { type Ctx, organizationOf } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { pageOf } from "../lib/page.ts";
import { checkUpdate, organizationOut, planUpdate } from "./rules.ts";
import { findOrganization, listOrganizations, lockOrganization, updateOrganization } from "./store.ts";

/** The organizations of the API. They are made on the account side, so there is no create. */
export const organizationService: Service<typeof organizations, Ctx> = {
  async list(ctx, { query }) {
    const { user_id } = ctx.actor;
    const whose = user_id === null ? { organization_id: organizationOf(ctx) } : { user_id };
    const { items, total } = await listOrganizations(ctx.db, whose, query);
    return pageOf(items.map(organizationOut), total, query);
  },
  async get(ctx, { params }) {
    const row = await findOrganization(ctx.db, ownId(ctx, params.id));
    if (!row) throw notFound();
    return organizationOut(row);
  },
  update: (ctx, { params, body }) =>
    ctx.db.transaction(async (tx) => {
      const row = await lockOrganization(tx, ownId(ctx, params.id));
      if (!row) throw notFound();
      if (body.dispute_settings?.auto_accept_below_amount)
        throw notPermitted("Automatic acceptance of disputes is not enabled.");
      const faults = checkUpdate(row, body);
      if (faults.length > 0) throw invalid(...faults);
      const now = ctx.clock.now();
      const patch = planUpdate(row, body, now);
      const changed =
        Object.keys(patch).length === 0 ? row : await updateOrganization(tx, row.id, { ...patch, modified_at: now });
      const out = organizationOut(changed);
      await emit(tx, ctx, row.id, "organization.updated", out);
      return out;
    }),
};

/** The id, if it is the one of the organization that the request speaks for. */
function ownId(ctx: Ctx, id: string): string {
  const own = organizationOf(ctx);
  if (id.toLowerCase() !== own.toLowerCase()) throw notFound();
  return own;
}
