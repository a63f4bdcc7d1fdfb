import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import Fastify from "fastify";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { expandType, getReadScope, readScopes } from "../../server/messaging/streams/rules.ts";
import { events } from "../../server/platform/db/tables.ts";
import { formatSseMessage, sendEvents } from "../../server/platform/http/sse.ts";
import { eventTypes } from "../../shared/event-types.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { openStream, type Stream } from "../support/sse.ts";

const path = "/v1/events/stream";
const dayMs = 86_400_000;
let floe: Floe;
let seller: Seller;
const streams: Stream[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe.close());
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await floe.request("GET", "/healthz");
});

type Hello = { cursor: string; types: string[]; omitted_types: string[]; organization_id: string; server_time: string };
type Envelope = { id: string; type: string; timestamp: string; api_version: string; data: { id: string } };

async function open(query = "", token = seller.key, headers: Record<string, string> = {}): Promise<Stream> {
  const stream = await openStream(`${floe.url}${path}${query}`, { authorization: `Bearer ${token}`, ...headers });
  streams.push(stream);
  return stream;
}
/** Past the greeting. */
async function opened(query = "", token = seller.key, headers: Record<string, string> = {}) {
  const stream = await open(query, token, headers);
  expect(stream.status).toBe(200);
  const message = await stream.next();
  expect(message.event).toBe("hello");
  return Object.assign(stream, { hello: message.data as Hello });
}
async function happen(
  type: string,
  data: object = { id: newId() },
  of = seller.organization_id,
  at = floe.clock.now(),
) {
  const id = newId();
  await floe.deps.db.insert(events).values({ id, organization_id: of, type, data, created_at: at });
  return id;
}
const refusalOf = async (query: string, token = seller.key, headers: Record<string, string> = {}) => {
  const answer = await floe.request("GET", `${path}${query}`, { token, headers });
  return { status: answer.status, json: answer.json as { error: string; detail: never } };
};

/** All bytes of a stream, for what must not be among them. */
async function openRaw(token: string): Promise<{ text(): string; close(): void }> {
  const request = get(`${floe.url}${path}`, { agent: false, headers: { authorization: `Bearer ${token}` } });
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.once("response", resolve).once("error", reject),
  );
  let text = "";
  response
    .setEncoding("utf8")
    .on("data", (part: string) => (text += part))
    .on("error", () => {});
  return { text: () => text, close: () => void request.destroy() };
}

