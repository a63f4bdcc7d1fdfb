import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { and, asc, eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { events } from "../../server/lib/tables.ts";
import { testRefunds } from "../../server/processors/tables.ts";
import { refund_again_ms } from "../../server/refunds/rules.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startOnPostgres, tally } from "../support/races.ts";
import { sellOrder } from "../support/rows.ts";

/** Refunds by several server processes on one PostgreSQL, and by one that is killed between its steps. */

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await startOnPostgres({ listen: true });
  seller = await floe.seller();
});
afterAll(() => floe?.close());

/** Another server of the same database, which dies at this step; answers where it listens. */
async function another(step: string): Promise<{ url: string; child: ChildProcess; ended: Promise<unknown[]> }> {
  const child = spawn(process.execPath, ["tests/support/mortal.ts", String(floe.deps.config.DATABASE_URL), step], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [line] = (await Promise.race([once(child.stdout, "data"), ended.then(() => [""])])) as [unknown];
  const url = String(line).trim();
  expect(url).toMatch(/^http/);
  return { url, child, ended };
}

const refund = (url: string, order_id: string, amount: number, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/refunds/`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${seller.key}`, ...headers },
    body: JSON.stringify({ order_id, amount, reason: "other" }),
  });
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
  const { url, child, ended } = await another("none");
  const id = await sellOrder(floe, seller);
  const before = (await given()).length;
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => refund(index % 2 === 0 ? floe.url : url, id, 100)),
  );
  const statuses = tally(answers.map(({ status }) => status));
  expect(statuses["201"]).toBe(19);
  expect((statuses["422"] ?? 0) + (statuses["403"] ?? 0)).toBe(81);
  expect((await given()).slice(before)).toEqual(Array.from({ length: 19 }, () => 100));
  expect(await orderOf(id)).toMatchObject({ status: "refunded", refunded_amount: 1900, refundable_amount: 0 });
  const { items } = await seller.client.refunds.list({ query: { order_id: [id], limit: 100 } });
  expect(items.map(({ status }) => status)).toEqual(Array.from({ length: 19 }, () => "succeeded"));
  child.kill();
  await ended;
});

test.each([
  ["before the refund is asked for"],
  ["after the refund is made"],
  ["while the refund is written"],
  ["before the refund is committed"],
])("killed %s, it is made once, by another server", async (step) => {
  const { url, ended } = await another(step);
  const id = await sellOrder(floe, seller);
  const before = (await given()).length;
  const headers = { "idempotency-key": newId() };
  await expect(refund(url, id, 1900, headers)).rejects.toThrow();
  expect((await ended)[1]).toBe("SIGKILL");
  expect((await orderOf(id)).status).toBe("paid");
  // Whoever asks again, by the key or without, gives nothing twice.
  expect((await refund(floe.url, id, 1900, headers)).status).toBe(201);
  expect((await refund(floe.url, id, 1900)).status).toBe(422);
  // The other server had a clock of its own.
  floe.clock.advance(2 * refund_again_ms);
  await floe.runJobs();
  expect(await orderOf(id)).toMatchObject({ status: "refunded", refunded_amount: 1900 });
  expect((await given()).slice(before)).toEqual([1900]);
  expect(await told(id)).toEqual(["refund.created", "order.refunded"]);
  expect((await refund(floe.url, id, 1)).status).toBe(403);
});
