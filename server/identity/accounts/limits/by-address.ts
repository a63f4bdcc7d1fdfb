import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../../../platform/context.ts";
import { decodeText } from "../../../platform/http/cookies.ts";
import { getBucket } from "../../../platform/limits/addresses.ts";
import { createLimiter } from "../../../platform/limits/attempts.ts";
import { countInMemory, type Limit } from "../../../platform/limits/limits.ts";
import { type AccountCall, accountBase, findCall } from "../calls.ts";

const minuteSeconds = 60;

/** Of calls that guess, write to strangers or make accounts: counted in the database, by address. */
const sensitive: Readonly<Record<NonNullable<AccountCall["limit"]>, Limit>> = {
  "sign-in": { max: 30, window_seconds: minuteSeconds },
  "sign-up": { max: 30, window_seconds: minuteSeconds },
  mail: { max: 30, window_seconds: 10 * minuteSeconds },
  account: { max: 30, window_seconds: minuteSeconds },
  device: { max: 60, window_seconds: minuteSeconds },
};
/** Everything else together. */
const general: Limit = { max: 300, window_seconds: minuteSeconds };

export const tooMany = { code: "TOO_MANY_REQUESTS", message: "Too many requests" };

/**
 * Refuse an address that calls too often. What guesses is counted in the database, by all servers together; the rest in
 * this process, because asking who is signed in must not cost a write. A forwarded address counts only when a proxy that
 * we trust named it: `request.ip` sees to that.
 */
export function limitAddresses(scope: FastifyInstance, deps: Deps): void {
  const { hit } = createLimiter(deps);
  const calls = countInMemory(deps.clock);
  scope.addHook("onRequest", async (request, reply) => {
    const address = getBucket(request.ip);
    const { limit } = request.method === "GET" ? {} : findCall(getPath(request));
    const wait = calls(address, general) || (limit ? await hit(`${limit}:${address}`, sensitive[limit]) : 0);
    return wait > 0 ? rejectTooMany(reply, wait) : undefined;
  });
}

const rejectTooMany = (reply: FastifyReply, wait_seconds: number): FastifyReply =>
  reply.code(429).header("Retry-After", String(wait_seconds)).header("Cache-Control", "no-store").send(tooMany);

/** The path in one spelling, so that no other passes a rule. */
const getPath = (request: FastifyRequest): string =>
  decodeText(request.url.split("?")[0] ?? "")
    .toLowerCase()
    .replace(/\/+/g, "/")
    .replace(/\/$/, "")
    .slice(accountBase.length);
