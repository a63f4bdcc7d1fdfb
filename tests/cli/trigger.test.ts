import { expect, test } from "vitest";
import {
  applyOverrides,
  listIgnored,
  parseOverride,
  parseOverrides,
  selectOverrides,
} from "../../cli/trigger/overrides.ts";
import { eventTypes } from "../../shared/event-types.ts";
import { floe, standIn } from "./support.ts";

const server = await standIn(() => ({
  json: { sandbox: false, items: [{ id: "01890a5d-ac96-774b-bcce-b302099a8057", slug: "acme" }] },
}));
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };

test("overrides are read, go to the object that they name, and are looked for in the event", () => {
  const overrides = parseOverrides([
    "data.customer.metadata.a=1",
    'data.customer.name=Ada "L"',
    "data.tags=[1]",
    "data.x==",
  ]);
  expect(overrides.map(({ value }) => value)).toEqual([1, 'Ada "L"', [1], "="]);
  const body = applyOverrides({ name: "B", metadata: { b: 2 } }, selectOverrides(overrides, "customer"));
  expect(body).toEqual({ name: 'Ada "L"', metadata: { a: 1, b: 2 } });
  expect(listIgnored({ customer: body, tags: [1], x: null }, overrides)).toEqual(["data.x"]);
});

test.each(["customer.email=a", "data=a", "data.=a", "data.email", "data.__proto__.a=1", "data.a.constructor=1"])(
  "--override %s is refused",
  (text) => {
    expect(() => parseOverride(text)).toThrow("must be data.FIELD=VALUE");
  },
);

test("--list shows every event type; the one that floe never sends is refused with why", async () => {
  const { code, out } = await floe(["trigger", "--list"], { env });
  expect([code, (JSON.parse(out) as { event: string }[]).map(({ event }) => event)]).toEqual([0, [...eventTypes]]);
  const refused = await floe(["trigger", "subscription.migrated"], { env });
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("floe never sends subscription.migrated")]);
  expect((await floe(["trigger"], { env })).code).toBe(64);
  expect((await floe(["trigger", "order.payed"], { env })).code).toBe(64);
});

test("an organization that is no sandbox is only looked at", async () => {
  server.received.length = 0;
  const { code, err } = await floe(["trigger", "order.paid"], { env });
  expect([code, err]).toEqual([1, expect.stringContaining("not a sandbox")]);
  expect(server.received.every(({ method }) => method === "GET")).toBe(true);
});
