/** A search reads rows of its own seller alone, however many rows the others have. */
import { sql } from "drizzle-orm";
import postgres, { type Sql } from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { rowOf } from "../support/rows.ts";
import { watchStatements } from "../support/statements.ts";

/** Copies of the seller's row, of the seller and of a neighbor, in each table. */
const own = 50;
const others = 5_000;
/** A search reads at most so many pages: the neighbor's rows are hundreds of them. */
const pagesMax = 150;
const columns = {
  benefits: ["description"],
  checkouts: ["customer_email"],
  custom_fields: ["name", "slug"],
  customers: ["email", "name", "external_id"],
  discounts: ["name", "code"],
  meters: ["name"],
  products: ["name"],
};

let floe: Floe;
let seller: Seller;
let connection: Sql;

async function copyRows(organization_id: string, count: number): Promise<void> {
  for (const [table, texts] of Object.entries(columns)) {
    const changes = texts.map((column) => `'${column}', '${column}-' || n || '@example.com'`).join(", ");
    await connection.unsafe(`insert into ${table} select copy.* from ${table} one, generate_series(1, ${count}) n
      cross join lateral jsonb_populate_record(one, jsonb_build_object('id', gen_random_uuid(), 'created_at',
        now() - n * interval '1 second', 'organization_id', '${organization_id}', ${changes})) copy
      where one.id = (select id from ${table} where organization_id = '${seller.organization_id}' limit 1)`);
  }
}

beforeAll(async () => {
  const url = await createPostgresDatabase();
  floe = await start({ databaseUrl: url });
  seller = await floe.seller("ada");
  for (const name of ["benefits", "checkouts", "customFields", "discounts", "meters"] as const)
    await rowOf[name](floe, seller);
  const neighbor = await floe.seller("bob");
  connection = postgres(url, { max: 1, onnotice: () => undefined });
  // Without triggers, which count lists and look for what a row refers to.
  await connection.unsafe("set session_replication_role = replica");
  await copyRows(seller.organization_id, own);
  await copyRows(neighbor.organization_id, others);
  await connection.unsafe("vacuum analyze");
}, 120_000);
afterAll(async () => {
  await connection?.unsafe(`truncate ${Object.keys(columns).join(", ")}, list_tallies cascade`);
  await connection?.end();
  await floe?.close();
});

type Node = { "Actual Rows": number; "Actual Loops": number; "Rows Removed by Filter"?: number; Plans?: Node[] } & {
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
};

/** The most rows that one step of the plan reads. */
const countRead = (node: Node): number =>
  Math.max(
    node["Actual Loops"] *
      (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0)),
    ...(node.Plans ?? []).map(countRead),
  );

/** The rows and the pages that a statement reads by a plan for its values, or by one for any values. */
async function explain(mode: "auto" | "force_generic_plan", { text, values }: { text: string; values: unknown[] }) {
  const literals = values.map((value) => `'${String(value).replaceAll("'", "''")}'`).join(", ");
  await connection.unsafe(`set plan_cache_mode = ${mode}; prepare searched as ${text}`);
  const [row] = await connection.unsafe(`explain (analyze, buffers, format json) execute searched(${literals})`);
  await connection.unsafe("deallocate searched");
  const [{ Plan: plan }] = (row as unknown as { "QUERY PLAN": [{ Plan: Node }] })["QUERY PLAN"];
  return { rows: countRead(plan), pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] };
}

test.each(Object.keys(columns).map((table) => `/v1/${table.replace("_", "-")}/`))(
  "API-16: a search of %s costs what its own seller has",
  async (path) => {
    for (const text of ["a", "xample", "@example.com", "nowhere"]) {
      const statements: { text: string; values: unknown[] }[] = [];
      const watch = watchStatements(floe, (statement, _number, values) => {
        if (statement.includes(" ilike ")) statements.push({ text: statement, values });
      });
      const { status } = await floe.request("GET", `${path}?query=${encodeURIComponent(text)}`, { token: seller.key });
      watch.stop();
      expect(status).toBe(200);
      expect(statements).toHaveLength(2);
      // No index finds a text of one letter, so that only a plan for its value is right. Such statements are never kept.
      const modes = text === "a" ? (["auto"] as const) : (["auto", "force_generic_plan"] as const);
      for (const mode of modes)
        for (const statement of statements) {
          const { rows, pages } = await explain(mode, statement);
          expect(rows, `${mode} ${text} ${statement.text}`).toBeLessThanOrEqual(own + 10);
          expect(pages, `${mode} ${text} ${statement.text}`).toBeLessThanOrEqual(pagesMax);
        }
    }
  },
);

test("the statements of a search are planned for their values", async () => {
  const texts: string[] = [];
  const watch = watchStatements(floe, (statement) => {
    if (statement.includes(" ilike ")) texts.push(statement);
  });
  for (let count = 0; count < 8; count += 1) await floe.request("GET", "/v1/customers/?query=a", { token: seller.key });
  watch.stop();
  const answer = await floe.deps.db.execute(sql`select statement from pg_prepared_statements`);
  const kept = [...(answer as unknown as { statement: string }[])];
  expect(texts).toHaveLength(16);
  expect(kept.filter(({ statement }) => texts.includes(statement))).toEqual([]);
});

test("the page of sellers looks for them by an index", async () => {
  const slugs = Array.from({ length: 3_000 }, (_, n) => `('o${n}', 'Seller', 'o${n}', now())`).join(", ");
  await connection.unsafe(
    `insert into organization (id, name, slug, "createdAt") values ${slugs}; analyze organization`,
  );
  const statements: { text: string; values: unknown[] }[] = [];
  const watch = watchStatements(floe, (text, _number, values) => {
    if (text.includes("storefront_enabled")) statements.push({ text, values });
  });
  const { status } = await floe.request("GET", "/v1/storefront");
  watch.stop();
  expect(status).toBe(200);
  expect(statements).toHaveLength(1);
  for (const statement of statements)
    expect((await explain("force_generic_plan", statement)).pages).toBeLessThanOrEqual(10);
});
