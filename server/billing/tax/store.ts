import { eq, getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { tax as operations } from "../../../shared/api/tax.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { defineLoader } from "../../platform/db/loaders.ts";
import { type ListQuery, listRows, matchOrganizations, orderBy } from "../../platform/db/page.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import type { RegistrationRow, TaxedSeller } from "./rules.ts";
import { taxRegistrations } from "./tables.ts";

const sortable = { created_at: taxRegistrations.created_at };

/** Where a seller collects tax, for who decides on a sale: one statement, by an index. */
export const loadRegistrations = (db: Database, organization_id: string): Promise<RegistrationRow[]> =>
  db.select().from(taxRegistrations).where(eq(taxRegistrations.organization_id, organization_id));

/** The same as a column of a statement that reads something else of the seller. */
export const selectRegistrations = (organization_id: PgColumn): SQL<RegistrationRow[]> =>
  sql`${sql`(
    select coalesce(jsonb_agg(to_jsonb(${taxRegistrations})), '[]') from ${taxRegistrations}
    where ${taxRegistrations.organization_id} = ${organization_id})`}`.mapWith(readRegistrations);

const columns = Object.entries(getTableColumns(taxRegistrations));
/** Rows as JSON has them. */
const readRegistrations = (rows: Record<string, unknown>[]): RegistrationRow[] =>
  rows.map(
    (row) =>
      Object.fromEntries(
        columns.map(([name, column]) => [name, row[name] === null ? null : column.mapFromDriverValue(row[name])]),
      ) as RegistrationRow,
  );

/** Who sells, with what decides on the tax of a sale: one statement. */
export const findTaxedSeller = defineLoader(
  async (db: Database, ids: string[]): Promise<(TaxedSeller | undefined)[]> => {
    const wanted = [...new Set(ids)];
    const found: TaxedSeller[] = await db
      .select({ seller: organization, registrations: selectRegistrations(organization.id) })
      .from(organization)
      .where(inArray(organization.id, wanted));
    return ids.map((id) => found.find(({ seller }) => seller.id === id));
  },
);

/** One page of registrations, and how many there are. */
export const listRegistrations = (
  db: Database,
  organizations: readonly string[],
  { sorting, ...paging }: ListQuery<typeof operations.listRegistrations>,
) =>
  listRows(db, taxRegistrations, {
    where: matchOrganizations(taxRegistrations.organization_id, organizations),
    order: orderBy(sorting, sortable, taxRegistrations.id),
    paging,
  });

/** A registration by its id. */
export async function findRegistration(db: Database, key: RowKey): Promise<RegistrationRow | undefined> {
  const [row] = await db.select().from(taxRegistrations).where(matchKey(taxRegistrations, key));
  return row;
}

/** A registration, kept from changing until the transaction ends. */
export async function lockRegistration(tx: Tx, key: RowKey): Promise<RegistrationRow | undefined> {
  const [row] = await tx.select().from(taxRegistrations).where(matchKey(taxRegistrations, key)).for("update");
  return row;
}

/** Add a registration; undefined when there is one for the same place and scheme. */
export async function insertRegistration(tx: Tx, values: RegistrationRow): Promise<RegistrationRow | undefined> {
  const [row] = await tx.insert(taxRegistrations).values(values).onConflictDoNothing().returning();
  return row;
}

/** Change columns of a registration that the caller has locked. */
export async function updateRegistration(
  tx: Tx,
  key: RowKey,
  patch: Partial<RegistrationRow>,
): Promise<RegistrationRow> {
  const [row] = await tx.update(taxRegistrations).set(patch).where(matchKey(taxRegistrations, key)).returning();
  if (!row) throw new Error(`The tax registration ${key.id} is gone.`);
  return row;
}

/** Take a registration away; false where there was none. */
export async function deleteRegistration(tx: Tx, key: RowKey): Promise<boolean> {
  const gone = await tx
    .delete(taxRegistrations)
    .where(matchKey(taxRegistrations, key))
    .returning({ id: taxRegistrations.id });
  return gone.length > 0;
}
