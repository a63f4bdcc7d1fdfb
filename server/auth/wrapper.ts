import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Deps } from "../lib/context.ts";
import { loggable } from "../lib/loggable.ts";
import { clients, metadataOf, type OAuthFault, tokenFault } from "./device.ts";
import { invalidBody, invalidQuery, mapError, mapLocation } from "./mapper.ts";

const base = "/api/auth";
const body_bytes_max = 256 * 1024;
const aliases: Record<string, string> = { "/forget-password": "/request-password-reset" };
/** Calls that are also made by POST; their body becomes the query of the GET. */
const postedGets = new Set(["/verify-email", "/account-info"]);
/** Headers by which a caller could pretend to come from elsewhere. */
const untrusted = new Set([
  "x-client-ip",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "content-length",
  "host",
]);

type Handler = (request: Request) => Promise<Response>;
type Fields = Record<string, unknown>;

/**
 * How requests are read here: as raw bytes, because better-auth also takes forms, and without text that the database
 * cannot hold. What goes wrong on the way is answered in this side's shape.
 */
export function readRaw(scope: FastifyInstance, deps: Deps): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: body_bytes_max }, (_request, body, done) =>
    done(null, body),
  );
  scope.addHook("preHandler", async (request, reply) => {
    if (/%00/.test(request.url)) return reply.code(400).send(invalidQuery);
    if (!Buffer.isBuffer(request.body) || isStorable(request)) return undefined;
    return request.url.startsWith(`${base}/device/`) ? refuse(reply, malformed) : reply.code(400).send(invalidBody);
  });
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.code(status).send(mapError(status, { message: error.message }));
    deps.log.error(
      { error: loggable(error), request_id: request.id, path: request.routeOptions.url },
      "An account request failed.",
    );
    return reply.code(500).send(mapError(500, null));
  });
}

const isText = (value: unknown): boolean =>
  typeof value !== "string" || (!value.includes("\0") && value.isWellFormed());

/** Whether every text of the body can be kept: no NUL characters, no halves of surrogate pairs. */
function isStorable(request: FastifyRequest): boolean {
  const text = (request.body as Buffer).toString("utf8");
  if (isForm(request)) return [...new URLSearchParams(text)].flat().every(isText);
  let storable = true;
  try {
    JSON.parse(text, (key, value: unknown) => {
      storable &&= isText(key) && isText(value);
      return value;
    });
  } catch {
    // Not JSON: whoever reads it says so.
  }
  return storable;
}

/** Everything under /api/auth that has no route of its own goes to better-auth, with raw bodies and the true address. */
export function routeAuth(scope: FastifyInstance, deps: Deps, handle: Handler): void {
  const { url } = deps.config;
  scope.get("/.well-known/oauth-authorization-server", () => metadataOf(url, `${url}${base}`));
  scope.get(`/.well-known/oauth-authorization-server${base}`, () => metadataOf(`${url}${base}`, `${url}${base}`));
  scope.get(`${base}/.well-known/oauth-authorization-server`, () => metadataOf(`${url}${base}`, `${url}${base}`));

  scope.post(`${base}/device/token`, async (request, reply) => {
    const fields = fieldsOf(request);
    const fault = fields ? tokenFault(fields) : malformed;
    if (fault || !fields) return refuse(reply, fault ?? malformed);
    const { grant_type, device_code, client_id } = fields;
    return answer(
      reply,
      "/device/token",
      await handle(toRequest(request, url, "/device/token", { grant_type, device_code, client_id })),
    );
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
    // Who asks is told to the person who claimed the code and to nobody else; by name, so that no stranger is approved.
    const found = (await response.json()) as { client_id?: string };
    return reply
      .header("Cache-Control", "no-store")
      .send({ ...found, ...(found.client_id ? { client_name: clients[found.client_id] ?? null } : {}) });
  });
  scope.route({
    method: ["GET", "POST"],
    url: `${base}/*`,
    handler: async (request, reply) => {
      const asked = request.url.slice(base.length).split("?")[0]?.replace(/\/+$/, "") ?? "";
      const path = aliases[asked] ?? asked;
      if (request.method === "POST" && postedGets.has(path)) {
        const query = new URLSearchParams(
          Object.entries(fieldsOf(request) ?? {}).map(([key, value]) => [key, String(value)]),
        );
        const headers = headersOf(request);
        return answer(reply, path, await handle(new Request(`${url}${base}${path}?${query}`, { headers })));
      }
      return answer(reply, path, await handle(toRequest(request, url, path)));
    },
  });
}

const malformed: OAuthFault = { error: "invalid_request", error_description: "The body is neither JSON nor a form." };
const refuse = (reply: FastifyReply, fault: OAuthFault) =>
  reply.code(400).header("Cache-Control", "no-store").send(fault);

const isForm = (request: FastifyRequest): boolean =>
  (request.headers["content-type"] ?? "").toLowerCase().includes("application/x-www-form-urlencoded");

/** The fields of a JSON or form body; undefined when it is neither. */
function fieldsOf(request: FastifyRequest): Fields | undefined {
  const text = Buffer.isBuffer(request.body) ? request.body.toString("utf8") : "";
  if (isForm(request)) return Object.fromEntries(new URLSearchParams(text));
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
  const sent = json
    ? JSON.stringify(json)
    : Buffer.isBuffer(request.body) && request.body.length > 0
      ? new Uint8Array(request.body)
      : undefined;
  const body = request.method === "GET" ? undefined : sent;
  return new Request(`${origin}${base}${path}${query}`, {
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
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
    // An empty answer, as of a redirect, stays empty: with a type of JSON it would be sent as `null`.
    const type = text === "" ? null : response.headers.get("content-type");
    return (type ? reply.type(type) : reply).send(text);
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
