import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { disputeNotified, recordProcessorEvent, refundNotified } from "../../server/billing/payments/notices.ts";
import { chargePayment, chargeSavedMethod } from "../../server/billing/payments/settlement.ts";
import { executeSetup } from "../../server/billing/payments/setups.ts";
import { paymentMethods, paymentSetups, payments, processorEvents } from "../../server/billing/payments/tables.ts";
import { bindReactions } from "../../server/platform/events/signals.ts";
import { type Processor, ProcessorError } from "../../server/platform/processors/processor.ts";
import { testIntents } from "../../server/platform/processors/tables.ts";
import { beginPayment, beginSetup, newOrder } from "../support/attempts.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

/** What the processor tells of by itself, and what it says where nobody is there to answer. */

let floe: Floe;
let seller: Seller;
const heard: { kind: string; payment_id: string; refund_id?: string | null; processor_id: string }[] = [];
/** What the processor does next that is out of the ordinary. */
let trouble: "none" | "set-up lost" | "challenge" | "challenge lost" = "none";
const unusual = (processor: Processor): Processor => ({
  ...processor,
  async saveMethod(setup) {
    const outcome = await processor.saveMethod(setup);
    if (trouble === "set-up lost") throw new Error("The answer was lost.");
    return outcome;
  },
  async chargeSaved(charge) {
    if (!trouble.startsWith("challenge")) return processor.chargeSaved(charge);
    const token = "pm_card_threeDSecure2Required";
    const intent = await processor.confirm({ ...charge, confirmation_token_id: token, keep: null });
    if (trouble === "challenge lost") throw new Error("The answer was lost.");
    return intent;
  },
});
beforeAll(async () => {
  floe = await start({
    replace: ({ processor, reactions }) => ({
      processor: unusual(processor),
      reactions: new Map([
        ...reactions,
        bindReactions(refundNotified, async (_tx, _ctx, { event, payment }) => {
          const { kind, refund_id, processor_id } = event;
          heard.push({ kind, payment_id: payment.id, refund_id, processor_id });
        }),
        bindReactions(disputeNotified, async (_tx, _ctx, { event, payment }) => {
          heard.push({ kind: event.kind, payment_id: payment.id, processor_id: event.processor_id });
        }),
      ]),
    }),
  });
  seller = await floe.seller();
});
afterAll(() => floe?.close());
beforeEach(async () => {
  trouble = "none";
  await floe.runJobs();
  heard.length = 0;
});

/** A sale by a card; answers its payment. */
async function sell(token: string) {
  const order = await newOrder(floe, seller, { amount: 1900 });
  await chargePayment(floe.deps, await beginPayment(floe, order, { confirmation_token_id: token }), "Guide");
  return paymentOf(order);
}
async function paymentOf({ id }: OrderRow) {
  const [payment] = await floe.deps.db
    .select()
    .from(payments)
    .where(eq(payments.order_id, id))
    .orderBy(payments.created_at);
  if (!payment?.processor_id) throw new Error("The order was not paid.");
  return { ...payment, processor_id: payment.processor_id };
}
const controls = () => {
  const { test: found } = floe.deps.processor;
  if (!found) throw new Error("This is no test processor.");
  return found;
};
const later = async () => {
  floe.clock.advance(61_000);
  await floe.runJobs();
};

