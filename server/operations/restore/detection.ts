/** Whether the database was restored from a backup: the processor, or the database's own cluster, knows more than it. */
import { and, desc, eq, isNotNull, isNull, max, ne, sql } from "drizzle-orm";
import { beginNumberSeries } from "../../billing/orders/numbers.ts";
import { payments } from "../../billing/payments/tables.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { organization } from "../../identity/organizations/tables.ts";
import { getServerClock } from "../../platform/clock.ts";
import type { Database, Deps } from "../../platform/context.ts";
import { matchKey } from "../../platform/db/rows.ts";
import { restores } from "../../platform/db/tables.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { beginEpoch, hasForeignEvents } from "../../platform/events/epoch.ts";
import { createId } from "../../platform/ids.ts";
import type { ListedCharge } from "../../platform/processors/processor.ts";

export type RestoreRow = typeof restores.$inferSelect;

/** The processor's clock may differ by so much. */
const clockMarginMs = 10 * 60_000;
/** Without a payment of its own, a database asks for what is this old at most. */
const unpaidSearchMs = 30 * 86_400_000;
/** So many charges are looked at to find one that is unknown: those that came after a backup are the newest. */
const checkedMax = 300;
/** A start waits for the processor no longer than this. */
const checkTimeoutMs = 10_000;

/** The restore whose charges are not settled yet. */
export async function findOpenRestore(db: Database): Promise<RestoreRow | undefined> {
  const [row] = await db.select().from(restores).where(isNull(restores.settled_at)).orderBy(desc(restores.id)).limit(1);
  return row;
}

/** When the newest payment of this database was begun, less a margin. */
export async function findNewestPaymentTime({ db, clock }: Pick<Deps, "db" | "clock">): Promise<Date> {
  const newest = db
    .select({ created_at: payments.created_at })
    .from(payments)
    .where(eq(payments.organization_id, organization.id))
    .orderBy(desc(payments.created_at))
    .limit(1)
    .as("newest");
  const [row] = await db
    .select({ at: max(newest.created_at) })
    .from(organization)
    .crossJoinLateral(newest)
    .where(eq(organization.sandbox, false));
  const at = row?.at?.getTime() ?? getServerClock(clock).now().getTime() - unpaidSearchMs;
  return new Date(at - clockMarginMs);
}

/**
 * Since when charges may be unknown: since the newest payment, or since the last restore was settled. What was charged before then
 * was looked at, and some of it stays unknown: it was refunded, or kept by the operator.
 */
export async function findUncheckedTime(deps: Deps): Promise<Date> {
  const [settled] = await deps.db
    .select({ at: max(restores.settled_at) })
    .from(restores)
    .where(ne(restores.reason, "cluster"));
  const newest = await findNewestPaymentTime(deps);
  return new Date(Math.max(newest.getTime(), settled?.at?.getTime() ?? 0));
}

/** Whether a charge is of an organization of this database, but not of a payment of it. */
export async function isUnknownCharge(db: Database, charge: ListedCharge): Promise<boolean> {
  const { organization_id, payment_id: id } = charge;
  const [row] = await db.select({ id: payments.id }).from(payments).where(matchKey(payments, { organization_id, id }));
  return !row && (await findOrganization(db, organization_id)) !== undefined;
}

/** A charge that was made after the newest payment of this database, or since a time; undefined where there is none. */
export async function findUnknownCharge(deps: Deps, since?: Date): Promise<ListedCharge | undefined> {
  const { listCharges } = deps.processor;
  if (!listCharges) return undefined;
  let checked = 0;
  for await (const charge of listCharges(since ?? (await findUncheckedTime(deps)))) {
    if (await isUnknownCharge(deps.db, charge)) return charge;
    checked += 1;
    if (checked === checkedMax) return undefined;
  }
  return undefined;
}

const formatSeries = (now: Date): string => now.toISOString().replace(/\D/g, "").slice(2, 12);

/**
 * Write down that the database was restored. From then on events are of a new epoch (RST-05). Where charges may be unknown,
 * invoice numbers are of a new series (RST-03), and the server is in maintenance until the charges are settled (RST-04).
 */
export async function beginRestore(deps: Deps, reason: RestoreRow["reason"]): Promise<RestoreRow> {
  const now = getServerClock(deps.clock).now();
  return transact(deps, async (tx) => {
    // Servers that start side by side find the same.
    await tx.execute(sql`lock table ${restores} in exclusive mode`);
    const open = await findOpenRestore(tx);
    if (open) return open;
    const settled_at = reason === "cluster" ? now : null;
    if (!settled_at) await beginNumberSeries(tx, formatSeries(now));
    const values = { id: createId(now), created_at: now, reason, event_offset: await beginEpoch(tx), settled_at };
    const [row] = await tx.insert(restores).values(values).returning();
    if (!row) throw new Error("The restore was not written.");
    return row;
  });
}

/** Write down what a reconciliation left to be settled by hand, so that it is not forgotten. */
export async function recordLeftOver(db: Database, { id }: RestoreRow, left: Record<string, number>): Promise<void> {
  const left_over = Object.keys(left).length > 0 ? left : null;
  await db.update(restores).set({ left_over }).where(eq(restores.id, id));
}

/** What the newest restore has left to be settled by hand; null if nothing. */
export async function findLeftOver(db: Database): Promise<RestoreRow["left_over"]> {
  const [row] = await db.select({ left: restores.left_over }).from(restores).orderBy(desc(restores.id)).limit(1);
  return row?.left ?? null;
}

/** It was settled by hand. */
export async function clearLeftOver(db: Database): Promise<void> {
  await db.update(restores).set({ left_over: null }).where(isNotNull(restores.left_over));
}

/** The charges of a restore are settled: the server leaves maintenance at its next start. */
export async function settleRestore(deps: Deps, { id }: RestoreRow): Promise<void> {
  const settled_at = getServerClock(deps.clock).now();
  await deps.db
    .update(restores)
    .set({ settled_at })
    .where(and(eq(restores.id, id), isNull(restores.settled_at)));
}

/**
 * Look for signs of a restore, and write it down. Answers the restore whose charges are to be settled, if there is one. A
 * processor that gives no answer delays nothing: a charge that is repeated is known by its key (RST-01).
 */
export async function checkForRestore(deps: Deps): Promise<RestoreRow | undefined> {
  if (await hasForeignEvents(deps.db)) await beginRestore(deps, "cluster");
  const open = await findOpenRestore(deps.db);
  if (open) return open;
  const timeout = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error("It did not answer in time.")), checkTimeoutMs).unref();
  });
  try {
    const unknown = await Promise.race([findUnknownCharge(deps), timeout]);
    if (!unknown) return undefined;
    const { processor_id, organization_id } = unknown;
    deps.log.error(
      { processor_id, organization_id },
      "The processor knows a charge that this database does not: it was restored from a backup. The server is in maintenance until `floe admin reconcile` has settled what is unknown.",
    );
  } catch (error) {
    deps.log.warn({ err: error }, "Whether the processor knows newer charges could not be checked.");
    return undefined;
  }
  return beginRestore(deps, "processor");
}
