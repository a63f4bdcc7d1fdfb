import type { FastifyInstance } from "fastify";
import { anonymous, type Deps } from "../../platform/context.ts";
import { limitOpen } from "../../platform/http/limits.ts";
import { createRequestContext } from "../../platform/http/mount.ts";
import { openDocument } from "./service.ts";

const againSeconds = 2;

/** The address of a document in a mail. A person opens it in a browser, so while it is being made a page says so and goes on. */
export function routeDocuments(app: FastifyInstance, deps: Deps): void {
  app.get<{ Params: { token: string } }>(
    "/documents/:token",
    { onRequest: limitOpen(deps) },
    async (request, reply) => {
      reply.headers({ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex" });
      // Who only looks whether the address is alive, as mail scanners do, has nothing printed.
      if (request.method === "HEAD") return reply.code(200).send();
      const opened = await openDocument(createRequestContext(deps, request, anonymous), request.params.token);
      if ("url" in opened) return reply.redirect(opened.url, 303);
      const { language, waiting } = opened;
      return reply
        .code(202)
        .headers({
          "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          "X-Content-Type-Options": "nosniff",
          Refresh: String(againSeconds),
        })
        .type("text/html; charset=utf-8")
        .send(getPage(language, waiting.title, waiting.text));
    },
  );
}

/** All of it is ours: nothing that anybody wrote stands in it. */
const getPage = (language: string, title: string, text: string): string => `<!doctype html>
<html lang="${language}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>body{font:1.125rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1.5rem}</style>
<h1>${title}</h1><p role="status">${text}</p>
</html>
`;
