import { createHmac } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { asc, eq, sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { incomingEvents } from "../../server/hosted/events/tables.ts";
import { listObjects } from "../../server/hosted/mirror/rules.ts";
import { storeObjects } from "../../server/hosted/mirror/store.ts";
import { polarObjects } from "../../server/hosted/mirror/tables.ts";
import { openTokens } from "../../server/platform/crypto/secrets.ts";
import { type EventType, payloads } from "../../shared/events.ts";
import { type HostedPair, startHosted } from "../support/hosted.ts";
import { wireValue } from "../support/samples.ts";

/** Many deliveries of Polar, and of others who found the address: the mirror is exact, and memory stays bounded. */

const secret = "polar_whs_the-secret-of-the-flood";
let pair: HostedPair;
beforeAll(async () => {
  pair = await startHosted({ settings: { POLAR_WEBHOOK_SECRET: secret, TRUST_PROXY: "127.0.0.1" } });
});
afterAll(() => pair.close());

const sample = (type: keyof typeof payloads, seed: number): Record<string, unknown> =>
  fc.sample(wireValue(payloads[type]), { numRuns: 1, seed })[0] as Record<string, unknown>;
const getId = (number: number) => `0199a000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const getTime = (minute: number) => new Date(Date.UTC(2026, 4, 1, 0, minute)).toISOString();

const [objectsCount, versionsCount, repeated, total] = [150, 20, 2, 10_000];
const kinds = ["customer", "product", "discount"] as const;
const bases = Object.fromEntries(kinds.map((kind, index) => [kind, sample(`${kind}.updated`, 50 + index)]));

type Form = { kind: (typeof kinds)[number]; id: string; name: string; minute: number };
/** A form of one of the objects, from its number. Two neighbors have the same time, and the greater event id wins. */
function readForm(number: number): Form {
  const object = number % objectsCount;
  const version = Math.floor(number / objectsCount);
  const kind = kinds[object % kinds.length] ?? "customer";
  return { kind, id: getId(object), name: `${kind} ${object} v${version}`, minute: Math.floor(version / 2) };
}
const getEventId = (number: number) => `msg_${String(number).padStart(6, "0")}`;
function writeForm(number: number): string {
  const { kind, id, name, minute } = readForm(number);
  const owned = { organization_id: pair.polarSeller.organization_id, created_at: getTime(0) };
  const data = { ...bases[kind], ...owned, id, name, modified_at: getTime(minute) };
  return JSON.stringify({ type: `${kind}.updated`, timestamp: getTime(minute), api_version: "2026-10", data });
}

type Sending = { number: number; how: "good" | "forged" | "changed" | "old" | "future" };
const forms = objectsCount * versionsCount;
/** What is sent at a place of the flood: each form twice, and the rest by others. */
function readSending(place: number): Sending {
  if (place < forms * repeated) return { number: place % forms, how: "good" };
  const how = (["forged", "changed", "old", "future"] as const)[place % 4] ?? "forged";
  return { number: (place * 7) % forms, how };
}

async function send(place: number): Promise<number> {
  const { number, how } = readSending(place);
  const now = Math.floor(pair.floe.clock.now().getTime() / 1000);
  const timestamp = String(how === "old" ? now - 301 : how === "future" ? now + 301 : now);
  const [id, body] = [getEventId(number), writeForm(number)];
  const key = how === "forged" ? "polar_whs_of-another" : secret;
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  // A refused address is blocked after 600 refusals a minute: strangers have many addresses, and Polar has its own.
  const address = how === "good" ? "192.0.2.1" : `198.51.${place % 40}.7`;
  const { status } = await pair.floe.request("POST", "/v1/integrations/polar/webhook", {
    body: how === "changed" ? body.replace('"name":"', '"name":"free ') : body,
    headers: {
      ...{ "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` },
      "x-forwarded-for": address,
    },
  });
  return status;
}

const readMirror = async () => {
  const rows = await pair.floe.deps.db
    .select()
    .from(polarObjects)
    .orderBy(asc(polarObjects.kind), asc(polarObjects.id));
  const { secrets } = pair.floe.deps.config;
  return openTokens(secrets, "mirror-tokens", pair.seller.organization_id, JSON.stringify(rows));
};

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const measureHeap = () => {
  collect();
  return process.memoryUsage().heapUsed;
};

