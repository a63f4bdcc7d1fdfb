import type { EventCreate, IngestedEvent } from "../../../shared/api/events.ts";
import { type Fault, fault, invalid } from "../../../shared/errors.ts";
import { isUuid } from "../../../shared/uuid.ts";
import { markFirstUse } from "../../customers/customers/store.ts";
import type { Ctx, Tx } from "../../platform/context.ts";
import { createId, getTimeOfId } from "../../platform/ids.ts";
import { yieldToForeground } from "../../platform/jobs/priority.ts";
import { findWindows, type UsagePeriod } from "../meters/balances-store.ts";
import { MeterResetConflictError } from "../meters/consumption.ts";
import { type CountOutcome, countUse } from "../meters/counting.ts";
import { findLandings } from "../meters/period-assignment.ts";
import { type EventRow, getStatus, hashEvent } from "./rules.ts";
import * as store from "./store.ts";

/** What one request has sent. */
export type Batch = {
  organization_id: string;
  events: readonly EventCreate[];
  /** Who sends the events: the seller, or a customer in their own session. */
  source: "user" | "customer";
  /** Whether it is asked where events are billed that came before. */
  isTold?: boolean | undefined;
};
/** What became of it. */
export type Ingested = { inserted: number; duplicates: number; events: IngestedEvent[] };

/** More events than these take milliseconds to prepare and to count. */
const heavyEvents = 100;

/** An event on its way into the table. */
type Coming = { event: EventCreate; index: number; batch: Batch; row: EventRow; digest: string };

const listUnique = <T>(values: Iterable<T | null | undefined>): T[] => [
  ...new Set([...values].filter((value): value is T => value !== null && value !== undefined)),
];

/**
 * Write the batches of an organization, and count what is in them, in one transaction. Each batch is taken as a whole, or
 * answered by the faults that it has. What is locked is locked in one order: external ids of customers, customers,
 * external ids of events, what customers have used.
 */
export async function writeBatches(
  tx: Tx,
  ctx: Ctx,
  organization_id: string,
  batches: readonly Batch[],
): Promise<(Ingested | Error)[]> {
  const all = batches.flatMap(({ events }) => events);
  const standing = await store.findStanding(tx, organization_id, {
    ids: listUnique(all.map(({ customer_id }) => customer_id)),
    external_ids: listUnique(all.map(({ external_customer_id }) => external_customer_id)),
    keys: listUnique(all.map(({ external_id }) => external_id)),
  });
  const named = await resolve(tx, ctx, organization_id, all, standing);
  const parents = await findParents(tx, organization_id, all);
  const isHeavy = all.length > heavyEvents;
  if (isHeavy) await yieldToForeground();
  const now = ctx.clock.now();
  const faults = new Map(batches.map((batch) => [batch, checkBatch(batch, named, parents)]));
  const taken = batches.filter((batch) => faults.get(batch)?.length === 0);
  const coming = taken.flatMap((batch) =>
    batch.events.map((event, index): Coming => {
      const row = getRow(event, batch, named.customerOf(event)?.id ?? null, now);
      return { event, index, batch, row, digest: event.external_id ? hashEvent(event) : "" };
    }),
  );
  const newcomers = listUnique(coming.map(({ event }) => named.customerOf(event))).filter(
    ({ first_user_event_at }) => first_user_event_at === null,
  );
  if (newcomers.length > 0) {
    const ids = newcomers.map(({ id }) => id);
    await markFirstUse(tx, organization_id, ids, now);
  }
  const { known, keys } = matchKeys(coming, standing.keys);
  const fresh = coming.filter((one) => !known.has(one));
  addParents(coming, fresh, parents, known);
  if (isHeavy) await yieldToForeground();
  const rows = fresh.map(({ row }) => row);
  const became = await countUse(tx, ctx, organization_id, rows, {
    isNew: true,
    standing,
    async write(used) {
      const { taken, moved, version } = await store.insertUse(tx, organization_id, rows, { keys, used });
      if (taken < keys.length || moved || version !== standing.version) throw new MeterResetConflictError();
    },
  });
  const repeated = coming.filter((one) => one.batch.isTold && known.get(one)?.digest === one.digest);
  const landed = await findLandings(
    tx,
    organization_id,
    repeated.map((one) => describeRepeated(one, known.get(one))),
    now,
  );
  const counted = new Map<Coming, Partial<CountOutcome>>(fresh.map((one, index) => [one, became[index] ?? {}]));
  for (const [index, one] of repeated.entries()) counted.set(one, landed[index] ?? {});
  const answers = new Map(taken.map((batch): [Batch, IngestedEvent[]] => [batch, []]));
  for (const one of coming) {
    const { event, row, digest } = one;
    const key = known.get(one);
    const { customer_id } = row;
    const { isCounted = false, isLate = false, period = null } = counted.get(one) ?? {};
    answers.get(one.batch)?.push({
      id: key?.event_id ?? row.id,
      external_id: event.external_id ?? null,
      status: getStatus({ digest, known: key?.digest, customer_id, isCounted, isLate }),
      is_late: isLate,
      period,
    });
  }
  return batches.map((batch) => {
    const events = answers.get(batch);
    if (!events) return invalid(...(faults.get(batch) ?? []));
    const duplicates = events.filter(({ status }) => status === "duplicate" || status === "conflict").length;
    return { inserted: events.length - duplicates, duplicates, events };
  });
}

