/** What the processor did since a backup, settled one by one: adopted, returned, or left to be settled by hand. */
import { and, eq } from "drizzle-orm";
import { disputes } from "../../billing/disputes/tables.ts";
import { recordProcessorEvent } from "../../billing/payments/notices.ts";
import { isSameAmount, type PaymentRow } from "../../billing/payments/rules.ts";
import { settlePayment } from "../../billing/payments/settlement.ts";
import { payments } from "../../billing/payments/tables.ts";
import { refunds } from "../../billing/refunds/tables.ts";
import { processDueSubscription } from "../../billing/subscriptions/billing.ts";
import { subscriptions } from "../../billing/subscriptions/tables.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { withSellerClock } from "../../platform/clock.ts";
import type { Database, Deps } from "../../platform/context.ts";
import { matchKey, type RowKey } from "../../platform/db/rows.ts";
import { createDerivedId, deriveIdPrefix } from "../../platform/ids.ts";
import type { DisputeEvent, ListedCharge, RefundEvent } from "../../platform/processors/processor.ts";
import { beginRestore, findOpenRestore, recordLeftOver, settleRestore } from "./detection.ts";

/**
 * `known`: nothing to do. `adopt`: it becomes the payment of this database. `refund`: its money goes back. `keep`: it is settled by
 * hand. `cancel`: it was not paid yet, and cannot be any more. `returned`: its money went back before. `disputed`: the bank holds
 * the money. `mismatch`: a payment of this database is over another amount. `foreign`: its organization is unknown here. `unknown`:
 * nobody has said what becomes of it. `failed`: the processor or the database refused.
 */
export type Outcome =
  | ("known" | "adopt" | "refund" | "keep" | "cancel" | "returned")
  | ("disputed" | "mismatch" | "foreign" | "unknown" | "failed");

/** Outcomes after which something is left that stands against money of a buyer. */
const unsettled: ReadonlySet<Outcome> = new Set(["unknown", "failed"]);
/** Outcomes that the operator has to settle by hand. */
const leftToHand: ReadonlySet<Outcome> = new Set([...unsettled, "mismatch", "foreign", "disputed"]);

export type Finding = {
  kind: "charge" | "refund" | "dispute";
  outcome: Outcome;
  processor_id: string;
  organization_id: string;
  payment_id: string;
  /** Minor units; null of refunds and disputes, which are asked for later. */
  amount: number | null;
  currency: string | null;
  created_at: Date | null;
  /** What the charge was for, in the words of its metadata. */
  purpose: string | null;
  error: string | null;
};

export type Reconciliation = {
  since: Date;
  /** Without it, nothing is written and nothing is asked for but lists. */
  isApplied: boolean;
  /** What becomes of a charge that this database cannot adopt; null: it is only listed. */
  unknown: "refund" | "keep" | null;
  report(finding: Finding): void;
};

/**
 * Settle everything since a time, and end the restore when nothing is left, which is answered. It can be broken off and run again
 * at any point.
 */
export async function reconcileRestore(deps: Deps, asked: Reconciliation): Promise<boolean> {
  if (!asked.isApplied) return reconcileAll(deps, asked);
  const restore = (await findOpenRestore(deps.db)) ?? (await beginRestore(deps, "operator"));
  const left: Record<string, number> = {};
  const report = (finding: Finding): void => {
    const { outcome } = finding;
    if (leftToHand.has(outcome)) left[outcome] = (left[outcome] ?? 0) + 1;
    asked.report(finding);
  };
  const isSettled = await reconcileAll(deps, { ...asked, report });
  await recordLeftOver(deps.db, restore, left);
  if (isSettled) await settleRestore(deps, restore);
  return isSettled;
}

async function reconcileAll(deps: Deps, asked: Reconciliation): Promise<boolean> {
  const { listCharges, listReturns } = deps.processor;
  if (!listCharges || !listReturns) return true;
  let isSettled = true;
  const settle = async (about: Omit<Finding, "outcome" | "error">, work: () => Promise<Outcome>): Promise<void> => {
    const { outcome, error } = await work().then(
      (made) => ({ outcome: made, error: null }),
      (failure: Error) => ({ outcome: "failed" as const, error: failure.message }),
    );
    if (unsettled.has(outcome)) isSettled = false;
    asked.report({ ...about, outcome, error });
  };
  for await (const charge of listCharges(asked.since)) {
    if (charge.status === "failed") continue;
    const { processor_id, organization_id, payment_id, amount, currency, created_at, reference } = charge;
    const about = { processor_id, organization_id, payment_id, amount, currency, created_at };
    const purpose = describePurpose(reference);
    await settle({ kind: "charge", ...about, purpose }, () => reconcileCharge(deps, charge, asked));
  }
  for await (const notice of listReturns(asked.since)) {
    const { kind, processor_id, organization_id, payment_id } = notice;
    const about = { processor_id, organization_id, payment_id, amount: null, currency: null };
    await settle({ kind, ...about, created_at: null, purpose: null }, () => reconcileReturn(deps, notice, asked));
  }
  return isSettled;
}

