import { type SQL, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";

const accounts = "of people and of who may do what, not of one seller's business";
const lookup = "says whose a thing is to those who come with a secret, or a product, and no organization";
const processor = "the books of a card processor, who knows no organizations";
/** The tables that hold no seller's data, and why. All others do. */
const notSellers: Record<string, string> = {
  account: accounts,
  apikey: accounts,
  attempts: accounts,
  ci_exchanges: accounts,
  ci_rules: accounts,
  device_code: accounts,
  invitation: accounts,
  member: accounts,
  organization: accounts,
  organization_role: accounts,
  session: accounts,
  team: accounts,
  team_member: accounts,
  user: accounts,
  verification: accounts,
  audit_log: "of people too, stays when the organization goes, and can only grow, which a trigger sees to",
  audit_seals: "proves the audit log, which stays when the organization goes, and can only grow",
  audit_sealed: "says which seal covers an entry of the audit log, and can only grow",
  refused_calls: "of people too, and written for the audit log, beside which it stands",
  failed_work: "what the server could not do yet, of all sellers and of none",
  idempotency_keys: "of whoever sent the request, for a day",
  mail_bounces: "which addresses took no mail, of all sellers and of none",
  mails: "letters to people on their way out, of all sellers and of none",
  secret_checks: "which secret this database works with",
  restores: "when this server's database was restored, of all sellers",
  schema_support: "how old a floe may be that uses this database",
  server_processes: "which processes of the server work, for all sellers",
  upgrades: "changes of stored data that the server makes once, of all sellers",
  product_sellers: lookup,
  checkout_link_secrets: lookup,
  checkout_secrets: lookup,
  processor_events: processor,
  test_disputes: processor,
  test_events: processor,
  test_intents: processor,
  test_refunds: processor,
  test_setups: processor,
  test_tokens: processor,
};

/** Columns that hold the id of a row without a foreign key, and why. */
const unheld: Record<string, string> = {
  "snapshot_files.snapshot_id": "outlives it, until it is known whether anything else needs the bytes",
  "catalog_entries.subject_id": "is of one table or another, as the entry's kind says",
  "customers.default_payment_method_id": "the card points back by a foreign key of its own",
  "customer_state_notices.customer_id":
    "nobody waits for the customer's row to have it told; customers are never taken away",
  "metric_tallies.product_id": "is all zeros where it is of all products together",
  "discount_redemptions.checkout_id": "the checkout is made by a domain to the right, and points to the discount",
  "discount_redemptions.order_id": "the order is made by a domain to the right, and points to the discount",
  "discount_redemptions.subscription_id":
    "the subscription is made by a domain to the right, and points to the discount",
  "order_items.reverses_item_id": "an order's lines are written together, and one may give back another of them",
  "orders.reduces_order_id": "is an order of the same subscription, and orders are never taken away",
  "orders.checkout_id": "the checkout points back by a foreign key of its own",
  "subscription_entries.order_id": "orders point to subscriptions, and tables make no circle",
  "subscription_letters.order_id": "orders point to subscriptions, and tables make no circle",
  "subscriptions.change_order_id": "the order points back by a foreign key of its own",
  "usage_events.customer_id": "comes by the million, and each key would be a question; customers are never taken away",
  "usage_events.parent_id": "outlives the event, whose month may be dropped",
  "usage_events.member_id": "is the seller's word for one of the customer's people",
  "usage_keys.event_id": "outlives the event, whose month may be dropped",
  "customer_meters.payer_id": "the subscription is made by a domain to the right, and tables make no circle",
  "customer_meters.price_id": "the price is made by a domain to the right, and tables make no circle",
  "customer_meter_windows.price_id": "the price is made by a domain to the right, and tables make no circle",
  "customer_meter_windows.payer_id": "the subscription is made by a domain to the right, and tables make no circle",
  "customer_meter_values.customer_id": "stands under a row that points to both, locked while they are written",
  "customer_meter_values.meter_id": "stands under a row that points to both, locked while they are written",
  "import_records.target_id": "is a product, a customer or a subscription",
  "import_records.applied_run_id": "is the run that read it then, which its other key points to or outlives",
  "payments.process_id": "is a process of the server, whose row goes when the process does",
  "payment_setups.process_id": "is a process of the server, whose row goes when the process does",
  "webhook_endpoints.process_id": "is a process of the server, whose row goes when the process does",
  "subscription_migration_items.pending_id": "is a change that stands in the subscription's own row until it applies",
  "trial_claims.checkout_id": "the checkout is made by a domain to the right, and points to subscriptions",
  "subscriptions.checkout_id": "the checkout is made first, and may itself name a subscription",
  "subscriptions.payment_method_id": "cards are of orders, which point to subscriptions, and tables make no circle",
};

/** Triggers on sellers' tables: they note what a row adds to the metrics, and read and write rows of its organization alone. */
const triggered = new Set(["orders_precede", "orders_precede_paid"]);
/** And those that refuse a change of state: they read the row alone. */
for (const table of ["checkouts", "customer_seats", "disputes", "orders", "payment_setups", "payments", "refunds"])
  triggered.add(`${table}_states`);
for (const table of ["subscriptions", "webhook_events", "import_runs", "import_records"])
  triggered.add(`${table}_states`);
for (const table of ["orders", "subscriptions", "checkouts"])
  for (const trigger of [`${table}_tally`, `${table}_tally_changed`]) triggered.add(trigger);
/** Lists that are counted by tallies. */
const counted = [
  ...["benefit_grants", "checkouts", "customers", "discounts", "license_keys", "orders", "payments", "products"],
  ...["refunds", "subscriptions", "webhook_deliveries"],
];
for (const table of counted)
  for (const what of ["listed", "appeared", "disappeared", "unlisted"]) triggered.add(`${table}_${what}`);

type Column = { name: string; type: string; required: boolean; defaulted: boolean };
type ForeignKey = { name: string; to: string; columns: string[]; toColumns: string[]; onDelete: string };
type Table = {
  name: string;
  columns: Column[];
  key: string[];
  uniques: { name: string; columns: string[] }[];
  foreignKeys: ForeignKey[];
  triggers: string[];
};

const namesOf = (table: SQL, numbers: SQL) => sql`(
  select coalesce(json_agg(a.attname order by n.place), '[]') from unnest(${numbers}) with ordinality n(number, place)
  join pg_attribute a on a.attrelid = ${table} and a.attnum = n.number)`;
const catalogue = sql`
  select c.relname as name,
    (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null),
       'required', a.attnotnull, 'defaulted', a.atthasdef) order by a.attnum)
     from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    coalesce((select ${namesOf(sql`c.oid`, sql`i.indkey::int2[]`)} from pg_index i
     where i.indrelid = c.oid and i.indisprimary), '[]') as key,
    (select coalesce(json_agg(json_build_object('name', i.indexrelid::regclass, 'columns', ${namesOf(sql`c.oid`, sql`i.indkey::int2[]`)})), '[]')
     from pg_index i where i.indrelid = c.oid and i.indisunique) as uniques,
    (select coalesce(json_agg(json_build_object('name', f.conname, 'to', t.relname, 'onDelete', f.confdeltype,
       'columns', ${namesOf(sql`f.conrelid`, sql`f.conkey`)}, 'toColumns', ${namesOf(sql`f.confrelid`, sql`f.confkey`)})), '[]')
     from pg_constraint f join pg_class t on t.oid = f.confrelid where f.conrelid = c.oid and f.contype = 'f') as "foreignKeys",
    (select coalesce(json_agg(g.tgname), '[]') from pg_trigger g where g.tgrelid = c.oid and not g.tgisinternal) as triggers
  from pg_class c where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace order by c.relname`;

async function tablesOf({ deps }: Floe): Promise<Table[]> {
  const found: unknown = await deps.db.execute(catalogue);
  return (Array.isArray(found) ? found : (found as { rows: unknown[] }).rows) as Table[];
}

const owner = "organization_id";
const isSellers = (table: string) => !(table in notSellers);
/** A foreign key to the organization itself. */
const isToOwner = ({ to, columns }: ForeignKey) => to === "organization" && columns.join() === owner;
/** The column of a foreign key that points, beside the organization's. */
const pointerOf = ({ columns }: ForeignKey) => columns.find((name) => name !== owner) ?? owner;

/** What is wrong with how a table holds a seller's rows apart from another's. */
function faultsOf(table: Table): string[] {
  const { name, key, uniques, foreignKeys, triggers, columns } = table;
  if (!isSellers(name))
    return foreignKeys
      .filter(({ to }) => isSellers(to))
      .map((held) => `${held.name} points to sellers' data from outside`);
  const faults: string[] = [];
  if (key[0] !== owner) faults.push(`${name} is not keyed by its organization first`);
  for (const unique of uniques)
    if (!unique.columns.includes(owner)) faults.push(`${unique.name} is unique across organizations`);
  for (const held of foreignKeys) {
    if (isToOwner(held)) continue;
    const carries = held.columns.some((column, place) => column === owner && held.toColumns[place] === owner);
    if (!isSellers(held.to) || !carries) faults.push(`${held.name} does not carry the organization`);
    // `set null` and `set default` would change the organization as well.
    if (held.onDelete !== "a" && held.onDelete !== "c")
      faults.push(`${held.name} changes rows when what they point to goes`);
  }
  // The rows that a deletion takes along by one step are gone when those they point to are; those by two steps may not be.
  if (foreignKeys.some(({ to, onDelete }) => isSellers(to) && onDelete === "a") && !foreignKeys.some(isToOwner))
    faults.push(`${name} holds up the deletion of its organization`);
  for (const trigger of triggers) if (!triggered.has(trigger)) faults.push(`${name} has the trigger ${trigger}`);
  const held = new Set(foreignKeys.map(pointerOf));
  for (const column of columns)
    if (
      column.type === "uuid" &&
      column.name.endsWith("_id") &&
      !held.has(column.name) &&
      !(`${name}.${column.name}` in unheld)
    )
      faults.push(`${name}.${column.name} points to a row and is no foreign key`);
  return faults;
}

let embedded: Floe;
beforeAll(async () => {
  embedded = await start();
});
afterAll(() => embedded?.close());

describe("each seller's rows are held apart from the others' by the database", () => {
  test("every table is keyed, unique and pointed to within an organization", async () => {
    const tables = await tablesOf(embedded);
    expect(tables.flatMap(faultsOf)).toEqual([]);
    expect(tables.filter(({ name }) => isSellers(name)).length).toBeGreaterThan(20);
    // A list that names what is no more would one day excuse something else.
    const known = new Set(
      tables.flatMap(({ name, columns }) => [name, ...columns.map((column) => `${name}.${column.name}`)]),
    );
    expect([...Object.keys(notSellers), ...Object.keys(unheld)].filter((name) => !known.has(name))).toEqual([]);
  });

  test("a table that breaks a rule is found", async () => {
    const floe = await start();
    try {
      for (const statement of [
        `create table leaky (id uuid primary key, organization_id text not null, customer_id uuid, product_id uuid, discount_id uuid,
           file_id uuid, code text unique, unique (organization_id, id),
           foreign key (organization_id, customer_id) references customers (organization_id, id),
           foreign key (organization_id, product_id) references products (organization_id, id) on delete set null)`,
        "create function nothing() returns trigger language plpgsql as 'begin return null; end'",
        "create trigger leaky_trigger after insert on leaky for each row execute function nothing()",
        "create unique index customers_alone on customers (id)",
        "alter table leaky add foreign key (customer_id) references customers (id)",
        "alter table mails add foreign key (organization_id, customer_id) references customers (organization_id, id)",
      ])
        await floe.deps.db.execute(statement);
      expect((await tablesOf(floe)).flatMap(faultsOf).sort()).toEqual([
        "customers_alone is unique across organizations",
        "leaky has the trigger leaky_trigger",
        "leaky holds up the deletion of its organization",
        "leaky is not keyed by its organization first",
        "leaky.discount_id points to a row and is no foreign key",
        "leaky.file_id points to a row and is no foreign key",
        "leaky_code_key is unique across organizations",
        "leaky_customer_id_fkey does not carry the organization",
        "leaky_organization_id_product_id_fkey changes rows when what they point to goes",
        "leaky_pkey is unique across organizations",
        "mails_organization_id_customer_id_fkey points to sellers' data from outside",
      ]);
    } finally {
      await floe.close();
    }
  });
});

const literals: Record<string, () => string> = {
  uuid: () => `'${newId()}'`,
  text: () => `'${newId()}'`,
  jsonb: () => "'{}'",
  "text[]": () => "'{}'",
  boolean: () => "false",
  integer: () => "1",
  bigint: () => "1",
  numeric: () => "1",
  "timestamp with time zone": () => "now()",
};

/** Of what a seller has one at a time, rows that are over. */
const finished: Record<string, Record<string, string>> = { import_runs: { finished_at: "now()" } };

/** Writes rows of any table by hand, with what they cannot do without. */
class Writer {
  private readonly tables: ReadonlyMap<string, Table>;
  private readonly floe: Floe;
  constructor(floe: Floe, tables: Table[]) {
    this.floe = floe;
    this.tables = new Map(tables.map((table) => [table.name, table]));
  }

  /** Writes a row of an organization, which points to these rows or to new ones of its own; answers its values as SQL. */
  async write(
    name: string,
    organization_id: string,
    pointing: Record<string, string> = {},
  ): Promise<Record<string, string>> {
    const { columns, foreignKeys } = this.tables.get(name) as Table;
    const row: Record<string, string> = { [owner]: `'${organization_id}'`, ...finished[name], ...pointing };
    for (const { name: column, type, required, defaulted } of columns) {
      if (!required || defaulted || row[column] !== undefined) continue;
      const held = foreignKeys.find((one) => !isToOwner(one) && pointerOf(one) === column);
      row[column] = held
        ? await this.write(held.to, organization_id).then((to) => to[targetOf(held)] ?? "")
        : literalOf(type);
    }
    const [into, values] = [Object.keys(row).map((column) => `"${column}"`), Object.values(row)];
    await this.floe.deps.db.execute(`insert into "${name}" (${into.join()}) values (${values.join()})`);
    return row;
  }

  /** Lets a row point elsewhere. */
  async move(name: string, row: Record<string, string>, pointing: Record<string, string>): Promise<void> {
    const { key } = this.tables.get(name) as Table;
    const set = Object.entries(pointing).map(([column, value]) => `"${column}" = ${value}`);
    const where = key.map((column) => `"${column}" = ${row[column]}`);
    await this.floe.deps.db.execute(`update "${name}" set ${set.join()} where ${where.join(" and ")}`);
  }
}

/** The column that a foreign key points to, beside the organization's. */
const targetOf = (held: ForeignKey): string => held.toColumns[held.columns.indexOf(pointerOf(held))] ?? "";
function literalOf(type: string): string {
  const literal = literals[type];
  if (!literal) throw new Error(`How is a ${type} written?`);
  return literal();
}

/** The code with which the database refuses; undefined when it does not. */
const refusal = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => undefined,
    (error: { cause?: { code?: string } }) => error.cause?.code ?? String(error),
  );

