import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyBalance,
  computeRefundable,
  computeTotals,
  type OrderRow,
  planRefunded,
} from "../../server/billing/orders/rules.ts";
import {
  checkDisputed,
  checkRefund,
  computeTaxShare,
  computeTaxWithin,
  getCounts,
  getProcessorReason,
  limitShare,
  planHeard,
  planOutcome,
  type RefundRow,
  refundAgainMs,
  serializePreventedDispute,
  splitTotal,
  subtractShare,
} from "../../server/billing/refunds/rules.ts";
import { disputeStatuses } from "../../shared/api/disputes.ts";
import { type Refund, refundReasons, refundStatuses } from "../../shared/api/refunds.ts";
import type { ApiError } from "../../shared/errors.ts";
import { divideHalfAway, roundFractionHalfEven } from "../../shared/money.ts";

type Sold = Partial<
  Pick<OrderRow, "applied_balance_amount" | "refunded_amount" | "refunded_tax_amount" | "status" | "discount_amount">
> &
  Partial<Pick<OrderRow, "reduced_amount" | "reduced_tax_amount">>;
/** An order of so much without tax, and its tax. */
const orderOf = (net: number, tax_amount: number, more: Sold = {}): OrderRow =>
  ({
    id: "order-1",
    status: "paid",
    subtotal_amount: net + (more.discount_amount ?? 0),
    discount_amount: 0,
    tax_amount,
    applied_balance_amount: 0,
    reduced_amount: 0,
    reduced_tax_amount: 0,
    refunded_amount: 0,
    refunded_tax_amount: 0,
    ...more,
  }) as OrderRow;
const refundOf = (more: Partial<RefundRow> = {}) =>
  ({
    id: "refund-1",
    status: "pending",
    origin: "api",
    is_surplus: false,
    amount: 100,
    tax_amount: 20,
    processor_id: null,
    ...more,
  }) as RefundRow;

/** Refund these one after the other; answers the tax that went with each, and how the order stands. */
function refundAll(order: OrderRow, amounts: readonly number[]) {
  let row = order;
  const taxes = amounts.map((amount) => {
    const tax_amount = computeTaxShare(row, computeRefundable(row), amount);
    row = { ...row, ...planRefunded(row, { amount, tax_amount }) };
    return tax_amount;
  });
  return { taxes, row };
}

describe("what may be refunded, and the tax that goes with it (RFD-04, RFD-05)", () => {
  test.each([
    ["the whole", orderOf(1000, 250), [1000], [250], "refunded"],
    ["a part, and the rest", orderOf(1000, 250), [400, 600], [100, 150], "refunded"],
    ["a part of odd amounts", orderOf(9900, 2475), [3333], [833], "partially_refunded"],
    [
      "with a debt that was collected",
      orderOf(1000, 250, { applied_balance_amount: 1000 }),
      [500],
      [125],
      "partially_refunded",
    ],
    ["all of it after that", orderOf(1000, 250, { applied_balance_amount: 1000 }), [500, 1500], [125, 125], "refunded"],
    [
      "more than its own amount",
      orderOf(1000, 250, { applied_balance_amount: 1000 }),
      [1500],
      [250],
      "partially_refunded",
    ],
    ["with credit that was used", orderOf(1000, 250, { applied_balance_amount: -500 }), [500], [250], "refunded"],
    ["without tax", orderOf(1000, 0), [300, 700], [0, 0], "refunded"],
    ["a tie, to the even unit below", orderOf(1000, 250), [2], [0], "partially_refunded"],
    ["a tie, to the even unit above", orderOf(1000, 250), [6], [2], "partially_refunded"],
    ["after a discount", orderOf(500, 125, { discount_amount: 500 }), [100, 400], [25, 100], "refunded"],
  ] as const)("%s", (_, order, amounts, taxes, status) => {
    const done = refundAll(order, amounts);
    expect(done.taxes).toEqual(taxes);
    expect(done.row.status).toBe(status);
    expect(done.row.refunded_amount).toBe(amounts.reduce((sum: number, one) => sum + one, 0));
  });

  test.each([
    [{}, { refundable_amount: 1000, refundable_tax_amount: 250 }],
    [
      { refunded_amount: 400, refunded_tax_amount: 100 },
      { refundable_amount: 600, refundable_tax_amount: 150 },
    ],
    [{ applied_balance_amount: -500 }, { refundable_amount: 500, refundable_tax_amount: 250 }],
    [{ applied_balance_amount: -1250 }, { refundable_amount: 0, refundable_tax_amount: 250 }],
    [{ applied_balance_amount: 1000 }, { refundable_amount: 2000, refundable_tax_amount: 250 }],
  ])("%j leaves %j", (more, left) => expect(computeRefundable(orderOf(1000, 250, more))).toEqual(left));

  test("the half goes to the even unit, and everything else to the nearer one", () => {
    expect([1, 3, 5, 7].map((part) => roundFractionHalfEven(1, part, 2))).toEqual([0, 2, 2, 4]);
    fc.assert(
      fc.property(
        fc.nat({ max: 99_999_999 }),
        fc.nat({ max: 99_999_999 }),
        fc.integer({ min: 1, max: 99_999_999 }),
        (amount, part, total) => {
          const even = roundFractionHalfEven(amount, part, total);
          const away = Number(divideHalfAway(BigInt(amount) * BigInt(part), BigInt(total)));
          const isTie = (BigInt(amount) * BigInt(part) * 2n) % BigInt(total) === 0n;
          if (!isTie) expect(even).toBe(away);
          expect(away - even).toBeGreaterThanOrEqual(0);
          expect(away - even).toBeLessThanOrEqual(even % 2 === 0 ? 1 : 0);
        },
      ),
      { numRuns: 2000 },
    );
    expect(() => roundFractionHalfEven(-1, 1, 2)).toThrow(RangeError);
    expect(() => roundFractionHalfEven(1, 1, 0)).toThrow(RangeError);
    expect(() => roundFractionHalfEven(1.5, 1, 2)).toThrow(RangeError);
  });
});

