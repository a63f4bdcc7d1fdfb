import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apikey } from "../../server/auth/tables.ts";
import { auditLog } from "../../server/lib/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { callsOf } from "../support/people.ts";
import { type Postgres, startPostgres } from "../support/postgres.ts";

/** One embedded connection would put these in a row; here they really meet. */
let postgres: Postgres;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  postgres = await startPostgres();
  floe = await start({ databaseUrl: await postgres.database(), settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(async () => {
  await floe?.close();
  await postgres?.stop();
});

const at_once = 50;
type Made = { id: string; key: string };
const create = async (body: Record<string, unknown>) =>
  (await callsOf(floe)(seller, "POST", "/api-key/create", { name: "race", ...body })).json as unknown as Made;
const together = async <T>(work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: at_once }, (_, index) => work(index)));
const tally = (statuses: number[]) =>
  Object.fromEntries([...new Set(statuses)].sort().map((one) => [one, statuses.filter((s) => s === one).length]));
const askAtOnce = async (key: string) =>
  tally(await together(async () => (await floe.request("GET", "/v1/products/", { token: key })).status));

test.each([{ configId: "organization" }, { configId: "default" }])(
  "of 50 requests at once a key with 5 uses lets through exactly 5, each time (%j)",
  async (kind) => {
    for (let round = 0; round < 3; round += 1) {
      const { id, key } = await create({ ...kind, remaining: 5 });
      expect(await askAtOnce(key)).toEqual({ 200: 5, 401: 45 });
      const [row] = await floe.deps.db.select().from(apikey).where(eq(apikey.id, id));
      expect(row?.remaining).toBe(0);
    }
  },
);

test("of 50 requests at once a rate of 5 lets through exactly 5, in each window", async () => {
  const { key } = await create({ rateLimitMax: 5, rateLimitTimeWindow: 60_000 });
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
  floe.clock.advance(60_000);
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
});

test("of 50 requests at once a refill of 5 lets through exactly 5, at each refill", async () => {
  const { key } = await create({ refillAmount: 5, refillInterval: 60_000 });
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
  floe.clock.advance(60_000);
  expect(await askAtOnce(key)).toEqual({ 200: 5, 429: 45 });
});

test("50 renewals at once leave two good values: the last and the one before", async () => {
  const made = await create({});
  const renewed = await together(async () =>
    callsOf(floe)(seller, "POST", "/api-key/rotate", { keyId: made.id }).then(({ status, json }) => ({
      status,
      key: String(json.key),
    })),
  );
  expect(tally(renewed.map(({ status }) => status))).toEqual({ 200: at_once });
  const good = [];
  for (const key of [made.key, ...renewed.map((one) => one.key)])
    if ((await floe.request("GET", "/v1/products/", { token: key })).status === 200) good.push(key);
  expect(good).toHaveLength(2);
});

test("50 deletions at once delete once, and are written down once", async () => {
  const { id } = await create({});
  const statuses = await together(
    async () => (await callsOf(floe)(seller, "POST", "/api-key/delete", { keyId: id })).status,
  );
  expect(tally(statuses)).toEqual({ 200: 1, 404: 49 });
  const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, id));
  expect(entries.map(({ action }) => action).sort()).toEqual(["api_key.created", "api_key.deleted"]);
});

test("a key that is deleted while it is used lets nothing through afterwards", async () => {
  const { id, key } = await create({ remaining: 1000 });
  await together(async (index) =>
    index === 25
      ? (await callsOf(floe)(seller, "POST", "/api-key/delete", { keyId: id })).status
      : (await floe.request("GET", "/v1/products/", { token: key })).status,
  ).then((statuses) => expect(statuses.every((status) => status === 200 || status === 401)).toBe(true));
  expect((await floe.request("GET", "/v1/products/", { token: key })).status).toBe(401);
});
