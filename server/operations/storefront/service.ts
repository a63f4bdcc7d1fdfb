import type { Storefront, storefront } from "../../../shared/api/storefront.ts";
import type { Service } from "../../../shared/contract.ts";
import { checkoutLinkService } from "../../checkout/links/service.ts";
import { serializeCheckoutOrganization } from "../../identity/organizations/rules.ts";
import { anonymous, type Ctx } from "../../platform/context.ts";
import * as store from "./store.ts";

type Product = Storefront["sellers"][number]["products"][number];

/** The first links of all sellers together: a storefront is one page. */
const linksMax = 100;

/** What everybody may see: the public products of sellers that switched their storefront on, with their checkout links. */
export const storefrontService: Service<typeof storefront, Ctx> = {
  async get(ctx) {
    const sellers = await store.listStorefrontSellers(ctx.db);
    const products = await loadProducts(
      ctx,
      sellers.map(({ id }) => id),
    );
    return {
      sellers: sellers.flatMap((row) => {
        const { name, slug, website, branding } = serializeCheckoutOrganization(row);
        const own = products.get(row.id) ?? [];
        return own.length === 0 ? [] : [{ name, slug, website, branding, products: own }];
      }),
    };
  },
};

/** The public products that a link sells first, by their sellers; of several links of a product the oldest counts. */
async function loadProducts(ctx: Ctx, organization_ids: string[]): Promise<Map<string, Product[]>> {
  const bySeller = new Map<string, Product[]>();
  if (organization_ids.length === 0) return bySeller;
  const reader = { ...ctx, actor: { ...anonymous, organization_ids } };
  const query = { page: 1, limit: linksMax, sorting: ["created_at" as const] };
  const { items } = await checkoutLinkService.list(reader, { query });
  for (const { organization_id, products, url } of items) {
    const [product] = products;
    const own = bySeller.get(organization_id) ?? [];
    const isShown = product?.visibility === "public" && !product.is_archived;
    if (!isShown || own.some(({ id }) => id === product.id)) continue;
    const { id, name, description, recurring_interval, prices, medias } = product;
    const picture = medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url ?? null;
    const offered = prices.filter((price) => !price.is_archived);
    own.push({ id, name, description, recurring_interval, prices: offered, picture, url });
    bySeller.set(organization_id, own);
  }
  return bySeller;
}
