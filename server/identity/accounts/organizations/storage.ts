import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter } from "better-auth/adapters";
import { APIError } from "better-auth/api";
import { and, eq, gt, ne, sql } from "drizzle-orm";
import { readRoles } from "../../../../shared/permissions.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/context.ts";
import { createId } from "../../../platform/ids.ts";
import { organization } from "../../organizations/tables.ts";
import { invitation, member, organizationRole, team, teamMember } from "../tables.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;

/** better-auth reads a hundred rows of a kind at most, so nothing that it must see whole may be more. */
export const membersMax = 100;
export const pendingInvitationsMax = 100;
export const teamsMax = 100;
export const rolesMax = 50;

/** How many of a kind an organization has, how many it may have, and what one too many is told. */
const rooms = {
  member: {
    taken: (db: Database, id: string) => db.$count(member, eq(member.organizationId, id)),
    max: membersMax,
    full: ["FORBIDDEN", "ORGANIZATION_MEMBERSHIP_LIMIT_REACHED", "Organization membership limit reached"],
  },
  invitation: {
    taken: (db: Database, id: string, now: Date) =>
      db.$count(
        invitation,
        and(eq(invitation.organizationId, id), eq(invitation.status, "pending"), gt(invitation.expiresAt, now)),
      ),
    max: pendingInvitationsMax,
    full: ["FORBIDDEN", "INVITATION_LIMIT_REACHED", "Invitation limit reached"],
  },
  team: {
    taken: (db: Database, id: string) => db.$count(team, eq(team.organizationId, id)),
    max: teamsMax,
    full: [
      "BAD_REQUEST",
      "YOU_HAVE_REACHED_THE_MAXIMUM_NUMBER_OF_TEAMS",
      "You have reached the maximum number of teams",
    ],
  },
  organizationRole: {
    taken: (db: Database, id: string) => db.$count(organizationRole, eq(organizationRole.organizationId, id)),
    max: rolesMax,
    full: ["BAD_REQUEST", "TOO_MANY_ROLES", "This organization has too many roles"],
  },
} as const;

const findCondition = (where: Where | undefined, field: string): unknown =>
  where?.find((one) => one.field === field)?.value;
const isOwner = (role: unknown): boolean => typeof role === "string" && readRoles(role).includes("owner");

/**
 * The account side's storage on one connection or transaction, exact where better-auth looks first and writes afterwards,
 * while others may have done the same in between: an invitation is settled once, an owner remains, there is no more of
 * anything than the limit, and who is added to a team twice is in it once.
 */
export function wrapOrganizationStorage(adapter: Adapter, db: Database, clock: Clock): Adapter {
  /**
   * Look at what an organization has with its row locked, so that nobody joins or leaves meanwhile. Not for update: two
   * who both refer to the row already, as an entry of the audit log does, would wait for each other.
   */
  const lock = (id: string) =>
    db.select({ id: organization.id }).from(organization).where(eq(organization.id, id)).for("no key update");

  /** Refuse to take the last owner away: two at once would each leave it to the other. */
  async function saveOwner(where: Where | undefined): Promise<void> {
    const id = findCondition(where, "id");
    if (typeof id !== "string") return;
    const [found] = await db.select().from(member).where(eq(member.id, id));
    if (!found || !isOwner(found.role)) return;
    const { organizationId } = found;
    await lock(organizationId);
    const [other] = await db
      .select({ id: member.id })
      .from(member)
      .where(
        and(
          eq(member.organizationId, organizationId),
          ne(member.id, id),
          sql`'owner' = any(string_to_array(${member.role}, ','))`,
        ),
      )
      .limit(1);
    if (!other)
      throw new APIError("BAD_REQUEST", {
        code: "YOU_CANNOT_LEAVE_THE_ORGANIZATION_WITHOUT_AN_OWNER",
        message: "You cannot leave the organization without an owner",
      });
  }

  async function moveInvitation(where: Where, status: string) {
    const from = findCondition(where, "status");
    const [moved] = await db
      .update(invitation)
      .set({ status })
      .where(
        and(eq(invitation.id, String(findCondition(where, "id"))), eq(invitation.status, String(from ?? "pending"))),
      )
      .returning();
    // Who names the state that it must have looks at the answer; the others take it for done.
    if (!moved && from === undefined)
      throw new APIError("BAD_REQUEST", {
        code: "INVITATION_NOT_PENDING",
        message: "This invitation is already answered or canceled.",
      });
    return moved ?? null;
  }

  /** better-auth counts first and writes afterwards; here the count is still right when the row is written. */
  async function checkRoom(model: string, organizationId: unknown): Promise<void> {
    if (typeof organizationId !== "string" || !(model in rooms)) return;
    const { taken, max, full } = rooms[model as keyof typeof rooms];
    await lock(organizationId);
    if ((await taken(db, organizationId, clock.now())) < max) return;
    const [status, code, message] = full;
    throw new APIError(status, { code, message });
  }

  /** Told here, because what the database would say of it ends the transaction. */
  async function checkNew({ organizationId, userId }: Record<string, unknown>): Promise<void> {
    const same = and(eq(member.organizationId, String(organizationId)), eq(member.userId, String(userId)));
    if ((await db.$count(member, same)) > 0)
      throw new APIError("CONFLICT", { code: "ALREADY_EXISTS", message: "Already exists" });
  }

  async function addToTeam(data: Record<string, unknown>) {
    const { teamId, userId } = data;
    const row = { ...data, id: createId(clock.now()), teamId: String(teamId), userId: String(userId) };
    const [added] = await db.insert(teamMember).values(row).onConflictDoNothing().returning();
    if (added) return added;
    const same = and(eq(teamMember.teamId, row.teamId), eq(teamMember.userId, row.userId));
    const [there] = await db.select().from(teamMember).where(same);
    return there;
  }

  return {
    ...adapter,
    create: async (given) => {
      await checkRoom(given.model, given.data.organizationId);
      if (given.model === "member") await checkNew(given.data);
      return (given.model === "teamMember" ? addToTeam(given.data) : adapter.create(given)) as never;
    },
    incrementOne: async (given) =>
      (given.model === "invitation" && typeof given.set?.status === "string"
        ? moveInvitation(given.where, given.set.status)
        : adapter.incrementOne(given)) as never,
    update: async (given) => {
      const { role } = given.update;
      if (given.model === "member" && role !== undefined && !isOwner(role)) await saveOwner(given.where);
      return adapter.update(given);
    },
    delete: async (given) => {
      if (given.model === "member") await saveOwner(given.where);
      return adapter.delete(given);
    },
    deleteMany: async (given) => {
      if (given.model === "member") await saveOwner(given.where);
      return adapter.deleteMany(given);
    },
  };
}
