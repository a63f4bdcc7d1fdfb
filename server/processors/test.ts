import { and, eq, sum } from "drizzle-orm";
import { ApiError, type Fault, fault } from "../../shared/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Database } from "../lib/context.ts";
import { randomText } from "../lib/ids.ts";
import {
  type Card,
  type CardInput,
  type Charge,
  type Intent,
  type Processor,
  ProcessorError,
  type RefundOutcome,
  type SetupOutcome,
} from "./processor.ts";
import { testIntents, testRefunds, testSetups, testTokens } from "./tables.ts";
import { outcomes, savedOutcome, setupOutcome, testMethods, testNumbers } from "./test-cards.ts";

type Row = typeof testIntents.$inferSelect;
const intentOf = ({ id, created_at: _, ...row }: Row): Intent => ({ ...row, processor_id: id });
function setupOf(row: typeof testSetups.$inferSelect): SetupOutcome {
  const { setup_id, id, status, client_secret, customer_processor_id, decline, method_id, card } = row;
  const method = status === "succeeded" ? { processor_id: method_id, card } : null;
  return { setup_id, processor_id: id, status, client_secret, customer_processor_id, decline, method };
}
function refundOf({ refund_id, id, status }: typeof testRefunds.$inferSelect): RefundOutcome {
  return { refund_id, processor_id: id, status, failure_reason: null };
}
/** What was decided for a scenario of the test cards. */
function known<T>(outcome: T | undefined): T {
  if (outcome === undefined) throw new Error("There is no such test scenario.");
  return outcome;
}

/** Every fault of a card's form, before its number is looked at. */
function cardFaults({ exp_month, exp_year, cvc }: CardInput, brand: string, now: Date): Fault[] {
  const faults: Fault[] = [];
  const past =
    exp_year < now.getUTCFullYear() || (exp_year === now.getUTCFullYear() && exp_month < now.getUTCMonth() + 1);
  if (exp_month < 1 || exp_month > 12) faults.push(fault(["card", "exp_month"], "The month is one of 1 to 12."));
  if (past) faults.push(fault(["card", "exp_year"], "The card has expired."));
  if (!(brand === "amex" ? /^\d{3,4}$/ : /^\d{3}$/).test(cvc))
    faults.push(fault(["card", "cvc"], "The security code is incomplete."));
  return faults;
}

/**
 * A processor for trying floe out: it takes the well-known test cards and nothing else, moves no money, and keeps its
 * books in tables of its own, as one far away would. It is reached outside of our transactions, like any other.
 */
