import type { BenefitGrantProperties } from "../../../shared/api/benefits.ts";
import type { CustomerRow } from "../../customers/customers/rules.ts";
import { emitState } from "../../customers/customers/service.ts";
import type { Ctx, Deps, Tx } from "../../platform/context.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { emit } from "../../platform/events/events.ts";
import { createId } from "../../platform/ids.ts";
import { getTerms, kinds } from "./kinds/index.ts";
import {
  findGraceEnd,
  type Grant,
  type GrantHolder,
  type GrantPlan,
  type GrantRow,
  type GrantSource,
  planGrants,
  serializeGrantEvent,
} from "./rules.ts";
import * as store from "./store.ts";

type Told = "created" | "updated" | "cycled" | "revoked";

/** Say what has become of a grant (BEN-10). */
const emitGrant = (tx: Tx, ctx: Deps | Ctx, what: Told, grant: Grant, before: BenefitGrantProperties): Promise<void> =>
  emit(tx, ctx, grant.row.organization_id, `benefit_grant.${what}`, serializeGrantEvent(grant, before));

/**
 * Hold what everybody has of a source against what it gives, and make that so: what is lost is taken first, then what has changed is
 * brought up to date, what has a new period is cycled, and what is missing is granted (BEN-11). Doing it again changes nothing.
 * `paid_period`: the start of a period that an order has paid for.
 */
export async function reconcile(
  tx: Tx,
  ctx: Deps | Ctx,
  source: GrantSource,
  { paid_period = null, isSettling = false }: { paid_period?: Date | null; isSettling?: boolean } = {},
): Promise<void> {
  const seen = await store.loadGrantContext(tx, source);
  // Most sell nothing of the kind: they wait for nobody.
  if (!seen || (seen.benefits.length === 0 && seen.grants.length === 0)) return;
  const concerned = [
    ...seen.holders.map(({ customer }) => customer.id),
    ...seen.grants.map(({ row }) => row.customer_id),
  ];
  await store.lockHolders(tx, source.organization_id, concerned);
  // Somebody else may have been at it until now.
  const ground = await store.loadGrantContext(tx, source);
  if (!ground) return;
  const now = ctx.clock.now();
  // Its order is written as paid at the end of the transaction that settles it.
  if (isSettling && ground.order) ground.order = { status: "paid" };
  if (ground.unpaid_period?.getTime() === paid_period?.getTime()) ground.unpaid_period = null;
  const plan = planGrants(ground, getTerms, now, paid_period !== null);
  const grace_end = findGraceEnd(ground);
  if (grace_end !== null && now < grace_end)
    await store.scheduleCheck(tx, { ...source, id: createId(now), created_at: now, due_at: grace_end });
  await applyPlan(tx, ctx, source, plan);
}

async function applyPlan(tx: Tx, ctx: Deps | Ctx, source: GrantSource, plan: GrantPlan): Promise<void> {
  const changed = new Map<string, CustomerRow>();
  for (const grant of plan.revoke) {
    await revoke(tx, ctx, grant);
    changed.set(grant.customer.id, grant.customer);
  }
  for (const grant of plan.update) await update(tx, ctx, grant);
  for (const grant of plan.cycle) await cycle(tx, ctx, grant);
  for (const { benefit, holder, row } of plan.grant) {
    const made = row ?? (await store.insertGrant(tx, buildGrant(ctx, source, holder, benefit.id)));
    await grantBenefit(tx, ctx, { row: made, benefit, ...holder });
    changed.set(holder.customer.id, holder.customer);
  }
  for (const customer of changed.values()) if (customer.deleted_at === null) await emitState(tx, ctx, customer);
}

function buildGrant({ clock }: Deps | Ctx, source: GrantSource, { customer, member }: GrantHolder, benefit_id: string) {
  const created_at = clock.now();
  const { organization_id, subscription_id, order_id } = source;
  const id = createId(created_at);
  return {
    id,
    created_at,
    organization_id,
    subscription_id,
    order_id,
    customer_id: customer.id,
    member_id: member?.id ?? null,
    benefit_id,
  };
}

/**
 * Give somebody a benefit, or note why that cannot be done: the world is told of either (BEN-08). Of what another service gives it is
 * told once that has answered.
 */
