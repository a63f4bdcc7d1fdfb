import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { CustomerOrganizationData } from "../../../shared/api/portal.ts";
import { buildPage, drawSeller, type PageContent, renderGhost, requestPage } from "./checkout-page.ts";

type Seller = z.input<typeof CustomerOrganizationData>;

/** The place's frame with whose it is, where the page will put that. What the customer has is asked for by the page. */
const drawShell = ({ organization }: Seller): string =>
  `<div class="shell wide" aria-busy="true"><header>${drawSeller(organization)}</header><main><div class="card stack" aria-hidden="true">${renderGhost("title")}${renderGhost("input").repeat(2)}</div></main></div>`;

/** Read whose customers a page is for, as the page itself would; nothing where it has to say what is wrong. */
export async function readPortalPage(
  app: FastifyInstance,
  request: FastifyRequest<{ Params: { slug: string } }>,
  languages: readonly string[],
): Promise<PageContent | undefined> {
  const path = `/v1/customer-portal/organizations/${encodeURIComponent(request.params.slug)}`;
  const answer = await requestPage(app, request, path);
  const json: unknown = answer.statusCode === 200 ? answer.json() : null;
  // Another provider's answer may lack what is drawn here.
  if (!CustomerOrganizationData.safeDecode(json as Seller).success) return undefined;
  const seller = json as Seller;
  return buildPage(request, languages, {
    title: seller.organization.name,
    shell: drawShell(seller),
    given: { seller },
  });
}
