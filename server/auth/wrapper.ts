import { eq } from "drizzle-orm";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../lib/context.ts";
import { clients, metadataOf, type OAuthFault, tokenFault } from "./device.ts";
import { mapError, mapLocation } from "./mapper.ts";
import { deviceCode } from "./tables.ts";

const base = "/api/auth";
const aliases: Record<string, string> = { "/forget-password": "/request-password-reset" };
/** Calls that are also made by POST; their body becomes the query of the GET. */
const postedGets = new Set(["/verify-email", "/account-info"]);
/** Headers by which a caller could pretend to come from elsewhere. */
const untrusted = new Set(["x-client-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "content-length", "host"]);

type Handler = (request: Request) => Promise<Response>;
type Fields = Record<string, unknown>;

/** Everything under /api/auth that has no route of its own goes to better-auth, with raw bodies and the true address. */
export function routeAuth(scope: FastifyInstance, deps: Deps, handle: Handler): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  const { url } = deps.config;
  scope.get("/.well-known/oauth-authorization-server", () => metadataOf(url, `${url}${base}`));
  scope.get(`/.well-known/oauth-authorization-server${base}`, () => metadataOf(`${url}${base}`, `${url}${base}`));
  scope.get(`${base}/.well-known/oauth-authorization-server`, () => metadataOf(`${url}${base}`, `${url}${base}`));

  scope.post(`${base}/device/token`, async (request, reply) => {
    const fields = fieldsOf(request);
    const fault = fields ? tokenFault(fields) : malformed;
    if (fault || !fields) return refuse(reply, fault ?? malformed);
    const { grant_type, device_code, client_id } = fields;
    return answer(reply, "/device/token", await handle(toRequest(request, url, "/device/token", { grant_type, device_code, client_id })));
  });
  scope.post(`${base}/device/code`, async (request, reply) => {
    const fields = fieldsOf(request);
    if (!fields) return refuse(reply, malformed);
    // `user_id` would bind the code to a user of the caller's choice before that user has seen it.
    const { client_id, scope: asked } = fields;
    const body = { client_id, ...(asked === undefined || asked === "" ? {} : { scope: asked }) };
    return answer(reply, "/device/code", await handle(toRequest(request, url, "/device/code", body)));
  });
  scope.get(`${base}/device`, async (request, reply) => {
    const response = await handle(toRequest(request, url, "/device"));
    if (response.status !== 200) return answer(reply, "/device", response);
    const found = (await response.json()) as { user_code?: string };
    // The page says who asks, so that a person does not approve a stranger.
    const code = String(found.user_code ?? "").replace(/[^a-zA-Z0-9]/g, "").toUpperCase();
    const [row] = await deps.db
      .select({ client_id: deviceCode.clientId, scope: deviceCode.scope })
      .from(deviceCode)
      .where(eq(deviceCode.userCode, code));
    return reply.send({ ...found, client_id: row?.client_id ?? null, client_name: clients[row?.client_id ?? ""] ?? null, scope: row?.scope ?? null });
  });
  scope.route({
    method: ["GET", "POST"],
    url: `${base}/*`,
    handler: async (request, reply) => {
      const asked = request.url.slice(base.length).split("?")[0]?.replace(/\/+$/, "") ?? "";
      const path = aliases[asked] ?? asked;
      if (request.method === "POST" && postedGets.has(path)) {
        const query = new URLSearchParams(Object.entries(fieldsOf(request) ?? {}).map(([key, value]) => [key, String(value)]));
        const headers = headersOf(request);
        return answer(reply, path, await handle(new Request(`${url}${base}${path}?${query}`, { headers })));
      }
      return answer(reply, path, await handle(toRequest(request, url, path)));
    },
  });
}

const malformed: OAuthFault = { error: "invalid_request", error_description: "The body is neither JSON nor a form." };
const refuse = (reply: FastifyReply, fault: OAuthFault) => reply.code(400).header("Cache-Control", "no-store").send(fault);

/** The fields of a JSON or form body; undefined when it is neither. */
function fieldsOf(request: FastifyRequest): Fields | undefined {
  const text = Buffer.isBuffer(request.body) ? request.body.toString("utf8") : "";
  if ((request.headers["content-type"] ?? "").includes("application/x-www-form-urlencoded")) return Object.fromEntries(new URLSearchParams(text));
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function headersOf(request: FastifyRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !untrusted.has(name)) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  headers.set("x-client-ip", request.ip);
  return headers;
}

function toRequest(request: FastifyRequest, origin: string, path: string, json?: Fields): Request {
  const headers = headersOf(request);
  if (json) headers.set("content-type", "application/json");
  const query = request.url.includes("?") ? request.url.slice(request.url.indexOf("?")) : "";
  const sent = json ? JSON.stringify(json) : Buffer.isBuffer(request.body) && request.body.length > 0 ? new Uint8Array(request.body) : undefined;
  const body = request.method === "GET" ? undefined : sent;
  return new Request(`${origin}${base}${path}${query}`, { method: request.method, headers, ...(body === undefined ? {} : { body }) });
}

async function answer(reply: FastifyReply, path: string, response: Response): Promise<FastifyReply> {
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name === "set-cookie" || name === "content-length" || name === "content-type") continue;
    reply.header(name, name === "location" ? mapLocation(value, path) : value);
  }
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header("set-cookie", cookies);
  const text = await response.text();
  if (response.status < 400) {
    const type = response.headers.get("content-type");
    if (type) reply.type(type);
    return reply.send(text === "" ? null : text);
  }
  const body = parsed(text);
  if (response.status === 429) reply.header("Retry-After", response.headers.get("x-retry-after") ?? "60");
  const isOAuth = path.startsWith("/device/") && typeof body === "object" && body !== null && "error" in body;
  return reply.type("application/json").send(isOAuth ? body : mapError(response.status, body));
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