describe("a dispute", () => {
  test.each([
    ["pm_card_createDispute", "needs_response", "fraudulent"],
    ["pm_card_createDisputeProductNotReceived", "needs_response", "product_not_received"],
    ["pm_card_createDisputeInquiry", "early_warning", "fraudulent"],
  ])("by %s is heard once, with its payment", async (token, status, reason) => {
    const payment = await sell(token);
    await floe.runJobs();
    await floe.runJobs();
    expect(heard).toEqual([{ kind: "dispute", payment_id: payment.id, processor_id: expect.any(String) }]);
    const id = heard[0]?.processor_id ?? "";
    expect(await floe.deps.processor.retrieveDispute(id)).toMatchObject({
      status,
      reason,
      amount: 1900,
      payment_id: payment.id,
      intent_processor_id: payment.processor_id,
    });
  });

  test("that ends is heard again; one that is lost stays lost, and its money cannot go back", async () => {
    const payment = await sell("pm_card_visa");
    const { processor_id } = await controls().openDispute(payment.processor_id);
    expect(await controls().decideDispute(processor_id, "under_review")).toMatchObject({ status: "under_review" });
    expect(await controls().decideDispute(processor_id, "lost")).toMatchObject({ status: "lost" });
    expect(await controls().decideDispute(processor_id, "won")).toMatchObject({ status: "lost" });
    await floe.runJobs();
    expect(heard.map((one) => one.kind)).toEqual(["dispute", "dispute", "dispute"]);
    const refund = { refund_id: newId(), intent_processor_id: payment.processor_id, amount: 1, reason: "duplicate" };
    await expect(floe.deps.processor.refund(refund as never)).rejects.toMatchObject({ code: "charge_disputed" });
  });

  test("that is won lets its money go back", async () => {
    const payment = await sell("pm_card_visa");
    const { processor_id } = await controls().openDispute(payment.processor_id);
    await controls().decideDispute(processor_id, "won");
    expect(await controls().refundElsewhere(payment.processor_id, 1900)).toMatchObject({ status: "succeeded" });
    await expect(controls().openDispute("pi_of_nobody")).rejects.toThrow(ProcessorError);
    await expect(controls().decideDispute("du_of_nobody", "won")).rejects.toThrow(ProcessorError);
  });
});

describe("a refund", () => {
  const ask = (intent_processor_id: string, amount = 1900) =>
    floe.deps.processor.refund({ refund_id: newId(), intent_processor_id, amount, reason: "duplicate" });

  test("made at the processor itself is heard, under no name of ours", async () => {
    const payment = await sell("pm_card_visa");
    const made = await controls().refundElsewhere(payment.processor_id, 700);
    await floe.runJobs();
    const told = { kind: "refund", payment_id: payment.id, refund_id: null, processor_id: made.processor_id };
    expect(heard).toEqual([told]);
    expect(await floe.deps.processor.retrieveRefund(made.processor_id)).toMatchObject({ refund_id: null, amount: 700 });
    await expect(controls().refundElsewhere(payment.processor_id, 1201)).rejects.toMatchObject({
      code: "charge_already_refunded",
    });
  });

  test.each([
    ["pm_card_pendingRefund", "pending", "succeeded", null],
    ["pm_card_refundFail", "succeeded", "failed", "expired_or_canceled_card"],
  ])("by %s is %s first and %s a minute later, of which is told", async (token, first, last, failure_reason) => {
    const payment = await sell(token);
    const made = await ask(payment.processor_id);
    expect(made).toMatchObject({ status: first, failure_reason: null });
    await floe.runJobs();
    expect(heard).toHaveLength(1);
    await later();
    expect(heard.map(({ refund_id }) => refund_id)).toEqual([made.refund_id, made.refund_id]);
    expect(await floe.deps.processor.retrieveRefund(made.processor_id)).toEqual({
      ...made,
      status: last,
      failure_reason,
    });
    // What did not go back can be tried again.
    if (last === "failed") expect(await ask(payment.processor_id)).toMatchObject({ status: "succeeded" });
    else await expect(ask(payment.processor_id)).rejects.toThrow(ProcessorError);
  });
});

