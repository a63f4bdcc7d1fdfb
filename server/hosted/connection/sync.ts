import { isDeepStrictEqual } from "node:util";
import type { Deps } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { buildObject, type MirroredObject } from "../mirror/rules.ts";
import { storeObject } from "../mirror/store.ts";
import { findForms, findUnseen, markGone, markSeen, type StoredForm } from "../mirror/sync-store.ts";
import type { Hosted } from "../relay/hosted.ts";
import { findPublishedQuery } from "../relay/request.ts";
import { PolarConnectionError, sendToPolar } from "./ask.ts";
import { addCounts, emptyCount, findNextPage, listings, pageSize, type SyncCount, type SyncKind } from "./rules.ts";
import { advanceSync, type SyncRow } from "./store.ts";

type Item = Record<string, unknown> & { id: string };
export type ListPage = {
  /** Those of the linked organization. */
  items: Item[];
  size: number;
  total: number;
  max_page: number;
  asked_at: Date;
};

/** A page of what Polar has of a kind, the oldest objects first. */
export async function readPage(deps: Deps, hosted: Hosted, kind: SyncKind, page: number): Promise<ListPage> {
  const { list, sorting } = listings[kind];
  const { polar_id } = hosted.requireLink();
  const isFiltered = findPublishedQuery(list)?.has("organization_id") === true;
  const query = { page, limit: pageSize, sorting, ...(isFiltered ? { organization_id: polar_id } : {}) };
  const asked_at = deps.clock.now();
  const { status, json } = await sendToPolar(deps, hosted, `${kind}.sync`, list, { query });
  const { items, pagination } = (json ?? {}) as { items?: unknown; pagination?: Record<string, unknown> };
  if (status !== 200 || !Array.isArray(items) || !pagination)
    throw new PolarConnectionError(`Polar answered something else than a list of the kind ${kind}.`);
  const isOwn = (item: Item) =>
    kind === "organization" ? item.id === polar_id : (item.organization_id ?? polar_id) === polar_id;
  const own = (items as Item[]).filter((item) => typeof item?.id === "string" && isOwn(item));
  const readNumber = (value: unknown) => (typeof value === "number" ? value : 0);
  return {
    items: own,
    size: items.length,
    ...{ total: readNumber(pagination.total_count), max_page: readNumber(pagination.max_page) },
    asked_at,
  };
}

export type Comparison = { count: SyncCount; differing: Item[] };

/** Whether what Polar lists says the same as the stored form: an event may say more, such as what was there before. */
const isSame = (item: Item, form: StoredForm): boolean =>
  !form.isDeleted && Object.entries(item).every(([name, value]) => isDeepStrictEqual(value, form.data[name]));

/** How the objects of a page differ from the mirror. */
export async function comparePage(deps: Deps, organization_id: string, kind: SyncKind, items: readonly Item[]) {
  const ids = items.map(({ id }) => id);
  const forms = await findForms(deps.db, deps.config, organization_id, kind, ids);
  const made: Comparison = { count: { ...emptyCount }, differing: [] };
  for (const item of items) {
    const form = forms.get(item.id);
    if (form && isSame(item, form)) made.count.equal += 1;
    else {
      made.count[form ? "changed" : "added"] += 1;
      made.differing.push(item);
    }
  }
  return made;
}

const buildSynced = (kind: SyncKind, item: Item, event_at: Date): MirroredObject | undefined =>
  buildObject(kind, item, { source: "sync", event_at, via: "sync" });

const updateCounts = ({ counts }: SyncRow, kind: SyncKind, count: SyncCount): SyncRow["counts"] => ({
  ...counts,
  [kind]: addCounts(counts[kind] ?? emptyCount, count),
});

/**
 * One step of a sync: a page that is read and stored, or an object that no page had and that is looked up. What is stored and how
 * far the sync is are one transaction, so that it goes on after a kill at any place. Answers the sync as it stands then;
 * undefined where another process took the step.
 */
export async function runStep(deps: Deps, hosted: Hosted, sync: SyncRow): Promise<SyncRow | undefined> {
  const kind = sync.kinds[sync.position];
  if (kind === undefined) return transact(deps, (tx) => advanceSync(tx, sync, { finished_at: deps.clock.now() }));
  return sync.stage === "list" ? storePage(deps, hosted, sync, kind) : resolveUnseen(deps, hosted, sync, kind);
}

async function storePage(deps: Deps, hosted: Hosted, sync: SyncRow, kind: SyncKind): Promise<SyncRow | undefined> {
  const { organization_id, started_at } = sync;
  const { items, asked_at, ...listed } = await readPage(deps, hosted, kind, sync.page);
  const { count, differing } = await comparePage(deps, organization_id, kind, items);
  const next = findNextPage(sync, listed);
  const isListOnly = listings[kind].get === undefined;
  const following = { page: 1, returns: 0, after: "", ...(isListOnly ? { position: sync.position + 1 } : {}) };
  const moved = next ?? { ...following, stage: isListOnly ? ("list" as const) : ("gone" as const) };
  return transact(deps, async (tx) => {
    const counts = updateCounts(sync, kind, count);
    const advanced = await advanceSync(tx, sync, { ...moved, counts, total: next || !isListOnly ? listed.total : 0 });
    if (!advanced) return undefined;
    for (const item of differing.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const object = buildSynced(kind, item, asked_at);
      if (object) await storeObject(tx, deps.config, organization_id, object);
    }
    const ids = items.map(({ id }) => id);
    await markSeen(tx, organization_id, kind, ids, started_at);
    return advanced;
  });
}

/** Read one object of Polar; undefined where it is not there. */
export async function readItem(deps: Deps, hosted: Hosted, kind: SyncKind, id: string): Promise<Item | undefined> {
  const { get } = listings[kind];
  if (!get) throw new Error(`Objects of the kind ${kind} are not read one by one.`);
  const { status, json } = await sendToPolar(deps, hosted, `${kind}.sync`, get, { params: { id } });
  return status === 404 ? undefined : (json as Item);
}

async function resolveUnseen(deps: Deps, hosted: Hosted, sync: SyncRow, kind: SyncKind): Promise<SyncRow | undefined> {
  const { organization_id, started_at, after } = sync;
  const id = await findUnseen(deps.db, organization_id, kind, { started_at, after });
  if (id === undefined) {
    const following = { position: sync.position + 1, stage: "list", page: 1, total: 0, after: "" } as const;
    return transact(deps, (tx) => advanceSync(tx, sync, following));
  }
  const asked_at = deps.clock.now();
  const item = await readItem(deps, hosted, kind, id);
  const { count, differing } = item
    ? await comparePage(deps, organization_id, kind, [item])
    : { count: { ...emptyCount, gone: 1 }, differing: [] };
  return transact(deps, async (tx) => {
    const advanced = await advanceSync(tx, sync, { after: id, counts: updateCounts(sync, kind, count) });
    if (!advanced) return undefined;
    const [object] = differing.map((differs) => buildSynced(kind, differs, asked_at));
    if (object) await storeObject(tx, deps.config, organization_id, object);
    if (item) await markSeen(tx, organization_id, kind, [id], started_at);
    else await markGone(tx, organization_id, kind, id, asked_at);
    return advanced;
  });
}
