import { isScope } from "../../../../shared/scopes.ts";
import { hashWithEach } from "../../../platform/crypto/secrets.ts";

/** Clients that may ask for a device code; each is a public client without a secret. */
const clients: Readonly<Record<string, string>> = { "floe-cli": "floe command line" };

const isKnownClient = (id: string): boolean => Object.hasOwn(clients, id);

/** What a client is called, so that no stranger is approved. */
export const getClientName = (id: string | null): string | null =>
  id !== null && Object.hasOwn(clients, id) ? (clients[id] ?? null) : null;

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const minuteMs = 60 * 1000;
const tokenLengthMax = 512;

/** How the device flow is run, by FLOE_DEVICE_FLOW: how long a code lives where nothing else is set, and whether a number must be entered. */
export const flows = {
  standard: { lives_ms: 30 * minuteMs, numbered: false },
  hardened: { lives_ms: 10 * minuteMs, numbered: true },
} as const;

/** The document by which standard clients find the device flow (RFC 8414). */
export const buildMetadata = (issuer: string, base: string) => ({
  issuer,
  device_authorization_endpoint: `${base}/device/code`,
  token_endpoint: `${base}/device/token`,
  grant_types_supported: [deviceGrant],
  response_types_supported: [],
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint: `${base}/device/token/revoke`,
  revocation_endpoint_auth_methods_supported: ["none"],
});

export type OAuthFault = { error: string; error_description: string };

/** A refusal in OAuth's words. */
export const createOAuthFault = (error: string, error_description: string): OAuthFault => ({
  error,
  error_description,
});

/** What is wrong with a token request, in RFC 6749's words; undefined when nothing is. */
export function findTokenFault(body: Record<string, unknown>): OAuthFault | undefined {
  for (const field of ["grant_type", "device_code", "client_id"]) {
    const value = body[field];
    if (typeof value !== "string" || value === "") return createOAuthFault("invalid_request", `${field} is required.`);
  }
  if (body.grant_type !== deviceGrant)
    return createOAuthFault("unsupported_grant_type", `Only ${deviceGrant} is supported here.`);
  if (!isKnownClient(String(body.client_id))) return createOAuthFault("invalid_client", "This client is not known.");
  return undefined;
}

/** What is wrong with a request to revoke a token (RFC 7009). A client that has no secret names itself. */
export function findRevocationFault(body: Record<string, unknown>): OAuthFault | undefined {
  for (const field of ["token", "client_id"]) {
    const value = body[field];
    if (typeof value !== "string" || value === "" || value.length > tokenLengthMax)
      return createOAuthFault("invalid_request", `${field} is required.`);
  }
  return isKnownClient(String(body.client_id))
    ? undefined
    : createOAuthFault("invalid_client", "This client is not known.");
}

/** What is wrong with a request for a code. */
export function findCodeFault({ client_id, scope }: Record<string, unknown>): OAuthFault | undefined {
  if (typeof client_id !== "string" || client_id === "")
    return createOAuthFault("invalid_request", "client_id is required.");
  if (!isKnownClient(client_id)) return createOAuthFault("invalid_client", "This client is not known.");
  if (scope === undefined) return undefined;
  if (typeof scope !== "string")
    return createOAuthFault("invalid_request", "scope is a text: names of scopes, by spaces.");
  const unknown = listScopeNames(scope).find((name) => !isScope(name));
  return unknown === undefined
    ? undefined
    : createOAuthFault("invalid_scope", `There is no scope "${unknown.slice(0, 64)}".`);
}

/** The names in a list of scopes, each once. */
export const listScopeNames = (scope: string): string[] => [
  ...new Set(scope.split(/\s+/).filter((name) => name !== "")),
];

const systems: readonly [RegExp, string][] = [
  [/android/i, "Android"],
  [/iphone|ipad|ios/i, "iOS"],
  [/windows|win32/i, "Windows"],
  [/mac ?os|macintosh|darwin/i, "macOS"],
  [/linux/i, "Linux"],
];

/**
 * The program and system that a user agent names, in words of ours: whoever asks writes that header, and must not be able
 * to write on the page that asks whether to trust them.
 */
export function readAgentName(userAgent: string | null): string {
  const [, own] = /^floe-cli\/(\d{1,4}(?:\.\d{1,4})?)/.exec(userAgent ?? "") ?? [];
  const system = systems.find(([pattern]) => pattern.test(userAgent ?? ""))?.[1];
  return `${own === undefined ? "another program" : `${clients["floe-cli"]} ${own}`}${system ? ` on ${system}` : ""}`;
}

/** What may be kept of the number that only the terminal shows: by the current secret first, then by earlier ones. */
export const hashConfirmation = (secrets: readonly string[], code_id: string, number: string): string[] =>
  hashWithEach(secrets, `device-confirmation:${code_id}:${number}`);

/** Whole seconds from one time to another; 0 when it is past. */
export function countSeconds(from: Date, to: Date): number {
  const ms = Math.max(to.getTime() - from.getTime(), 0);
  return (ms - (ms % 1000)) / 1000;
}
