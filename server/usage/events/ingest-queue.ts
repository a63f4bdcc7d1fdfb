import { type Ctx, type Database, requireOrganization } from "../../platform/context.ts";
import { getUnit, transact } from "../../platform/db/unit-of-work.ts";
import { waitForTick } from "../../platform/jobs/coalesce.ts";
import { withConcurrencyLimit } from "../../platform/jobs/concurrency.ts";
import { isIdle } from "../../platform/jobs/priority.ts";
import { readSqlState } from "../../platform/loggable.ts";
import { MeterResetConflictError } from "../meters/consumption.ts";
import { type Batch, type Ingested, writeBatches } from "./ingest.ts";

/** How many transactions an organization's events have at once: while one waits for the database, the other is made ready. */
const lanesMax = 2;
/** So many events wait before there is more than one: fewer are soon written, and cost less with those that come meanwhile. */
const eventsMore = 200;
/** What came meanwhile is written together, up to so many events; where others ask for something, too, in smaller pieces. */
const eventsMax = 2000;
const eventsBeside = 500;
type Waiting = { ctx: Ctx; batch: Batch; answer: PromiseWithResolvers<Ingested> };
type Lanes = {
  waiting: Waiting[];
  open: number;
  /** Ends the patience of a lane once so many wait. */
  awaited: { many: number; go: () => void } | null;
};
/** Of each database, what waits for whom. */
const lanesOf = new WeakMap<Database, Map<string, Lanes>>();

/**
 * Take a batch. An organization's events are written by few transactions at a time, each of all that has come meanwhile: who
 * sends much waits for themselves alone, and leaves the other connections to others.
 */
export function ingestBatch(ctx: Ctx, batch: Batch): Promise<Ingested> {
  // What has to be written with something else is written with it.
  if (getUnit(ctx.db)) return writeAlone(ctx, batch);
  const organization_id = requireOrganization(ctx);
  const all = lanesOf.get(ctx.db) ?? new Map<string, Lanes>();
  lanesOf.set(ctx.db, all);
  const own = all.get(organization_id) ?? { waiting: [], open: 0, awaited: null };
  all.set(organization_id, own);
  const one = { ctx, batch, answer: Promise.withResolvers<Ingested>() };
  own.waiting.push(one);
  if (own.awaited && own.waiting.length >= own.awaited.many) own.awaited.go();
  if (own.open === 0 || (own.open < lanesMax && isMuch(own.waiting) && isIdle()))
    void openLane(own, () => all.delete(organization_id));
  return one.answer.promise;
}

const isMuch = (waiting: readonly Waiting[]): boolean =>
  waiting.reduce((sum, { batch }) => sum + batch.events.length, 0) >= eventsMore;

async function openLane(own: Lanes, close: () => void): Promise<void> {
  own.open += 1;
  await waitForTick();
  while (own.waiting.length > 0) {
    const some = claimNext(own.waiting);
    const began = performance.now();
    await writeTogether(some);
    await awaitAll(own, some, performance.now() - began);
  }
  own.open -= 1;
  if (own.open === 0) close();
}

/**
 * Wait until as many wait as were there just now, where they are several and each sends little: who was answered mostly sends the next
 * one at once, and goes with those who came meanwhile. Else they take turns by halves, and each half costs a transaction. A lane
 * waits for no longer than their transaction took.
 */
async function awaitAll(own: Lanes, answered: readonly Waiting[], patience_ms: number): Promise<void> {
  const many = answered.length + own.waiting.length;
  if (many === 1 || own.open > 1 || isMuch([...answered, ...own.waiting])) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  own.awaited = { many, go: resolve };
  // A timer leaves out what is less than a millisecond.
  const timer = setTimeout(resolve, patience_ms + 1);
  await promise;
  clearTimeout(timer);
  own.awaited = null;
}

function claimNext(waiting: Waiting[]): Waiting[] {
  const most = isIdle() ? eventsMax : eventsBeside;
  let events = 0;
  const end = waiting.findIndex(({ batch }, index) => {
    events += batch.events.length;
    return index > 0 && events > most;
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** More resets than this in a row, of the same customers, do not come while one batch is written. */
const triesMax = 20;

/** Whether others who count, and who bill what was counted, stood in the way, and this one was chosen to give way. */
const isCrossed = (error: unknown): boolean => ["40P01", "40001"].includes(readSqlState(error) ?? "");

/** Do it again where a meter was reset meanwhile: the events are of the time after that; or where locks made a ring. */
async function retryOnConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let left = triesMax; ; left -= 1) {
    try {
      return await work();
    } catch (error) {
      if (left <= 1 || !(error instanceof MeterResetConflictError || isCrossed(error))) throw error;
    }
  }
}

async function writeTogether(some: readonly Waiting[]): Promise<void> {
  const last = some.at(-1);
  if (!last) return;
  const { ctx } = last;
  try {
    const batches = some.map(({ batch }) => batch);
    const answers = await retryOnConflict(() =>
      transact(ctx, (tx) => writeBatches(tx, ctx, requireOrganization(ctx), batches)),
    );
    for (const [index, { answer }] of some.entries()) {
      const became = answers[index];
      if (became === undefined || became instanceof Error) answer.reject(became);
      else answer.resolve(became);
    }
  } catch (error) {
    // What one of them fails by is not the others'.
    if (some.length === 1) last.answer.reject(error);
    else for (const one of some) await writeTogether([one]);
  }
}

async function writeAlone(ctx: Ctx, batch: Batch): Promise<Ingested> {
  const [answer] = await retryOnConflict(() =>
    transact(ctx, (tx) => writeBatches(tx, ctx, batch.organization_id, [batch])),
  );
  if (!answer || answer instanceof Error) throw answer;
  return answer;
}

/** Ends a transaction that is only tried, with what it would have made. */
class Tried extends Error {
  readonly answer: Ingested;
  constructor(answer: Ingested) {
    super("The batch was only tried.");
    this.answer = answer;
  }
}

/** What would become of a batch. Nothing of it stays. */
export async function tryBatch(ctx: Ctx, batch: Batch): Promise<Ingested> {
  const countTries = () =>
    transact(ctx, async (tx) => {
      const [answer] = await writeBatches(tx, ctx, batch.organization_id, [batch]);
      throw !answer || answer instanceof Error ? answer : new Tried(answer);
    });
  try {
    return await (getUnit(ctx.db)
      ? countTries()
      : withConcurrencyLimit(ctx.db, `try ${batch.organization_id}`, lanesMax, countTries));
  } catch (error) {
    if (error instanceof Tried) return error.answer;
    throw error;
  }
}
