/** Usage through the official SDKs of three generations: what they send is counted, and they read what is answered. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Sdk, sdks, type Wire } from "../support/sdks.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe?.close());

describe.each(sdks.map((sdk) => [sdk.name, sdk] as const))("official SDK %s", (_name, sdk: Sdk) => {
  let seller: Seller;
  let call: Wire;
  beforeAll(async () => {
    seller = await floe.seller();
    call = sdk.open(floe.url, seller.key);
  });

  test("ingests events, and reads events, names, quantities and customers' meters", async () => {
    const filter = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "completion" }] };
    const aggregation = { func: "sum", property: "tokens" };
    const meter = await sdk.catalogue(floe.url, seller.key).meters.create({ name: "Tokens", filter, aggregation });
    const customer = await call["customers.create"]({ email: "ada@example.com", external_id: "user-1" });
    const events = [
      { name: "completion", external_customer_id: "user-1", external_id: "a", metadata: { tokens: 5 } },
      { name: "completion", customer_id: customer.id, external_id: "b", metadata: { tokens: 7, cached: true } },
      { name: "completion", external_customer_id: "user-1", external_id: "c", metadata: { tokens: 1, model: "small" } },
    ];
    expect(await call["events.ingest"]({ events })).toMatchObject({ inserted: 3 });
    // That SDK leaves out what it does not know, such as the ids of events.
    if (!sdk.name.startsWith("0.38"))
      expect(await call["events.ingest"]({ events: events.slice(0, 2) })).toMatchObject({ inserted: 0, duplicates: 2 });

    const { items } = await call["events.list"]({ name: ["completion"], limit: 10 });
    expect(items).toHaveLength(3);
    expect(items[0]).toMatchObject({ name: "completion", source: "user", customer_id: customer.id });
    expect((await call["events.get"]({ id: items[0].id })).id).toBe(items[0].id);
    const names = await call["events.listNames"]({ source: ["user"] });
    expect(names.items).toMatchObject([{ name: "completion", source: "user", occurrences: 3 }]);
    // The oldest of them cannot read that there is a customer.
    const noted = await call["events.list"]({ source: ["system"] });
    expect(noted.items.map((one: { name: string }) => one.name)).toEqual(
      sdk.name.startsWith("0.38") ? [] : ["customer.created"],
    );

    const now = floe.clock.now().getTime();
    const [start_timestamp, end_timestamp] = [now - 86_400_000, now + 1000].map((at) => new Date(at).toISOString());
    const asked = { id: meter.id, start_timestamp, end_timestamp, interval: "day" };
    const found = await call["meters.quantities"](asked);
    expect([found.total, found.quantities.length]).toEqual([13, 2]);

    const used = await call["customerMeters.list"]({ meter_id: meter.id });
    expect(used.items).toMatchObject([
      { consumed_units: 13, credited_units: 0, balance: -13, customer_id: customer.id },
    ]);
    expect((await call["customerMeters.get"]({ id: used.items[0].id })).meter.id).toBe(meter.id);
  });

  test("is told what is wrong with an event", async () => {
    const events = [{ name: "completion", customer_id: "00000000-0000-4000-8000-000000000000", metadata: {} }];
    await expect(call["events.ingest"]({ events })).rejects.toBeInstanceOf(Error);
  });
});
