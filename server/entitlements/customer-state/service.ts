import type { z } from "zod";
import type { CustomerBalance, CustomerState, customers } from "../../../shared/api/customers.ts";
import type { Service } from "../../../shared/contract.ts";
import { computeBalance, computeUsageAmount, countUnits } from "../../../shared/usage.ts";
import { listBalances } from "../../billing/orders/balances.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import { requireCustomer } from "../../customers/customers/service.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import type { Ctx, Database, Deps, Tx } from "../../platform/context.ts";
import { emit } from "../../platform/events/events.ts";
import { createId } from "../../platform/ids.ts";
import { aggregateSharedUsage, type CustomerHoldings, claimState, findHoldings, insertStateNotice } from "./store.ts";

/** Everything a customer has now. */
async function loadState(db: Database, row: CustomerRow): Promise<CustomerState> {
  const held = await findHoldings(db, row);
  const shared = new Set(held.running.filter(({ seats }) => seats !== null).map(({ id }) => id));
  const own = held.paid.filter(({ subscription_id }) => !shared.has(subscription_id));
  return describeState(row, {
    ...held,
    paid: [...own, ...(await aggregateSharedUsage(db, row.organization_id, held.shared))],
  });
}

function describeState(
  row: CustomerRow,
  { running, granted, used, paid }: Omit<CustomerHoldings, "shared">,
): CustomerState {
  const active_subscriptions = running.map(({ status, ...subscription }) => ({
    ...subscription,
    status: status === "trialing" ? ("trialing" as const) : ("active" as const),
    units: null,
    meters: paid
      .filter(({ subscription_id }) => subscription_id === subscription.id)
      .map(({ use: { id, created_at, modified_at, meter_id, credited_units, ...use }, ...price }) => ({
        ...{ id, created_at, modified_at, meter_id, credited_units, consumed_units: countUnits(use.consumed_units) },
        // A trial's use is free.
        amount:
          status === "trialing" ? 0 : computeUsageAmount({ ...price, ...use, credited_units, before_units: null }),
      })),
  }));
  const granted_benefits = granted.map(({ id, created_at, modified_at, granted_at, benefit, properties }) => ({
    id,
    created_at,
    modified_at,
    granted_at: granted_at ?? created_at,
    benefit_id: benefit.id,
    benefit_type: benefit.type,
    benefit_metadata: benefit.metadata,
    properties,
  }));
  const active_meters = used.map(({ id, created_at, modified_at, meter_id, ...use }) => ({
    ...{ id, created_at, modified_at, meter_id },
    ...computeBalance(use),
  }));
  return { ...serializeCustomer(row), active_subscriptions, granted_benefits, active_meters };
}

/** The job that emits a customer's state once more. */
export const stateWorkerName = "customers.tell_state";

/**
 * Emit what a customer has now. Two transactions that change it at the same time do not see each other's change: the second one
 * schedules one more event after both, so that the last event is complete.
 */
export async function emitCustomerState(
  tx: Tx,
  ctx: Deps | Ctx,
  { customer, isNew = false }: { customer: CustomerRow; isNew?: boolean },
): Promise<void> {
  const { organization_id, id: customer_id } = customer;
  if (isNew) {
    const state = describeState(customer, { running: [], granted: [], used: [], paid: [] });
    return emit(tx, ctx, organization_id, "customer.state_changed", state);
  }
  // The claim comes before the read: a transaction that has ended by then is seen, and one that has not makes the claim fail.
  const isAlone = await claimState(tx, customer);
  await emit(tx, ctx, organization_id, "customer.state_changed", await loadState(tx, customer));
  if (isAlone) return;
  const now = ctx.clock.now();
  await insertStateNotice(tx, { id: createId(now), organization_id, created_at: now, customer_id, due_at: now });
  ctx.jobs.wake(tx, stateWorkerName);
}

/** What a customer has or owes, first in the organization's currency. */
async function describeBalance(ctx: Ctx, row: CustomerRow): Promise<z.output<typeof CustomerBalance>> {
  const currency = (await findOrganization(ctx.db, row.organization_id))?.default_presentment_currency ?? "usd";
  const rows = await listBalances(ctx.db, row);
  const balances = rows.map(({ amount, ...of }) => ({ balance: amount, currency: of.currency }));
  return { balance: balances.find((one) => one.currency === currency)?.balance ?? 0, currency, balances };
}

type StateOperations = "getState" | "getStateExternal" | "getBalance";
/** The operations that read a customer's state. */
export const customerStateService: Pick<Service<typeof customers, Ctx>, StateOperations> = {
  getBalance: async (ctx, { params }) => describeBalance(ctx, await requireCustomer(ctx, params)),
  getState: async (ctx, { params }) => loadState(ctx.db, await requireCustomer(ctx, params)),
  getStateExternal: async (ctx, { params }) => loadState(ctx.db, await requireCustomer(ctx, params)),
};
