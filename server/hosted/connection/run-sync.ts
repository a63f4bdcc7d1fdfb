import { setTimeout as sleep } from "node:timers/promises";
import type { Deps } from "../../platform/context.ts";
import { listIds } from "../mirror/sync-store.ts";
import type { Hosted } from "../relay/hosted.ts";
import {
  addCounts,
  emptyCount,
  findNextPage,
  listings,
  pageSize,
  type SyncCounts,
  type SyncKind,
  syncKinds,
} from "./rules.ts";
import { beginSync, findSync, type SyncRow } from "./store.ts";
import { comparePage, readItem, readPage, runStep } from "./sync.ts";

/** At most five requests a second, so that a sync leaves Polar's limit to the sellers. */
const stepMs = 200;

export type SyncProgress = { kind: SyncKind | null; done: number; total: number; counts: SyncCounts };
export type SyncResult = { kinds: readonly SyncKind[]; counts: SyncCounts; isResumed: boolean; isFinished: boolean };
export type SyncRun = {
  kinds: readonly SyncKind[] | undefined;
  report?: (progress: SyncProgress) => void;
  signal?: AbortSignal | undefined;
};

const describeProgress = ({ kinds, position, page, total, stage, counts }: SyncRow): SyncProgress => ({
  kind: kinds[position] ?? null,
  done: stage === "gone" ? total : Math.min((page - 1) * pageSize, total),
  total,
  counts,
});

/** Wait until a step that began then has taken its time. */
const waitForTurn = (began: number, signal: AbortSignal | undefined) =>
  sleep(Math.max(stepMs - (performance.now() - began), 0), undefined, signal ? { signal } : {});

/** Go on with a sync until it is finished or its time is over. Answers it as it stands then. */
export async function continueSync(
  deps: Deps,
  hosted: Hosted,
  sync: SyncRow,
  { report, signal, untilMs = Number.POSITIVE_INFINITY }: Pick<SyncRun, "report" | "signal"> & { untilMs?: number },
): Promise<SyncRow> {
  let current = sync;
  const first = performance.now();
  while (current.finished_at === null && performance.now() - first < untilMs) {
    signal?.throwIfAborted();
    const began = performance.now();
    const taken = (await runStep(deps, hosted, current)) ?? (await findSync(deps.db, sync.organization_id));
    if (!taken) return current;
    // To find that no object is left to look up asks nothing of Polar.
    const wasAsked = current.stage === "list" || taken.position === current.position;
    current = taken;
    report?.(describeProgress(current));
    if (wasAsked && current.finished_at === null) await waitForTurn(began, signal);
  }
  return current;
}

/** Bring the mirror up to what Polar's lists say. A run of the same kinds that was broken off is continued. */
export async function runSync(deps: Deps, hosted: Hosted, { kinds = syncKinds, ...run }: SyncRun): Promise<SyncResult> {
  const { organization_id } = hosted.requireLink();
  const stored = await findSync(deps.db, organization_id);
  const isResumed = stored?.finished_at === null && stored.kinds.join() === kinds.join();
  const fresh = { organization_id, started_at: deps.clock.now(), kinds: [...kinds], is_automatic: false };
  const sync = isResumed ? stored : await beginSync(deps.db, fresh);
  const ended = await continueSync(deps, hosted, sync, run);
  return { kinds, counts: ended.counts, isResumed, isFinished: ended.finished_at !== null };
}

/** Compare the mirror with Polar's lists, and write nothing. */
export async function checkMirror(
  deps: Deps,
  hosted: Hosted,
  { kinds = syncKinds, report, signal }: SyncRun,
): Promise<SyncResult> {
  const { organization_id } = hosted.requireLink();
  const counts: SyncCounts = {};
  for (const kind of kinds) {
    const seen = new Set<string>();
    let count = { ...emptyCount };
    for (let at = { page: 1, total: 0, returns: 0 }; ; ) {
      signal?.throwIfAborted();
      const began = performance.now();
      const page = await readPage(deps, hosted, kind, at.page);
      const fresh = page.items.filter(({ id }) => !seen.has(id));
      for (const { id } of fresh) seen.add(id);
      count = addCounts(count, (await comparePage(deps, organization_id, kind, fresh)).count);
      counts[kind] = count;
      report?.({ kind, done: seen.size, total: page.total, counts });
      const next = findNextPage(at, page);
      await waitForTurn(began, signal);
      if (!next) break;
      at = { ...next, total: page.total };
    }
    counts[kind] = { ...count, gone: await countGone(deps, hosted, kind, seen, signal) };
  }
  return { kinds, counts, isResumed: false, isFinished: true };
}

/** How many objects of the mirror Polar does not have any more: those that no page had are looked up. */
async function countGone(
  deps: Deps,
  hosted: Hosted,
  kind: SyncKind,
  seen: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (listings[kind].get === undefined) return 0;
  const { organization_id } = hosted.requireLink();
  let gone = 0;
  for (let after = ""; ; ) {
    const ids = await listIds(deps.db, organization_id, kind, after, 1000);
    for (const id of ids.filter((known) => !seen.has(known))) {
      signal?.throwIfAborted();
      const began = performance.now();
      if ((await readItem(deps, hosted, kind, id)) === undefined) gone += 1;
      await waitForTurn(began, signal);
    }
    const last = ids.at(-1);
    if (last === undefined) return gone;
    after = last;
  }
}
