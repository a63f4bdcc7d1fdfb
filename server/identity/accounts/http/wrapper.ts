import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findDestination } from "../../../../shared/destinations.ts";
import { ApiError, getCode } from "../../../../shared/errors.ts";
import type { Config } from "../../../platform/config.ts";
import type { Deps } from "../../../platform/context.ts";
import { findOutage } from "../../../platform/db/unreachable.ts";
import { isStorable, readJson } from "../../../platform/http/body.ts";
import { redactError } from "../../../platform/loggable.ts";
import { accountBase as base, findCall, resolvePath } from "../calls.ts";
import { revokeToken } from "../device/revocation.ts";
import { addDeviceRoutes, rejectMalformed } from "../device/routes.ts";
import { invalidBody, invalidQuery, mapError, mapLocation, mapStatus } from "./error-mapping.ts";
import { listOrigins } from "./origins.ts";
import { encodeEmails, postedHeader, readHeaders, readQuery, renewCookie } from "./requests.ts";

type Handler = (request: Request) => Promise<Response>;
type Fields = Record<string, unknown>;

/**
 * How requests are read here: as raw bytes, because better-auth also takes forms, and without text that the database
 * cannot hold. What goes wrong on the way is answered in this side's shape.
 */
export function readRaw(scope: FastifyInstance, deps: Deps): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  scope.addHook("preHandler", async (request, reply) => {
    if (/%00/.test(request.url)) return reply.code(400).send(invalidQuery);
    const status = Buffer.isBuffer(request.body) && request.body.length > 0 ? getRefusal(request) : undefined;
    if (status === undefined) return undefined;
    if (request.url.startsWith(`${base}/device/`)) return rejectMalformed(reply);
    return reply.code(status).send(status === 413 ? mapError(413, null) : invalidBody);
  });
  scope.setErrorHandler<FastifyError | ApiError>((error, request, reply) => {
    const status = (error instanceof ApiError ? error.status : error.statusCode) ?? 500;
    if (status < 500) return reply.code(status).send(mapError(status, { message: error.message }));
    const outage = findOutage(error);
    if (outage) {
      const { headers, message } = outage;
      return reply
        .code(503)
        .headers(headers)
        .send({ code: getCode(message), message });
    }
    deps.log.error(
      { error: redactError(error), request_id: request.id, path: request.routeOptions.url },
      "An account request failed.",
    );
    return reply.code(500).send(mapError(500, null));
  });
}

/** With which status a body is refused before anybody reads it: for its size, or for text that cannot be kept. */
function getRefusal(request: FastifyRequest): 400 | 413 | undefined {
  const bytes = request.body as Buffer;
  if (isForm(request))
    return [...new URLSearchParams(bytes.toString("utf8"))].flat().every(isStorable) ? undefined : 400;
  try {
    readJson(bytes, request.routeOptions.bodyLimit);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.error === "RequestBodyTooLarge") return 413;
    // Not JSON: whoever reads it says so.
    const [fault] = error.detail;
    return typeof fault === "object" && fault.type === "json_invalid" ? undefined : 400;
  }
  return undefined;
}

/** Everything under /api/auth that has no route of its own goes to better-auth, with raw bodies and the true address. */
export function routeAuth(scope: FastifyInstance, deps: Deps, handle: Handler): void {
  const { config } = deps;
  const { url } = config;
  addDeviceRoutes(scope, {
    url,
    base,
    fieldsOf: getFields,
    revoke: (request, reply, fields) => revokeToken(deps, request, reply, fields),
    forward: async (request, reply, path, fields) =>
      sendResponse(reply, config, path, await handle(toRequest(request, config, path, fields))),
  });
  scope.route({
    method: ["DELETE", "OPTIONS", "PATCH", "PUT"],
    url: `${base}/*`,
    handler: (_request, reply) => reply.code(404).send(mapError(404, null)),
  });
  scope.route({
    method: ["GET", "POST"],
    url: `${base}/*`,
    handler: async (request, reply) => {
      const asked = request.url.slice(base.length).split("?")[0]?.replace(/\/+$/, "") ?? "";
      const path = resolvePath(asked);
      const refused = findRefusedDestination(request, config);
      if (refused !== undefined) return reply.code(403).send(mapError(403, refused));
      const handleAuth = () =>
        handle(isPostedGet(request, path) ? toGet(request, config, path) : toRequest(request, config, path));
      if (request.method === "GET" && path.startsWith("/callback/") && !hasContent(request))
        return reply.redirect(`${url}/error?error=invalid_callback_request`);
      const first = await handleAuth();
      const response = first.status === 409 && findCall(path).contested ? await handleAuth() : first;
      const renewed = path === "/get-session" ? await renewCookie(request, response, config) : undefined;
      if (renewed !== undefined) reply.header("set-cookie", renewed);
      if (path.startsWith("/callback/")) return sendResponse(reply, config, path, onErrorPage(response, url));
      if (path === "/delete-user/callback" && isPage(request))
        return sendResponse(reply, config, path, await onPage(response, url));
      return sendResponse(reply, config, path, response);
    },
  });
}

/** Fields that say where a person goes afterwards, and what a refused one is called. */
const destinations: Readonly<Record<string, string>> = {
  callbackURL: "callbackURL",
  redirectTo: "redirectURL",
  errorCallbackURL: "errorCallbackURL",
  newUserCallbackURL: "newUserCallbackURL",
};

