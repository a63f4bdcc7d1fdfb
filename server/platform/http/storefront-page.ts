import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { Storefront } from "../../../shared/api/storefront.ts";
import { buildPage, type PageContent, requestPage } from "./checkout-page.ts";

/** The storefront for a visitor, with its data; nothing if no seller shows products. */
export async function readStorefrontPage(
  app: FastifyInstance,
  request: FastifyRequest,
  languages: readonly string[],
): Promise<PageContent | undefined> {
  const answer = await requestPage(app, request, "/v1/storefront");
  const json: unknown = answer.statusCode === 200 ? answer.json() : null;
  const storefront = json as z.input<typeof Storefront>;
  const [seller] = Storefront.safeDecode(storefront).data?.sellers ?? [];
  if (!seller) return undefined;
  const title = storefront.sellers.length === 1 ? seller.name : "floe";
  return buildPage(request, languages, { title, shell: "", given: { storefront } });
}
