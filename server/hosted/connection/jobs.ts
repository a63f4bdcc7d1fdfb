import type { Deps } from "../../platform/context.ts";
import { createCleanupWorker, type Worker } from "../../platform/jobs/workers.ts";
import type { Hosted } from "../relay/hosted.ts";
import { PolarConnectionError } from "./ask.ts";
import { checkEndpoint, checkMs } from "./endpoint.ts";
import { syncKinds } from "./rules.ts";
import { continueSync } from "./run-sync.ts";
import { beginSync, type ConnectionRow, findConnection, findSync, isOldRefusal, updateConnection } from "./store.ts";
import { polarConnections, polarRefusals } from "./tables.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** A sync goes on for so long, and then lets other work be found. */
const runMs = 40_000;
const againMs = 10 * 60 * 1000;
const refusalDays = 90;

/** Look at the endpoint once an hour, and sync the mirror once a day and whenever events may have been missed. */
async function checkConnection(deps: Deps, hosted: Hosted, organization_id: string): Promise<void> {
  const connection = await findConnection(deps.db, organization_id);
  const now = deps.clock.now();
  if (!connection || connection.due_at > now || !hosted.isServed(organization_id)) return;
  // Another server does not do the same meanwhile, and a kill does not hold it up for longer.
  await updateConnection(deps.db, organization_id, { due_at: new Date(now.getTime() + againMs) });
  try {
    const isFinished = await checkAndSync(deps, hosted, connection, now);
    const due_at = isFinished ? new Date(now.getTime() + checkMs) : now;
    await updateConnection(deps.db, organization_id, { due_at });
  } catch (error) {
    if (!(error instanceof PolarConnectionError)) throw error;
    deps.log.warn({ reason: error.message }, "The connection with Polar could not be checked; it is tried again.");
  }
}

/** Answers whether nothing is left to read for now. */
async function checkAndSync(deps: Deps, hosted: Hosted, connection: ConnectionRow, now: Date): Promise<boolean> {
  const { organization_id } = connection;
  const started = await findSync(deps.db, organization_id);
  const isUnderWay = started?.finished_at === null && started.is_automatic;
  // A check that comes an hour late: this server was off meanwhile.
  const wasOff = now.getTime() - connection.due_at.getTime() > checkMs;
  const wasRepaired = isUnderWay ? false : await checkEndpoint(deps, hosted, connection);
  const isOld = started === undefined || now.getTime() - started.started_at.getTime() > dayMs;
  if (!isUnderWay && !wasOff && !wasRepaired && !isOld) return true;
  const fresh = { organization_id, started_at: now, kinds: [...syncKinds], is_automatic: true };
  const sync = isUnderWay ? started : await beginSync(deps.db, fresh);
  const { finished_at, counts } = await continueSync(deps, hosted, sync, { untilMs: runMs });
  if (finished_at !== null) deps.log.info({ counts }, "The mirror of Polar was compared with its lists.");
  return finished_at !== null;
}

/** The workers of the connection with Polar. */
export const createConnectionWorkers = (hosted: Hosted): Worker[] => [
  {
    name: "polar_connections.check",
    pollIntervalMs: 5000,
    due: {
      table: polarConnections,
      id: polarConnections.organization_id,
      organization_id: polarConnections.organization_id,
      at: polarConnections.due_at,
      serverClock: true,
    },
    run: (deps, [{ organization_id }]) => checkConnection(deps, hosted, organization_id),
  },
  createCleanupWorker("polar_refusals.forget", 60 * 60 * 1000, polarRefusals, (now) =>
    isOldRefusal(new Date(now.getTime() - refusalDays * dayMs)),
  ),
];
