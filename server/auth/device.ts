/** Clients that may ask for a device code; each is a public client without a secret. */
export const clients: Record<string, string> = { "floe-cli": "floe command line" };

export const isKnownClient = (id: string): boolean => Object.hasOwn(clients, id);

const device_grant = "urn:ietf:params:oauth:grant-type:device_code";

/** The document by which standard clients find the device flow (RFC 8414). */
export const metadataOf = (issuer: string, base: string) => ({
  issuer,
  device_authorization_endpoint: `${base}/device/code`,
  token_endpoint: `${base}/device/token`,
  grant_types_supported: [device_grant],
  response_types_supported: [],
  token_endpoint_auth_methods_supported: ["none"],
});

export type OAuthFault = { error: string; error_description: string };

/** What is wrong with a token request, in RFC 6749's words; undefined when nothing is. */
export function tokenFault(body: Record<string, unknown>): OAuthFault | undefined {
  for (const field of ["grant_type", "device_code", "client_id"]) {
    const value = body[field];
    if (typeof value !== "string" || value === "")
      return { error: "invalid_request", error_description: `${field} is required.` };
  }
  if (body.grant_type !== device_grant) {
    return { error: "unsupported_grant_type", error_description: `Only ${device_grant} is supported here.` };
  }
  if (!isKnownClient(String(body.client_id)))
    return { error: "invalid_client", error_description: "This client is not known." };
  return undefined;
}
