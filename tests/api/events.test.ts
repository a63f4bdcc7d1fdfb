import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
let other: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
  other = await floe.seller("bob");
});
afterAll(() => floe?.close());

type Line = { id: string; external_id: string | null; status: string; is_late: boolean; period: null };
type Answer = { inserted: number; duplicates: number; events?: Line[]; detail: { loc: unknown[]; type: string }[] };
const send = async (events: unknown, who = seller, headers: Record<string, string> = {}) => {
  const { status, json } = await floe.request("POST", "/v1/events/ingest", {
    token: who.key,
    body: { events },
    headers,
  });
  return { status, json: json as Answer };
};
const prefer = { prefer: "return=representation" };
const statuses = async (events: unknown[]) =>
  (await send(events, seller, prefer)).json.events?.map(({ status }) => status);
const faultsOf = ({ json }: { json: Answer }) => json.detail.map(({ loc }) => loc.join("."));

let number = 0;
/** A customer of their own for each test, and the name of events that no other test has. */
async function open(meters: object[] = [{ aggregation: { func: "sum", property: "n" } }]) {
  number += 1;
  const name = `use-${number}`;
  const external_id = `user-${number}`;
  const customer = await seller.client.customers.create({ body: { email: `${name}@example.com`, external_id } });
  const made: { id: string }[] = [];
  for (const over of meters)
    made.push(
      await seller.client.meters.create({
        body: {
          name,
          filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
          aggregation: { func: "count" },
          ...over,
        },
      }),
    );
  await floe.runJobs();
  const event = (n: unknown, over: object = {}) => ({ name, customer_id: customer.id, metadata: { n }, ...over });
  /** What the customer has used, meter by meter. */
  const used = async (customer_id = customer.id) => {
    const { items } = await seller.client.customerMeters.list({ query: { customer_id, limit: 100 } });
    return made.map(({ id }) => items.find(({ meter_id }) => meter_id === id)?.consumed_units);
  };
  return { name, external_id, customer, meters: made, event, used };
}

