import { and, count, eq, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { licenseKeys as operations } from "../../../shared/api/license-keys.ts";
import { orders } from "../../billing/orders/tables.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { benefits } from "../../catalog/benefits/tables.ts";
import type { Erased } from "../../customers/customers/rules.ts";
import { customers } from "../../customers/customers/tables.ts";
import { members } from "../../customers/members/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  computeOffset,
  type ListQuery,
  limitPage,
  matchAny,
  matchFilters,
  matchOne,
  matchOrganizations,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { joinByKey, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { memoizeStatement } from "../../platform/db/statements.ts";
import { benefitGrants } from "../grants/tables.ts";
import { type ActivationRow, type KeyRow, type LicensedKey, usageMax } from "./rules.ts";
import { leaseKeys, licenseKeyActivations, licenseKeys } from "./tables.ts";

const whole = {
  row: licenseKeys,
  customer: customers,
  member: members,
  source: { subscription_id: benefitGrants.subscription_id, order_id: benefitGrants.order_id },
};

const findKeys = (db: Database, where: SQL | undefined) =>
  db
    .select(whole)
    .from(licenseKeys)
    .innerJoin(customers, joinByKey(licenseKeys.customer_id, customers))
    .leftJoin(members, joinByKey(licenseKeys.member_id, members))
    .innerJoin(benefitGrants, joinByKey(licenseKeys.grant_id, benefitGrants))
    .where(where)
    .$dynamic();

type Filter = ListQuery<typeof operations.list> & { customer_id?: string; member_id?: string | undefined };

/** One page of keys, the newest first, and how many there are; of one customer where that is said. */
export async function listKeys(
  db: Database,
  organizations: readonly string[],
  filter: Filter,
): Promise<{ items: LicensedKey[]; total: number }> {
  const asked = matchFilters(filter, {
    benefit_id: matchAny(licenseKeys.benefit_id),
    status: matchAny(licenseKeys.status),
    customer_id: matchOne(licenseKeys.customer_id),
    member_id: matchOne(licenseKeys.member_id),
  });
  const where = and(matchOrganizations(licenseKeys.organization_id, organizations), asked);
  const loadPage = () =>
    findKeys(db, where)
      .orderBy(...orderBy(["-created_at"], { created_at: licenseKeys.created_at }, licenseKeys.id))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(licenseKeys, where);
  return readPage(loadPage, () => countMatching(db, organizations, "license_keys", asked, count));
}

/** One key. */
export const findKey = async (db: Database, key: RowKey): Promise<LicensedKey | undefined> =>
  (await findKeys(db, matchKey(licenseKeys, key)))[0];

/** One key, kept from changing until the transaction ends. */
export const lockKey = async (tx: Tx, key: RowKey): Promise<LicensedKey | undefined> =>
  (await findKeys(tx, matchKey(licenseKeys, key)).for("update", { of: licenseKeys }))[0];

/** By what is kept of a key, which may be one of several texts. */
const matchHashes = (organization_id: unknown, hashes: unknown) =>
  sql`${licenseKeys.organization_id} = ${organization_id} and ${licenseKeys.key_hash} = any(${hashes}::text::text[])`;
const formatList = (hashes: readonly string[]): string => `{${hashes.join(",")}}`;

/** The same by what is kept of it. */
export const lockKeyByHash = async (
  tx: Tx,
  organization_id: string,
  hashes: readonly string[],
): Promise<LicensedKey | undefined> =>
  (await findKeys(tx, matchHashes(organization_id, formatList(hashes))).for("update", { of: licenseKeys }))[0];

const asked = {
  organization_id: sql.placeholder("organization_id"),
  hashes: sql.placeholder("hashes"),
  id: sql.placeholder("id"),
  by: sql`${sql.placeholder("by")}::int`,
  now: sql`${sql.placeholder("now")}::timestamptz`,
};
const used = { validations: licenseKeys.validations, usage: licenseKeys.usage, at: licenseKeys.last_validated_at };
/** What programs ask with each start of theirs. */
const uses = memoizeStatement((db) => ({
  find: findKeys(db, matchHashes(asked.organization_id, asked.hashes)).prepare("license_key"),
  note: db
    .update(licenseKeys)
    .set({
      validations: sql`${used.validations} + 1`,
      usage: sql`${used.usage} + ${asked.by}`,
      last_validated_at: asked.now,
    })
    .where(
      and(
        eq(licenseKeys.organization_id, asked.organization_id),
        eq(licenseKeys.id, asked.id),
        sql`(${asked.by} = 0 or ${used.usage} <= coalesce(${licenseKeys.limit_usage}, ${sql.raw(String(usageMax))}) - ${asked.by})`,
      ),
    )
    .returning(used)
    .prepare("license_key_use"),
}));

/** A key by what is kept of it, as it is at this moment. */
export const findKeyByHash = async (
  db: Database,
  organization_id: string,
  hashes: readonly string[],
): Promise<LicensedKey | undefined> =>
  (await uses(db).find.execute({ organization_id, hashes: formatList(hashes) }))[0];

/**
 * Note that a key was used, by so much: in one statement, so that those who use the same key wait for nothing else. Undefined
 * where so much is not left.
 */
export async function recordUse(db: Database, key: KeyRow, by: number, now: Date): Promise<KeyRow | undefined> {
  const { organization_id, id } = key;
  const [row] = await uses(db).note.execute({ organization_id, id, by, now: now.toISOString() });
  return row && { ...key, validations: row.validations, usage: row.usage, last_validated_at: row.at };
}

/** The key of a grant, kept from changing until the transaction ends. */
export async function lockKeyOfGrant(tx: Tx, organization_id: string, grant_id: string): Promise<KeyRow | undefined> {
  const [row] = await tx
    .select()
    .from(licenseKeys)
    .where(and(eq(licenseKeys.organization_id, organization_id), eq(licenseKeys.grant_id, grant_id)))
    .for("update");
  return row;
}

/** Add a key. */
export async function insertKey(tx: Tx, values: typeof licenseKeys.$inferInsert): Promise<KeyRow> {
  const [row] = await tx.insert(licenseKeys).values(values).returning();
  if (!row) throw new Error("The license key was not written.");
  return row;
}

/** Change columns of a key that the caller has locked. */
export async function updateKey(tx: Tx, key: RowKey, patch: Partial<KeyRow>): Promise<KeyRow> {
  const [row] = await tx.update(licenseKeys).set(patch).where(matchKey(licenseKeys, key)).returning();
  if (!row) throw new Error(`The license key ${key.id} is gone.`);
  return row;
}

const matchLiving = ({ organization_id, id }: RowKey) =>
  and(
    eq(licenseKeyActivations.organization_id, organization_id),
    eq(licenseKeyActivations.license_key_id, id),
    isNull(licenseKeyActivations.deactivated_at),
  );

/** The activations of a key, the oldest first. */
export const findActivations = (db: Database, key: RowKey): Promise<ActivationRow[]> =>
  db
    .select()
    .from(licenseKeyActivations)
    .where(matchLiving(key))
    .orderBy(licenseKeyActivations.created_at, licenseKeyActivations.id);

/** One of them. */
export async function findActivation(db: Database, key: RowKey, id: string): Promise<ActivationRow | undefined> {
  const [row] = await db
    .select()
    .from(licenseKeyActivations)
    .where(and(matchLiving(key), eq(licenseKeyActivations.id, id)));
  return row;
}

/** How many there are of a key. */
export async function countActivations(db: Database, key: RowKey): Promise<number> {
  const [row] = await db.select({ total: count() }).from(licenseKeyActivations).where(matchLiving(key));
  return row?.total ?? 0;
}

/** Add an activation. */
export async function insertActivation(
  tx: Tx,
  values: typeof licenseKeyActivations.$inferInsert,
): Promise<ActivationRow> {
  const [row] = await tx.insert(licenseKeyActivations).values(values).returning();
  if (!row) throw new Error("The activation was not written.");
  return row;
}

/** End an activation: its place is free. */
export const endActivation = (tx: Tx, key: RowKey, now: Date): Promise<unknown> =>
  tx
    .update(licenseKeyActivations)
    .set({ deactivated_at: now, modified_at: now })
    .where(matchKey(licenseKeyActivations, key));

/** What a lease says of a key besides: what its seller noted on the benefit, and for how many seats it was bought. */
export async function findLeased(db: Database, row: KeyRow) {
  const [found] = await db
    .select({ features: benefits.metadata, of_subscription: subscriptions.seats, of_order: orders.seats })
    .from(benefits)
    .innerJoin(benefitGrants, matchKey(benefitGrants, { organization_id: row.organization_id, id: row.grant_id }))
    .leftJoin(subscriptions, joinByKey(benefitGrants.subscription_id, subscriptions))
    .leftJoin(orders, joinByKey(benefitGrants.order_id, orders))
    .where(matchKey(benefits, { organization_id: row.organization_id, id: row.benefit_id }));
  return { features: found?.features ?? {}, seats: found?.of_subscription ?? found?.of_order ?? null };
}

/** The sealed seed of an organization's leases; this one from now on, where there was none. */
export async function insertSeed(
  tx: Tx,
  organization_id: string,
  seed_sealed: string,
  created_at: Date,
): Promise<string> {
  await tx.insert(leaseKeys).values({ organization_id, seed_sealed, created_at }).onConflictDoNothing();
  const [row] = await tx.select().from(leaseKeys).where(eq(leaseKeys.organization_id, organization_id));
  return row?.seed_sealed ?? seed_sealed;
}

/** Forget where somebody's keys were in use. */
export async function eraseActivations(tx: Tx, { organization_id, id }: Erased): Promise<void> {
  const theirs = tx
    .select({ id: licenseKeys.id })
    .from(licenseKeys)
    .where(and(eq(licenseKeys.organization_id, organization_id), eq(licenseKeys.customer_id, id)));
  await tx
    .update(licenseKeyActivations)
    .set({ label: "", conditions: {}, meta: {} })
    .where(
      and(
        eq(licenseKeyActivations.organization_id, organization_id),
        inArray(licenseKeyActivations.license_key_id, theirs),
      ),
    );
}