describe("what was given back at the processor (RFD-07)", () => {
  test.each([
    ["half of the whole", orderOf(1000, 250), 625, { amount: 500, tax_amount: 125 }],
    ["the whole", orderOf(1000, 250), 1250, { amount: 1000, tax_amount: 250 }],
    [
      "the rest",
      orderOf(1000, 250, { refunded_amount: 400, refunded_tax_amount: 100 }),
      750,
      { amount: 600, tax_amount: 150 },
    ],
    ["of an order without tax", orderOf(1000, 0), 300, { amount: 300, tax_amount: 0 }],
    ["one unit", orderOf(1000, 250), 1, { amount: 1, tax_amount: 0 }],
  ])("%s", (_, order, total, share) => expect(splitTotal(order, computeRefundable(order), total)).toEqual(share));

  test.each([
    ["as it is, where it fits", [1000, 250], [400, 100], [400, 100]],
    ["no more than there is", [1000, 250], [1200, 300], [1000, 250]],
    ["what tax has no room for, without tax", [1000, 50], [400, 100], [450, 50]],
    ["what is over without tax, as tax", [400, 200], [401, 100], [400, 101]],
    ["nothing of nothing", [0, 0], [5, 1], [0, 0]],
  ] as const)("fits %s", (_, [refundable_amount, refundable_tax_amount], [amount, tax_amount], [net, tax]) =>
    expect(limitShare({ refundable_amount, refundable_tax_amount }, { amount, tax_amount })).toEqual({
      amount: net,
      tax_amount: tax,
    }),
  );
});

/** What can happen to an order's refunds. */
type Step =
  | { kind: "ask"; part: number }
  | { kind: "elsewhere"; part: number }
  | { kind: "settle"; of: number; status: Refund["status"] }
  | { kind: "reverse"; of: number };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("ask" as const), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant("elsewhere" as const), part: fc.double({ min: 0, max: 1.2, noNaN: true }) }),
    fc.record({
      kind: fc.constant("settle" as const),
      of: fc.nat({ max: 9 }),
      status: fc.constantFrom(...refundStatuses),
    }),
    fc.record({ kind: fc.constant("reverse" as const), of: fc.nat({ max: 9 }) }),
  ),
  { maxLength: 20 },
);
const amount = fc.oneof(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 9_999_999 }));

