import { api } from "../../../shared/api/index.ts";
import { serializeProduct } from "../../products/rules.ts";
import { createProducts, productService } from "../../products/service.ts";
import { findProducts } from "../../products/store.ts";
import { products } from "../../products/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedProducts: ServedKind<"products"> = {
  source: { table: products, id: products.id, organization_id: products.organization_id, marks: [products.name] },
  read: async (db, ctx, organization_id, ids) =>
    (await findProducts(db, organization_id, ids)).map((row) => serializeProduct(row, ctx.config.media_url)),
  create: (_, ctx, body) => productService.create(ctx, { body }),
  createMany: createProducts,
  update: (_, ctx, id, body) => productService.update(ctx, { params: { id }, body }),
  shapes: api.products,
  async finish(ctx, id, changes, ids) {
    const given = changes.find(({ field }) => field === "benefits")?.to;
    if (!Array.isArray(given)) return;
    const benefits = given.map((one) => ids.idOf("benefits", String(one)));
    await productService.setBenefits(ctx, { params: { id }, body: { benefits } });
  },
};
