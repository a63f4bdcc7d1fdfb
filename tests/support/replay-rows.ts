/** Replays of webhook endpoints, for tests that need one of each thing. */
import { isNotNull } from "drizzle-orm";
import { webhookEvents } from "../../server/messaging/webhooks/tables.ts";
import type { Floe, Seller } from "./floe.ts";

const body = { since: "2020-01-01T00:00:00Z" };

/** Begin a replay of an endpoint that has had an event. Answers what would begin another. */
export async function beginReplay(floe: Floe, { client, key }: Seller) {
  const { id: endpoint_id } = await client.webhooks.createEndpoint({
    body: { url: "http://127.0.0.1:9/hook", events: ["product.created"] },
  });
  const prices = [{ amount_type: "free" as const }];
  const params = { id: endpoint_id };
  await client.products.create({ body: { name: "Replayed", prices } });
  await floe.runJobs();
  // As if the event had arrived: a replay leaves out what waits.
  await floe.deps.db
    .update(webhookEvents)
    .set({ succeeded: true, next_attempt_at: null })
    .where(isNotNull(webhookEvents.next_attempt_at));
  const { id } = await client.webhooks.startReplay({ params, body });
  if (id === null) throw new Error("The replay was only counted.");
  return { as: key, params, body, id };
}

/** Begin a replay, and stop it. Answers the ids for operations about it, and about an event. */
export async function stopReplay(floe: Floe, seller: Seller, event_id: string) {
  const { id } = await beginReplay(floe, seller);
  await seller.client.webhooks.stopReplay({ params: { id } });
  return { redeliver: { id: event_id }, getReplay: { id }, stopReplay: { id } };
}
