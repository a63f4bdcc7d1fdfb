import type { Config } from "../../config.ts";
import { signText } from "../../lib/secrets.ts";

export const cookie_prefix = "floe";

const isSecure = ({ url }: Pick<Config, "url">): boolean => url.startsWith("https:");

/** What a cookie of the account side is called; browsers take the first half as a promise that it came by https. */
export const getCookieName = (config: Pick<Config, "url">, plain: string): string =>
  `${isSecure(config) ? "__Secure-" : ""}${cookie_prefix}.${plain}`;

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
