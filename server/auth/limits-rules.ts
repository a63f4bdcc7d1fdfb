import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { bucketOf } from "../lib/addresses.ts";
import type { Deps } from "../lib/context.ts";
import { decodeText } from "../lib/cookies.ts";
import { countInMemory, type Limit } from "../lib/limits.ts";
import { limiter } from "./limits.ts";

const minute_seconds = 60;
const base = "/api/auth";

/** Calls that guess, write to strangers or make accounts: counted in the database, by address. The first that fits. */
const sensitive: readonly (Limit & { name: string; paths: RegExp })[] = [
  { name: "sign-in", paths: /^\/sign-in\/|^\/verify-password$/, max: 30, window_seconds: minute_seconds },
  { name: "sign-up", paths: /^\/sign-up\//, max: 30, window_seconds: minute_seconds },
  {
    name: "mail",
    paths: /^\/(request-password-reset|forget-password|send-verification-email|change-email)$/,
    max: 30,
    window_seconds: 10 * minute_seconds,
  },
  {
    name: "account",
    paths: /^\/(change-password|set-password|reset-password|delete-user|is-username-available)/,
    max: 30,
    window_seconds: minute_seconds,
  },
  { name: "device", paths: /^\/device\/code$/, max: 60, window_seconds: minute_seconds },
];
/** Everything else together. */
const general: Limit = { max: 300, window_seconds: minute_seconds };

export const tooMany = { code: "TOO_MANY_REQUESTS", message: "Too many requests" };

/**
 * Refuse an address that calls too often. What guesses is counted in the database, by all servers together; the rest in
 * this process, because asking who is signed in must not cost a write. A forwarded address counts only when a proxy that
 * we trust named it: `request.ip` sees to that.
 */
export function limitAddresses(scope: FastifyInstance, deps: Deps): void {
  const { hit } = limiter(deps);
  const calls = countInMemory(deps.clock);
  scope.addHook("onRequest", async (request, reply) => {
    const path = pathOf(request);
    const address = bucketOf(request.ip);
    const rule = request.method === "GET" ? undefined : sensitive.find(({ paths }) => paths.test(path));
    const wait = calls(address, general) || (rule ? await hit(`${rule.name}:${address}`, rule) : 0);
    return wait > 0 ? refuseTooMany(reply, wait) : undefined;
  });
}

const refuseTooMany = (reply: FastifyReply, wait_seconds: number): FastifyReply =>
  reply.code(429).header("Retry-After", String(wait_seconds)).header("Cache-Control", "no-store").send(tooMany);

/** The path in one spelling, so that no other passes a rule. */
const pathOf = (request: FastifyRequest): string =>
  decodeText(request.url.split("?")[0] ?? "")
    .toLowerCase()
    .replace(/\/+/g, "/")
    .replace(/\/$/, "")
    .slice(base.length);
