import type { portalDownloads, portalKeys } from "../../shared/api/portal-holdings.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import { listFilesOfCustomer } from "../downloads/service.ts";
import type { Ctx } from "../lib/context.ts";
import { pageOf } from "../lib/page.ts";
import { activationOut, keyOut } from "../license-keys/rules.ts";
import { findActivations, findKey, listKeys } from "../license-keys/store.ts";
import { askerOf } from "./access.ts";

/** What customers see of their license keys. */
export const portalKeyService: Service<typeof portalKeys, Ctx> = {
  async list(ctx, { query }) {
    const { organization_id, customer_id } = askerOf(ctx);
    const { items, total } = await listKeys(ctx.db, [organization_id], { ...query, customer_id });
    return pageOf(
      items.map((key) => keyOut(key, ctx.config.secrets)),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const { organization_id, customer_id } = askerOf(ctx);
    const found = await findKey(ctx.db, { organization_id, id: params.id });
    if (found?.row.customer_id !== customer_id) throw notFound();
    const activations = (await findActivations(ctx.db, found.row)).map(activationOut);
    return { ...keyOut(found, ctx.config.secrets), activations };
  },
};

/** What customers may download. */
export const portalDownloadService: Service<typeof portalDownloads, Ctx> = {
  list: (ctx, { query }) => listFilesOfCustomer(ctx, askerOf(ctx), query),
};