/** What the service does, without its database: reserve, settle, reverse. */
function play(start: OrderRow, steps: readonly Step[]) {
  let order = start;
  const all: RefundRow[] = [];
  const settle = (row: RefundRow, status: Refund["status"]) => {
    const planned = {
      ...row,
      ...planOutcome(row, { status, processor_id: "re_1", failure_reason: null }, new Date(0)),
    };
    const before = getCounts(row);
    let share = getCounts(planned);
    if (planned.status !== row.status && share.amount + share.tax_amount > 0) {
      share = limitShare(computeRefundable(order), share);
      Object.assign(planned, share);
    }
    const change = { amount: share.amount - before.amount, tax_amount: share.tax_amount - before.tax_amount };
    if (change.amount !== 0 || change.tax_amount !== 0) order = { ...order, ...planRefunded(order, change) };
    Object.assign(row, planned);
  };
  const left = () =>
    all
      .filter(({ status }) => status === "pending")
      .reduce((rest, one) => subtractShare(rest, one), computeRefundable(order));
  for (const step of steps) {
    if (step.kind === "ask") {
      const { refundable_amount } = left();
      const wanted = Math.ceil(refundable_amount * step.part);
      if (wanted > 0) all.push(refundOf({ amount: wanted, tax_amount: computeTaxShare(order, left(), wanted) }));
    } else if (step.kind === "elsewhere") {
      const { refundable_amount, refundable_tax_amount } = computeRefundable(order);
      const total = Math.ceil((refundable_amount + refundable_tax_amount) * step.part);
      const row = refundOf({ origin: "processor", ...splitTotal(order, computeRefundable(order), total) });
      all.push(row);
      settle(row, "succeeded");
    } else {
      const row = all[step.of];
      if (row) settle(row, step.kind === "reverse" ? "failed" : step.status);
    }
  }
  return { order, all };
}

test("over any sequence, what went back never exceeds what was paid, is what the refunds say, and the state follows", () => {
  fc.assert(
    fc.property(
      amount,
      fc.nat({ max: 2_000_000 }),
      fc.integer({ min: -5000, max: 5000 }),
      fc.nat({ max: 100 }),
      steps,
      (net, tax, balance, percent, sequence) => {
        // What was given back before it was paid is not there to be refunded.
        const [reduced_amount, reduced_tax_amount] = [net, tax].map((all) => Math.floor((all * percent) / 100));
        const left = net - Number(reduced_amount);
        const applied_balance_amount = Math.max(balance, -left);
        const start = orderOf(net, tax, { applied_balance_amount, reduced_amount, reduced_tax_amount } as Sold);
        const { order, all } = play(start, sequence);
        const given = all.map(getCounts);
        const [sum, taxes] = [given.reduce((a, b) => a + b.amount, 0), given.reduce((a, b) => a + b.tax_amount, 0)];
        expect([order.refunded_amount, order.refunded_tax_amount]).toEqual([sum, taxes]);
        expect(sum + taxes).toBeLessThanOrEqual(computeTotals(start).due_amount);
        expect(sum).toBeLessThanOrEqual(left + start.applied_balance_amount);
        expect(taxes).toBeLessThanOrEqual(tax - Number(reduced_tax_amount));
        expect(Math.min(...given.flatMap(Object.values), 0)).toBe(0);
        const whole = left + start.applied_balance_amount;
        const status = sum + taxes === 0 ? "paid" : sum >= whole ? "refunded" : "partially_refunded";
        expect(order.status).toBe(status);
      },
    ),
    { numRuns: 3000 },
  );
});

test("refunded by parts, whatever they are, the tax parts add up to the order's tax (RFD-05)", () => {
  fc.assert(
    fc.property(
      amount,
      fc.nat({ max: 2_000_000 }),
      fc.array(fc.double({ min: 0.01, max: 0.9, noNaN: true }), { maxLength: 8 }),
      (net, tax, parts) => {
        let row = orderOf(net, tax);
        for (const part of [...parts, 1]) {
          const left = computeRefundable(row);
          const wanted = Math.ceil(left.refundable_amount * part);
          if (wanted > 0)
            row = { ...row, ...planRefunded(row, { amount: wanted, tax_amount: computeTaxShare(row, left, wanted) }) };
        }
        expect([row.refunded_amount, row.refunded_tax_amount, row.status]).toEqual([net, tax, "refunded"]);
      },
    ),
    { numRuns: 3000 },
  );
});

