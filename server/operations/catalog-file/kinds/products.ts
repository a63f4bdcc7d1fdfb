import { api } from "../../../../shared/api/index.ts";
import { serializeProduct } from "../../../catalog/products/rules.ts";
import { createProducts, setBenefits, updateProducts } from "../../../catalog/products/service.ts";
import { findProducts } from "../../../catalog/products/store.ts";
import { products } from "../../../catalog/products/tables.ts";
import { mapInParts } from "../../../platform/jobs/heavy-work.ts";
import type { ServedKind } from "./kind.ts";

export const servedProducts: ServedKind<"products"> = {
  source: { table: products, id: products.id, organization_id: products.organization_id, marks: [products.name] },
  read: async (db, ctx, organization_id, ids) =>
    mapInParts(await findProducts(db, organization_id, ids), (row) => serializeProduct(row, ctx.config.media_url)),
  create: createProducts,
  update: updateProducts,
  shapes: api.products,
  readRest(changes, ids) {
    const given = changes.find(({ field }) => field === "benefits")?.to;
    return Array.isArray(given) ? { benefits: given.map((one) => ids.idOf("benefits", String(one))) } : undefined;
  },
  setRest: (tx, ctx, wanted) =>
    setBenefits(
      tx,
      ctx,
      wanted.map(({ id, rest }) => ({ id, ...rest })),
    ),
};
