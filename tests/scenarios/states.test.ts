import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { machines } from "../support/state-machines.ts";
import { openShop } from "../support/story.ts";

/** The database refuses a change of state that no table of states declares, whoever writes it. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

test("each trigger allows what the table of states does, and there is no other", async () => {
  const rows = (await floe.deps.db.execute(
    sql`select tgrelid::regclass::text as name, pg_get_triggerdef(oid) as text from pg_trigger where tgname like '%\\_states'`,
  )) as unknown as Iterable<{ name: string; text: string }>;
  const found = [...rows].map(({ name, text }) => [name, (text.match(/\w+>\w+/g) ?? []).sort()] as const);
  const declared = machines.map(
    ({ table, transitions }) => [table, transitions.map(({ from, to }) => `${from}>${to}`).sort()] as const,
  );
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(declared));
});

test("a state that does not follow is refused for whoever writes it, and changes nothing", async () => {
  const shop = await openShop(floe, "2027-01-01");
  const id = await shop.subscribes(await shop.sells("Plan", [{ amount_type: "fixed", price_amount: 1000 }]));
  const [order] = (await shop.seller.client.orders.list({ query: {} })).items;
  const refused = { cause: { code: "FL001" } };
  const write = (text: ReturnType<typeof sql>) => floe.deps.db.execute(text);
  await expect(write(sql`update orders set status = 'pending' where id = ${order?.id}`)).rejects.toMatchObject(refused);
  await expect(write(sql`update payments set status = 'failed'`)).rejects.toMatchObject(refused);
  await expect(write(sql`update checkouts set status = 'open'`)).rejects.toMatchObject(refused);
  await write(sql`update subscriptions set status = 'canceled', ended_at = now() where id = ${id}`);
  await expect(write(sql`update subscriptions set status = 'active' where id = ${id}`)).rejects.toMatchObject(refused);
  expect((await shop.seller.client.orders.list({ query: {} })).items[0]?.status).toBe("paid");
});
