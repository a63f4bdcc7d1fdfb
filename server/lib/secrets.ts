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

const sealKeys = new Map<string, KeyObject>();
/** The key that a secret makes, kept: a server has one secret, and few before it. */
function sealKey(secret: string): KeyObject {
  const known = sealKeys.get(secret);
  if (known) return known;
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", secret, "", "floe seal v1", 32)));
  sealKeys.set(secret, key);
  return key;
}

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

/** The same; nothing where the secret that sealed it is gone. */
export function tryUnseal(secrets: readonly string[], sealed: string): string | null {
  try {
    return unseal(secrets, sealed);
  } catch {
    return null;
  }
}

function open(secret: string, sealed: string): string {
  const bytes = Buffer.from(sealed, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", sealKey(secret), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
}

/** Tokens of the published form (TOK-01); a link's is on the seller's own pages. */
const ourToken = /\b(?:polar|floe)_(?!cl_)[a-z]+_[0-9A-Za-z]{43}/g;
/** What a card processor opens a payment with. */
const processorToken = /\b\w{8,}_secret_[0-9A-Za-z]{20,}/g;
const sealedToken = /\{sealed:([\w-]{40,})\}/g;

/** Answers by the first answer for the same text. */
function remember(make: (text: string) => string): (text: string) => string {
  const made = new Map<string, string>();
  return (text) => {
    const answer = made.get(text) ?? make(text);
    made.set(text, answer);
    return answer;
  };
}

/** A text for keeping in which every secret token is sealed, and the rest can be searched as ever. */
export function sealTokens(secret: string, text: string): string {
  const hide = remember((found) => `{sealed:${seal(secret, found)}}`);
  const ours = text.replace(ourToken, hide);
  return ours.includes("_secret_") ? ours.replace(processorToken, hide) : ours;
}

/** The text as it was, to the letter. What none of these secrets sealed stays: somebody has written it so. */
export function openTokens(secrets: readonly string[], text: string): string {
  const open = remember((sealed) => tryUnseal(secrets, sealed) ?? `{sealed:${sealed}}`);
  return text.replace(sealedToken, (_, sealed: string) => open(sealed));
}

type Encoding = "base64" | "base64url";
const signatureOf = (secret: string, text: string, encoding: Encoding): string =>
  createHmac("sha256", secret).update(text).digest(encoding);

/** A text with its signature, as cookies carry it. */
export const signText = (secret: string, text: string): string => `${text}.${signatureOf(secret, text, "base64")}`;

/** The text before the signature of `text.signature` when one of these secrets made it, as of a cookie; of a JWT with base64url. */
export function openSignedText(
  secrets: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string | undefined {
  const dot = signed.lastIndexOf(".");
  if (dot <= 0) return undefined;
  const [text, signature] = [signed.slice(0, dot), signed.slice(dot + 1)];
  return secrets.some((secret) => isSameText(signatureOf(secret, text, encoding), signature)) ? text : undefined;
}

/** The same text signed with the current secret; what none of the older ones signed stays as it is. */
export function resign(
  [secret = "", ...older]: readonly string[],
  signed: string,
  encoding: Encoding = "base64",
): string {
  const text = older.length > 0 ? openSignedText(older, signed, encoding) : undefined;
  return text === undefined ? signed : `${text}.${signatureOf(secret, text, encoding)}`;
}
