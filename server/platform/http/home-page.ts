import type { FastifyRequest } from "fastify";
import { pickLanguage, readLocale } from "../../../shared/locales.ts";
import { type PageContent, renderGhost, selectLanguage } from "./checkout-page.ts";

const shell = `<div class="shell wide" aria-busy="true"><header></header><main><div class="stack" aria-hidden="true">${renderGhost("title")}<div class="home-figures">${`<div class="card">${renderGhost("title")}</div>`.repeat(3)}</div></div></main></div>`;

/** The document of the seller's start page: it holds nothing of the seller, which the page loads with the session. */
export function buildHomePage(request: FastifyRequest, languages: readonly string[]): PageContent {
  const { theme } = request.query as Record<string, unknown>;
  return {
    status: 200,
    lang: pickLanguage(readLocale(selectLanguage(request)), languages).language,
    title: "floe",
    meta: {},
    shell,
    given: null,
    ancestors: "'none'",
    embedded: false,
    theme: theme === "light" || theme === "dark" ? theme : undefined,
  };
}
