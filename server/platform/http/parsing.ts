import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError, type Fault, notFound } from "../../../shared/errors.ts";
import { yieldToForeground } from "../jobs/priority.ts";
import { isStorable, readJson, unstorable } from "./body.ts";
import { readProfile } from "./profiles.ts";

/** Refuse what the database cannot hold: a path is none of ours then, and a query is told where. */
function checkAddress(url: string): void {
  if (!url.includes("%00")) return;
  const [path = "", query = ""] = url.split(/\?(.*)/s);
  const faults: Fault[] = [...new URLSearchParams(query)]
    .filter((pair) => !pair.every(isStorable))
    .map(([name]) => ({ loc: ["query", name], msg: unstorable, type: "value_error" }));
  if (path.includes("%00") || faults.length === 0) throw notFound();
  throw new ApiError("RequestValidationError", faults);
}

/** What is longer takes milliseconds to read. */
const heavyBytes = 16_384;

/** What a request must look like before anything reads it: JSON bodies of text that can be stored, a known `Polar-Version`. */
export function parseRequests(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (request: FastifyRequest, bytes: Buffer) => {
      // SDK 1.x names JSON on calls without a body too; an empty body is none.
      if (bytes.length === 0) return undefined;
      if (bytes.length > heavyBytes) await yieldToForeground();
      if (request.routeOptions.config.isRelayed) request.bytes = bytes;
      return readJson(bytes, request.routeOptions.bodyLimit, request.routeOptions.config.bulk);
    },
  );
  app.addHook("onRequest", async (request, reply) => {
    const client = readProfile(request.headers);
    if (!client) return reply.code(404).send({ detail: "Not Found" });
    request.client = client;
    if (request.headers["polar-version"] !== undefined) reply.header("Polar-Version", client.version);
    reply.header("Cache-Control", "private, no-store");
    checkAddress(request.url);
    const writes = request.method === "POST" || request.method === "PATCH" || request.method === "PUT";
    if (writes && request.headers["transfer-encoding"] !== undefined) {
      throw new ApiError("LengthRequired", "Send the body with a Content-Length header.");
    }
    return undefined;
  });
}
