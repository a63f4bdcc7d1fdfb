import type { FastifyInstance } from "fastify";
import { ApiError, notFound } from "../../shared/errors.ts";
import { profileOf } from "../lib/profiles.ts";

/** What a request must look like before anything reads it: JSON bodies, no NUL characters, a known `Polar-Version`. */
export function parseRequests(app: FastifyInstance): void {
  app.removeContentTypeParser("application/json");
  // SDK 1.x names JSON on calls without a body too; an empty body is none.
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
    if (text.length === 0) return done(null, undefined);
    try {
      const body = JSON.parse(String(text));
      const places = nulPlaces(body);
      if (places.length === 0) return done(null, body);
      const faults = places.map((loc) => ({ loc: ["body", ...loc], msg: "Text must not contain NUL characters.", type: "value_error" }));
      return done(new ApiError("RequestValidationError", faults));
    } catch {
      return done(new ApiError("RequestValidationError", [{ loc: ["body"], msg: "The body is not valid JSON.", type: "json_invalid" }]));
    }
  });
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

/** Where a NUL character stands in any text, keys included (API-06). */
function nulPlaces(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value === "string") return value.includes("\0") ? [path] : [];
  if (Array.isArray(value)) return value.flatMap((item, index) => nulPlaces(item, [...path, index]));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, item]) => (key.includes("\0") ? [path] : nulPlaces(item, [...path, key])));
}
