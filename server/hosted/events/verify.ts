import { createHmac } from "node:crypto";
import { isSameText } from "../../platform/crypto/secrets.ts";

/** What is wrong with a delivery, in the words that receivers of Standard Webhooks know; checked in this order. */
export const verificationFaults = {
  headers: "Missing required headers",
  timestamp: "Invalid Signature Headers",
  old: "Message timestamp too old",
  new: "Message timestamp too new",
  signature: "No matching signature found",
} as const;
export type VerificationFault = keyof typeof verificationFaults;

export type Delivery = { id: string; timestamp: string; signature: string; body: Buffer };

const toleranceSeconds = 300;
const [entriesMax, signatureLengthMax] = [20, 4096];
const prefix = "whsec_";

/**
 * The keys that a secret may stand for: its own bytes, prefix included, as Polar signed until September 2026; and what the text
 * after `whsec_` decodes to, as Standard Webhooks sign.
 */
export function deriveKeys(secret: string): Buffer[] {
  const text = secret.startsWith(prefix) ? secret.slice(prefix.length) : secret;
  const decoded = Buffer.from(text, "base64");
  const isBase64 = decoded.length > 0 && decoded.toString("base64").replace(/=+$/, "") === text.replace(/=+$/, "");
  return [Buffer.from(secret, "utf8"), ...(isBase64 ? [decoded] : [])];
}

/** Which of the secrets signed a delivery, by its place in the list; or what is wrong with it. */
export function verifyDelivery(
  { id, timestamp, signature, body }: Delivery,
  secrets: readonly string[],
  nowSeconds: number,
): { secret_index: number } | { fault: VerificationFault } {
  if (id === "" || timestamp === "" || signature === "") return { fault: "headers" };
  const seconds = /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : undefined;
  if (seconds === undefined) return { fault: "timestamp" };
  if (nowSeconds - seconds > toleranceSeconds) return { fault: "old" };
  if (seconds - nowSeconds > toleranceSeconds) return { fault: "new" };
  const entries = signature.slice(0, signatureLengthMax).split(" ").slice(0, entriesMax);
  const given = entries.flatMap((entry) => {
    const [version, text] = entry.split(",");
    return version === "v1" && text ? [text] : [];
  });
  const signed = Buffer.concat([Buffer.from(`${id}.${seconds}.`), body]);
  for (const [secret_index, secret] of secrets.entries())
    for (const key of deriveKeys(secret)) {
      const expected = createHmac("sha256", key).update(signed).digest("base64");
      if (given.some((text) => isSameText(text, expected))) return { secret_index };
    }
  return { fault: "signature" };
}
