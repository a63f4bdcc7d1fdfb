import type { Config } from "../../platform/config.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";

/** A document of an order, as an address in a mail names it. */
export type LinkedDocument = { organization_id: string; order_id: string; kind: "invoice" | "receipt" };

const validMs = 365 * 24 * 60 * 60 * 1000;

/** An address that opens a document for a year: it is its own permission, as whoever bought may have no account here. */
export function linkDocument(
  { url, secret }: Pick<Config, "url" | "secret">,
  named: LinkedDocument,
  now: Date,
): string {
  const { organization_id, order_id, kind } = named;
  const until = now.getTime() + validMs;
  return `${url}/documents/${seal(secret, "document-link", "", JSON.stringify([organization_id, order_id, kind, until]))}`;
}

/** Which document such an address names; undefined for one that is no longer good, or never was. */
export function readLink({ secrets }: Pick<Config, "secrets">, token: string, now: Date): LinkedDocument | undefined {
  const text = tryUnseal(secrets, "document-link", "", token);
  if (text === null) return undefined;
  const [organization_id, order_id, kind, until] = JSON.parse(text) as [string, string, LinkedDocument["kind"], number];
  return until > now.getTime() ? { organization_id, order_id, kind } : undefined;
}
