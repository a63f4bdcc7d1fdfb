import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

/** What is stored of a token: HMAC-SHA-256 with the server's secret, hex (TOK-03). */
export const hashToken = (secret: string, token: string): string =>
  createHmac("sha256", secret).update(token).digest("hex");

/** What a token may be stored as: with the current secret first, then with those before it. */
export const hashesOf = (secrets: readonly string[], token: string): string[] =>
  secrets.map((secret) => hashToken(secret, token));

/** Whether two texts are the same, in time that does not tell where they differ. */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

const sealKey = (secret: string) => Buffer.from(hkdfSync("sha256", secret, "", "floe seal v1", 32));

/** Encrypt a text for keeping: AES-256-GCM with a key made from the server's secret. */
export function seal(secret: string, text: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", sealKey(secret), nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

/** What `seal` hid, with any of these secrets; throws when it was changed or sealed with another. */
export function unseal(secrets: readonly string[], sealed: string): string {
  const [secret = "", ...older] = secrets;
  try {
    return open(secret, sealed);
  } catch (error) {
    if (older.length === 0) throw error;
    return unseal(older, sealed);
  }
}

function open(secret: string, sealed: string): string {
  const bytes = Buffer.from(sealed, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", sealKey(secret), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

type Encoding = "base64" | "base64url";
const signatureOf = (secret: string, text: string, encoding: Encoding): string =>
  createHmac("sha256", secret).update(text).digest(encoding);

/** A text with its signature, as cookies carry it. */
export const signText = (secret: string, text: string): string => `${text}.${signatureOf(secret, text, "base64")}`;

/** The text before the signature of `text.signature` when one of these secrets made it, as of a cookie; of a JWT with base64url. */
export function signedText(
  secrets: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string | undefined {
  const dot = signed.lastIndexOf(".");
  if (dot <= 0) return undefined;
  const [text, signature] = [signed.slice(0, dot), signed.slice(dot + 1)];
  return secrets.some((secret) => sameText(signatureOf(secret, text, encoding), signature)) ? text : undefined;
}

/** The same text signed with the current secret; what none of the older ones signed stays as it is. */
export function resigned(
  [secret = "", ...older]: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string {
  const text = older.length > 0 ? signedText(older, signed, encoding) : undefined;
  return text === undefined ? signed : `${text}.${signatureOf(secret, text, encoding)}`;
}
