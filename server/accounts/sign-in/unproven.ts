import { tryGetCurrentAuthEndpointContext } from "@better-auth/core/context";
import { getOAuthState } from "better-auth/api";
import type { OAuthProvider } from "better-auth/oauth2";
import { and, eq, isNull, or } from "drizzle-orm";
import { type AuditEntry, record } from "../../lib/audit.ts";
import type { Deps } from "../../lib/context.ts";
import { transact } from "../../lib/unit-of-work.ts";
import { endGivenOut } from "../people/credentials.ts";
import { sendSecurityMail } from "../people/security-mails.ts";
import { account, apikey, session, user } from "../tables.ts";

/** Whether a person signs in with a service, and does not link it to the account that they are signed in to. */
async function isSigningIn(): Promise<boolean> {
  const path = tryGetCurrentAuthEndpointContext()?.path;
  if (path === "/sign-in/social") return true;
  return path === "/callback/:id" && !(await getOAuthState())?.link;
}

/**
 * A service whose sign-in proves an address: where somebody made an account with that address and never proved it, their password,
 * linked services, sessions and personal API keys are dropped, and the account is its owner's. Otherwise a stranger who signs up with
 * an address first could wait in the account for its owner, or keep them out of it.
 */
export function guardUnprovenAccounts<P extends object>(deps: Deps, provider: OAuthProvider<P>): OAuthProvider<P> {
  return {
    ...provider,
    async getUserInfo(tokens) {
      const found = await provider.getUserInfo(tokens);
      const { email, emailVerified } = found?.user ?? {};
      if (found && email && emailVerified && (await isSigningIn())) {
        const subject = await provider.accountSubject({ tokens, profile: found.data });
        await dropUnprovenAccess(deps, email.toLowerCase(), { id: provider.id, subject: String(subject) });
      }
      return found;
    },
  };
}

async function dropUnprovenAccess(deps: Deps, email: string, service: { id: string; subject: string }): Promise<void> {
  await transact(deps, async (tx) => {
    const isUnproven = and(
      eq(user.email, email),
      eq(user.emailVerified, false),
      or(isNull(user.isAnonymous), eq(user.isAnonymous, false)),
    );
    const [person] = await tx.select({ id: user.id }).from(user).where(isUnproven).for("update");
    if (!person) return;
    const isService = and(eq(account.providerId, service.id), eq(account.accountId, service.subject));
    // Whoever has linked this account of the service is signed in to the account that they linked it to.
    if ((await tx.$count(account, isService)) > 0) return;
    const own = { accounts: eq(account.userId, person.id), sessions: eq(session.userId, person.id) };
    const accounts = await tx.delete(account).where(own.accounts).returning({ providerId: account.providerId });
    const sessions = await tx.delete(session).where(own.sessions).returning({ id: session.id });
    const keys = await tx.delete(apikey).where(eq(apikey.userId, person.id)).returning({ id: apikey.id });
    await endGivenOut(tx, deps, person.id, null);
    await tx.update(user).set({ emailVerified: true, updatedAt: deps.clock.now() }).where(eq(user.id, person.id));
    const headers = tryGetCurrentAuthEndpointContext()?.headers;
    const entry: AuditEntry = {
      action: "user.unproven_access_dropped",
      actor: { kind: "user", user_id: person.id, key_id: null },
      subject: { type: "user", id: person.id },
      organization_id: null,
      details: {
        provenBy: service.id,
        accounts: accounts.map(({ providerId }) => providerId),
        sessions: sessions.length,
        apiKeys: keys.length,
      },
      ip_address: headers?.get("x-client-ip") ?? null,
      user_agent: headers?.get("user-agent") ?? null,
    };
    await record(tx, deps, entry);
    await sendSecurityMail(tx, deps, entry);
  });
}
