import { and, asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { refundAgainMs } from "../../server/billing/refunds/rules.ts";
import { events } from "../../server/platform/db/tables.ts";
import { testRefunds } from "../../server/platform/processors/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { spawnMortal, startMortal } from "../support/mortal.ts";
import { saleSteps } from "../support/mortal-steps.ts";
import { startOnPostgres, tally } from "../support/races.ts";
import { sellOrder } from "../support/rows.ts";

/** Refunds by several servers on one PostgreSQL, and by one that ends between its steps. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

const databaseUrl = () => String(floe.deps.config.DATABASE_URL);
type Asked = Parameters<Floe["request"]>[2];
/** How a floe is asked: one of this process, or one elsewhere. */
type Ask = (method: string, path: string, asked?: Asked) => Promise<{ status: number }>;
const refund = (request: Ask, order_id: string, amount: number, headers: Record<string, string> = {}) =>
  request("POST", "/v1/refunds/", { token: seller.key, headers, body: { order_id, amount, reason: "other" } });
const given = async (): Promise<number[]> =>
  (await floe.deps.db.select({ amount: testRefunds.amount }).from(testRefunds)).map(({ amount }) => amount);
const orderOf = (id: string) => seller.client.orders.get({ params: { id } });
const told = async (order_id: string) => {
  const rows = await floe.deps.db
    .select({ type: events.type, data: events.data })
    .from(events)
    .where(and(eq(events.organization_id, seller.organization_id)))
    .orderBy(asc(events.seq));
  return rows
    .filter(({ data }) => [(data as { id: string }).id, (data as { order_id?: string }).order_id].includes(order_id))
    .map(({ type }) => type)
    .filter((type) => /^(refund|order\.refunded)/.test(type));
};

test("a hundred refunds at once, at two servers, give back what was paid and no more", async () => {
  const other = await start({ databaseUrl: databaseUrl() });
  const id = await sellOrder(floe, seller);
  const before = (await given()).length;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => refund(index % 2 === 0 ? floe.request : other.request, id, 100)),
  );
  const statuses = tally(answers.map(({ status }) => status));
  expect(statuses["201"]).toBe(19);
  expect((statuses["422"] ?? 0) + (statuses["403"] ?? 0)).toBe(81);
  expect((await given()).slice(before)).toEqual(Array.from({ length: 19 }, () => 100));
  expect(await orderOf(id)).toMatchObject({ status: "refunded", refunded_amount: 1900, refundable_amount: 0 });
  const { items } = await seller.client.refunds.list({ query: { order_id: [id], limit: 100 } });
  expect(items.map(({ status }) => status)).toEqual(Array.from({ length: 19 }, () => "succeeded"));
  await other.close();
});

/** Ask for a refund at a server of the same database that dies at this step. */
async function die(how: string, step: string, id: string, headers: Record<string, string>): Promise<void> {
  if (how === "cut off") {
    const mortal = await startMortal({ databaseUrl: databaseUrl() }, (end) => saleSteps(step, end));
    void refund(mortal.request, id, 1900, headers);
    return mortal.ended;
  }
  const mortal = await spawnMortal(databaseUrl(), step);
  const url = await mortal.url();
  const request: Ask = (method, path, { token, body, headers: more } = {}) =>
    fetch(url + path, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...more },
      body: JSON.stringify(body),
    });
  await expect(refund(request, id, 1900, headers)).rejects.toThrow();
  await mortal.killed();
}

test.each([
  ["cut off", "before the refund is asked for"],
  ["cut off", "after the refund is made"],
  ["cut off", "while the refund is written"],
  ["killed", "while the refund is written"],
  ["cut off", "before the refund is committed"],
])("%s %s, it is made once, by another server", async (how, step) => {
  const id = await sellOrder(floe, seller);
  const before = (await given()).length;
  const headers = { "idempotency-key": newId() };
  await die(how, step, id, headers);
  expect((await orderOf(id)).status).toBe("paid");
  // Whoever asks again, by the key or without, gives nothing twice.
  expect((await refund(floe.request, id, 1900, headers)).status).toBe(201);
  expect((await refund(floe.request, id, 1900)).status).toBe(422);
  // The other server had a clock of its own.
  floe.clock.advance(2 * refundAgainMs);
  await floe.runJobs();
  expect(await orderOf(id)).toMatchObject({ status: "refunded", refunded_amount: 1900 });
  expect((await given()).slice(before)).toEqual([1900]);
  expect(await told(id)).toEqual(["refund.created", "order.refunded"]);
  expect((await refund(floe.request, id, 1)).status).toBe(403);
});
