import { and, eq, like } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { disputeAgainMs } from "../../server/billing/disputes/rules.ts";
import { disputes } from "../../server/billing/disputes/tables.ts";
import { orders } from "../../server/billing/orders/tables.ts";
import { recordProcessorEvent } from "../../server/billing/payments/notices.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { auditLog, events, mails } from "../../server/platform/db/tables.ts";
import type { Dispute, Processor } from "../../server/platform/processors/processor.ts";
import { testDisputes, testIntents } from "../../server/platform/processors/tables.ts";
import { writeAnyState } from "../support/any-state.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { disputeOrder, sellOrder } from "../support/rows.ts";

let floe: Floe;
let seller: Seller;
let real: Processor;
/** What the processor does instead of accepting, once each. */
let failures: (() => Promise<never>)[] = [];
beforeAll(async () => {
  floe = await start({
    replace: (deps) => {
      real = deps.processor;
      const acceptDispute = async (id: string) => (await failures.shift()?.()) ?? real.acceptDispute(id);
      return { processor: { ...real, acceptDispute } };
    },
  });
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  failures = [];
});

const orderOf = (id: string) => seller.client.orders.get({ params: { id } });
const get = (id: string) => seller.client.disputes.get({ params: { id } });
const listOf = async (query: object = {}) => (await seller.client.disputes.list({ query })).items;
const paymentOf = async (order_id: string) => {
  const [row] = await floe.deps.db.select().from(payments).where(eq(payments.order_id, order_id));
  if (!row) throw new Error("There is no payment.");
  return row;
};
/** The bank goes on with it. */
async function decide(id: string, status: Dispute["status"]) {
  const [row] = await floe.deps.db.select().from(disputes).where(eq(disputes.id, id));
  await real.test?.decideDispute(row?.processor_id ?? "", status);
  await floe.runJobs();
}
const policy = (access: "keep" | "until_lost" | "withhold") =>
  seller.client.organizations.update({
    params: { id: seller.organization_id },
    body: { dispute_settings: { access } },
  });
const updates = async (order_id: string) => {
  const rows = await floe.deps.db
    .select()
    .from(events)
    .where(and(eq(events.organization_id, seller.organization_id), eq(events.type, "order.updated")))
    .orderBy(events.seq);
  const shown = rows.map(({ data }) => data as { id: string; dispute_status: string | null; access: string });
  return shown
    .filter(({ id, dispute_status }) => id === order_id && dispute_status)
    .map(({ dispute_status, access }) => `${dispute_status} ${access}`);
};
/** Which letters the seller got, in the order of the alphabet. */
const subjects = async () => {
  const rows = await floe.deps.db
    .select()
    .from(mails)
    .where(and(eq(mails.to, seller.email), like(mails.subject, "A payment to%")));
  return rows.map(({ subject }) => subject.replace(/^A payment to \S+ \S+ /, "")).sort();
};

describe("auto_accept_below_amount", () => {
  const limit = (auto_accept_below_amount: number | null) =>
    seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { dispute_settings: { auto_accept_below_amount } },
    });

  test("gives in by itself to what is of less, once, tells the processor until it has taken note, and says so", async () => {
    const changed = await limit(2000);
    expect(changed.dispute_settings).toEqual({ auto_accept_below_amount: 2000, access: "until_lost" });
    const order_id = await sellOrder(floe, seller);
    failures = [() => Promise.reject(new Error("The line is down."))];
    const id = await disputeOrder(floe, seller, order_id);
    expect((await get(id)).status).toBe("needs_response");
    floe.clock.advance(disputeAgainMs + 60_000);
    await floe.runJobs();
    expect([(await get(id)).status, (await orderOf(order_id)).access]).toEqual(["lost", "withheld"]);
    expect(await subjects()).toEqual(["is disputed", "was lost to a dispute"]);
    await expect(seller.client.disputes.accept({ params: { id } })).rejects.toThrow("not open");
  });

  test("leaves what is of as much or more, in another currency, or open since before; null takes it away", async () => {
    const before = await disputeOrder(floe, seller, await sellOrder(floe, seller));
    await limit(1900);
    const same = await disputeOrder(floe, seller, await sellOrder(floe, seller));
    await limit(10_000);
    const inDollars = await sellOrder(floe, seller);
    await seller.client.organizations.update({
      params: { id: seller.organization_id },
      body: { default_presentment_currency: "eur" },
    });
    const foreign = await disputeOrder(floe, seller, inDollars);
    await floe.runJobs();
    for (const id of [before, same, foreign]) expect((await get(id)).status).toBe("needs_response");
    expect((await limit(null)).dispute_settings.auto_accept_below_amount).toBeNull();
  });
});

