import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../platform/context.ts";

const pollMs = 250;
/** A page waits some seconds for the seller to be told; later than that nobody is in a hurry. */
const quickPolls = 80;
const slowPollEvery = 8;

type Watched = { organization_id: string; polls: number; listeners: Set<() => void> };

/** Says when the seller was told of an event, whichever process does the telling. */
export type DeliveryWatch = {
  /** Resolves once the seller was told, or the signal is aborted. */
  untilTold(organization_id: string, event_id: string, signal: AbortSignal): Promise<void>;
};

/** Of these events of an organization, those that the seller was told of. */
type FindTold = (organization_id: string, event_ids: readonly string[]) => Promise<string[]>;

/** Watches events for all streams of this process: an event is looked up once, however many streams wait for it. */
export function openDeliveryWatch(log: Log, findTold: FindTold): DeliveryWatch {
  const watched = new Map<string, Watched>();
  let isPolling = false;

  async function findDelivered(): Promise<string[]> {
    const due = [...watched].filter(([, one]) => {
      one.polls += 1;
      return one.polls <= quickPolls || one.polls % slowPollEvery === 0;
    });
    const delivered: string[] = [];
    for (const [organization_id, events] of Map.groupBy(due, ([, one]) => one.organization_id)) {
      const ids = events.map(([id]) => id);
      delivered.push(...(await findTold(organization_id, ids)));
    }
    return delivered;
  }

  async function poll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    while (watched.size > 0) {
      try {
        for (const id of await findDelivered()) for (const listen of watched.get(id)?.listeners ?? []) listen();
      } catch (error) {
        log.warn({ err: error }, "Deliveries could not be looked at; it will be tried again.");
      }
      await sleep(pollMs);
    }
    isPolling = false;
  }

  return {
    async untilTold(organization_id, event_id, signal) {
      if (signal.aborted) return;
      const event = watched.get(event_id) ?? { organization_id, polls: 0, listeners: new Set() };
      watched.set(event_id, event);
      const { promise, resolve } = Promise.withResolvers<void>();
      event.listeners.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      void poll();
      await promise;
      event.listeners.delete(resolve);
      if (event.listeners.size === 0) watched.delete(event_id);
    },
  };
}
