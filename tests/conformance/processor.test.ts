import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Charge,
  type Method,
  type MethodSetup,
  type Processor,
  ProcessorError,
  type RefundRequest,
  type SavedCharge,
} from "../../server/platform/processors/processor.ts";
import { createStripeProcessor } from "../../server/platform/processors/stripe.ts";
import { createTestProcessor } from "../../server/platform/processors/test.ts";
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

type Kind = {
  open(): Processor;
  answer(client_secret: string, approved: boolean): Promise<unknown>;
  /** The buyer goes to their bank. */
  dispute(intent_processor_id: string): Promise<string>;
};
const webhookSecret = "whsec_of_these_tests";
const keys = { secret_key: "sk_test_1", publishable_key: "pk_test_1", webhook_secret: webhookSecret };
const kinds: Record<string, Kind> = {
  test: {
    open: () => createTestProcessor(floe.deps.db, floe.clock),
    answer: async (client_secret, approved) => floe.deps.processor.test?.authenticate(client_secret, approved),
    dispute: async (intent) => (await floe.deps.processor.test?.openDispute(intent))?.processor_id ?? "",
  },
  stripe: {
    open: () => createStripeProcessor({ ...keys, api_url: standIn.url }),
    answer: async (client_secret, approved) => standIn.authenticate(client_secret, approved),
    dispute: async (intent) => standIn.dispute(intent, "general").id,
  },
};
const chargeOf = (token: string): Charge => ({
  organization_id: newId(),
  payment_id: newId(),
  amount: 1900,
  currency: "usd",
  confirmation_token_id: token,
  description: "Field guide",
  email: "buyer@example.com",
  keep: null,
});
const ownerOf = (processor_id: string | null = null) => ({
  id: newId(),
  processor_id,
  email: "buyer@example.com",
  name: "Buyer",
});
/** A charge of a kept card, by its own terms. */
const savedOf = ({ processor_id, customer_processor_id }: Method): SavedCharge => {
  const { confirmation_token_id: _, keep: __, ...terms } = chargeOf("");
  return { ...terms, method_processor_id: processor_id, customer_processor_id };
};
function methodOf(outcome: { method: Method | null } | null): Method {
  if (!outcome?.method) throw new Error("The card was not kept.");
  return outcome.method;
}
const attemptOf = (charge: { payment_id: string }, processor_id: string | null = null) => ({
  payment_id: charge.payment_id,
  processor_id,
  created_at: new Date(),
});

