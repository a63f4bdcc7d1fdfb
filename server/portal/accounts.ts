import { platforms, type portalAccounts } from "../../shared/api/portal-accounts.ts";
import type { Service } from "../../shared/contract.ts";
import { notFound } from "../../shared/errors.ts";
import { beginConnecting, disconnect } from "../customers/linked-accounts/service.ts";
import type { Ctx } from "../platform/context.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { getAccountOwner, getAsker } from "./access.ts";

/** What customers do with their accounts elsewhere (CUP-23). */
export const portalAccountService: Service<typeof portalAccounts, Ctx> = {
  authorize: (ctx, { query }) => beginConnecting(ctx, getAsker(ctx), query),
  async delete(ctx, { params }) {
    const platform = platforms.find((one) => one === params.platform);
    if (!platform) throw notFound();
    await transact(ctx, (tx) => disconnect(tx, ctx, getAccountOwner(ctx), platform));
  },
};
