import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError, notFound } from "../../shared/errors.ts";
import { readJson } from "../lib/body.ts";
import { profileOf } from "../lib/profiles.ts";

/** What a request must look like before anything reads it: JSON bodies of text that can be stored, a known `Polar-Version`. */
export function parseRequests(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, async (request: FastifyRequest, bytes: Buffer) =>
    // SDK 1.x names JSON on calls without a body too; an empty body is none.
    bytes.length === 0 ? undefined : readJson(bytes, request.routeOptions.bodyLimit, request.routeOptions.config.bulk),
  );
  app.addHook("onRequest", async (request, reply) => {
    const client = profileOf(request.headers);
    if (!client) return reply.code(404).send({ detail: "Not Found" });
    request.client = client;
    if (request.headers["polar-version"] !== undefined) reply.header("Polar-Version", client.version);
    reply.header("Cache-Control", "private, no-store");
    if (/%00/.test(request.url)) throw notFound();
    const writes = request.method === "POST" || request.method === "PATCH" || request.method === "PUT";
    if (writes && request.headers["transfer-encoding"] !== undefined) {
      throw new ApiError("LengthRequired", "Send the body with a Content-Length header.");
    }
    return undefined;
  });
}