describe.each(Object.keys(kinds))("the %s processor", (name) => {
  const kind = kinds[name] as Kind;

  test("charges a good card, and says which one in four digits", async () => {
    const charge = chargeOf("pm_card_visa");
    expect(await kind.open().confirm(charge)).toEqual({
      organization_id: charge.organization_id,
      payment_id: charge.payment_id,
      processor_id: expect.stringMatching(/^pi_/),
      client_secret: expect.stringContaining("_secret_"),
      status: "succeeded",
      amount: 1900,
      currency: "usd",
      decline: null,
      card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
      fingerprint: expect.stringMatching(/./),
      method: null,
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

const setupOf = (token: string, processor_id: string | null = null): MethodSetup => ({
  organization_id: newId(),
  setup_id: newId(),
  confirmation_token_id: token,
  customer: ownerOf(processor_id),
});
const againOf = (setup: { setup_id: string }, processor_id: string | null = null) => ({
  setup_id: setup.setup_id,
  processor_id,
  created_at: new Date(),
});
const refundOf = (intent_processor_id: string, amount: number): RefundRequest => ({
  refund_id: newId(),
  intent_processor_id,
  amount,
  reason: "duplicate",
});

describe.each(Object.keys(kinds))("the %s processor, later", (name) => {
  const kind = kinds[name] as Kind;
  /** Keep a card; answers how it is charged from then on. */
  const save = async (token: string) => {
    const kept = await kind.open().saveMethod(setupOf(token));
    const { method } = kept;
    if (!method) throw new Error("The card was not kept.");
    return { kept: method, charge: () => savedOf(method) };
  };

  test("keeps a card without charging it, once for a set-up", async () => {
    const setup = setupOf("pm_card_visa");
    const [kept, again] = [await kind.open().saveMethod(setup), await kind.open().saveMethod(setup)];
    expect(kept).toEqual({
      organization_id: setup.organization_id,
      setup_id: setup.setup_id,
      processor_id: expect.stringMatching(/^seti_/),
      status: "succeeded",
      client_secret: expect.stringContaining("_secret_"),
      method: {
        processor_id: expect.stringMatching(/^pm_/),
        customer_processor_id: expect.stringMatching(/^cus_/),
        fingerprint: expect.stringMatching(/./),
        card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
      },
      decline: null,
    });
    expect(again).toEqual(kept);
    expect(await kind.open().retrieveSetup(againOf(setup, kept.processor_id))).toEqual(kept);
  });

  test("finds a set-up again by our id alone, and knows nothing of one that never reached it", async () => {
    const setup = setupOf("pm_card_visa");
    const kept = await kind.open().saveMethod(setup);
    for (let others = 0; others < 4; others += 1) await kind.open().saveMethod(setupOf("pm_card_mastercard"));
    expect(await kind.open().retrieveSetup(againOf(setup))).toEqual(kept);
    expect(await kind.open().retrieveSetup(againOf(setupOf("pm_card_visa")))).toBeNull();
    expect(await kind.open().cancelSetup(againOf(setupOf("pm_card_visa")))).toBeNull();
  });

  test("gives an unanswered set-up up for good, and none that has succeeded", async () => {
    const asked = await kind.open().saveMethod(setupOf("pm_card_threeDSecure2Required"));
    const again = againOf(asked, asked.processor_id);
    expect(await kind.open().cancelSetup(again)).toMatchObject({ status: "failed", method: null });
    await kind.answer(asked.client_secret, true);
    expect(await kind.open().retrieveSetup(again)).toMatchObject({ status: "failed", method: null });
    const kept = await kind.open().saveMethod(setupOf("pm_card_visa"));
    expect(await kind.open().cancelSetup(againOf(kept, kept.processor_id))).toEqual(kept);
  });

  test("charges a card and keeps it in one go; the same card has the same fingerprint, and another card has not", async () => {
    const charge = { ...chargeOf("pm_card_visa"), keep: { customer: ownerOf() } };
    const made = await kind.open().confirm(charge);
    expect(made).toMatchObject({
      status: "succeeded",
      method: {
        processor_id: expect.stringMatching(/^pm_/),
        customer_processor_id: expect.stringMatching(/^cus_/),
        fingerprint: made.fingerprint,
        card: { last4: "4242" },
      },
    });
    expect(await kind.open().confirm(charge)).toEqual(made);
    expect(await kind.open().retrieve(attemptOf(charge))).toEqual(made);
    expect(await kind.open().chargeSaved(savedOf(methodOf(made)))).toMatchObject({
      status: "succeeded",
      fingerprint: made.fingerprint,
      method: null,
    });
    const { kept: same } = await save("pm_card_visa");
    const { kept: other } = await save("pm_card_mastercard");
    expect([same.fingerprint === made.fingerprint, other.fingerprint === made.fingerprint]).toEqual([true, false]);
    const known = { ...charge, payment_id: newId(), keep: { customer: ownerOf(made.method?.customer_processor_id) } };
    expect((await kind.open().confirm(known)).method?.customer_processor_id).toBe(made.method?.customer_processor_id);
  });

  test("keeps no card with a charge that fails, and one with a challenge once it is answered", async () => {
    const refused = { ...chargeOf("pm_card_chargeDeclined"), keep: { customer: ownerOf() } };
    expect(await kind.open().confirm(refused)).toMatchObject({ status: "failed", method: null });
    const challenged = { ...chargeOf("pm_card_authenticationRequiredOnSetup"), keep: { customer: ownerOf() } };
    const asked = await kind.open().confirm(challenged);
    expect(asked).toMatchObject({ status: "requires_action", method: null });
    await kind.answer(asked.client_secret, true);
    const made = await kind.open().retrieve(attemptOf(challenged, asked.processor_id));
    // Its bank has agreed to later charges.
    expect(await kind.open().chargeSaved(savedOf(methodOf(made)))).toMatchObject({ status: "succeeded" });
  });

  test("reads which card was entered without charging it", async () => {
    const { fingerprint, card } = await kind.open().confirm(chargeOf("pm_card_visa"));
    expect(await kind.open().readCard("pm_card_visa")).toEqual({ fingerprint, card });
    expect(await kind.open().readCard("ctoken_of_nobody")).toBeNull();
  });

  test("keeps a further card of a customer that it knows with that customer", async () => {
    const { customer_processor_id } = (await save("pm_card_visa")).kept;
    const second = await kind.open().saveMethod(setupOf("pm_card_mastercard", customer_processor_id));
    expect(second).toMatchObject({ method: { customer_processor_id, card: { brand: "mastercard" } } });
  });

  test("charges a kept card any number of times, and the same payment once", async () => {
    const { charge } = await save("pm_card_visa");
    const [first, second] = [charge(), charge()];
    const made = await kind.open().chargeSaved(first);
    expect(made).toMatchObject({
      organization_id: first.organization_id,
      payment_id: first.payment_id,
      status: "succeeded",
      amount: 1900,
      card: { last4: "4242" },
    });
    expect(await kind.open().chargeSaved(first)).toEqual(made);
    expect((await kind.open().chargeSaved(second)).processor_id).not.toBe(made.processor_id);
    expect(await kind.open().retrieve(attemptOf(first))).toEqual(made);
  });

  test("does not keep a refused card, and says why", async () => {
    expect(await kind.open().saveMethod(setupOf("pm_card_chargeDeclined"))).toMatchObject({
      status: "failed",
      method: null,
      decline: { reason: "card_declined" },
    });
    await expect(kind.open().saveMethod(setupOf("ctoken_of_nobody"))).rejects.toThrow(ProcessorError);
  });

  test("a card that can be kept may be refused when it is charged", async () => {
    const { charge } = await save("pm_card_chargeCustomerFail");
    expect(await kind.open().chargeSaved(charge())).toMatchObject({
      status: "failed",
      decline: { reason: "card_declined", message: "Your card was declined." },
    });
  });

  test("keeps a card after its challenge; a later charge that would need one fails, as nobody is there", async () => {
    const setup = setupOf("pm_card_authenticationRequired");
    const asked = await kind.open().saveMethod(setup);
    expect(asked).toMatchObject({ status: "requires_action", method: null, decline: null });
    await kind.answer(asked.client_secret, true);
    const kept = await kind.open().retrieveSetup(againOf(setup, asked.processor_id));
    expect(kept).toMatchObject({ status: "succeeded", method: { card: { last4: "3184" } } });
    expect(await kind.open().chargeSaved(savedOf(methodOf(kept)))).toMatchObject({
      status: "failed",
      decline: { reason: "authentication_required" },
    });
    const refused = await kind.open().saveMethod(setupOf("pm_card_authenticationRequired"));
    await kind.answer(refused.client_secret, false);
    const again = againOf(refused, refused.processor_id);
    expect(await kind.open().retrieveSetup(again)).toMatchObject({ status: "failed", method: null });
  });

  test("charges no card of another customer", async () => {
    const [{ charge }, other] = [await save("pm_card_visa"), await save("pm_card_visa")];
    const foreign = { ...charge(), customer_processor_id: other.kept.customer_processor_id };
    await expect(kind.open().chargeSaved(foreign)).rejects.toThrow(ProcessorError);
    expect(await kind.open().retrieve(attemptOf(foreign))).toBeNull();
  });

  test("gives money back in parts, each part once, and never more than was taken", async () => {
    const { processor_id } = await kind.open().confirm(chargeOf("pm_card_visa"));
    const part = refundOf(processor_id, 1000);
    const made = await kind.open().refund(part);
    expect(made).toEqual({
      refund_id: part.refund_id,
      processor_id: expect.stringMatching(/^re_/),
      intent_processor_id: processor_id,
      amount: 1000,
      currency: "usd",
      reason: "duplicate",
      status: "succeeded",
      failure_reason: null,
      created_at: expect.any(Date),
    });
    expect(await kind.open().refund(part)).toEqual(made);
    expect(await kind.open().retrieveRefund(made.processor_id)).toEqual(made);
    expect(await kind.open().retrieveRefund("re_of_nobody")).toBeNull();
    await expect(kind.open().refund(refundOf(processor_id, 901))).rejects.toThrow(ProcessorError);
    expect(await kind.open().refund(refundOf(processor_id, 900))).toMatchObject({ status: "succeeded" });
    await expect(kind.open().refund(refundOf(processor_id, 1))).rejects.toThrow(ProcessorError);
  });

  test("gives nothing back of what was not taken", async () => {
    const { processor_id } = await kind.open().confirm(chargeOf("pm_card_chargeDeclined"));
    await expect(kind.open().refund(refundOf(processor_id, 1900))).rejects.toThrow(ProcessorError);
    await expect(kind.open().refund(refundOf("pi_of_nobody", 1900))).rejects.toThrow(ProcessorError);
  });

  test("tells of a dispute what its intent was made for, and loses it when it is accepted", async () => {
    const charge = chargeOf("pm_card_visa");
    const { processor_id } = await kind.open().confirm(charge);
    const id = await kind.dispute(processor_id);
    const dispute = await kind.open().retrieveDispute(id);
    expect(dispute).toEqual({
      processor_id: id,
      intent_processor_id: processor_id,
      organization_id: charge.organization_id,
      payment_id: charge.payment_id,
      status: "needs_response",
      amount: 1900,
      currency: "usd",
      reason: "general",
      created_at: expect.any(Date),
      evidence_due_at: expect.any(Date),
    });
    const refused = await kind
      .open()
      .refund(refundOf(processor_id, 100))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ProcessorError);
    expect(refused).toMatchObject({ code: "charge_disputed" });
    const lost = { ...dispute, status: "lost" };
    expect([await kind.open().acceptDispute(id), await kind.open().acceptDispute(id)]).toEqual([lost, lost]);
    expect(await kind.open().retrieveDispute(id)).toEqual(lost);
    expect(await kind.open().retrieveDispute("du_of_nobody")).toBeNull();
  });
});

describe("Stripe alone", () => {
  const open = () => createStripeProcessor({ ...keys, api_url: standIn.url });

  test("is sent our payment's id as the idempotency key, and never a card", async () => {
    const charge = chargeOf("ctoken_visa");
    await open().confirm(charge);
    const sent = standIn.requests.at(-1);
    expect(sent).toMatchObject({ method: "POST", path: "/v1/payment_intents", key: charge.payment_id });
    expect(Object.fromEntries(sent?.form ?? [])).toMatchObject({
      confirm: "true",
      confirmation_token: "ctoken_visa",
      "metadata[organization_id]": charge.organization_id,
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

  test("a customer of ours is one of Stripe's, however long ago that was and whatever they are called since", async () => {
    const customer = ownerOf();
    const keep = async (owner: object) => {
      const kept = await open().confirm({ ...chargeOf("pm_card_visa"), keep: { customer: { ...customer, ...owner } } });
      return methodOf(kept).customer_processor_id;
    };
    const first = await keep({});
    // The search does not know them yet.
    expect(await keep({})).toBe(first);
    standIn.advance(3 * 86_400);
    expect(await keep({ name: "Somebody Else" })).toBe(first);
    expect(await keep({ processor_id: first })).toBe(first);
    // Deleted at Stripe, they are made anew.
    standIn.customers.delete(first);
    const second = await keep({ processor_id: first });
    expect(second).not.toBe(first);
    const setup = { ...setupOf("pm_card_visa"), customer: { ...customer, processor_id: first } };
    expect(methodOf(await open().saveMethod(setup)).customer_processor_id).toBe(second);
    // Who is forgotten is known no more, however often that is asked for.
    for (let times = 2; times > 0; times -= 1)
      await open().forgetCustomer({ id: customer.id, processor_ids: [first, second] });
    expect([...standIn.customers.values()].filter((one) => one.metadata.customer_id === customer.id)).toEqual([]);
    standIn.advance(-3 * 86_400);
  });

  test("one request too many is refused with a sentence, having charged nothing", async () => {
    const charge = chargeOf("pm_card_visa");
    standIn.trouble("rate_limit");
    await expect(open().confirm(charge)).rejects.toThrow(ProcessorError);
    expect(await open().retrieve(attemptOf(charge))).toBeNull();
  });

  test("an answer that takes too long is no answer; what became of it is found", async () => {
    const charge = chargeOf("pm_card_visa");
    standIn.wait(2000);
    const hasty = createStripeProcessor({ ...keys, api_url: standIn.url, timeout_ms: 100 });
    const failure = await hasty.confirm(charge).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).not.toBeInstanceOf(ProcessorError);
    standIn.wait(0);
    await expect.poll(() => open().retrieve(attemptOf(charge))).toMatchObject({ status: "succeeded" });
  });

  test("a refund is found again when Stripe has forgotten its idempotency key", async () => {
    const { processor_id } = await open().confirm(chargeOf("pm_card_visa"));
    const refund = refundOf(processor_id, 500);
    const made = await open().refund(refund);
    standIn.forgetKeys();
    expect(await open().refund(refund)).toEqual(made);
    expect([...standIn.refunds.values()].filter(({ payment_intent }) => payment_intent === processor_id)).toHaveLength(
      1,
    );
  });

  test("a refund that Stripe is still working on is pending, and failed when it says so", async () => {
    const { processor_id } = await open().confirm(chargeOf("pm_card_visa"));
    const refund = refundOf(processor_id, 500);
    const made = await open().refund(refund);
    for (const [status, expected] of [
      ["pending", "pending"],
      ["failed", "failed"],
      ["canceled", "failed"],
    ] as const) {
      standIn.moveRefund(made.processor_id, status, status === "failed" ? "lost_or_stolen_card" : undefined);
      expect(await open().refund(refund)).toMatchObject({ status: expected });
    }
  });

  test("reads events by their signature, and none that was changed, is old, or is not about a payment of ours", async () => {
    const { readEvent } = open();
    if (!readEvent) throw new Error("It reads no events.");
    const metadata = { organization_id: newId(), payment_id: newId() };
    const intent = { id: "pi_1", object: "payment_intent", metadata };
    const { body, signature } = standIn.notice("payment_intent.succeeded", intent, webhookSecret);
    expect(await readEvent(Buffer.from(body), signature)).toEqual({
      id: "evt_1",
      account: "stripe_test",
      kind: "payment",
      ...metadata,
      processor_id: "pi_1",
    });
    await expect(readEvent(Buffer.from(body.replace("pi_1", "pi_2")), signature)).rejects.toThrow();
    await expect(
      readEvent(Buffer.from(body), standIn.notice("payment_intent.succeeded", intent, "whsec_other").signature),
    ).rejects.toThrow();
    await expect(readEvent(Buffer.from(body), signature.replace(/t=\d+/, "t=1000000000"))).rejects.toThrow();
    for (const theirs of [
      {},
      { payment_id: metadata.payment_id },
      { payment_id: "theirs", organization_id: "theirs" },
    ]) {
      const foreign = standIn.notice("payment_intent.succeeded", { ...intent, metadata: theirs }, webhookSecret);
      expect(await readEvent(Buffer.from(foreign.body), foreign.signature)).toBeUndefined();
    }
    const other = standIn.notice("charge.updated", { id: "ch_1" }, webhookSecret);
    expect(await readEvent(Buffer.from(other.body), other.signature)).toBeUndefined();
  });

  test("without its signing secret it reads no events at all", () => {
    expect(createStripeProcessor({ secret_key: "sk_test_1", publishable_key: "pk_test_1" }).readEvent).toBeUndefined();
  });
});
