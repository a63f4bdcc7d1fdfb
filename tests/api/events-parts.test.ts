import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { partWorker } from "../../server/usage/events/parts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

const dayMs = 86_400_000;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  // Parts are of the whole database, so it is one that no other test has.
  floe = await start({ embedded: true, settings: { FLOE_EVENTS_KEPT_MONTHS: "2" } });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const rowsOf = async (statement: ReturnType<typeof sql>) =>
  ((await floe.deps.db.execute(statement)) as unknown as { rows: Record<string, string>[] }).rows;
const monthOf = (at: Date, ahead = 0) =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + ahead, 1)).toISOString().slice(0, 7).replace("-", "_");
const parts = async () =>
  (
    await rowsOf(sql`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'usage_events'::regclass order by 1`)
  ).map(({ name }) => name?.replace("usage_events_", ""));
const partsOf = async (name: string) =>
  (await rowsOf(sql`select tableoid::regclass::text as part from usage_events where name = ${name} order by id`)).map(
    ({ part }) => part?.replace("usage_events_", ""),
  );
const keep = () => runWorkers(floe.deps, [partWorker]);
const send = async (name: string, external_id?: string) => {
  const events = [{ name, external_customer_id: "user", metadata: { n: 1 }, ...(external_id && { external_id }) }];
  return seller.client.events.ingest({ query: {}, body: { events } as never });
};

describe("the parts of events", () => {
  test("are made for the months to come, and an event lies in that of its month", async () => {
    const now = floe.clock.now();
    await keep();
    expect(await parts()).toEqual([...[0, 1, 2].map((ahead) => monthOf(now, ahead)), "other"]);
    await send("now");
    expect(await partsOf("now")).toEqual([monthOf(now)]);
    // Twice is once.
    await keep();
    expect((await parts()).length).toBe(4);
  });

  test("what came before its part was there is moved into it, and stays found and counted once", async () => {
    const { id } = await seller.client.customers.create({ body: { email: "user@example.com", external_id: "user" } });
    floe.clock.time = new Date(Date.UTC(floe.clock.now().getUTCFullYear(), floe.clock.now().getUTCMonth() + 3, 10));
    await send("ahead", "ahead-1");
    expect(await partsOf("ahead")).toEqual(["other"]);
    await keep();
    expect(await partsOf("ahead")).toEqual([monthOf(floe.clock.now())]);
    // The migration made none of these.
    expect(await parts()).toEqual(expect.arrayContaining([1, 2].map((ahead) => monthOf(floe.clock.now(), ahead))));
    expect(await send("ahead", "ahead-1")).toEqual({ inserted: 0, duplicates: 1 });
    const { items } = await seller.client.events.list({ query: { name: ["ahead"] } });
    expect(items.map(({ customer_id, external_id }) => [customer_id, external_id])).toEqual([[id, "ahead-1"]]);
    // The indexes of a part that was made later are those of all.
    const [one] = await rowsOf(
      sql`select count(*)::int as made from pg_index where indrelid = ${`usage_events_${monthOf(floe.clock.now())}`}::regclass`,
    );
    const [all] = await rowsOf(
      sql`select count(*)::int as made from pg_index where indrelid = 'usage_events'::regclass`,
    );
    expect(one).toEqual(all);
  });

  test("months that are kept no longer are dropped, and only those; ids and what was used stay", async () => {
    const meter = await seller.client.meters.create({
      body: { name: "All", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "sum", property: "n" } },
    });
    await floe.runJobs();
    const used = async () =>
      (await seller.client.customerMeters.list({ query: { meter_id: meter.id } })).items.map(
        (one) => one.consumed_units,
      );
    await send("old", "old-1");
    const old = monthOf(floe.clock.now());
    const before = await used();
    floe.clock.time = new Date(Date.UTC(floe.clock.now().getUTCFullYear(), floe.clock.now().getUTCMonth() + 2, 20));
    await keep();
    expect(await parts()).toContain(old);
    floe.clock.advance(30 * dayMs);
    await keep();
    const months = (await parts()).filter((name) => name !== "other");
    expect(months).not.toContain(old);
    expect(months[0]).toBe(monthOf(floe.clock.now(), -2));
    expect(await partsOf("old")).toEqual([]);
    expect(await used()).toEqual(before);
    expect(await send("old", "old-1")).toEqual({ inserted: 0, duplicates: 1 });
    expect(await used()).toEqual(before);
  });
});