describe("a batch", () => {
  test("MTR-03: is counted once and at once, whatever of it came before", async () => {
    const { event, used, customer } = await open();
    const some = [event(1, { external_id: "a-1" }), event(2, { external_id: "a-2" }), event(4)];
    expect((await send(some)).json).toEqual({ inserted: 3, duplicates: 0 });
    expect(await used()).toEqual([7]);
    expect((await send([...some.slice(0, 2), event(8, { external_id: "a-3" })])).json).toEqual({
      inserted: 1,
      duplicates: 2,
    });
    expect(await used()).toEqual([15]);
    const { items } = await seller.client.customerMeters.list({ query: { customer_id: customer.id } });
    expect(items[0]).toMatchObject({ credited_units: 0, balance: -15, customer: { id: customer.id } });
    expect((await seller.client.customers.get({ params: { id: customer.id } })).first_user_event_at).not.toBeNull();
  });

  test("says of each event what became of it, where that is asked for", async () => {
    const { event, used } = await open();
    const first = event(1, { external_id: "b-1", timestamp: "2026-01-01T00:00:00Z" });
    expect(
      await statuses([first, first, { ...first, metadata: { n: 2 } }, event(1, { name: "nothing counts me" })]),
    ).toEqual(["counted", "duplicate", "conflict", "no_meter"]);
    const { json } = await send(
      [first, event(1, { customer_id: undefined, external_customer_id: "nobody yet" })],
      seller,
      prefer,
    );
    expect(json.events).toMatchObject([
      { status: "duplicate", external_id: "b-1", period: null },
      { status: "no_customer", external_id: null, period: null },
    ]);
    const [sent] = json.events ?? [];
    expect((await seller.client.events.get({ params: { id: sent?.id ?? "" } })).external_id).toBe("b-1");
    expect(await used()).toEqual([1]);
    // Of an own id, keys in another order say the same.
    const keys = { external_id: "b-2", metadata: { n: 1, m: 2 } };
    expect(await statuses([event(0, keys), event(0, { ...keys, metadata: { m: 2, n: 1 } })])).toEqual([
      "counted",
      "duplicate",
    ]);
  });

  test("MTR-02: is taken as a whole, and each fault of it has its place", async () => {
    const { event, used, name } = await open();
    const theirs = await other.client.customers.create({ body: { email: "theirs@example.com" } });
    const before = await floe.deps.db.execute(`select count(*) from usage_events`);
    const bad = [
      event(1, { external_id: "c-1" }),
      event(1, { name: "x".repeat(129) }),
      event(1, { timestamp: "2026-01-01T00:00:00" }),
      event(1, { metadata: { n: null } }),
      event(1, { external_customer_id: "both" }),
      { name },
      event(1, { metadata: { deep: { er: 1 } } }),
      event(1, { metadata: { ["k".repeat(41)]: 1 } }),
    ];
    expect(faultsOf(await send(bad))).toEqual([
      "body.events.1.name",
      "body.events.2.timestamp",
      "body.events.3.metadata.n",
      "body.events.4.customer_id",
      "body.events.5.customer_id",
      "body.events.6.metadata.deep",
      `body.events.7.metadata.${"k".repeat(41)}`,
    ]);
    const soon = new Date(floe.clock.now().getTime() + 1).toISOString();
    expect(faultsOf(await send([event(1, { external_id: "c-1" }), event(1, { timestamp: soon })]))).toEqual([
      "body.events.1.timestamp",
    ]);
    // Another seller's customer is nobody, as one who never was.
    for (const customer_id of [theirs.id, newId()])
      expect(faultsOf(await send([event(1, { external_id: "c-1" }), event(1, { customer_id })]))).toEqual([
        "body.events.1.customer_id",
      ]);
    expect(faultsOf(await send([event(1), event(1, { organization_id: other.organization_id })]))).toEqual([
      "body.events.1.organization_id",
    ]);
    expect(faultsOf(await send([event(1), event(1, { parent_id: "nothing" })]))).toEqual(["body.events.1.parent_id"]);
    expect(await floe.deps.db.execute(`select count(*) from usage_events`)).toEqual(before);
    expect(await used()).toEqual([undefined]);
    // Nothing of what was refused has taken the external id.
    expect((await send([event(1, { external_id: "c-1" })])).json).toEqual({ inserted: 1, duplicates: 0 });
  });

  test("MTR-03: external ids are each seller's own", async () => {
    const { event } = await open();
    const theirs = await other.client.customers.create({ body: { email: "own@example.com" } });
    expect((await send([event(1, { external_id: "same" })])).json.inserted).toBe(1);
    expect((await send([event(1, { external_id: "same", customer_id: theirs.id })], other)).json.inserted).toBe(1);
    expect((await send([])).json).toEqual({ inserted: 0, duplicates: 0 });
  });

  test("events are parts of others, by either id", async () => {
    const { event } = await open();
    const root = event(1, { external_id: "root" });
    const { json } = await send([root, event(2, { external_id: "leaf", parent_id: "root" })], seller, prefer);
    const [parent, leaf] = json.events ?? [];
    await send([event(3, { parent_id: leaf?.id })]);
    const { client } = seller;
    const ofParent = async (query: object) =>
      (await client.events.list({ query: { parent_id: parent?.id, sorting: "timestamp", ...query } })).items.map(
        ({ metadata }) => metadata.n,
      );
    expect(await ofParent({})).toEqual([2]);
    expect(await ofParent({ depth: 0 })).toEqual([1]);
    expect((await ofParent({ depth: 1 })).sort()).toEqual([1, 2]);
    expect((await ofParent({ depth: 2 })).sort()).toEqual([1, 2, 3]);
    expect(await client.events.get({ params: { id: parent?.id ?? "" } })).toMatchObject({
      child_count: 1,
      parent_id: null,
    });
    const { items } = await client.events.list({ query: { depth: 0, name: root.name } });
    expect(items.map(({ id }) => id)).toEqual([parent?.id]);
  });

  test("parts may come before what they are parts of, in one batch; none is a part of itself", async () => {
    const { event, name: root_name } = await open();
    const part = (n: number, external_id: string, parent_id: string) => event(n, { external_id, parent_id });
    const places = (events: object[]) => send(events).then(faultsOf);
    // As tracers tell: what ends first comes first.
    const { json } = await send(
      [
        part(3, "part-3", "part-2"),
        part(2, "part-2", "part-1"),
        event(1, { external_id: "part-1" }),
        part(3, "part-4", "part-2"),
      ],
      seller,
      prefer,
    );
    const [leaf, inner, root] = (json.events ?? []).map(({ id }) => id);
    const parts = await seller.client.events.list({ query: { parent_id: root, depth: 5, sorting: "timestamp" } });
    expect(parts.items.map(({ id, parent_id, child_count }) => [id, parent_id, child_count]).toSorted()).toEqual(
      [
        [leaf, inner, 0],
        [inner, root, 2],
        [root, null, 1],
        [json.events?.[3]?.id, inner, 0],
      ].toSorted(),
    );
    const upper = await seller.client.events.list({ query: { name: root_name, depth: 1 } });
    expect(upper.items.map(({ id }) => id).toSorted()).toEqual([inner, root].toSorted());
    // Those that were there come again with another that is a part of one of them.
    await send([part(5, "part-5", "part-3"), part(3, "part-3", "part-2")]);
    expect((await seller.client.events.get({ params: { id: leaf ?? "" } })).child_count).toBe(1);

    expect(await places([part(1, "circle", "circle")])).toEqual(["body.events.0.parent_id"]);
    expect(
      await places([
        part(1, "ring-0", "ring-1"),
        part(1, "ring-1", "ring-2"),
        event(1),
        part(1, "ring-2", "ring-3"),
        part(1, "ring-3", "ring-1"),
      ]),
    ).toEqual(["body.events.1.parent_id", "body.events.3.parent_id", "body.events.4.parent_id"]);
    // However deep it lies, it is taken.
    await floe.deps.db.execute(sql`update usage_events set depth = 32767 where id = ${leaf}`);
    expect((await send([part(1, "part-6", "part-3")])).status).toBe(200);
  });

  test("MTR-04: what it cost is a number to add up, and answered in digits", async () => {
    const { event, used } = await open([{ aggregation: { func: "sum", property: "_cost.amount" } }]);
    const _llm = { vendor: "v", model: "m", input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const cost = (amount: unknown, currency = "usd") => event(1, { metadata: { _cost: { amount, currency }, _llm } });
    const { json } = await send([cost("0.1", "USD"), cost(0.2)], seller, prefer);
    expect(await used()).toEqual([0.3]);
    const { metadata } = await seller.client.events.get({ params: { id: json.events?.[0]?.id ?? "" } });
    expect(metadata).toEqual({ _cost: { amount: "0.1", currency: "usd" }, _llm });
    expect(faultsOf(await send([cost("123456"), cost("much"), cost(1, "eur")]))).toEqual([
      "body.events.0.metadata._cost.amount",
      "body.events.1.metadata._cost.amount",
      "body.events.2.metadata._cost.currency",
    ]);
  });
});

describe("customers who become known later", () => {
  test("CUS-14: their events are theirs, and counted, once there is somebody with that external id", async () => {
    const { name, used } = await open();
    const external = `later-${name}`;
    const sent = [1, 2, 3].map((n) => ({ name, external_customer_id: external, metadata: { n } }));
    await send(sent);
    const late = await seller.client.customers.create({ body: { email: `${external}@example.com` } });
    await floe.runJobs();
    expect(await used(late.id)).toEqual([undefined]);
    await seller.client.customers.update({ params: { id: late.id }, body: { external_id: external } });
    await floe.runJobs();
    expect(await used(late.id)).toEqual([6]);
    await send(sent.slice(0, 1));
    expect(await used(late.id)).toEqual([7]);
    const { items } = await seller.client.events.list({ query: { external_customer_id: external } });
    expect(items.map(({ customer_id }) => customer_id)).toEqual(Array(4).fill(late.id));
  });

  test("whoever takes the external id of one who is gone takes nothing of their use", async () => {
    const { name, external_id, customer, event, used } = await open();
    await send([event(5), { name, external_customer_id: external_id, metadata: { n: 5 } }]);
    await seller.client.customers.delete({ params: { id: customer.id }, query: {} });
    const next = await seller.client.customers.create({ body: { email: `next-${name}@example.com`, external_id } });
    await floe.runJobs();
    expect(await used(next.id)).toEqual([undefined]);
    expect(faultsOf(await send([event(1)]))).toEqual(["body.events.0.customer_id"]);
  });
});

describe("meters", () => {
  const funcs = ["sum", "max", "min", "avg", "unique"].map((func) => ({ aggregation: { func, property: "n" } }));

  test("MTR-19: each makes its own number, of the values that it can use", async () => {
    const { event, used } = await open([{}, ...funcs]);
    await send([event(3), event(-1.5)]);
    expect(await used()).toEqual([2, 1.5, 3, -1.5, 0.75, 2]);
    await send([event("3"), event(true), event(3), event(10, { metadata: {} })]);
    expect(await used()).toEqual([6, 4.5, 3, -1.5, 1.5, 4]);
    await send([event(0.1), event(0.2)]);
    expect((await used())[1]).toBe(4.8);
  });

  test("MTR-12: one that is made later counts what came before; MTR-11: then it stays as it is", async () => {
    const { name, event } = await open([]);
    await send([event(3), event(4), event("4"), event(3)]);
    const meters = [];
    for (const over of [{ aggregation: { func: "count" } }, ...funcs])
      meters.push(
        await seller.client.meters.create({
          body: {
            name,
            filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
            ...(over as typeof over & { aggregation: { func: "count" } }),
          },
        }),
      );
    const forbidden = async (id = "", body: object = { aggregation: { func: "count" } }) =>
      (await floe.request("PATCH", `/v1/meters/${id}`, { token: seller.key, body })).json as Answer;
    expect((await forbidden(meters[0]?.id)).detail).toMatchObject([
      { loc: ["body", "aggregation"], type: "forbidden" },
    ]);
    await floe.runJobs();
    await send([event(3), event(9)]);
    const { items } = await seller.client.customerMeters.list({ query: { limit: 100 } });
    const units = meters.map(({ id }) => items.find(({ meter_id }) => meter_id === id)?.consumed_units);
    expect(units).toEqual([6, 22, 9, 3, 4.4, 4]);
    expect((await forbidden(meters[0]?.id)).detail).toMatchObject([
      { loc: ["body", "aggregation"], type: "forbidden" },
    ]);
  });

  test("MTR-11: one that has counted nothing may become another", async () => {
    const { event, used, meters } = await open();
    await send([event(1, { name: "something else" })]);
    const id = meters[0]?.id ?? "";
    const clauses = [{ property: "n", operator: "eq" as const, value: 1 }];
    await seller.client.meters.update({ params: { id }, body: { filter: { conjunction: "and", clauses } } });
    await floe.runJobs();
    expect(await used()).toEqual([1]);
  });

  test("MTR-13: one that is put away counts nothing and is not shown; taken back, it counts all", async () => {
    const { event, used, meters } = await open();
    const id = meters[0]?.id ?? "";
    await send([event(1)]);
    await seller.client.meters.update({ params: { id }, body: { is_archived: true } });
    expect(await statuses([event(2)])).toEqual(["no_meter"]);
    expect(await used()).toEqual([undefined]);
    await seller.client.meters.update({ params: { id }, body: { is_archived: false } });
    await floe.runJobs();
    expect(await used()).toEqual([3]);
  });
});

describe("quantities", () => {
  const at = (timestamp: string) => ({ timestamp });
  const ask = async (id: string, query: object) => {
    const { quantities, total } = await seller.client.meters.quantities({
      params: { id },
      query: {
        start_timestamp: "2026-03-01T00:00:00Z",
        end_timestamp: "2026-03-31T00:00:00Z",
        interval: "day",
        ...query,
      },
    });
    const some = quantities.filter(({ quantity }) => quantity !== 0);
    return {
      all: quantities.length,
      some: some.map(({ timestamp, quantity }) => [timestamp.toISOString(), quantity]),
      total,
    };
  };

  test("MTR-21: by pieces that begin in a time zone, also one half an hour off, and where an hour is missing", async () => {
    const { event, meters } = await open([
      { aggregation: { func: "sum", property: "n" } },
      { aggregation: { func: "unique", property: "n" } },
    ]);
    const [sum = "", unique = ""] = meters.map(({ id }) => id);
    await send([
      event(1, at("2026-03-01T18:29:59Z")),
      event(2, at("2026-03-01T18:30:00Z")),
      event(4, at("2026-03-29T00:30:00Z")),
      event(4, at("2026-03-29T01:30:00Z")),
    ]);
    expect(await ask(sum, {})).toEqual({
      all: 31,
      some: [
        ["2026-03-01T00:00:00.000Z", 3],
        ["2026-03-29T00:00:00.000Z", 8],
      ],
      total: 11,
    });
    expect((await ask(sum, { timezone: "Asia/Kolkata" })).some.slice(0, 2)).toEqual([
      ["2026-02-28T18:30:00.000Z", 1],
      ["2026-03-01T18:30:00.000Z", 2],
    ]);
    const night = { start_timestamp: "2026-03-28T23:00:00Z", end_timestamp: "2026-03-29T05:00:00Z", interval: "hour" };
    expect(await ask(sum, { ...night, timezone: "Europe/Paris" })).toEqual({
      all: 7,
      some: [
        ["2026-03-29T00:00:00.000Z", 4],
        ["2026-03-29T01:00:00.000Z", 4],
      ],
      total: 8,
    });
    expect(await ask(unique, { interval: "week" })).toMatchObject({ total: 3 });
    expect(await ask(unique, { interval: "month" })).toEqual({
      all: 1,
      some: [["2026-03-01T00:00:00.000Z", 3]],
      total: 3,
    });
    expect(await ask(sum, { interval: "year", timezone: "America/New_York" })).toMatchObject({
      all: 1,
      some: [["2026-01-01T05:00:00.000Z", 11]],
    });
  });

  test("of some customers, and of each before all", async () => {
    const { name, event, meters, external_id } = await open();
    const id = meters[0]?.id ?? "";
    const time = at("2026-03-02T00:00:00Z");
    await send([
      event(1, time),
      event(2, time),
      { name, external_customer_id: "unknown", metadata: { n: 10 }, ...time },
    ]);
    expect((await ask(id, {})).total).toBe(13);
    expect((await ask(id, { external_customer_id: external_id })).total).toBe(3);
    expect((await ask(id, { external_customer_id: "unknown" })).total).toBe(10);
    expect((await ask(id, { metadata: { n: ["2"] } })).total).toBe(2);
    expect(await ask(id, { customer_aggregation_function: "avg" })).toMatchObject({
      some: [[expect.any(String), 6.5]],
      total: 6.5,
    });
    expect((await ask(id, { customer_aggregation_function: "max" })).total).toBe(10);
    expect((await ask(id, { customer_aggregation_function: "count" })).total).toBe(2);
  });

  test("MTR-21: what is asked for has limits", async () => {
    const { meters } = await open();
    const refused = async (query: object) => {
      const all = { start_timestamp: "2026-03-01T00:00:00Z", end_timestamp: "2026-03-02T00:00:00Z", interval: "hour" };
      const text = new URLSearchParams({ ...all, ...query }).toString();
      const { json } = await floe.request("GET", `/v1/meters/${meters[0]?.id}/quantities?${text}`, {
        token: seller.key,
      });
      return (json as Answer).detail?.map(({ loc }) => loc.join("."));
    };
    expect(await refused({})).toBeUndefined();
    expect(await refused({ end_timestamp: "2026-02-01T00:00:00Z" })).toEqual(["query.end_timestamp"]);
    expect(await refused({ end_timestamp: "2026-03-08T00:00:01Z" })).toEqual(["query.end_timestamp"]);
    expect(await refused({ start_timestamp: "2022-12-31T23:59:59Z", interval: "year" })).toEqual([
      "query.start_timestamp",
    ]);
    expect(await refused({ timezone: "Mars/Olympus" })).toEqual(["query.timezone"]);
    expect(await refused({ timezone: "+05:30" })).toEqual(["query.timezone"]);
    expect(await refused({ interval: "minute" })).toEqual(["query.interval"]);
  });
});

describe("the list", () => {
  test("MTR-07: every filter, the newest first", async () => {
    const { name, event, customer, external_id, meters } = await open();
    const times = ["2026-02-03T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z"];
    await send(times.map((timestamp, n) => event(n, { timestamp })));
    await send([
      { name: `${name}-b`, external_customer_id: external_id, metadata: { n: 9, model: "gpt" }, timestamp: times[0] },
    ]);
    const list = async (query: object) =>
      (await seller.client.events.list({ query: { external_customer_id: external_id, ...query } })).items.map(
        ({ metadata }) => metadata.n,
      );
    expect(await list({ name })).toEqual([0, 2, 1]);
    expect(await list({ name, sorting: "timestamp" })).toEqual([1, 2, 0]);
    expect(await list({ name, page: 2, limit: 2 })).toEqual([1]);
    expect(await list({ customer_id: customer.id, query: "-B" })).toEqual([9]);
    expect(await list({ start_timestamp: times[2], end_timestamp: times[0], name })).toEqual([0, 2]);
    expect(await list({ meter_id: meters[0]?.id })).toEqual([0, 2, 1]);
    expect(await list({ metadata: { model: "gpt" } })).toEqual([9]);
    expect(await list({ source: "system" })).toEqual([]);
    const filter = JSON.stringify({ conjunction: "and", clauses: [{ property: "n", operator: "gte", value: 2 }] });
    expect((await list({ filter })).sort()).toEqual([2, 9]);
    expect(await list({ organization_id: other.organization_id })).toEqual([]);
    const { json } = await floe.request("GET", "/v1/events/?filter=%7B", { token: seller.key });
    expect((json as Answer).detail).toMatchObject([{ loc: ["query", "filter"] }]);
    const names = await seller.client.events.names({ query: { query: name, sorting: "name" } });
    expect(names.items).toMatchObject([
      { name, label: name, source: "user", occurrences: 3, last_seen: new Date(times[0] ?? "") },
      { name: `${name}-b`, occurrences: 1 },
    ]);
    const theirs = await seller.client.events.names({
      query: { customer_id: customer.id, source: "user", sorting: "-occurrences" },
    });
    expect(theirs.items.map(({ occurrences }) => occurrences)).toEqual([3, 1]);
    expect(theirs.pagination.total_count).toBe(2);
  });

  test("another seller's events and meters are not there", async () => {
    const { event, meters } = await open();
    const { json } = await send([event(1)], seller, prefer);
    await expect(other.client.events.get({ params: { id: json.events?.[0]?.id ?? "" } })).rejects.toThrow("Not found");
    const query = {
      start_timestamp: "2026-03-01T00:00:00Z",
      end_timestamp: "2026-03-02T00:00:00Z",
      interval: "hour" as const,
    };
    await expect(other.client.meters.quantities({ params: { id: meters[0]?.id ?? "" }, query })).rejects.toThrow(
      "Not found",
    );
    const { items } = await seller.client.customerMeters.list({ query: {} });
    await expect(other.client.customerMeters.get({ params: { id: items[0]?.id ?? "" } })).rejects.toThrow("Not found");
  });
});

describe("a body that is made to cost much", () => {
  const refused = async (body: string) => {
    const { status, json } = await floe.request("POST", "/v1/events/ingest", { token: seller.key, body });
    return [status, (json as { error: string }).error];
  };
  const named = `"name":"costly","external_customer_id":"costly"`;
  test.each([
    ["more than 10 MB", `{"events":[{${named},"metadata":{"a":"${"x".repeat(11 * 1024 * 1024)}"}}]}`, 413],
    [
      "a million keys",
      `{"events":[{${named},"metadata":{${Array.from({ length: 1e6 }, (_, n) => `"k${n}":1`).join()}}}]}`,
      413,
    ],
    ["a million events of nothing", `{"events":[${"{},".repeat(1e6)}{}]}`, 413],
    [
      "a thousand keys",
      `{"events":[{${named},"metadata":{${Array.from({ length: 1000 }, (_, n) => `"k${n}":1`).join()}}}]}`,
      422,
    ],
    ["a hundred thousand lists in each other", `{"events":${"[".repeat(1e5)}${"]".repeat(1e5)}}`, 422],
    ["a metadata of a metadata", `{"events":[{${named},"metadata":{"a":{"b":1}}}]}`, 422],
  ])("%s is refused, and nothing of it is taken", async (_, body, status) => {
    expect((await refused(body))[0]).toBe(status);
    expect((await seller.client.events.list({ query: { name: ["costly"] } })).items).toEqual([]);
  });
});
