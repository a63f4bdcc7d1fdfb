import type { BenefitGrantProperties } from "../../shared/api/benefits.ts";
import type { CustomerRow } from "../customers/rules.ts";
import { emitState } from "../customers/service.ts";
import type { Ctx, Deps, Tx } from "../lib/context.ts";
import { emit } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { RowKey } from "../lib/rows.ts";
import { kinds, termsOf } from "./kinds/index.ts";
import {
  findGraceEnd,
  type Grant,
  type GrantRow,
  grantEventOut,
  type Holder,
  type Plan,
  planGrants,
  type Source,
} from "./rules.ts";
import * as store from "./store.ts";

type Told = "created" | "updated" | "cycled" | "revoked";

/** Say what has become of a grant (BEN-10). */
const emitGrant = (tx: Tx, ctx: Deps | Ctx, what: Told, grant: Grant, before: BenefitGrantProperties): Promise<void> =>
  emit(tx, ctx, grant.row.organization_id, `benefit_grant.${what}`, grantEventOut(grant, before));

/**
 * Hold what everybody has of a source against what it gives, and make that so: what is lost is taken first, then what has changed is
 * brought up to date, what has a new period is cycled, and what is missing is granted (BEN-11). Doing it again changes nothing.
 */
export async function reconcile(
  tx: Tx,
  ctx: Deps | Ctx,
  source: Source,
  { cycles = false, isSettling = false }: { cycles?: boolean; isSettling?: boolean } = {},
): Promise<void> {
  const seen = await store.loadGround(tx, source);
  // Most sell nothing of the kind: they wait for nobody.
  if (!seen || (seen.benefits.length === 0 && seen.grants.length === 0)) return;
  const concerned = [
    ...seen.holders.map(({ customer }) => customer.id),
    ...seen.grants.map(({ row }) => row.customer_id),
  ];
  await store.lockHolders(tx, source.organization_id, concerned);
  // Somebody else may have been at it until now.
  const ground = await store.loadGround(tx, source);
  if (!ground) return;
  const now = ctx.clock.now();
  // Its order is written as paid at the end of the transaction that settles it.
  if (isSettling && ground.order) ground.order = { status: "paid" };
  const plan = planGrants(ground, termsOf, now, cycles);
  const grace_end = findGraceEnd(ground);
  if (grace_end !== null && now < grace_end)
    await store.noteCheck(tx, { ...source, id: newId(now), created_at: now, due_at: grace_end });
  await carryOut(tx, ctx, source, plan);
}

async function carryOut(tx: Tx, ctx: Deps | Ctx, source: Source, plan: Plan): Promise<void> {
  const changed = new Map<string, CustomerRow>();
  for (const grant of plan.revoke) {
    await revoke(tx, ctx, grant);
    changed.set(grant.customer.id, grant.customer);
  }
  for (const grant of plan.update) await update(tx, ctx, grant);
  for (const grant of plan.cycle) await cycle(tx, ctx, grant);
  for (const { benefit, holder, row } of plan.grant) {
    const made = row ?? (await store.insertGrant(tx, newGrant(ctx, source, holder, benefit.id)));
    await give(tx, ctx, { row: made, benefit, customer: holder.customer });
    changed.set(holder.customer.id, holder.customer);
  }
  for (const customer of changed.values()) if (customer.deleted_at === null) await emitState(tx, ctx, customer);
}

function newGrant({ clock }: Deps | Ctx, source: Source, { customer, member_id }: Holder, benefit_id: string) {
  const created_at = clock.now();
  const { organization_id, subscription_id, order_id } = source;
  const id = newId(created_at);
  return {
    id,
    created_at,
    organization_id,
    subscription_id,
    order_id,
    customer_id: customer.id,
    member_id,
    benefit_id,
  };
}

/** Give somebody a benefit, or note why that cannot be done: the world is told of either (BEN-08). */
export async function give(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<Grant> {
  const now = ctx.clock.now();
  const { row, benefit } = grant;
  const outcome = await kinds[benefit.type].grant(tx, ctx, grant);
  const state: Partial<GrantRow> =
    "properties" in outcome
      ? { granted_at: now, error: null, properties: outcome.properties, terms: termsOf(benefit) }
      : { granted_at: null, error: failure(outcome.action_required, now) };
  const after = { ...grant, row: await store.updateGrant(tx, row, { ...state, revoked_at: null, modified_at: now }) };
  await emitGrant(tx, ctx, "created", after, row.properties);
  return after;
}

const failure = (message: string, now: Date): NonNullable<GrantRow["error"]> => ({
  message,
  type: "BenefitActionRequiredError",
  timestamp: now.toISOString(),
});

/** Take a benefit back. Where the customer has it otherwise too, only this grant ends (BEN-09). */
async function revoke(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const now = ctx.clock.now();
  const { row, benefit } = grant;
  const kind = kinds[benefit.type];
  // What has never been granted has left nothing to take back.
  const isLast = kind.isRevokedAlone || (kind.revoke !== undefined && !(await store.hasOther(tx, row)));
  const properties =
    kind.revoke && row.granted_at !== null && isLast ? await kind.revoke(tx, ctx, grant) : row.properties;
  const state = { granted_at: null, error: null, revoked_at: now, modified_at: now, properties };
  await emitGrant(tx, ctx, "revoked", { ...grant, row: await store.updateGrant(tx, row, state) }, row.properties);
}

/** The benefit has changed: who has it gets what it is now (BEN-12). */
async function update(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const { row, benefit } = grant;
  const kind = kinds[benefit.type];
  const outcome = kind.update ? { properties: await kind.update(tx, ctx, grant) } : await kind.grant(tx, ctx, grant);
  const properties = "properties" in outcome ? outcome.properties : row.properties;
  const state = { properties, terms: termsOf(benefit), modified_at: ctx.clock.now() };
  await emitGrant(tx, ctx, "updated", { ...grant, row: await store.updateGrant(tx, row, state) }, row.properties);
}

/** A new period has been paid for (BEN-13). */
async function cycle(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<void> {
  const { row, benefit } = grant;
  const kind = kinds[benefit.type];
  const after = kind.cycle
    ? await store.updateGrant(tx, row, { properties: await kind.cycle(tx, ctx, grant), modified_at: ctx.clock.now() })
    : row;
  await emitGrant(tx, ctx, "cycled", { ...grant, row: after }, row.properties);
}

/** What a grant gave was taken back, or given again, by itself: so is the grant. */
export async function followStatus(
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
