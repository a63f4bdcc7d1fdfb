import { and, eq, isNotNull, isNull, lte, type SQL, sql } from "drizzle-orm";
import { customers } from "../../customers/customers/tables.ts";
import { organization } from "../../identity/organizations/tables.ts";
import type { Database, Tx } from "../../platform/context.ts";
import { matchKey, matchKeys, type RowKey } from "../../platform/db/rows.ts";
import { mails } from "../../platform/db/tables.ts";
import type { ErasureRow } from "./rules.ts";
import { customerErasures } from "./tables.ts";

/**
 * Record the erasure of a customer, or its repetition. The search words of the first time are kept, because the customer's
 * data are gone by now.
 */
export async function insertErasure(
  tx: Tx,
  values: typeof customerErasures.$inferInsert & { due_at: Date },
): Promise<void> {
  const { stage, due_at, words } = values;
  await tx
    .insert(customerErasures)
    .values(values)
    .onConflictDoUpdate({
      target: [customerErasures.organization_id, customerErasures.id],
      set: {
        ...{ stage, due_at, fence: null, cursor: null, finished_at: null, modified_at: values.created_at },
        words: words ?? sql`${customerErasures.words}`,
      },
    });
}

/** Find an erasure with its progress. */
export async function findErasure(db: Database, key: RowKey): Promise<ErasureRow | undefined> {
  const [row] = await db.select().from(customerErasures).where(matchKey(customerErasures, key));
  return row;
}

/** List the erased customers of a seller. */
export async function listErasedOf(tx: Tx, organization_id: string): Promise<string[]> {
  const rows = await tx
    .select({ id: customerErasures.id })
    .from(customerErasures)
    .where(eq(customerErasures.organization_id, organization_id));
  return rows.map(({ id }) => id);
}

/** Whether the erasure of a customer of a seller is under way. */
export async function hasOpenErasure(db: Database, organization_id: string): Promise<boolean> {
  const [row] = await db
    .select({ id: customerErasures.id })
    .from(customerErasures)
    .where(and(eq(customerErasures.organization_id, organization_id), isNotNull(customerErasures.stage)))
    .limit(1);
  return row !== undefined;
}

/** Lock an erasure that is due. */
export async function lockErasure(tx: Tx, key: RowKey, now: Date): Promise<ErasureRow | undefined> {
  const [row] = await tx
    .select()
    .from(customerErasures)
    .where(and(matchKey(customerErasures, key), lte(customerErasures.due_at, now)))
    .for("update");
  return row;
}

/** Change columns of an erasure. */
export async function updateErasure(tx: Tx, key: RowKey, patch: Partial<ErasureRow>): Promise<void> {
  await tx.update(customerErasures).set(patch).where(matchKey(customerErasures, key));
}

/** List all erased customers, except in sandboxes, where no customer is real. */
export const listErased = (db: Database): Promise<RowKey[]> =>
  db
    .select({ organization_id: customerErasures.organization_id, id: customerErasures.id })
    .from(customerErasures)
    .innerJoin(organization, eq(organization.id, customerErasures.organization_id))
    .where(eq(organization.sandbox, false));

/** Find the customers among these that are readable, because a backup from before their erasure was restored. */
export const findReadable = (tx: Tx, keys: readonly RowKey[]): Promise<RowKey[]> =>
  tx
    .select({ organization_id: customers.organization_id, id: customers.id })
    .from(customers)
    .innerJoin(organization, eq(organization.id, customers.organization_id))
    .where(and(matchKeys(customers, keys), isNull(customers.anonymized_at), eq(organization.sandbox, false)));

/** A table with rows about customers, and the columns by which they are found. */
export type PersonalData = {
  name: string;
  columns: { name: string; type: string }[];
  /** The key columns, without the organization. */
  key: string[];
  /** The parent table and the column that refers to it; null if the rows name the customer themselves. */
  parent: { name: string; column: string } | null;
};

const columnsOf = sql`(select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
  from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)`;
const keyOf = sql`(select json_agg(a.attname order by n.place) from pg_index i, unnest(i.indkey::int2[]) with ordinality n(number, place),
  pg_attribute a where i.indrelid = c.oid and i.indisprimary and a.attrelid = c.oid and a.attnum = n.number)`;
/** The foreign keys of two columns, the organization first: where they point to, and by which column. */
const parentsOf = sql`(select coalesce(json_agg(json_build_object('name', t.relname, 'column', a.attname) order by t.relname), '[]')
  from pg_constraint f join pg_class t on t.oid = f.confrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = f.conkey[2]
  where f.conrelid = c.oid and f.contype = 'f' and cardinality(f.conkey) = 2 and t.oid <> c.oid)`;

