import type { Deps } from "../lib/context.ts";
import type { RowKey } from "../lib/rows.ts";
import * as store from "./store.ts";

/** Addresses for parts are good for a day; a day more is left to complete what was sent. */
const unfinished_ms = 2 * 24 * 60 * 60 * 1000;
const batch_size = 100;

/** Remove the bytes of deleted files, of uploads that nobody completed, and of organizations that are gone. */
export async function sweepFiles(deps: Deps): Promise<number> {
  const now = deps.clock.now();
  await store.abandon(deps.db, new Date(now.getTime() - unfinished_ms), now);
  for (let total = 0; ; ) {
    const purged: RowKey[] = [];
    for (const row of await store.findUnpurged(deps.db, batch_size)) {
      try {
        await deps.storage.remove(row.path, row.upload_id);
        purged.push(row);
      } catch (error) {
        deps.log.warn({ err: error, file_id: row.id }, "A file could not be removed; it will be tried again.");
      }
    }
    if (purged.length > 0) await store.markPurged(deps.db, purged, now);
    total += purged.length;
    // One that cannot be removed leaves a gap, and would be met again at once.
    if (purged.length < batch_size) return total;
  }
}
