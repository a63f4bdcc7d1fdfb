import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { buildMetadata, createOAuthFault } from "./protocol.ts";

type Fields = Record<string, unknown>;
type Wrapper = {
  url: string;
  base: string;
  /** The fields of a JSON or form body; undefined when it is neither. */
  fieldsOf(request: FastifyRequest): Fields | undefined;
  /** Answer a request to revoke a token. */
  revoke(request: FastifyRequest, reply: FastifyReply, fields: Fields | undefined): Promise<FastifyReply>;
  /** Hand a call on to the account side, with these fields as its body. */
  forward(request: FastifyRequest, reply: FastifyReply, path: string, fields: Fields): Promise<FastifyReply>;
};

/** What OAuth clients call: documents of metadata, and the two endpoints that take forms as well as JSON. */
export function addDeviceRoutes(scope: FastifyInstance, { url, base, fieldsOf, revoke, forward }: Wrapper): void {
  const documents = [
    ["/.well-known/oauth-authorization-server", url],
    [`/.well-known/oauth-authorization-server${base}`, `${url}${base}`],
    [`${base}/.well-known/oauth-authorization-server`, `${url}${base}`],
  ] as const;
  for (const [path, issuer] of documents) scope.get(path, () => buildMetadata(issuer, `${url}${base}`));

  for (const path of ["/device/code", "/device/token"]) {
    scope.post(`${base}${path}`, async (request, reply) => {
      const fields = fieldsOf(request);
      return fields ? forward(request, reply, path, fields) : rejectMalformed(reply);
    });
  }
  scope.post(`${base}/device/token/revoke`, (request, reply) => revoke(request, reply, fieldsOf(request)));
}

/** The answer to a body that cannot be read, in OAuth's words. */
export const rejectMalformed = (reply: FastifyReply): FastifyReply =>
  reply
    .code(400)
    .header("Cache-Control", "no-store")
    .send(createOAuthFault("invalid_request", "The body is neither JSON nor a form."));
