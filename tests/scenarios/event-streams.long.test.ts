/** Streams that are cut at random, on servers that stop and start: each gets exactly its events, in order, and none twice. */
import { asc, eq, sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { eventTypes } from "../../shared/event-types.ts";
import { type Floe, type FloeOptions, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { openStream } from "../support/sse.ts";

const total = Number(process.env.FLOE_TEST_RUNS ?? 2500);
const [writers, readers] = [12, 24];
const settings = { FLOE_REQUESTS_PER_MINUTE: "0" };
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const draw = (most: number): number => Math.floor(Math.random() * most);

/** Types and products of the events, and of what readers ask for. */
const kinds = eventTypes.filter((type) => type.startsWith("order.") || type.startsWith("subscription."));
const products = Array.from({ length: 3 }, () => newId());
type Reader = { query: string; isWanted(type: string, product_id: string): boolean; seen: string[]; last: string };

function createReader(index: number): Reader {
  const types = index % 3 === 0 ? [] : kinds.filter(() => Math.random() < 0.4).concat("order.paid");
  const product = index % 2 === 0 ? undefined : products[draw(products.length)];
  const query = new URLSearchParams({
    ...(types.length > 0 && { types: types.join(",") }),
    ...(product && { product_id: product }),
  });
  const isWanted = (type: string, product_id: string) =>
    (types.length === 0 || types.includes(type as (typeof types)[number])) &&
    (product === undefined || product === product_id);
  return { query: String(query), isWanted, seen: [], last: "" };
}

/** Write events in transactions that end in another order than they began, and of which some are rolled back. */
async function write(floe: Floe, organization_id: string): Promise<void> {
  const isAlone = floe.deps.config.embedded;
  await Promise.all(
    Array.from({ length: writers }, async () => {
      for (let count = 0; count < total / writers; count += 1) {
        const row = () => ({
          ...{ id: newId(), organization_id, created_at: new Date() },
          type: kinds[draw(kinds.length)] ?? "order.paid",
          data: { id: newId(), product_id: products[draw(products.length)] },
        });
        const written = floe.deps.db.transaction(async (tx) => {
          await tx.insert(events).values([row(), row()].slice(0, 1 + draw(2)));
          if (!isAlone) await tx.execute(sql`select pg_sleep(${Math.random() * 0.02})`);
          if (Math.random() < 0.05) throw new Error("rolled back");
        });
        await written.catch((error: Error) => {
          if (!String(error).includes("rolled back")) throw error;
        });
      }
    }),
  );
}

/** Read until told to stop, with a connection to any server that lasts a moment. */
async function read(reader: Reader, servers: () => Floe[], key: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const all = servers();
    const server = all[draw(all.length)];
    const headers = { authorization: `Bearer ${key}`, ...(reader.last && { "last-event-id": reader.last }) };
    const stream = await openStream(`${server?.url}/v1/events/stream?${reader.query}`, headers).catch(() => undefined);
    if (stream?.status !== 200) {
      stream?.close();
      await pause(50);
      continue;
    }
    const timer = setTimeout(() => stream.close(), 50 + draw(450));
    for (;;) {
      const message = await stream.next().catch(() => undefined);
      if (!message) break;
      if (message.event === "reset") throw new Error(`Reset: ${JSON.stringify(message.data)}`);
      if (message.id !== undefined) reader.last = message.id;
      if (/^(order|subscription)\./.test(message.event ?? "")) reader.seen.push((message.data as { id: string }).id);
    }
    clearTimeout(timer);
    stream.close();
  }
}

async function play(options: FloeOptions, count: number, restarts: number): Promise<void> {
  const open = () => start({ ...options, listen: true, realTime: true, settings });
  const servers = [await open()];
  const [first] = servers as [Floe];
  const seller: Seller = await first.seller();
  while (servers.length < count) servers.push(await open());
  const keys = await Promise.all(
    Array.from({ length: 8 }, () => first.keyOf(seller, ["orders:read", "subscriptions:read"])),
  );
  const all = Array.from({ length: readers }, (_, index) => createReader(index));
  // Every reader has a place before the first event.
  const begin = await openStream(`${first.url}/v1/events/stream`, { authorization: `Bearer ${seller.key}` });
  const { id: place = "" } = await begin.next();
  begin.close();
  for (const reader of all) reader.last = place;
  let isOver = false;
  const reading = all.map((reader, index) =>
    read(
      reader,
      () => servers,
      keys[index % keys.length] ?? "",
      () => isOver,
    ),
  );
  const writing = write(first, seller.organization_id);
  for (let done = 0; done < restarts; done += 1) {
    await pause(700);
    const [gone] = servers.splice(1, 1);
    await gone?.close();
    servers.push(await open());
  }
  await writing;
  const rows = await first.deps.db
    .select({ id: events.id, type: events.type, data: events.data })
    .from(events)
    .where(eq(events.organization_id, seller.organization_id))
    .orderBy(asc(events.xid), asc(events.seq));
  expect(rows.length).toBeGreaterThan(total * 0.8);
  const expected = all.map(({ isWanted }) =>
    rows.filter(({ type, data }) => isWanted(type, (data as { product_id: string }).product_id)).map(({ id }) => id),
  );
  await expect
    .poll(() => all.every(({ seen }, index) => seen.length >= (expected[index]?.length ?? 0)), { timeout: 60_000 })
    .toBe(true);
  await pause(800);
  isOver = true;
  await Promise.all(reading);
  for (const [index, { seen, query }] of all.entries()) expect([query, seen]).toEqual([query, expected[index]]);
  for (const server of servers.reverse()) await server.close();
}

test("STR-02: three servers on PostgreSQL, of which two are started again meanwhile", {
  timeout: 240_000,
}, async () => {
  await play({ databaseUrl: await createPostgresDatabase() }, 3, 4);
});

test("STR-02: one server with the embedded database", { timeout: 240_000 }, async () => {
  await play({ embedded: true }, 1, 0);
});
