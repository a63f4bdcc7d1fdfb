import type { FastifyInstance, FastifyReply } from "fastify";
import type { Config } from "../config.ts";

const yearSeconds = 365 * 24 * 60 * 60;
const unframed = "frame-ancestors 'none'";

/** The headers of every answer; a page that may be framed sets its own policy. */
const listHeaders = ({ url }: Pick<Config, "url">): [string, string][] => [
  ["x-content-type-options", "nosniff"],
  ["content-security-policy", unframed],
  ...(url.startsWith("https:") ? [["strict-transport-security", `max-age=${yearSeconds}`] as [string, string]] : []),
];

/** Set the headers on an answer that no hook reaches. */
export function setSecurityHeaders(reply: FastifyReply, config: Pick<Config, "url">): void {
  for (const [name, value] of listHeaders(config)) reply.raw.setHeader(name, value);
}

/**
 * Set the headers on every answer. They are set when the request arrives, so that streams and errors have them, and a route's own
 * policy replaces the default; one that does not say who may frame it is completed.
 */
export function addSecurityHeaders(app: FastifyInstance, config: Pick<Config, "url">): void {
  app.addHook("onRequest", async (_request, reply) => setSecurityHeaders(reply, config));
  app.addHook("onSend", async (_request, reply) => {
    const policy = reply.getHeader("content-security-policy");
    if (typeof policy === "string" && !policy.includes("frame-ancestors"))
      reply.header("content-security-policy", `${policy}; ${unframed}`);
  });
}
