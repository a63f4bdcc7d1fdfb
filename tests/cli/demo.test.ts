/** `floe demo seed` against a server: a shop of months, made by requests alone. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { handScopes } from "../../cli/command-scopes.ts";
import { addMonths } from "../../cli/demo/seed.ts";
import { scopes } from "../../shared/scopes.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { begin, floe, folder, until } from "./support.ts";

let server: Floe;
let seller: Seller;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller("demo");
});
afterAll(() => server?.close());

/** A new sandbox of the seller, with a key of it. */
async function createSandbox() {
  const body = { name: "Demo", slug: `demo-${newId()}`, sandbox: true };
  const { json } = await server.request("POST", "/v1/organizations/", { token: seller.session, body });
  const sandbox = { ...seller, organization_id: (json as { id: string }).id };
  // No scope more than the command says that it needs.
  const { scopes: any, needs = [] } = handScopes["demo seed"] ?? { scopes: [] };
  const key = await server.keyOf(sandbox, [...any, ...needs]);
  const env = { FLOE_SERVER: server.url, FLOE_API_KEY: key, FLOE_CONFIG_DIR: join(folder(), "none") };
  return { env, client: server.client(await server.keyOf(sandbox, [...scopes])) };
}
const seed = (env: Record<string, string>, flags: string[]) => floe(["demo", "seed", ...flags], { env });

describe("a demo of three months", () => {
  const sandboxes: Awaited<ReturnType<typeof createSandbox>>[] = [];
  const results: Awaited<ReturnType<typeof seed>>[] = [];
  beforeAll(async () => {
    for (const flags of [
      ["--months", "3", "--seed", "7"],
      ["--months", "1", "--seed", "7"],
      ["--months", "1", "--seed", "8"],
    ]) {
      const sandbox = await createSandbox();
      sandboxes.push(sandbox);
      results.push(await seed(sandbox.env, flags));
    }
  });
  /** What was bought until the end of the first month. */
  const listOrders = async (place: number) => {
    const page = await sandboxes[place]?.client.orders.list({ query: { limit: 100 } });
    const until = addMonths(server.clock.now(), 1);
    return (page?.items ?? [])
      .filter(({ created_at }) => new Date(created_at) <= until)
      .map(({ customer, total_amount, product }) => [customer.external_id, product?.name, total_amount].join(" "))
      .sort();
  };

  test("has everything that happens to a shop, as its summary says", async () => {
    const client = sandboxes[0]?.client;
    if (!client) throw new Error("There is no sandbox.");
    expect(results.map(({ code, err }) => [code, err.includes("floe metrics --interval month")])).toEqual([
      [0, true],
      [0, true],
      [0, true],
    ]);
    const summary = JSON.parse(results[0]?.out ?? "") as Record<string, number | string>;
    const [orders, customers, subscriptions, refunds, disputes, payments, products] = await Promise.all([
      client.orders.list({ query: { limit: 100 } }),
      client.customers.list({ query: { limit: 100 } }),
      client.subscriptions.list({ query: { limit: 100 } }),
      client.refunds.list({ query: { limit: 100 } }),
      client.disputes.list({ query: {} }),
      client.payments.list({ query: { limit: 100 } }),
      client.products.list({ query: {} }),
    ]);
    expect(summary).toMatchObject({
      ...{ seed: 7, months: 3, orders: orders.pagination.total_count, customers: customers.pagination.total_count },
      ...{ refunds: refunds.pagination.total_count, disputes: disputes.pagination.total_count },
    });
    expect(Date.parse(String(summary.now))).toBe(addMonths(server.clock.now(), 3).getTime());
    expect(products.items).toHaveLength(6);
    expect(new Set(orders.items.map(({ product }) => product?.name)).size).toBe(6);
    expect(orders.items.map(({ billing_reason }) => billing_reason)).toEqual(
      expect.arrayContaining(["purchase", "subscription_create", "subscription_cycle"]),
    );
    // Renewals bill usage beyond the credit, and discounts reduce orders.
    expect(
      orders.items.some(({ items }) => items.some(({ label, amount }) => label.includes("API calls") && amount > 0)),
    ).toBe(true);
    expect(orders.items.some(({ discount_amount }) => discount_amount > 0)).toBe(true);
    expect(payments.items.filter(({ status }) => status === "failed").length).toBeGreaterThan(0);
    expect(refunds.pagination.total_count).toBeGreaterThan(0);
    expect(disputes.pagination.total_count).toBe(1);
    expect(subscriptions.items.some(({ seats }) => (seats ?? 0) > 1)).toBe(true);
    expect(
      subscriptions.items.some(({ status, cancel_at_period_end }) => status === "canceled" || cancel_at_period_end),
    ).toBe(true);
    expect(
      new Set(customers.items.flatMap(({ billing_address }) => billing_address?.country ?? [])).size,
    ).toBeGreaterThan(5);
  });

  test("is the same for the same seed, and another one for another", async () => {
    const [one, again, other] = await Promise.all([listOrders(0), listOrders(1), listOrders(2)]);
    expect(one.length).toBeGreaterThan(3);
    expect(again).toEqual(one);
    expect(other.map((line) => line.replace("demo-8", "demo-7"))).not.toEqual(one);
  });

  test("is made once: a sandbox with customers is refused", async () => {
    const before = await listOrders(2);
    const { code, err } = await seed(sandboxes[2]?.env ?? {}, ["--months", "1"]);
    expect([code, err]).toEqual([
      7,
      expect.stringMatching(/has customers already.*\n.*floe orgs create Showcase --sandbox/),
    ]);
    expect(await listOrders(2)).toEqual(before);
  });
});

test("an organization that is no sandbox is refused, and nothing is made in it", async () => {
  const env = { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_CONFIG_DIR: join(folder(), "none") };
  const { code, err } = await seed(env, []);
  expect([code, err]).toEqual([7, expect.stringMatching(/is not a sandbox.*\n.*floe orgs create Showcase --sandbox/)]);
  expect((await seller.client.products.list({ query: {} })).items).toEqual([]);
});

test("numbers out of their limits are refused before anything is asked", async () => {
  for (const flags of [
    ["--months", "0"],
    ["--months", "25"],
    ["--months", "many"],
    ["--seed", "0"],
    ["--seed", "1.5"],
  ])
    expect(await seed({ FLOE_SERVER: "http://127.0.0.1:1", FLOE_API_KEY: "floe_oat_x" }, flags)).toMatchObject({
      code: 64,
      err: expect.stringContaining("is a whole number from 1 to"),
    });
});

test("Ctrl-C ends it, and says how to begin again", async () => {
  const { env, client } = await createSandbox();
  const stopped = new AbortController();
  const running = begin(["demo", "seed", "--months", "2"], { env, signal: stopped.signal });
  await until(() => running.stderr.text.includes("demo: "));
  stopped.abort("SIGINT");
  expect(await running.ended).toBe(130);
  expect(running.stderr.text).toMatch(/the demo is not complete\n.*floe orgs create Showcase2 --sandbox/);
  expect((await client.customers.list({ query: {} })).pagination.total_count).toBeLessThan(12);
});

test("a month later is the same day, or the last day of a shorter month", () => {
  const later = (text: string, months: number) => addMonths(new Date(text), months).toISOString();
  expect(later("2027-01-31T10:00:00Z", 1)).toBe("2027-02-28T10:00:00.000Z");
  expect(later("2027-01-31T10:00:00Z", 2)).toBe("2027-03-31T10:00:00.000Z");
  expect(later("2026-11-26T10:00:00Z", 14)).toBe("2028-01-26T10:00:00.000Z");
});
