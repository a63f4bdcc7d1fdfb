import type { Event, events } from "../../../shared/api/events.ts";
import type { meters } from "../../../shared/api/meters.ts";
import type { Service } from "../../../shared/contract.ts";
import { invalid, notFound } from "../../../shared/errors.ts";
import { firstNames } from "../../../shared/system-events.ts";
import { countUnits } from "../../../shared/usage.ts";
import {
  type Ctx,
  type Database,
  type Deps,
  requireOrganization,
  requireOrganizations,
  type Tx,
} from "../../platform/context.ts";
import { buildPage, loadByOrganization } from "../../platform/db/page.ts";
import { createId } from "../../platform/ids.ts";
import type { MeterRow } from "../meters/rules.ts";
import { findMeters } from "../meters/store.ts";
import type { Batch } from "./ingest.ts";
import { ingestBatch, tryBatch } from "./ingest-queue.ts";
import { attachWorker } from "./jobs.ts";
import * as lists from "./lists.ts";
import { signReceipt } from "./receipts.ts";
import { checkEvents, type EventRow, serializeEvent } from "./rules.ts";
import * as store from "./store.ts";

const serializeEvents = (db: Database, rows: readonly EventRow[]): Promise<Event[]> =>
  loadByOrganization(rows, async (organization_id, own) => {
    const ids = own.flatMap(({ customer_id }) => customer_id ?? []);
    const owners = new Map((await lists.findCustomers(db, organization_id, ids)).map((row) => [row.id, row]));
    const parts = await lists.countParts(
      db,
      organization_id,
      own.map(({ id }) => id),
    );
    return own.map((row) => serializeEvent(row, owners.get(row.customer_id ?? ""), parts.get(row.id) ?? 0));
  });

/** The events of the API. */
export const eventService: Service<typeof events, Ctx> = {
  async list(ctx, { query }) {
    const { filter, meter_id, ...asked } = query;
    const system = ctx.client.generation === "legacy" ? firstNames : undefined;
    const organizations = requireOrganizations(ctx);
    const filters = filter ? [filter] : [];
    let meter: MeterRow | undefined;
    if (meter_id !== undefined) {
      meter = (await Promise.all(organizations.map((one) => findMeters(ctx.db, one, [meter_id])))).flat()[0];
      if (!meter)
        throw invalid({ loc: ["query", "meter_id"], msg: "Meter not found.", type: "value_error", input: meter_id });
    }
    const { items, total } = await lists.listEvents(ctx.db, organizations, { ...asked, filters, meter, system });
    return buildPage(await serializeEvents(ctx.db, items), total, query);
  },
  async names(ctx, { query }) {
    const { items, total } = await lists.listNames(ctx.db, requireOrganizations(ctx), query);
    return buildPage(
      items.map((item) => ({ ...item, label: item.name })),
      total,
      query,
    );
  },
  async get(ctx, { params }) {
    const row = await lists.findEvent(ctx.db, requireOrganization(ctx), params.id);
    const isUnknown = row?.source === "system" && ctx.client.closed && !firstNames.includes(row.name);
    const [event] = row && !isUnknown ? await serializeEvents(ctx.db, [row]) : [];
    if (!event) throw notFound();
    return event;
  },
  async ingest(ctx, { body, query }) {
    const organization_id = requireOrganization(ctx);
    const faults = checkEvents(body.events, ctx.clock.now(), organization_id);
    if (faults.length > 0) throw invalid(...faults);
    const source = ctx.actor.kind === "customer" ? "customer" : "user";
    const batch: Batch = { organization_id, events: body.events, source, isTold: query.representation };
    const made = await (query.preview ? tryBatch(ctx, batch) : ingestBatch(ctx, batch));
    const { inserted, duplicates, events: became } = made;
    return {
      inserted,
      duplicates,
      ...(query.representation ? { events: became } : {}),
      ...(query.receipt && !query.preview ? { receipt: signReceipt(ctx, made) } : {}),
    };
  },
};

/** What meters have counted, by time. */
export const quantityService: Pick<Service<typeof meters, Ctx>, "quantities"> = {
  async quantities(ctx, { params, query }) {
    const [meter] = await findMeters(ctx.db, requireOrganization(ctx), [params.id]);
    if (!meter) throw notFound();
    const found = await lists.findQuantities(ctx.db, meter, query);
    const total = countUnits(found.at(-1)?.quantity ?? "0");
    const quantities = found
      .slice(0, -1)
      .map(({ timestamp, quantity }) => ({ timestamp, quantity: countUnits(quantity) }));
    return { quantities, total };
  },
};

/** Have the events counted that have waited for the external id of a customer (CUS-14). */
export async function attachWaitingEvents(
  tx: Tx,
  ctx: Deps | Ctx,
  { organization_id, external_id }: { organization_id: string; external_id: string },
): Promise<void> {
  const now = ctx.clock.now();
  await store.markWaitingAttachable(tx, {
    id: createId(now),
    organization_id,
    external_customer_id: external_id,
    due_at: now,
  });
  ctx.jobs.wake(tx, attachWorker.name);
}
