// Collects usage events and sends them in batches. A batch without an answer is sent again; floe counts each external id once.
export type UsageEvent = {
  name: string;
  /** The seller's own id of the customer. */
  external_customer_id: string;
  /** Unique for each event: it makes repetition safe. */
  external_id: string;
  timestamp: string;
  metadata: Record<string, string | number | boolean>;
};

export type UsageReporter = {
  /** Add an event. Returns false if the queue is full: the caller decides whether to stop its service. */
  report(event: UsageEvent): boolean;
  /** Send what is queued. Rejects if the server does not accept it; the events stay in the queue. */
  flush(): Promise<void>;
  /** Stop the timer and send the rest. */
  close(): Promise<void>;
};

type Options = {
  send(events: UsageEvent[]): Promise<unknown>;
  /** Whether the server rejects the batch for its content, so that repetition is useless. */
  isRejected(error: unknown): boolean;
  /** Called with a rejected batch, which leaves the queue: it must not hold up the others. */
  onRejected(events: UsageEvent[], error: unknown): void;
  intervalMs?: number;
  batchSize?: number;
  queueMax?: number;
};

export function createUsageReporter({
  send,
  isRejected,
  onRejected,
  intervalMs = 1000,
  batchSize = 1000,
  queueMax = 100_000,
}: Options): UsageReporter {
  const queue: UsageEvent[] = [];
  let activeFlush: Promise<void> | undefined;

  async function sendBatches(): Promise<void> {
    while (queue.length > 0) {
      const batch = queue.slice(0, batchSize);
      try {
        await send(batch);
      } catch (error) {
        if (!isRejected(error)) throw error;
        onRejected(batch, error);
      }
      queue.splice(0, batch.length);
    }
  }
  const flush = (): Promise<void> => {
    activeFlush ??= sendBatches().finally(() => {
      activeFlush = undefined;
    });
    return activeFlush;
  };
  const timer = setInterval(() => {
    flush().catch((error: unknown) => console.error(`${queue.length} usage events wait for the next attempt:`, error));
  }, intervalMs);

  return {
    report(event) {
      if (queue.length >= queueMax) return false;
      queue.push(event);
      return true;
    },
    flush,
    async close() {
      clearInterval(timer);
      // A flush that has begun may have passed the last event.
      await activeFlush?.catch(() => undefined);
      await flush();
    },
  };
}