export async function grantBenefit(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<Grant> {
  const now = ctx.clock.now();
  const { row, benefit } = grant;
  const outcome = await kinds[benefit.type].grant(tx, ctx, grant);
  if ("action_required" in outcome)
    return fail(tx, ctx, grant, describeFailure(outcome.action_required, now), "created");
  const { properties, access_id = null } = outcome;
  const state: Partial<GrantRow> = {
    error: null,
    properties,
    terms: getTerms(benefit),
    revoked_at: null,
    modified_at: now,
  };
  if (access_id !== null) {
    const waiting = { ...state, access_id, granted_at: null, telling: "created" as const };
    return { ...grant, row: await store.updateGrant(tx, row, waiting) };
  }
  const after = { ...grant, row: await store.updateGrant(tx, row, { ...state, granted_at: now }) };
  await emitGrant(tx, ctx, "created", after, row.properties);
  return after;
}

/** Of what a grant says, whose account it is for. */
const readAccount = ({ properties: { account_id } }: GrantRow): BenefitGrantProperties =>
  account_id ? { account_id } : {};

type Failure = NonNullable<GrantRow["error"]>;
/** What somebody has to see to before a benefit can be given (BEN-07). */
export const describeFailure = (message: string, now: Date, type = "BenefitActionRequiredError"): Failure => ({
  message,
  type,
  timestamp: now.toISOString(),
});

/** Note why somebody does not have a benefit, and say so. */
async function fail(
  tx: Tx,
  ctx: Deps | Ctx,
  grant: Grant,
  error: Failure,
  what: Told,
  properties: BenefitGrantProperties = grant.row.properties,
): Promise<Grant> {
  const now = ctx.clock.now();
  const { row } = grant;
  const nothing = { granted_at: null, revoked_at: null, access_id: null, telling: null };
  const state = { ...nothing, error, properties, modified_at: now };
  const after = { ...grant, row: await store.updateGrant(tx, row, state) };
  await emitGrant(tx, ctx, what, after, row.properties);
  return after;
}

/** The service that was to give it has let the account in: it is granted, and the world is told. */
export async function completeGrant(
  tx: Tx,
  ctx: Deps | Ctx,
  grant: Grant,
  properties: BenefitGrantProperties,
): Promise<void> {
  const now = ctx.clock.now();
  const { row, customer } = grant;
  const state = { granted_at: row.granted_at ?? now, telling: null, properties, modified_at: now };
  const after = { ...grant, row: await store.updateGrant(tx, row, state) };
  await emitGrant(tx, ctx, row.telling ?? "updated", after, row.properties);
  if (row.granted_at === null) await emitState(tx, ctx, customer);
}

/** Nobody is let in any more, or not yet: note why, and whose account it was. */
export async function failGrant(
  tx: Tx,
  ctx: Deps | Ctx,
  grant: Grant,
  error: Failure,
  properties: BenefitGrantProperties = readAccount(grant.row),
): Promise<void> {
  const { row, customer } = grant;
  await fail(tx, ctx, grant, error, row.telling ?? "updated", properties);
  if (row.granted_at !== null && customer.deleted_at === null) await emitState(tx, ctx, customer);
}

/** Take a benefit back. Where the customer has it otherwise too, only this grant ends (BEN-09). */
async function revoke(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const now = ctx.clock.now();
  const { row, benefit } = grant;
  const kind = kinds[benefit.type];
  // What has never been granted, nor asked for, has left nothing to take back.
  const isHeld = row.granted_at !== null || row.access_id !== null;
  const isLast = kind.isRevokedAlone || (kind.revoke !== undefined && !(await store.hasOther(tx, row)));
  const properties = kind.revoke && isHeld && isLast ? await kind.revoke(tx, ctx, grant) : row.properties;
  const left = { granted_at: null, error: null, access_id: null, telling: null };
  const state = { ...left, revoked_at: now, modified_at: now, properties };
  await emitGrant(tx, ctx, "revoked", { ...grant, row: await store.updateGrant(tx, row, state) }, row.properties);
}

/** The benefit has changed: who has it gets what it is now (BEN-12). */
async function update(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const { row, benefit } = grant;
  const now = ctx.clock.now();
  const outcome = await kinds[benefit.type].grant(tx, ctx, grant);
  if ("action_required" in outcome) return failGrant(tx, ctx, grant, describeFailure(outcome.action_required, now));
  const { properties, access_id = null } = outcome;
  const state = { terms: getTerms(benefit), modified_at: now };
  if (access_id !== null) {
    // It stays what it is until the other service has answered.
    await store.updateGrant(tx, row, { ...state, access_id, telling: row.telling ?? "updated" });
    return;
  }
  const after = { ...grant, row: await store.updateGrant(tx, row, { ...state, properties }) };
  await emitGrant(tx, ctx, "updated", after, row.properties);
}

/** What a grant gave has changed by itself, and how it is told from others with it. */
export async function updateProperties(
  tx: Tx,
  ctx: Deps | Ctx,
  key: RowKey,
  properties: BenefitGrantProperties,
): Promise<void> {
  const found = await store.findGrant(tx, key);
  if (!found) return;
  const row = await store.updateGrant(tx, found.row, { properties, modified_at: ctx.clock.now() });
  await emitGrant(tx, ctx, "updated", { ...found, row }, found.row.properties);
}

/** Take from an account what a grant has let it into; it is given again once the customer says to which one (BEN-80). */
export async function suspendGrant(tx: Tx, ctx: Deps | Ctx, grant: Grant, message: string): Promise<void> {
  await kinds[grant.benefit.type].revoke?.(tx, ctx, grant);
  await failGrant(tx, ctx, grant, describeFailure(message, ctx.clock.now()), {});
}

/** Give somebody what they wait for, or have by another account, to the one that is theirs now. */
export async function regrantBenefit(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  if (grant.row.granted_at === null) await grantBenefit(tx, ctx, grant);
  else await update(tx, ctx, grant);
}

/** A new period has been paid for (BEN-13). */
async function cycle(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const { row, benefit } = grant;
  const kind = kinds[benefit.type];
  const after = kind.cycle
    ? await store.updateGrant(tx, row, {
        properties: await kind.cycle(tx, ctx, grant),
        modified_at: ctx.clock.now(),
      })
    : row;
  await emitGrant(tx, ctx, "cycled", { ...grant, row: after }, row.properties);
}

/** What a grant gave was taken back, or given again, by itself: so is the grant. */
export async function syncStatus(
  tx: Tx,
  ctx: Deps | Ctx,
  key: RowKey,
  status: "granted" | "revoked" | "disabled",
): Promise<void> {
  const found = await store.findGrant(tx, key);
  if (!found) return;
  const { row, customer } = found;
  const isGranted = row.granted_at !== null;
  if (status === "disabled" || isGranted === (status === "granted") || customer.deleted_at !== null) return;
  const now = ctx.clock.now();
  const [granted_at, revoked_at] = isGranted ? [null, now] : [now, null];
  const state = { granted_at, revoked_at, error: null, modified_at: now };
  const after = { ...found, row: await store.updateGrant(tx, row, state) };
  await emitGrant(tx, ctx, isGranted ? "revoked" : "created", after, row.properties);
  await emitState(tx, ctx, customer);
}
