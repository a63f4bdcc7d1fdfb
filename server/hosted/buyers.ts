/** What signed-in users buy and hold at hosted Polar: the account side's calls, by the user's id as the customer's external id. */
import { api } from "../../shared/api/index.ts";
import { ApiError, fault, invalid } from "../../shared/errors.ts";
import { findUser } from "../checkout/checkouts/store.ts";
import {
  checkPage,
  checkTerms,
  type createForUser,
  getPages,
  readTerms,
} from "../checkout/checkouts/user-checkouts.ts";
import { findOrganization } from "../identity/organizations/store.ts";
import { anonymous, type Ctx } from "../platform/context.ts";
import type { Provider } from "../platform/provider.ts";
import type { Hosted } from "./relay/hosted.ts";

/** The same context, speaking for the linked organization. */
const createSellerContext = (ctx: Ctx, organization_id: string): Ctx => ({
  ...ctx,
  actor: { ...anonymous, kind: "system", organization_id },
});

const ignoreMissing = (error: unknown): undefined => {
  if (error instanceof ApiError && error.status === 404) return undefined;
  throw error;
};

/** Starts a checkout at Polar for who is signed in on the seller's page. */
export const createHostedCheckouts =
  (hosted: Hosted, provider: Provider): typeof createForUser =>
  async (ctx, request, requester) => {
    const { organization_id } = hosted.requireLink();
    const asSeller = createSellerContext(ctx, organization_id);
    if (!requester?.seller_ids.includes(organization_id))
      await checkTerms(request, async (id) => {
        const discount = await provider.discounts.get(asSeller, { params: { id } }).catch(ignoreMissing);
        return discount?.code;
      });
    const products = await findProducts(asSeller, provider, request);
    const buyer = requester ? await findUser(ctx.db, requester.user_id) : undefined;
    const pages = await getPages(ctx, organization_id, request);
    const body = readTerms({ products, ...pages }, request, requester, buyer);
    await checkPage(ctx, organization_id, body.embed_origin);
    const { url } = await provider.checkouts.create(asSeller, { body });
    return { url };
  };

/** The products that a request names: by their ids, or the one whose metadata has the slug. */
async function findProducts(
  ctx: Ctx,
  provider: Provider,
  { products, slug }: Parameters<typeof createForUser>[1],
): Promise<string[]> {
  if (products !== undefined) return [products].flat();
  const query = api.products.list.query.parse({ is_archived: "false", metadata: { slug: slug ?? "" }, limit: 2 });
  const { items } = await provider.products.list(ctx, { query });
  const [found] = items;
  if (!found) throw invalid(fault(["slug"], "Product does not exist."));
  return [found.id];
}

/** Finds the customer at Polar who a user is: none, or the one whose external id is the user's. */
export const createCustomerSearch = (hosted: Hosted, provider: Provider) => async (ctx: Ctx, user_id: string) => {
  const { organization_id } = hosted.requireLink();
  const seller = await findOrganization(ctx.db, organization_id);
  const params = { external_id: user_id };
  const found = await provider.customers
    .getExternal(createSellerContext(ctx, organization_id), { params })
    .catch(ignoreMissing);
  if (!seller || !found) return [];
  const { slug, clock_offset_ms, sandbox, customer_event_names } = seller;
  return [{ customer_id: found.id, organization_id, slug, clock_offset_ms, sandbox, customer_event_names }];
};
