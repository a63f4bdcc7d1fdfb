import { and, eq, like } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rateTable } from "../../server/billing/tax/rates.ts";
import { loadRegistrations } from "../../server/billing/tax/store.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";

type Answer = {
  id: string;
  created_at: string;
  starts_at: string;
  tax_id: string;
  pagination: { total_count: number };
};

let floe: Accounts;
let call: Awaited<ReturnType<typeof fresh>>;
let unregistered: typeof call;
beforeAll(async () => {
  floe = await startAccounts();
  call = await fresh("ada");
  unregistered = await fresh("looking");
});
afterAll(() => floe?.close());

const path = "/v1/tax/registrations/";
/** Calls of a seller of whom nothing is registered. */
async function fresh(name: string) {
  const owner: Seller = await floe.seller(name);
  const calls = callsOf(floe, owner);
  const send = async (method: string, to: string, body?: object) => {
    const { status, json } = await calls.send(method, to, body);
    return { status, json: json as unknown as Answer };
  };
  return { ...calls, send, ...owner };
}

test("a country alone is enough: domestic, from now on, by the table's rate", async () => {
  const { status, json } = await call.send("POST", path, { country: "de" });
  expect([status, json]).toMatchObject([
    201,
    { country: "DE", state: null, scheme: "domestic", tax_id: null, rate: null, ends_at: null, modified_at: null },
  ]);
  expect(json.starts_at).toBe(json.created_at);
  expect((await call.send("GET", `${path}${json.id}`)).json).toEqual(json);
});

test("all that can be said of one is kept, its numbers as they are kept elsewhere", async () => {
  const body = {
    country: "FR",
    tax_id: "fr 40 303 265 045",
    rate: "08.500",
    starts_at: "2026-01-01T00:00:00+01:00",
    ends_at: "2027-01-01T00:00:00Z",
  };
  const { json } = await call.send("POST", path, body);
  expect(json).toMatchObject({
    tax_id: "FR40303265045",
    rate: "8.5",
    starts_at: "2025-12-31T23:00:00.000Z",
    ends_at: "2027-01-01T00:00:00.000Z",
  });
  expect((await call.send("POST", path, { country: "US", state: "us-ny", tax_id: "NY 12" })).json).toMatchObject({
    state: "US-NY",
    tax_id: "NY 12",
  });
  expect((await call.send("POST", path, { country: "US", state: "CA", rate: 7.25 })).json).toMatchObject({
    state: "US-CA",
    rate: "7.25",
  });
});

test.each<[string, object, string[]]>([
  ["no country", {}, ["country missing"]],
  ["a country that nothing is sold to", { country: "KP" }, ["country enum"]],
  ["a country whose rate nobody knows", { country: "GH" }, ["rate missing"]],
  ["one whose rate in the table was not found right", { country: "TH" }, ["rate missing"]],
  ["a state whose rate in the table is wrong", { country: "US", state: "CA" }, ["rate missing"]],
  ["a state without a tax", { country: "US", state: "OR" }, ["rate missing"]],
  ["the US without a state", { country: "US" }, ["state missing"]],
  ["a state that there is not", { country: "US", state: "XX" }, ["state value_error"]],
  ["a state of a country that has none", { country: "DE", state: "BY" }, ["state value_error"]],
  ["a province in whose tax the country's is", { country: "CA", state: "ON" }, ["state value_error"]],
  ["a province without a tax", { country: "CA", state: "AB", rate: "5" }, ["state value_error"]],
  ["a country in another's tax", { country: "MC" }, ["country value_error"]],
  ["the one-stop-shop outside of the union", { country: "NO", scheme: "oss" }, ["scheme value_error"]],
  ["a small seller outside of the union", { country: "CH", scheme: "small_seller" }, ["scheme value_error"]],
  ["a simplified scheme in the union", { country: "DE", scheme: "simplified" }, ["scheme value_error"]],
  ["a simplified scheme in the US", { country: "US", state: "TX", scheme: "simplified" }, ["scheme value_error"]],
  ["a scheme that there is not", { country: "DE", scheme: "none" }, ["scheme enum"]],
  ["one rate for all of the union", { country: "IE", scheme: "oss", rate: "20" }, ["rate value_error"]],
  ["more than all", { country: "GH", rate: "100.1" }, ["rate value_error"]],
  ["less than nothing", { country: "GH", rate: -1 }, ["rate invalid_format"]],
  ["a rate that is none", { country: "GH", rate: "1e1" }, ["rate invalid_format"]],
  ["a number that is none there", { country: "IT", tax_id: "IT00743110158" }, ["tax_id invalid"]],
  [
    "an end before the start",
    { country: "IT", starts_at: "2026-02-01T00:00:00Z", ends_at: "2026-01-01T00:00:00Z" },
    ["ends_at value_error"],
  ],
  ["an end before now", { country: "IT", ends_at: "2020-01-01T00:00:00Z" }, ["ends_at value_error"]],
  ["several at once", { country: "GH", ends_at: "2020-01-01T00:00:00Z" }, ["rate missing", "ends_at value_error"]],
])("refused: %s", async (_, body, faults) => {
  expect(await call.refused("POST", path, body)).toEqual(faults);
});

test("a place is registered once in each scheme, also where two say so at once", async () => {
  const other = await fresh("twice");
  const [one, two] = await Promise.all([1, 2].map(() => other.send("POST", path, { country: "IT" })));
  expect([one?.status, two?.status].sort()).toEqual([201, 422]);
  expect(await other.refused("POST", path, { country: "IT" })).toEqual(["country value_error"]);
  expect((await other.send("POST", path, { country: "IT", scheme: "oss" })).status).toBe(201);
  for (const state of ["TX", "NY"]) expect((await other.send("POST", path, { country: "US", state })).status).toBe(201);
  expect((await other.send("GET", path)).json.pagination.total_count).toBe(4);
});

