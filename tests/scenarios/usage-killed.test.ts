import { once } from "node:events";
import { createInterface } from "node:readline";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { type Program, spawnProgram } from "../support/programs.ts";

let floe: Floe;
let seller: Seller;
let other: Program;
let url: string;
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  floe = await start({ databaseUrl, realTime: true });
  seller = await floe.seller();
  other = await spawnProgram("mortal-process", [databaseUrl, "none"]);
  [url] = (await once(createInterface({ input: other.stdout }), "line")) as [string];
});
afterAll(async () => {
  other?.kill("SIGKILL");
  await floe?.close();
});

const [batches_count, batch_size, killed_after, connections] = [60, 40, 15, 6];

test("a server that is killed while it takes events has taken whole batches, all that it acknowledged, and what is sent again is counted once", async () => {
  const { id } = await seller.client.customers.create({ body: { email: "killed@example.com", external_id: "user-1" } });
  const filter = { conjunction: "and" as const, clauses: [] };
  for (const func of ["sum", "unique", "max"] as const)
    await seller.client.meters.create({ body: { name: func, filter, aggregation: { func, property: "n" } } });
  const batches = Array.from({ length: batches_count }, (_, b) =>
    Array.from({ length: batch_size }, (_, n) => ({
      name: `batch-${b}`,
      external_customer_id: "user-1",
      external_id: `event-${b}-${n}`,
      metadata: { n: b * batch_size + n },
    })),
  );
  const acknowledged: number[] = [];
  const waiting = [...batches.entries()];
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [b, events] = next;
        const headers = { authorization: `Bearer ${seller.key}`, "content-type": "application/json" };
        const answer = await fetch(`${url}/v1/events/ingest`, {
          method: "POST",
          headers,
          body: JSON.stringify({ events }),
        }).catch(() => undefined);
        if (!answer) continue;
        expect(answer.status).toBe(200);
        acknowledged.push(b);
        if (acknowledged.length === killed_after) other.kill("SIGKILL");
      }
    }),
  );
  expect(acknowledged.length).toBeGreaterThanOrEqual(killed_after);
  expect(acknowledged.length).toBeLessThan(batches_count);
  const there = (await floe.deps.db.execute(
    sql`select name, count(*)::int as events from usage_events where organization_id = ${seller.organization_id} group by name`,
  )) as unknown as { name: string; events: number }[];
  expect(there.filter(({ events }) => events !== batch_size)).toEqual([]);
  const names = new Set(there.map(({ name }) => name));
  expect(acknowledged.filter((b) => !names.has(`batch-${b}`))).toEqual([]);

  let inserted = 0;
  for (const events of batches) {
    const { status, json } = await floe.request("POST", "/v1/events/ingest", { token: seller.key, body: { events } });
    expect(status).toBe(200);
    inserted += (json as { inserted: number }).inserted;
  }
  const all = batches_count * batch_size;
  expect(inserted).toBe(all - there.length * batch_size);
  const { items } = await seller.client.customerMeters.list({ query: { customer_id: id } });
  expect(Object.fromEntries(items.map(({ meter, consumed_units }) => [meter.name, consumed_units]))).toEqual({
    sum: (all * (all - 1)) / 2,
    unique: all,
    max: all - 1,
  });
});
