import { isNull } from "drizzle-orm";
import { api } from "../../../../shared/api/index.ts";
import { serializeDiscount } from "../../../catalog/discounts/rules.ts";
import { createDiscounts, deleteDiscounts, updateDiscounts } from "../../../catalog/discounts/service.ts";
import { findDiscounts } from "../../../catalog/discounts/store.ts";
import { discounts } from "../../../catalog/discounts/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedDiscounts: ServedKind<"discounts"> = {
  source: {
    table: discounts,
    id: discounts.id,
    organization_id: discounts.organization_id,
    alive: isNull(discounts.deleted_at),
    marks: [discounts.name, discounts.code],
  },
  read: async (db, _, organization_id, ids) => (await findDiscounts(db, organization_id, ids)).map(serializeDiscount),
  create: createDiscounts,
  update: updateDiscounts,
  remove: deleteDiscounts,
  shapes: api.discounts,
};
