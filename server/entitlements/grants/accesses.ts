import { and, eq, exists, inArray, isNotNull, isNull, like, ne, or, sql } from "drizzle-orm";
import type { BenefitRow } from "../../catalog/benefits/rules.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import type { AccountOwner } from "../../customers/linked-accounts/store.ts";
import { members } from "../../customers/members/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { Grant } from "./rules.ts";
import { selectGrants } from "./store.ts";
import { benefitGrants, grantAccesses } from "./tables.ts";

export type AccessRow = typeof grantAccesses.$inferSelect;
/** What is let in where, whoever's customer it is. */
type Thing = Pick<AccessRow, "organization_id" | "platform" | "account_number" | "place">;

const matchSameAccess = ({ organization_id, platform, account_number, place }: Thing) =>
  and(
    eq(grantAccesses.organization_id, organization_id),
    eq(grantAccesses.platform, platform),
    eq(grantAccesses.account_number, account_number),
    eq(grantAccesses.place, place),
  );
const formatIso = (at: Date) => sql`${at.toISOString()}::timestamptz`;
/** Once nobody is asking any more. */
const scheduleNextTurn = (now: Date) => ({
  turn: sql`${grantAccesses.turn} + 1`,
  attempts: 0,
  due_at: sql`case when ${grantAccesses.leased_until} > ${formatIso(now)} then ${grantAccesses.due_at} else ${formatIso(now)} end`,
});

/** Have an account let in, unless it is; answers the row that says so. The caller has locked its customer. */
export async function openAccess(
  tx: Tx,
  values: Thing & Pick<AccessRow, "id" | "customer_id" | "created_at">,
): Promise<AccessRow> {
  const now = values.created_at;
  const { organization_id, platform, account_number, place, customer_id } = grantAccesses;
  const [row] = await tx
    .insert(grantAccesses)
    .values({ ...values, due_at: now })
    .onConflictDoUpdate({
      target: [organization_id, platform, account_number, place, customer_id],
      set: scheduleNextTurn(now),
    })
    .returning();
  if (!row) throw new Error("The access was not written.");
  return row;
}

/** One way into it is gone: what is left of it is seen to. */
export async function releaseAccess(tx: Tx, key: RowKey, now: Date, kicks: boolean): Promise<void> {
  await tx
    .update(grantAccesses)
    .set({ ...scheduleNextTurn(now), kicks })
    .where(matchKey(grantAccesses, key));
}

/** An access. */
export async function findAccess(db: Database, key: RowKey): Promise<AccessRow | undefined> {
  const [row] = await db.select().from(grantAccesses).where(matchKey(grantAccesses, key));
  return row;
}

/** The same, kept from changing until the transaction ends. */
export async function lockAccess(tx: Tx, key: RowKey): Promise<AccessRow | undefined> {
  const [row] = await tx.select().from(grantAccesses).where(matchKey(grantAccesses, key)).for("update");
  return row;
}

/** Change columns of an access whose customer the caller has locked. */
export const updateAccess = (tx: Tx, key: RowKey, patch: Partial<AccessRow>): Promise<unknown> =>
  tx.update(grantAccesses).set(patch).where(matchKey(grantAccesses, key));

/** Forget an access by which nobody is let in. */
export const deleteAccess = (tx: Tx, key: RowKey): Promise<unknown> =>
  tx.delete(grantAccesses).where(matchKey(grantAccesses, key));

/** The grants that let an account in, the oldest first. */
export const findGrantsBy = (db: Database, { organization_id, id }: RowKey): Promise<Grant[]> =>
  selectGrants(db)
    .where(and(eq(benefitGrants.organization_id, organization_id), eq(benefitGrants.access_id, id)))
    .orderBy(benefitGrants.created_at, benefitGrants.id);

/** What gives the same to the same account, by whichever of the seller's customers it is had. */
export async function findGiving(db: Database, thing: Thing): Promise<BenefitRow["properties"][]> {
  const rows = await db
    .select({ properties: benefits.properties })
    .from(grantAccesses)
    .innerJoin(
      benefitGrants,
      and(
        eq(benefitGrants.organization_id, grantAccesses.organization_id),
        eq(benefitGrants.access_id, grantAccesses.id),
      ),
    )
    .innerJoin(benefits, joinByKey(benefitGrants.benefit_id, benefits))
    .where(matchSameAccess(thing));
  return rows.map(({ properties }) => properties);
}

const givenElsewhere = exists(
  sql`(select 1 from ${benefitGrants} g where g.organization_id = ${grantAccesses.organization_id} and g.access_id = ${grantAccesses.id})`,
);
const matchOthers = ({ organization_id, platform, account_number, id }: AccessRow, within: string) =>
  and(
    eq(grantAccesses.organization_id, organization_id),
    eq(grantAccesses.platform, platform),
    eq(grantAccesses.account_number, account_number),
    like(grantAccesses.place, `${within.replace(/[\\%_]/g, "\\$&")}%`),
    ne(grantAccesses.id, id),
  );

/** Whether the account is in the same place by something else, too. */
export async function isInOtherwise(db: Database, access: AccessRow, within: string): Promise<boolean> {
  const [row] = await db
    .select({ id: grantAccesses.id })
    .from(grantAccesses)
    .where(and(matchOthers(access, within), givenElsewhere))
    .limit(1);
  return row !== undefined;
}

/** What may have gone with something else is to be given again, where it is wanted. */
export const regrantOthers = (db: Database, access: AccessRow, within: string, now: Date): Promise<unknown> =>
  db
    .update(grantAccesses)
    .set({ ...scheduleNextTurn(now), given: null })
    .where(and(matchOthers(access, within), givenElsewhere));

/** Nobody asks a platform for a seller before then. */
export const postponeRequests = (
  db: Database,
  { organization_id, platform }: AccessRow,
  now: Date,
  until: Date,
): Promise<unknown> =>
  db
    .update(grantAccesses)
    .set({ due_at: until })
    .where(
      and(
        eq(grantAccesses.organization_id, organization_id),
        eq(grantAccesses.platform, platform),
        isNotNull(grantAccesses.due_at),
        sql`${grantAccesses.due_at} < ${formatIso(until)}`,
        or(isNull(grantAccesses.leased_until), sql`${grantAccesses.leased_until} <= ${formatIso(now)}`),
      ),
    );

/** What somebody has or waits for, of kinds that a platform gives, the oldest first; and what their team's owner has. */
export const findGrantsOn = (
  db: Database,
  { organization_id, customer_id, member_id }: AccountOwner,
  types: BenefitRow["type"][],
): Promise<Grant[]> =>
  selectGrants(db)
    .where(
      and(
        eq(benefitGrants.organization_id, organization_id),
        eq(benefitGrants.customer_id, customer_id),
        or(
          isNull(benefitGrants.member_id),
          member_id === null ? undefined : eq(benefitGrants.member_id, member_id),
          exists(
            sql`(select 1 from ${members} m where m.organization_id = ${benefitGrants.organization_id}
              and m.id = ${benefitGrants.member_id} and m.role = 'owner')`,
          ),
        ),
        inArray(benefits.type, types),
        isNull(benefitGrants.revoked_at),
      ),
    )
    .orderBy(benefitGrants.created_at, benefitGrants.id);
