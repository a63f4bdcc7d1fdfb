import type { benefitGrants, listGrants } from "../../../shared/api/benefit-grants.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound, notPermitted } from "../../../shared/errors.ts";
import { findBenefits } from "../../catalog/benefits/store.ts";
import { emitState } from "../../customers/customers/service.ts";
import { type Ctx, requireOrganization, requireOrganizations } from "../../platform/context.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { grantBenefit } from "./engine.ts";
import { serializeGrant } from "./rules.ts";
import * as store from "./store.ts";

/** What customers were given, of the API. */
export const benefitGrantService: Service<typeof benefitGrants, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listGrants(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeGrant), total, query);
  },
  /** Only what has failed is tried again: all else is as it is to be. */
  retry: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const key = { organization_id: requireOrganization(ctx), id: params.id };
      const seen = await store.findGrant(tx, key);
      if (!seen) throw notFound();
      await store.lockHolders(tx, key.organization_id, [seen.row.customer_id]);
      const found = await store.findGrant(tx, key);
      if (!found) throw notFound();
      const { row, customer } = found;
      if (row.revoked_at !== null || row.granted_at !== null || customer.deleted_at !== null)
        throw notPermitted("Only what was to be granted and has failed can be tried again.");
      const after = await grantBenefit(tx, ctx, found);
      if (after.row.granted_at !== null) await emitState(tx, ctx, customer);
      return serializeGrant(after);
    }),
};

/** Who was given a benefit. */
export const benefitGrantsOfBenefit: Service<{ grants: typeof listGrants }, Ctx> = {
  async grants(ctx, { params, query }) {
    const organization_id = requireOrganization(ctx);
    const [benefit] = await findBenefits(ctx.db, organization_id, [params.id]);
    if (!benefit) throw notFound();
    const filter = { ...query, benefit_id: benefit.id, sorting: ["-created_at" as const] };
    const { items, total } = await store.listGrants(ctx.db, [organization_id], filter);
    return buildPage(items.map(serializeGrant), total, query);
  },
};
