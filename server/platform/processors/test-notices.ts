import { eq } from "drizzle-orm";
import type { Deps } from "../context.ts";
import type { Worker } from "../jobs/workers.ts";
import type { ProcessorEvent } from "./processor.ts";
import { testEvents } from "./tables.ts";

/** What the test processor has to tell, handed on as the notices of one far away are. */
export const createTestNotices = (record: (deps: Deps, event: ProcessorEvent) => Promise<void>): Worker => ({
  name: "test_processor.tell",
  pollIntervalMs: 1000,
  // A processor goes by its own clock, which is the server's.
  due: {
    table: testEvents,
    id: testEvents.id,
    organization_id: testEvents.organization_id,
    at: testEvents.due_at,
    serverClock: true,
  },
  concurrency: 4,
  async run(deps, [{ id }]) {
    const [row] = await deps.db.select().from(testEvents).where(eq(testEvents.id, id));
    if (!row) return;
    // Told twice where it ends in between, as may happen to any notice.
    await record(deps, row.event);
    await deps.db.delete(testEvents).where(eq(testEvents.id, id));
  },
});
