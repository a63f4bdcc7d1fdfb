import { createHmac } from "node:crypto";
import { asc, eq } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { incomingEvents } from "../../server/hosted/events/tables.ts";
import { polarObjects } from "../../server/hosted/mirror/tables.ts";
import { writeRawBody } from "../../server/messaging/webhooks/rules.ts";
import { openTokens } from "../../server/platform/crypto/secrets.ts";
import { events } from "../../server/platform/db/tables.ts";
import { getVersionedProfile } from "../../server/platform/http/profiles.ts";
import { eventTypes, payloads } from "../../shared/events.ts";
import { answerWith, type HostedPair, startHosted } from "../support/hosted.ts";
import { newId } from "../support/ids.ts";
import { wireValue } from "../support/samples.ts";

/** Polar's events: taken once, applied in any order, and what is answered from them. */

const secret = "polar_whs_the-secret-of-the-tests";
const older = `whsec_${Buffer.from("an older secret of the tests").toString("base64")}`;
let pair: HostedPair;
beforeAll(async () => {
  pair = await startHosted({ settings: { POLAR_WEBHOOK_SECRET: `${secret},${older}` } });
});
afterAll(() => pair.close());
beforeEach(async () => {
  pair.proxy.setFault(undefined);
  pair.proxy.recorded.length = 0;
  await pair.floe.deps.db.delete(incomingEvents);
  await pair.floe.deps.db.delete(polarObjects);
});

