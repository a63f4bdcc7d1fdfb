import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Charge, type Processor, ProcessorError } from "../../server/processors/processor.ts";
import { stripeProcessor } from "../../server/processors/stripe.ts";
import { testProcessor } from "../../server/processors/test.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** One suite for every processor: what the rest of floe relies on. */

let floe: Floe;
let standIn: StripeStandIn;
beforeAll(async () => {
  [floe, standIn] = await Promise.all([start(), startStripe()]);
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

type Kind = { open(): Processor; answer(client_secret: string, approved: boolean): Promise<unknown> };
const webhook_secret = "whsec_of_these_tests";
const keys = { secret_key: "sk_test_1", publishable_key: "pk_test_1", webhook_secret };
const kinds: Record<string, Kind> = {
  test: {
    open: () => testProcessor(floe.deps.db, floe.clock),
    answer: async (client_secret, approved) => floe.deps.processor.test?.authenticate(client_secret, approved),
  },
  stripe: {
    open: () => stripeProcessor({ ...keys, api: standIn.api }),
    answer: async (client_secret, approved) => standIn.authenticate(client_secret, approved),
  },
};
const chargeOf = (token: string): Charge => ({
  payment_id: newId(),
  amount: 1900,
  currency: "usd",
  confirmation_token_id: token,
  description: "Field guide",
  email: "buyer@example.com",
});
const attemptOf = (charge: Charge, processor_id: string | null = null) => ({
  payment_id: charge.payment_id,
  processor_id,
  created_at: new Date(),
});

describe.each(Object.keys(kinds))("the %s processor", (name) => {
  const kind = kinds[name] as Kind;

  test("charges a good card, and says which one in four digits", async () => {
    const charge = chargeOf("pm_card_visa");
    expect(await kind.open().confirm(charge)).toEqual({
      payment_id: charge.payment_id,
      processor_id: expect.stringMatching(/^pi_/),
      client_secret: expect.stringContaining("_secret_"),
      status: "succeeded",
      amount: 1900,
      currency: "usd",
      decline: null,
      card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
    });
  });

  test("charges the same payment once, however often it is confirmed", async () => {
    const charge = chargeOf("pm_card_visa");
    const intents = await Promise.all([1, 2, 3].map(() => kind.open().confirm(charge)));
    expect(new Set(intents.map(({ processor_id }) => processor_id)).size).toBe(1);
    expect(intents[0]?.processor_id).not.toBe((await kind.open().confirm(chargeOf("pm_card_visa"))).processor_id);
  });

  test.each([
    ["pm_card_chargeDeclined", "card_declined", "Your card was declined."],
    ["pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds", "Your card has insufficient funds."],
    ["pm_card_chargeDeclinedExpiredCard", "expired_card", "Your card has expired."],
    ["pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "Your card's security code is incorrect."],
  ])("answers a refused card (%s) as an outcome with a reason and a sentence", async (token, reason, message) => {
    expect(await kind.open().confirm(chargeOf(token))).toMatchObject({
      status: "failed",
      decline: { reason, message },
    });
  });

  test("refuses a payment method that it does not know with a sentence, having charged nothing", async () => {
    const charge = chargeOf("ctoken_of_nobody");
    await expect(kind.open().confirm(charge)).rejects.toThrow(ProcessorError);
    expect(await kind.open().retrieve(attemptOf(charge))).toBeNull();
  });

  test("finds an intent again, by its own id and by ours alone", async () => {
    const charge = chargeOf("pm_card_visa");
    const made = await kind.open().confirm(charge);
    // More intents than one page of a list holds lie between.
    for (let others = 0; others < 4; others += 1) await kind.open().confirm(chargeOf("pm_card_mastercard"));
    expect(await kind.open().retrieve(attemptOf(charge, made.processor_id))).toEqual(made);
    expect(await kind.open().retrieve(attemptOf(charge))).toEqual(made);
  });

  test("knows nothing of a payment that never reached it", async () => {
    expect(await kind.open().retrieve(attemptOf(chargeOf("pm_card_visa")))).toBeNull();
  });

  test.each([
    [true, "succeeded"],
    [false, "failed"],
  ])("asks for 3-D Secure, and tells the outcome afterwards (approved: %s)", async (approved, status) => {
    const charge = chargeOf("pm_card_threeDSecure2Required");
    const made = await kind.open().confirm(charge);
    expect(made).toMatchObject({ status: "requires_action", decline: null });
    await kind.answer(made.client_secret, approved);
    const settled = await kind.open().retrieve(attemptOf(charge, made.processor_id));
    expect(settled).toMatchObject({ status, processor_id: made.processor_id });
    expect(settled?.decline === null).toBe(approved);
  });

  test("gives an unanswered challenge up for good, and nothing that has succeeded", async () => {
    const challenged = chargeOf("pm_card_threeDSecure2Required");
    const made = await kind.open().confirm(challenged);
    expect(await kind.open().cancel(attemptOf(challenged, made.processor_id))).toMatchObject({ status: "failed" });
    await kind.answer(made.client_secret, true);
    expect(await kind.open().retrieve(attemptOf(challenged, made.processor_id))).toMatchObject({ status: "failed" });

    const paid = chargeOf("pm_card_visa");
    await kind.open().confirm(paid);
    expect(await kind.open().cancel(attemptOf(paid))).toMatchObject({ status: "succeeded" });
    expect(await kind.open().cancel(attemptOf(chargeOf("pm_card_visa")))).toBeNull();
  });
});

describe("Stripe alone", () => {
  const open = () => stripeProcessor({ ...keys, api: standIn.api });

  test("is sent our payment's id as the idempotency key, and never a card", async () => {
    const charge = chargeOf("ctoken_visa");
    await open().confirm(charge);
    const sent = standIn.requests.at(-1);
    expect(sent).toMatchObject({ method: "POST", path: "/v1/payment_intents", key: charge.payment_id });
    expect(Object.fromEntries(sent?.form ?? [])).toMatchObject({
      confirm: "true",
      confirmation_token: "ctoken_visa",
      "metadata[payment_id]": charge.payment_id,
      amount: "1900",
    });
    expect(String(sent?.form)).not.toContain("card%5B");
  });

  test("a lost answer is asked for again under the same key: one intent", async () => {
    const before = standIn.intents.size;
    standIn.loseAnswers(1);
    expect((await open().confirm(chargeOf("pm_card_visa"))).status).toBe("succeeded");
    expect(standIn.intents.size).toBe(before + 1);
  });

  test("reads notices by their signature, and none that was changed, is old, or is not about a payment of ours", async () => {
    const { readNotice } = open();
    if (!readNotice) throw new Error("It reads no notices.");
    const payment_id = newId();
    const intent = { id: "pi_1", object: "payment_intent", metadata: { payment_id } };
    const { body, signature } = standIn.notice("payment_intent.succeeded", intent, webhook_secret);
    expect(await readNotice(Buffer.from(body), signature)).toEqual({ id: "evt_1", payment_id, processor_id: "pi_1" });
    await expect(readNotice(Buffer.from(body.replace("pi_1", "pi_2")), signature)).rejects.toThrow();
    await expect(
      readNotice(Buffer.from(body), standIn.notice("payment_intent.succeeded", intent, "whsec_other").signature),
    ).rejects.toThrow();
    await expect(readNotice(Buffer.from(body), signature.replace(/t=\d+/, "t=1000000000"))).rejects.toThrow();
    for (const metadata of [{}, { payment_id: "theirs" }]) {
      const foreign = standIn.notice("payment_intent.succeeded", { ...intent, metadata }, webhook_secret);
      expect(await readNotice(Buffer.from(foreign.body), foreign.signature)).toBeUndefined();
    }
    const other = standIn.notice("charge.updated", { id: "ch_1" }, webhook_secret);
    expect(await readNotice(Buffer.from(other.body), other.signature)).toBeUndefined();
  });

  test("without its signing secret it hears no notices at all", () => {
    expect(stripeProcessor({ secret_key: "sk_test_1", publishable_key: "pk_test_1" }).readNotice).toBeUndefined();
  });
});
