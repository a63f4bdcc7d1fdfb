import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  scrypt,
  sign,
  verify,
} from "node:crypto";
import { promisify } from "node:util";
import type { Config } from "../../platform/config.ts";

/** What stands before the 32 bytes of a key of Ed25519: in PKCS #8, and in SubjectPublicKeyInfo. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");
const spki = Buffer.from("302a300506032b6570032100", "hex");

/** The key that signs archives: it follows from a secret of the server. */
export function getSigner(secret: string): { key: KeyObject; name: string } {
  const seed = Buffer.from(hkdfSync("sha256", secret, "", "floe archives v1", 32));
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const name = String(createPublicKey(key).export({ format: "jwk" }).x);
  return { key, name };
}

/** SHA-256 of a text, hex: what is signed of parts, and of the first line. */
export const hashText = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

export const signText = (key: KeyObject, text: string): string =>
  sign(null, Buffer.from(text, "utf8"), key).toString("base64url");

/** Whether the owner of a key, by its name, has signed a text. */
export function verifyText(name: string, text: string, signature: string): boolean {
  const key = createPublicKey({
    key: Buffer.concat([spki, Buffer.from(name, "base64url")]),
    format: "der",
    type: "spki",
  });
  return verify(null, Buffer.from(text, "utf8"), key, Buffer.from(signature, "base64url"));
}

/**
 * Whether archives that a key has signed are restored here: keys of this server's own secrets, and of servers that the operator trusts.
 * An archive sets rows as they are, so that one made by hand could name cards and files of others (MOV-04).
 */
export const isTrustedSigner = (
  { secrets, FLOE_TRUSTED_ARCHIVES: trusted }: Pick<Config, "secrets" | "FLOE_TRUSTED_ARCHIVES">,
  name: string,
): boolean => trusted.includes(name) || secrets.some((secret) => getSigner(secret).name === name);

const stretch = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt);

/** The key that a passphrase makes with a salt. It takes a tenth of a second, so that many cannot be tried. */
export const deriveArchiveKey = async (passphrase: string, salt: string): Promise<string> =>
  (
    await stretch(passphrase.normalize("NFKC"), Buffer.from(salt, "base64url"), 32, {
      N: 2 ** 15,
      r: 8,
      p: 1,
      maxmem: 64 * 1024 * 1024,
    })
  ).toString("hex");
