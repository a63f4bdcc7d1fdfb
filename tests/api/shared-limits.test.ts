/** What fails of an address is counted by all servers of a database together (API-42). */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { attempts } from "../../server/platform/db/tables.ts";
import { type Accounts, newAddress, startAccounts } from "../support/accounts.ts";
import { type Seller, TestClock } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

const clock = new TestClock(new Date());
let servers: Accounts[];
let seller: Seller;
let address: string;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  const settings = { FLOE_REQUESTS_PER_MINUTE: "500", TRUST_PROXY: "127.0.0.1" };
  servers = [];
  for (let n = 0; n < 3; n += 1) servers.push(await startAccounts(settings, { clock }, { databaseUrl }));
  seller = await at(0).seller();
});
afterAll(async () => {
  for (const server of servers) await server.close();
});
beforeEach(() => {
  address = newAddress();
});

const at = (index: number): Accounts => servers[index % servers.length] ?? expect.fail();
const list = async (index: number, token: string) =>
  (await at(index).request("GET", "/v1/products/", { token, headers: { "x-forwarded-for": address } })).status;
const confirm = async (index: number) =>
  (
    await at(index).request("POST", "/v1/checkouts/client/nothing/confirm", {
      body: {},
      headers: { "x-forwarded-for": address },
    })
  ).status;
const inTurn = async (times: number, ask: (index: number) => Promise<number>): Promise<number[]> => {
  const seen: number[] = [];
  for (let index = 0; index < times; index += 1) seen.push(await ask(index));
  return seen;
};
const forgetQueries = async () => {
  for (const { auth, queries } of servers) {
    await auth.flush();
    queries.length = 0;
  }
};
/** The statements that count, at all servers. */
const countCounting = () => servers.flatMap(({ queries }) => queries.filter((text) => text.includes(`"attempts"`)));

test("API-42: a hundred wrong tokens at once over three servers: no more are answered than one server answers", async () => {
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, n) => list(n, `floe_oat_wrong_${n}`)));
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  const tried = statuses.filter((status) => status === 401).length;
  expect(tried).toBeLessThanOrEqual(60);
  expect(tried).toBeGreaterThanOrEqual(50);
  // Who is beyond it also cannot try the right one, at any server that does not know it.
  const fresh = await at(0).keyOf(seller, ["products:read"]);
  expect(await inTurn(3, (n) => list(n, fresh))).toEqual([429, 429, 429]);
  // From memory.
  await forgetQueries();
  expect(await inTurn(3, (n) => list(n, "floe_oat_wrong"))).toEqual([429, 429, 429]);
  expect(countCounting()).toEqual([]);
  clock.advance(62_000);
  expect(await inTurn(3, (n) => list(n, fresh))).toEqual([200, 200, 200]);
});

test("API-42: good tokens cost no statement more, and beside wrong ones they are not counted", async () => {
  const key = await at(0).keyOf(seller, ["products:read"]);
  await forgetQueries();
  expect(await inTurn(3, (n) => list(n, key))).toEqual([200, 200, 200]);
  expect(countCounting()).toEqual([]);
  expect(await inTurn(6, (n) => list(n, `floe_oat_wrong_${n}`))).toEqual(Array(6).fill(401));
  const before = await at(0).deps.db.select().from(attempts);
  for (const name of ["one", "two", "three"]) {
    const other = await at(0).keyOf(seller, ["products:read"]);
    expect(await list(1, other), name).toBe(200);
  }
  const counts = (rows: typeof before) =>
    rows.map(({ key: k, count }) => `${k} ${count}`).filter((row) => row.startsWith("tries"));
  expect(counts(await at(0).deps.db.select().from(attempts)).sort()).toEqual(counts(before).sort());
});

test("API-42: failed confirmations count together: six over three servers, then none for half an hour", async () => {
  expect(await inTurn(6, confirm)).toEqual(Array(6).fill(404));
  expect((await inTurn(3, confirm)).slice(1)).toEqual([429, 429]);
  clock.advance(29 * 60_000);
  expect(await inTurn(3, confirm)).toEqual([429, 429, 429]);
  address = newAddress();
  expect(await confirm(0)).toBe(404);
});

test("API-42: of many confirmations at once, each server lets one more through at most", async () => {
  const statuses = await Promise.all(Array.from({ length: 30 }, (_, n) => confirm(n)));
  const tried = statuses.filter((status) => status === 404).length;
  expect(tried).toBeLessThanOrEqual(6 + servers.length - 1);
  expect(tried).toBeGreaterThanOrEqual(5);
});

test("API-42: a buyer whose confirmations succeed is not counted", async () => {
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  const { id } = await seller.client.products.create({ body: { name: "Guide", prices } });
  const buy = async (index: number) => {
    const checkout = await seller.client.checkouts.create({ body: { products: [id] } });
    await forgetQueries();
    const path = `/v1/checkouts/client/${checkout.client_secret}/confirm`;
    const body = {
      customer_email: "buyer@example.com",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    };
    const { status } = await at(index).request("POST", path, { body, headers: { "x-forwarded-for": address } });
    return [status, countCounting()];
  };
  for (let n = 0; n < 3; n += 1) expect(await buy(n)).toEqual([200, []]);
});
