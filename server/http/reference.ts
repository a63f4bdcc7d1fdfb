import apiReference from "@scalar/fastify-api-reference";
import type { FastifyInstance } from "fastify";

/** The API reference, read from our own document; script and styles come from this server and no third party is asked. */
export async function reference(app: FastifyInstance): Promise<void> {
  app.addHook("onSend", async (_request, reply) => {
    reply.header(
      "Content-Security-Policy",
      "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'",
    );
  });
  await app.register(apiReference, {
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
    },
  });
}
