import { and, asc, eq, getTableColumns, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { customerMembers as operations } from "../../../shared/api/members.ts";
import type { Database, Tx } from "../../platform/context.ts";
import {
  computeOffset,
  counted,
  countRows,
  type ListQuery,
  matchFilters,
  matchOne,
  matchOrganizations,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { type Erased, listSpellings } from "../customers/rules.ts";
import { customers } from "../customers/tables.ts";
import type { MemberRow } from "./rules.ts";
import { members } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
/** How a member is named in a path: by our id or by the seller's own. */
export type MemberKey = { id: string } | { external_id: string };

const sortable = { created_at: members.created_at };
const living = and(isNull(members.deleted_at), isNull(customers.deleted_at));

/** One page of the members of living teams, and how many there are. */
export async function listMembers(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchOrganizations(members.organization_id, organizations),
    living,
    matchFilters(filter, {
      customer_id: matchOne(members.customer_id),
      external_customer_id: matchOne(customers.external_id),
      role: matchOne(members.role),
    }),
  );
  const ofTeams = joinByKey(members.customer_id, customers);
  const loadPage = () =>
    db
      .select(getTableColumns(members))
      .from(members)
      .innerJoin(customers, ofTeams)
      .where(where)
      .orderBy(...orderBy(filter.sorting, sortable, members.id))
      .limit(filter.limit)
      .offset(computeOffset(filter));
  return readPage(loadPage, () =>
    countRows(db.select(counted).from(members).innerJoin(customers, ofTeams).where(where)),
  );
}

const matchTeam = ({ organization_id, id }: RowKey): SQL | undefined =>
  and(eq(members.organization_id, organization_id), eq(members.customer_id, id), isNull(members.deleted_at));

/** All members of a team, the first ones first. Whoever changes one holds the customer's lock. */
export const findTeam = (db: Database, team: RowKey): Promise<MemberRow[]> =>
  db.select().from(members).where(matchTeam(team)).orderBy(asc(members.created_at), asc(members.id));

/** Those who have an address in living teams of a seller, with their teams, the oldest first. */
export const findMembersByEmail = (db: Database, organization_id: string, email: string, limit: number) =>
  db
    .select({ member: members, team: customers })
    .from(members)
    .innerJoin(customers, joinByKey(members.customer_id, customers))
    .where(
      and(
        eq(members.organization_id, organization_id),
        inArray(sql`lower(${members.email})`, listSpellings(email)),
        living,
      ),
    )
    .orderBy(asc(members.created_at), asc(members.id))
    .limit(limit);

/** A member of a team. */
export async function findMember(db: Database, team: RowKey, key: MemberKey): Promise<MemberRow | undefined> {
  const named = "id" in key ? eq(members.id, key.id) : eq(members.external_id, key.external_id);
  const [row] = await db
    .select()
    .from(members)
    .where(and(matchTeam(team), named));
  return row;
}

/** Add a member. */
export async function insertMember(tx: Tx, values: typeof members.$inferInsert): Promise<MemberRow> {
  const [row] = await tx.insert(members).values(values).returning();
  if (!row) throw new Error("The member was not written.");
  return row;
}

/** Change columns of a member. */
export async function updateMember(tx: Tx, key: RowKey, patch: Partial<MemberRow>): Promise<MemberRow> {
  const [row] = await tx.update(members).set(patch).where(matchKey(members, key)).returning();
  if (!row) throw new Error(`The member ${key.id} is gone.`);
  return row;
}

/** Forget the people of a team that is erased. */
export async function eraseTeam(tx: Tx, { organization_id, id }: Erased): Promise<void> {
  await tx
    .update(members)
    .set({ email: sql`${members.id} || '@anonymized.invalid'`, name: null, external_id: null })
    .where(and(eq(members.organization_id, organization_id), eq(members.customer_id, id)));
}
