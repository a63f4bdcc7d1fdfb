import { afterAll, beforeAll, expect, test } from "vitest";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";

let floe: Accounts;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  floe = await startAccounts();
  seller = await floe.seller("ada");
  call = callsOf(floe, seller);
});
afterAll(() => floe?.close());

const path = "/v1/meters/";
const meter = (over: object = {}) => ({
  name: "Tokens",
  filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "completion" }] },
  aggregation: { func: "sum", property: "tokens" },
  ...over,
});
const made = async (over: object = {}): Promise<string> => {
  const { status, json } = await call.send("POST", path, meter(over));
  expect(status).toBe(201);
  return json.id;
};
const product = (meter_id: string) => ({
  name: "Plan",
  recurring_interval: "month" as const,
  prices: [{ amount_type: "metered_unit" as const, meter_id, unit_amount: "0.5", price_currency: "usd" as const }],
});

test("MTR-10, MTR-14: a meter is kept as it was sent, nested filter and all, with its defaults", async () => {
  const filter = {
    conjunction: "or",
    clauses: [
      { property: "metadata.model.name", operator: "not_like", value: "gpt" },
      { conjunction: "and", clauses: [{ property: "timestamp", operator: "gte", value: 0 }] },
    ],
  };
  const { json } = await call.send("POST", path, meter({ filter, metadata: { tier: "pro" } }));
  const defaults = {
    unit: "scalar",
    custom_label: null,
    custom_multiplier: null,
    archived_at: null,
    modified_at: null,
  };
  expect(json).toMatchObject({ ...meter({ filter, metadata: { tier: "pro" } }), ...defaults });
  expect((await call.send("GET", `${path}${json.id}`)).json).toEqual(json);
  const faults = await call.refused("POST", path, meter({ name: "ab", aggregation: { func: "sum" }, unit: "custom" }));
  expect(faults.map((one) => one.split(" ")[0]).sort()).toEqual(
    expect.arrayContaining(["aggregation.property", "name"]),
  );
});

test("MTR-11: name, unit and metadata change at any time; what is not sent stays", async () => {
  const id = await made({ metadata: { a: 1, b: 2 } });
  const { json } = await call.send("PATCH", `${path}${id}`, { name: "Words", metadata: { b: 3 }, unit: "token" });
  expect(json).toMatchObject({ ...meter(), name: "Words", metadata: { b: 3 }, unit: "token" });
  expect(json.modified_at).not.toBeNull();
  expect((await call.send("PATCH", `${path}${id}`, { name: "Words" })).json.modified_at).toBe(json.modified_at);
  expect(await call.refused("PATCH", `${path}${id}`, { unit: "custom" })).toEqual(["custom_label value_error"]);
});

test("MTR-13: a meter that a price on sale or a benefit uses is not archived, until they are gone", async () => {
  const id = await made({ name: "Used" });
  const archive = (is_archived = true) => call.send("PATCH", `${path}${id}`, { is_archived });
  const plan = await seller.client.products.create({ body: product(id) });
  // Sent in capitals, it is the same meter.
  const credit = {
    type: "meter_credit" as const,
    description: "Tokens",
    properties: { meter_id: id.toUpperCase(), units: 5 },
  };
  const benefit = await seller.client.benefits.create({ body: credit });
  const refusal = (await archive()).json.detail;
  expect(refusal).toMatchObject([{ loc: ["body", "is_archived"], type: "value_error" }]);
  await seller.client.products.update({ params: { id: plan.id }, body: { is_archived: true } });
  expect((await archive()).json.detail[0]?.msg).toMatch(/benefit/);
  await seller.client.benefits.delete({ params: { id: benefit.id } });
  expect(await archive()).toMatchObject({ status: 200, json: { archived_at: expect.any(String) } });
  // Put away, it is offered to nothing new.
  expect(await call.refused("POST", "/v1/benefits/", credit)).toEqual(["properties.meter_id value_error"]);
  expect(await call.refused("POST", "/v1/products/", product(id))).toEqual(["prices.0.meter_id value_error"]);
  expect((await archive(false)).json).toMatchObject({ archived_at: null });
  expect((await call.send("POST", "/v1/benefits/", credit)).status).toBe(201);
  expect((await floe.request("DELETE", `${path}${id}`, { token: seller.key })).status).toBe(404);
});

test("a list has each filter and sort, of this seller alone, in one statement for the page and one for the count", async () => {
  const own = await floe.seller("lists");
  const { send, ids } = callsOf(floe, own);
  const add = async (over: object) => (await send("POST", path, meter(over))).json.id;
  const [b, a, c] = [
    await add({ name: "Bees 100%" }),
    await add({ name: "ants" }),
    await add({ name: "Cats", metadata: { n: 1 } }),
  ];
  await send("PATCH", `${path}${c}`, { is_archived: true });
  // By the database's own order of texts: capitals first or not, "ants" is never last of all but by "-name".
  expect((await ids(`${path}?sorting=-name`)).reverse()).toEqual(await ids(path));
  expect(await ids(`${path}?sorting=created_at`)).toEqual([b, a, c]);
  expect(await ids(`${path}?sorting=-created_at`)).toEqual([c, a, b]);
  expect(await ids(`${path}?query=ANT`)).toEqual([a]);
  expect(await ids(`${path}?query=0%25`)).toEqual([b]);
  expect(await ids(`${path}?is_archived=true`)).toEqual([c]);
  expect(new Set(await ids(`${path}?is_archived=false`))).toEqual(new Set([a, b]));
  expect(await ids(`${path}?metadata[n]=1`)).toEqual([c]);
  expect(await ids(`${path}?organization_id=${seller.organization_id}`)).toEqual([]);
  expect(await ids(`${path}?organization_id=${own.organization_id}&limit=1&page=2&sorting=created_at`)).toEqual([a]);
  expect((await send("GET", `${path}${a}`, undefined, seller.key)).status).toBe(404);
  expect((await send("PATCH", `${path}${a}`, { name: "Taken" }, seller.key)).status).toBe(404);
  floe.queries.length = 0;
  await ids(path);
  expect(floe.queries.filter((query) => query.includes('"meters"'))).toHaveLength(2);
});