test("what is changed is checked with what stands, and what is not sent stays", async () => {
  const other = await fresh("changing");
  const { id, starts_at } = (await other.send("POST", path, { country: "GH", rate: "20" })).json;
  const change = (body: object) => other.send("PATCH", `${path}${id}`, body);
  expect((await change({})).json).toMatchObject({ rate: "20", modified_at: null });
  expect((await change({ rate: 21, ends_at: "2099-01-01T00:00:00Z" })).json).toMatchObject({
    rate: "21",
    starts_at,
    ends_at: "2099-01-01T00:00:00.000Z",
    modified_at: expect.any(String),
  });
  expect(await other.refused("PATCH", `${path}${id}`, { rate: null })).toEqual(["rate missing"]);
  expect(await other.refused("PATCH", `${path}${id}`, { ends_at: "2020-01-01T00:00:00Z" })).toEqual([
    "ends_at value_error",
  ]);
  expect(await other.refused("PATCH", `${path}${id}`, { starts_at: "2100-01-01T00:00:00Z" })).toEqual([
    "starts_at value_error",
  ]);
  expect((await change({ ends_at: null })).json).toMatchObject({ ends_at: null, rate: "21" });
  const shop = (await other.send("POST", path, { country: "IE", scheme: "oss" })).json;
  expect(await other.refused("PATCH", `${path}${shop.id}`, { rate: "5", tax_id: "IE6433435E" })).toEqual([
    "tax_id invalid",
    "rate value_error",
  ]);
  expect((await other.send("PATCH", `${path}${shop.id}`, { tax_id: "IE6433435F" })).json.tax_id).toBe("IE6433435F");
});

test("what is registered is found for sales, until it is deleted, and each change is in the audit log", async () => {
  const { send, organization_id } = await fresh("selling");
  const { id } = (await send("POST", path, { country: "NO" })).json;
  const found = () => loadRegistrations(floe.deps.db, organization_id);
  expect(await found()).toMatchObject([{ id, country: "NO", organization_id }]);
  await send("PATCH", `${path}${id}`, { rate: "12" });
  expect((await send("DELETE", `${path}${id}`)).status).toBe(204);
  expect(await found()).toEqual([]);
  const entries = await floe.deps.db
    .select({ action: auditLog.action })
    .from(auditLog)
    .where(and(eq(auditLog.organization_id, organization_id), like(auditLog.action, "tax%")))
    .orderBy(auditLog.id);
  expect(entries.map(({ action }) => action)).toEqual(
    ["created", "updated", "deleted"].map((what) => `tax_registration.${what}`),
  );
});

test.each<[string, object]>([
  ["country=DE", { state: null, rates: [{ name: "VAT", country: "DE", rate: "19" }], source: rateTable, note: null }],
  [
    "country=us&state=tx",
    {
      country: "US",
      state: "US-TX",
      rates: [{ name: "State sales tax", country: "US", state: "US-TX", rate: "6.25" }],
      source: rateTable,
      note: expect.stringContaining("state's rate alone"),
    },
  ],
  ["country=US", { rates: [], source: null, note: expect.stringContaining("by state") }],
  ["country=US&state=CA", { rates: [], source: null, note: expect.stringContaining("No rate is known for US-CA") }],
  ["country=CA", { rates: [{ name: "GST", rate: "5" }], note: expect.stringContaining("Provinces") }],
  ["country=CA&state=ON", { rates: [{ name: "HST", state: "CA-ON", rate: "13" }], note: null }],
  [
    "country=CA&state=QC",
    {
      rates: [
        { name: "GST", state: null, rate: "5" },
        { name: "QST", state: "CA-QC", rate: "9.975" },
      ],
    },
  ],
  ["country=MC", { country: "MC", rates: [{ country: "FR", rate: "20" }], note: "The tax of MC is that of FR." }],
  ["country=TH", { rates: [], source: null, note: expect.stringContaining("No rate is known for TH") }],
])("the rates of %s", async (query, rates) => {
  expect((await unregistered.send("GET", `/v1/tax/rates/?${query}`)).json).toMatchObject(rates);
});

test("the seller's own rate comes first, while it stands", async () => {
  const other = await fresh("own");
  const { id, created_at } = (await other.send("POST", path, { country: "TH", rate: "7" })).json;
  const rates = async (of = "TH") => (await other.send("GET", `/v1/tax/rates/?country=${of}`)).json;
  const source = { name: "seller", date: created_at.slice(0, 10) };
  expect(await rates()).toMatchObject({ rates: [{ name: "VAT", rate: "7" }], source, note: null });
  await other.send("POST", path, { country: "CA", state: "QC", rate: "9.5" });
  const [quebec, elsewhere] = [await rates("CA&state=QC"), await rates("CA&state=BC")];
  expect(quebec).toMatchObject({ rates: [{ rate: "5" }, { name: "QST", rate: "9.5" }], source: rateTable });
  expect(elsewhere).toMatchObject({ rates: [{ rate: "5" }, { name: "PST", rate: "7" }] });
  expect(await rates("FR")).toMatchObject({ rates: [{ country: "FR", rate: "20" }] });
  await other.send("PATCH", `${path}${id}`, { starts_at: "2098-01-01T00:00:00Z" });
  expect(await rates()).toMatchObject({ rates: [], source: null });
});
