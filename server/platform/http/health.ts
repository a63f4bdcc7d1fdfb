import { sql } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { listWarnings } from "../config.ts";
import type { Deps } from "../context.ts";
import { isDeadLetter } from "../db/due.ts";
import { getPoolUse } from "../db/pool.ts";
import { failedWork } from "../db/tables.ts";
import { transact } from "../db/unit-of-work.ts";
import { findOutage, full } from "../db/unreachable.ts";
import type { ComparedClock } from "../jobs/jobs.ts";
import { limitOpen } from "./limits.ts";

/** What is known of hosted Polar, where it keeps the books. */
type PolarHealth = { token: string; breaker: string };

const answerMsMax = 2000;
const roomKnownMs = 10_000;

/**
 * `/healthz`: the process lives. It answers 503 when all connections have been taken for a minute and none was given back: then
 * only a restart helps. An event loop that is stuck answers nothing, so a probe needs a time limit. `/readyz`: the database answers, its migrations are done, it has room, the worker runs and the clock is right;
 * how many rows the worker has given up, and warnings about the settings. A warning leaves the server ready: it still serves
 * customers, sandboxes and what is free, and no restart would help.
 */
export function addHealthRoute(app: FastifyInstance, deps: Deps, findPolar?: () => PolarHealth): void {
  const isServing = deps.config.FLOE_PROCESS === "api";
  const hasRoom = memoizeFor(deps, () => findRoom(deps));
  app.get("/healthz", (_request, reply) => {
    const isStuck = getPoolUse(deps.db)?.isStuck ?? false;
    return reply.code(isStuck ? 503 : 200).send({ status: isStuck ? "stuck" : "ok" });
  });
  app.get("/readyz", { onRequest: limitOpen(deps) }, async (_request, reply) => {
    // Migrations run before the server listens, so a server that answers has them behind it.
    const found = Promise.all([deps.db.$count(failedWork, isDeadLetter), hasRoom()]);
    const [dead_letters, room] = await Promise.race([
      found.catch((error: unknown) => {
        deps.log.warn({ err: error }, "The database could not be looked at.");
        return [];
      }),
      new Promise<[]>((resolve) => setTimeout(() => resolve([]), answerMsMax).unref()),
    ]);
    const database = dead_letters !== undefined;
    const isStopping = deps.drain.isStopping();
    const worker = isServing || deps.jobs.working();
    const clock = deps.jobs.getClock();
    const checks = { database, migrations: database, room: room ?? false, worker, clock: clock.state !== "wrong" };
    const polar = findPolar?.();
    const ready = !isStopping && Object.values(checks).every(Boolean) && polar?.token !== "refused";
    const warnings = [...listWarnings(deps.config), ...listClockWarnings(clock)];
    return reply.code(ready ? 200 : 503).send({
      status: ready ? "ready" : isStopping ? "stopping" : "not ready",
      ...checks,
      dead_letters,
      warnings,
      ...(polar && { polar: polar.token === "refused" ? "token_refused" : polar.breaker === "open" ? "away" : "ok" }),
    });
  });
}

function listClockWarnings({ state, skewMs }: ComparedClock): string[] {
  if (state === "right") return [];
  const offMs = Math.abs(skewMs);
  const seconds = (offMs - (offMs % 1000)) / 1000;
  const text = `The clock of this machine is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the database's.`;
  return [state === "wrong" ? `${text} Nothing that is due runs here until it is set right.` : text];
}

/** What was found out a moment ago is still so. */
function memoizeFor<T>({ clock }: Pick<Deps, "clock">, find: () => Promise<T>): () => Promise<T> {
  let known: { until: number; value: T } | undefined;
  return async () => {
    const now = clock.now().getTime();
    if (!known || now >= known.until) known = { value: await find(), until: now + roomKnownMs };
    return known.value;
  };
}

/**
 * Whether the database can take something new: a table that needs pages of its own is made and gone again. Writing to a table
 * that is there would find room in it long after the disk is full.
 */
async function findRoom(deps: Deps): Promise<boolean> {
  try {
    await transact(deps, async (tx) => {
      await tx.execute(
        sql`create temporary table room on commit drop as select md5(n::text) from generate_series(1, 2000) as n`,
      );
    });
    return true;
  } catch (error) {
    if (findOutage(error) === full) return false;
    throw error;
  }
}
