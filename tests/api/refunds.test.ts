import { and, eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { customerBalances, orders } from "../../server/billing/orders/tables.ts";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { refundAgainMs } from "../../server/billing/refunds/rules.ts";
import { refunds } from "../../server/billing/refunds/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { events, failedWork, mails } from "../../server/platform/db/tables.ts";
import {
  type Processor,
  ProcessorError,
  type RefundOutcome,
  type RefundRequest,
} from "../../server/platform/processors/processor.ts";
import { testIntents, testRefunds } from "../../server/platform/processors/tables.ts";
import type { Refund } from "../../shared/api/refunds.ts";
import { computeQuote } from "../../shared/pricing.ts";
import { writeAnyState } from "../support/any-state.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { sellOrder } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
let real: Processor;
/** What the processor says instead, once each. */
let words: ((request: RefundRequest) => Promise<RefundOutcome>)[] = [];
/** What it says of this refund when it is asked again. */
const later = new Map<string, (request: RefundRequest) => Promise<RefundOutcome>>();
let asked: RefundRequest[] = [];
beforeAll(async () => {
  floe = await start({
    replace: (deps) => {
      real = deps.processor;
      const refund = async (request: RefundRequest) => {
        asked.push(request);
        const say = later.get(request.refund_id) ?? words.shift();
        later.delete(request.refund_id);
        return say ? say(request) : real.refund(request);
      };
      return { processor: { ...real, refund } };
    },
  });
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  [words, asked] = [[], []];
});

/** A sale of 10.00 and 2.50 of tax, as the order and the processor have it. */
async function sellTaxed(): Promise<string> {
  const id = await sellOrder(floe, seller);
  const { db } = floe.deps;
  const derivation = computeQuote({
    currency: "usd",
    seats: null,
    lines: [{ label: "Book", product_price_id: null, proration: false, source: { rule: "fixed", amount: 1000 } }],
    discount: null,
    tax: {
      behavior: "exclusive",
      reason: "standard",
      rates: [{ name: "VAT", country: "HU", state: null, rate: "25" }],
      source: null,
    },
  });
  await db.update(orders).set({ subtotal_amount: 1000, tax_amount: 250, derivation }).where(eq(orders.id, id));
  const [payment] = await db.update(payments).set({ amount: 1250 }).where(eq(payments.order_id, id)).returning();
  await db
    .update(testIntents)
    .set({ amount: 1250 })
    .where(eq(testIntents.payment_id, payment?.id ?? ""));
  return id;
}
const other = "other" as const;
const give = (order_id: string, amount: number, more: object = {}) =>
  seller.client.refunds.create({ body: { order_id, amount, reason: other, ...more } });
const tryGive = (order_id: string, amount: number, more: object = {}) =>
  floe.request("POST", "/v1/refunds/", { token: seller.key, body: { order_id, amount, reason: other, ...more } });
const orderOf = (id: string) => seller.client.orders.get({ params: { id } });
const standing = async (id: string) => {
  const { status, refunded_amount, refunded_tax_amount, refundable_amount, refundable_tax_amount } = await orderOf(id);
  return [status, refunded_amount, refunded_tax_amount, refundable_amount, refundable_tax_amount];
};
/** What the seller was told, of refunds and orders, since the order was paid. */
async function told(): Promise<string[]> {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(eq(events.organization_id, seller.organization_id))
    .orderBy(events.seq);
  const types = rows.map(({ type, data }) => [type, (data as { status: string }).status].join(" "));
  const since = types.lastIndexOf("order.paid paid");
  return types.slice(since + 1).filter((type) => /^(order|refund)/.test(type));
}
const given = async (order_id: string): Promise<number[]> => {
  const rows = await floe.deps.db
    .select({ amount: testRefunds.amount })
    .from(testRefunds)
    .innerJoin(testIntents, eq(testIntents.id, testRefunds.intent_id))
    .innerJoin(payments, eq(payments.id, testIntents.payment_id))
    .where(eq(payments.order_id, order_id))
    .orderBy(testRefunds.created_at);
  return rows.map(({ amount }) => amount);
};
const say =
  (status: RefundOutcome["status"], failure_reason: string | null = null) =>
  async (request: RefundRequest): Promise<RefundOutcome> => ({
    ...(await real.refund(request)),
    status,
    failure_reason,
  });
/** The processor has moved on, and is asked again. */
async function hear(id: string, word: (request: RefundRequest) => Promise<RefundOutcome>) {
  later.set(id, word);
  await floe.deps.db
    .update(refunds)
    .set({ due_at: new Date(0) })
    .where(eq(refunds.id, id));
  await floe.runJobs();
}

describe("a refund", () => {
  test("RFD-04 to RFD-08, RFD-11, RFD-14: by parts, with its share of the tax, and the state and the events that follow", async () => {
    const id = await sellTaxed();
    const order = await orderOf(id);
    const first = await give(id, 400, {
      reason: "customer_request",
      comment: "A secret note",
      metadata: { ticket: 7 },
    });
    expect(first).toEqual({
      id: first.id,
      created_at: floe.clock.now(),
      modified_at: floe.clock.now(),
      status: "succeeded",
      reason: "customer_request",
      amount: 400,
      tax_amount: 100,
      currency: "usd",
      organization_id: seller.organization_id,
      order_id: id,
      subscription_id: null,
      customer_id: order.customer_id,
      revoke_benefits: false,
      dispute: null,
      metadata: { ticket: 7 },
    });
    expect(await standing(id)).toEqual(["partially_refunded", 400, 100, 600, 150]);
    expect(await told()).toEqual([
      "refund.created succeeded",
      "order.updated partially_refunded",
      "order.refunded partially_refunded",
    ]);
    floe.clock.advance(1000);
    expect(await give(id, 600, { revoke_benefits: true })).toMatchObject({ tax_amount: 150, revoke_benefits: true });
    expect(await standing(id)).toEqual(["refunded", 1000, 250, 0, 0]);
    expect((await told()).slice(3)).toEqual([
      "refund.created succeeded",
      "order.updated refunded",
      "order.refunded refunded",
    ]);
    expect(await given(id)).toEqual([500, 750]);
    const listed = (await floe.request("GET", "/v1/refunds/", { token: seller.key })).text;
    expect(listed).not.toContain("secret note");
    expect(asked.map(({ reason }) => reason)).toEqual(["requested_by_customer", "requested_by_customer"]);
  });

  test("RFD-02, RFD-03: is refused where there is nothing to refund, and says which", async () => {
    const id = await sellTaxed();
    const stranger = await floe.seller("stranger");
    const unknown = [422, ["body", "order_id"], "Order not found"];
    const placed = ({ status, json }: { status: number; json: never }) => {
      const [fault] = (json as { detail: { loc: string[]; msg: string }[] }).detail;
      return [status, fault?.loc, fault?.msg];
    };
    expect(placed(await tryGive(newId(), 1))).toEqual(unknown);
    const body = { order_id: id, amount: 1, reason: other };
    expect(placed(await floe.request("POST", "/v1/refunds/", { token: stranger.key, body }))).toEqual(unknown);
    const most = [422, ["body", "amount"], "Refund amount exceeds refundable amount"];
    expect(placed(await tryGive(id, 1001))).toEqual(most);
    for (const amount of [0, -1, 1.5, "10", null, 1e300])
      expect((await tryGive(id, amount as number)).status).toBe(422);
    expect((await tryGive(id, 1, { reason: "dispute_prevention" })).status).toBe(422);
    expect((await tryGive(id, 1, { metadata: { a: { b: 1 } } })).status).toBe(422);
    expect(await standing(id)).toEqual(["paid", 0, 0, 1000, 250]);
    await give(id, 1000);
    expect(await tryGive(id, 1)).toMatchObject({ status: 403, json: { error: "RefundedAlready" } });
    const unpaid = await sellTaxed();
    await writeAnyState(floe.deps.db, (tx) =>
      tx.update(payments).set({ status: "failed" }).where(eq(payments.order_id, unpaid)),
    );
    expect(await tryGive(unpaid, 1)).toMatchObject({ status: 404, json: { error: "RefundUnknownPayment" } });
    expect(await given(id)).toEqual([1250]);
    expect(await told()).toEqual([]);
  });

  test("RFD-04: a free order has nothing to refund", async () => {
    const free = await seller.client.products.create({ body: { name: "Sample", prices: [{ amount_type: "free" }] } });
    const checkout = await seller.client.checkouts.create({ body: { products: [free.id] } });
    const params = { client_secret: checkout.client_secret };
    await floe.client().checkoutClient.confirm({ params, body: { customer_email: "ada@example.com" } });
    await floe.runJobs();
    const [order] = (await seller.client.orders.list({ query: {} })).items;
    expect((await tryGive(order?.id ?? "", 1)).status).toBe(422);
    const shown = await floe.request("GET", `/v1/refunds/preview?order_id=${order?.id}`, { token: seller.key });
    expect(shown).toMatchObject({ status: 404, json: { error: "RefundUnknownPayment" } });
  });

  test("is previewed to the cent, with what is taken back, and nothing has happened", async () => {
    const id = await sellTaxed();
    const { product_id } = await orderOf(id);
    const benefit = await seller.client.benefits.create({
      body: { type: "custom", description: "Our thanks", properties: {} },
    });
    await seller.client.products.setBenefits({ params: { id: product_id }, body: { benefits: [benefit.id] } });
    const shown = await seller.client.refunds.preview({ query: { order_id: id, amount: 400, revoke_benefits: true } });
    expect(shown).toEqual({
      order_id: id,
      currency: "usd",
      amount: 400,
      tax_amount: 100,
      total_amount: 500,
      remaining_amount: 600,
      remaining_tax_amount: 150,
      revoke_benefits: true,
      benefits: [{ id: benefit.id, type: "custom", description: "Our thanks" }],
    });
    expect(await seller.client.refunds.preview({ query: { order_id: id } })).toMatchObject({
      amount: 1000,
      tax_amount: 250,
      remaining_amount: 0,
      benefits: [],
    });
    expect([asked, await standing(id)]).toEqual([[], ["paid", 0, 0, 1000, 250]]);
  });

  test("RFD-09, RFD-11: that stays pending does not touch the order, but its money is not given twice; later it does", async () => {
    const id = await sellTaxed();
    words = [say("pending")];
    const made = await give(id, 800);
    expect([made.status, await standing(id)]).toEqual(["pending", ["paid", 0, 0, 1000, 250]]);
    expect((await tryGive(id, 201)).status).toBe(422);
    expect((await seller.client.refunds.preview({ query: { order_id: id } })).amount).toBe(200);
    expect(await told()).toEqual(["refund.created pending"]);
    await hear(made.id, say("pending"));
    expect(await told()).toEqual(["refund.created pending"]);
    await hear(made.id, say("succeeded"));
    expect(await standing(id)).toEqual(["partially_refunded", 800, 200, 200, 50]);
    const [, ...after] = await told();
    expect(after).toEqual([
      "refund.updated succeeded",
      "order.updated partially_refunded",
      "order.refunded partially_refunded",
    ]);
    expect(await given(id)).toEqual([1000]);
  });

  test("RFD-04: where a balance paid in part and a first card was declined, the card that paid gets what it brought, and no more", async () => {
    const id = await sellTaxed();
    const { db } = floe.deps;
    // Of 12.50 the customer's balance has paid 5.00, and of two attempts the second went through.
    await db.update(orders).set({ applied_balance_amount: -500 }).where(eq(orders.id, id));
    const [paid] = await db.update(payments).set({ amount: 750 }).where(eq(payments.order_id, id)).returning();
    if (!paid) throw new Error("There is no payment.");
    await db.update(testIntents).set({ amount: 750 }).where(eq(testIntents.payment_id, paid.id));
    const declined = { id: newId(), status: "failed" as const, processor_id: "pi_declined" };
    await db.insert(payments).values({ ...paid, ...declined, amount: 1250 });
    expect(await orderOf(id)).toMatchObject({ refundable_amount: 500, refundable_tax_amount: 250 });
    const parts = [await give(id, 200), await give(id, 300)];
    expect(parts.map(({ amount, tax_amount }) => [amount, tax_amount])).toEqual([
      [200, 50],
      [300, 200],
    ]);
    expect(asked.map((one) => [one.intent_processor_id, one.amount])).toEqual([
      [paid.processor_id, 250],
      [paid.processor_id, 500],
    ]);
    expect(await standing(id)).toEqual(["refunded", 500, 250, 0, 0]);
    await expect(give(id, 1)).rejects.toThrow("refunded already");
  });

  test("RFD-09, RFD-11, RFD-13: that comes back is taken off the order again, to the last cent; the credit of another stays", async () => {
    const id = await sellTaxed();
    const { customer_id, currency } = await orderOf(id);
    const { organization_id } = seller;
    await floe.deps.db.insert(customerBalances).values({ organization_id, customer_id, currency, amount: 300 });
    const balance = async () =>
      (await floe.deps.db.select().from(customerBalances).where(eq(customerBalances.customer_id, customer_id)))[0]
        ?.amount;
    const part = await give(id, 100);
    expect([part.tax_amount, await balance()]).toEqual([25, 300]);
    const rest = await give(id, 900);
    expect([await standing(id), await balance()]).toEqual([["refunded", 1000, 250, 0, 0], 300]);
    await hear(rest.id, say("failed", "expired_or_canceled_card"));
    expect([await standing(id), await balance()]).toEqual([["partially_refunded", 100, 25, 900, 225], 300]);
    await hear(part.id, say("failed", "expired_or_canceled_card"));
    expect([await standing(id), await balance()]).toEqual([["paid", 0, 0, 1000, 250], 300]);
    expect((await told()).slice(6)).toEqual([
      "refund.updated failed",
      "order.updated partially_refunded",
      "refund.updated failed",
      "order.updated paid",
    ]);
  });

  test("RFD-13: a debt is not made greater by a refund", async () => {
    const id = await sellTaxed();
    const { customer_id, currency } = await orderOf(id);
    const { organization_id } = seller;
    await floe.deps.db.insert(customerBalances).values({ organization_id, customer_id, currency, amount: -300 });
    await give(id, 100);
    expect(
      (await floe.deps.db.select().from(customerBalances).where(eq(customerBalances.customer_id, customer_id)))[0]
        ?.amount,
    ).toBe(-300);
  });

  test("that the processor refuses has failed, and can be made anew", async () => {
    const id = await sellTaxed();
    words = [() => Promise.reject(new ProcessorError("Not today."))];
    expect((await give(id, 1000)).status).toBe("failed");
    expect([await told(), await given(id)]).toEqual([["refund.created failed"], []]);
    expect((await give(id, 1000)).status).toBe("succeeded");
    expect(await given(id)).toEqual([1250]);
  });

  test("that the processor does not answer is asked for again, under the same id, and never doubled", async () => {
    const id = await sellTaxed();
    words = [
      async (request) => {
        await real.refund(request);
        throw new Error("The line is gone.");
      },
    ];
    const made = await give(id, 1000);
    expect([made.status, await told()]).toEqual(["pending", ["refund.created pending"]]);
    expect((await tryGive(id, 1)).status).toBe(422);
    floe.clock.advance(refundAgainMs);
    await floe.runJobs();
    expect(await standing(id)).toEqual(["refunded", 1000, 250, 0, 0]);
    expect(await given(id)).toEqual([1250]);
    expect(asked.filter(({ refund_id }) => refund_id === made.id).length).toBeGreaterThan(1);
    expect(await told()).toEqual([
      "refund.created pending",
      "refund.updated succeeded",
      "order.updated refunded",
      "order.refunded refunded",
    ]);
  });

  test("without an answer, and refused by the time it is asked for again, has failed; nothing is asked for any more", async () => {
    const id = await sellTaxed();
    words = [() => Promise.reject(new Error("The line is gone."))];
    const made = await give(id, 1000);
    later.set(made.id, () => Promise.reject(new ProcessorError("The charge is disputed.", "charge_disputed")));
    expect([made.status, await told()]).toEqual(["pending", ["refund.created pending"]]);
    floe.clock.advance(refundAgainMs);
    await floe.runJobs();
    expect(await told()).toEqual(["refund.created pending", "refund.updated failed"]);
    const [row] = await floe.deps.db.select().from(refunds).where(eq(refunds.id, made.id));
    expect(row).toMatchObject({ status: "failed", failure_reason: "The charge is disputed.", due_at: null });
    expect(await floe.deps.db.$count(failedWork, eq(failedWork.row_id, made.id))).toBe(0);
    expect((await give(id, 1000)).status).toBe("succeeded");
    expect(await given(id)).toEqual([1250]);
  });

  test("that is turned away unread is asked for again, however often", async () => {
    const id = await sellTaxed();
    const busy = () => Promise.reject(new ProcessorError("Too much at once.", "rate_limit"));
    words = [busy];
    const made = await give(id, 1000);
    expect(made.status).toBe("pending");
    later.set(made.id, busy);
    for (let left = 2; left > 0; left -= 1) {
      floe.clock.advance(refundAgainMs);
      await floe.runJobs();
    }
    expect(asked.filter(({ refund_id }) => refund_id === made.id).length).toBeGreaterThan(2);
    expect(await given(id)).toEqual([1250]);
    expect((await told()).slice(0, 2)).toEqual(["refund.created pending", "refund.updated succeeded"]);
  });

  test("is made once for an idempotency key, also where the process ended before it answered", async () => {
    const id = await sellTaxed();
    const headers = { "idempotency-key": newId() };
    const body = { order_id: id, amount: 100, reason: other };
    const ask = () => floe.request("POST", "/v1/refunds/", { token: seller.key, body, headers });
    words = [() => new Promise(() => {})];
    // It never answers, as to a process that is gone.
    void ask();
    await expect.poll(() => asked.length).toBe(1);
    const again = await ask();
    expect([again.status, (again.json as Refund).status]).toEqual([201, "pending"]);
    floe.clock.advance(refundAgainMs);
    await floe.runJobs();
    expect(await given(id)).toEqual([125]);
    expect((await seller.client.refunds.list({ query: { order_id: [id] } })).items).toMatchObject([
      { status: "succeeded" },
    ]);
  });

  test("RFD-03: of a seller who is blocked meanwhile is not made", async () => {
    const id = await sellTaxed();
    const block = (blocked_at: Date | null) =>
      floe.deps.db.update(organization).set({ blocked_at }).where(eq(organization.id, seller.organization_id));
    await block(floe.clock.now());
    // Their key is good no more, so nobody gets as far as the refund.
    expect((await tryGive(id, 1)).status).toBe(401);
    await block(null);
    expect(await given(id)).toEqual([]);
  });

  test("is in the audit log, with the money that it moved", async () => {
    const id = await sellTaxed();
    await give(id, 400);
    const answer = await floe.request("GET", `/api/auth/audit/list?organizationId=${seller.organization_id}`, {
      token: seller.session,
    });
    expect(answer.text).toContain("refund.created");
    expect(answer.text).toContain("order.refunded");
  });
});

/** The payment's charge at the processor. */
async function chargeOf(order_id: string): Promise<string> {
  const [payment] = await floe.deps.db.select().from(payments).where(eq(payments.order_id, order_id));
  return payment?.processor_id ?? "";
}
const rowsOf = async (order_id: string) =>
  (await seller.client.refunds.list({ query: { order_id: [order_id] } })).items;

describe("a refund made at the processor itself", () => {
  test("RFD-07, RFD-10, RFD-11: is heard of, split, and counted once however often it is told of", async () => {
    const id = await sellTaxed();
    const made = await real.test?.refundElsewhere(await chargeOf(id), 625);
    await floe.runJobs();
    expect(await rowsOf(id)).toMatchObject([{ status: "succeeded", amount: 500, tax_amount: 125, reason: "other" }]);
    expect(await standing(id)).toEqual(["partially_refunded", 500, 125, 500, 125]);
    const events = [
      "refund.created succeeded",
      "order.updated partially_refunded",
      "order.refunded partially_refunded",
    ];
    expect(await told()).toEqual(events);
    const [payment] = await floe.deps.db.select().from(payments).where(eq(payments.order_id, id));
    const { organization_id } = seller;
    for (const again of [1, 2, 3])
      await recordProcessorEvent(floe.deps, {
        id: `evt_again_${again}_${id}`,
        account: real.account,
        kind: "refund",
        organization_id,
        payment_id: payment?.id ?? "",
        intent_processor_id: payment?.processor_id ?? "",
        processor_id: made?.processor_id ?? "",
        refund_id: null,
      });
    await floe.runJobs();
    expect([await rowsOf(id), await told()]).toMatchObject([[{ amount: 500 }], events]);
    // The rest by the API, whose own notice says nothing new.
    expect(await give(id, 500)).toMatchObject({ status: "succeeded", tax_amount: 125 });
    await floe.runJobs();
    expect(await standing(id)).toEqual(["refunded", 1000, 250, 0, 0]);
    expect(await rowsOf(id)).toHaveLength(2);
  });

  test("of more than the order knows of counts as what was left, and is logged", async () => {
    const id = await sellTaxed();
    await floe.deps.db
      .update(orders)
      .set({ refunded_amount: 900, status: "partially_refunded" })
      .where(eq(orders.id, id));
    await real.test?.refundElsewhere(await chargeOf(id), 1250);
    await floe.runJobs();
    expect(await rowsOf(id)).toMatchObject([{ amount: 100, tax_amount: 250 }]);
    expect(await standing(id)).toEqual(["refunded", 1000, 250, 0, 0]);
    expect(floe.logged.filter((line) => line.includes("More was given back"))).toHaveLength(1);
  });

  test("that is told of but cannot be asked about yet is shown to nobody", async () => {
    const id = await sellTaxed();
    const [payment] = await floe.deps.db.select().from(payments).where(eq(payments.order_id, id));
    await recordProcessorEvent(floe.deps, {
      id: `evt_${id}`,
      account: real.account,
      kind: "refund",
      organization_id: seller.organization_id,
      payment_id: payment?.id ?? "",
      intent_processor_id: payment?.processor_id ?? "",
      processor_id: `re_unknown_${id}`,
      refund_id: null,
    });
    await floe.runJobs();
    expect([await rowsOf(id), await told(), await standing(id)]).toEqual([[], [], ["paid", 0, 0, 1000, 250]]);
    expect(await give(id, 1000)).toMatchObject({ status: "succeeded", tax_amount: 250 });
  });

  test("RFD-10: before we heard of it, the API's own is refused as the processor does, and leaves nothing", async () => {
    const id = await sellTaxed();
    await real.test?.refundElsewhere(await chargeOf(id), 1250);
    const headers = { "idempotency-key": newId() };
    const body = { order_id: id, amount: 1000, reason: other };
    const ask = () => floe.request("POST", "/v1/refunds/", { token: seller.key, body, headers });
    const refused = { status: 403, json: { error: "RefundedAlready" } };
    expect(await ask()).toMatchObject(refused);
    expect(await ask()).toMatchObject(refused);
    expect([await rowsOf(id), await told()]).toEqual([[], []]);
    await floe.runJobs();
    expect([await standing(id), await rowsOf(id)]).toMatchObject([["refunded", 1000, 250, 0, 0], [{ amount: 1000 }]]);
  });
});

describe("the list (RFD-14)", () => {
  test("is filtered and sorted", async () => {
    const [first, second] = [await sellTaxed(), await sellTaxed()];
    const [a, b] = [await give(first, 300), await give(second, 200)];
    words = [() => Promise.reject(new ProcessorError("Not today."))];
    const c = await give(second, 100);
    const { customer_id } = await orderOf(first);
    const amounts = async (query: object) =>
      (await seller.client.refunds.list({ query: { sorting: "amount", ...query } })).items.map(({ amount }) => amount);
    expect(await amounts({})).toEqual([100, 200, 300]);
    expect(await amounts({ sorting: "-amount" })).toEqual([300, 200, 100]);
    expect(await amounts({ order_id: [second] })).toEqual([100, 200]);
    expect(await amounts({ id: [a.id, c.id] })).toEqual([100, 300]);
    expect(await amounts({ customer_id: [customer_id] })).toEqual([100, 200, 300]);
    expect(await amounts({ customer_id: [newId()] })).toEqual([]);
    expect(await amounts({ subscription_id: [newId()] })).toEqual([]);
    expect(await amounts({ external_customer_id: ["nobody"] })).toEqual([]);
    expect(await amounts({ succeeded: true })).toEqual([200, 300]);
    expect(await amounts({ succeeded: false })).toEqual([100]);
    expect(await amounts({ page: 2, limit: 2 })).toEqual([300]);
    expect(b.status).toBe("succeeded");
  });
});

describe("a second payment of what is paid", () => {
  test("goes back by itself, does not touch the order, and the seller is told and shown", async () => {
    const id = await sellTaxed();
    const [first] = await floe.deps.db.select().from(payments).where(eq(payments.order_id, id));
    if (!first) throw new Error("There is no payment.");
    const order = await orderOf(id);
    const late = newId();
    const charge = { organization_id: seller.organization_id, payment_id: late, amount: 1250, currency: "usd" };
    const intent = await real.confirm({
      ...charge,
      confirmation_token_id: "pm_card_visa",
      description: "Again",
      email: "ada@example.com",
    } as never);
    const values = { ...first, id: late, status: "failed" as const, processor_id: intent.processor_id };
    await floe.deps.db.insert(payments).values({ ...values, reconcile_due_at: new Date(0) });
    await floe.runJobs();
    const { items } = await seller.client.refunds.list({ query: { order_id: [id] } });
    expect(items).toMatchObject([{ status: "succeeded", reason: "duplicate", amount: 1250, tax_amount: 0 }]);
    expect(await orderOf(id)).toEqual(order);
    expect(await told()).toEqual(["refund.created succeeded"]);
    const written = await floe.deps.db.select().from(mails).where(eq(mails.to, seller.email));
    expect(written.map(({ subject }) => subject).filter((subject) => subject.includes("second payment"))).toEqual([
      expect.stringMatching(/^A second payment to seller .* was given back$/),
    ]);
    // The order itself can still be refunded in full.
    expect((await give(id, 1000)).tax_amount).toBe(250);
    expect(await given(id)).toEqual([1250, 1250]);
    const rows = await floe.deps.db
      .select()
      .from(refunds)
      .where(and(eq(refunds.order_id, id), eq(refunds.origin, "surplus")));
    expect(rows).toHaveLength(1);
  });
});
