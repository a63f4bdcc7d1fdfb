import type { FastifyInstance } from "fastify";
import { ApiError } from "../../../shared/errors.ts";
import type { Deps } from "../context.ts";

const reading = new Set(["GET", "HEAD", "OPTIONS"]);
const retrySeconds = 60;

/** Refuse what would sell or change something, during maintenance. */
export function assertOpen({ config }: Pick<Deps, "config">): void {
  if (!config.FLOE_MAINTENANCE) return;
  throw new ApiError(
    "ServiceUnavailable",
    "This server is in maintenance: it answers reads, and sells and changes nothing. Try again later.",
    { "Retry-After": String(retrySeconds) },
  );
}

/**
 * During maintenance, refuse every request of `/v1` that could change something, before its body is read. The card processor's
 * notices are refused too: it sends them again, so none is lost.
 */
export function rejectDuringMaintenance(app: FastifyInstance, deps: Pick<Deps, "config">): void {
  app.addHook("onRequest", async ({ method, url }) => {
    if (url.startsWith("/v1/") && !reading.has(method)) assertOpen(deps);
  });
}
