/** Catalogues applied where others write too, on a real PostgreSQL: one connection would hide it. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CatalogInput } from "../../shared/catalog/document.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startMortal } from "../support/mortal.ts";
import { saleSteps } from "../support/mortal-steps.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";

let floe: Floe;
let seller: Seller;
let url: string;
beforeAll(async () => {
  floe = await startOnPostgres();
  url = String(floe.deps.config.DATABASE_URL);
});
afterAll(() => floe?.close());

const document: CatalogInput = {
  version: 1,
  catalog: "acme",
  meters: { calls: { name: "Calls", filter: "", aggregation: "count" } },
  products: { pro: { name: "Pro", recurring: "month", prices: [{ fixed: "20.00" }] } },
  discounts: { launch: { name: "Launch", code: "LAUNCH", percent: 20, duration: "once", products: ["pro"] } },
};
const apply = (given: CatalogInput, fingerprint?: string) =>
  seller.client.catalog.apply({ body: { document: given, ...(fingerprint ? { fingerprint } : {}) } });
const totals = async () =>
  Promise.all([
    seller.client.meters.list({ query: {} }),
    seller.client.products.list({ query: {} }),
    seller.client.discounts.list({ query: {} }),
  ]).then((pages) => pages.map(({ pagination }) => pagination.total_count));
/** Another writer, who holds what it wrote until it is let go. */
async function writer<T>(
  write: (sql: postgres.TransactionSql) => Promise<unknown>,
  meanwhile: () => Promise<T>,
): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    let result: T | undefined;
    await sql.begin(async (tx) => {
      await write(tx);
      result = await meanwhile();
    });
    return result as T;
  } finally {
    await sql.end();
  }
}
test("eight at once make one of each, and all but one find nothing left to do", async () => {
  seller = await floe.seller("eight");
  const plans = await Promise.all(Array.from({ length: 8 }, () => apply(document)));
  expect(plans.map(({ steps }) => steps.length).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 3]);
  expect(await totals()).toEqual([1, 1, 1]);
});

test("an apply that breaks in the middle leaves nothing, and the next one does all of it", async () => {
  seller = await floe.seller("cut");
  // The code is taken by somebody who has not decided yet, so the apply has made a meter and a product and waits.
  const other = await floe.seller("other");
  const { id } = await other.client.discounts.create({
    body: { name: "Other", code: "OTHER", type: "percentage", basis_points: 100, duration: "once" },
  });
  const cut = await writer(
    (sql) => sql`insert into discounts select (jsonb_populate_record(d, jsonb_build_object(
      'id', gen_random_uuid(), 'code', 'LAUNCH', 'organization_id', ${seller.organization_id}::text))).*
      from discounts d where id = ${id}`,
    async () => {
      const applied = apply(document).then(
        () => "applied",
        () => "failed",
      );
      const pid = await awaitLock(url);
      const sql = postgres(url, { max: 1 });
      await sql`select pg_cancel_backend(${pid})`;
      await sql.end();
      return applied;
    },
  );
  expect(cut).toBe("failed");
  const sql = postgres(url, { max: 1 });
  await sql`delete from discounts where organization_id = ${seller.organization_id}`;
  await sql.end();
  expect(await totals()).toEqual([0, 0, 0]);
  expect((await apply(document)).steps).toHaveLength(3);
  expect(await totals()).toEqual([1, 1, 1]);
});

test("a server cut off in the middle of an apply leaves nothing of it; the next apply does all of it", async () => {
  seller = await floe.seller("killed");
  const mortal = await startMortal({ databaseUrl: url }, (die) => saleSteps("while a catalogue is applied", die));
  void mortal.request("POST", "/v1/catalog/apply", { token: seller.key, body: { document } });
  await mortal.ended;
  expect(await totals()).toEqual([0, 0, 0]);
  expect((await apply(document)).steps).toHaveLength(3);
  expect(await totals()).toEqual([1, 1, 1]);
});

test("a saved plan is refused when another writer changes a row of it, also while it is being applied", async () => {
  seller = await floe.seller("stale");
  await apply(document);
  const renamed: CatalogInput = {
    ...document,
    products: { pro: { name: "Professional", recurring: "month", prices: [{ fixed: "29.00" }] } },
  };
  const { fingerprint } = await seller.client.catalog.plan({ body: { document: renamed } });
  let applied: Promise<unknown> | undefined;
  await writer(
    (sql) => sql`update products set description = 'by hand' where organization_id = ${seller.organization_id}`,
    async () => {
      applied = apply(renamed, fingerprint).then(
        () => "applied",
        (error: { error?: string }) => error.error,
      );
      await awaitLock(url);
    },
  );
  expect(await applied).toBe("CatalogPlanStale");
  const [pro] = (await seller.client.products.list({ query: {} })).items;
  expect(pro).toMatchObject({ name: "Pro", description: "by hand" });
});