describe("a dispute", () => {
  test("is heard of, read, shown on the order, and told to the members", async () => {
    const order_id = await sellOrder(floe, seller);
    await floe.deps.db.update(orders).set({ subtotal_amount: 1520, tax_amount: 380 }).where(eq(orders.id, order_id));
    const id = await disputeOrder(floe, seller, order_id);
    const order = await orderOf(order_id);
    const shown = await get(id);
    expect(shown).toEqual({
      id,
      created_at: floe.clock.now(),
      modified_at: null,
      status: "needs_response",
      resolved: false,
      closed: false,
      amount: 1520,
      tax_amount: 380,
      currency: "usd",
      reason: "general",
      evidence_due_by: expect.any(Date),
      past_due: false,
      order_id,
      payment_id: (await paymentOf(order_id)).id,
      customer: order.customer,
      case_id: null,
    });
    expect(order).toMatchObject({ status: "paid", dispute_status: "needs_response", access: "granted" });
    expect(await updates(order_id)).toEqual(["needs_response granted"]);
    expect(await subjects()).toEqual(["is disputed"]);
    await floe.deps.db
      .update(disputes)
      .set({ evidence_due_by: new Date(0) })
      .where(eq(disputes.id, id));
    expect((await get(id)).past_due).toBe(true);
  });

  test("is counted once, however often and in whatever order it is told of", async () => {
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    const [row] = await floe.deps.db.select().from(disputes).where(eq(disputes.id, id));
    const payment = await paymentOf(order_id);
    const tell = (event: number) =>
      recordProcessorEvent(floe.deps, {
        id: `evt_${event}_${id}`,
        account: real.account,
        kind: "dispute",
        organization_id: seller.organization_id,
        payment_id: payment.id,
        intent_processor_id: payment.processor_id ?? "",
        processor_id: row?.processor_id ?? "",
      });
    await decide(id, "lost");
    for (const event of [1, 2, 2, 3]) await tell(event);
    await floe.runJobs();
    expect((await listOf({ order_id: [order_id] })).map(({ status }) => status)).toEqual(["lost"]);
    // A word that was on its way for long.
    await floe.deps.db
      .update(testDisputes)
      .set({ status: "needs_response" })
      .where(eq(testDisputes.id, row?.processor_id ?? ""));
    await tell(4);
    await floe.runJobs();
    expect([(await get(id)).status, (await orderOf(order_id)).dispute_status]).toEqual(["lost", "lost"]);
    expect(await subjects()).toEqual(["is disputed", "was lost to a dispute"]);
  });

  test("RFD-10: stands in the way of a refund while the bank has the money, and no longer when it is won", async () => {
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    const refund = () =>
      floe.request("POST", "/v1/refunds/", { token: seller.key, body: { order_id, amount: 100, reason: "other" } });
    const refused = { status: 403, json: { error: "RefundDisputedPayment" } };
    expect(await refund()).toMatchObject(refused);
    await decide(id, "under_review");
    expect(await refund()).toMatchObject(refused);
    await decide(id, "won");
    expect(await get(id)).toMatchObject({ resolved: true, closed: true, evidence_due_by: null });
    expect(await refund()).toMatchObject({ status: 201, json: { status: "succeeded" } });
  });

  test("that we had not heard of is refused by the processor in the same words", async () => {
    const order_id = await sellOrder(floe, seller);
    await real.test?.openDispute((await paymentOf(order_id)).processor_id ?? "");
    const body = { order_id, amount: 100, reason: "other" };
    expect(await floe.request("POST", "/v1/refunds/", { token: seller.key, body })).toMatchObject({
      status: 403,
      json: { error: "RefundDisputedPayment" },
    });
    expect((await seller.client.refunds.list({ query: { order_id: [order_id] } })).items).toEqual([]);
  });

  test("of money that never paid the order does not touch it", async () => {
    const order_id = await sellOrder(floe, seller);
    await floe.deps.db.update(payments).set({ is_surplus: true }).where(eq(payments.order_id, order_id));
    const id = await disputeOrder(floe, seller, order_id);
    expect(await get(id)).toMatchObject({ amount: 1900, tax_amount: 0 });
    expect(await orderOf(order_id)).toMatchObject({ dispute_status: null, access: "granted" });
  });

  test("names another currency than its payment: nobody believes it", async () => {
    const order_id = await sellOrder(floe, seller);
    const { id, processor_id } = await paymentOf(order_id);
    await floe.deps.db.update(testIntents).set({ currency: "eur" }).where(eq(testIntents.payment_id, id));
    await real.test?.openDispute(processor_id ?? "");
    await floe.runJobs();
    expect([await listOf(), (await orderOf(order_id)).dispute_status]).toEqual([[], null]);
  });
});