/** An event as it was counted when it came first: where it says no time, that was its time. */
const describeRepeated = ({ event, row }: Coming, key: store.EventKey | undefined) => {
  const id = key?.event_id ?? row.id;
  return { ...row, id, timestamp: event.timestamp ?? new Date(getTimeOfId(id)) };
};

type Customers = { customerOf(event: EventCreate): store.NamedCustomer | undefined };

/** Whose events these are. External ids that nobody has are noted, so that whoever will have one finds the events. */
async function resolve(
  tx: Tx,
  ctx: Ctx,
  organization_id: string,
  events: readonly EventCreate[],
  standing: { customers: store.NamedCustomer[]; windows: UsagePeriod[] },
): Promise<Customers> {
  const found = standing.customers;
  const byExternal = new Map(found.map((one) => [one.external_id, one]));
  const unknown = listUnique(events.map(({ external_customer_id }) => external_customer_id)).filter(
    (one) => !byExternal.has(one),
  );
  if (unknown.length > 0) {
    const now = ctx.clock.now();
    const rows = unknown.map((external_customer_id) => ({ id: createId(now), external_customer_id }));
    await store.insertWaiting(tx, organization_id, rows);
    // One who has been made a moment ago has waited for nobody.
    const newcomers = await store.findNamed(tx, organization_id, unknown);
    for (const one of newcomers) {
      found.push(one);
      byExternal.set(one.external_id, one);
    }
    const ids = newcomers.map(({ id }) => id);
    standing.windows.push(...(await findWindows(tx, organization_id, ids)));
  }
  const byId = new Map(found.map((one) => [one.id, one]));
  return {
    customerOf: ({ customer_id, external_customer_id }) =>
      customer_id === undefined ? byExternal.get(external_customer_id ?? null) : byId.get(customer_id),
  };
}

type Parents = {
  /** Events that were there before, by what they are called as parents. */
  depths: Map<string, { id: string; depth: number }>;
};

/** The events that are named as parents and are there already. */
async function findParents(tx: Tx, organization_id: string, events: readonly EventCreate[]): Promise<Parents> {
  const names = listUnique(events.map(({ parent_id }) => parent_id));
  const depths: Parents["depths"] = new Map();
  if (names.length === 0) return { depths };
  const keys = await store.findKeys(tx, organization_id, names);
  const own = new Map(keys.map(({ external_id, event_id }) => [external_id, event_id]));
  const ids = names.flatMap((name) => own.get(name) ?? (isUuid(name) ? name.toLowerCase() : []));
  const rows = new Map((await store.findParents(tx, organization_id, listUnique(ids))).map((row) => [row.id, row]));
  for (const name of names) {
    const row = rows.get(own.get(name) ?? name.toLowerCase());
    if (row) depths.set(name, row);
  }
  return { depths };
}