type Table = Omit<PersonalData, "parent"> & { parents: { name: string; column: string }[] };

/**
 * Find the tables whose rows name a customer, or are parts of such rows. They are read from the catalog of the database, so
 * that new tables are included.
 */
export async function findHoldings(db: Database): Promise<PersonalData[]> {
  const tables: Table[] = await db
    .select({
      name: sql<string>`found.name`,
      columns: sql<Table["columns"]>`found.columns`,
      key: sql<string[]>`found.key`,
      parents: sql<Table["parents"]>`found.parents`,
    })
    .from(
      sql`(select c.relname as name, ${columnsOf} as columns, ${keyOf} as key, ${parentsOf} as parents
      from pg_class c where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
        and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped)
      order by c.relname) as found`,
    );
  const has = ({ columns }: Table, column: string) => columns.some(({ name }) => name === column);
  const direct = new Set(
    tables.filter((table) => has(table, "customer_id") && !ofSellers.has(table.name)).map(({ name }) => name),
  );
  return tables.flatMap(({ parents, ...table }): PersonalData[] => {
    const plain = { ...table, key: table.key.filter((column) => column !== "organization_id") };
    if (table.name === "mails") return [];
    if (direct.has(table.name)) return [{ ...plain, parent: null }];
    const parent = parents.find(({ name }) => direct.has(name));
    return parent && !ofSellers.has(table.name) ? [{ ...plain, parent }] : [];
  });
}
/** Child tables of customer data that concern only the seller's own work. */
const ofSellers = new Set([
  ...[
    "subscription_letters",
    "customer_state_notices",
    "grant_checks",
    "tax_reports",
    "invoice_export_orders",
    "receipt_counters",
  ],
  "order_confirmations",
]);

/** Columns with credentials or internal state, which exports omit. */
const secret =
  /(_hash|_sealed|_due_at)$|^(token|client_secret|confirmation_token_id|payment_processor_metadata|fingerprint|terms|changes|begins|digest)$/;

const joinParts = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `);

/** Columns by which to page large tables, where paging by the key would be slow. */
const readBy: Record<string, string[]> = { usage_events: ["timestamp", "id"] };

/** Read a table's rows about a customer as JSON, page by page, so that memory use stays small. */
export async function* readHolding(db: Database, holding: PersonalData, customer: RowKey): AsyncGenerator<unknown[]> {
  const { name, columns, parent } = holding;
  const key = readBy[name] ?? holding.key;
  const hidden = columns.filter((column) => secret.test(column.name) || column.name === "organization_id");
  const shown = sql`to_jsonb(t)${sql.join(
    hidden.map((column) => sql` - ${column.name}::text`),
    sql``,
  )}`;
  const getType = (column: string) => columns.find((one) => one.name === column)?.type ?? "text";
  const ofCustomer = parent
    ? sql`exists (select 1 from ${sql.identifier(parent.name)} p where p.organization_id = t.organization_id
        and p.id = t.${sql.identifier(parent.column)} and p.customer_id = ${customer.id})`
    : sql`t.customer_id = ${customer.id}`;
  let after: string[] | undefined;
  do {
    const columnsIn = joinParts(key.map((column) => sql`t.${sql.identifier(column)}`));
    const isLater = after
      ? sql`and (${columnsIn}) > (${joinParts(after.map((value, place) => sql`${value}::${sql.raw(getType(key[place] ?? ""))}`))})`
      : sql``;
    const rows = await db.select({ row: sql<unknown>`found.row`, at: sql<string[]>`found.at` }).from(
      sql`(select ${shown} as row, json_build_array(${joinParts(key.map((column) => sql`t.${sql.identifier(column)}::text`))}) as at
        from ${sql.identifier(name)} t where t.organization_id = ${customer.organization_id} and ${ofCustomer} ${isLater}
        order by ${columnsIn} limit ${exportPage}) as found`,
    );
    if (rows.length > 0) yield rows.map(({ row }) => row);
    after = rows.length === exportPage ? rows.at(-1)?.at : undefined;
  } while (after);
}
const exportPage = 500;

/** List the recent mails to a customer; their content is not kept. */
export const listMailsTo = (db: Database, customer_id: string) =>
  db
    .select({
      id: mails.id,
      to: mails.to,
      subject: mails.subject,
      created_at: mails.created_at,
      sent_at: mails.sent_at,
    })
    .from(mails)
    .where(eq(mails.customer_id, customer_id))
    .orderBy(mails.created_at, mails.id);