type Told = { id: string; body: string };
type Sent = Told & { key?: Buffer; timestamp?: string; path?: string; headers?: Record<string, string> };
const own = "/v1/integrations/polar/webhook";
const deliver = ({ id, body, key = Buffer.from(secret), path = own, headers = {}, ...sent }: Sent) => {
  const timestamp = sent.timestamp ?? String(Math.floor(pair.floe.clock.now().getTime() / 1000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return pair.floe.request("POST", path, {
    body,
    headers: { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}`, ...headers },
  });
};
const write = (type: string, data: object, at = pair.floe.clock.now()) =>
  JSON.stringify({ type, timestamp: at.toISOString(), api_version: "2026-10", data });
const readMirror = async () => {
  const rows = await pair.floe.deps.db
    .select()
    .from(polarObjects)
    .orderBy(asc(polarObjects.kind), asc(polarObjects.id));
  const { config } = pair.floe.deps;
  return openTokens(config.secrets, "mirror-tokens", pair.seller.organization_id, JSON.stringify(rows));
};
const readStates = async () => {
  const rows = await pair.floe.deps.db.select().from(incomingEvents).orderBy(asc(incomingEvents.webhook_id));
  return rows.map(({ state, duplicates }) => [state, duplicates]);
};
const listTold = async (): Promise<Told[]> => {
  const { db, config } = pair.polar.deps;
  const mine = eq(events.organization_id, pair.polarSeller.organization_id);
  const rows = await db.select().from(events).where(mine).orderBy(asc(events.seq));
  return rows.map(({ id, type, created_at, data, organization_id }) => {
    const open = openTokens(config.secrets, "event-tokens", organization_id, JSON.stringify(data));
    return { id, body: writeRawBody(getVersionedProfile("2026-10"), { type, created_at, data: JSON.parse(open) }) };
  });
};

describe("a delivery", () => {
  const body = () => write("customer.deleted", { id: newId() });
  const say = ({ status, json }: { status: number; json: unknown }) => [status, json];

  test("is refused in five texts, in their order, in the shape of each path", async () => {
    const at = Math.floor(pair.floe.clock.now().getTime() / 1000);
    const cases: [Partial<Sent>, number, string][] = [
      [{ headers: { "webhook-signature": "" }, timestamp: "abc" }, 400, "Missing required headers"],
      [{ timestamp: "12abc", key: Buffer.from("x") }, 400, "Invalid Signature Headers"],
      [{ timestamp: String(at - 301), key: Buffer.from("x") }, 403, "Message timestamp too old"],
      [{ timestamp: String(at + 301), key: Buffer.from("x") }, 403, "Message timestamp too new"],
      [{ key: Buffer.from("x") }, 403, "No matching signature found"],
    ];
    for (const [change, status, detail] of cases) {
      const sent = { id: "msg_refused", body: body(), ...change };
      expect(say(await deliver(sent))).toEqual([status, { error: "WebhookVerificationError", detail }]);
      const code = detail.toUpperCase().replaceAll(" ", "_");
      expect(say(await deliver({ ...sent, path: "/api/auth/polar/webhooks" }))).toEqual([
        400,
        { code, message: detail },
      ]);
    }
    expect(await readStates()).toEqual([]);
    for (const broken of ["not json", "[]", "{}", '{"type":"a"}', '{"data":{},"type":1}', "null"]) {
      const answer = await deliver({ id: "msg_broken", body: broken });
      expect([answer.status, answer.json]).toMatchObject([400, { error: "SDKValidationError" }]);
    }
    expect((await deliver({ id: "m", body: "x".repeat(1024 * 1024 + 1) })).status).toBe(413);
    expect((await pair.floe.request("GET", own)).status).toBe(404);
    expect((await deliver({ id: "m", body: body(), headers: { "content-type": "text/plain" } })).status).toBe(202);
  });

  test("is taken under each secret and both derivations, and 300 seconds early or late", async () => {
    const at = Math.floor(pair.floe.clock.now().getTime() / 1000);
    const keys = [Buffer.from(secret), Buffer.from(older), Buffer.from(older.slice(6), "base64")];
    for (const [index, key] of keys.entries())
      expect(say(await deliver({ id: `key_${index}`, body: body(), key }))).toEqual([202, { received: true }]);
    for (const timestamp of [at - 300, at + 300])
      expect((await deliver({ id: `at_${timestamp}`, body: body(), timestamp: String(timestamp) })).status).toBe(202);
    const rows = await pair.floe.deps.db.select().from(incomingEvents);
    expect(rows.map(({ secret_index }) => secret_index).sort()).toEqual([0, 0, 0, 1, 1]);
    const accounts = await deliver({ id: "account", body: body(), path: "/api/auth/polar/webhooks" });
    expect(say(accounts)).toEqual([200, { received: true }]);
  });

  test("a hundred at once are one event, and another body under its id changes nothing", async () => {
    const id = newId();
    const first = write("customer.updated", { id, name: "first" });
    const answers = await Promise.all(Array.from({ length: 100 }, () => deliver({ id: "msg_once", body: first })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const other = write("customer.updated", { id, name: "second" });
    expect((await deliver({ id: "msg_once", body: other })).status).toBe(202);
    const [row, ...more] = await pair.floe.deps.db.select().from(incomingEvents);
    expect([row?.duplicates, row?.payload?.includes("first"), more]).toEqual([100, true, []]);
    expect(pair.floe.logged.join("\n")).toContain("came again with another body");
  });

  test("strangers are limited by their address, and Polar is not", async () => {
    const good = body();
    for (let count = 0; count < 620; count++) expect((await deliver({ id: "msg_many", body: good })).status).toBe(202);
    const statuses: number[] = [];
    for (let count = 0; count < 601; count++)
      statuses.push((await deliver({ id: "m", body: "{}", key: Buffer.from("x") })).status);
    expect([statuses[0], statuses.at(-1)]).toEqual([403, 429]);
    pair.floe.clock.advance(61_000);
    expect((await deliver({ id: "msg_later", body: body() })).status).toBe(202);
  });

  test("without a secret nobody is heard", async () => {
    const none = await startHosted();
    const sent = { body: body(), headers: { "webhook-id": "m" } };
    expect((await none.floe.request("POST", own, sent)).status).toBe(404);
    expect((await none.floe.request("POST", "/api/auth/polar/webhooks", sent)).status).toBe(500);
    await none.close();
  });
});

describe("applied", () => {
  test("every type is kept once, and told to the readers of the outbox, and not to endpoints", async () => {
    expect(eventTypes).toHaveLength(42);
    for (const [index, type] of eventTypes.entries()) {
      const shape = type === "subscription.migrated" ? payloads["subscription.updated"] : payloads[type];
      const [value] = fc.sample(wireValue(shape), { numRuns: 1, seed: 7 + index });
      const data = value as Record<string, unknown>;
      if ("organization_id" in data) data.organization_id = pair.polarSeller.organization_id;
      if (type === "organization.updated") data.id = pair.polarSeller.organization_id;
      expect((await deliver({ id: `all_${String(index).padStart(2, "0")}`, body: write(type, data) })).status).toBe(
        202,
      );
    }
    await pair.floe.runJobs();
    const rows = await pair.floe.deps.db.select().from(incomingEvents);
    expect(
      rows.filter(({ state }) => state !== "applied").map(({ type, state, error }) => [type, state, error]),
    ).toEqual([]);
    const told = await pair.floe.deps.db
      .select({ type: events.type, dispatched_at: events.dispatched_at })
      .from(events)
      .where(eq(events.organization_id, pair.seller.organization_id));
    expect(new Set(told.map(({ type }) => type))).toEqual(new Set(eventTypes));
    expect(told.every(({ dispatched_at }) => dispatched_at !== null)).toBe(true);
    expect(await readMirror()).not.toBe("[]");
  });

  test("what is unknown, of another organization or of a wrong shape is taken, and does not stop anything", async () => {
    const product = await pair.polarSeller.client.products.create({
      body: { name: "Read instead", prices: [{ amount_type: "free" }] },
    });
    await deliver({ id: "a", body: write("moon.risen", { id: newId() }) });
    await deliver({ id: "b", body: write("customer.updated", { id: newId(), organization_id: newId() }) });
    await deliver({
      id: "c",
      body: write("product.updated", { id: product.id, name: 12, secret: "polar_oat_hidden" }),
    });
    await pair.floe.runJobs();
    expect((await readStates()).map(([state]) => state)).toEqual(["ignored", "ignored", "invalid"]);
    const [kept] = await pair.floe.deps.db.select().from(polarObjects).where(eq(polarObjects.id, product.id));
    expect(kept).toMatchObject({ kind: "product", via: "read", data: { name: "Read instead" } });
    expect(pair.floe.logged.join("\n")).not.toContain("polar_oat_hidden");
  });

  test("a sale ends in the same mirror, whatever the order and however often each event comes", async () => {
    const { client } = pair.polarSeller;
    const product = await client.products.create({
      body: { name: "Monthly", recurring_interval: "month", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const note = await client.benefits.create({
      body: { type: "custom", description: "Note", properties: { note: "Hi" } },
    });
    await client.products.setBenefits({ params: { id: product.id }, body: { benefits: [note.id] } });
    const checkout = await client.checkouts.create({ body: { products: [product.id] } });
    await client.checkoutClient.confirm({
      params: { client_secret: checkout.client_secret },
      body: {
        customer_email: "sale@example.com",
        customer_billing_address: { country: "FR" },
        confirmation_token_id: "pm_card_visa",
      },
    });
    await pair.polar.runJobs();
    const [order] = (await client.orders.list({ query: { checkout_id: checkout.id } })).items;
    pair.polar.clock.advance(1000);
    await client.refunds.create({
      body: { order_id: order?.id ?? "", amount: 300, reason: "customer_request", revoke_benefits: false },
    });
    pair.polar.clock.advance(1000);
    const [subscription] = (await client.subscriptions.list({ query: { product_id: [product.id] } })).items;
    await client.subscriptions.update({ params: { id: subscription?.id ?? "" }, body: { cancel_at_period_end: true } });
    await pair.polar.runJobs();
    const told = await listTold();
    expect(told.length).toBeGreaterThan(15);
    const tell = async (some: readonly Told[]) => {
      await pair.floe.deps.db.delete(incomingEvents);
      await pair.floe.deps.db.delete(polarObjects);
      for (const one of some) expect((await deliver(one)).status).toBe(202);
      await pair.floe.runJobs();
      return readMirror();
    };
    const ordered = await tell(told);
    const found = await pair.floe.deps.db.select().from(polarObjects);
    const kinds = new Set(found.map(({ kind }) => kind));
    for (const kind of ["checkout", "customer", "customer_state", "order", "product", "refund", "subscription"])
      expect([...kinds]).toContain(kind);
    // A copy of the database opens no checkout.
    expect(ordered).toContain(checkout.client_secret);
    expect(JSON.stringify(found)).not.toContain(checkout.client_secret);
    const stored = found.find(({ kind, id }) => kind === "subscription" && id === subscription?.id);
    expect(stored?.data).toMatchObject({ cancel_at_period_end: true });
    const orders = fc.sample(fc.shuffledSubarray([...told, ...told.slice(0, 9)], { minLength: told.length + 9 }), {
      numRuns: 4,
      seed: 44,
    });
    for (const order of [told.toReversed(), ...orders]) expect(await tell(order)).toBe(ordered);

    // The state is answered from the mirror, as Polar itself would answer it.
    const { customer_id = "" } = order ?? {};
    const read = (query = "") =>
      pair.floe.request("GET", `/v1/customers/${customer_id}/state${query}`, { token: pair.seller.key });
    pair.proxy.recorded.length = 0;
    const local = await read();
    const theirs = await pair.polar.request("GET", `/v1/customers/${customer_id}/state`, {
      token: pair.polarSeller.key,
    });
    expect([local.status, local.headers["floe-as-of"] !== undefined]).toEqual([200, true]);
    expect(local.json).toMatchObject({ id: customer_id });
    expect(Object.keys(local.json as object).sort()).toEqual(Object.keys(theirs.json as object).sort());
    expect((await read("?fresh=true")).status).toBe(200);
    expect(pair.proxy.recorded.at(-1)?.url).toBe(`/v1/customers/${customer_id}/state?`.replace(/\?$/, ""));
    pair.proxy.setFault(answerWith(503, "{}"));
    const stale = await read("?fresh=true");
    expect([stale.status, stale.headers["floe-stale"]]).toEqual([200, "true"]);
    expect((await pair.floe.request("GET", `/v1/customers/${newId()}/state`, { token: pair.seller.key })).status).toBe(
      503,
    );
    expect(
      (await pair.floe.request("GET", `/v1/customers/${customer_id}/state`, { token: pair.outside.key })).status,
    ).toBe(404);
  }, 60_000);

  test("a state is answered without asking Polar until a part of it is told later, or the customer is deleted", async () => {
    const { organization_id } = pair.polarSeller;
    const at = (second: number) => new Date(pair.floe.clock.now().getTime() - 60_000 + second * 1000);
    const sample = (type: keyof typeof payloads) => fc.sample(wireValue(payloads[type]), { numRuns: 1, seed: 5 })[0];
    const tell = async (type: keyof typeof payloads, second: number, more: object) => {
      const time = at(second).toISOString();
      const data = { ...(sample(type) as object), organization_id, created_at: time, modified_at: time, ...more };
      expect((await deliver({ id: `${type} ${newId()}`, body: write(type, data, at(second)) })).status).toBe(202);
      await pair.floe.runJobs();
    };
    pair.proxy.setFault(answerWith(503, "{}"));
    const read = async (id: string) => {
      pair.proxy.recorded.length = 0;
      const { status, headers } = await pair.floe.request("GET", `/v1/customers/${id}/state`, {
        token: pair.seller.key,
      });
      const isStale = headers["floe-stale"] === "true";
      // After several failures in a row, nothing is asked for a while.
      if (!isStale) expect(pair.proxy.recorded).toEqual([]);
      return [status, headers["floe-as-of"], isStale];
    };
    const [first, second] = [newId(), newId()];
    for (const id of [first, second]) await tell("customer.state_changed", 10, { id });
    // Of another customer, and of the same one before.
    await tell("subscription.updated", 20, { id: newId(), customer_id: newId() });
    await tell("subscription.updated", 10, { id: newId(), customer_id: first });
    const told = at(10).toISOString();
    expect(await read(first)).toEqual([200, told, false]);
    await tell("subscription.updated", 20, { id: newId(), customer_id: first });
    expect(await read(first)).toEqual([200, told, true]);
    expect(await read(second)).toEqual([200, told, false]);
    await tell("customer.deleted", 5, { id: second });
    expect(await read(second)).toEqual([200, told, true]);
  });

  test("an older event changes nothing, and what is deleted stays so", async () => {
    const id = newId();
    const customer = fc.sample(wireValue(payloads["customer.updated"]), { numRuns: 1, seed: 3 })[0] as object;
    const at = (second: number) => new Date(Date.UTC(2026, 5, 1, 0, 0, second)).toISOString();
    const tell = (type: string, webhook_id: string, second: number, name: string) =>
      deliver({
        id: webhook_id,
        body: write(type, {
          ...customer,
          ...{
            id,
            name,
            organization_id: pair.polarSeller.organization_id,
            created_at: at(0),
            modified_at: at(second),
          },
        }),
      });
    await tell("customer.deleted", "1", 9, "gone");
    await pair.floe.runJobs();
    await tell("customer.updated", "2", 5, "before");
    await tell("customer.created", "3", 0, "first");
    await pair.floe.runJobs();
    const [row] = await pair.floe.deps.db.select().from(polarObjects).where(eq(polarObjects.id, id));
    expect([row?.deleted_at !== null, row?.data]).toMatchObject([true, { name: "gone" }]);
    expect((await readStates()).map(([state]) => state)).toEqual(["applied", "stale", "stale"]);
  });
});
