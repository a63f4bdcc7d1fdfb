import type { FastifyInstance } from "fastify";
import type { Deps } from "../../platform/context.ts";
import { openDownloadLink } from "./service.ts";

/** A range that does not begin with the first byte asks for the rest of what broke off. */
const rest = /^bytes=0*[1-9]\d*-/;

/** Where customers download what they bought: the address itself is the permission, and leads to where the bytes are. */
export function routeDownloads(app: FastifyInstance, deps: Deps): void {
  app.get<{ Params: { token: string } }>("/v1/customer-portal/downloadables/:token", async (request, reply) => {
    const url = await openDownloadLink(deps, request.params.token, rest.test(request.headers.range ?? ""));
    return reply.headers({ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" }).redirect(url, 302);
  });
}