/** A request that would send a person to somebody else's page is refused, before any of it is done. */
function findRefusedDestination(
  request: FastifyRequest,
  config: Config,
): { code: string; message: string } | undefined {
  const sent = [...new URLSearchParams(request.url.split("?")[1] ?? ""), ...Object.entries(getFields(request) ?? {})];
  const origins = listOrigins(config);
  const [name] =
    sent.find(
      ([key, to]) => Object.hasOwn(destinations, key) && to !== "" && isText(to) && !findDestination(to, origins),
    ) ?? [];
  if (name === undefined) return undefined;
  const called = destinations[name] ?? name;
  return { code: `INVALID_${called.replace(/[A-Z]+/g, "_$&").toUpperCase()}`, message: `Invalid ${called}` };
}
const isText = (value: unknown): value is string => typeof value === "string";

/** A person is on the way back from a service here: what cannot be read, or went wrong, is said on a page. */
function onErrorPage(response: Response, url: string): Response {
  if (response.status < 400 || response.status === 429) return response;
  const code = response.status < 500 ? "invalid_callback_request" : "internal_server_error";
  return Response.redirect(`${url}/error?error=${code}`, 302);
}

/** Whether a browser wants to show what is answered. */
const isPage = (request: FastifyRequest): boolean => request.headers.accept?.includes("text/html") ?? false;

/** A mailed link is opened by a person: that it is refused is said on a page too, with the reason's code. */
async function onPage(response: Response, url: string): Promise<Response> {
  if (response.status < 400 || response.status === 429) return response;
  const { code } = mapError(response.status, parseJson(await response.text()));
  return Response.redirect(`${url}/error?error=${encodeURIComponent(String(code).toLowerCase())}`, 302);
}

/** Whether a provider sent the browser back with anything that there is to read. */
function hasContent(request: FastifyRequest): boolean {
  const query = new URLSearchParams(request.url.split("?")[1] ?? "");
  return ["code", "state", "error"].some((name) => query.has(name));
}

const isForm = (request: FastifyRequest): boolean =>
  (request.headers["content-type"] ?? "").toLowerCase().includes("application/x-www-form-urlencoded");

/** The fields of a JSON or form body; undefined when it is neither. */
function getFields(request: FastifyRequest): Fields | undefined {
  const text = Buffer.isBuffer(request.body) ? request.body.toString("utf8") : "";
  if (isForm(request)) return Object.fromEntries(new URLSearchParams(text));
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body) ? (body as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function toRequest(request: FastifyRequest, config: Config, path: string, fields?: Fields): Request {
  const json = fields ?? encodeEmails(getFields(request) ?? {});
  const headers = readHeaders(request, config);
  if (json) headers.set("content-type", "application/json");
  const query = request.url.includes("?") ? readQuery(request.url.slice(request.url.indexOf("?")), path, config) : "";
  const sent = json
    ? JSON.stringify(json)
    : Buffer.isBuffer(request.body) && request.body.length > 0
      ? new Uint8Array(request.body)
      : undefined;
  const body = request.method === "GET" ? undefined : sent;
  return new Request(`${config.url}${base}${path}${query}`, {
    method: request.method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
}

const isPostedGet = ({ method }: FastifyRequest, path: string): boolean =>
  method === "POST" && findCall(path).posted === true;

function toGet(request: FastifyRequest, config: Config, path: string): Request {
  const fields = Object.entries(getFields(request) ?? {}).map(([key, value]) => [key, String(value)]);
  const query = readQuery(`?${new URLSearchParams(fields)}`, path, config);
  const headers = readHeaders(request, config);
  headers.set(postedHeader, "1");
  return new Request(`${config.url}${base}${path}${query}`, { headers });
}

async function sendResponse(
  reply: FastifyReply,
  config: Config,
  path: string,
  response: Response,
): Promise<FastifyReply> {
  const isDevice = path === "/device" || path.startsWith("/device/");
  const isRedirect = response.status >= 300 && response.status < 400;
  const to = isRedirect ? response.headers.get("location") : null;
  if (to !== null && !findDestination(to, listOrigins(config)))
    return reply.redirect(`${config.url}/error?error=invalid_redirect`);
  reply.code(response.status);
  for (const [name, value] of response.headers) {
    if (name === "set-cookie" || name === "content-length" || name === "content-type") continue;
    reply.header(name, name === "location" ? mapLocation(value, path) : value);
  }
  if (isDevice) reply.header("Cache-Control", "no-store");
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header("set-cookie", cookies);
  const text = await response.text();
  if (response.status < 400) {
    // An empty answer, as of a redirect, stays empty: with a type of JSON it would be sent as `null`.
    const type = text === "" ? null : response.headers.get("content-type");
    return (type ? reply.type(type) : reply).send(text);
  }
  const body = parseJson(text);
  const isOAuth = isDevice && typeof body === "object" && body !== null && "error" in body;
  if (isOAuth) return reply.type("application/json").send(body);
  const status = mapStatus(response.status, body);
  const refusal = mapError(status, body);
  reply.request.refusal = String(refusal.code);
  return reply.code(status).type("application/json").send(refusal);
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
