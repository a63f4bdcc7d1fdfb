import { and, asc, eq, inArray, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import type { organizations as operations } from "../../../shared/api/organizations.ts";
import { withSellerClock } from "../../platform/clock.ts";
import type { Database, Deps, Tx } from "../../platform/context.ts";
import { type ListQuery, listRows, matchFilters, orderBy } from "../../platform/db/page.ts";
import { createId } from "../../platform/ids.ts";
import { member, user } from "../accounts/tables.ts";
import type { OrganizationRow } from "./rules.ts";
import { organization } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;

const sortable = {
  created_at: organization.createdAt,
  slug: organization.slug,
  name: organization.name,
  // No organization is under review here, so all have the same threshold and have been in their state since they exist.
  next_review_threshold: sql`0::int`,
  days_in_status: sql`-extract(epoch from ${organization.createdAt})`,
};

/** One page of these organizations, and how many there are. */
export function listOrganizations(db: Database, ids: string[], filter: Filter) {
  const where = and(
    inArray(organization.id, ids),
    matchFilters(filter, { slug: (slug) => eq(sql`lower(${organization.slug})`, slug.toLowerCase()) }),
  );
  return listRows(db, organization, {
    where,
    order: orderBy(filter.sorting, sortable, organization.id),
    paging: filter,
  });
}

/** An organization by its id. */
export async function findOrganization(db: Database, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await db.select().from(organization).where(eq(organization.id, id));
  return row;
}

/** The same context for a seller: its clock, and its processor. */
export async function findClockOf<C extends Deps>(ctx: C, organization_id: string): Promise<C> {
  const [row] = await ctx.db
    .select({ clock_offset_ms: organization.clock_offset_ms, sandbox: organization.sandbox })
    .from(organization)
    .where(eq(organization.id, organization_id));
  return row ? withSellerClock(ctx, row) : ctx;
}

/** An organization, kept from changing until the transaction ends. */
export async function lockOrganization(tx: Tx, id: string): Promise<OrganizationRow | undefined> {
  const [row] = await tx
    .select()
    .from(organization)
    .where(eq(organization.id, id))
    .orderBy(asc(organization.id))
    .for("update");
  return row;
}

/** Add an organization and the member who owns it; undefined when another has the slug. */
export async function insertOrganization(
  tx: Tx,
  values: typeof organization.$inferInsert,
  userId: string,
): Promise<{ row: OrganizationRow; owner: typeof member.$inferSelect } | undefined> {
  const [row] = await tx.insert(organization).values(values).onConflictDoNothing().returning();
  if (!row) return undefined;
  const place = {
    id: createId(values.createdAt),
    organizationId: row.id,
    userId,
    role: "owner",
    createdAt: values.createdAt,
  };
  const [owner] = await tx.insert(member).values(place).returning();
  return owner && { row, owner };
}

/** Note the id that an organization has at hosted Polar, unless it has another; answers whether it has this one now. */
export async function linkToPolar(tx: Tx, id: string, polar_id: string): Promise<boolean> {
  const linked = await tx
    .update(organization)
    .set({ polar_id })
    .where(and(eq(organization.id, id), or(isNull(organization.polar_id), eq(organization.polar_id, polar_id))))
    .returning({ id: organization.id });
  return linked.length > 0;
}

/** Take the clock of an organization for oneself until then; answers whether nobody else has it. Times are the server's. */
export async function lockClock(db: Database, id: string, now: Date, until: Date): Promise<boolean> {
  const isFree = or(isNull(organization.clock_held_until), lte(organization.clock_held_until, now));
  const held = await db
    .update(organization)
    .set({ clock_held_until: until })
    .where(and(eq(organization.id, id), isFree))
    .returning({ id: organization.id });
  return held.length > 0;
}

/** Set the clock that one holds until `held`; answers whether one still does. */
export async function moveClock(
  db: Database,
  id: string,
  held: Date,
  values: Partial<Pick<OrganizationRow, "clock_offset_ms" | "clock_target" | "clock_held_until">>,
): Promise<boolean> {
  const moved = await db
    .update(organization)
    .set(values)
    .where(and(eq(organization.id, id), eq(organization.clock_held_until, held)))
    .returning({ id: organization.id });
  return moved.length > 0;
}

/** Let the clock go that one holds until `held`. */
export const releaseClock = (db: Database, id: string, held: Date): Promise<boolean> =>
  moveClock(db, id, held, { clock_held_until: null });

/** Hold the money of an organization, or let it go; answers whether that is new. */
export async function setMoneyHold(tx: Tx, id: string, held: { at: Date; reason: string } | null): Promise<boolean> {
  const isOther = held ? isNull(organization.money_held_at) : isNotNull(organization.money_held_at);
  const changed = await tx
    .update(organization)
    .set({ money_held_at: held?.at ?? null, money_held_reason: held?.reason ?? null })
    .where(and(eq(organization.id, id), isOther))
    .returning({ id: organization.id });
  return changed.length > 0;
}

/** Change columns of an organization. */
export async function updateOrganization(
  tx: Tx,
  id: string,
  patch: Partial<OrganizationRow>,
): Promise<OrganizationRow> {
  const [row] = await tx.update(organization).set(patch).where(eq(organization.id, id)).returning();
  if (!row) throw new Error(`The organization ${id} is gone.`);
  return row;
}

/** The name of an organization. */
export async function findOrganizationName(db: Database, id: string): Promise<string> {
  const [row] = await db.select({ name: organization.name }).from(organization).where(eq(organization.id, id));
  return row?.name ?? "";
}

/** The addresses of all members of an organization, to which notices go. */
export async function findMemberEmails(db: Database, organization_id: string): Promise<string[]> {
  const rows = await db
    .select({ email: user.email })
    .from(member)
    .innerJoin(user, eq(user.id, member.userId))
    .where(eq(member.organizationId, organization_id));
  return rows.map(({ email }) => email);
}
