import { and, eq, isNull } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listCustomers } from "../../server/customers/customers/store.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { counterCompactionWorker } from "../../server/platform/db/counters.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { callsOf } from "../support/calls.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { atOnce, startOnPostgres } from "../support/races.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller("ada");
});
afterAll(() => floe?.close());

const send = async (method: string, path: string, body: object) => {
  const { status, json } = await floe.request(method, path, { token: seller.key, body });
  return { status, places: ((json as { detail?: { loc: string[] }[] }).detail ?? []).map(({ loc }) => loc.join(".")) };
};
const usd = (price_amount: number) => ({ amount_type: "fixed" as const, price_amount, price_currency: "usd" as const });

describe("at the same time", () => {
  test("CUS-03: of creates with one address one wins, the others get the same 422 as without the race", async () => {
    for (let round = 0; round < 5; round += 1) {
      const answers = await atOnce(10, () =>
        send("POST", "/v1/customers/", { email: `race-${round}@example.com`, external_id: `race-${round}` }),
      );
      const lost = answers.filter(({ status }) => status !== 201);
      expect(lost).toHaveLength(9);
      for (const { status, places } of lost)
        expect([status, places]).toEqual([422, ["body.email", "body.external_id"]]);
    }
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("CUS-03, CUS-08: of updates to one address one wins, the others get 422", async () => {
    const movers = await atOnce(8, (index) =>
      seller.client.customers.create({ body: { email: `move-${index}@example.com` } }),
    );
    const answers = await Promise.all(
      movers.map(({ id }) => send("PATCH", `/v1/customers/${id}`, { email: "moved@example.com" })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(422)]);
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("whenever it is looked, a list of all customers counts those that there are", async () => {
    const { organization_id, client } = await floe.seller("counted");
    const living = and(eq(customers.organization_id, organization_id), isNull(customers.deleted_at));
    const looked: [number, number][] = [];
    let isBusy = true;
    const look = async () => {
      while (isBusy)
        await floe.deps.db.transaction(
          async (db) => {
            const filter = { page: 1, limit: 1, sorting: [] };
            looked.push([
              (await listCustomers(db, [organization_id], filter)).total,
              await db.$count(customers, living),
            ]);
            await runWorkers(floe.deps, [counterCompactionWorker]);
          },
          { isolationLevel: "repeatable read" },
        );
    };
    const write = async (index: number) => {
      for (let round = 0; round < 6; round += 1) {
        const body = { email: `counted-${index}-${round}@example.com` };
        const { id } = await client.customers.create({ body });
        if (round % 2 === 1) await client.customers.delete({ params: { id }, query: {} });
      }
    };
    const writing = atOnce(8, write).finally(() => {
      isBusy = false;
    });
    await Promise.all([look(), look(), writing]);
    expect(looked.length).toBeGreaterThan(5);
    expect(looked.filter(([told, there]) => told !== there)).toEqual([]);
    expect((await client.customers.list({ query: {} })).pagination.total_count).toBe(24);
  });

  test("CUF-02: of custom fields with one slug one is made, and one renamed; the others get 422", async () => {
    const shape = { type: "text", name: "Size", properties: {} };
    const make = (slug: string) => send("POST", "/v1/custom-fields/", { ...shape, slug });
    const made = await atOnce(8, (index) => make(index % 2 === 0 ? "raced" : "RACED"));
    expect(made.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(422)]);
    await atOnce(6, (index) => make(`raced-${index}`));
    const { items } = await seller.client.customFields.list({ query: { query: "raced-" } });
    const moved = await Promise.all(items.map(({ id }) => send("PATCH", `/v1/custom-fields/${id}`, { slug: "won" })));
    expect(moved.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(422)]);
    for (const { status, places } of [...made, ...moved]) expect(places).toEqual(status === 422 ? ["body.slug"] : []);
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("DSC-01: of creates and updates to one code one wins, the others get its 422; never a 500", async () => {
    const path = "/v1/discounts/";
    const discount = (over: object = {}) => ({ name: "Sale", duration: "once", basis_points: 1000, ...over });
    const { send } = callsOf(floe, await floe.seller("racer"));
    const idle = await Promise.all([1, 2, 3].map(async () => (await send("POST", path, discount())).json.id));
    for (let round = 0; round < 5; round += 1) {
      const code = `RACE${round}`;
      const answers = await Promise.all([
        ...[1, 2, 3].map(() => send("POST", path, discount({ code }))),
        ...idle.map((id) => send("PATCH", `${path}${id}`, { code: code.toLowerCase() })),
      ]);
      const won = answers.filter(({ status }) => status < 300);
      const lost = answers.filter(({ status }) => status === 422);
      expect([won.length, lost.length]).toEqual([1, 5]);
      for (const { json } of lost) expect(json.detail).toMatchObject([{ loc: ["body", "code"] }]);
    }
    expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  test("MTR-13, BEN-50: a meter is never archived and taken for a benefit or a price at once", async () => {
    const { send } = callsOf(floe, await floe.seller("meters"));
    for (let round = 0; round < 8; round += 1) {
      const body = { name: "Race", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } };
      const { id } = (await send("POST", "/v1/meters/", body)).json;
      const prices = [{ amount_type: "metered_unit", meter_id: id, unit_amount: "1", price_currency: "usd" }];
      const [archived, credited, priced] = await Promise.all([
        send("PATCH", `/v1/meters/${id}`, { is_archived: true }),
        send("POST", "/v1/benefits/", {
          type: "meter_credit",
          description: "Race",
          properties: { meter_id: id, units: 1 },
        }),
        send("POST", "/v1/products/", { name: "Plan", recurring_interval: "month", prices }),
      ]);
      // Either it is in use and stays, or it is put away and neither can have it.
      const outcome = [archived.status, credited.status, priced.status];
      expect([
        [200, 422, 422],
        [422, 201, 201],
      ]).toContainEqual(outcome);
    }
  });

  test("MTR-13, PRD-28: a meter is never archived while a product that it counts for goes back on sale", async () => {
    const { send } = callsOf(floe, await floe.seller("returns"));
    const body = { name: "Race", filter: { conjunction: "and", clauses: [] }, aggregation: { func: "count" } };
    for (let round = 0; round < 8; round += 1) {
      const { id: meter_id } = (await send("POST", "/v1/meters/", body)).json;
      const prices = [{ amount_type: "metered_unit", meter_id, unit_amount: "1", price_currency: "usd" }];
      const { id } = (await send("POST", "/v1/products/", { name: "Plan", recurring_interval: "month", prices })).json;
      await send("PATCH", `/v1/products/${id}`, { is_archived: true });
      const [archived, returned] = await Promise.all([
        send("PATCH", `/v1/meters/${meter_id}`, { is_archived: true }),
        send("PATCH", `/v1/products/${id}`, { is_archived: false }),
      ]);
      expect([
        [200, 422],
        [422, 200],
      ]).toContainEqual([archived.status, returned.status]);
    }
  });

  test("CUS-16: of deletes of one customer one answers 204, the others 404", async () => {
    const { id } = await seller.client.customers.create({ body: { email: "gone@example.com" } });
    const answers = await atOnce(
      6,
      async () => (await floe.request("DELETE", `/v1/customers/${id}`, { token: seller.key })).status,
    );
    expect(answers.sort()).toEqual([204, ...Array(5).fill(404)]);
  });

  test("PRD-22: of price changes the last one alone is on sale", async () => {
    const { id } = await seller.client.products.create({ body: { name: "Book", prices: [usd(100)] } });
    await atOnce(10, (index) =>
      seller.client.products.update({ params: { id }, body: { prices: [usd(200 + index)] } }),
    );
    expect((await seller.client.products.get({ params: { id } })).prices).toHaveLength(1);
  });

  test("ORD-19: invoice numbers are handed out once each, without a gap", async () => {
    const { id } = await seller.client.products.create({ body: { name: "Book", prices: [usd(100)] } });
    await atOnce(20, async (index) => {
      const { client_secret } = await seller.client.checkouts.create({ body: { products: [id] } });
      const body = {
        customer_email: `buyer-${index}@example.com`,
        customer_billing_address: { country: "FR" as const },
        // One in four is refused, and leaves no gap.
        confirmation_token_id: index % 4 === 3 ? "pm_card_chargeDeclined" : "pm_card_visa",
      };
      await floe.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body });
    });
    const { items } = await seller.client.orders.list({ query: { limit: 100 } });
    const { slug } = await seller.client.organizations.get({ params: { id: seller.organization_id } });
    expect(items.map(({ invoice_number }) => invoice_number).sort()).toEqual(
      Array.from({ length: 15 }, (_, index) => `${slug.toUpperCase()}-${String(index + 1).padStart(4, "0")}`),
    );
  });
});
