import type { z } from "zod";
import type { Benefit } from "../../shared/api/benefits.ts";
import type { CustomerOrganization } from "../../shared/api/portal.ts";
import type { CustomerBenefitGrant, portalGrants } from "../../shared/api/portal-grants.ts";
import type { Service } from "../../shared/contract.ts";
import { fault, invalid, notFound, notPermitted } from "../../shared/errors.ts";
import { serializeBenefit } from "../catalog/benefits/rules.ts";
import { type AccountRow, findAccount } from "../customers/linked-accounts/store.ts";
import { regrantBenefit, suspendGrant } from "../entitlements/grants/engine.ts";
import { describeMissingAccount } from "../entitlements/grants/kinds/external.ts";
import { getExternalProvider } from "../entitlements/grants/kinds/index.ts";
import { type Grant, serializeGrant } from "../entitlements/grants/rules.ts";
import { findGrant, lockHolders } from "../entitlements/grants/store.ts";
import type { Ctx, Database, Tx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { findOwnAccounts, findSellerOf, getAsker, limitToOwn } from "./access.ts";
import { serializePortalCustomer, serializePortalOrganization } from "./rules.ts";
import { listOwnGrants } from "./store.ts";

/** What a kind says of itself to those who have it: no secrets of the seller's. */
function toPublicProperties(benefit: Benefit): unknown {
  if (benefit.type === "discord") return { guild_id: benefit.properties.guild_id };
  if (benefit.type === "downloadables") {
    const { files, archived } = benefit.properties;
    return { active_files: files.filter((id) => !archived[id]) };
  }
  return benefit.properties;
}

function show(given: Grant, organization: CustomerOrganization, accounts: readonly AccountRow[]): CustomerBenefitGrant {
  const { benefit, customer } = given;
  const { member: _, ...grant } = serializeGrant(given);
  const kind = serializeBenefit(benefit);
  const shown = { ...kind, organization, properties: toPublicProperties(kind) };
  // Each kind has the shape of its own, which its properties were checked by.
  return { ...grant, customer: serializePortalCustomer(customer, accounts), benefit: shown } as CustomerBenefitGrant;
}

/** Something that the asker was given. */
async function findOwn(ctx: Ctx, id: string, db: Database = ctx.db): Promise<Grant> {
  const { organization_id, customer_id } = getAsker(ctx);
  const found = await findGrant(db, { organization_id, id });
  const own = limitToOwn(ctx);
  if (found?.row.customer_id !== customer_id || (own !== null && found.row.member_id !== own)) throw notFound();
  return found;
}

const getOrganization = async (ctx: Ctx) => serializePortalOrganization(await findSellerOf(ctx));

const showOne = async (ctx: Ctx, id: string): Promise<CustomerBenefitGrant> =>
  show(await findOwn(ctx, id), await getOrganization(ctx), await findOwnAccounts(ctx));

/** Say to which account something is to be given, or that it is to be given to none for now (BEN-80). */
async function chooseAccount(tx: Tx, ctx: Ctx, id: string, body: Choice): Promise<void> {
  const { organization_id, customer_id } = getAsker(ctx);
  await findOwn(ctx, id, tx);
  await lockHolders(tx, organization_id, [customer_id]);
  const found = await findOwn(ctx, id, tx);
  if (found.row.revoked_at !== null && Object.keys(body).length > 0) throw notPermitted("This was taken back.");
  const { benefit_type, properties } = body;
  if (benefit_type !== undefined && benefit_type !== found.benefit.type)
    throw invalid(fault(["benefit_type"], "This is of another kind.", "value_error", benefit_type));
  const account_id = properties?.account_id;
  if (account_id === undefined) return;
  const outside = Object.values(getExternalProvider).find(({ type }) => type === found.benefit.type);
  const { error, access_id, properties: had } = found.row;
  if (account_id === null) {
    if (outside && access_id !== null) await suspendGrant(tx, ctx, found, describeMissingAccount(outside.platform));
    return;
  }
  const account = outside && (await findAccount(tx, found.row, outside.platform));
  if (account?.account_number !== account_id)
    throw invalid(fault(["properties", "account_id"], "This account is not connected.", "value_error"));
  if (error !== null || had.account_id !== account_id) await regrantBenefit(tx, ctx, found);
}
type Choice = z.output<typeof portalGrants.update.body>;

/** What customers do with what they were given (CUP-21). */
export const portalGrantService: Service<typeof portalGrants, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listOwnGrants(ctx.db, getAsker(ctx), { ...query, own_only: limitToOwn(ctx) });
    const [organization, accounts] = [await getOrganization(ctx), await findOwnAccounts(ctx)];
    return buildPage(
      items.map((grant) => show(grant, organization, accounts)),
      total,
      query,
    );
  },
  get: (ctx, { params }) => showOne(ctx, params.id),
  async update(ctx, { params, body }) {
    await transact(ctx, (tx) => chooseAccount(tx, ctx, params.id, body));
    return showOne(ctx, params.id);
  },
};