describe("states (RFD-08, RFD-09)", () => {
  test("the processor's word moves a refund, or asks again for one that is pending", () => {
    const now = new Date("2026-01-01T00:00:00Z");
    const word = (status: Refund["status"]) => ({ status, processor_id: "re_1", failure_reason: "lost" });
    const plan = (from: Refund["status"], to: Refund["status"]) =>
      planOutcome(refundOf({ status: from }), word(to), now);
    const again = new Date(now.getTime() + refundAgainMs);
    expect(plan("pending", "pending")).toEqual({ status: "pending", processor_id: "re_1", due_at: again });
    expect(plan("pending", "succeeded")).toMatchObject({ status: "succeeded", due_at: null });
    expect(plan("succeeded", "failed")).toMatchObject({ status: "failed", failure_reason: "lost", due_at: null });
    for (const to of refundStatuses) {
      expect(plan("failed", to)).toMatchObject({ status: "failed", due_at: null });
      expect(plan("canceled", to)).toMatchObject({ status: "canceled", due_at: null });
    }
    expect(plan("succeeded", "pending")).toMatchObject({ status: "succeeded", due_at: null });
  });

  test("a pending one does not count, nor does surplus money that never paid the order", () => {
    const none = { amount: 0, tax_amount: 0 };
    expect(getCounts(refundOf({ status: "succeeded" }))).toEqual({ amount: 100, tax_amount: 20 });
    for (const status of ["pending", "failed", "canceled"] as const)
      expect(getCounts(refundOf({ status }))).toEqual(none);
    expect(getCounts(refundOf({ status: "succeeded", is_surplus: true }))).toEqual(none);
  });

  test("more than was refunded is not taken back", () => {
    expect(() => planRefunded(orderOf(1000, 0, { refunded_amount: 100 }), { amount: -101, tax_amount: 0 })).toThrow();
    expect(
      planRefunded(orderOf(1000, 0, { refunded_amount: 100, status: "partially_refunded" }), {
        amount: -100,
        tax_amount: 0,
      }),
    ).toEqual({
      status: "paid",
      refunded_amount: 0,
      refunded_tax_amount: 0,
    });
  });

  test("each reason has its word at the processor", () => {
    const reasons = [...refundReasons, "dispute_prevention"] as const;
    expect(reasons.map((reason) => `${reason}: ${getProcessorReason(reason)}`)).toEqual([
      "duplicate: duplicate",
      "fraudulent: fraudulent",
      "customer_request: requested_by_customer",
      "service_disruption: requested_by_customer",
      "satisfaction_guarantee: requested_by_customer",
      "other: requested_by_customer",
      "dispute_prevention: requested_by_customer",
    ]);
  });
});

describe("refusals, in their order (RFD-03)", () => {
  const left = { refundable_amount: 500, refundable_tax_amount: 0 };
  const worst = { isBlocked: true, status: "refunded" as const, subscription_id: "sub-1", left };
  const asked = { amount: 501, revoke_benefits: true };
  const refusal = (standing: Parameters<typeof checkRefund>[0], one = asked): unknown => {
    try {
      return checkRefund(standing, one);
    } catch (error) {
      return (error as ApiError).error;
    }
  };
  test.each([
    ["RefundsBlocked", {}],
    ["RefundedAlready", { isBlocked: false }],
    ["RevokeSubscriptionBenefitsProhibited", { isBlocked: false, status: "paid" as const }],
    ["PolarRequestValidationError", { isBlocked: false, status: "paid" as const, subscription_id: null }],
  ])("%s", (name, better) => expect(refusal({ ...worst, ...better })).toBe(name));
  test("nothing stands in the way", () => {
    const fine = { isBlocked: false, status: "partially_refunded" as const, subscription_id: null, left };
    expect(refusal(fine, { amount: 500, revoke_benefits: true })).toBeUndefined();
    expect(refusal({ ...fine, subscription_id: "sub-1" }, { amount: 500, revoke_benefits: false })).toBeUndefined();
  });
});

