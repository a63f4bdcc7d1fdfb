/** While nothing happens, one search looks for the due rows of all workers in turn, so that an idle server asks rarely. */
import type { Deps } from "../context.ts";
import { type DueQuery, findDueKinds } from "../db/due.ts";
import { runWithStatementLimit } from "./deadline.ts";
import type { StoppableWorker } from "./drain.ts";
import { searchPatience, type Worker } from "./workers.ts";

/** How often each kind of work is looked at. Work that falls due meanwhile starts at most so late. */
const cycleMs = 8000;
/** A statement for each part of the kinds. All of them in one would be too long to be prepared. */
const partCount = 4;
/** Workers that look less often go on to look by themselves. */
const pollMsMax = 60_000;

/**
 * Search for due rows while the process is quiet, and wake the workers that have some. When a search fails, the workers look by
 * themselves again, as one table that cannot be read must not hold up the others.
 */
export function openIdleSearch(deps: Deps, workers: readonly Worker[], everyMs = cycleMs / partCount): StoppableWorker {
  const works = workers.flatMap((worker) =>
    "due" in worker && worker.pollIntervalMs <= pollMsMax ? [{ name: worker.name, due: worker.due }] : [],
  );
  const getQuery = (due: (typeof works)[number]["due"]): DueQuery => (typeof due === "function" ? due(deps) : due);
  let part = 0;
  let isOver = false;
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function search(): Promise<void> {
    const { jobs } = deps;
    if (!jobs.isQuiet() || jobs.getClock().state === "wrong") return jobs.setSearched([]);
    part = (part + 1) % partCount;
    const some = works.filter((_, index) => index % partCount === part);
    const limitMs = searchPatience * 1000 * deps.config.FLOE_DATABASE_STATEMENT_SECONDS;
    try {
      const found = await runWithStatementLimit(limitMs, () =>
        findDueKinds(
          deps.db,
          deps.clock.now(),
          some.map(({ name, due }) => ({ name, due: getQuery(due) })),
        ),
      );
      for (const name of found) jobs.wakeNow(name);
      jobs.setSearched(works.map(({ name }) => name));
    } catch {
      // Each worker then looks by itself, and says which one cannot.
      jobs.setSearched([]);
    }
  }
  const schedule = () => {
    timer = setTimeout(async () => {
      running = search();
      await running;
      if (!isOver) schedule();
    }, everyMs).unref();
  };
  schedule();
  return {
    async stop() {
      isOver = true;
      clearTimeout(timer);
      await running;
    },
  };
}
