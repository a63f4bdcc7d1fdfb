import type { Sweep } from "../../platform/jobs/sweeps.ts";
import { findReleased, forgetReleased, isReleased } from "./store.ts";
import { snapshotFiles } from "./tables.ts";

/** The bytes of files that were kept for a snapshot are removed when nothing needs them any more. */
export const snapshotRelease: Sweep = {
  name: "snapshots.release",
  every_ms: 10 * 60 * 1000,
  due: {
    table: snapshotFiles,
    id: snapshotFiles.id,
    organization_id: snapshotFiles.organization_id,
    where: isReleased,
  },
  parallel: 4,
  share: 2,
  async work({ db, storage }, [key]) {
    const released = await findReleased(db, key);
    if (!released) return;
    if (!released.isNeeded) await storage.remove(released.path, null);
    await forgetReleased(db, key);
  },
};