const foreignKeyViolation = "23503";

describe.each([
  ["embedded", () => start()],
  ["PostgreSQL", () => startOnPostgres()],
] as const)("a row that points into another organization, %s", (_, open) => {
  test("cannot be written and cannot come about, whatever the foreign key", async () => {
    const floe = await open();
    try {
      const tables = await tablesOf(floe);
      const writer = new Writer(floe, tables);
      const { organization_id: ours } = await floe.seller("ours");
      const { organization_id: theirs } = await floe.seller("theirs");
      let tried = 0;
      for (const { name, foreignKeys } of tables.filter(({ name }) => isSellers(name)))
        for (const held of foreignKeys.filter((one) => !isToOwner(one))) {
          const pointTo = async (organization_id: string) => ({
            [pointerOf(held)]: (await writer.write(held.to, organization_id))[targetOf(held)] ?? "",
          });
          const stranger = await pointTo(theirs);
          const row = await writer.write(name, ours, await pointTo(ours));
          const outcomes = [
            await refusal(writer.write(name, ours, stranger)),
            await refusal(writer.move(name, row, stranger)),
            await refusal(writer.move(name, row, { [owner]: `'${theirs}'` })),
            await refusal(writer.move(name, row, await pointTo(ours))),
          ];
          expect([held.name, ...outcomes]).toEqual([
            held.name,
            foreignKeyViolation,
            foreignKeyViolation,
            foreignKeyViolation,
            undefined,
          ]);
          tried += 1;
        }
      expect(tried).toBeGreaterThan(20);
    } finally {
      await floe.close();
    }
  });
});