const describePurpose = ({ trigger, subscription_id, period_start, checkout_id, order_id }: Record<string, string>) =>
  [
    trigger ?? "charge",
    ...(subscription_id ? [`subscription ${subscription_id}`] : []),
    ...(period_start ? [`period ${period_start.slice(0, 10)}`] : []),
    ...(checkout_id ? [`checkout ${checkout_id}`] : []),
    ...(order_id ? [`order ${order_id}`] : []),
  ].join(", ");

async function findPayment(db: Database, key: RowKey): Promise<PaymentRow | undefined> {
  const [row] = await db.select().from(payments).where(matchKey(payments, key));
  return row;
}

async function reconcileCharge(server: Deps, charge: ListedCharge, asked: Reconciliation): Promise<Outcome> {
  const { organization_id, payment_id: id } = charge;
  const seller = await findOrganization(server.db, organization_id);
  if (!seller) return "foreign";
  const deps = withSellerClock(server, seller);
  const key = { organization_id, id };
  const known = await findPayment(deps.db, key);
  if (known) return reconcileKnown(deps, known, charge, asked);
  const subscription = await findDueSubscription(deps, charge);
  if (subscription) {
    if (!asked.isApplied) return "adopt";
    // The period is billed as the same order as before, whose charge is found by its key.
    await processDueSubscription(deps, subscription);
    const adopted = await findPayment(deps.db, key);
    if (adopted?.status === "succeeded" && adopted.processor_id === charge.processor_id) return "adopt";
    if (adopted) return reconcileKnown(deps, adopted, charge, asked);
  }
  return reconcileUnknown(deps, charge, asked);
}

/** The subscription whose period a charge was for, where it is due. */
async function findDueSubscription({ db, clock }: Deps, charge: ListedCharge): Promise<RowKey | undefined> {
  const { organization_id } = charge;
  const { subscription_id: id, period_start } = charge.reference;
  if (!id || !period_start || charge.is_returned) return undefined;
  const key = { organization_id, id };
  const [row] = await db
    .select({ due_at: subscriptions.due_at })
    .from(subscriptions)
    .where(matchKey(subscriptions, key));
  return row?.due_at && row.due_at <= clock.now() ? key : undefined;
}

async function reconcileKnown(
  deps: Deps,
  payment: PaymentRow,
  charge: ListedCharge,
  asked: Reconciliation,
): Promise<Outcome> {
  if (charge.status !== "succeeded") return "known";
  const isOther = payment.processor_id !== null && payment.processor_id !== charge.processor_id;
  if (isOther) return reconcileUnknown(deps, charge, asked);
  if (payment.status === "succeeded") return "known";
  if (charge.is_returned) return "returned";
  if (!isSameAmount(payment, charge)) return "mismatch";
  if (asked.isApplied) await settlePayment(deps, payment, charge);
  return "adopt";
}

async function reconcileUnknown(
  { processor }: Deps,
  charge: ListedCharge,
  { isApplied, unknown }: Reconciliation,
): Promise<Outcome> {
  const { payment_id, processor_id, created_at, amount, refunded_amount } = charge;
  if (charge.status !== "succeeded") {
    if (isApplied) await processor.cancel({ payment_id, processor_id, created_at });
    return "cancel";
  }
  if (charge.is_returned) return "returned";
  if (charge.is_disputed) return "disputed";
  if (unknown === null) return "unknown";
  if (unknown === "refund" && isApplied)
    await processor.refund({
      // The same charge is returned once, however often this is run.
      refund_id: createDerivedId(deriveIdPrefix(created_at, "reconciled", processor_id), 0),
      intent_processor_id: processor_id,
      amount: amount - refunded_amount,
      reason: "requested_by_customer",
    });
  return unknown;
}

/** A refund or dispute of a payment of this database becomes due, as by the processor's notice of it. */
async function reconcileReturn(
  deps: Deps,
  notice: RefundEvent | DisputeEvent,
  { isApplied }: Reconciliation,
): Promise<Outcome> {
  const { organization_id, payment_id: id, processor_id } = notice;
  if (!(await findOrganization(deps.db, organization_id))) return "foreign";
  // Of a charge that is unknown here, its own line says that its money went back.
  if (!(await findPayment(deps.db, { organization_id, id }))) return "known";
  const table = notice.kind === "refund" ? refunds : disputes;
  const [row] = await deps.db
    .select({ id: table.id })
    .from(table)
    .where(
      and(eq(table.organization_id, organization_id), eq(table.payment_id, id), eq(table.processor_id, processor_id)),
    );
  if (row) return "known";
  if (isApplied) await recordProcessorEvent(deps, notice);
  return "adopt";
}
