import { APIError } from "better-auth/api";
import { and, asc, eq, inArray, ne, sql } from "drizzle-orm";
import type { Database, Deps, Tx } from "../../../platform/context.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { organization } from "../../organizations/tables.ts";
import { recordTold } from "../audit/storage.ts";
import { member, session, user } from "../tables.ts";
import { endGivenOut } from "./credentials.ts";

/** Whether money has moved, or was about to: whether an organization has orders or payments. */
export type HasFinancialRecords = (tx: Tx, organization_id: string) => Promise<boolean>;

type Parts = Pick<Deps, "db" | "jobs" | "log" | "clock">;
type Emptied = { id: string; slug: string };

const owns = sql`'owner' = any(string_to_array(${member.role}, ','))`;
const formatNames = (organizations: { name: string }[]) => organizations.map(({ name }) => `"${name}"`).join(", ");

/**
 * The organizations that would go with a person, because nobody else is in them; their rows are locked. Refuses while the
 * person is the only owner of one that others are in, or that keeps books: nobody could reach its sales again.
 */
async function wrapPlan(tx: Tx, hasFinancialRecords: HasFinancialRecords, user_id: string): Promise<Emptied[]> {
  const owned = await tx
    .select({ id: member.organizationId })
    .from(member)
    .where(and(eq(member.userId, user_id), owns));
  if (owned.length === 0) return [];
  const ids = owned.map(({ id }) => id);
  // In one order, and before looking: whoever joins, leaves or sells meanwhile waits, or was seen.
  const locked = await tx
    .select({ id: organization.id, name: organization.name, slug: organization.slug })
    .from(organization)
    .where(inArray(organization.id, ids))
    .orderBy(asc(organization.id))
    .for("update");
  const others = await tx
    .select({ id: member.organizationId, isOwner: sql<boolean>`${owns}` })
    .from(member)
    .where(and(inArray(member.organizationId, ids), ne(member.userId, user_id)));
  const ownerless = locked.filter((one) => !others.some(({ id, isOwner }) => id === one.id && isOwner));
  const shared = ownerless.filter((one) => others.some(({ id }) => id === one.id));
  const listOrganizations = (some: typeof locked) => ({ organizations: some.map(({ id, name }) => ({ id, name })) });
  if (shared.length > 0)
    throw new APIError("BAD_REQUEST", {
      code: "ORGANIZATION_NEEDS_OWNER",
      message: `An organization needs an owner. First make another member the owner of ${formatNames(shared)}.`,
      ...listOrganizations(shared),
    });
  const kept = [];
  for (const one of ownerless) if (await hasFinancialRecords(tx, one.id)) kept.push(one);
  if (kept.length > 0)
    throw new APIError("BAD_REQUEST", {
      code: "ORGANIZATION_HAS_BOOKS",
      message: `There are orders or payments, which must keep an owner. First invite somebody and make them the owner of ${formatNames(kept)}.`,
      ...listOrganizations(kept),
    });
  return ownerless;
}

/** Refuse now what deleting a person would refuse later. */
export const rejectDeletion = (deps: Parts, hasFinancialRecords: HasFinancialRecords, user_id: string): Promise<void> =>
  transact(deps, async (tx) => void (await wrapPlan(tx, hasFinancialRecords, user_id)));

/**
 * Delete a person with everything that is theirs (sessions, linked accounts, keys, memberships, invitations they sent)
 * and the organizations that only they were in, or refuse and change nothing. All ways to delete a person lead here.
 */
export async function deletePerson(
  deps: Parts,
  hasFinancialRecords: HasFinancialRecords,
  user_id: string,
): Promise<void> {
  await transact(deps, async (tx) => {
    for (const emptied of await wrapPlan(tx, hasFinancialRecords, user_id)) await deleteWhole(tx, deps, emptied);
    await endGivenOut(tx, deps, user_id, null);
    const [gone] = await tx.delete(user).where(eq(user.id, user_id)).returning({ id: user.id });
    if (gone)
      await recordTold(tx, deps, { action: "user.deleted", subject: { type: "user", id: user_id }, self: user_id });
  });
}

async function deleteWhole(tx: Tx, deps: Parts, { id, slug }: Emptied): Promise<void> {
  await leaveActiveOrganization(tx, id);
  await tx.delete(organization).where(eq(organization.id, id));
  // The entry cannot refer to what is gone; its subject names it.
  await recordTold(tx, deps, {
    action: "organization.deleted",
    subject: { type: "organization", id },
    details: { slug },
  });
}

/**
 * Delete an organization with everything that it owns (members, teams, roles, keys, products, webhook endpoints), or
 * refuse because it keeps books.
 */
export async function deleteOrganization(
  deps: Parts,
  hasFinancialRecords: HasFinancialRecords,
  organization_id: string,
): Promise<void> {
  await transact(deps, async (tx) => {
    const [found] = await tx
      .select({ id: organization.id, slug: organization.slug })
      .from(organization)
      .where(eq(organization.id, organization_id))
      .for("update");
    if (!found) return;
    if (await hasFinancialRecords(tx, organization_id))
      throw new APIError("BAD_REQUEST", {
        code: "ORGANIZATION_HAS_BOOKS",
        message: "The organization has orders or payments, which are kept. It cannot be deleted.",
      });
    await deleteWhole(tx, deps, found);
  });
}

/** An organization is no longer what sessions have active: all of them, or one person's. */
export async function leaveActiveOrganization(
  db: Database | Tx,
  organization_id: string,
  user_id?: string,
): Promise<void> {
  await db
    .update(session)
    .set({ activeOrganizationId: null, activeTeamId: null })
    .where(
      and(
        eq(session.activeOrganizationId, organization_id),
        ...(user_id === undefined ? [] : [eq(session.userId, user_id)]),
      ),
    );
}
