import type { Config } from "../../../platform/config.ts";
import { signText } from "../../../platform/crypto/secrets.ts";

export const isSecure = ({ url }: Pick<Config, "url">): boolean => url.startsWith("https:");

/**
 * What the names of the account side's cookies begin with. With https it is `__Host-`: browsers take such a cookie only from this very
 * host, for all its paths, so no other host of the same domain can set one.
 */
export const getCookiePrefix = (config: Pick<Config, "url">): string => `${isSecure(config) ? "__Host-" : ""}floe`;

/** What a cookie of the account side is called. */
export const getCookieName = (config: Pick<Config, "url">, plain: string): string =>
  `${getCookiePrefix(config)}.${plain}`;

/** The cookie by which a browser holds a session; without a time it ends with the browser. */
export function writeSessionCookie(config: Pick<Config, "url" | "secret">, token: string, until?: Date): string {
  return [
    `${getCookieName(config, "session_token")}=${encodeURIComponent(signText(config.secret, token))}`,
    ...(until === undefined ? [] : [`Expires=${until.toUTCString()}`]),
    "Path=/",
    "HttpOnly",
    "SameSite=Lax",
    ...(isSecure(config) ? ["Secure"] : []),
  ].join("; ");
}
