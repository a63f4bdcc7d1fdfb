import type { portalDownloads, portalKeys } from "../../shared/api/portal-holdings.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import { listFilesOfCustomer } from "../entitlements/downloads/service.ts";
import { type LicensedKey, serializeActivation, serializeKey } from "../entitlements/license-keys/rules.ts";
import { replaceKey } from "../entitlements/license-keys/service.ts";
import { findActivations, findKey, listKeys, lockKey } from "../entitlements/license-keys/store.ts";
import type { Ctx } from "../platform/context.ts";
import { buildPage } from "../platform/db/page.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { getAsker, limitToOwn } from "./access.ts";
import { findBenefitsOfMember } from "./store.ts";

/** A key of the asker's, or of the team's that they see all of. */
function checkOwnKey(ctx: Ctx, found: LicensedKey | undefined): LicensedKey {
  const own = limitToOwn(ctx);
  if (found?.row.customer_id !== getAsker(ctx).customer_id || (own !== null && found.row.member_id !== own))
    throw notFound();
  return found;
}

/** What customers see of their license keys, and do with them. */
export const portalKeyService: Service<typeof portalKeys, Ctx> = {
  async list(ctx, { query }) {
    const { organization_id, customer_id } = getAsker(ctx);
    const { items, total } = await listKeys(ctx.db, [organization_id], {
      ...query,
      customer_id,
      member_id: limitToOwn(ctx) ?? undefined,
    });
    return buildPage(
      items.map((key) => serializeKey(key, ctx.config.secrets)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const { organization_id } = getAsker(ctx);
    const found = checkOwnKey(ctx, await findKey(ctx.db, { organization_id, id: params.id }));
    const activations = (await findActivations(ctx.db, found.row)).map(serializeActivation);
    return { ...serializeKey(found, ctx.config.secrets), activations };
  },
  /** Another text for a key that has become known, without asking the seller; what counts goes on. */
  rotate: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      const { organization_id } = getAsker(ctx);
      return replaceKey(tx, ctx, checkOwnKey(ctx, await lockKey(tx, { organization_id, id: params.id })));
    }),
};

/** What customers may download. */
export const portalDownloadService: Service<typeof portalDownloads, Ctx> = {
  async list(ctx, { query }) {
    const own = limitToOwn(ctx);
    if (own === null) return listFilesOfCustomer(ctx, getAsker(ctx), query);
    const theirs = await findBenefitsOfMember(ctx.db, getAsker(ctx).organization_id, own);
    const asked = query.benefit_id ? theirs.filter((id) => query.benefit_id?.includes(id)) : theirs;
    // A list that is empty would be no filter.
    if (asked.length === 0) return buildPage([], 0, query);
    return listFilesOfCustomer(ctx, getAsker(ctx), { ...query, benefit_id: asked });
  },
};
