import { once } from "node:events";
import { createInterface } from "node:readline";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { startPostgres } from "../support/postgres.ts";
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
    sql`select name, count(*)::int as events from usage_events where organization_id = ${seller.organization_id} and source = 'user' group by name`,
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

test("a server and its database that are killed at once have what they acknowledged, and what is sent again is counted once", async () => {
  const database = await startPostgres();
  const begin = async () => {
    const server = await spawnProgram("serving", [database.url]);
    const [line] = (await once(createInterface({ input: server.stdout }), "line")) as [string];
    return { server, at: JSON.parse(line) as { url: string; key: string } };
  };
  const first = await begin();
  const { key } = first.at;
  const ask = async (at: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(at + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown> & {
      items: { consumed_units: number; meter: { name: string } }[];
    };
  };
  const filter = { conjunction: "and", clauses: [] };
  for (const func of ["sum", "unique", "max"])
    await ask(first.at.url, "POST", "/v1/meters/", { name: func, filter, aggregation: { func, property: "n" } });
  await ask(first.at.url, "POST", "/v1/customers/", { email: "killed@example.com", external_id: "user-1" });
  const batches = Array.from({ length: batches_count }, (_, b) =>
    Array.from({ length: batch_size }, (_, n) => ({
      name: "use",
      external_customer_id: "user-1",
      external_id: `event-${b}-${n}`,
      metadata: { n: b * batch_size + n },
    })),
  );
  let acknowledged = 0;
  let crashing: Promise<void> | undefined;
  const waiting = [...batches];
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let events = waiting.shift(); events; events = waiting.shift()) {
        const isTaken = await ask(first.at.url, "POST", "/v1/events/ingest", { events }).then(
          () => true,
          () => false,
        );
        if (isTaken) acknowledged += 1;
        if (acknowledged < killed_after || crashing) continue;
        first.server.kill("SIGKILL");
        crashing = database.crash();
      }
    }),
  );
  await crashing;
  expect(acknowledged).toBeGreaterThanOrEqual(killed_after);
  expect(acknowledged).toBeLessThan(batches_count);
  await database.restart();
  const second = await begin();
  try {
    let duplicates = 0;
    for (const events of batches)
      duplicates += Number((await ask(second.at.url, "POST", "/v1/events/ingest", { events })).duplicates);
    expect(duplicates).toBeGreaterThanOrEqual(acknowledged * batch_size);
    expect(duplicates % batch_size).toBe(0);
    const all = batches_count * batch_size;
    const { items } = await ask(second.at.url, "GET", "/v1/customer-meters/?limit=100");
    expect(Object.fromEntries(items.map(({ meter, consumed_units }) => [meter.name, consumed_units]))).toEqual({
      sum: (all * (all - 1)) / 2,
      unique: all,
      max: all - 1,
    });
    expect(await ask(second.at.url, "GET", "/v1/customer-meters/verify")).toMatchObject({
      checked: 3,
      differences: [],
    });
  } finally {
    second.server.kill("SIGKILL");
    await database.stop();
  }
}, 120_000);
