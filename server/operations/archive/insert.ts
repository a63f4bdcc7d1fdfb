import { type SQL, sql } from "drizzle-orm";
import { getPath } from "../../catalog/files/rules.ts";
import { buildKeyColumns } from "../../entitlements/license-keys/rules.ts";
import type { Config } from "../../platform/config.ts";
import type { Tx } from "../../platform/context.ts";
import { hashToken, seal, tryUnseal } from "../../platform/crypto/secrets.ts";
import { fixed, getSecretPlace, isOfTestProcessor, sealedColumns } from "./kinds.ts";

type Row = Record<string, unknown>;
export type PartRows = {
  kind: string;
  /** The rows as they are in the archive. */
  lines: readonly string[];
  /** The columns that they have, besides those that are sealed. */
  columns: readonly string[];
};
type Target = {
  organization_id: string;
  source_organization_id: string;
  archive_key: string;
  config: Pick<Config, "secret">;
};

/** Rows as the database reads them from JSON, each with its number. */
const listRows = (kind: string, json: string, name: string): SQL =>
  sql`rows from (json_populate_recordset(null::${sql.identifier(kind)}, ${json}::text::json)) with ordinality as ${sql.identifier(name)}`;

/** Columns that are not in the rows as they are to be stored: secrets, sealed again, and what follows from them. */
function computeColumns(
  { kind, lines }: PartRows,
  { organization_id, source_organization_id, archive_key, config }: Target,
): Row[] {
  const columns = sealedColumns[kind] ?? [];
  if (columns.length === 0 && kind !== "files") return [];
  return lines.map((line) => {
    const row = JSON.parse(line) as Row;
    if (kind === "files")
      return { path: getPath(String(row.service) as never, organization_id, String(row.id), String(row.name)) };
    const made: Row = {};
    for (const { column, purpose, findRow } of columns) {
      const sealed = row[column] ?? null;
      if (sealed === null) continue;
      if (sealed === "") {
        Object.assign(made, { [column]: "", ...(kind === "license_keys" && { key_hash: `lost ${String(row.id)}` }) });
        continue;
      }
      const place = getSecretPlace(kind, column, findRow(row, source_organization_id));
      const text = tryUnseal([archive_key], "archive-value", place, String(sealed));
      if (text === null) throw new Error(`A secret of ${kind} was not sealed for its place.`);
      made[column] = seal(config.secret, purpose, findRow(row, organization_id), text);
      if (kind === "customer_seats") made.token_hash = hashToken(config.secret, text);
      if (kind === "checkouts") made.secret_hash = hashToken(config.secret, text);
      if (kind === "license_keys")
        Object.assign(made, buildKeyColumns(config.secret, { organization_id, id: String(row.id) }, text));
    }
    return made;
  });
}

const listNames = (names: readonly string[]): SQL =>
  sql.join(
    names.map((name) => sql`${sql.identifier(name)}`),
    sql`, `,
  );

/** Insert the rows of a part, and what follows from them. */
export async function insertPart(tx: Tx, part: PartRows, target: Target): Promise<void> {
  const { kind, lines, columns } = part;
  const { organization_id } = target;
  const json = `[${lines.join(",")}]`;
  const computed = computeColumns(part, target);
  const extra = [...new Set(computed.flatMap(Object.keys))].filter((name) => name !== "secret_hash");
  const own = columns.filter((name) => !extra.includes(name));
  const constant = Object.entries(fixed[kind] ?? {});
  const names = ["organization_id", ...own, ...extra, ...constant.map(([name]) => name)];
  const values = [
    sql`${organization_id}`,
    ...own.map((name) => sql`r.${sql.identifier(name)}`),
    ...extra.map((name) => sql`e.${sql.identifier(name)}`),
    ...constant.map(([, value]) => value),
  ];
  const further =
    extra.length > 0
      ? sql`join ${listRows(kind, JSON.stringify(computed), "e")} on e.ordinality = r.ordinality`
      : sql``;
  // What triggers compute of orders depends on the orders that are there, which are not all yet.
  const isOrders = kind === "orders";
  if (isOrders) await tx.execute(sql`select set_config('floe.restoring', 'on', true)`);
  const inserted = sql`insert into ${sql.identifier(kind)} as t (${listNames(names)}) overriding system value
    select ${sql.join(values, sql`, `)} from ${listRows(kind, json, "r")} ${further} order by r.ordinality
    ${isOfTestProcessor(kind) ? adoptTestRow(kind) : sql``}`;
  await tx.execute(inserted);
  if (isOrders) await addOrderSums(tx, organization_id, json);
  await insertLookups(tx, kind, organization_id, json, lines, computed);
}

