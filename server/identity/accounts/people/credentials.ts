import { and, eq, gt, like, ne, or, sql } from "drizzle-orm";
import type { Clock } from "../../../platform/clock.ts";
import type { Database, Tx } from "../../../platform/context.ts";
import { deviceCode, session, user, verification } from "../tables.ts";

/** Entries of the audit log of changes after which nothing that was given out before may work. */
const credentialChanges: ReadonlySet<string> = new Set([
  "user.password_changed",
  "user.password_reset",
  "user.password_set",
  "user.password_removed",
  "user.email_changed",
  "user.deleted",
]);
export const isCredentialChange = (action: string): boolean => credentialChanges.has(action);

/** Long past: whoever was proven then has to prove who they are again. */
const never = new Date(0);

/**
 * End all that was given out to a person and waits: mailed links (their tokens carry the version), links begun at a provider,
 * approved devices that have not signed in, visits as an administrator, and proofs of who they are. `current` is the session
 * in which the person makes the change: it stays proven.
 */
export async function endGivenOut(
  db: Database | Tx,
  { clock }: { clock: Clock },
  user_id: string,
  current: string | null,
): Promise<void> {
  await db
    .update(user)
    .set({ credentialsVersion: sql`${user.credentialsVersion} + 1` })
    .where(eq(user.id, user_id));
  // The value is the person, of a mailed link; of a sign-in at a provider it is JSON that names whom to link.
  const isTheirs = or(eq(verification.value, user_id), like(verification.value, `%"userId":"${user_id}"%`));
  await db.delete(verification).where(and(gt(verification.expiresAt, clock.now()), isTheirs));
  await db.delete(deviceCode).where(eq(deviceCode.userId, user_id));
  await db.delete(session).where(eq(session.impersonatedBy, user_id));
  await db
    .update(session)
    .set({ provenAt: never })
    .where(and(eq(session.userId, user_id), current === null ? undefined : ne(session.id, current)));
}