describe("customers' balances (ORD-02 to ORD-04)", () => {
  test.each([
    [5000, 10_000, -5000, 0, true, 5000],
    [5000, -50, 50, 5050, false, 0],
    [-5000, 10_000, 0, 0, true, 15_000],
    [-5000, -10_000, 5000, 0, true, -5000],
    [5000, 0, 0, 5000, false, 0],
    [0, 300, 0, 0, true, 300],
    [30, 0, 0, 30, true, -30],
    [1000, -30, 30, 1030, false, 0],
    [-5000, -2000, 2000, 0, true, 3000],
  ])(
    "a total of %i at a balance of %i applies %i, leaves %i due, and the balance %s",
    (total, balance, applied, due, is_paid, after) => {
      const plan = applyBalance(total, balance, 50);
      expect(plan.applied_balance_amount).toBe(applied);
      expect(plan).toMatchObject({ due_amount: due, is_paid, balance: after });
    },
  );

  test("nothing is lost between balance, total and what is due, whatever their signs", () => {
    const signed = fc.integer({ min: -1_000_000, max: 1_000_000 });
    fc.assert(
      fc.property(signed, signed, fc.integer({ min: 0, max: 100 }), (total, balance, least) => {
        const plan = applyBalance(total, balance, least);
        const charged = plan.is_paid ? 0 : plan.due_amount;
        // What the customer had, less what was sold, plus what is charged.
        expect(plan.balance).toBe(balance - total + charged);
        expect(plan.due_amount).toBeGreaterThanOrEqual(0);
        if (total >= 0 && !plan.is_paid) expect(plan.balance).toBeGreaterThanOrEqual(0);
        if (total < 0) expect(charged).toBe(0);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("the tax in a part of an order's total", () => {
  test.each([
    ["none of nothing", orderOf(1000, 250), 0, 0],
    ["all of the whole", orderOf(1000, 250), 1250, 250],
    ["its share of a part", orderOf(1000, 250), 625, 125],
    ["a half goes away from nothing", orderOf(100, 100), 1, 1],
    ["no more than the part", orderOf(1, 100), 1, 1],
    ["none where none was taken", orderOf(1000, 0), 500, 0],
    ["none of an order that gives back", orderOf(-1000, -250), 500, 0],
    ["none of an order of nothing", orderOf(0, 0), 500, 0],
  ])("%s", (_, order, total, tax) => {
    expect(computeTaxWithin(order, total)).toBe(tax);
  });
});

describe("a refund that was made at the processor (RFD-07, RFD-15)", () => {
  const heard = (order: Sold & { dispute_status?: OrderRow["dispute_status"] }, total: number, reason: string | null) =>
    planHeard(refundOf(), orderOf(1000, 250, order), total, reason);
  test.each([
    ["duplicate", "duplicate"],
    ["fraudulent", "fraudulent"],
    ["requested_by_customer", "customer_request"],
    ["expired_uncaptured_charge", "other"],
    ["constructor", "other"],
    [null, "other"],
  ])("has for the reason %s ours: %s", (reason, own) => {
    expect(heard({}, 1250, reason)).toEqual({ amount: 1000, tax_amount: 250, reason: own, revoke_benefits: false });
  });
  test.each([
    ["early_warning", true],
    ["prevented", true],
    ["needs_response", false],
    ["won", false],
    [null, false],
  ] as const)("while the bank's question is %s prevents a dispute: %s", (dispute_status, prevents) => {
    expect(heard({ dispute_status }, 1250, "duplicate")).toMatchObject({
      reason: prevents ? "dispute_prevention" : "duplicate",
      revoke_benefits: prevents,
    });
  });
  test.each([
    ["more than there is", {}, 2000, { amount: 1000, tax_amount: 250 }],
    ["a part", {}, 125, { amount: 100, tax_amount: 25 }],
    ["the rest", { refunded_amount: 900, refunded_tax_amount: 225 }, 125, { amount: 100, tax_amount: 25 }],
    ["what the balance paid is not there", { applied_balance_amount: -1000 }, 1250, { amount: 0, tax_amount: 250 }],
  ] as const)("takes %s of what is left", (_, order, total, share) => {
    expect(heard(order, total, null)).toMatchObject(share);
  });
  test("of surplus money has no tax and no limit, as it never paid the order", () => {
    const surplus = planHeard(refundOf({ is_surplus: true }), orderOf(1000, 250), 5000, null);
    expect(surplus).toMatchObject({ amount: 5000, tax_amount: 0 });
  });
});

describe("disputes beside refunds (RFD-10)", () => {
  test("only a dispute that took the money keeps an order from being refunded", () => {
    const isRefused = (dispute_status: OrderRow["dispute_status"]) => {
      try {
        checkDisputed({ dispute_status });
        return false;
      } catch {
        return true;
      }
    };
    expect([...disputeStatuses, null].filter(isRefused)).toEqual(
      disputeStatuses.filter((one) => ["needs_response", "under_review", "lost"].includes(one)),
    );
  });
  const due = new Date("2026-11-10T00:00:00Z");
  test.each([
    ["needs_response", { resolved: false, closed: false, evidence_due_by: due }],
    ["early_warning", { resolved: false, closed: false, evidence_due_by: due }],
    ["under_review", { resolved: false, closed: false, evidence_due_by: null }],
    ["won", { resolved: true, closed: true, evidence_due_by: null }],
    ["lost", { resolved: true, closed: true, evidence_due_by: null }],
    ["prevented", { resolved: false, closed: true, evidence_due_by: null }],
  ] as const)("one that is %s says what is still to be done", (status, said) => {
    expect(serializePreventedDispute({ status, evidence_due_by: due } as never, due)).toMatchObject(said);
  });
  test.each([
    [-1, false],
    [0, false],
    [1, true],
  ])("is past due %i ms after its day: %s", (later, past_due) => {
    const row = { status: "needs_response", evidence_due_by: due } as never;
    expect(serializePreventedDispute(row, new Date(due.getTime() + later)).past_due).toBe(past_due);
  });
});
