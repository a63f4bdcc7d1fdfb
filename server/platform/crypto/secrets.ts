import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";

/** What is stored of a token: HMAC-SHA-256 with the server's secret, hex (TOK-03). */
export const hashToken = (secret: string, token: string): string =>
  createHmac("sha256", secret).update(token).digest("hex");

/** What a token may be stored as: with the current secret first, then with those before it. */
export const hashWithEach = (secrets: readonly string[], token: string): string[] =>
  secrets.map((secret) => hashToken(secret, token));

/** Whether two texts are the same, in time that does not tell where they differ. */
export function isSameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** What is sealed, each kind with a key of its own. A text that was sealed for one purpose opens for no other. */
export type SealPurpose =
  | "archive-key"
  | "archive-value"
  | "card-link"
  | "checkout-challenge"
  | "checkout-secret"
  | "customer-account"
  | "discord-guild"
  | "discord-state"
  | "document-link"
  | "download-link"
  | "erasure-words"
  | "event-tokens"
  | "id-token"
  | "idempotency-answer"
  | "lease-seed"
  | "license-key"
  | "mail"
  | "metrics-link"
  | "mirror-tokens"
  | "payment-card"
  | "polar-webhook-secret"
  | "portal-link"
  | "seat-invitation"
  | "setup-card"
  | "storage-download"
  | "storage-part"
  | "stream-token"
  | "webhook-headers"
  | "webhook-response"
  | "webhook-secret";

/** The first byte of a sealed text. */
const sealVersion = 2;
const nonceLength = 12;
const tagLength = 16;

const sealKeys = new Map<string, KeyObject>();
/** The key that a secret makes for an HKDF info, cached: a server has few secrets and few purposes. */
function findSealKey(secret: string, info: string): KeyObject {
  const name = `${info} ${secret}`;
  const known = sealKeys.get(name);
  if (known) return known;
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", info, 32)));
  sealKeys.set(name, key);
  return key;
}
/** What authenticates a seal: the row that it is stored in. */
const encodeRow = (row: string): Buffer => Buffer.from(row, "utf8");
const getSealInfo = (purpose: SealPurpose): string => `floe seal v${sealVersion} ${purpose}`;

/**
 * Encrypt a text: AES-256-GCM with a key that the server's secret makes for this purpose, authenticated with the row that it is
 * stored in. It opens for the same purpose and the same row alone. A token that is stored nowhere has the row "".
 */
export function seal(secret: string, purpose: SealPurpose, row: string, text: string): string {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv("aes-256-gcm", findSealKey(secret, getSealInfo(purpose)), nonce);
  cipher.setAAD(encodeRow(row));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([Buffer.of(sealVersion), nonce, cipher.getAuthTag(), sealed]).toString("base64url");
}

function decrypt(key: KeyObject, bytes: Buffer, row: string): string {
  const tag_start = nonceLength;
  const text_start = nonceLength + tagLength;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, tag_start), { authTagLength: tagLength });
  decipher.setAAD(encodeRow(row));
  decipher.setAuthTag(bytes.subarray(tag_start, text_start));
  return Buffer.concat([decipher.update(bytes.subarray(text_start)), decipher.final()]).toString("utf8");
}

/** What `seal` encrypted for this purpose and row, with any of these secrets; throws for everything else. */
export function unseal(secrets: readonly string[], purpose: SealPurpose, row: string, sealed: string): string {
  const text = tryUnseal(secrets, purpose, row, sealed);
  if (text === null) throw new Error(`This was not sealed for ${purpose} ${row} with a secret of this server.`);
  return text;
}

/** The same; null where the secret that sealed it is gone. */
export function tryUnseal(
  secrets: readonly string[],
  purpose: SealPurpose,
  row: string,
  sealed: string,
): string | null {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes[0] !== sealVersion) return null;
  return tryEach(secrets, (secret) => decrypt(findSealKey(secret, getSealInfo(purpose)), bytes.subarray(1), row));
}

/** What servers sealed before seals had a purpose. Nothing but the migration of stored seals opens it. */
export const tryUnsealLegacy = (secrets: readonly string[], sealed: string): string | null =>
  tryEach(secrets, (secret) => decrypt(findSealKey(secret, "floe seal v1"), Buffer.from(sealed, "base64url"), ""));

