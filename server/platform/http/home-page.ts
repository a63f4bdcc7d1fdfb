import type { FastifyRequest } from "fastify";
import { buildPage, type PageContent, renderGhost } from "./checkout-page.ts";

const shell = `<div class="shell wide" aria-busy="true"><header></header><main><div class="stack" aria-hidden="true">${renderGhost("title")}<div class="home-figures">${`<div class="card">${renderGhost("title")}</div>`.repeat(3)}</div></div></main></div>`;

/** The document of the seller's start page: it holds nothing of the seller, which the page loads with the session. */
export const buildHomePage = (request: FastifyRequest, languages: readonly string[]): PageContent =>
  buildPage(request, languages, { title: "floe", shell, given: null });