describe("GET /v1/events/stream", () => {
  test("STR-01: says how it begins, then each event in the envelope of webhooks, at its place", async () => {
    const raw = await openRaw(seller.key);
    await expect.poll(() => /^retry: \d+\n/.exec(raw.text())?.[0]).toBeDefined();
    const retry = Number(/^retry: (\d+)\n/.exec(raw.text())?.[1]);
    expect(retry).toBeGreaterThanOrEqual(1000);
    expect(retry).toBeLessThanOrEqual(3000);
    raw.close();
    const stream = await opened();
    expect(stream.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    expect(stream.hello).toEqual({
      cursor: expect.stringMatching(/^\d+-0$/),
      organization_id: seller.organization_id,
      server_time: floe.clock.now().toISOString(),
      types: [...eventTypes],
      omitted_types: [],
      heartbeat_seconds: 15,
    });
    const id = await happen("order.paid", { id: "o1", note: "Ö\n\n😀" });
    expect(await stream.next()).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      event: "order.paid",
      data: {
        id,
        type: "order.paid",
        timestamp: floe.clock.now().toISOString(),
        api_version: "2027-01",
        data: { id: "o1", note: "Ö\n\n😀" },
      },
    });
  });

  test("STR-02: goes on after Last-Event-ID or cursor, misses nothing and sends nothing twice", async () => {
    const first = await opened();
    const ids = [await happen("order.paid"), await happen("order.created"), await happen("order.updated")];
    const messages = [await first.next(), await first.next(), await first.next()];
    expect(messages.map(({ data }) => (data as Envelope).id)).toEqual(ids);
    for (const [at, { id = "" }] of messages.entries())
      for (const stream of [
        await opened("?types=order.*", seller.key, { "last-event-id": id }),
        await opened(`?types=order.*&cursor=${id}`),
      ]) {
        const end = await happen("order.refunded");
        const rest = await stream.to(({ data }) => (data as Envelope).id === end);
        expect(rest.map(({ data }) => (data as Envelope).id).filter((one) => ids.includes(one))).toEqual(
          ids.slice(at + 1),
        );
        expect(new Set(rest.map(({ id: place }) => place)).size).toBe(rest.length);
        stream.close();
      }
    const both = await opened(`?cursor=${messages[0]?.id}`, seller.key, { "last-event-id": messages[2]?.id ?? "" });
    expect(both.hello.cursor).toBe(messages[2]?.id);
  });

  test("STR-02: since begins at a time of the last 90 days", async () => {
    const at = floe.clock.now();
    const old = await happen(
      "refund.created",
      { id: newId() },
      seller.organization_id,
      new Date(at.getTime() - 60_000),
    );
    const since = new Date(at.getTime() - 120_000).toISOString();
    const stream = await opened(`?types=refund.*&since=${since}`);
    expect((await stream.next()).data).toMatchObject({ id: old });
    const early = new Date(at.getTime() - 91 * dayMs).toISOString();
    expect(await refusalOf(`?since=${early}`)).toMatchObject({
      status: 422,
      json: { detail: [{ loc: ["query", "since"] }] },
    });
  });

  test("STR-02: says every 30 s where it is, also where nothing of it matched", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const stream = await opened("?types=refund.created");
      for (let count = 0; count < 3; count += 1) await happen("product.updated");
      const end = await happen("refund.created");
      const last = await stream.next();
      expect(last.data).toMatchObject({ id: end });
      await happen("product.updated");
      // Until the poller has been there.
      await new Promise((resolve) => setTimeout(resolve, 800));
      vi.advanceTimersByTime(30_000);
      const progress = await stream.next();
      expect(progress).toMatchObject({
        event: "cursor",
        data: { cursor: progress.id, lag_seconds: expect.any(Number) },
      });
      const place = (text = "") => BigInt(text.split("-")[0] ?? "");
      expect(place(progress.id)).toBeGreaterThan(place(last.id));
      const missed = await happen("refund.created");
      expect(
        (await (await opened("?types=refund.created", seller.key, { "last-event-id": progress.id ?? "" })).next()).data,
      ).toMatchObject({ id: missed });
    } finally {
      vi.useRealTimers();
    }
  });

  test("STR-02: its place moves on with what happens to others, so that a quiet stream can always go on", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const stream = await opened();
      const other = await floe.seller("quiet-neighbour");
      await happen("product.updated", undefined, other.organization_id);
      await new Promise((resolve) => setTimeout(resolve, 800));
      vi.advanceTimersByTime(30_000);
      const { id = "" } = await stream.next();
      const getPosition = (text: string) => BigInt(text.split("-")[0] ?? "");
      expect(getPosition(id)).toBeGreaterThan(getPosition(stream.hello.cursor));
    } finally {
      vi.useRealTimers();
    }
  });

  test("STR-03: a closed reader hears at most its own scope's types, of every type and every scope", async () => {
    const keys = await Promise.all(readScopes.map((scope) => floe.keyOf(seller, [scope])));
    const readers = await Promise.all(keys.map((key) => openRaw(key)));
    for (const reader of readers) await expect.poll(() => reader.text()).toContain("event: hello");
    const marks = new Map(eventTypes.map((type) => [type, `mark-${newId()}`]));
    for (const [type, mark] of marks) await happen(type, { id: newId(), mark });
    for (const [at, reader] of readers.entries()) {
      const own = eventTypes.filter((type) => getReadScope(type) === readScopes[at]);
      await expect.poll(() => reader.text()).toContain(marks.get(own.at(-1) ?? "order.paid"));
      await new Promise((resolve) => setTimeout(resolve, 50));
      const heard = eventTypes.filter((type) => reader.text().includes(marks.get(type) ?? ""));
      expect([readScopes[at], heard]).toEqual([readScopes[at], own]);
      reader.close();
    }
  });

  test.each(readScopes)(
    "STR-03: %s names what it may not read, and is refused what it asks for by name",
    async (scope) => {
      const key = await floe.keyOf(seller, [scope]);
      const { hello } = await opened("", key);
      expect([hello.types, hello.omitted_types]).toEqual([
        eventTypes.filter((type) => getReadScope(type) === scope),
        eventTypes.filter((type) => getReadScope(type) !== scope),
      ]);
      const foreign = eventTypes.find((type) => getReadScope(type) !== scope) ?? "order.paid";
      const { status, json } = await refusalOf(`?types=${foreign}`, key);
      expect([status, json.error, json.detail]).toEqual([
        403,
        "insufficient_scope",
        `This needs the scope ${getReadScope(foreign)}.`,
      ]);
    },
  );

  test("STR-03: nobody else sees a byte: no scope, no key, an unknown key, another organization", async () => {
    const other = await floe.seller("other");
    const foreign = await openRaw(other.key);
    await expect.poll(() => foreign.text()).toContain("event: hello");
    const mark = `mark-${newId()}`;
    await happen("order.paid", { id: newId(), mark });
    const own = await happen("order.paid", { id: newId() }, other.organization_id);
    await expect.poll(() => foreign.text()).toContain(own);
    expect(foreign.text()).not.toContain(mark);
    foreign.close();
    expect((await refusalOf("", await floe.keyOf(seller, ["webhooks:read"]))).status).toBe(403);
    expect((await floe.request("GET", path)).status).toBe(401);
    expect((await refusalOf("", "made up")).status).toBe(401);
    expect((await refusalOf(`?organization_id=${other.organization_id}`)).status).toBe(404);
    expect((await refusalOf(`?organization_id=${other.organization_id}`, seller.session)).status).toBe(404);
    const named = await opened(`?organization_id=${seller.organization_id}`, seller.session);
    expect(named.hello.organization_id).toBe(seller.organization_id);
  });

  test("STR-03: a customer hears what happened to what of theirs, and no data; another customer is a 404", async () => {
    const { id: customer_id } = await seller.client.customers.create({
      body: { email: `${newId()}@example.com`, external_id: `user-${newId()}` },
    });
    const { token } = await seller.client.customerSessions.create({ body: { customer_id } });
    const raw = await openRaw(token);
    await expect.poll(() => raw.text()).toContain("event: hello");
    const mark = `mark-${newId()}`;
    for (const type of eventTypes) await happen(type, { id: newId(), mark, customer_id: newId() });
    const [order, last] = [newId(), newId()];
    const seen = await happen("order.paid", { id: order, mark, customer_id, customer: { email: mark } });
    await happen("customer.updated", { id: customer_id, mark, email: mark });
    await happen("subscription.updated", { id: last, mark, customer_id });
    await expect.poll(() => raw.text()).toContain(last);
    expect(raw.text()).not.toContain(mark);
    const said = raw
      .text()
      .split("\n")
      .flatMap((line) => (line.startsWith('data: {"id') ? [JSON.parse(line.slice(6))] : []));
    expect(said).toEqual([
      { id: seen, type: "order.paid", timestamp: floe.clock.now().toISOString(), object_id: order },
      expect.objectContaining({ type: "customer.updated", object_id: customer_id }),
      expect.objectContaining({ type: "subscription.updated", object_id: last }),
    ]);
    raw.close();
    expect((await refusalOf(`?customer_id=${newId()}`, token)).status).toBe(404);
    expect((await refusalOf("?external_customer_id=unknown", token)).status).toBe(404);
    expect((await open(`?customer_id=${customer_id}`, token)).status).toBe(200);
  });

  test("STR-03: secret tokens are shown with webhooks:write alone, and each reader gets its own words of one event", async () => {
    const weak = await floe.keyOf(seller, ["checkouts:read", "orders:read"]);
    const old = { "user-agent": "speakeasy-sdk/typescript 0.38.1 2.727.9 0.1.0 @polar-sh/sdk" };
    const [all, some, older] = [
      await opened("?types=checkout.created,order.paid"),
      await opened("", weak),
      await opened("?types=checkout.created,order.paid", seller.key, old),
    ];
    const { id: product } = await seller.client.products.create({
      body: { name: "Map", prices: [{ amount_type: "fixed", price_amount: 900 }] },
    });
    const { client_secret } = await seller.client.checkouts.create({ body: { products: [product] } });
    await happen("order.paid", { id: "words", billing_reason: "subscription_meter_cycle" });
    const textOf = async (stream: Stream) =>
      JSON.stringify(await stream.to(({ data }) => (data as Envelope).data.id === "words"));
    const [shown, masked, legacy] = [await textOf(all), await textOf(some), await textOf(older)];
    expect([shown, masked, legacy].map((text) => text.includes(client_secret))).toEqual([true, false, true]);
    expect([shown, masked, legacy].map((text) => text.includes("subscription_meter_cycle"))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("STR-04: filters by customer, external id, product and subscription, all at once", async () => {
    const [customer, product, subscription] = [newId(), newId(), newId()];
    const external = `user-${newId()}`;
    const known = await seller.client.customers.create({
      body: { email: `${newId()}@example.com`, external_id: `known-${external}` },
    });
    const of = {
      customer: await opened(`?customer_id=${customer}`),
      external: await opened(`?external_customer_id=${external}`),
      known: await opened(`?external_customer_id=known-${external}`),
      product: await opened(`?product_id=${product}`),
    };
    const narrow = await opened(`?subscription_id=${subscription}&product_id=${product}&types=order.*`);
    const rows: [string, object, (keyof typeof of)[]][] = [
      ["customer.created", { id: customer, external_id: external }, ["customer", "external"]],
      ["order.paid", { id: newId(), customer_id: customer, product_id: product }, ["customer", "external", "product"]],
      ["refund.created", { id: newId(), customer_id: known.id }, ["known"]],
      ["product.updated", { id: product }, ["product"]],
      ["checkout.created", { id: newId(), products: [{ id: product }], customer_id: null }, ["product"]],
      ["subscription.active", { id: subscription, product_id: newId(), customer_id: newId() }, []],
      ["order.created", { id: newId(), subscription_id: subscription, product_id: newId() }, []],
      ["order.paid", { id: customer, customer_id: newId(), product_id: newId() }, []],
    ];
    const expected = new Map(Object.keys(of).map((name) => [name, [] as string[]]));
    for (const [type, data, readers] of rows) {
      const id = await happen(type, data);
      for (const reader of readers) expected.get(reader)?.push(id);
    }
    const last = await happen("order.paid", {
      id: newId(),
      customer_id: customer,
      product_id: product,
      subscription_id: subscription,
    });
    const lastKnown = await happen("order.paid", { id: newId(), customer_id: known.id });
    for (const [name, stream] of Object.entries(of)) {
      const end = name === "known" ? lastKnown : last;
      const ids = (await stream.to(({ data }) => (data as Envelope).id === end)).map(
        ({ data }) => (data as Envelope).id,
      );
      expect([name, ids.slice(0, -1)]).toEqual([name, expected.get(name)]);
    }
    expect((await narrow.next()).data).toMatchObject({ id: last });
  });

  test.each([
    ["?types=order.paid,foo", ["query", "types", 1]],
    ["?types=order.paid&types=order.nothing", ["query", "types", 1]],
    ["?types=nothing.*", ["query", "types", 0]],
    ["?customer_id=x", ["query", "customer_id"]],
    ["?product_id=1", ["query", "product_id"]],
    ["?subscription_id=", ["query", "subscription_id"]],
    ["?cursor=hello", ["query", "cursor"]],
    ["?since=yesterday", ["query", "since"]],
  ])("refuses %s with 422 and its place", async (query, loc) => {
    const { status, json } = await refusalOf(query);
    expect([status, (json.detail as { loc: unknown }[])[0]?.loc]).toEqual([422, loc]);
  });

  test("refuses a malformed Last-Event-ID with 422 and its place", async () => {
    const { status, json } = await refusalOf("", seller.key, { "last-event-id": "hello" });
    expect([status, json.detail]).toMatchObject([422, [{ loc: ["header", "last-event-id"] }]]);
  });

  test("STR-05: a cursor that is not available is answered with a reset and a new cursor, and the stream is live", async () => {
    const other = await floe.seller("resets");
    const happenThere = (at?: Date) => happen("order.paid", { id: newId() }, other.organization_id, at);
    const now = floe.clock.now().getTime();
    const first = await opened("", other.key);
    await happenThere(new Date(now - 91 * dayMs));
    await happenThere();
    const [old = { id: "" }, newer = { id: "" }] = [await first.next(), await first.next()];
    const reasons: [string | undefined, string][] = [
      ["99999999999-1", "cursor_unknown"],
      ["99999999999-0", "cursor_unknown"],
      [String(old.id).replace(/\d+$/, "999999999"), "cursor_unknown"],
      ["1-0", "cursor_expired"],
    ];
    for (const [cursor, reason] of reasons) {
      const stream = await opened("", other.key, { "last-event-id": cursor ?? "" });
      const reset = await stream.next();
      expect(reset).toEqual({ id: stream.hello.cursor, event: "reset", data: { reason, cursor: stream.hello.cursor } });
      const id = await happenThere();
      expect((await stream.next()).data).toMatchObject({ id });
      stream.close();
    }
    const { id: after } = await happenThere().then(async () => first.next());
    const goingOn = await opened("", other.key, { "last-event-id": newer.id ?? "" });
    expect((await goingOn.to(({ id }) => id === after)).every(({ event }) => event === "order.paid")).toBe(true);
  });

  test.each(["key", "role", "session"])(
    "STR-06: ends within 15 s once its %s is lost, and sends nothing after",
    async (what) => {
      vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
      try {
        const { token, end } = await credentialOf(what);
        const [going, staying] = [await opened("", token), await opened()];
        await end();
        vi.advanceTimersByTime(10_000);
        await expect(going.ended).resolves.toBeUndefined();
        await happen("order.paid");
        await expect(going.next()).rejects.toThrow("ended");
        expect((await staying.next()).event).toBe("order.paid");
      } finally {
        vi.useRealTimers();
      }
    },
  );

  test("STR-06: looking again who reads is no further use of a key with a limit", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const body = { name: newId(), organizationId: seller.organization_id, remaining: 2 };
      const made = await floe.request("POST", "/api/auth/api-key/create", { token: seller.session, body });
      const { key } = made.json as { key: string };
      const stream = await opened("", key);
      for (let count = 0; count < 4; count += 1) {
        vi.advanceTimersByTime(10_000);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await happen("order.paid");
      expect((await stream.to(({ event }) => event === "order.paid")).length).toBeGreaterThan(0);
      const statuses = [await floe.request("GET", "/v1/products/", { token: key })];
      statuses.push(await floe.request("GET", "/v1/products/", { token: key }));
      expect(statuses.map(({ status }) => status)).toEqual([200, 401]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("STR-07: says to connect again before the server stops", async () => {
    const short = await start({ listen: true });
    const owner = await short.seller();
    const stream = await openStream(`${short.url}${path}`, { authorization: `Bearer ${owner.key}` });
    await stream.next();
    const begun = performance.now();
    const closing = short.close();
    expect((await stream.next()).event).toBe("reconnect");
    await stream.ended;
    expect(performance.now() - begun).toBeLessThan(1000);
    await closing;
  });

  test("STR-07: a client that does not read does not hold up the end of the server", async () => {
    const short = await start({ listen: true });
    const owner = await short.seller();
    const socket = connect(Number(new URL(short.url).port), "127.0.0.1");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`);
    await new Promise((resolve) => socket.once("data", resolve));
    socket.pause();
    const rows = Array.from({ length: 900 }, () => ({
      id: newId(),
      organization_id: owner.organization_id,
      type: "order.paid",
      data: { id: newId(), text: "x".repeat(20_000) },
      created_at: short.clock.now(),
    }));
    await short.deps.db.insert(events).values(rows);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const begun = performance.now();
    await short.close();
    expect(performance.now() - begun).toBeLessThan(8000);
    socket.destroy();
  });

  test("STR-08: five streams of a key, ten of a person; one more is refused before any byte", async () => {
    const key = await floe.keyOf(seller, ["orders:read"]);
    for (const [token, max] of [
      [key, 5],
      [seller.session, 10],
    ] as const) {
      const first = await opened("", token);
      for (let count = 1; count < max; count += 1) await opened("", token);
      const refused = await floe.request("GET", path, { token });
      expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "10"]);
      expect(refused.text).not.toContain("hello");
      first.close();
      await expect.poll(async () => (await open("", token)).status, { timeout: 5000, interval: 300 }).toBe(200);
      for (const stream of streams.splice(0)) stream.close();
    }
  });
});

describe("back-pressure", () => {
  /** A server with nothing but one stream, which sends much and waits for no one. */
  async function serve(stallMs: number) {
    const app = Fastify();
    const sent = { messages: 0, isOver: false };
    app.get("/", (request, reply) =>
      sendEvents({ request, reply, log: floe.deps.log, stallMs }, async (send, gone) => {
        const data = "x".repeat(10_000);
        while (!gone.aborted) {
          await send(formatSseMessage(data));
          sent.messages += 1;
        }
        sent.isOver = true;
      }),
    );
    const address = await app.listen({ host: "127.0.0.1", port: 0 });
    return { app, port: Number(new URL(address).port), sent };
  }

  test("STR-09: a client that does not read is disconnected, and no more than the connection holds is buffered", async () => {
    const { app, port, sent } = await serve(600);
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    socket.pause();
    await expect.poll(() => sent.messages).toBeGreaterThan(10);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const held = sent.messages;
    expect(sent.isOver).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(sent.messages).toBe(held);
    await expect.poll(() => sent.isOver, { timeout: 5000 }).toBe(true);
    expect(sent.messages).toBeLessThanOrEqual(held + 1);
    socket.destroy();
    await app.close();
  });

  test("STR-09: a client that reads slowly stays, and gets the rest", async () => {
    const { app, port, sent } = await serve(60_000);
    const response = await new Promise<IncomingMessage>((resolve) => get({ port, agent: false }, resolve));
    for (let count = 0; count < 5; count += 1) {
      response.pause();
      await new Promise((resolve) => setTimeout(resolve, 50));
      const held = sent.messages;
      response.resume();
      await expect.poll(() => sent.messages).toBeGreaterThan(held);
    }
    expect(sent.isOver).toBe(false);
    response.destroy();
    await app.close();
  });
});

async function credentialOf(what: string): Promise<{ token: string; end(): Promise<void> }> {
  if (what === "key") {
    const made = await floe.request("POST", "/api/auth/api-key/create", {
      token: seller.session,
      body: { name: newId(), organizationId: seller.organization_id },
    });
    const { id: keyId, key } = made.json as { id: string; key: string };
    const end = async () => {
      const deletion = { token: seller.session, body: { keyId } };
      expect((await floe.request("POST", "/api/auth/api-key/delete", deletion)).status).toBe(200);
    };
    return { token: key, end };
  }
  if (what === "session") {
    const { token } = await seller.client.customerSessions.create({
      body: { customer_id: (await seller.client.customers.create({ body: { email: `${newId()}@example.com` } })).id },
    });
    const end = async () => void (await floe.deps.db.execute("delete from customer_sessions"));
    return { token, end };
  }
  const person = await floe.seller(`person-${newId()}`);
  const at = `"userId" = '${person.user_id}' and "organizationId" = '${seller.organization_id}'`;
  await floe.deps.db.execute(
    `insert into member (id, "userId", "organizationId", role, "createdAt")
     values ('${newId()}', '${person.user_id}', '${seller.organization_id}', 'admin', now())`,
  );
  await floe.deps.db.execute(
    `update session set "activeOrganizationId" = '${seller.organization_id}' where "userId" = '${person.user_id}'`,
  );
  return {
    token: person.session,
    end: async () => void (await floe.deps.db.execute(`delete from member where ${at}`)),
  };
}

test("a name of types is a type or a kind with a star", () => {
  expect(expandType("order.*")).toEqual(["order.created", "order.updated", "order.paid", "order.refunded"]);
  expect(expandType("benefit.*")).toEqual(["benefit.created", "benefit.updated"]);
  for (const name of ["*", "order", "order.", ".*", "order.*.*", "order.made"])
    expect(expandType(name)).toBeUndefined();
});
