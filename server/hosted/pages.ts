import type { FastifyInstance } from "fastify";
import { ApiError } from "../../shared/errors.ts";
import { anonymous, type Deps } from "../platform/context.ts";
import { limitOpen } from "../platform/http/limits.ts";
import { createRequestContext } from "../platform/http/mount.ts";
import type { Provider } from "../platform/provider.ts";
import type { Hosted } from "./relay/hosted.ts";

/** Where Polar's pages are, by the address of its API; elsewhere they are at the same address. */
const pagesByApi: Readonly<Record<string, string>> = {
  "https://api.polar.sh": "https://polar.sh",
  "https://sandbox-api.polar.sh": "https://sandbox.polar.sh",
};

/**
 * The pages of a checkout and of the portal lead to those of Polar, with the query that they were opened with. What Polar does
 * not know is shown by floe's own page, which says so.
 */
export function routePages(app: FastifyInstance, deps: Deps, hosted: Hosted, provider: Provider): void {
  const limit = limitOpen(deps);
  const origin = pagesByApi[hosted.polar.url.replace(/\/+$/, "")] ?? new URL(hosted.polar.url).origin;

  async function findPage(path: string, ctx: Parameters<typeof provider.checkoutClient.get>[0]) {
    const [, client_secret] = /^\/checkout\/([\w-]{1,200})(?:\/confirmation)?\/?$/.exec(path) ?? [];
    if (client_secret !== undefined) return (await provider.checkoutClient.get(ctx, { params: { client_secret } })).url;
    const [, slug] = /^\/([\w-]{1,200})\/portal\/?$/.exec(path) ?? [];
    if (slug === undefined) return undefined;
    const { organization } = await provider.customerPortal.getOrganization(ctx, { params: { slug } });
    return `${origin}/${encodeURIComponent(organization.slug)}/portal`;
  }

  app.addHook("onRequest", async (request, reply) => {
    const [path = "", query] = request.url.split(/\?(.*)/s);
    if (request.method !== "GET" || !/^\/checkout\/|\/portal\/?$/.test(path) || path.startsWith("/api/")) return;
    await limit(request);
    const ctx = createRequestContext(deps, request, anonymous);
    const page = await findPage(path, ctx).catch((error: unknown) => {
      if (error instanceof ApiError && error.status < 500) return undefined;
      throw error;
    });
    const target = page !== undefined && URL.canParse(page) ? new URL(page) : undefined;
    if (!target || !/^https?:$/.test(target.protocol)) return;
    for (const [name, value] of new URLSearchParams(query ?? "")) target.searchParams.append(name, value);
    reply.header("Cache-Control", "no-store");
    return reply.redirect(target.href, 303);
  });
}
