/** Something that happened, as a seller's server gets it from floe. */
import { Webhook } from "standardwebhooks";
import { vi } from "vitest";
import { events } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { start } from "./floe.ts";
import { newId } from "./ids.ts";
import { startReceiver } from "./receiver.ts";

export type Signed = { secret: string; body: string; headers: Record<string, string> };

/** What a receiver with the public library says of it, so many seconds after it was signed. */
export function verdictOn({ secret, body, headers }: Signed, { after = 0, at = headers["webhook-timestamp"] } = {}) {
  vi.useFakeTimers({ toFake: ["Date"], now: (Number(at) + after) * 1000 });
  try {
    new Webhook(Buffer.from(secret).toString("base64")).verify(body, headers);
    return "accepted";
  } catch (error) {
    return (error as Error).message;
  } finally {
    vi.useRealTimers();
  }
}

/** Make something happen, and take what is sent of it. */
export async function signedEvent(): Promise<Signed> {
  const [floe, receiver] = [await start(), await startReceiver()];
  try {
    const seller = await floe.seller();
    await floe.runJobs();
    const { secret } = await seller.client.webhooks.createEndpoint({
      body: { url: receiver.url, format: "raw", events: ["product.created"] },
    });
    const id = newId();
    await transact(floe.deps, async (tx) => {
      const created_at = floe.clock.now();
      const data = { id: newId() };
      await tx
        .insert(events)
        .values({ id, organization_id: seller.organization_id, type: "product.created", data, created_at });
    });
    await floe.runJobs();
    const [sent] = receiver.received;
    if (!sent) throw new Error("Nothing was sent.");
    return { secret, body: sent.body, headers: { ...sent.headers } as Record<string, string> };
  } finally {
    await receiver.close();
    await floe.close();
  }
}
