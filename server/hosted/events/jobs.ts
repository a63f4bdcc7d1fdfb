import { lt, sql } from "drizzle-orm";
import { api } from "../../../shared/api/index.ts";
import type { Operation } from "../../../shared/contract.ts";
import { type EventType, eventTypes, payloads } from "../../../shared/events.ts";
import type { Deps, Tx } from "../../platform/context.ts";
import { openTokens } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { recordForeignEvent } from "../../platform/events/events.ts";
import { createCleanupWorker, type Worker } from "../../platform/jobs/workers.ts";
import { createConnectionWorkers } from "../connection/jobs.ts";
import { buildObject, findKind, listObjects, type MirroredKind } from "../mirror/rules.ts";
import { storeObject, storeObjects } from "../mirror/store.ts";
import type { Hosted } from "../relay/hosted.ts";
import { closeEvent, dropPayloads, type IncomingEvent, lockEvent } from "./store.ts";
import { incomingEvents } from "./tables.ts";

const dayMs = 24 * 60 * 60 * 1000;
const [keptDays, payloadDays] = [90, 30];
/** So many issues of a payload of the wrong shape are kept. */
const issuesMax = 20;

const shapes: Readonly<Partial<Record<string, (typeof payloads)[keyof typeof payloads]>>> = {
  ...payloads,
  "subscription.migrated": payloads["subscription.updated"],
};
/** Where an object of a kind is read at Polar. */
const readers: Partial<Record<MirroredKind, Operation>> = {
  benefit: api.benefits.get,
  checkout: api.checkouts.get,
  customer: api.customers.get,
  customer_state: api.customers.getState,
  discount: api.discounts.get,
  order: api.orders.get,
  organization: api.organizations.get,
  product: api.products.get,
  subscription: api.subscriptions.get,
};

type Envelope = { type: EventType; data: Record<string, unknown> };

/** Apply an event, in any order; what was applied already is not due any more. */
async function applyEvent(deps: Deps, hosted: Hosted, key: RowKey): Promise<void> {
  const reading = await transact(deps, async (tx) => {
    const event = await lockEvent(tx, key);
    if (!event) return undefined;
    const { type, data } = readPayload(deps, event);
    const object_id = typeof data.id === "string" ? data.id.slice(0, 100) : null;
    const close = (state: IncomingEvent["state"], error?: string) => closeEvent(tx, key, state, object_id, error);
    const shape = eventTypes.includes(type) ? shapes[type] : undefined;
    const { polar_id } = hosted.requireLink();
    const owner = type === "organization.updated" ? data.id : data.organization_id;
    if (!shape || (owner !== undefined && owner !== polar_id)) {
      if (shape) deps.log.warn({ type }, "An event of another organization was ignored.");
      return close("ignored");
    }
    const read = shape.safeDecode(data as never);
    if (read.success) return applyObjects(tx, deps, event, data, close);
    const issues = read.error.issues
      .slice(0, issuesMax)
      .map(({ path, code }) => `${["<root>", ...path].join(".")} ${code}`);
    deps.log.warn({ type, issues }, "An event has another shape than Polar publishes; its object is read instead.");
    await close("invalid", issues.join("\n"));
    const kind = findKind(type);
    return kind && object_id !== null ? { kind, id: object_id } : undefined;
  });
  if (reading) await readObject(deps, hosted, key.organization_id, reading);
}

function readPayload({ config }: Deps, { organization_id, payload }: IncomingEvent): Envelope {
  return JSON.parse(openTokens(config.secrets, "event-tokens", organization_id, payload ?? "{}")) as Envelope;
}

async function applyObjects(
  tx: Tx,
  deps: Deps,
  { id, organization_id, type, event_at, webhook_id }: IncomingEvent,
  data: Envelope["data"],
  close: (state: IncomingEvent["state"]) => Promise<void>,
): Promise<undefined> {
  const objects = listObjects(type, data, { source: webhook_id, event_at });
  const written = await storeObjects(tx, deps.config, organization_id, objects);
  await recordForeignEvent(tx, deps, { id, organization_id, type, data, created_at: event_at });
  await close(written ? "applied" : "stale");
}

/** Read an object of Polar, and keep it as told at the time at which it was asked for. */
export async function readObject(
  deps: Deps,
  hosted: Hosted,
  organization_id: string,
  { kind, id }: { kind: MirroredKind; id: string },
): Promise<void> {
  const op = readers[kind];
  if (!op) return;
  const event_at = deps.clock.now();
  const path = op.path.replace(":id", encodeURIComponent(id));
  const call = { operation: `${kind}.read`, op, path, body: undefined, sent: undefined };
  const { status, json } = await hosted.relay({ ...call, token: deps.config.POLAR_ACCESS_TOKEN ?? "" });
  if (status !== 200) return;
  const object = buildObject(kind, json as Record<string, unknown>, { source: "read", event_at, via: "read" });
  if (object) await storeObject(deps.db, deps.config, organization_id, object);
}

/** The workers of hosted mode. */
export const createHostedWorkers = (hosted: Hosted): Worker[] => [
  {
    name: "incoming_events.apply",
    pollIntervalMs: 1000,
    due: {
      table: incomingEvents,
      id: incomingEvents.id,
      organization_id: incomingEvents.organization_id,
      at: incomingEvents.due_at,
      where: sql`${incomingEvents.due_at} is not null`,
    },
    concurrency: 8,
    run: (deps, [key]) => applyEvent(deps, hosted, key),
  },
  {
    name: "incoming_events.drop_payloads",
    pollIntervalMs: 10 * 60 * 1000,
    limit: 1000,
    runBatch: (deps, limit) => dropPayloads(deps, new Date(deps.clock.now().getTime() - payloadDays * dayMs), limit),
  },
  createCleanupWorker("incoming_events.forget", 10 * 60 * 1000, incomingEvents, (now) =>
    lt(incomingEvents.received_at, new Date(now.getTime() - keptDays * dayMs)),
  ),
  ...createConnectionWorkers(hosted),
];