/** The faults of a batch that only the database shows. */
function checkBatch({ events }: Batch, { customerOf }: Customers, parents: Parents): Fault[] {
  const circling = findCircling(events, parents);
  const inBatch = new Set(events.map(({ external_id }) => external_id));
  return events.flatMap((event, index): Fault[] => {
    const { customer_id, parent_id } = event;
    const buildFault = (field: string, msg: string, input: unknown) => [
      fault(["events", index, field], msg, "value_error", input),
    ];
    if (customer_id !== undefined && !customerOf(event))
      return buildFault("customer_id", "Customer not found.", customer_id);
    if (!parent_id || parents.depths.has(parent_id)) return [];
    if (circling.has(index)) return buildFault("parent_id", "An event is no part of itself.", parent_id);
    return inBatch.has(parent_id)
      ? []
      : buildFault("parent_id", "There is no such event, nor one in this batch.", parent_id);
  });
}

/** The events of a batch that would be parts of themselves, by their places. */
function findCircling(events: readonly EventCreate[], { depths }: Parents): Set<number> {
  const places = new Map<string, number>();
  for (const [index, { external_id }] of events.entries())
    if (external_id && !places.has(external_id)) places.set(external_id, index);
  const circling = new Set<number>();
  const seen = new Set<number>();
  for (const start of events.keys()) {
    const way: number[] = [];
    let at: number | undefined = start;
    while (at !== undefined && !seen.has(at)) {
      seen.add(at);
      way.push(at);
      const parent_id: string | null | undefined = events[at]?.parent_id;
      at = parent_id && !depths.has(parent_id) ? places.get(parent_id) : undefined;
    }
    const begins = at === undefined ? -1 : way.indexOf(at);
    if (begins >= 0) for (const place of way.slice(begins)) circling.add(place);
  }
  return circling;
}

const getRow = (event: EventCreate, batch: Batch, customer_id: string | null, now: Date): EventRow => ({
  id: createId(now),
  organization_id: batch.organization_id,
  timestamp: event.timestamp ?? now,
  name: event.name,
  source: batch.source,
  customer_id,
  external_customer_id: event.external_customer_id ?? null,
  external_id: event.external_id ?? null,
  parent_id: null,
  depth: 0,
  member_id: event.member_id ?? null,
  external_member_id: event.external_member_id ?? null,
  metadata: event.metadata,
});

/**
 * Which events came before, in these batches or ever, with what took their external ids; and the external ids that are still to be
 * taken.
 */
function matchKeys(coming: readonly Coming[], found: readonly store.EventKey[]) {
  const firsts = new Map(found.map((key) => [key.external_id, key]));
  const keys: store.EventKey[] = [];
  const known = new Map<Coming, store.EventKey>();
  for (const one of coming) {
    const { event, row, digest } = one;
    const { external_id } = event;
    if (!external_id) continue;
    const first = firsts.get(external_id);
    if (first) known.set(one, { ...first, digest: first.digest.replaceAll("-", "") });
    else {
      const key = { external_id, event_id: row.id, digest };
      firsts.set(external_id, key);
      keys.push(key);
    }
  }
  return { known, keys };
}

/** Levels beyond this are one: nobody asks for them apart. */
const depthMax = 1000;

/** Say of which events the new ones are parts: of such as were there, or of others of their batch, whichever of them comes first. */
function addParents(
  coming: readonly Coming[],
  fresh: readonly Coming[],
  { depths }: Parents,
  known: ReadonlyMap<Coming, store.EventKey>,
): void {
  const inBatch = new Map<string, Coming>();
  for (const one of coming)
    if (one.event.external_id && !inBatch.has(one.event.external_id)) inBatch.set(one.event.external_id, one);
  const left = new Set(fresh.filter(({ event }) => event.parent_id));
  for (const one of left) {
    const way: Coming[] = [];
    for (let at: Coming | undefined = one; at && left.delete(at); ) {
      way.push(at);
      at = depths.has(at.event.parent_id ?? "") ? undefined : inBatch.get(at.event.parent_id ?? "");
    }
    // From the top down, as each lies a level below its own.
    for (const { event, row } of way.reverse()) {
      const name = event.parent_id ?? "";
      const before = depths.get(name);
      const parent = inBatch.get(name);
      const parent_id = before?.id ?? (parent && (known.get(parent)?.event_id ?? parent.row.id));
      if (parent_id === undefined) continue;
      const depth = Math.min(depthMax, (before ?? parent?.row ?? row).depth + 1);
      Object.assign(row, { parent_id, depth });
    }
  }
}
