import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Config } from "../../../platform/config.ts";

type Refusal = { code: string; message: string };

/** Where our own pages are served; on this machine under each of its two names. */
export const listOrigins = ({ url, loopback, PORT }: Config): string[] =>
  loopback ? [new URL(url).origin, `http://localhost:${PORT}`, `http://127.0.0.1:${PORT}`] : [new URL(url).origin];

/** A provider posts its answer from a page of its own; a device is no page. */
const openToOthers = /^\/api\/auth\/(callback\/|device\/(code|token)$)/;
export const reading: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

const isUrl = (text: string): boolean => URL.canParse(text) && new URL(text).origin !== "null";

/**
 * Why a call that changes something may not come from the page that it comes from; undefined when it may. Also without a
 * cookie: the answer may set one, and so sign a person in as somebody else, or out. A token is sent by no browser on its
 * own, so a call with one may come from anywhere.
 */
function rejectOrigin(headers: IncomingHttpHeaders, ours: readonly string[]): Refusal | undefined {
  if (headers.authorization !== undefined) return undefined;
  const { origin, referer = "", "sec-fetch-site": site } = headers;
  // Said of a form of our own page too, where its address is not to be passed on.
  if (origin === "null" && site === "same-origin") return undefined;
  const from = origin ?? (isUrl(referer) ? new URL(referer).origin : undefined);
  const isElsewhere = site === "cross-site" || site === "same-site";
  if (origin === "null" || (from === undefined && headers.cookie !== undefined))
    return { code: "MISSING_OR_NULL_ORIGIN", message: "Missing or null Origin" };
  if (from === undefined ? isElsewhere : !ours.includes(from))
    return { code: "INVALID_ORIGIN", message: "Invalid origin" };
  return undefined;
}

/** Refuse what a page that is not ours has a browser send. */
export function rejectForeignPages(scope: FastifyInstance, config: Config): void {
  const ours = listOrigins(config);
  scope.addHook("onRequest", async (request, reply) => {
    const path = request.url.split("?")[0] ?? "";
    if (reading.has(request.method) || openToOthers.test(path)) return undefined;
    const refusal = rejectOrigin(request.headers, ours);
    return refusal ? reply.code(403).header("Cache-Control", "no-store").send(refusal) : undefined;
  });
}
