import type { FastifyInstance } from "fastify";
import { isbot } from "isbot";
import { ApiError } from "../../../shared/errors.ts";
import { anonymous, type Deps } from "../../platform/context.ts";
import type { CheckoutRateLimit } from "../../platform/http/checkout-limits.ts";
import { describeOffer, escapeHtml, renderHead } from "../../platform/http/checkout-page.ts";
import { assertOpen } from "../../platform/http/maintenance.ts";
import { createRequestContext } from "../../platform/http/mount.ts";
import { openLink, previewLink } from "./service.ts";

/** Programs that fetch an address to show what is behind it, in a chat or a search: they buy nothing. */
const previewers = /bot\b|crawler|spider|externalhit|whatsapp|embedly|preview|unfurl/i;
/** A telephone of Cubot's says that name too, and a program such as curl opens the link for somebody. */
const isPreviewer = (agent: string): boolean => previewers.test(agent) && isbot(agent);

/** The address of a checkout link: a checkout is made for whoever opens it, and they are sent there (CHK-62). */
export function routeLinks(app: FastifyInstance, deps: Deps, count: CheckoutRateLimit): void {
  app.get<{ Params: { client_secret: string } }>("/buy/:client_secret", async (request, reply) => {
    reply.header("Cache-Control", "no-store");
    // Who only looks whether the address is alive, as mail scanners do, opens nothing.
    if (request.method === "HEAD") return reply.code(200).send();
    const given = Object.entries(request.query as Record<string, unknown>).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    const query = Object.fromEntries(given);
    try {
      count(request);
      // It is a GET that makes a checkout.
      assertOpen(deps);
      if (isPreviewer(request.headers["user-agent"] ?? "")) {
        const offer = await previewLink(createRequestContext(deps, request, anonymous), request.params.client_secret);
        const { title, meta } = describeOffer({ ...offer, price: null });
        const url = `${deps.config.url}/buy/${encodeURIComponent(request.params.client_secret)}`;
        return reply
          .type("text/html; charset=utf-8")
          .header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
          .header("X-Content-Type-Options", "nosniff")
          .send(
            `<!doctype html><html><head><meta charset="utf-8">${renderHead(title, { ...meta, "og:url": url })}</head><body><h1>${escapeHtml(title)}</h1></body></html>`,
          );
      }
      const { url, rest } = await openLink(
        createRequestContext(deps, request, anonymous),
        request.params.client_secret,
        query,
      );
      const target = new URL(url);
      for (const [key, value] of Object.entries(rest)) target.searchParams.set(key, value);
      return reply.redirect(target.href, 307);
    } catch (error) {
      // A person opened it: what went wrong is shown on a page, not as JSON. A seller's page that may not embed is told why.
      if (
        !(error instanceof ApiError) ||
        error.error === "EmbedHostNotAllowed" ||
        !(request.headers.accept ?? "").includes("text/html")
      )
        throw error;
      // The offer stands: it is the server that takes no more requests, or no payments, or is in maintenance.
      if (error.status !== 429 && error.status !== 503 && error.error !== "PaymentNotReady")
        return reply.callNotFound();
      return reply.code(error.status).headers(error.headers).type("text/plain; charset=utf-8").send(error.message);
    }
  });
}
