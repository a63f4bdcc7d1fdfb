import { and, eq, inArray } from "drizzle-orm";
import type { Clock } from "../clock.ts";
import type { Database } from "../context.ts";
import { createId, drawText } from "../ids.ts";
import {
  type Dispute,
  type DisputeEvent,
  type Processor,
  ProcessorError,
  type RefundEvent,
  type RefundOutcome,
  type RefundRequest,
  type TestControls,
} from "./processor.ts";
import { testDisputes, testEvents, testIntents, testRefunds } from "./tables.ts";
import { disputeStarts, refundStatuses } from "./test-cards.ts";

type IntentRow = typeof testIntents.$inferSelect;
type RefundRow = typeof testRefunds.$inferSelect;
type DisputeRow = typeof testDisputes.$inferSelect;

const minuteMs = 60_000;
const evidenceMs = 9 * 24 * 60 * minuteMs;
/** A dispute that holds the money back; an inquiry does not yet. */
const held = ["needs_response", "under_review", "lost"] as const satisfies Dispute["status"][];
const open: readonly Dispute["status"][] = ["early_warning", "needs_response", "under_review"];

const isLater = ({ later_at }: RefundRow, now: Date): boolean => later_at !== null && later_at <= now;
function refundOf(row: RefundRow, { currency }: IntentRow, now: Date): RefundOutcome {
  const { refund_id, id, intent_id, amount, reason, created_at } = row;
  const status = (isLater(row, now) && row.later_status) || row.status;
  const failure_reason = status === "failed" ? "expired_or_canceled_card" : null;
  const made = { refund_id, processor_id: id, intent_processor_id: intent_id, amount, currency, reason, created_at };
  return { ...made, status, failure_reason };
}
function getDispute(row: DisputeRow, { organization_id, payment_id, currency }: IntentRow): Dispute {
  const { id, intent_id, status, amount, reason, evidence_due_at, created_at } = row;
  const about = { processor_id: id, intent_processor_id: intent_id, organization_id, payment_id };
  return { ...about, status, amount, currency, reason, created_at, evidence_due_at };
}

type Returns = Pick<Processor, "refund" | "retrieveRefund" | "retrieveDispute" | "acceptDispute"> &
  Pick<TestControls, "openDispute" | "decideDispute" | "refundElsewhere"> & {
    /** Some test cards are disputed as soon as they have been charged. */
    disputeCharge(intent: { processor_id: string }, scenario: string): Promise<void>;
  };

