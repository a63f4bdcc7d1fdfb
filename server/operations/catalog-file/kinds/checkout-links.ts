import { api } from "../../../../shared/api/index.ts";
import { serializeLink } from "../../../checkout/links/rules.ts";
import { createLinks, deleteLinks, updateLinks } from "../../../checkout/links/service.ts";
import { findLinks } from "../../../checkout/links/store.ts";
import { checkoutLinks } from "../../../checkout/links/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedCheckoutLinks: ServedKind<"checkout_links"> = {
  source: {
    table: checkoutLinks,
    id: checkoutLinks.id,
    organization_id: checkoutLinks.organization_id,
    marks: [checkoutLinks.label],
  },
  read: async (db, ctx, organization_id, ids) =>
    (await findLinks(db, organization_id, ids)).map((whole) => serializeLink(whole, ctx.config)),
  create: createLinks,
  update: updateLinks,
  remove: deleteLinks,
  shapes: api.checkoutLinks,
};
