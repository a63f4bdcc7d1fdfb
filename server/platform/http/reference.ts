import Fastify, { type FastifyInstance } from "fastify";
import type { Deps } from "../context.ts";
import { limitOpen } from "./limits.ts";

const policy =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'";

/** The browsable reference as a small server of its own: its package is large, and most servers are never asked for it. */
async function open(): Promise<FastifyInstance> {
  const { default: apiReference } = await import("@scalar/fastify-api-reference");
  const inner = Fastify();
  await inner.register(apiReference, {
    routePrefix: "/api/reference",
    configuration: {
      url: "/openapi.json",
      title: "floe API",
      pageTitle: "floe API",
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: "never",
    },
  });
  await inner.ready();
  return inner;
}

/** The API reference, read from our own document; script and styles come from this server and no third party is asked. */
export function addReference(app: FastifyInstance, deps: Pick<Deps, "clock" | "config">): void {
  let inner: Promise<FastifyInstance> | undefined;
  const onRequest = limitOpen(deps);
  for (const url of ["/api/reference", "/api/reference/*"]) {
    app.get(url, { onRequest }, async (request, reply) => {
      inner ??= open();
      const { accept = "*/*" } = request.headers;
      const answer = await (await inner).inject({ method: "GET", url: request.url, headers: { accept } });
      const { location } = answer.headers;
      if (typeof location === "string") reply.header("location", location);
      return reply
        .code(answer.statusCode)
        .type(String(answer.headers["content-type"] ?? "text/plain"))
        .header("Content-Security-Policy", policy)
        .header("Cache-Control", "public, max-age=3600")
        .send(answer.rawPayload);
    });
  }
}
