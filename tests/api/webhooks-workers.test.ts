import { afterAll, beforeAll, expect, test } from "vitest";
import { webhookDeliveries } from "../../server/messaging/webhooks/tables.ts";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";
import { startReceiver } from "../support/receiver.ts";

const floes: Floe[] = [];
beforeAll(async () => {
  const databaseUrl = await createPostgresDatabase();
  // Two servers on one database, each with its worker; the receiver is on this machine, so they are told to allow that.
  const replace = (deps: Floe["deps"]) => ({ config: { ...deps.config, development: true } });
  floes.push(await start({ databaseUrl, worker: true, replace }));
  floes.push(await start({ databaseUrl, worker: true, replace }));
});
afterAll(async () => {
  for (const floe of floes) await floe.close();
});

test("two servers send each event once, those of one transaction in their order (WHK-05, WHK-13)", async () => {
  const [floe] = floes as [Floe];
  const seller = await floe.seller();
  const receiver = await startReceiver();
  const types = ["order.created", "order.updated", "order.paid"] as const;
  await seller.client.webhooks.createEndpoint({ body: { url: receiver.url, format: "raw", events: [...types] } });
  const sales = Array.from({ length: 12 }, () => newId());
  await Promise.all(
    sales.map((sale, number) => {
      const { deps } = floes[number % 2] as Floe;
      return transact(deps, async (tx) => {
        for (const type of types) {
          await tx.insert(events).values({
            id: newId(),
            organization_id: seller.organization_id,
            type,
            data: { id: sale },
            created_at: new Date(),
          });
          deps.jobs.wake(tx, "events.dispatch");
        }
      });
    }),
  );
  // A lost wake-up would be made good by the sweep only after half a minute.
  await expect.poll(() => receiver.received.length, { timeout: 25_000, interval: 200 }).toBe(36);
  await new Promise((done) => setTimeout(done, 1500));
  expect(receiver.received).toHaveLength(36);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(36);
  for (const sale of sales)
    expect(receiver.received.filter(({ json }) => json.data.id === sale).map(({ json }) => json.type)).toEqual(types);
  expect(await floe.deps.db.select().from(webhookDeliveries)).toHaveLength(36);
  await receiver.close();
});
