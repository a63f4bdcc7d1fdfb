import type { Worker } from "../../platform/jobs/workers.ts";
import { deleteReleased, findReleased, isReleased } from "./store.ts";
import { snapshotFiles } from "./tables.ts";

/** The bytes of files that were kept for a snapshot are removed when nothing needs them any more. */
export const snapshotReleaseWorker: Worker = {
  name: "snapshots.release",
  pollIntervalMs: 10 * 60 * 1000,
  due: {
    table: snapshotFiles,
    id: snapshotFiles.id,
    organization_id: snapshotFiles.organization_id,
    where: isReleased,
  },
  concurrency: 4,
  maxPerTenant: 2,
  async run({ db, storage }, [key]) {
    const released = await findReleased(db, key);
    if (!released) return;
    if (!released.isNeeded) await storage.remove(released.path, null);
    await deleteReleased(db, key);
  },
};
