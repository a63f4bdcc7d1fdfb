import { lockClock, moveClock, releaseClock } from "../../identity/organizations/store.ts";
import { dispatchWorker } from "../../messaging/webhooks/jobs.ts";
import { hasListening } from "../../messaging/webhooks/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import { findLastDue, findNext } from "../../platform/db/due.ts";
import { runToTheEnd } from "../../platform/jobs/heavy-work.ts";
import { type RowWorker, runWorkers, timeTravelBatchSize } from "../../platform/jobs/workers.ts";

/**
 * How long workers leave a seller's due work to the holder of its clock, by the server's clock, in case the holder crashed.
 */
const holdMs = 60_000;

/** A seller's clock that one request holds, so that only this request processes the seller's due work. */
export type HeldClock = {
  /** Set the clock and renew the hold; returns the server's time. Throws if the hold was lost. */
  set(at: Date, target?: Date | null): Promise<Date>;
  /** Set the clock within a transaction, and clear its target. */
  setWithin(tx: Tx, at: Date): Promise<void>;
};

/**
 * Hold a seller's clock while running `work`: neither workers nor other requests process the seller's due work meanwhile.
 * Running batches of this server are awaited first. Returns undefined if another request holds the clock.
 */
export async function runWithClock<T>(
  deps: Deps,
  organization_id: string,
  work: (held: HeldClock) => Promise<T>,
): Promise<T | undefined> {
  const { db } = deps;
  const waitUntil = (now: Date) => new Date(now.getTime() + holdMs);
  let now = getServerClock(deps.clock).now();
  let held = waitUntil(now);
  if (!(await lockClock(db, organization_id, now, held))) return undefined;
  try {
    await deps.jobs.ended(organization_id);
    const buildLostError = () =>
      new Error(`The clock of ${organization_id} was held for too long, and is in other hands.`);
    return await work({
      async set(at, target) {
        now = getServerClock(deps.clock).now();
        const next = waitUntil(now);
        const clock_offset_ms = at.getTime() - now.getTime();
        const values = {
          clock_offset_ms,
          clock_held_until: next,
          ...(target === undefined ? {} : { clock_target: target }),
        };
        if (!(await moveClock(db, organization_id, held, values))) throw buildLostError();
        held = next;
        return now;
      },
      async setWithin(tx, at) {
        const clock_offset_ms = at.getTime() - getServerClock(deps.clock).now().getTime();
        if (!(await moveClock(tx, organization_id, held, { clock_offset_ms, clock_target: null })))
          throw buildLostError();
      },
    });
  } finally {
    await runToTheEnd(() => releaseClock(db, organization_id, held));
  }
}

/** What is done each by its own time is done together as far as this, where nothing else falls due before: for less than the shortest period. */
const stretchMs = 23 * 60 * 60 * 1000;

/**
 * Walk a seller's clock from `now` to `to`, from one instant at which something falls due to the next: at each the clock is
 * set, and what is due by then is done, by a clock that stands still meanwhile. Where nobody outside is told of anything, what
 * falls due soon after each other and is done by its own time each, is done together. Answers whether it has come to the end; if
 * not, it was told that it is over, and goes on from there when it is called again.
 */
export async function advanceClock(
  deps: Deps,
  sweeps: readonly RowWorker[],
  organization_id: string,
  clock: HeldClock,
  { now, to, isOver }: { now: Date; to: Date; isOver: () => boolean },
): Promise<boolean> {
  const works = sweeps.map(({ name, due }) => ({ name, due: typeof due === "function" ? due(deps) : due }));
  const isHeard = await hasListening(deps.db, organization_id);
  // These come at once of what is done by its own time, and are, too, or are seen by nobody.
  const following = new Set(
    sweeps.flatMap(({ name, atRowTime: dated }) => (dated || name === dispatchWorker.name ? [name] : [])),
  );
  let instant = now;
  for (let isFirst = true; ; isFirst = false) {
    const next = await findNext(deps.db, getServerClock(deps.clock).now(), organization_id, works);
    const [first] = next.map(({ at }) => at.getTime()).sort((a, b) => a - b);
    if (first === undefined || first > to.getTime()) break;
    // Always make at least one step, so that repeated calls reach the end.
    if (!isFirst && isOver()) return false;
    if (first > instant.getTime()) instant = new Date(first);
    const [leader, ...beside] = next.filter(({ at }) => at.getTime() === first);
    const ahead = !isHeard && beside.length === 0 && works.find(({ name }) => name === leader?.name);
    if (ahead && sweeps.some(({ name, atRowTime: dated }) => dated && name === ahead.name)) {
      const others = next.filter(({ name }) => !following.has(name)).map(({ at }) => at.getTime() - 1);
      const until = new Date(Math.min(first + stretchMs, to.getTime(), ...others));
      const last = await findLastDue(
        deps.db,
        getServerClock(deps.clock).now(),
        { organization_id, ...ahead },
        until,
        timeTravelBatchSize,
      );
      if (last && last > instant) instant = last;
    }
    const time = await clock.set(instant);
    const due = new Set(
      next.filter(({ name, at }) => at <= instant && (!ahead || name === ahead.name)).map(({ name }) => name),
    );
    const still = { ...deps, clock: { now: () => time } };
    await runWorkers(
      still,
      sweeps.filter(({ name }) => due.has(name)),
      { only: organization_id, since: now, isOver },
    );
  }
  await clock.set(to, null);
  return true;
}
