import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ApiError, notFound } from "../../../shared/errors.ts";
import type { Deps } from "../../platform/context.ts";
import { limitOpen } from "../../platform/http/limits.ts";
import { type PartRefusal, type Span, type StoredFile, writeAttachment } from "../../platform/storage/storage.ts";
import { findPublic } from "./store.ts";

type Local = NonNullable<Deps["storage"]["local"]>;

/** Whatever a file says of itself, a browser that opens it runs nothing of it: it would run under our address. */
const harmless = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
} as const;

/** A page shows several pictures at once. */
const pictures = 10;

/** `GET /media/…`: what everybody may see. The bytes under a path never change. */
export function routeMedia(app: FastifyInstance, deps: Deps): void {
  app.get<{ Params: { "*": string } }>("/media/*", { onRequest: limitOpen(deps, pictures) }, async (request, reply) => {
    const path = request.params["*"];
    const file = path.includes("\0") ? undefined : await findPublic(deps.db, path);
    if (!file) throw notFound();
    reply.headers({
      ...harmless,
      "Cache-Control": "public, max-age=31536000, immutable",
      "Access-Control-Allow-Origin": "*",
      "Cross-Origin-Resource-Policy": "cross-origin",
    });
    return sendStoredFile(deps.storage, file, file.checksum_etag, request, reply);
  });
}

const refusals: Record<PartRefusal, () => ApiError> = {
  invalid: () => new ApiError("NotPermitted", "The address of this part is not good, or no longer."),
  gone: () => new ApiError("ResourceNotFound", "The upload is complete, or was given up."),
  size: () => rejectBody("The part does not have the size that it was begun with."),
  checksum: () => rejectBody("The part does not have the SHA-256 that it was begun with."),
};
const rejectBody = (msg: string) =>
  new ApiError("PolarRequestValidationError", [{ loc: ["body"], msg, type: "value_error" }]);

/** Where parts are sent and files are fetched when they are kept on our own disk. The address itself is the permission. */
export function routeStorage(app: FastifyInstance, { storage }: Deps, local: Local): void {
  // A page of a seller may send the parts, and needs their ETags.
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers({ "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag" });
  });
  app.options("/storage/parts", (_request, reply) =>
    reply.code(204).headers({ "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "*" }).send(),
  );
  app.removeAllContentTypeParsers();
  // Nothing is read here: the bytes go to the disk as they come.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const getToken = (request: FastifyRequest): string => {
    const { token } = request.query as { token?: unknown };
    return typeof token === "string" ? token : "";
  };
  app.put("/storage/parts", { config: { isFile: true } }, async (request, reply) => {
    const length = request.headers["content-length"];
    const taken = await local.receive(
      getToken(request),
      request.raw,
      length === undefined ? undefined : Number(length),
    );
    if (typeof taken === "string") {
      // The rest of a body that nobody reads would be taken for the next request.
      reply.header("Connection", "close");
      throw refusals[taken]();
    }
    return reply.header("ETag", `"${taken.etag}"`).send();
  });
  app.get("/storage/download", async (request, reply) => {
    const file = local.granted(getToken(request));
    if (!file) throw new ApiError("NotPermitted", "The address of this file is not good, or no longer.");
    reply.headers({
      ...harmless,
      "Cache-Control": "private, no-store",
      "Content-Disposition": writeAttachment(file.name),
      "Referrer-Policy": "no-referrer",
    });
    return sendStoredFile(storage, file, null, request, reply);
  });
}

/** The first and last byte asked for: all of it for what is no single range, null when none of it is there (RFC 9110). */
function getSpan(header: string | undefined, size: number): Span | undefined | null {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "") ?? [];
  if (from === "" && to === "") return undefined;
  const last = size - 1;
  const span =
    from === ""
      ? { start: Math.max(0, size - Number(to)), end: last }
      : { start: Number(from), end: to === "" ? last : Math.min(Number(to), last) };
  if (to !== "" && from !== "" && Number(to) < Number(from)) return undefined;
  return span.start > last || (from === "" && Number(to) === 0) ? null : span;
}

async function sendStoredFile(
  storage: Deps["storage"],
  { path, mime_type, size }: StoredFile,
  tag: string | null,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const etag = tag === null ? undefined : `"${tag}"`;
  reply.header("Accept-Ranges", "bytes").type(mime_type);
  if (etag !== undefined) {
    reply.header("ETag", etag);
    if (request.headers["if-none-match"]?.includes(etag)) return reply.code(304).send();
  }
  const { "if-range": ifRange, range } = request.headers;
  const span = ifRange === undefined || ifRange === etag ? getSpan(range, size) : undefined;
  if (span === null) return reply.code(416).header("Content-Range", `bytes */${size}`).send();
  const length = span ? span.end - span.start + 1 : size;
  reply.header("Content-Length", length);
  if (span) reply.code(206).header("Content-Range", `bytes ${span.start}-${span.end}/${size}`);
  // An empty stream leaves the length as it was said; no payload at all would say 0.
  if (request.method === "HEAD") return reply.send(Readable.from([]));
  const bytes = await storage.read(path, span);
  if (!bytes) {
    reply.removeHeader("Content-Length").removeHeader("Cache-Control").removeHeader("ETag");
    throw notFound();
  }
  return reply.send(bytes);
}
