import type { FastifyRequest } from "fastify";
import { encodeEmail } from "../../../../shared/emails.ts";
import type { Config } from "../../../platform/config.ts";
import { openSignedText, signAgain } from "../../../platform/crypto/secrets.ts";
import { decodeText, parseCookies } from "../../../platform/http/cookies.ts";
import { getCookieName, getCookiePrefix, writeSessionCookie } from "../identity/session-cookie.ts";

/** Says of a GET that it was sent as a POST: by a button, not by following a link. */
export const postedHeader = "x-floe-posted";

/** Headers by which a caller could pretend to come from elsewhere. */
const untrusted = new Set([
  "x-client-ip",
  postedHeader,
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "content-length",
  "host",
]);
/** Fields that hold an e-mail address, in a body or in its `data`. */
const emailFields = ["email", "newEmail"];

/** A body with its e-mail addresses in the spelling that customers have, too (CUS-01); undefined where they are in it already. */
export function encodeEmails(fields: Record<string, unknown>): Record<string, unknown> | undefined {
  const changes = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (name === "data" && typeof value === "object" && value !== null && !Array.isArray(value)) {
      const data = encodeEmails({ ...value, data: undefined });
      return data ? [[name, data]] : [];
    }
    if (!emailFields.includes(name) || typeof value !== "string" || value.length > emailLengthMax) return [];
    const encoded = encodeEmail(value);
    return encoded === value ? [] : [[name, encoded]];
  });
  return changes.length === 0 ? undefined : { ...fields, ...Object.fromEntries(changes) };
}
/** What is longer is no address, with whatever blanks around it. */
const emailLengthMax = 512;

const userAgentLengthMax = 512;
const cached = /^(__Host-)?floe\.session_data(\.\d+)?$/;

/**
 * A request's headers as the account side gets them: from the true address, and with what an earlier secret signed signed
 * anew. Nothing believes the copy of the session that a browser carries: every call reads the database, so that a session that
 * was ended is nobody's from that moment on, also where somebody has kept its cookies.
 */
export function readHeaders(request: FastifyRequest, config: Config): Headers {
  const { secrets } = config;
  const prefix = `${getCookiePrefix(config)}.`;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !untrusted.has(name)) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  headers.set("x-client-ip", request.ip);
  const agent = headers.get("user-agent");
  if (agent) headers.set("user-agent", agent.slice(0, userAgentLengthMax));
  const bearer = /^bearer +(\S+\.\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  if (bearer) headers.set("authorization", `Bearer ${signAgain(secrets, decodeText(bearer))}`);
  if (request.headers.cookie === undefined) return headers;
  const cookies = parseCookies(request.headers.cookie).map(([name, value]) => {
    // Left empty, not out: the names say which pieces of it the browser has, to be taken back.
    if (cached.test(name)) return [name, ""];
    return [name, name.startsWith(prefix) ? signAgain(secrets, value) : value];
  });
  headers.set("cookie", cookies.map(([name = "", value = ""]) => `${name}=${encodeURIComponent(value)}`).join("; "));
  return headers;
}

/** The query with a mailed link's token as the current secret signs it. */
export function readQuery(query: string, path: string, { secrets }: Config): string {
  if (path !== "/verify-email" || secrets.length === 1) return query;
  const fields = new URLSearchParams(query);
  const token = fields.get("token");
  if (token !== null) fields.set("token", signAgain(secrets, token, "base64url"));
  return `?${fields}`;
}

/** The session cookie signed anew, for a browser that asked with one of an earlier secret. */
export async function renewCookie(
  request: FastifyRequest,
  response: Response,
  config: Config,
): Promise<string | undefined> {
  const name = getCookieName(config, "session_token");
  const held = new Map(parseCookies(request.headers.cookie)).get(name);
  const token = held === undefined ? undefined : openSignedText(config.secrets, held);
  if (held === undefined || token === undefined || signAgain(config.secrets, held) === held) return undefined;
  if (response.headers.getSetCookie().some((one) => one.startsWith(`${name}=`))) return undefined;
  const found: unknown = await response.clone().json();
  if (typeof found !== "object" || found === null || !("session" in found)) return undefined;
  const { expiresAt, remembered } = found.session as { expiresAt: string; remembered: boolean };
  return writeSessionCookie(config, token, remembered ? new Date(expiresAt) : undefined);
}
