import type { Config } from "../../platform/config.ts";
import { seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { createToken } from "../../platform/ids.ts";

/** Days for which a link of a mail opens the customer portal. */
const validDays = 30;
const validMs = validDays * 24 * 60 * 60 * 1000;

/** The customer whom a link opens the portal for, the address that it was mailed to, and which of their addresses that was. */
export type PortalLink = { organization_id: string; customer_id: string; email: string; email_version: number };
/** The sections of the portal's page that a link can lead to. */
export type PortalSection = "subscriptions" | "benefits" | "orders";
/** A link as it is exchanged: its end, and the text that no other link has. */
type OpenedPortalLink = PortalLink & { expires_at: Date; content: string };

/**
 * Build the link of a mail that opens the customer portal. The token stands after `#`: browsers send that part to no server, so it
 * is in no log and in no `Referer`. A button of the page exchanges it for a customer session, once (CUP-28). The section is not
 * part of the token: it only says what the page shows first.
 */
export function buildPortalLink(
  { url, secret }: Pick<Config, "url" | "secret">,
  { slug, organization_id, customer_id, email, email_version }: PortalLink & { slug: string },
  now: Date,
  show?: PortalSection,
): string {
  const until = now.getTime() + validMs;
  // Random, so that two mails of the same moment have links that are used separately.
  const link = [organization_id, customer_id, email, until, email_version, createToken("")];
  const token = seal(secret, "portal-link", "", JSON.stringify(link));
  return `${url}/${encodeURIComponent(slug)}/portal#${new URLSearchParams({ link: token, ...(show && { show }) })}`;
}

/** Parse the token of such a link; undefined if it has expired or is not one. */
export function parsePortalLink(
  { secrets }: Pick<Config, "secrets">,
  token: string,
  now: Date,
): OpenedPortalLink | undefined {
  const text = tryUnseal(secrets, "portal-link", "", token);
  if (text === null) return undefined;
  type Sealed = [string, string, string, number, number?];
  // The version is missing in links of earlier releases, which did not count it.
  const [organization_id, customer_id, email, until, email_version = 0] = JSON.parse(text) as Sealed;
  if (until <= now.getTime()) return undefined;
  return { organization_id, customer_id, email, email_version, expires_at: new Date(until), content: text };
}
