import { createHash, createPrivateKey, createPublicKey, hkdfSync, type KeyObject, sign } from "node:crypto";
import { getServerClock, toUnixSeconds } from "../../platform/clock.ts";
import { type Ctx, type Deps, requireOrganization } from "../../platform/context.ts";
import type { Ingested } from "./ingest.ts";

/** What stands before the 32 bytes of a key of Ed25519 in PKCS #8. */
const pkcs8 = Buffer.from("302e020100300506032b657004220420", "hex");

type Signer = { key: KeyObject; kid: string; jwk: object };
const signers = new Map<string, Signer>();

/** The key that follows from one of the server's secrets. */
function getSigner(secret: string): Signer {
  const known = signers.get(secret);
  if (known) return known;
  const seed = Buffer.from(hkdfSync("sha256", secret, "", "floe usage receipts v1", 32));
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: "der", type: "pkcs8" });
  const jwk = createPublicKey(key).export({ format: "jwk" });
  const kid = createHash("sha256").update(String(jwk.x)).digest("base64url").slice(0, 16);
  const made = { key, kid, jwk: { ...jwk, kid, alg: "EdDSA", use: "sig" } };
  signers.set(secret, made);
  return made;
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * A signed word (a JWS in its compact form, EdDSA) on what became of a batch: how many were counted, and the SHA-256 of a line
 * for each event in the order sent, its external id (or id) and its status.
 */
export function signReceipt(ctx: Ctx, { inserted, duplicates, events }: Ingested): string {
  const { key, kid } = getSigner(ctx.config.secret);
  const lines = createHash("sha256");
  for (const { id, external_id, status } of events) lines.update(`${external_id ?? id} ${status}\n`);
  const iat = toUnixSeconds(getServerClock(ctx.clock).now());
  const said = { iss: ctx.config.url, sub: requireOrganization(ctx), iat, inserted, duplicates };
  const text = `${encode({ alg: "EdDSA", typ: "JWT", kid })}.${encode({ ...said, events: lines.digest("base64url") })}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

/** The keys with which receipts are verified, those of former secrets among them. */
export const listReceiptKeys = ({ config }: Pick<Deps, "config">): object[] =>
  config.secrets.map((secret) => getSigner(secret).jwk);