export function testProcessor(db: Database, clock: Clock): Processor {
  const find = async (payment_id: string): Promise<Intent | null> => {
    const [row] = await db.select().from(testIntents).where(eq(testIntents.payment_id, payment_id));
    return row ? intentOf(row) : null;
  };
  const move = async (where: ReturnType<typeof eq>, patch: Partial<Row>): Promise<Intent | null> => {
    const [row] = await db
      .update(testIntents)
      .set(patch)
      .where(and(where, eq(testIntents.status, "requires_action")))
      .returning();
    if (row) return intentOf(row);
    const [settled] = await db.select().from(testIntents).where(where);
    return settled ? intentOf(settled) : null;
  };
  const methodOf = async (token: string): Promise<{ card: Card; scenario: string }> => {
    const method = Object.hasOwn(testMethods, token) ? testMethods[token] : undefined;
    if (method) return method;
    const [row] = await db.select().from(testTokens).where(eq(testTokens.id, token));
    if (!row) throw new ProcessorError("This payment method is not known. Enter the card again.");
    return row;
  };
  /** The first intent of a payment; a repeated charge finds it. */
  const charge = async (
    { organization_id, payment_id, amount, currency }: Omit<Charge, "confirmation_token_id">,
    card: Card,
    outcome: Pick<Intent, "status" | "decline">,
  ): Promise<Intent> => {
    const id = `pi_test_${randomText(24)}`;
    const client_secret = `${id}_secret_${randomText(24)}`;
    const asked = { organization_id, payment_id, amount, currency, card, ...outcome };
    const [made] = await db
      .insert(testIntents)
      .values({ ...asked, id, client_secret, created_at: clock.now() })
      .onConflictDoNothing()
      .returning();
    const intent = made ? intentOf(made) : await find(payment_id);
    if (!intent) throw new Error("The intent was not written.");
    return intent;
  };
  const findSetup = async (setup_id: string): Promise<SetupOutcome> => {
    const [row] = await db.select().from(testSetups).where(eq(testSetups.setup_id, setup_id));
    if (!row) throw new Error(`There is no set-up ${setup_id}.`);
    return setupOf(row);
  };
  return {
    publishable_key: null,
    async confirm(one) {
      const { card, scenario } = await methodOf(one.confirmation_token_id);
      return charge(one, card, known(outcomes[scenario]));
    },
    async chargeSaved(one) {
      const { method_processor_id, customer_processor_id } = one;
      const [method] = await db
        .select()
        .from(testSetups)
        .where(
          and(
            eq(testSetups.method_id, method_processor_id),
            eq(testSetups.customer_processor_id, customer_processor_id),
            eq(testSetups.status, "succeeded"),
          ),
        );
      if (!method) throw new ProcessorError("This customer has no such payment method.");
      return charge(one, method.card, known(savedOutcome(method.scenario)));
    },
    async saveMethod({ setup_id, confirmation_token_id, customer }) {
      const { card, scenario } = await methodOf(confirmation_token_id);
      const id = `seti_test_${randomText(24)}`;
      const row = {
        setup_id,
        id,
        client_secret: `${id}_secret_${randomText(24)}`,
        customer_processor_id: customer.processor_id ?? `cus_test_${customer.id}`,
        ...known(setupOutcome(scenario)),
        method_id: `pm_test_${randomText(24)}`,
        scenario,
        card,
        created_at: clock.now(),
      };
      await db.insert(testSetups).values(row).onConflictDoNothing();
      return findSetup(setup_id);
    },
    retrieveSetup: ({ setup_id }) => findSetup(setup_id),
    refund: ({ refund_id, intent_processor_id, amount }) =>
      db.transaction(async (tx) => {
        // One refund of an intent at a time, so that together they never exceed it.
        const [intent] = await tx
          .select()
          .from(testIntents)
          .where(eq(testIntents.id, intent_processor_id))
          .for("update");
        if (intent?.status !== "succeeded") throw new ProcessorError("There is no such charge to give back.");
        const [before] = await tx.select().from(testRefunds).where(eq(testRefunds.refund_id, refund_id));
        if (before) return refundOf(before);
        const [given] = await tx
          .select({ amount: sum(testRefunds.amount).mapWith(Number) })
          .from(testRefunds)
          .where(eq(testRefunds.intent_id, intent_processor_id));
        if (amount + (given?.amount ?? 0) > intent.amount)
          throw new ProcessorError("The refund is greater than what is left of the charge.");
        const values = { refund_id, id: `re_test_${randomText(24)}`, intent_id: intent.id, amount };
        const [made] = await tx
          .insert(testRefunds)
          .values({ ...values, status: "succeeded", created_at: clock.now() })
          .returning();
        if (!made) throw new Error("The refund was not written.");
        return refundOf(made);
      }),
    retrieve: ({ payment_id }) => find(payment_id),
    cancel: ({ payment_id }) =>
      move(eq(testIntents.payment_id, payment_id), {
        status: "failed",
        decline: { reason: "canceled", message: "The payment was not completed in time." },
      }),
    test: {
      async tokenize(card) {
        const number = card.number.replace(/[\s-]/g, "");
        const known = Object.hasOwn(testNumbers, number) ? testNumbers[number] : undefined;
        if (!known) {
          throw new ApiError("PolarRequestValidationError", [
            // The number itself is neither kept nor repeated: it may be somebody's.
            fault(
              ["card", "number"],
              "This is a test store: it takes test cards such as 4242 4242 4242 4242, and refuses real ones.",
              "test_card_required",
            ),
          ]);
        }
        const faults = cardFaults(card, known.brand, clock.now());
        if (faults.length > 0) throw new ApiError("PolarRequestValidationError", faults);
        const id = `ctoken_${randomText(24)}`;
        const kept = {
          brand: known.brand,
          last4: number.slice(-4),
          exp_month: card.exp_month,
          exp_year: card.exp_year,
        };
        await db.insert(testTokens).values({ id, scenario: known.scenario, card: kept, created_at: clock.now() });
        return id;
      },
      async authenticate(client_secret, approved) {
        const decision = known(approved ? outcomes.success : outcomes.authentication_failed);
        await db
          .update(testSetups)
          .set(decision)
          .where(and(eq(testSetups.client_secret, client_secret), eq(testSetups.status, "requires_action")));
        return move(eq(testIntents.client_secret, client_secret), decision);
      },
    },
  };
}
