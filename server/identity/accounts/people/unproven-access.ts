import type { GenericEndpointContext } from "better-auth";
import { parseUserOutput } from "better-auth/db";
import { and, eq } from "drizzle-orm";
import type { Deps, Tx } from "../../../platform/context.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { createToken } from "../../../platform/ids.ts";
import { buildEntry } from "../audit/storage.ts";
import { account, apikey, session, user } from "../tables.ts";
import { endGivenOut } from "./credentials.ts";
import { sendSecurityMail } from "./security-mails.ts";

/** As long as the link of a mail about a new password works. */
const resetTokenMs = 60 * 60 * 1000;

/** How many of each way into an account were revoked. */
type Revoked = { sessions: number; accounts: string[]; apiKeys: number };

/** A person as the link of their mail names them. */
type LinkedPerson = { id: string; email: string; version: number };

/** Confirm the address of a link; false where another request has confirmed it, or ended the link, meanwhile. */
async function confirmAddress(tx: Tx, deps: Deps, { id, email, version }: LinkedPerson): Promise<boolean> {
  const confirmed = await tx
    .update(user)
    .set({ emailVerified: true, updatedAt: deps.clock.now() })
    .where(
      and(eq(user.id, id), eq(user.email, email), eq(user.credentialsVersion, version), eq(user.emailVerified, false)),
    )
    .returning({ id: user.id });
  return confirmed.length > 0;
}

async function revokeAccess(tx: Tx, deps: Deps, id: string): Promise<Revoked> {
  const sessions = await tx.delete(session).where(eq(session.userId, id)).returning({ id: session.id });
  const accounts = await tx.delete(account).where(eq(account.userId, id)).returning({ name: account.providerId });
  const keys = await tx.delete(apikey).where(eq(apikey.userId, id)).returning({ id: apikey.id });
  await endGivenOut(tx, deps, id, null);
  return { sessions: sessions.length, accounts: accounts.map(({ name }) => name), apiKeys: keys.length };
}

/** Create a token to choose a password with; null where passwords are off. */
async function createResetToken(ctx: GenericEndpointContext, { clock, config }: Deps, id: string) {
  if (!config.FLOE_PASSWORD_SIGN_IN) return null;
  const token = createToken("");
  await ctx.context.internalAdapter.createVerificationValue({
    identifier: `reset-password:${token}`,
    value: id,
    expiresAt: new Date(clock.now().getTime() + resetTokenMs),
  });
  return token;
}

/**
 * Confirm an address from a browser that has never entered the account. Whoever made the account may not be the owner of the
 * address, so every way into it from before is revoked: the password, linked services, sessions, devices and personal API keys.
 * The answer has a token with which the owner chooses a password. Null where the address is confirmed already.
 */
export async function confirmWithoutAccess(
  ctx: GenericEndpointContext,
  deps: Deps,
  linked: LinkedPerson,
): Promise<{ status: true; user: Record<string, unknown>; resetToken: string | null } | null> {
  const { id } = linked;
  const buildAuditEntry = (action: string, details = {}) =>
    buildEntry({ action, subject: { type: "user", id }, self: id, onlySelf: true, details });
  const isConfirmed = await transact(deps, async (tx) => {
    if (!(await confirmAddress(tx, deps, linked))) return false;
    const revoked = buildAuditEntry("user.access_revoked", await revokeAccess(tx, deps, id));
    await record(tx, deps, buildAuditEntry("user.email_verified"), revoked);
    await sendSecurityMail(tx, deps, revoked);
    return true;
  });
  const person = isConfirmed ? await ctx.context.internalAdapter.findUserById(id) : null;
  if (!person) return null;
  const resetToken = await createResetToken(ctx, deps, id);
  return { status: true, user: parseUserOutput(ctx.context.options, person), resetToken };
}
