import { gzipSync } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { acceptsGzip } from "./compression.ts";

/** `GET /openapi.json`: made when it is first asked for, and kept as it is sent, plain and packed. To send it costs nothing. */
export function addOpenapiRoute(app: FastifyInstance, make: () => object): void {
  let kept: { plain: Buffer; packed: Buffer } | undefined;
  app.get("/openapi.json", (request, reply) => {
    if (!kept) {
      const plain = Buffer.from(JSON.stringify(make()));
      kept = { plain, packed: gzipSync(plain) };
    }
    reply.type("application/json; charset=utf-8").header("Vary", "Accept-Encoding");
    if (!acceptsGzip(request)) return reply.send(kept.plain);
    return reply.header("Content-Encoding", "gzip").send(kept.packed);
  });
}
