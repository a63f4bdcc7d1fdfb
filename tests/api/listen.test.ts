import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { patienceMs } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres } from "../support/races.ts";
import { openStream, type Stream } from "../support/sse.ts";

const sdk38 = { "user-agent": "speakeasy-sdk/typescript 0.38.1 2.727.9 0.1.0 @polar-sh/sdk" };
type Delivery = { id: string; type: string; timestamp: number; created_at: string; body: string; signature: string };

let floe: Floe;
let seller: Seller;
const streams: Stream[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());
afterEach(() => {
  for (const stream of streams.splice(0)) stream.close();
});

async function listen(query = "", headers: Record<string, string> = {}, token = seller.key): Promise<Stream> {
  const stream = await openStream(`${floe.url}/v1/webhooks/listen${query}`, {
    authorization: `Bearer ${token}`,
    ...headers,
  });
  streams.push(stream);
  return stream;
}
/** Past the greeting. */
async function listening(
  query = "",
  headers: Record<string, string> = {},
): Promise<Stream & { cursor: string; secret: string }> {
  const stream = await listen(query, headers);
  expect(stream.status).toBe(200);
  const hello = await stream.next();
  expect(hello.event).toBe("hello");
  return Object.assign(stream, { cursor: hello.id ?? "", secret: (hello.data as { secret: string }).secret });
}
async function happen(
  type = "product.created",
  data: object = { id: newId() },
  organization_id = seller.organization_id,
): Promise<string> {
  const id = newId();
  await floe.deps.db.insert(events).values({ id, organization_id, type, data, created_at: floe.clock.now() });
  return id;
}
const bodyOf = (message: { data: never }): { type: string; data: { id: string } } =>
  JSON.parse((message.data as Delivery).body);

/** The ids of what comes, to the end: nothing that happened before can come after this one. */
async function idsOf(stream: Stream): Promise<string[]> {
  await happen("product.created", { id: "end" });
  const ids = (await stream.to((message) => bodyOf(message).data.id === "end")).map(
    (message) => bodyOf(message).data.id,
  );
  return ids.slice(0, -1);
}

