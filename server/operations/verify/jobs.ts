/**
 * Checks the books of sellers while they sell: what changed since the last check, within a minute. What breaks a rule holds the
 * money of that seller only (RST-10).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { setMoneyHold } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Deps } from "../../platform/context.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { record, systemActor } from "../../platform/events/audit.ts";
import { createId } from "../../platform/ids.ts";
import type { Worker } from "../../platform/jobs/workers.ts";
import { bookChecks, moneyHolds } from "../../platform/telemetry/metrics.ts";
import { type Breach, formatBreach } from "./rules.ts";
import { customerOrdersMax, verifyCustomers } from "./scoped.ts";
import * as store from "./store.ts";

const pollIntervalMs = 15_000;
/** A breach is looked for again after this time, in a new snapshot, before it holds money. */
const confirmMs = 2000;
/** A statement of a check ends after this time, so that it never holds up sales. */
const statementMs = 5000;
/** A process that dies while it checks is followed by another after this time. */
const leaseMs = 60_000;
const sellersMax = 50;
const reasonLengthMax = 300;
/** Until when a seller who was checked is left alone. */
const computeRest = (now: Date): Date => new Date(now.getTime() + pollIntervalMs / 2);

/** What tells one breach from another: a rule and its row, whatever the numbers are by now. */
export const getBreachKey = ({ rule, row }: Breach): string => `${rule} ${row}`;

const writeEntry = (action: string, organization_id: string, details: Record<string, unknown>) => ({
  action,
  actor: systemActor,
  subject: { type: "organization", id: organization_id },
  organization_id,
  details,
  ip_address: null,
  user_agent: null,
});

async function findBreaches(deps: Deps, check: store.ClaimedCheck, customers: readonly string[]): Promise<Breach[]> {
  const { breaches, left_out } = await verifyCustomers(deps.db, check.organization_id, customers, statementMs);
  if (left_out.length > 0) {
    bookChecks.add({ outcome: "left_out" }, left_out.length);
    deps.log.info(
      { organization_id: check.organization_id, customers: left_out.length },
      `Customers with more than ${customerOrdersMax} orders are not checked while they buy. floe verify checks them.`,
    );
  }
  const accepted = new Set(check.accepted);
  return breaches.filter((breach) => !accepted.has(getBreachKey(breach)));
}

/** What two looks, each at one moment, both find: no transaction that was between two states is among it. */
async function confirmBreaches(deps: Deps, check: store.ClaimedCheck, customers: readonly string[]): Promise<Breach[]> {
  const first = await findBreaches(deps, check, customers);
  if (first.length === 0) return [];
  await sleep(confirmMs);
  const seen = new Set(first.map(getBreachKey));
  return (await findBreaches(deps, check, customers)).filter((breach) => seen.has(getBreachKey(breach)));
}

/** Check what changed of a seller since the last time. */
async function checkChanged(deps: Deps, check: store.ClaimedCheck): Promise<void> {
  const now = getServerClock(deps.clock).now();
  const { customers, cursor, isLast } = await store.listChanged(deps.db, check);
  const found = customers.length === 0 ? [] : await confirmBreaches(deps, check, customers);
  const { organization_id } = check;
  const reason = found.map(formatBreach).join("; ").slice(0, reasonLengthMax);
  const isHeld = await transact(deps, async (tx) => {
    // Another process has taken it over: what it finds counts.
    const isOwn = await store.moveOn(tx, check, { ...cursor, rests_until: isLast ? computeRest(now) : null });
    if (!isOwn || found.length === 0) return false;
    await store.addHeld(tx, check, { customers, breaches: found });
    const isNew = await setMoneyHold(tx, organization_id, { at: now, reason });
    if (isNew) await record(tx, deps, writeEntry("organization.money_held", organization_id, { reason }));
    return isNew;
  });
  bookChecks.add({ outcome: found.length > 0 ? "broken" : "right" });
  if (!isHeld) return;
  moneyHolds.add();
  deps.log.error(
    { organization_id, breaches: found },
    "The books of a seller break a rule: nothing of it is charged or refunded. See floe admin money-holds.",
  );
}

/** Check again why a seller's money is held. If every rule holds by now, the money moves again. */
async function checkHeld(deps: Deps, check: store.ClaimedCheck, held: store.Held): Promise<void> {
  const { organization_id } = check;
  const found = await findBreaches(deps, check, held.customers);
  const now = getServerClock(deps.clock).now();
  const isReleased = await transact(deps, async (tx) => {
    const isOwn = await store.moveOn(tx, check, { rests_until: computeRest(now) });
    if (!isOwn || found.length > 0) return false;
    await store.clearHeld(tx, organization_id);
    const isNew = await setMoneyHold(tx, organization_id, null);
    if (isNew)
      await record(
        tx,
        deps,
        writeEntry("organization.money_released", organization_id, { reason: "its books are right again" }),
      );
    return isNew;
  });
  if (isReleased) deps.log.warn({ organization_id }, "The books of a seller are right again: its money moves again.");
}

/** Let the money of a seller move again by the operator's word. What breaks a rule now does not hold it again. */
export function releaseMoney(deps: Pick<Deps, "db" | "clock" | "log">, organization_id: string): Promise<boolean> {
  return transact(deps, async (tx) => {
    const isReleased = await setMoneyHold(tx, organization_id, null);
    const accepted = ((await store.lockHeld(tx, organization_id))?.breaches ?? []).map(getBreachKey);
    await store.clearHeld(tx, organization_id, accepted);
    const details = { reason: "the operator released it", accepted };
    if (isReleased) await record(tx, deps, writeEntry("organization.money_released", organization_id, details));
    return isReleased;
  });
}

async function checkOne(deps: Deps, organization_id: string): Promise<void> {
  const now = getServerClock(deps.clock).now();
  const until = new Date(now.getTime() + leaseMs);
  const check = await store.claim(deps.db, { organization_id, lease: createId(now), now, until });
  if (!check) return;
  try {
    // What is held is looked at first: what was found there is not found again among what changed.
    if (check.held) await checkHeld(deps, check, check.held);
    else await checkChanged(deps, check);
  } catch (error) {
    bookChecks.add({ outcome: "failed" });
    deps.log.error(
      { err: error, organization_id },
      "The books of a seller could not be checked; it will be tried again.",
    );
  }
}

/** Checks the books of sellers of whom something changed (RST-10). Sandboxes have no money, so they are left out. */
export const bookCheckWorker: Worker = {
  name: "books.check",
  pollIntervalMs,
  limit: sellersMax,
  async runBatch(deps, limit) {
    const sellers = await store.listToCheck(deps.db, getServerClock(deps.clock).now(), limit);
    for (const organization_id of sellers) await checkOne(deps, organization_id);
    return sellers.length;
  },
};