/** What a test processor gives back: refunds, and what buyers' banks take. */
export function createTestReturns(db: Database, clock: Clock, account: string): Returns {
  const emitChange = async (
    tx: Pick<Database, "insert">,
    { organization_id, payment_id, id: intent_processor_id }: IntentRow,
    about: Pick<RefundEvent, "kind" | "refund_id" | "processor_id"> | Pick<DisputeEvent, "kind" | "processor_id">,
    due_at: Date,
  ): Promise<void> => {
    // In their order, so that those that fall due together are told in it.
    const id = `evt_test_${createId(clock.now()).replaceAll("-", "")}`;
    const event = { id, account, organization_id, payment_id, intent_processor_id, ...about };
    await tx.insert(testEvents).values({ id, organization_id, event, due_at });
  };
  const findIntent = async (from: Pick<Database, "select">, id: string): Promise<IntentRow | undefined> =>
    (await from.select().from(testIntents).where(eq(testIntents.id, id)).for("update"))[0];

  const buildReturn = ({
    refund_id,
    intent_processor_id,
    amount,
    reason,
  }: Omit<RefundRequest, "refund_id" | "reason"> & {
    refund_id: string | null;
    reason: RefundRequest["reason"] | null;
  }): Promise<RefundOutcome> =>
    db.transaction(async (tx) => {
      // One refund of an intent at a time, so that together they never exceed it.
      const intent = await findIntent(tx, intent_processor_id);
      if (intent?.status !== "succeeded") throw new ProcessorError("There is no such charge to give back.");
      const now = clock.now();
      const all = await tx.select().from(testRefunds).where(eq(testRefunds.intent_id, intent.id));
      const before = all.find((one) => one.refund_id !== null && one.refund_id === refund_id);
      if (before) return refundOf(before, intent, now);
      const [disputed] = await tx
        .select({ id: testDisputes.id })
        .from(testDisputes)
        .where(and(eq(testDisputes.intent_id, intent.id), inArray(testDisputes.status, [...held])));
      if (disputed) throw new ProcessorError("The charge is disputed and cannot be given back.", "charge_disputed");
      const given = all.map((one) => refundOf(one, intent, now)).filter(({ status }) => status !== "failed");
      if (given.reduce((total, one) => total + one.amount, amount) > intent.amount)
        throw new ProcessorError("The refund is greater than what is left of the charge.", "charge_already_refunded");
      const { first: status, later: later_status = null } = refundStatuses(intent.scenario);
      const later_at = later_status && new Date(now.getTime() + minuteMs);
      const id = `re_test_${drawText(24)}`;
      const { organization_id, id: intent_id } = intent;
      const values = { id, organization_id, refund_id, intent_id, amount, reason, status, later_status, later_at };
      const [made] = await tx
        .insert(testRefunds)
        .values({ ...values, created_at: now })
        .returning();
      if (!made) throw new Error("The refund was not written.");
      const about = { kind: "refund", refund_id, processor_id: id } as const;
      await emitChange(tx, intent, about, now);
      if (later_at) await emitChange(tx, intent, about, later_at);
      return refundOf(made, intent, now);
    });

  const openDispute = (intent_id: string, start: Pick<Dispute, "status" | "reason">): Promise<Dispute> =>
    db.transaction(async (tx) => {
      const intent = await findIntent(tx, intent_id);
      if (intent?.status !== "succeeded") throw new ProcessorError("There is no such charge to dispute.");
      const now = clock.now();
      const { organization_id, amount } = intent;
      const values = { id: `du_test_${drawText(24)}`, organization_id, intent_id, amount, ...start };
      const [made] = await tx
        .insert(testDisputes)
        .values({ ...values, created_at: now, evidence_due_at: new Date(now.getTime() + evidenceMs) })
        .returning();
      if (!made) throw new Error("The dispute was not written.");
      await emitChange(tx, intent, { kind: "dispute", processor_id: made.id }, now);
      return getDispute(made, intent);
    });

  const findDispute = async (id: string) => {
    const [found] = await db
      .select({ dispute: testDisputes, intent: testIntents })
      .from(testDisputes)
      .innerJoin(testIntents, eq(testIntents.id, testDisputes.intent_id))
      .where(eq(testDisputes.id, id));
    return found;
  };
  const decideDispute = (id: string, status: Dispute["status"]): Promise<Dispute> =>
    db.transaction(async (tx) => {
      const [row] = await tx.select().from(testDisputes).where(eq(testDisputes.id, id)).for("update");
      const intent = row && (await findIntent(tx, row.intent_id));
      if (!row || !intent) throw new ProcessorError("There is no such dispute.");
      if (!open.includes(row.status)) return getDispute(row, intent);
      await tx.update(testDisputes).set({ status }).where(eq(testDisputes.id, id));
      await emitChange(tx, intent, { kind: "dispute", processor_id: id }, clock.now());
      return getDispute({ ...row, status }, intent);
    });

  return {
    refund: buildReturn,
    refundElsewhere: (intent_processor_id, amount) =>
      buildReturn({ intent_processor_id, amount, refund_id: null, reason: null }),
    async retrieveRefund(processor_id) {
      const [found] = await db
        .select({ refund: testRefunds, intent: testIntents })
        .from(testRefunds)
        .innerJoin(testIntents, eq(testIntents.id, testRefunds.intent_id))
        .where(eq(testRefunds.id, processor_id));
      return found ? refundOf(found.refund, found.intent, clock.now()) : null;
    },
    async retrieveDispute(processor_id) {
      const found = await findDispute(processor_id);
      return found ? getDispute(found.dispute, found.intent) : null;
    },
    acceptDispute: (processor_id) => decideDispute(processor_id, "lost"),
    openDispute: (intent_processor_id) =>
      openDispute(intent_processor_id, { status: "needs_response", reason: "general" }),
    decideDispute,
    async disputeCharge({ processor_id }, scenario) {
      const start = disputeStarts[scenario];
      if (start) await openDispute(processor_id, start);
    },
  };
}