/** A row of the test processor that is here already, of an organization that is gone, is the restored one's. */
function adoptTestRow(kind: string): SQL {
  const key = { test_intents: "payment_id", test_setups: "setup_id" }[kind] ?? "id";
  return sql`on conflict (${sql.identifier(key)}) do update set organization_id = excluded.organization_id
    where not exists (select from organization o where o.id = t.organization_id)`;
}

/** The sums of metrics and lists, which triggers add for other orders. */
async function addOrderSums(tx: Tx, organization_id: string, json: string): Promise<void> {
  await tx.execute(sql`select set_config('floe.restoring', 'off', true)`);
  const these = sql`o.organization_id = ${organization_id} and o.id in (select r.id from ${listRows("orders", json, "r")})`;
  await tx.execute(sql`insert into metric_tallies (organization_id, seconds, at, product_id, orders, revenue, net_revenue,
      one_time, one_time_revenue, one_time_net_revenue, opening, opening_revenue, opening_net_revenue)
    select o.organization_id, 0, metric_slot(f.at), o.product_id, f.orders, f.revenue, f.net_revenue,
      f.one_time, f.one_time_revenue, f.one_time_net_revenue, f.opening, f.opening_revenue, f.opening_net_revenue
    from orders o cross join lateral order_facts(o) f where ${these}`);
  await tx.execute(sql`insert into list_tallies (organization_id, list, change)
    select ${organization_id}, 'orders', count(*)::int from orders o where ${these} and o.invoice_number is not null
    having count(*) > 0`);
}

/** By what a request finds a row that names no organization. */
async function insertLookups(
  tx: Tx,
  kind: string,
  organization_id: string,
  json: string,
  lines: readonly string[],
  computed: readonly Row[],
): Promise<void> {
  if (kind === "products")
    await tx.execute(sql`insert into product_sellers (product_id, organization_id)
      select r.id, ${organization_id} from ${listRows(kind, json, "r")}`);
  if (kind === "checkout_links")
    await tx.execute(sql`insert into checkout_link_secrets (client_secret, organization_id, checkout_link_id)
      select r.client_secret, ${organization_id}, r.id from ${listRows(kind, json, "r")}`);
  if (kind !== "checkouts") return;
  const secrets = lines.flatMap((line, index) => {
    const { secret_hash } = computed[index] ?? {};
    return secret_hash === undefined
      ? []
      : [{ secret_hash, organization_id, checkout_id: (JSON.parse(line) as Row).id }];
  });
  await tx.execute(sql`insert into checkout_secrets (secret_hash, organization_id, checkout_id)
    select r.secret_hash, r.organization_id, r.checkout_id from ${listRows("checkout_secrets", JSON.stringify(secrets), "r")}`);
}

/** Set the settings of the organization as the archive has them. */
export async function applySettings(
  tx: Tx,
  organization_id: string,
  line: string,
  columns: readonly string[],
): Promise<void> {
  await tx.execute(sql`update organization set (${listNames(columns)}) =
    (select ${sql.join(
      columns.map((name) => sql`p.${sql.identifier(name)}`),
      sql`, `,
    )} from json_populate_record(null::organization, ${line}::text::json) p)
    where id = ${organization_id}`);
}
