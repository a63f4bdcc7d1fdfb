import { getServerClock } from "../../platform/clock.ts";
import type { Worker } from "../../platform/jobs/workers.ts";
import { sealNewEntries } from "./store.ts";

/** Seals what was written to the audit log in the last minute (AUD-01). */
export const auditSealWorker: Worker = {
  name: "audit.seal",
  pollIntervalMs: 60_000,
  limit: 1000,
  runBatch: (deps, limit) => sealNewEntries(deps, getServerClock(deps.clock).now(), limit),
};
