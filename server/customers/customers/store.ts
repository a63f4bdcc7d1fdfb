import { and, asc, eq, inArray, isNull, ne, not, or, type SQL, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { customers as operations } from "../../../shared/api/customers.ts";
import { encodeEmail } from "../../../shared/emails.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchAnyOf } from "../../platform/db/arrays.ts";
import { countMatching } from "../../platform/db/counters.ts";
import {
  buildPattern,
  computeOffset,
  type ListQuery,
  limitPage,
  matchFilters,
  matchMetadata,
  matchOrganizations,
  matchText,
  orderBy,
  readPage,
} from "../../platform/db/page.ts";
import { insertRows, isAmong, matchKey, type RowKey } from "../../platform/db/rows.ts";
import { memoizeStatement } from "../../platform/db/statements.ts";
import { type CustomerRow, listSpellings } from "./rules.ts";
import { customers } from "./tables.ts";

const isSubscribed: SQL = sql`exists (
  select 1 from ${subscriptions} s where s.organization_id = ${customers}.organization_id
    and s.customer_id = ${customers}.id and s.status in ('trialing', 'active')
)`;

type Filter = ListQuery<typeof operations.list>;

/** How a customer is named in a path: by our id or by the seller's own. */
export type CustomerKey = { id: string } | { external_id: string };

const sortable = { created_at: customers.created_at, email: customers.email, name: customers.name };
const matchEmail = (email: string): SQL => inArray(sql`lower(${customers.email})`, listSpellings(email));
/** Of the customers of an address: two only where an earlier version took two spellings of it. */
const chooseKept = (rows: readonly CustomerRow[], email: string): CustomerRow | undefined =>
  rows.find((row) => row.email?.toLowerCase() === encodeEmail(email).toLowerCase()) ?? rows[0];
const matchLiving = (organizations: string | readonly string[]) =>
  and(matchOrganizations(customers.organization_id, organizations), isNull(customers.deleted_at));
const buildPrefixPattern = (text: string): string => buildPattern(text).slice(1);

/** That a row is of a customer whom the seller knows by one of these ids. */
export const matchExternalIds =
  (column: PgColumn, organizations: readonly string[]) =>
  (ids: readonly string[]): SQL =>
    sql`${column} in (select ${customers.id} from ${customers}
      where ${and(matchLiving(organizations), inArray(customers.external_id, [...ids]))})`;

/** One page of customers, and how many there are (CUS-22). */
export async function listCustomers(db: Database, organizations: readonly string[], filter: Filter) {
  const asked = matchFilters(filter, {
    email: matchEmail,
    query: (text) =>
      or(
        matchText(customers.email, customers.name)(text),
        text === encodeEmail(text) ? undefined : matchEmail(text),
        sql`${customers.external_id} like ${buildPrefixPattern(text)}`,
      ),
    active: (active) => (active ? isSubscribed : not(isSubscribed)),
    metadata: matchMetadata(customers.metadata),
  });
  const where = and(matchLiving(organizations), asked);
  const loadPage = () =>
    db
      .select()
      .from(customers)
      .where(where)
      // An address is one customer's: sorting one row would only talk the planner out of the unique index.
      .orderBy(...(filter.email === undefined ? orderBy(filter.sorting, sortable, customers.id) : []))
      .limit(limitPage(filter, asked))
      .offset(computeOffset(filter));
  const count = () => db.$count(customers, where);
  return readPage(loadPage, () => countMatching(db, organizations, "customers", asked, count));
}

/** How many customers are read at once where all are wanted. */
const exportPage = 500;

/** All customers in the order in which they were made, page after page: however many there are, few are held. */
export async function* iterateCustomers(db: Database, organizations: readonly string[]): AsyncGenerator<CustomerRow[]> {
  const { created_at, id } = customers;
  // As text, because a date here knows no microseconds, and would find the last one again.
  let after: { at: string; id: string } | undefined;
  do {
    const rows = await db
      .select({ row: customers, at: sql<string>`${created_at}::text` })
      .from(customers)
      .where(
        and(
          matchLiving(organizations),
          after && sql`(${created_at}, ${id}) > (${after.at}::timestamptz, ${after.id}::uuid)`,
        ),
      )
      .orderBy(asc(created_at), asc(id))
      .limit(exportPage);
    yield rows.map(({ row }) => row);
    const last = rows.length === exportPage ? rows.at(-1) : undefined;
    after = last && { at: last.at, id: last.row.id };
  } while (after);
}

const matchCustomerKey = (key: CustomerKey): SQL =>
  "id" in key ? eq(customers.id, key.id) : eq(customers.external_id, key.external_id);

/** What is asked of one customer by our id, as it is of most. */
const ofOne = { organization_id: sql.placeholder("organization_id"), id: sql.placeholder("id") };
const isOne = and(eq(customers.organization_id, ofOne.organization_id), eq(customers.id, ofOne.id));
const findOne = memoizeStatement((db) =>
  db
    .select()
    .from(customers)
    .where(and(isOne, isNull(customers.deleted_at)))
    .prepare("customer"),
);

/** A customer that was not deleted. */
export async function findCustomer(
  db: Database,
  organization_id: string,
  key: CustomerKey,
): Promise<CustomerRow | undefined> {
  const [row] =
    "id" in key
      ? await findOne(db).execute({ organization_id, id: key.id })
      : await db
          .select()
          .from(customers)
          .where(and(matchLiving(organization_id), matchCustomerKey(key)));
  return row;
}

/** A customer that was not deleted, by e-mail address in any spelling. */
export async function findCustomerByEmail(
  db: Database,
  organization_id: string,
  email: string,
): Promise<CustomerRow | undefined> {
  const rows = await db
    .select()
    .from(customers)
    .where(and(matchLiving(organization_id), matchEmail(email)));
  return chooseKept(rows, email);
}

/** A customer, deleted or not, kept from changing until the transaction ends. */
export async function lockCustomer(
  tx: Tx,
  organization_id: string,
  key: CustomerKey,
): Promise<CustomerRow | undefined> {
  const [row] = await tx
    .select()
    .from(customers)
    .where(and(eq(customers.organization_id, organization_id), matchCustomerKey(key)))
    .for("update");
  return row;
}

/** The same by e-mail address in any spelling, among those that were not deleted. */
export async function lockCustomerByEmail(
  tx: Tx,
  organization_id: string,
  email: string,
): Promise<CustomerRow | undefined> {
  const rows = await tx
    .select()
    .from(customers)
    .where(and(matchLiving(organization_id), matchEmail(email)))
    .for("update");
  return chooseKept(rows, email);
}

/** The customers of all sellers that have a user's id as their external id, kept until the transaction ends. */
export const lockCustomersOfUser = (tx: Tx, user_id: string): Promise<CustomerRow[]> =>
  tx
    .select()
    .from(customers)
    .where(and(eq(customers.external_id, user_id), isNull(customers.deleted_at)))
    .for("update");

/** Other customers that have this e-mail address or this external id. */
export async function findOthers(
  db: Database,
  organization_id: string,
  { email, external_id, id }: { email?: string | null; external_id?: string | null; id?: string },
): Promise<CustomerRow[]> {
  const same = or(
    email ? matchEmail(email) : undefined,
    external_id ? eq(customers.external_id, external_id) : undefined,
  );
  if (!same) return [];
  return db
    .select()
    .from(customers)
    .where(and(matchLiving(organization_id), id === undefined ? undefined : ne(customers.id, id), same));
}

/** Add a customer; undefined when a parallel one has just taken the e-mail address or the external id. */
export async function insertCustomer(tx: Tx, values: typeof customers.$inferInsert): Promise<CustomerRow | undefined> {
  const [row] = await tx.insert(customers).values(values).onConflictDoNothing().returning();
  return row;
}

/** What can be changed of a customer; whether there is one is changed by adding and deleting. */
type CustomerPatch = Partial<Omit<CustomerRow, keyof RowKey | "deleted_at">>;

/** Change columns of a customer. The caller holds its lock, or says what else makes that safe. */
export async function updateCustomer(tx: Tx, key: RowKey, patch: CustomerPatch): Promise<CustomerRow> {
  const [row] = await tx.update(customers).set(patch).where(matchKey(customers, key)).returning();
  if (!row) throw new Error(`The customer ${key.id} is gone.`);
  return row;
}

/** Give a customer a default card; undefined where they have one, or are gone. */
export async function fillDefaultMethod(
  tx: Tx,
  key: RowKey,
  patch: Pick<CustomerRow, "default_payment_method_id" | "modified_at">,
): Promise<CustomerRow | undefined> {
  const [row] = await tx
    .update(customers)
    .set(patch)
    .where(and(matchKey(customers, key), isNull(customers.default_payment_method_id), isNull(customers.deleted_at)))
    .returning();
  return row;
}

/**
 * Note when customers used something for the first time, of those of whom that is not known. One who is being changed is left
 * to the next batch: nobody waits for a customer while others wait for what they hold.
 */
export const markFirstUse = (tx: Tx, organization_id: string, ids: readonly string[], now: Date): Promise<unknown> =>
  tx.execute(sql`
    update ${customers} set first_user_event_at = ${now.toISOString()}::timestamptz
    from (select id from ${customers} where organization_id = ${organization_id}
      and id = ${matchAnyOf(ids, "uuid")} and first_user_event_at is null order by id for no key update skip locked) as first
    where ${customers.organization_id} = ${organization_id} and ${customers.id} = first.id`);

/** Delete a customer that the caller has locked: the row stays. */
export async function deleteCustomer(
  tx: Tx,
  key: RowKey,
  patch: CustomerPatch & { deleted_at: Date },
): Promise<CustomerRow> {
  const [row] = await tx
    .update(customers)
    .set(patch)
    .where(and(matchKey(customers, key), isNull(customers.deleted_at)))
    .returning();
  if (!row) throw new Error(`The customer ${key.id} is gone.`);
  return row;
}

/** A unique value was found taken without the database refusing the change. */
export class UniqueTakenError extends Error {
  readonly code = "23505";
}

/** The living customers of an organization with one of these addresses, or of the seller's own ids. */
export async function findNamedBy(
  db: Database,
  organization_id: string,
  { emails, external_ids }: { emails: readonly string[]; external_ids: readonly string[] },
): Promise<CustomerRow[]> {
  const spellings = [...new Set(emails.flatMap(listSpellings))];
  const named = or(
    spellings.length > 0 ? sql`lower(${customers.email}) = ${matchAnyOf(spellings, "text")}` : undefined,
    external_ids.length > 0 ? sql`${customers.external_id} = ${matchAnyOf([...external_ids], "text")}` : undefined,
  );
  return named
    ? db
        .select()
        .from(customers)
        .where(and(matchLiving(organization_id), named))
    : [];
}

/** Add customers, but none whose address or external id a parallel request has just taken; answers those that were added. */
export const insertCustomers = (tx: Tx, values: (typeof customers.$inferInsert)[]): Promise<CustomerRow[]> =>
  insertRows(tx, customers, values, { orNothing: true });

/** Remove customers whom nobody has changed and who have used nothing. The database refuses one that something else refers to. */
export async function removeUnused(tx: Tx, organization_id: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .delete(customers)
    .where(
      and(
        isAmong(organization_id, customers.id, ids),
        isNull(customers.modified_at),
        isNull(customers.first_user_event_at),
      ),
    );
}
