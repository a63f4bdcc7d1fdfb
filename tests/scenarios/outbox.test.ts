import { afterAll, beforeAll, expect, test } from "vitest";
import { findOutbox, listWaitingEndpoints } from "../../server/messaging/webhooks/backlog.ts";
import { openGauges, registry } from "../../server/platform/telemetry/metrics.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

/** What waits to be told to receivers, as the operator sees it. */

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
let closeGauges: () => void;
beforeAll(async () => {
  receiver = await startReceiver();
  floe = await start({ development: true });
  seller = await floe.seller("outbox");
  closeGauges = openGauges(floe.deps, "1.2.3", findOutbox);
});
afterAll(async () => {
  closeGauges();
  await floe.close();
  await receiver.close();
});

const createProduct = () =>
  seller.client.products.create({ body: { name: "Guide", prices: [{ amount_type: "free" }] } as never });
const readGauge = async (stage: string): Promise<number> => {
  const line = (await registry.render())
    .split("\n")
    .find((text) => text.startsWith(`floe_outbox_oldest_seconds{stage="${stage}"}`));
  return Number(line?.split(" ").at(-1));
};

test("the age of the outbox is that of the oldest event that is not dispatched, or not delivered", async () => {
  const { db } = floe.deps;
  const endpoint = await seller.client.webhooks.createEndpoint({
    body: { url: receiver.url, format: "raw", events: ["product.created"] } as never,
  });
  expect(await findOutbox(db)).toEqual({ undispatched_at: null, undelivered_at: null });
  receiver.answer(500);
  await createProduct();
  floe.clock.advance(90_000);
  // Nobody has looked yet, and still it is known.
  expect(await readGauge("dispatch")).toBeCloseTo(90, 0);
  expect(await readGauge("deliver")).toBe(0);
  await floe.runJobs();
  await createProduct();
  expect(await readGauge("dispatch")).toBeCloseTo(0, 0);
  expect(await readGauge("deliver")).toBeCloseTo(90, 0);
  await floe.runJobs();
  expect(await listWaitingEndpoints(db, 10)).toEqual([
    expect.objectContaining({ url: receiver.url, enabled: true, waiting: 2, endpoint_id: endpoint.id }),
  ]);
  // An endpoint that its seller has switched off delays nothing.
  await db.execute("update webhook_endpoints set enabled = false");
  expect((await findOutbox(db)).undelivered_at).toBeNull();
  expect(await listWaitingEndpoints(db, 10)).toMatchObject([{ enabled: false, waiting: 2 }]);
  await db.execute("update webhook_endpoints set enabled = true");
  // The clock of a sandbox is its own.
  await db.execute("update organization set sandbox = true");
  expect(await findOutbox(db)).toEqual({ undispatched_at: null, undelivered_at: null });
  expect(await listWaitingEndpoints(db, 10)).toEqual([]);
  await db.execute("update organization set sandbox = false");
  receiver.answer(200);
  floe.clock.advance(3_600_000);
  await floe.runJobs();
  expect(await findOutbox(db)).toEqual({ undispatched_at: null, undelivered_at: null });
  expect(await readGauge("deliver")).toBe(0);
});