describe("a notice", () => {
  const noticeOf = (payment: { id: string; processor_id: string }, fields: object = {}) =>
    ({
      id: `evt_${newId()}`,
      account: "test",
      kind: "dispute",
      organization_id: seller.organization_id,
      payment_id: payment.id,
      processor_id: "du_1",
      intent_processor_id: payment.processor_id,
      ...fields,
    }) as const;

  test("that is sent five times at once is heard once", async () => {
    const payment = await sell("pm_card_visa");
    const event = noticeOf(payment);
    await Promise.all([1, 2, 3, 4, 5].map(() => recordProcessorEvent(floe.deps, event as never)));
    expect(heard).toHaveLength(1);
  });

  test.each([
    ["of another account of the processor", { account: "stripe_live" }, 0],
    ["over another intent than the payment's", { intent_processor_id: "pi_another" }, 1],
    ["of another seller", { organization_id: "nobody" }, 1],
    ["of a payment that there is not", { payment_id: newId() }, 1],
  ])("%s is not believed", async (_, fields, written) => {
    const payment = await sell("pm_card_visa");
    const event = noticeOf(payment, fields);
    await recordProcessorEvent(floe.deps, event as never);
    expect(heard).toEqual([]);
    expect(await floe.deps.db.select().from(processorEvents).where(eq(processorEvents.id, event.id))).toHaveLength(
      written,
    );
  });

  test("hastens a set-up whose answer was lost: it is not waited for the two minutes", async () => {
    trouble = "set-up lost";
    const order = await newOrder(floe, seller);
    const setup = await beginSetup(floe, order);
    expect(await executeSetup(floe.deps, setup)).toMatchObject({ status: "pending", intent: null });
    await floe.runJobs();
    const statusOf = async () =>
      (await floe.deps.db.select().from(paymentSetups).where(eq(paymentSetups.id, setup.id)))[0]?.status;
    expect(await statusOf()).toBe("pending");
    const { organization_id, id: setup_id } = setup;
    const event = {
      account: "test",
      kind: "setup",
      organization_id,
      setup_id,
      processor_id: "seti_unheard_of",
    } as const;
    await recordProcessorEvent(floe.deps, { ...event, id: `evt_${newId()}`, account: "stripe_live" });
    await floe.runJobs();
    expect(await statusOf()).toBe("pending");
    await recordProcessorEvent(floe.deps, { ...event, id: `evt_${newId()}` });
    await floe.runJobs();
    expect(await statusOf()).toBe("succeeded");
  });

  test("of an attempt with another account is not asked of this one", async () => {
    const order = await newOrder(floe, seller, { amount: 1900 });
    const payment = await beginPayment(floe, order);
    await floe.deps.db.update(payments).set({ account: "stripe_live" }).where(eq(payments.id, payment.id));
    floe.clock.advance(3 * 60_000);
    await floe.runJobs();
    const [row] = await floe.deps.db.select().from(payments).where(eq(payments.id, payment.id));
    // It would have been given up as one that the processor never received.
    expect(row?.status).toBe("pending");
    expect(floe.logged.join("\n")).toContain("was made with the account stripe_live, and test is in use");
    await floe.deps.db.update(payments).set({ account: "test" }).where(eq(payments.id, payment.id));
  });
});

describe("3-D Secure on a charge while its owner is away", () => {
  test.each(["challenge", "challenge lost"] as const)(
    "%s: it fails, cannot succeed later, and can be paid by them",
    async (how) => {
      const first = await newOrder(floe, seller);
      await executeSetup(floe.deps, await beginSetup(floe, first));
      const [method] = await floe.deps.db
        .select()
        .from(paymentMethods)
        .where(eq(paymentMethods.customer_id, first.customer_id));
      if (!method) throw new Error("The card was not kept.");
      const order = await newOrder(floe, seller, { amount: 1900, customer_id: first.customer_id });
      trouble = how;
      const settled = await chargeSavedMethod(floe.deps, { order, method, trigger: "subscription_cycle" });
      trouble = "none";
      expect(settled.status).toBe(how === "challenge" ? "failed" : "pending");
      floe.clock.advance(3 * 60_000);
      await floe.runJobs();
      const payment = await paymentOf(order);
      expect(payment).toMatchObject({ status: "failed", decline_reason: "authentication_required" });
      const [there] = await floe.deps.db.select().from(testIntents).where(eq(testIntents.payment_id, payment.id));
      expect(there?.status).toBe("failed");
      await controls().authenticate(there?.client_secret ?? "", true);
      expect(
        await floe.deps.processor.retrieve({ payment_id: payment.id, processor_id: null, created_at: new Date() }),
      ).toMatchObject({ status: "failed" });
      floe.clock.advance(1000);
      expect(await chargePayment(floe.deps, await beginPayment(floe, order), "Guide")).toMatchObject({
        status: "succeeded",
      });
    },
  );
});