test("10,000 deliveries in any order, repeated, forged, changed, old and early end in the exact mirror", async () => {
  const places = fc.sample(
    fc.shuffledSubarray(
      Array.from({ length: total }, (_, place) => place),
      { minLength: total },
    ),
    { numRuns: 1, seed: 10 },
  )[0] as number[];
  const wrong: string[] = [];
  const sendSome = async (some: readonly number[]) => {
    for (let from = 0; from < some.length; from += 25)
      await Promise.all(
        some.slice(from, from + 25).map(async (place) => {
          const status = await send(place);
          if (status !== (readSending(place).how === "good" ? 202 : 403)) wrong.push(`${place}: ${status}`);
        }),
      );
    await pair.floe.runJobs();
  };
  await sendSome(places.slice(0, 2000));
  const before = measureHeap();
  for (let from = 2000; from < total; from += 2000) await sendSome(places.slice(from, from + 2000));
  const grown = measureHeap() - before;
  expect(wrong).toEqual([]);

  const rows = await pair.floe.deps.db.select().from(polarObjects);
  const newest = new Map<string, Form>();
  for (let number = 0; number < forms; number++) newest.set(readForm(number).id, readForm(number));
  const expected = [...newest.values()].map(({ id, kind, name }) => `${id} ${kind} ${name}`).toSorted();
  const found = rows.map(({ id, kind, data }) => `${id} ${kind} ${(data as { name: string }).name}`).toSorted();
  expect(found).toEqual(expected);

  const [sums] = await pair.floe.deps.db
    .select({
      events: sql<number>`count(*)::int`,
      open: sql<number>`count(due_at)::int`,
      duplicates: sql<number>`sum(duplicates)::int`,
      other: sql<number>`count(*) filter (where state not in ('applied', 'stale'))::int`,
    })
    .from(incomingEvents)
    .where(eq(incomingEvents.organization_id, pair.seller.organization_id));
  expect(sums).toEqual({ events: forms, open: 0, duplicates: forms * (repeated - 1), other: 0 });
  expect(grown / 1024 / 1024, "MB more after 8,000 further deliveries").toBeLessThan(16);
}, 600_000);

test("every permutation of a sale's events ends in the same mirror", async () => {
  const customer = sample("customer.updated", 1);
  const owned = { organization_id: pair.polarSeller.organization_id, created_at: getTime(0) };
  const ids = { customer: getId(901), product: getId(902), subscription: getId(903), order: getId(904) };
  const inner = {
    ...{ customer: { ...customer, ...owned, id: ids.customer, name: "embedded", modified_at: getTime(1) } },
    product: { id: ids.product, name: "Monthly", ...owned, modified_at: null },
  };
  const tell = (type: EventType, id: string, minute: number, more: object) => {
    const data = { ...owned, ...inner, customer_id: ids.customer, id, modified_at: getTime(minute), ...more };
    const told = { source: `${type} ${minute}`, event_at: new Date(getTime(minute)) };
    return listObjects(type, JSON.parse(JSON.stringify(data)), told);
  };
  const subscription = (status: string, minute: number) => ({
    ...{ ...owned, id: ids.subscription, customer_id: ids.customer },
    ...{ status, modified_at: getTime(minute) },
  });
  // Two of the same time, an object in another that is older than itself, and a customer that is deleted before the last is told.
  const told = [
    tell("order.created", ids.order, 2, { status: "pending", subscription: null }),
    tell("order.paid", ids.order, 3, { status: "paid", subscription: subscription("incomplete", 2) }),
    tell("order.updated", ids.order, 3, { status: "paid", subscription: subscription("active", 3) }),
    tell("subscription.active", ids.subscription, 3, { status: "active" }),
    tell("subscription.updated", ids.subscription, 4, { status: "canceled" }),
    tell("customer.deleted", ids.customer, 5, { ...customer, ...owned, id: ids.customer, modified_at: getTime(5) }),
  ];
  const { db, config } = pair.floe.deps;
  const { organization_id } = pair.seller;
  const apply = async (order: readonly (typeof told)[number][]) => {
    await db.delete(polarObjects);
    await db.transaction(async (tx) => {
      for (const objects of order) await storeObjects(tx, config, organization_id, objects);
    });
    return readMirror();
  };
  const permute = <T>(some: readonly T[]): T[][] =>
    some.length === 0
      ? [[]]
      : some.flatMap((one, index) => permute(some.toSpliced(index, 1)).map((rest) => [one, ...rest]));
  const ordered = await apply(told);
  const rows = JSON.parse(ordered) as { kind: string; data: { status?: string }; deleted_at: string | null }[];
  const summary = rows.map(({ kind, data, deleted_at }) => [kind, data.status ?? null, deleted_at !== null]);
  expect(summary).toEqual([
    ["customer", null, true],
    ["order", "paid", false],
    ["product", null, false],
    ["subscription", "canceled", false],
  ]);
  const orders = permute(told);
  expect(orders).toHaveLength(720);
  for (const order of orders) expect(await apply(order)).toBe(ordered);
}, 600_000);
