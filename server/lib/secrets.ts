import { createHmac, timingSafeEqual } from "node:crypto";

/** What is stored of a token: HMAC-SHA-256 with the server's secret, hex (TOK-03). */
export const hashToken = (secret: string, token: string): string => createHmac("sha256", secret).update(token).digest("hex");

/** Whether two texts are the same, in time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
