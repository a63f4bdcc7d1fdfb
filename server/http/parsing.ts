import type { FastifyInstance } from "fastify";
import { ApiError, notFound } from "../../shared/errors.ts";
import { profileOf } from "../lib/profiles.ts";

/** What a request must look like before anything reads it: JSON bodies of text that can be stored, a known `Polar-Version`. */
export function parseRequests(app: FastifyInstance): void {
  app.removeContentTypeParser("application/json");
  // SDK 1.x names JSON on calls without a body too; an empty body is none.
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
    if (text.length === 0) return done(null, undefined);
    try {
      const body = JSON.parse(String(text));
      const places = unstorable(body);
      if (places.length === 0) return done(null, body);
      const faults = places.map((loc) => ({
        loc: ["body", ...loc],
        msg: "Text must be well-formed Unicode without NUL characters.",
        type: "value_error",
      }));
      return done(new ApiError("RequestValidationError", faults));
    } catch {
      return done(
        new ApiError("RequestValidationError", [
          { loc: ["body"], msg: "The body is not valid JSON.", type: "json_invalid" },
        ]),
      );
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

const storable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Where text stands, keys included, that the database cannot hold: a NUL character (API-06) or half of a surrogate pair. */
function unstorable(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value === "string") return storable(value) ? [] : [path];
  if (Array.isArray(value)) return value.flatMap((item, index) => unstorable(item, [...path, index]));
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, item]) => (storable(key) ? unstorable(item, [...path, key]) : [path]));
}
