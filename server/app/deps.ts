import { type Clock, systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Database, Deps, Log } from "../platform/context.ts";
import { createId } from "../platform/ids.ts";
import { createDrain } from "../platform/jobs/drain.ts";
import { createJobs } from "../platform/jobs/jobs.ts";
import { openProcessors } from "../platform/processors/open.ts";
import { openStorage } from "../platform/storage/open.ts";
import { reactions } from "./reactions.ts";

/** What a process of the server, or a command of the operator, works with on an open database. */
export async function openDeps(db: Database, config: Config, log: Log, clock: Clock = systemClock): Promise<Deps> {
  const processors = await openProcessors(config, db, clock);
  return {
    db,
    process_id: createId(clock.now()),
    clock,
    config,
    jobs: createJobs(),
    drain: createDrain(config),
    processor: processors.own,
    processors,
    taxCalculator: processors.tax,
    sandbox: false,
    storage: await openStorage(config, clock),
    reactions,
    log,
  };
}
