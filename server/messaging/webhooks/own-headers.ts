/** The headers that a seller adds to the requests of an endpoint, such as the key of a gateway. Stored sealed (WHK-50). */
import { type ApiError, fault, invalid } from "../../../shared/errors.ts";
import type { Deps } from "../../platform/context.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";

export type OwnHeaders = Record<string, string>;
type Stored = { id: string; headers: string | null };

/** Seal headers for the endpoint that has them; null where there are none. */
export const sealHeaders = (secret: string, endpoint_id: string, headers: OwnHeaders): string | null =>
  Object.keys(headers).length === 0 ? null : seal(secret, "webhook-headers", endpoint_id, JSON.stringify(headers));

/** The headers of an endpoint; undefined if the server's secret no longer opens them. */
export function openHeaders({ config }: Pick<Deps, "config">, { id, headers }: Stored): OwnHeaders | undefined {
  if (headers === null) return {};
  const text = tryUnseal(config.secrets, "webhook-headers", id, headers);
  return text === null ? undefined : (JSON.parse(text) as OwnHeaders);
}

/** Shorter values may stand in any text, and are no secrets. */
const redactedLengthMin = 8;

/** The text of a receiver that may say back what it was sent, without the values of headers: it is kept and shown. */
export const redactHeaders = (text: string, headers: OwnHeaders): string =>
  Object.values(headers)
    .filter(({ length }) => length >= redactedLengthMin)
    .reduce((left, value) => left.replaceAll(value, "****"), text);

/**
 * Refuse a new address on another server without new headers. The values were given for one server, and a role that may change the
 * address cannot read them otherwise.
 */
export function findHeadersRefusal(
  row: { url: string; headers: string | null },
  change: { url?: string | undefined; headers?: OwnHeaders | undefined },
): ApiError | undefined {
  if (row.headers === null || change.url === undefined || change.headers !== undefined) return undefined;
  const { origin } = new URL(row.url);
  if (new URL(change.url).origin === origin) return undefined;
  const message = `The endpoint's own headers were given for ${origin}. Give them again for the new address, or {} to send none.`;
  return invalid(fault(["headers"], message, "missing"));
}
