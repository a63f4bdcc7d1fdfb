import type { Benefit } from "../../shared/api/benefits.ts";
import type { CustomerOrganization } from "../../shared/api/portal.ts";
import type { CustomerBenefitGrant, portalGrants } from "../../shared/api/portal-grants.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound, notPermitted } from "../../shared/errors.ts";
import { benefitOut } from "../benefits/rules.ts";
import { type Grant, grantOut } from "../grants/rules.ts";
import { findGrant } from "../grants/store.ts";
import type { Ctx } from "../lib/context.ts";
import { pageOf } from "../lib/page.ts";
import { askerOf, findSellerOf } from "./access.ts";
import { portalCustomerOut, portalOrganizationOut } from "./rules.ts";
import { listOwnGrants } from "./store.ts";

/** What a kind says of itself to those who have it: no secrets of the seller's. */
function shownProperties(benefit: Benefit): unknown {
  if (benefit.type === "discord") return { guild_id: benefit.properties.guild_id };
  if (benefit.type === "downloadables") {
    const { files, archived } = benefit.properties;
    return { active_files: files.filter((id) => !archived[id]) };
  }
  return benefit.properties;
}

function show({ row, benefit, customer }: Grant, organization: CustomerOrganization): CustomerBenefitGrant {
  const { member: _, ...grant } = grantOut({ row, benefit, customer });
  const kind = benefitOut(benefit);
  const shown = { ...kind, organization, properties: shownProperties(kind) };
  // Each kind has the shape of its own, which its properties were checked by.
  return { ...grant, customer: portalCustomerOut(customer), benefit: shown } as CustomerBenefitGrant;
}

/** Something that the asker was given. */
async function findOwn(ctx: Ctx, id: string): Promise<Grant> {
  const { organization_id, customer_id } = askerOf(ctx);
  const found = await findGrant(ctx.db, { organization_id, id });
  if (found?.row.customer_id !== customer_id) throw notFound();
  return found;
}

const organizationOf = async (ctx: Ctx) => portalOrganizationOut(await findSellerOf(ctx));

/** What customers do with what they were given (CUP-21). */
export const portalGrantService: Service<typeof portalGrants, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listOwnGrants(ctx.db, askerOf(ctx), query);
    const organization = await organizationOf(ctx);
    return pageOf(
      items.map((grant) => show(grant, organization)),
      total,
      query,
    );
  },
  get: async (ctx, { params }) => show(await findOwn(ctx, params.id), await organizationOf(ctx)),
  async update(ctx, { params, body }) {
    const found = await findOwn(ctx, params.id);
    if (found.row.revoked_at !== null && Object.keys(body).length > 0) throw notPermitted("This was taken back.");
    const { benefit_type, properties } = body;
    if (benefit_type !== undefined && benefit_type !== found.benefit.type)
      throw invalid(fault(["benefit_type"], "This is of another kind.", "value_error", benefit_type));
    // No account is known here before it is connected.
    if (properties?.account_id)
      throw invalid(fault(["properties", "account_id"], "This account is not connected.", "value_error"));
    return show(found, await organizationOf(ctx));
  },
};
