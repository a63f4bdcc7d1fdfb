import { and, eq, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/pg-core";
import { ApiError, type Fault, fault } from "../../../shared/errors.ts";
import type { Clock } from "../clock.ts";
import type { Database } from "../context.ts";
import { matchAnyOf } from "../db/arrays.ts";
import { defineLoader } from "../db/loaders.ts";
import { insertRows } from "../db/rows.ts";
import { drawText } from "../ids.ts";
import {
  type Card,
  type CardInput,
  type CardOwner,
  type Charge,
  type Intent,
  type Method,
  type Processor,
  ProcessorError,
  type SavedCharge,
  type SetupAttempt,
  type SetupOutcome,
} from "./processor.ts";
import { testIntents, testSetups, testTokens } from "./tables.ts";
import { findSavedOutcome, findSetupOutcome, outcomes, testMethods, testNumbers } from "./test-cards.ts";
import { createTestReturns } from "./test-returns.ts";

type IntentRow = typeof testIntents.$inferSelect;
type SetupRow = typeof testSetups.$inferSelect;

/** The same for the same number: a test card is told by its brand and its last digits. */
const getFingerprint = ({ brand, last4 }: Card): string => `fp_test_${brand}_${last4}`;

function getMethod({ status, method_id, customer_processor_id, card }: IntentRow | SetupRow): Method | null {
  if (status !== "succeeded" || method_id === null || customer_processor_id === null) return null;
  return { processor_id: method_id, customer_processor_id, fingerprint: getFingerprint(card), card };
}
function getIntent(row: IntentRow): Intent {
  const { organization_id, payment_id, id, status, amount, currency, client_secret, decline, card } = row;
  const said = {
    organization_id,
    payment_id,
    processor_id: id,
    status,
    amount,
    currency,
    client_secret,
    decline,
    card,
  };
  return { ...said, fingerprint: getFingerprint(card), method: getMethod(row) };
}
function getSetup(row: SetupRow): SetupOutcome {
  const { organization_id, setup_id, id, status, client_secret, decline } = row;
  return { organization_id, setup_id, processor_id: id, status, client_secret, decline, method: getMethod(row) };
}
/** How a card is kept from now on; whose it is, is told by our own id of them. */
const findKeptFor = ({ id, processor_id }: CardOwner) => ({
  method_id: `pm_test_${drawText(24)}`,
  customer_processor_id: processor_id ?? `cus_test_${id}`,
});
/** What was decided for a scenario of the test cards. */
function requireOutcome<T>(outcome: T | undefined): T {
  if (outcome === undefined) throw new Error("There is no such test scenario.");
  return outcome;
}

/** One account, whose money is not real. */
const account = "test";
const givenUp = {
  status: "failed",
  decline: { reason: "canceled", message: "The payment was not completed in time." },
} as const;
/** A test card, and what is to happen with it. */
type Tested = { card: Card; scenario: string };

/** Every fault of a card's form, before its number is looked at. */
function listCardFaults({ exp_month, exp_year, cvc }: CardInput, brand: string, now: Date): Fault[] {
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
export function createTestProcessor(db: Database, clock: Clock): Processor {
  const { openDispute, decideDispute, refundElsewhere, disputeCharge, ...returns } = createTestReturns(
    db,
    clock,
    account,
  );
  const find = async (payment_id: string): Promise<Intent | null> => {
    const [row] = await db.select().from(testIntents).where(eq(testIntents.payment_id, payment_id));
    return row ? getIntent(row) : null;
  };
  const move = async (where: ReturnType<typeof eq>, patch: Partial<IntentRow>): Promise<Intent | null> => {
    const [row] = await db
      .update(testIntents)
      .set(patch)
      .where(and(where, eq(testIntents.status, "requires_action")))
      .returning();
    if (row) return getIntent(row);
    const [settled] = await db.select().from(testIntents).where(where);
    return settled ? getIntent(settled) : null;
  };
  const moveSetup = async (where: ReturnType<typeof eq>, patch: Partial<SetupRow>): Promise<SetupOutcome | null> => {
    const [row] = await db
      .update(testSetups)
      .set(patch)
      .where(and(where, eq(testSetups.status, "requires_action")))
      .returning();
    if (row) return getSetup(row);
    const [settled] = await db.select().from(testSetups).where(where);
    return settled ? getSetup(settled) : null;
  };
  const findCard = async (token: string): Promise<Tested | undefined> => {
    if (Object.hasOwn(testMethods, token)) return testMethods[token];
    const [row] = await db.select().from(testTokens).where(eq(testTokens.id, token));
    return row;
  };
  const getCard = async (token: string): Promise<Tested> => {
    const found = await findCard(token);
    if (!found) throw new ProcessorError("This payment method is not known. Enter the card again.");
    return found;
  };
  /** A card that was kept, with a set-up or with a charge. */
  const gatherKept = defineLoader(async (_: Database, charges: SavedCharge[]): Promise<(Tested | undefined)[]> => {
    const asked = matchAnyOf([...new Set(charges.map((charge) => charge.method_processor_id))], "text");
    const matchStored = (table: typeof testSetups | typeof testIntents) =>
      and(sql`${table.method_id} = ${asked}`, eq(table.status, "succeeded"));
    const read = ({ method_id, customer_processor_id, card, scenario }: typeof testSetups | typeof testIntents) => ({
      method_id: sql<string>`${method_id}`,
      owner: sql<string>`${customer_processor_id}`,
      card,
      scenario,
    });
    const found = await unionAll(
      db.select(read(testSetups)).from(testSetups).where(matchStored(testSetups)),
      db.select(read(testIntents)).from(testIntents).where(matchStored(testIntents)),
    );
    return charges.map((charge) =>
      found.find(
        ({ method_id, owner }) => method_id === charge.method_processor_id && owner === charge.customer_processor_id,
      ),
    );
  });
  const findKept = (charge: SavedCharge) => gatherKept(db, charge);
  const gatherIntents = defineLoader(async (_: Database, rows: (typeof testIntents.$inferInsert)[]) => {
    const made = await insertRows(db, testIntents, rows, { orNothing: true });
    return rows.map(({ payment_id }) => made.find((row) => row.payment_id === payment_id));
  });
  /** The first intent of a payment; a repeated charge finds it. */
  const charge = async (
    { organization_id, payment_id, amount, currency }: Charge | SavedCharge,
    { card, scenario }: Tested,
    outcome: Pick<Intent, "status" | "decline">,
    kept: Pick<IntentRow, "method_id" | "customer_processor_id"> | null,
  ): Promise<Intent> => {
    const id = `pi_test_${drawText(24)}`;
    const client_secret = `${id}_secret_${drawText(24)}`;
    const asked = { organization_id, payment_id, amount, currency, card, scenario, ...outcome, ...kept };
    const made = await gatherIntents(db, { ...asked, id, client_secret, created_at: clock.now() });
    const intent = made ? getIntent(made) : await find(payment_id);
    if (!intent) throw new Error("The intent was not written.");
    if (made?.status === "succeeded") await disputeCharge(intent, scenario);
    return intent;
  };
  const findSetup = async ({ setup_id }: Pick<SetupAttempt, "setup_id">): Promise<SetupOutcome | null> => {
    const [row] = await db.select().from(testSetups).where(eq(testSetups.setup_id, setup_id));
    return row ? getSetup(row) : null;
  };
  return {
    account,
    publishable_key: null,
    async confirm(one) {
      const tested = await getCard(one.confirmation_token_id);
      return charge(one, tested, requireOutcome(outcomes[tested.scenario]), one.keep && findKeptFor(one.keep.customer));
    },
    async readCard(token) {
      const found = await findCard(token);
      return found ? { card: found.card, fingerprint: getFingerprint(found.card) } : null;
    },
    async chargeSaved(one) {
      const kept = await findKept(one);
      if (!kept) throw new ProcessorError("This customer has no such payment method.");
      return charge(one, kept, requireOutcome(findSavedOutcome(kept.scenario)), null);
    },
    // Nothing here says who somebody is.
    async forgetCustomer() {},
    async saveMethod({ organization_id, setup_id, confirmation_token_id, customer }) {
      const { card, scenario } = await getCard(confirmation_token_id);
      const id = `seti_test_${drawText(24)}`;
      const row = {
        organization_id,
        setup_id,
        id,
        client_secret: `${id}_secret_${drawText(24)}`,
        ...requireOutcome(findSetupOutcome(scenario)),
        ...findKeptFor(customer),
        scenario,
        card,
        created_at: clock.now(),
      };
      await db.insert(testSetups).values(row).onConflictDoNothing();
      return requireOutcome((await findSetup({ setup_id })) ?? undefined);
    },
    retrieveSetup: findSetup,
    cancelSetup: ({ setup_id }) => moveSetup(eq(testSetups.setup_id, setup_id), givenUp),
    retrieve: ({ payment_id }) => find(payment_id),
    cancel: ({ payment_id }) => move(eq(testIntents.payment_id, payment_id), givenUp),
    ...returns,
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
        const faults = listCardFaults(card, known.brand, clock.now());
        if (faults.length > 0) throw new ApiError("PolarRequestValidationError", faults);
        const id = `ctoken_${drawText(24)}`;
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
        const decision = requireOutcome(approved ? outcomes.success : outcomes.authentication_failed);
        const setup = await moveSetup(eq(testSetups.client_secret, client_secret), decision);
        if (setup) return { kind: "setup", outcome: setup };
        const intent = await move(eq(testIntents.client_secret, client_secret), decision);
        return intent && { kind: "payment", outcome: intent };
      },
      openDispute,
      decideDispute,
      refundElsewhere,
    },
  };
}