describe("what becomes of the access to what was bought", () => {
  test.each([
    ["keep", ["needs_response granted", "under_review granted", "lost granted"]],
    ["until_lost", ["needs_response granted", "under_review granted", "lost withheld"]],
    ["withhold", ["needs_response withheld", "under_review withheld", "lost withheld"]],
  ] as const)("%s: a dispute that is lost", async (access, expected) => {
    await policy(access);
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    await decide(id, "under_review");
    await decide(id, "lost");
    expect(await updates(order_id)).toEqual(expected);
    expect((await orderOf(order_id)).access).toBe(expected.at(-1)?.split(" ")[1]);
  });

  test("withhold: given back when it is won", async () => {
    await policy("withhold");
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    await decide(id, "won");
    expect(await updates(order_id)).toEqual(["needs_response withheld", "won granted"]);
    expect(await subjects()).toEqual(["is disputed", "stays: the dispute was won"]);
  });

  test("is the seller's to say, and until then until it is lost", async () => {
    const params = { id: seller.organization_id };
    const settings = async () => (await seller.client.organizations.get({ params })).dispute_settings;
    expect(await settings()).toEqual({ auto_accept_below_amount: null, access: "until_lost" });
    await policy("keep");
    await seller.client.organizations.update({ params, body: { dispute_settings: {} } });
    expect((await settings()).access).toBe("keep");
    const wrong = { dispute_settings: { access: "never" } };
    expect(
      (await floe.request("PATCH", `/v1/organizations/${params.id}`, { token: seller.key, body: wrong })).status,
    ).toBe(422);
  });
});

