import { and, eq } from "drizzle-orm";
import { ApiError, type Fault, fault } from "../../shared/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Database } from "../lib/context.ts";
import { randomText } from "../lib/ids.ts";
import { type Card, type CardInput, type Charge, type Intent, type Processor, ProcessorError } from "./processor.ts";
import { testIntents, testTokens } from "./tables.ts";
import { outcomes, testMethods, testNumbers } from "./test-cards.ts";

type Row = typeof testIntents.$inferSelect;
const intentOf = ({ id, created_at: _, ...row }: Row): Intent => ({ ...row, processor_id: id });
const decisionOf = (scenario: string) => {
  const outcome = outcomes[scenario];
  if (!outcome) throw new Error(`There is no test scenario ${scenario}.`);
  return outcome;
};

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
  return {
    publishable_key: null,
    async confirm(charge: Charge) {
      const { payment_id, amount, currency } = charge;
      const done = await find(payment_id);
      if (done) return done;
      const { card, scenario } = await methodOf(charge.confirmation_token_id);
      const id = `pi_test_${randomText(24)}`;
      const client_secret = `${id}_secret_${randomText(24)}`;
      const row = {
        payment_id,
        id,
        client_secret,
        amount,
        currency,
        card,
        ...decisionOf(scenario),
        created_at: clock.now(),
      };
      await db.insert(testIntents).values(row).onConflictDoNothing();
      const made = await find(payment_id);
      if (!made) throw new Error("The intent was not written.");
      return made;
    },
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
      authenticate: (client_secret, approved) =>
        move(
          eq(testIntents.client_secret, client_secret),
          approved ? decisionOf("success") : decisionOf("authentication_failed"),
        ),
    },
  };
}
