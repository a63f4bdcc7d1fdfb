import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { Storefront } from "../../../shared/api/storefront.ts";
import { pickLanguage, readLocale } from "../../../shared/locales.ts";
import { type PageContent, requestPage, selectLanguage } from "./checkout-page.ts";

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
  const { theme } = request.query as Record<string, unknown>;
  return {
    status: 200,
    lang: pickLanguage(readLocale(selectLanguage(request)), languages).language,
    title: storefront.sellers.length === 1 ? seller.name : "floe",
    meta: {},
    shell: "",
    given: { storefront },
    ancestors: "'none'",
    embedded: false,
    theme: theme === "light" || theme === "dark" ? theme : undefined,
  };
}
