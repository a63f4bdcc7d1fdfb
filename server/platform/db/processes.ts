/** The processes that share a database: which of them run (OPS-02), and whether their clocks agree with it (OPS-03). */
import { setTimeout as sleep } from "node:timers/promises";
import { and, eq, inArray, lt, ne, or, sql } from "drizzle-orm";
import type { Deps } from "../context.ts";
import { defineSignal, sendSignal } from "../events/signals.ts";
import { type ClockState, clockSkewMsMax, clockSkewMsSaid } from "../jobs/jobs.ts";
import { serverProcesses } from "./tables.ts";
import { transact } from "./unit-of-work.ts";
import { findOutage } from "./unreachable.ts";

/** Processes are gone. What they were in the middle of can be asked about. */
export const processesGone = defineSignal<{ process_ids: readonly string[] }>("processes.gone");

const beatMs = 3000;
/** After five beats that did not come, a process is gone. */
const goneMs = 15_000;
/** A session may be lost and opened again. After this time it is. */
const reopenedMs = 1000;
/** After PostgreSQL has started, all sessions are opened again. */
const restartedMs = 10_000;

/** The database's clock: the processes may have different ones. */
const databaseNow = sql`clock_timestamp()`;
const isSilent = lt(serverProcesses.seen_at, sql`clock_timestamp() - ${goneMs} * interval '1 millisecond'`);

/** The session that a process keeps beside its pool, to hear notifications. The system closes it as the process ends, however it ends. */
export const getSessionName = (process_id: string): string => `floe ${process_id}`;
const hasSession = sql`exists (select from pg_stat_activity where datname = current_database()
  and application_name = ${getSessionName("")} || ${serverProcesses.id}::text)`;
const isCutOff = sql`(${serverProcesses.has_session} and not ${hasSession}
  and pg_postmaster_start_time() < clock_timestamp() - ${restartedMs} * interval '1 millisecond')`;

export type ProcessWatch = { leave(): Promise<void> };

/**
 * Write down that this process runs, and go on doing so until it leaves. The first beat also compares the clocks, before any job
 * runs. The embedded database has one process: every other one is gone.
 */
export async function watchProcesses(deps: Deps, intervalMs = beatMs): Promise<ProcessWatch> {
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  async function check(): Promise<void> {
    const others = await recordBeat(deps);
    if (others === 0) return;
    await sleep(reopenedMs, undefined, { ref: false });
    if (!isOver) await removeGone(deps);
  }
  const schedule = () => {
    timer = setTimeout(async () => {
      await check().catch((error: unknown) => {
        if (!findOutage(error)) deps.log.warn({ err: error }, "The processes of the database could not be looked at.");
      });
      if (!isOver) schedule();
    }, intervalMs).unref();
  };
  await recordBeat(deps);
  await removeGone(deps);
  if (!deps.config.embedded) schedule();
  return {
    async leave() {
      isOver = true;
      clearTimeout(timer);
      await removeProcesses(deps, eq(serverProcesses.id, deps.process_id));
    },
  };
}

/** One statement: it writes the beat, reads the clock, and counts the other processes and those that seem to be gone. */
async function recordBeat({ db, clock, config, jobs, log, process_id }: Deps): Promise<number> {
  const sentAt = clock.now().getTime();
  const [row] = await db
    .insert(serverProcesses)
    .values({ id: process_id, role: config.FLOE_PROCESS, started_at: databaseNow, seen_at: databaseNow })
    .onConflictDoUpdate({ target: serverProcesses.id, set: { seen_at: databaseNow, has_session: hasSession } })
    .returning({
      nowMs: sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::float8`,
      others: sql<number>`(select count(*)::int from ${serverProcesses} where ${serverProcesses.id} <> ${process_id})`,
      silent: sql<number>`(select count(*)::int from ${serverProcesses} where ${isSilent} or ${isCutOff})`,
    });
  if (!row) throw new Error("A process could not be written down.");
  if (!config.embedded) reportClock({ jobs, log }, compareClocks(sentAt, row.nowMs, clock.now().getTime()));
  jobs.setAlone(row.others === 0);
  return row.silent;
}

/** How far this clock is ahead of the database's, for certain: the answer was written at some time in between. */
export function compareClocks(sentAt: number, databaseMs: number, answeredAt: number): number {
  if (sentAt > databaseMs) return sentAt - databaseMs;
  return Math.min(0, answeredAt - databaseMs);
}

function reportClock({ jobs, log }: Pick<Deps, "jobs" | "log">, skewMs: number): void {
  const before = jobs.getClock();
  const off = Math.abs(skewMs);
  const state: ClockState = off > clockSkewMsMax ? "wrong" : off > clockSkewMsSaid ? "off" : "right";
  jobs.setClock({ state, skewMs });
  if (state === before.state) return;
  const fields = { skew_ms: skewMs };
  if (state === "wrong")
    log.error(fields, "The clock of this machine is over a minute from the database's: nothing that is due runs here.");
  else if (state === "off") log.warn(fields, "The clock of this machine is some seconds from the database's.");
  else log.info(fields, "The clock of this machine agrees with the database's again.");
}

const removeGone = (deps: Deps): Promise<void> =>
  removeProcesses(
    deps,
    and(ne(serverProcesses.id, deps.process_id), deps.config.embedded ? undefined : or(isSilent, isCutOff)) ?? isSilent,
  );

/** Forget processes, and have their unfinished work looked at. A process that was only paused writes itself down again. */
async function removeProcesses(deps: Deps, where: ReturnType<typeof eq>): Promise<void> {
  const isRemoved = await transact(deps, async (tx) => {
    const found = await tx
      .select({ id: serverProcesses.id })
      .from(serverProcesses)
      .where(where)
      .for("update", { skipLocked: true });
    const process_ids = found.map(({ id }) => id);
    if (process_ids.length === 0) return false;
    await tx.delete(serverProcesses).where(inArray(serverProcesses.id, process_ids));
    await sendSignal(tx, deps, processesGone, { process_ids });
    return true;
  });
  if (isRemoved) deps.jobs.notifyActivity();
}
