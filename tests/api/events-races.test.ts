import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { usageEvents } from "../../server/events/tables.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { startOnPostgres } from "../support/races.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const at_once = 20;
const send = async (events: unknown[]) => {
  const { status, json, text } = await floe.request("POST", "/v1/events/ingest", {
    token: seller.key,
    body: { events },
  });
  expect(status, text).toBe(200);
  return json as { inserted: number; duplicates: number };
};
const used = async (customer_id: string) =>
  (await seller.client.customerMeters.list({ query: { customer_id } })).items.map(
    ({ consumed_units }) => consumed_units,
  );

test("the same batch from 20 connections at once, in any order, is counted once", async () => {
  const { id } = await seller.client.customers.create({ body: { email: "races@example.com" } });
  for (const aggregation of [
    { func: "sum" as const, property: "n" },
    { func: "unique" as const, property: "n" },
  ])
    await seller.client.meters.create({
      body: { name: "Races", filter: { conjunction: "and", clauses: [] }, aggregation },
    });
  const batch = Array.from({ length: 50 }, (_, n) => ({
    name: "use",
    customer_id: id,
    external_id: `race-${n}`,
    metadata: { n },
  }));
  const answers = await Promise.all(
    Array.from({ length: at_once }, (_, turn) => send(turn % 2 === 0 ? batch : batch.toReversed())),
  );
  expect(answers.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(50);
  expect((await used(id)).sort((a, b) => a - b)).toEqual([50, 1225]);
});

test("what is written together is answered apart: a batch with a fault refuses no other", async () => {
  const { id } = await seller.client.customers.create({ body: { email: "apart@example.com" } });
  const other = await floe.seller("other");
  const stranger = await other.client.customers.create({ body: { email: "stranger@example.com" } });
  const answers = await Promise.all(
    Array.from({ length: at_once }, (_, n) => {
      const whose = n % 4 === 0 ? stranger.id : id;
      const events = [{ name: "apart", customer_id: whose, external_id: `apart-${n}`, metadata: { n: 1 } }];
      return floe.request("POST", "/v1/events/ingest", { token: seller.key, body: { events } });
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map((_, n) => (n % 4 === 0 ? 422 : 200)));
  expect(answers[0]?.json).toMatchObject({ detail: [{ loc: ["body", "events", 0, "customer_id"] }] });
  expect(answers[0]?.text).not.toContain("stranger@example.com");
  const { items } = await seller.client.events.list({ query: { name: ["apart"], limit: 100 } });
  expect(items.map(({ customer_id }) => customer_id)).toEqual(Array(15).fill(id));
  expect((await other.client.events.list({ query: { name: ["apart"] } })).items).toEqual([]);
});

test("whoever becomes a customer while their events come gets each of them once", async () => {
  const sent = (n: number) => ({ name: "use", external_customer_id: "newcomer", metadata: { n } });
  const [made] = await Promise.all([
    seller.client.customers.create({ body: { email: "newcomer@example.com", external_id: "newcomer" } }),
    ...Array.from({ length: at_once }, (_, n) => send([sent(n), sent(n)])),
  ]);
  await floe.runJobs();
  expect((await used(made.id)).sort((a, b) => a - b)).toEqual([20, 380]);
  const rows = await floe.deps.db.select().from(usageEvents).where(eq(usageEvents.external_customer_id, "newcomer"));
  expect(new Set(rows.map(({ customer_id }) => customer_id))).toEqual(new Set([made.id]));
});
