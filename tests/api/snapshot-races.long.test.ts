/** A sandbox that is restored while others write in it, on a real PostgreSQL: one connection would hide it. */
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Floe, Seller } from "../support/floe.ts";
import { awaitLock, startOnPostgres } from "../support/races.ts";

let floe: Floe;
let seller: Seller;
let url: string;
let product: string;
beforeAll(async () => {
  floe = await startOnPostgres();
  url = String(floe.deps.config.DATABASE_URL);
  seller = await floe.seller();
  product = (await make("Saved")).id;
  const { status } = await ask("POST", "", { name: "start" });
  expect(status).toBe(201);
});
afterAll(() => floe?.close());

const make = (name: string) => seller.client.products.create({ body: { name, prices: [{ amount_type: "free" }] } });
const ask = (method: string, path: string, body?: object) =>
  floe.request(method, `/v1/sandbox/snapshots${path}`, { token: seller.key, ...(body ? { body } : {}) });
const restore = () => ask("POST", "/start/restore");
const names = async () =>
  (await seller.client.products.list({ query: { sorting: ["name"] } })).items.map(({ name }) => name);
const rename = (name: string) => seller.client.products.update({ params: { id: product }, body: { name } });

/** Another server, which has written something and not committed it yet. */
async function writer<T>(
  write: (sql: postgres.TransactionSql) => Promise<unknown>,
  meanwhile: () => Promise<T>,
  waiting = 1,
) {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    let answer: Promise<T> | undefined;
    await sql.begin(async (tx) => {
      await write(tx);
      answer = meanwhile();
      await awaitLock(url, waiting);
    });
    return await answer;
  } finally {
    await sql.end();
  }
}

test("who has changed a row or added one is waited for, and what they did is undone", async () => {
  const changed = await writer(
    (sql) => sql`update products set name = 'Changed meanwhile' where id = ${product}`,
    restore,
  );
  expect(changed?.status).toBe(200);
  expect(await names()).toEqual(["Saved"]);
  const { id } = await make("Later");
  const added = await writer(
    (
      sql,
    ) => sql`insert into product_prices (id, organization_id, product_id, created_at, amount_type, source, price_currency)
      select gen_random_uuid(), organization_id, ${id}, created_at, amount_type, source, price_currency from product_prices where product_id = ${product}`,
    restore,
  );
  expect(added?.status).toBe(200);
  expect(await names()).toEqual(["Saved"]);
});

test("who comes while it is restored waits, and changes what was restored", async () => {
  await rename("Renamed");
  await make("Undone");
  // The restore is held up in its middle, at one row.
  const [renamed, made] =
    (await writer(
      (sql) => sql`select 1 from products where id = ${product} for update`,
      async () => {
        const restored = restore();
        await awaitLock(url);
        const late = [make("Added late"), rename("Renamed late")];
        return Promise.all([restored, ...late]).then(([answer, ...rest]) => {
          expect(answer.status).toBe(200);
          return rest;
        });
      },
      3,
    )) ?? [];
  expect([renamed, made]).not.toContain(undefined);
  expect(await names()).toEqual(["Added late", "Renamed late"]);
  expect((await restore()).status).toBe(200);
  expect(await names()).toEqual(["Saved"]);
});