/** The first text that one of the secrets opens; null where none does. */
function tryEach(secrets: readonly string[], decryptWith: (secret: string) => string): string | null {
  for (const secret of secrets) {
    try {
      return decryptWith(secret);
    } catch {
      // Not with this secret: GCM refuses the key.
    }
  }
  return null;
}

/** Tokens of the published form (TOK-01); a link's is on the seller's own pages. */
const ourToken = /\b(?:polar|floe)_(?!cl_)[a-z]+_[0-9A-Za-z]{43}/g;
/** What a card processor opens a payment with. */
const processorToken = /\b\w{8,}_secret_[0-9A-Za-z]{20,}/g;
const sealMark = "{sealed:";
const escapedMark = `${sealMark}:`;
const sealedToken = /\{sealed:(?::|([\w-]{40,})\})/g;

/** Cache answers by text. */
function memoize(compute: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const answer = known.get(text) ?? compute(text);
    known.set(text, answer);
    return answer;
  };
}

/**
 * A text in which every secret token is sealed, and the rest can be searched. A text of a user that looks like a sealed token is
 * escaped (`{sealed:` becomes `{sealed::`), so that it is never opened.
 */
export function sealTokens(secret: string, purpose: SealPurpose, row: string, text: string): string {
  const hide = memoize((token) => `${sealMark}${seal(secret, purpose, row, token)}}`);
  const ours = text.replaceAll(sealMark, escapedMark).replace(ourToken, hide);
  return ours.includes("_secret_") ? ours.replace(processorToken, hide) : ours;
}

/** The text that `sealTokens` was given for this purpose and row. A token whose secret is gone stays sealed. */
export function openTokens(secrets: readonly string[], purpose: SealPurpose, row: string, text: string): string {
  const open = memoize((sealed) => tryUnseal(secrets, purpose, row, sealed) ?? `${sealMark}${sealed}}`);
  return text.replace(sealedToken, (_, sealed: string | undefined) => (sealed === undefined ? sealMark : open(sealed)));
}

/** What is shown in place of a secret to a caller who may read what holds it, and not change it. */
export const maskedSecret = "********";

/** A text with its sealed tokens masked, for a caller who may not have them. */
export const redactTokens = (text: string): string =>
  text.replace(sealedToken, (_, sealed: string | undefined) => (sealed === undefined ? sealMark : maskedSecret));

/**
 * A text of an earlier version with its tokens sealed for this purpose and row. A token that does not belong there (`isOwn`), and
 * whatever else looks sealed, is escaped.
 */
export function rotateTokenSeals(
  { secret, secrets }: { secret: string; secrets: readonly string[] },
  purpose: SealPurpose,
  row: string,
  text: string,
  isOwn: (token: string) => boolean,
): string {
  return text.replace(/\{sealed:(:|(?:[\w-]{40,}\})?)/g, (found, rest: string) => {
    // Escaped before this was interrupted.
    if (rest === ":") return found;
    const sealed = rest.slice(0, -1);
    if (tryUnseal(secrets, purpose, row, sealed) !== null) return found;
    const token = sealed === "" ? null : tryUnsealLegacy(secrets, sealed);
    return token !== null && isOwn(token) ? `${sealMark}${seal(secret, purpose, row, token)}}` : escapedMark + rest;
  });
}

type Encoding = "base64" | "base64url";
const getSignature = (secret: string, text: string, encoding: Encoding): string =>
  createHmac("sha256", secret).update(text).digest(encoding);

/** A text with its signature, as cookies carry it. */
export const signText = (secret: string, text: string): string => `${text}.${getSignature(secret, text, "base64")}`;

/** The text before the signature of `text.signature` when one of these secrets made it, as of a cookie; of a JWT with base64url. */
export function openSignedText(
  secrets: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string | undefined {
  const dot = signed.lastIndexOf(".");
  if (dot <= 0) return undefined;
  const [text, signature] = [signed.slice(0, dot), signed.slice(dot + 1)];
  return secrets.some((secret) => isSameText(getSignature(secret, text, encoding), signature)) ? text : undefined;
}

/** The same text signed with the current secret; what none of the older ones signed stays as it is. */
export function signAgain(
  [secret = "", ...older]: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string {
  const text = older.length > 0 ? openSignedText(older, signed, encoding) : undefined;
  return text === undefined ? signed : `${text}.${getSignature(secret, text, encoding)}`;
}
