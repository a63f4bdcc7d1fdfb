import { lt, sql } from "drizzle-orm";
import { createCleanupWorker, type Worker } from "../platform/jobs/workers.ts";
import { codeMailWorkerName, sendCode } from "./sign-in.ts";
import { portalCodes } from "./tables.ts";

/** Those who have asked for a code. */
export const codeMailWorker: Worker = {
  name: codeMailWorkerName,
  pollIntervalMs: 1500,
  due: {
    table: portalCodes,
    id: portalCodes.id,
    organization_id: portalCodes.organization_id,
    at: portalCodes.due_at,
    where: sql`${portalCodes.due_at} is not null`,
  },
  concurrency: 4,
  maxPerTenant: 2,
  run: (deps, [key]) => sendCode(deps, key),
};

/** Codes that have expired are forgotten. */
export const codeCleanup = createCleanupWorker("portal.forget_codes", 10 * 60 * 1000, portalCodes, (now) =>
  lt(portalCodes.expires_at, now),
);
