/** Who may make what outlasts their request: an API key, or a rule by which keys are made (TOK-05). */
import { eq } from "drizzle-orm";
import { fault, invalid, notPermitted } from "../../../../shared/errors.ts";
import { expandScopes, type Scope } from "../../../../shared/scopes.ts";
import type { Actor, Tx } from "../../../platform/context.ts";
import { limitedSession } from "../device/sessions.ts";
import { confirmationRequired, isProofOld } from "../identity/step-up.ts";
import { notWhileImpersonating } from "../people/platform.ts";
import { apikey } from "../tables.ts";
import type { KeyRow } from "./shapes.ts";

/** Keys outlast the session that makes them: a sign-in for some scopes, and an impersonation, make none (TOK-05). */
export function checkSession({ kind, limited, impersonated_by }: Actor): void {
  if (kind !== "user") return;
  if (limited) throw notPermitted(limitedSession.message);
  if (impersonated_by) throw notPermitted(notWhileImpersonating.message);
}

/** Refuse a person who has not shown within the hour who they are (TOK-05). */
export function checkFresh({ kind, proven_at }: Actor, now: Date): void {
  if (kind === "user" && (proven_at === undefined || isProofOld(proven_at, now)))
    throw notPermitted(confirmationRequired.detail);
}

/** A key gets no scope that its maker lacks (TOK-05). */
export function checkScopes(wanted: readonly Scope[], { scopes }: Actor): void {
  const beyond = [...expandScopes(wanted)].find((one) => !scopes.has(one));
  if (beyond !== undefined)
    throw invalid(fault(["scopes"], `You do not hold the scope ${beyond} yourself.`, "scope_not_held", beyond));
}

/**
 * The key that makes another one, kept from changing. One that may be used so many times makes none: the new one would have no
 * such limit.
 */
export async function lockMaker(tx: Tx, { key_id }: Actor): Promise<KeyRow | undefined> {
  if (key_id === null) return undefined;
  const [maker] = await tx.select().from(apikey).where(eq(apikey.id, key_id)).for("update");
  if (!maker || maker.remaining !== null || maker.rateLimitEnabled)
    throw notPermitted("A key whose use is limited makes no keys.");
  return maker;
}

/** Refuse a key that would outlast the key that makes it: that one was given for a time (TOK-05). */
export function checkEnd(expiresIn: number | undefined, maker: KeyRow | undefined, now: Date): void {
  if (!maker?.expiresAt) return;
  if (expiresIn === undefined || now.getTime() + expiresIn * 1000 > maker.expiresAt.getTime())
    throw invalid(
      fault(
        ["expires_in"],
        `Your own key ends at ${maker.expiresAt.toISOString()}, and makes none that ends later.`,
        "too_late",
      ),
    );
}