describe("floe listen", () => {
  test("begins with the secret that signs, the same each time and another for each organization", async () => {
    const stream = await listen();
    expect(stream.headers["content-type"]).toContain("text/event-stream");
    const hello = await stream.next();
    expect(hello).toEqual({
      id: expect.stringMatching(/^\d+-0$/),
      event: "hello",
      data: { secret: expect.stringMatching(/^polar_whs_[0-9a-f]{64}$/), organization_id: seller.organization_id },
    });
    expect((await listening()).secret).toBe((hello.data as { secret: string }).secret);
    const other = await floe.seller("other");
    const foreign = await listen("", {}, other.key);
    expect(((await foreign.next()).data as { secret: string }).secret).not.toBe(
      (hello.data as { secret: string }).secret,
    );
    await happen();
    const theirs = await happen("product.created", { id: "theirs" }, other.organization_id);
    expect((await foreign.next()).data).toMatchObject({ id: theirs });
  });

  test("carries each event as an endpoint would get it, signed (WHK-06, WHK-08)", async () => {
    const stream = await listening();
    const id = await happen("product.created", { id: "p1", name: "Ö\n\n😀" });
    const message = await stream.next();
    expect(message).toMatchObject({
      id: expect.stringMatching(/^\d+-\d+$/),
      event: "delivery",
      data: { id, type: "product.created", created_at: floe.clock.now().toISOString() },
    });
    const { body, signature, timestamp } = message.data as Delivery;
    expect(timestamp).toBe(Math.floor(floe.clock.now().getTime() / 1000));
    const headers = { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": signature };
    const verified = new Webhook(Buffer.from(stream.secret).toString("base64")).verify(body, headers);
    expect(verified).toEqual({
      type: "product.created",
      timestamp: floe.clock.now().toISOString(),
      api_version: expect.stringMatching(/^\d{4}-\d\d$/),
      data: { id: "p1", name: "Ö\n\n😀" },
    });
  });

  test("starts now, or goes on after a cursor and misses nothing", async () => {
    await happen("product.created", { id: "before" });
    const stream = await listening();
    await happen("product.created", { id: "1" });
    const first = await stream.next();
    expect(bodyOf(first).data.id).toBe("1");
    stream.close();
    for (const id of ["2", "3"]) await happen("product.created", { id });
    const again = await listening("", { "last-event-id": first.id ?? "" });
    expect(again.cursor).toBe(first.id);
    await happen("product.created", { id: "4" });
    expect(
      [await again.next(), await again.next(), await again.next()].map((message) => bodyOf(message).data.id),
    ).toEqual(["2", "3", "4"]);
    const byQuery = await listening(`?cursor=${stream.cursor}`);
    expect(await idsOf(byQuery)).toEqual(["1", "2", "3", "4"]);
  });

  test("goes through more than one page of what was missed, in order", async () => {
    const { cursor } = await listening();
    for (let number = 0; number < 250; number += 1) await happen("product.updated", { id: String(number) });
    const stream = await listening(`?cursor=${cursor}`);
    expect(await idsOf(stream)).toEqual(Array.from({ length: 250 }, (_, number) => String(number)));
  });

  test("can replay since a time", async () => {
    floe.clock.advance(60_000);
    const since = floe.clock.now().toISOString();
    await happen("product.created", { id: "since" });
    floe.clock.advance(60_000);
    const stream = await listening(`?replay_since=${since}`);
    expect(await idsOf(stream)).toEqual(["since"]);
    floe.clock.advance(1000);
    expect(await idsOf(await listening(`?replay_since=${floe.clock.now().toISOString()}`))).toEqual([]);
  });

  test("leaves out what was not asked for", async () => {
    const stream = await listening("?events=order.paid,product.updated&events=checkout.expired");
    for (const type of ["product.created", "order.paid", "checkout.expired", "product.updated"]) await happen(type);
    const messages = await stream.to((message) => (message.data as Delivery).type === "product.updated");
    expect(messages.map((message) => (message.data as Delivery).type)).toEqual([
      "order.paid",
      "checkout.expired",
      "product.updated",
    ]);
  });

  test("speaks the newest words, unless the client says that it knows only older ones (contract 1.2)", async () => {
    const [newest, old] = [await listening(), await listening("", sdk38)];
    await happen("checkout.expired");
    await happen("order.paid", { id: "o1", billing_reason: "subscription_meter_cycle" });
    const words = (messages: { data: never }[]) =>
      messages.map((message) => [
        bodyOf(message).type,
        (bodyOf(message).data as { billing_reason?: string }).billing_reason,
      ]);
    const isPaid = (message: { data: never }) => bodyOf(message).type === "order.paid";
    expect(words(await newest.to(isPaid))).toEqual([
      ["checkout.expired", undefined],
      ["order.paid", "subscription_meter_cycle"],
    ]);
    expect(words(await old.to(isPaid))).toEqual([["order.paid", "subscription_cycle"]]);
  });

  test.each([
    "?cursor=x",
    "?cursor=1",
    "?cursor=-1-1",
    "?events=made.up",
    "?replay_since=yesterday",
    "?cursor=999999999999999999999-1",
  ])("refuses %s with 422", async (query) => {
    const { status } = await listen(query);
    expect(status).toBe(422);
  });

  test("of another database's cursor starts now", async () => {
    const stream = await listening("?cursor=99999999999-1");
    const id = await happen();
    expect((await stream.next()).data).toMatchObject({ id });
  });

  test("needs webhooks:read, and an organization (TOK-08)", async () => {
    expect((await listen("", {}, await floe.keyOf(seller, ["products:read"]))).status).toBe(403);
    expect((await openStream(`${floe.url}/v1/webhooks/listen`)).status).toBe(401);
    expect((await listen("", {}, "made up")).status).toBe(401);
    expect((await listen("", {}, await floe.keyOf(seller, ["webhooks:read"]))).status).toBe(200);
  });

  test("ends within 15 s for a key that was deleted, and goes on for others", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const made = await floe.request("POST", "/api/auth/api-key/create", {
        token: seller.session,
        body: { name: "lost", organizationId: seller.organization_id },
      });
      const lost = made.json as { id: string; key: string };
      const [going, staying] = [await listen("", {}, lost.key), await listen()];
      for (const stream of [going, staying]) expect((await stream.next()).event).toBe("hello");
      vi.advanceTimersByTime(10_000);
      const seen = await happen();
      expect(((await going.next()).data as Delivery).id).toBe(seen);
      const deletion = { token: seller.session, body: { keyId: lost.id } };
      expect((await floe.request("POST", "/api/auth/api-key/delete", deletion)).status).toBe(200);
      vi.advanceTimersByTime(10_000);
      await expect(going.ended).resolves.toBeUndefined();
      await happen();
      await expect(going.next()).rejects.toThrow("ended");
      expect(await idsOf(staying)).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  test("ends when the server closes", async () => {
    const short = await start({ listen: true });
    const owner = await short.seller();
    const stream = await openStream(`${short.url}/v1/webhooks/listen`, { authorization: `Bearer ${owner.key}` });
    await stream.next();
    await short.close();
    await expect(stream.ended).resolves.toBeUndefined();
  });
});

describe("on a real PostgreSQL", () => {
  let real: Floe;
  beforeAll(async () => {
    real = await startOnPostgres({ listen: true });
  });
  afterAll(() => real?.close());

  test("a transaction that commits late is not skipped by a cursor that is already past its number", async () => {
    const owner = await real.seller();
    const open = (cursor = "") =>
      openStream(`${real.url}/v1/webhooks/listen${cursor}`, { authorization: `Bearer ${owner.key}` });
    const stream = await open();
    streams.push(stream);
    await stream.next();
    const client = postgres(String(real.deps.config.DATABASE_URL), { max: 2, onnotice: () => {} });
    const db = drizzle({ client });
    const insert = (into: Pick<typeof db, "insert">, id: string) =>
      into.insert(events).values({
        id: newId(),
        organization_id: owner.organization_id,
        type: "product.created",
        data: { id },
        created_at: new Date(),
      });
    const [written, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = db.transaction(async (tx) => {
      await insert(tx, "slow");
      written.resolve();
      await held.promise;
    });
    await Promise.race([written.promise, slow]);
    try {
      await insert(db, "quick");
      // The quick one has the higher number and is committed; showing it now would put the cursor past the slow one.
      expect(await stream.rest(800)).toEqual([]);
    } finally {
      held.resolve();
      await slow;
    }
    const got = [await stream.next(), await stream.next()];
    expect(got.map((message) => bodyOf(message).data.id)).toEqual(["slow", "quick"]);
    const again = await open(`?cursor=${got[0]?.id}`);
    streams.push(again);
    await again.next();
    expect(bodyOf(await again.next()).data.id).toBe("quick");
    await client.end();
  });

  test("many writers at once, read by followers that come and go: each sees every event once", async () => {
    const { organization_id } = await real.seller("busy");
    const client = postgres(String(real.deps.config.DATABASE_URL), { max: 20, onnotice: () => {} });
    const db = drizzle({ client });
    const tail = openTail({ db: real.deps.db, log: real.deps.log });
    const stop = new AbortController();
    const from = await tail.now();
    const total = 400;
    const writing = Promise.all(
      Array.from({ length: 20 }, async (_, writer) => {
        for (let number = 0; number < total / 20; number += 1) {
          await db.transaction(async (tx) => {
            const row = {
              id: newId(),
              organization_id,
              type: "product.created",
              data: { id: `${writer}.${number}` },
              created_at: new Date(),
            };
            await tx.insert(events).values(row);
            await tx.execute(sql`select pg_sleep(${Math.random() * 0.03})`);
          });
        }
      }),
    );
    const follow = async (restless: boolean): Promise<string[]> => {
      const seen: string[] = [];
      let cursor = from;
      while (seen.length < total) {
        for await (const event of tail.follow(organization_id, cursor, stop.signal)) {
          seen.push((event.data as { id: string }).id);
          cursor = event;
          if (seen.length === total || (restless && Math.random() < 0.1)) break;
        }
        if (stop.signal.aborted) break;
      }
      return seen;
    };
    const timer = setTimeout(() => stop.abort(), patienceMs);
    const [steady, restless] = await Promise.all([follow(false), follow(true), writing]);
    clearTimeout(timer);
    tail.close();
    await client.end();
    const all = Array.from({ length: 20 }, (_, writer) =>
      Array.from({ length: total / 20 }, (__, number) => `${writer}.${number}`),
    )
      .flat()
      .sort();
    expect([...steady].sort()).toEqual(all);
    expect(restless).toEqual(steady);
  });
});
