import { and, eq, isNull, notInArray } from "drizzle-orm";
import type { benefits as operations } from "../../../shared/api/benefits.ts";
import { account } from "../../identity/accounts/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import {
  type ListQuery,
  listRows,
  matchAny,
  matchFilters,
  matchMetadata,
  matchOrganizations,
  matchText,
  orderBy,
} from "../../platform/db/page.ts";
import { insertRows, isAmong, lockRows, updateLockedRows } from "../../platform/db/rows.ts";
import { lockUsedMeters } from "../../usage/meters/store.ts";
import { files } from "../files/tables.ts";
import type { BenefitRow } from "./rules.ts";
import { benefits } from "./tables.ts";

type Filter = ListQuery<typeof operations.list>;
const sortable = {
  created_at: benefits.created_at,
  description: benefits.description,
  type: benefits.type,
  // The order in which a seller made them is the order in which they stand.
  user_order: benefits.created_at,
};

const matchLiving = (organizations: string | readonly string[]) =>
  and(matchOrganizations(benefits.organization_id, organizations), isNull(benefits.deleted_at));

/** One page of benefits, and how many there are (BEN-05). */
export async function listBenefits(db: Database, organizations: readonly string[], filter: Filter) {
  const where = and(
    matchLiving(organizations),
    matchFilters(filter, {
      type: matchAny(benefits.type),
      id: matchAny(benefits.id),
      exclude_id: (ids) => notInArray(benefits.id, ids),
      query: matchText(benefits.description),
      metadata: matchMetadata(benefits.metadata),
    }),
  );
  return listRows(db, benefits, { where, order: orderBy(filter.sorting, sortable, benefits.id), paging: filter });
}

/** These benefits of an organization that were not deleted, in no order. */
export async function findBenefits(
  db: Database,
  organization_id: string,
  ids: readonly string[],
): Promise<BenefitRow[]> {
  if (ids.length === 0) return [];
  return db
    .select()
    .from(benefits)
    .where(and(isAmong(organization_id, benefits.id, ids), isNull(benefits.deleted_at)));
}

/** Benefits that were not deleted, kept from changing until the transaction ends. */
export const lockBenefits = (tx: Tx, organization_id: string, ids: readonly string[]): Promise<BenefitRow[]> =>
  lockRows(tx, benefits, organization_id, ids, isNull(benefits.deleted_at));

/** Which of these files buyers could download, and which of these meters count; both stay so until the transaction ends. */
export async function findNamed(
  tx: Tx,
  organization_id: string,
  named: { files: readonly string[]; meters: readonly string[] },
): Promise<{ files: Set<string>; meters: Set<string> }> {
  const downloadable = and(
    isAmong(organization_id, files.id, named.files),
    eq(files.service, "downloadable"),
    eq(files.is_uploaded, true),
    isNull(files.deleted_at),
  );
  const found =
    named.files.length === 0 ? [] : await tx.select({ id: files.id }).from(files).where(downloadable).for("share");
  return { files: new Set(found.map(({ id }) => id)), meters: await lockUsedMeters(tx, organization_id, named.meters) };
}

/** The numbers of the accounts at GitHub that a user has shown to be theirs, by signing in with them. */
export async function findGitHubAccounts(db: Database, user_id: string | null): Promise<string[]> {
  if (user_id === null) return [];
  const rows = await db
    .select({ id: account.accountId })
    .from(account)
    .where(and(eq(account.userId, user_id), eq(account.providerId, "github")));
  return rows.map(({ id }) => id);
}

/** Add benefits that set the same columns. */
export const insertBenefits = (tx: Tx, values: (typeof benefits.$inferInsert)[]): Promise<BenefitRow[]> =>
  insertRows(tx, benefits, values);

/** Change columns of benefits that the caller has locked. */
export const updateBenefits = (
  tx: Tx,
  changes: readonly { row: BenefitRow; patch: Partial<BenefitRow> }[],
): Promise<BenefitRow[]> => updateLockedRows(tx, benefits, changes);
