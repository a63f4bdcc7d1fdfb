import { and, arrayOverlaps, isNotNull } from "drizzle-orm";
import type { Config } from "../config.ts";
import type { Database } from "../context.ts";
import { hashToken, hashWithEach } from "../crypto/secrets.ts";
import { idempotencyKeys } from "../db/tables.ts";

/** Whom an answer may be about that was kept before this was recorded. */
const anybody = "*";
const mentionsMax = 1000;

/**
 * Whom an answer is about: ids of customers, and keyed hashes of e-mail addresses. The answer itself is sealed, so this is what an
 * erasure finds it by.
 */
export function findMentions({ secret }: Pick<Config, "secret">, body: unknown): string[] {
  const mentions = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || mentions.size >= mentionsMax) return;
    if ("email" in value && "id" in value && typeof value.id === "string") mentions.add(value.id);
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner !== "string") visit(inner);
      else if (key === "customer_id") mentions.add(inner);
      else if (key.endsWith("email")) mentions.add(hashToken(secret, inner.toLowerCase()));
    }
  };
  visit(body);
  return mentions.size >= mentionsMax ? [anybody] : [...mentions];
}

/** Erase the answers that are kept for idempotency keys and are about a customer. What was done is not done again for such a key. */
export async function eraseKeptAnswers(
  db: Database,
  { secrets }: Pick<Config, "secrets">,
  { id, emails }: { id: string; emails: readonly string[] },
): Promise<void> {
  const hashes = emails.flatMap((email) => hashWithEach(secrets, email.toLowerCase()));
  await db
    .update(idempotencyKeys)
    .set({ body: null, request_hash: "", mentions: null })
    .where(and(isNotNull(idempotencyKeys.status), arrayOverlaps(idempotencyKeys.mentions, [id, anybody, ...hashes])));
}
