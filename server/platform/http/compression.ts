import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { hasPossibleSecret } from "../../../shared/secret-fields.ts";

/** A shorter answer fits into one or two packets, so that compressing it saves no time. */
const shortestBytes = 2_048;
/** The fastest level: higher ones take two to three times as long for a tenth fewer bytes. */
const level = 1;
const compress = promisify(gzip);

/** Whether the client reads gzip. */
export const acceptsGzip = ({ headers }: FastifyRequest): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(String(headers["accept-encoding"] ?? ""));

/**
 * Compress longer JSON answers (API-36). The length of a compressed answer says whether two of its texts are alike. Who chooses
 * one of them and sees the lengths can thereby guess the other (BREACH). Therefore an answer that may contain a secret goes out as
 * it is, and so does one that a browser asks for with cookies, because any page can make a browser ask again and again.
 */
export function addCompression(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    if (typeof payload !== "string" || payload.length < shortestBytes) return payload;
    if (!String(reply.getHeader("content-type") ?? "").startsWith("application/json")) return payload;
    if (request.headers.cookie !== undefined || reply.hasHeader("content-encoding")) return payload;
    if (hasPossibleSecret(payload)) return payload;
    const vary = [reply.getHeader("vary"), "Accept-Encoding"].filter(Boolean).join(", ");
    reply.header("Vary", vary);
    if (!acceptsGzip(request)) return payload;
    reply.removeHeader("Content-Length").header("Content-Encoding", "gzip");
    return compress(payload, { level });
  });
}
