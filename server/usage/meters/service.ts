import type { CustomerMeter, customerMeters } from "../../../shared/api/customer-meters.ts";
import type { meters } from "../../../shared/api/meters.ts";
import { findMonthAfter } from "../../../shared/calendar.ts";
import type { Input, Service } from "../../../shared/contract.ts";
import { invalid, notFound } from "../../../shared/errors.ts";
import { computeBalance } from "../../../shared/usage.ts";
import { serializeCustomer } from "../../customers/customers/rules.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../platform/context.ts";
import { type Batch, getOnly, listAccepted, mapAccepted, mapById } from "../../platform/db/batches.ts";
import { buildPage } from "../../platform/db/page.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { createId } from "../../platform/ids.ts";
import { withConcurrencyLimit } from "../../platform/jobs/concurrency.ts";
import { recountWorker } from "./jobs.ts";
import { checkUpdate, type MeterRow, planUpdate, serializeMeter } from "./rules.ts";
import * as store from "./store.ts";
import { verifyMeters } from "./verification.ts";

/** Make meters, in as many statements for one as for a thousand; answers them in their order. */
export async function createMeters(
  tx: Tx,
  ctx: Ctx,
  bodies: readonly Input<(typeof meters)["create"]>["body"][],
): Promise<MeterRow[]> {
  const organization_id = requireOrganization(ctx);
  const created_at = ctx.clock.now();
  // Events that came before are counted, too, though never billed (MTR-12).
  const recount_at = (await store.hasIngested(tx, organization_id)) ? created_at : null;
  if (recount_at) ctx.jobs.wake(tx, recountWorker.name);
  const values = bodies.map(({ organization_id: _, custom_label = null, custom_multiplier = null, ...given }) => ({
    ...given,
    custom_label,
    custom_multiplier,
    ...{ id: createId(created_at), organization_id, created_at, recount_at },
  }));
  const rows = new Map((await store.insertMeters(tx, values)).map((row) => [row.id, row]));
  return values.flatMap(({ id }) => rows.get(id) ?? []);
}

type Changed = { id: string; body: Input<(typeof meters)["update"]>["body"] };

/** Change meters, in as many statements for one as for a thousand. */
export async function updateMeters(tx: Tx, ctx: Ctx, changes: readonly Changed[]): Promise<Batch<MeterRow>> {
  const organization_id = requireOrganization(ctx);
  const isRemade = ({ body }: Changed) => body.filter !== undefined || body.aggregation !== undefined;
  // Nobody counts by what it was once it is something else.
  if (changes.some((change) => isRemade(change) || change.body.is_archived !== undefined))
    await store.haltCounting(tx, organization_id);
  const ids = changes.map(({ id }) => id);
  const rows = mapById(await store.lockMeters(tx, organization_id, ids));
  const remade = changes.filter(isRemade).flatMap(({ id }) => rows.get(id) ?? []);
  const archived = changes.filter(({ body }) => body.is_archived).flatMap(({ id }) => rows.get(id) ?? []);
  const used = await store.findUses(tx, organization_id, archived);
  const counted = await store.findCounted(tx, organization_id, remade);
  const now = ctx.clock.now();
  const drafts = changes.map(({ id, body }) => {
    const row = rows.get(id);
    if (!row) return notFound();
    const use = { priced: used.priced.has(row.id), credited: used.credited.has(row.id), counted: counted.has(row.id) };
    const faults = checkUpdate(row, body, use);
    return faults.length > 0 ? invalid(...faults) : { row, patch: planUpdate(row, body, now) };
  });
  const changed = listAccepted(drafts).filter(({ patch }) => Object.keys(patch).length > 0);
  if (changed.some(({ patch }) => patch.recount_at)) ctx.jobs.wake(tx, recountWorker.name);
  const updated = mapById(await store.updateMeters(tx, changed));
  return mapAccepted(drafts, ({ row }) => updated.get(row.id) ?? row);
}

/** The meters of the API; what they have counted is answered by the domain that has the events. */
export const meterService: Omit<Service<typeof meters, Ctx>, "quantities"> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listMeters(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeMeter), total, query);
  },
  async get(ctx, { params }) {
    const [row] = await store.findMeters(ctx.db, requireOrganization(ctx), [params.id]);
    if (!row) throw notFound();
    return serializeMeter(row);
  },
  create: (ctx, { body }) => transact(ctx, async (tx) => serializeMeter(getOnly(await createMeters(tx, ctx, [body])))),
  update: (ctx, { params, body }) =>
    transact(ctx, async (tx) => serializeMeter(getOnly(await updateMeters(tx, ctx, [{ id: params.id, body }])))),
};

type Use = NonNullable<Awaited<ReturnType<typeof store.findUse>>>;
/** What a customer has used, as it is answered. */
export const serializeCustomerMeter = ({ use, customer, meter }: Use): CustomerMeter => ({
  ...use,
  ...computeBalance(use),
  customer: serializeCustomer(customer),
  meter: serializeMeter(meter),
});

/** The customer meters of the API. */
export const customerMeterService: Service<typeof customerMeters, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await store.listUses(ctx.db, requireOrganizations(ctx), query);
    return buildPage(items.map(serializeCustomerMeter), total, query);
  },
  verify(ctx, { query }) {
    const months = ctx.config.FLOE_EVENTS_KEPT_MONTHS;
    const kept_since = months === undefined ? null : findMonthAfter(getServerClock(ctx.clock).now(), -months);
    const organization_id = requireOrganization(ctx);
    return withConcurrencyLimit(ctx.db, `verify ${organization_id}`, 1, () =>
      verifyMeters(ctx.db, organization_id, { ...query, kept_since }),
    );
  },
  async get(ctx, { params }) {
    const found = await store.findUse(ctx.db, { organization_id: requireOrganization(ctx), id: params.id });
    if (!found) throw notFound();
    return serializeCustomerMeter(found);
  },
};
