import { createHash } from "node:crypto";
import type { BetterAuthPlugin } from "better-auth";
import { APIError, createAuthMiddleware } from "better-auth/api";
import { anonymous } from "better-auth/plugins";
import { and, asc, eq, gt, inArray, ne, notExists, sql } from "drizzle-orm";
import type { Deps, Tx } from "../../../platform/context.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { defineSignal, sendSignal } from "../../../platform/events/signals.ts";
import type { Worker } from "../../../platform/jobs/workers.ts";
import { recordTold } from "../audit/storage.ts";
import { account, apikey, deviceCode, invitation, member, session, team, teamMember, user } from "../tables.ts";

const keptMs = 24 * 60 * 60 * 1000;

/** What one user has becomes another's: a guest has said who they are. */
export const userMerged = defineSignal<{ from: string; to: string }>("user.merged");

/** People who signed in as nobody in particular, until they say who they are: then what they have becomes theirs. */
export function createGuestPlugin(deps: Deps) {
  const plugin = anonymous({
    onLinkAccount: ({ anonymousUser, newUser }) =>
      transact(deps, (tx) => moveGuest(tx, deps, anonymousUser.user.id, newUser.user.id)),
  });
  return {
    ...plugin,
    hooks: {
      before: [
        ...plugin.hooks.before,
        {
          matcher: ({ path }: { path?: string }) =>
            path === "/sign-in/anonymous" && !deps.config.FLOE_ANONYMOUS_SIGN_IN,
          handler: createAuthMiddleware(async () => {
            throw new APIError("BAD_REQUEST", {
              code: "ANONYMOUS_SIGN_IN_DISABLED",
              message: "Anonymous sign-in is not enabled",
            });
          }),
        },
      ],
      after: plugin.hooks.after,
    },
    init: () => ({
      options: {
        databaseHooks: {
          account: {
            create: {
              // With a way to sign in of their own they are somebody, and not to be taken for a guest of the next one.
              after: async ({ userId }, ctx) => {
                const owner = await ctx?.context.internalAdapter.findUserById(userId);
                if (owner && "isAnonymous" in owner && owner.isAnonymous === true)
                  await ctx?.context.internalAdapter.updateUser(userId, { isAnonymous: false });
              },
            },
          },
        },
      },
    }),
  } satisfies BetterAuthPlugin;
}

/**
 * Move all that a guest has to the account they have signed in to, and let the guest go; done before, or by another
 * request at the same time, it does nothing. Their sessions end: a cookie of a guest must not become somebody's.
 */
async function moveGuest(tx: Tx, deps: Deps, from: string, to: string): Promise<void> {
  if (from === to) return;
  // In one order. Whoever is adding something to one of the two waits, or was seen.
  const people = await tx
    .select({ id: user.id, isAnonymous: user.isAnonymous })
    .from(user)
    .where(inArray(user.id, [from, to]))
    .orderBy(asc(user.id))
    .for("update");
  const isGuest = (id: string) => people.find((one) => one.id === id)?.isAnonymous ?? undefined;
  if (isGuest(from) !== true || isGuest(to) === undefined || isGuest(to) === true) return;
  await moveMemberships(tx, from, to);
  await moveTeams(tx, from, to);
  await tx.update(invitation).set({ inviterId: to }).where(eq(invitation.inviterId, from));
  await tx.update(apikey).set({ userId: to }).where(eq(apikey.userId, from));
  await tx.update(apikey).set({ createdBy: to }).where(eq(apikey.createdBy, from));
  await tx
    .update(account)
    .set({ userId: to })
    .where(and(eq(account.userId, from), ne(account.providerId, "credential")));
  await tx.delete(deviceCode).where(eq(deviceCode.userId, from));
  await sendSignal(tx, deps, userMerged, { from, to });
  await tx.delete(user).where(eq(user.id, from));
  await recordTold(tx, deps, {
    action: "user.merged",
    subject: { type: "user", id: from },
    details: { into: to },
    self: to,
    onlySelf: true,
  });
}

/** Where both are in an organization, the one who stays has the roles of both. */
async function moveMemberships(tx: Tx, from: string, to: string): Promise<void> {
  const theirs = await tx
    .select({ id: member.id, organizationId: member.organizationId, role: member.role })
    .from(member)
    .where(eq(member.userId, from));
  for (const { id, organizationId, role } of theirs) {
    const [own] = await tx
      .select({ id: member.id, role: member.role })
      .from(member)
      .where(and(eq(member.organizationId, organizationId), eq(member.userId, to)));
    if (!own) await tx.update(member).set({ userId: to }).where(eq(member.id, id));
    else {
      const both = [...new Set([...own.role.split(","), ...role.split(",")])].join(",");
      await tx.update(member).set({ role: both }).where(eq(member.id, own.id));
      await tx.delete(member).where(eq(member.id, id));
    }
  }
}

async function moveTeams(tx: Tx, from: string, to: string): Promise<void> {
  const theirs = await tx
    .select({ id: teamMember.id, teamId: teamMember.teamId })
    .from(teamMember)
    .where(eq(teamMember.userId, from));
  for (const { id, teamId } of theirs) {
    const isIn = (await tx.$count(teamMember, and(eq(teamMember.teamId, teamId), eq(teamMember.userId, to)))) > 0;
    if (!isIn) {
      await tx
        .update(teamMember)
        .set({ userId: to, membershipKey: buildMembershipKey(teamId, to) })
        .where(eq(teamMember.id, id));
    } else {
      await tx.delete(teamMember).where(eq(teamMember.id, id));
      await tx
        .update(team)
        .set({ memberCount: sql`greatest(${team.memberCount} - 1, 0)` })
        .where(eq(team.id, teamId));
    }
  }
}

/** Guests who can never come back, because their session has run out, and who have no organization, key or way to sign in. */
const isForsaken = ({ db, clock }: Pick<Deps, "db" | "clock">) => {
  const matchGuest = (table: typeof member | typeof apikey | typeof account) =>
    db.select({ id: table.id }).from(table).where(eq(table.userId, user.id));
  const living = db
    .select({ id: session.id })
    .from(session)
    .where(and(eq(session.userId, user.id), gt(session.expiresAt, clock.now())));
  const having = [member, apikey, account].map((table) => notExists(matchGuest(table)));
  return and(sql`${user.isAnonymous}`, notExists(living), ...having);
};

/** Such guests go, a day after they came. What they bought stays with the sellers, under the name it was bought in. */
export const guestCleanup: Worker = {
  name: "guests.forget",
  pollIntervalMs: 10 * 60 * 1000,
  due: (deps) => ({ table: user, id: user.id, at: user.createdAt, delayMs: keptMs, where: isForsaken(deps) }),
  batchSize: 500,
  async run(deps, rows) {
    const ids = rows.map(({ id }) => id);
    await deps.db.delete(user).where(and(inArray(user.id, ids), isForsaken(deps)));
  },
};

/** By which better-auth lets nobody be in a team twice. */
const buildMembershipKey = (teamId: string, userId: string): string =>
  createHash("sha256")
    .update(JSON.stringify([teamId, userId]))
    .digest("base64url");
