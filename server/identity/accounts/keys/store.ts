import { and, eq, gt, isNull, or } from "drizzle-orm";
import { fault, invalid } from "../../../../shared/errors.ts";
import { expandScopes, isScope } from "../../../../shared/scopes.ts";
import type { Deps, Tx } from "../../../platform/context.ts";
import { hashToken } from "../../../platform/crypto/secrets.ts";
import { createId, createToken } from "../../../platform/ids.ts";
import { organization } from "../../organizations/tables.ts";
import { apikey, user } from "../tables.ts";
import { keyPrefixes, readScopes } from "./identify.ts";
import type { KeyRow } from "./shapes.ts";

/** What of a key's value is kept and shown, so that people can tell keys apart. */
export const startLength = keyPrefixes.organization.length + 4;

export type Owner = { organizationId: string; userId: null } | { organizationId: null; userId: string };
type NewKey = {
  owner: Owner;
  createdBy: string | null;
  name: string | null;
  scopes: readonly string[];
  /** In seconds from now; null: without end. */
  expiresIn: number | null;
  more?: Partial<KeyRow>;
};

/** Valid keys of one organization, or of one person. */
const keysMax = 500;

/**
 * Refuse a key beyond what its owner may have (TOK-14). The owner's row is locked, so that concurrent requests together stay within
 * the limit.
 */
async function checkKeyCount(tx: Tx, { organizationId, userId }: Owner, now: Date): Promise<void> {
  const [table, id] = organizationId === null ? [user, userId] : [organization, organizationId];
  await tx.select({ id: table.id }).from(table).where(eq(table.id, id)).for("no key update");
  const own = organizationId === null ? eq(apikey.userId, userId) : eq(apikey.organizationId, organizationId);
  const isValid = or(isNull(apikey.expiresAt), gt(apikey.expiresAt, now));
  if ((await tx.$count(apikey, and(own, isValid))) >= keysMax)
    throw invalid(fault([], `There are at most ${keysMax} API keys. Delete those that nothing uses.`, "too_long"));
}

/** Make a key. Its value is in the answer, and nowhere else (TOK-03). */
export async function insertKey(
  tx: Tx,
  { config }: Pick<Deps, "config">,
  now: Date,
  { owner, createdBy, name, scopes, expiresIn, more = {} }: NewKey,
): Promise<{ row: KeyRow; key: string }> {
  await checkKeyCount(tx, owner, now);
  const configId = owner.organizationId === null ? "default" : "organization";
  const prefix = keyPrefixes[configId];
  const key = createToken(prefix);
  const [row] = await tx
    .insert(apikey)
    .values({
      ...more,
      id: createId(now),
      configId,
      ...owner,
      createdBy,
      name,
      start: key.slice(0, startLength),
      prefix,
      key: hashToken(config.secret, key),
      expiresAt: expiresIn === null ? null : new Date(now.getTime() + expiresIn * 1000),
      permissions: JSON.stringify({ scopes }),
      createdAt: now,
      updatedAt: now,
    })
    .returning();
  if (!row) throw new Error("The key was not written.");
  return { row, key };
}

/** Whether a change lets a key do more than it can: as a new key, it would outlast a stolen session. */
export function isWiderKey(
  row: KeyRow,
  to: { scopes: readonly string[] | undefined; enabled: boolean | undefined },
): boolean {
  const held = expandScopes(readScopes(row.permissions));
  return (
    (to.scopes ?? []).some((scope) => !isScope(scope) || !held.has(scope)) || (to.enabled === true && !row.enabled)
  );
}