describe("an early warning", () => {
  test("RFD-15: can be refunded, and a refund at the processor is what prevents the dispute", async () => {
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    const [row] = await floe.deps.db.select().from(disputes).where(eq(disputes.id, id));
    await writeAnyState(floe.deps.db, (tx) =>
      tx.update(disputes).set({ status: "early_warning" }).where(eq(disputes.id, id)),
    );
    await floe.deps.db.update(orders).set({ dispute_status: "early_warning" }).where(eq(orders.id, order_id));
    await floe.deps.db
      .update(testDisputes)
      .set({ status: "early_warning" })
      .where(eq(testDisputes.id, row?.processor_id ?? ""));
    const part = { order_id, amount: 100, reason: "customer_request" as const };
    expect((await seller.client.refunds.create({ body: part })).status).toBe("succeeded");
    await real.test?.refundElsewhere((await paymentOf(order_id)).processor_id ?? "", 1800);
    await floe.runJobs();
    await decide(id, "prevented");
    const newest = floe.client(seller.key, { "polar-version": "2027-01" });
    const [made] = (await newest.refunds.list({ query: { order_id: [order_id], sorting: "-amount" } })).items;
    expect(made).toMatchObject({
      reason: "dispute_prevention",
      revoke_benefits: true,
      dispute: { id, status: "prevented", closed: true },
    });
    const old = await floe.request("GET", `/v1/refunds/?order_id=${order_id}&sorting=-amount`, { token: seller.key });
    expect((old.json as { items: { reason: string }[] }).items[0]?.reason).toBe("other");
    expect(await orderOf(order_id)).toMatchObject({
      status: "refunded",
      dispute_status: "prevented",
      access: "granted",
    });
  });
});

describe("accepting one", () => {
  test("loses it at once, at the processor and here, and can be done once", async () => {
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    const accepted = await seller.client.disputes.accept({ params: { id } });
    expect(accepted).toMatchObject({ id, status: "lost", resolved: true, closed: true });
    expect(await orderOf(order_id)).toMatchObject({ status: "paid", dispute_status: "lost", access: "withheld" });
    const again = await floe.request("POST", `/v1/disputes/${id}/accept`, { token: seller.key });
    expect(again).toMatchObject({ status: 409, json: { error: "DisputeNotOpenError" } });
    const log = await floe.deps.db.select().from(auditLog).where(eq(auditLog.organization_id, seller.organization_id));
    const actions = log.map(({ action }) => action).filter((action) => action.startsWith("dispute"));
    expect(actions.sort()).toEqual(["dispute.accepted", "dispute.lost", "dispute.needs_response"]);
  });

  test("is told to the processor again, where it did not answer, until it has taken note", async () => {
    const order_id = await sellOrder(floe, seller);
    const id = await disputeOrder(floe, seller, order_id);
    failures = [() => Promise.reject(new Error("The line is gone."))];
    expect((await seller.client.disputes.accept({ params: { id } })).status).toBe("needs_response");
    floe.clock.advance(disputeAgainMs);
    await floe.runJobs();
    expect((await get(id)).status).toBe("lost");
  });

  test("another seller's is not there", async () => {
    const id = await disputeOrder(floe, seller, await sellOrder(floe, seller));
    const stranger = await floe.seller("stranger");
    for (const [method, path] of [
      ["GET", `/v1/disputes/${id}`],
      ["POST", `/v1/disputes/${id}/accept`],
      ["POST", `/v1/disputes/${newId()}/accept`],
    ] as const)
      expect((await floe.request(method, path, { token: stranger.key })).status).toBe(404);
    expect((await get(id)).status).toBe("needs_response");
  });
});

test("the list is filtered and sorted", async () => {
  const [first, second] = [await sellOrder(floe, seller), await sellOrder(floe, seller)];
  const [a, b] = [await disputeOrder(floe, seller, first), await disputeOrder(floe, seller, second)];
  await decide(b, "won");
  const found = async (query: object) => (await listOf({ sorting: "created_at", ...query })).map(({ id }) => id);
  expect(await found({})).toEqual([a, b]);
  expect(await found({ sorting: "-created_at" })).toEqual([b, a]);
  expect(await found({ order_id: [first] })).toEqual([a]);
  expect(await found({ status: ["won"] })).toEqual([b]);
  expect(await found({ status: ["won", "needs_response"], limit: 1, page: 2 })).toEqual([b]);
  expect(await found({ status: ["lost"] })).toEqual([]);
});
