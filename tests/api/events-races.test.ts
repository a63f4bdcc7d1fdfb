import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../server/platform/context.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { usageEvents, usageKeys } from "../../server/usage/events/tables.ts";
import { resetMeter } from "../../server/usage/meters/credits.ts";
import { haltCounting, lockMeters, updateMeters } from "../../server/usage/meters/store.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { awaitLock } from "../support/races.ts";
import { openShop } from "../support/story.ts";

let floe: Floe;
let seller: Seller;
let databaseUrl: string;
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  floe = await start({ databaseUrl });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const atOnce = 20;
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
    Array.from({ length: atOnce }, (_, turn) => send(turn % 2 === 0 ? batch : batch.toReversed())),
  );
  expect(answers.reduce((sum, { inserted }) => sum + inserted, 0)).toBe(50);
  expect((await used(id)).sort((a, b) => a - b)).toEqual([50, 1225]);
});

test("what is written together is answered apart: a batch with a fault refuses no other", async () => {
  const { id } = await seller.client.customers.create({ body: { email: "apart@example.com" } });
  const other = await floe.seller("other");
  const stranger = await other.client.customers.create({ body: { email: "stranger@example.com" } });
  const answers = await Promise.all(
    Array.from({ length: atOnce }, (_, n) => {
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
    ...Array.from({ length: atOnce }, (_, n) => send([sent(n), sent(n)])),
  ]);
  await floe.runJobs();
  expect((await used(made.id)).sort((a, b) => a - b)).toEqual([20, 380]);
  const rows = await floe.deps.db.select().from(usageEvents).where(eq(usageEvents.external_customer_id, "newcomer"));
  expect(new Set(rows.map(({ customer_id }) => customer_id))).toEqual(new Set([made.id]));
});

describe("between the look of who counts and what they write", () => {
  /** Send events while somebody else, for whom they wait, does a work. */
  async function overtake(events: unknown[], work: (tx: Tx) => Promise<unknown>) {
    const [halted, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const halting = transact(floe.deps, async (tx) => {
      await haltCounting(tx, seller.organization_id);
      held.resolve();
      await halted.promise;
      await work(tx);
    });
    await held.promise;
    const sending = send(events);
    try {
      await awaitLock(databaseUrl);
    } finally {
      halted.resolve();
    }
    await halting;
    return sending;
  }

  test("a meter is changed: the events are counted by what it is", async () => {
    const { id } = await seller.client.customers.create({ body: { email: "overtaken@example.com" } });
    const filter = {
      conjunction: "and" as const,
      clauses: [{ property: "name", operator: "eq" as const, value: "slow" }],
    };
    const meter = await seller.client.meters.create({ body: { name: "Slow", filter, aggregation: { func: "count" } } });
    await floe.runJobs();
    const change = async (tx: Tx) => {
      const rows = await lockMeters(tx, seller.organization_id, [meter.id]);
      await updateMeters(
        tx,
        rows.map((row) => ({ row, patch: { aggregation: { func: "sum", property: "n" } } })),
      );
    };
    await overtake([{ name: "slow", customer_id: id, metadata: { n: 5 } }], change);
    const { items } = await seller.client.customerMeters.list({ query: { customer_id: id, meter_id: meter.id } });
    expect(items.map(({ consumed_units }) => consumed_units)).toEqual([5]);
  });

  test("an external id is taken: the event came before", async () => {
    const { id } = await seller.client.customers.create({ body: { email: "duplicate@example.com" } });
    const taken = {
      organization_id: seller.organization_id,
      external_id: "slow-0",
      event_id: newId(),
      digest: newId(),
    };
    const events = [0, 1].map((n) => ({ name: "taken", customer_id: id, external_id: `slow-${n}` }));
    const answer = await overtake(events, (tx) => tx.insert(usageKeys).values(taken));
    expect(answer).toEqual({ inserted: 1, duplicates: 1 });
  });
});

test("who sends much under keys of their own, or only asks what would become of it, leaves connections to others", async () => {
  const other = await floe.seller("patient");
  const { organization_id } = seller;
  let release: () => void = () => undefined;
  const halted = new Promise<void>((go) => {
    release = go;
  });
  let isHeld: () => void = () => undefined;
  const held = new Promise<void>((go) => {
    isHeld = go;
  });
  const halting = transact(floe.deps, async (tx) => {
    await haltCounting(tx, organization_id);
    isHeld();
    await halted;
  });
  await held;
  const body = (n: number) => ({
    events: [{ name: "flood", external_customer_id: "flood", external_id: `flood-${n}` }],
  });
  const sending = Array.from({ length: 36 }, (_, n) =>
    floe.request("POST", `/v1/events/ingest${n % 3 === 0 ? "?preview=true" : ""}`, {
      token: seller.key,
      body: body(n),
      ...(n % 3 === 1 ? { headers: { "idempotency-key": `flood-${n}` } } : {}),
    }),
  );
  try {
    await awaitLock(databaseUrl, 4);
    let status: number | undefined;
    void floe.request("GET", "/v1/products/", { token: other.key }).then((answer) => {
      status = answer.status;
    });
    expect(await eventually(async () => status, "another seller to be answered")).toBe(200);
  } finally {
    // Also where nobody was answered, or nothing here would ever end.
    release();
  }
  await halting;
  expect((await Promise.all(sending)).map(({ status }) => status)).toEqual(Array(36).fill(200));
});

test("who counts for many customers, in whatever order, and who resets what they used, come through together", async () => {
  const customers = await Promise.all(
    Array.from({ length: 4 }, (_, n) => seller.client.customers.create({ body: { email: `ring-${n}@example.com` } })),
  );
  const { organization_id } = seller;
  const { items: meters } = await seller.client.meters.list({ query: { limit: 100 } });
  const ids = customers.map(({ id }) => id);
  const batch = (turn: number) =>
    (turn % 2 === 0 ? ids : ids.toReversed()).map((customer_id) => ({
      name: "ring",
      customer_id,
      metadata: { n: turn },
    }));
  await Promise.all([
    ...Array.from({ length: atOnce }, (_, turn) => send(batch(turn))),
    ...Array.from({ length: 6 }, (_, turn) =>
      transact(floe.deps, async (tx) => {
        // In the order of renewals: customers, and of each the meters.
        for (const customer_id of ids)
          for (const meter_id of meters.map(({ id }) => id).sort())
            await resetMeter(tx, floe.deps, { organization_id, customer_id, meter_id });
      }).catch((error: Error & { cause?: { code?: string } }) => {
        // The database may choose this one to give way: a renewal is due still.
        if (error.cause?.code !== "40P01") throw error;
        return turn;
      }),
    ),
  ]);
  for (const after of ["b", "p"]) {
    const verified = await seller.client.customerMeters.verify({ query: { after, limit: 1000 } });
    expect(verified.differences).toEqual([]);
  }
});

test("renewals of many by two servers at once, beside events that come: each period is billed what was used in it, once", async () => {
  const beside = await start({ databaseUrl });
  beside.clock.time = floe.clock.now();
  try {
    const shop = await openShop(floe, "2027-01-01");
    const meter = await shop.accepted("POST", "/v1/meters/", {
      name: "Tokens",
      filter: { conjunction: "and", clauses: [] },
      aggregation: { func: "sum", property: "n" },
    });
    const product = await shop.sells("API", [
      { amount_type: "metered_unit", meter_id: meter.id, unit_amount: "1", cap_amount: null },
    ]);
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await shop.subscribes(product));
    const customers = await Promise.all(ids.map(async (id) => (await shop.get(id)).customer_id));
    const sends = (n: number, order = customers) =>
      shop.accepted("POST", "/v1/events/ingest", {
        events: order.map((customer_id) => ({ name: "use", customer_id, metadata: { n } })),
      });
    await sends(100);
    await shop.set("2027-02-01");
    await Promise.all([
      floe.runJobs(),
      beside.runJobs(),
      ...Array.from({ length: 12 }, (_, turn) => sends(1, turn % 2 ? customers : customers.toReversed())),
      floe.runJobs(),
      beside.runJobs(),
    ]);
    // Whoever had to give way to another is taken up again a while later.
    await shop.on("2027-02-02");
    const billed = async () =>
      (await Promise.all(ids.map((id) => shop.orders(id)))).map((orders) =>
        orders.map((order) => order.replace(/^\S+ /, "")).join(),
      );
    expect((await billed()).join("\n")).toBe(ids.map(() => "create 0 paid,cycle 100 paid").join("\n"));
    expect((await Promise.all(ids.map((id) => shop.get(id)))).map(({ meters }) => meters[0]?.consumed_units)).toEqual(
      ids.map(() => 12),
    );
    await shop.on("2027-03-01");
    expect((await billed()).join("\n")).toBe(
      ids.map(() => "create 0 paid,cycle 100 paid,cycle 12 due 0 paid").join("\n"),
    );
    for (const after of ["b", "p"]) {
      const verified = await shop.seller.client.customerMeters.verify({ query: { after, limit: 1000 } });
      expect([verified.differences, verified.skipped]).toEqual([[], 0]);
    }
  } finally {
    await beside.close();
  }
});
