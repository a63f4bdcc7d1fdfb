import { describe, expect, test } from "vitest";
import {
  isCredit,
  isOfUnpaid,
  resolveCredits,
  resolveEntries,
  type SoldLine,
} from "../../server/billing/subscriptions/credits.ts";
import { computeDeadline, isUnasked, planFailure } from "../../server/billing/subscriptions/dunning.ts";
import { computeNextMeterPeriod, getMeterPeriod } from "../../server/billing/subscriptions/meter-clock.ts";
import {
  computePlanAmount,
  isCosting,
  limitSeats,
  type PlanInput,
  planCycle,
  planEnd,
  planMeterCycle,
  planResume,
  planTrialEnd,
} from "../../server/billing/subscriptions/plan.ts";
import {
  findCycle,
  findDueTime,
  findReminderTime,
  getUsageDiscount,
  type PaidPrice,
  planStart,
  renewDiscount,
  type SubscriptionRow,
} from "../../server/billing/subscriptions/rules.ts";
import { planRevoke } from "../../server/billing/subscriptions/update.ts";
import type { DiscountRow } from "../../server/catalog/discounts/rules.ts";
import type { PriceRow } from "../../server/catalog/products/rules.ts";
import { computeAmount, type LineTerms, untaxed } from "../../shared/pricing.ts";

const at = (text: string) => new Date(`${text}${text.length === 10 ? "T00:00:00.000" : ""}Z`);
const later = (date: Date, ms: number) => new Date(date.getTime() + ms);
const dayMs = 24 * 3600 * 1000;
const [start, end] = [at("2026-01-31"), at("2026-02-28")];
const row = (more: Partial<SubscriptionRow> = {}) =>
  ({
    status: "active",
    anchor_day: 31,
    currency: "jpy",
    seats: null,
    amount: 1000,
    recurring_interval: "month",
    recurring_interval_count: 1,
    current_period_start: start,
    current_period_end: end,
    current_meter_period_start: null,
    current_meter_period_end: null,
    cancel_at_period_end: false,
    pause_at_period_end: false,
    canceled_at: null,
    ends_at: null,
    ended_at: null,
    past_due_at: null,
    pending_update: null,
    discount_applied_at: null,
    period_discount: null,
    resumes_at: null,
    card_due_at: null,
    billing_held_at: null,
    reminder_due_at: null,
    ...more,
  }) as SubscriptionRow;
const price = (amount: number, more: Partial<PaidPrice> = {}) =>
  ({ id: "price", amount_type: "fixed", price_amount: amount, seat_tiers: null, amount, ...more }) as PaidPrice;
const product = { id: "product", name: "Plan", recurring_interval: "month", recurring_interval_count: 1 };
const discountOf = (more: Partial<DiscountRow>) =>
  ({
    id: "d",
    name: "D",
    code: null,
    type: "percentage",
    basis_points: 1000,
    duration: "once",
    ...more,
  }) as DiscountRow;
const ground = (
  more: Partial<SubscriptionRow> = {},
  {
    prices = [price(1000)],
    meter = null,
    ...rest
  }: Partial<PlanInput> & { prices?: PaidPrice[]; meter?: string | null } = {},
) =>
  ({
    aggregate: { row: row(more), product: { ...product, meter_interval: meter }, prices, discount: null },
    entries: [],
    pending: null,
    ...rest,
  }) as unknown as PlanInput;
const line = (amount: number, more: Partial<LineTerms> = {}): LineTerms => ({
  label: "Change",
  product_price_id: "price",
  proration: true,
  period: { start: start.toISOString(), end: end.toISOString() },
  source: {
    rule: "prorated",
    before: { amount: 0, discount_amount: 0 },
    after: { amount, discount_amount: 0 },
    part: 1,
    whole: 1,
    cut: "rounded",
  },
  ...more,
});
const entry = (amount: number) => ({ id: "entry", line: line(amount) });

describe("the end of a period (SUB-12 to SUB-15)", () => {
  test("POL-05: the second and third period begin on the anchor day, where the month has it, however late it is", () => {
    let plan = planCycle(ground(), at("2026-09-01"));
    const ends = [plan.patch.current_period_end];
    for (let round = 0; round < 2; round += 1) {
      plan = planCycle(ground({ ...row(), ...plan.patch }), at("2026-09-01"));
      ends.push(plan.patch.current_period_end);
    }
    expect(ends).toEqual([at("2026-03-31"), at("2026-04-30"), at("2026-05-31")]);
    expect(plan.bill).toMatchObject({ period_start: at("2026-04-30"), occasion: null, discount: null });
  });

  test.each([
    ["active", "active", 31, at("2026-03-31"), null],
    ["past_due", "past_due", 31, at("2026-03-31"), null],
    ["trialing", "active", 28, at("2026-03-28"), "trial_over"],
  ] as const)("one that is %s is %s then, anchored to day %d", (status, next, anchor_day, period_end, occasion) => {
    const plan = planCycle(ground({ status }), end);
    expect(plan.patch).toMatchObject({
      status: next,
      anchor_day,
      current_period_start: end,
      current_period_end: period_end,
    });
    expect(plan.bill).toMatchObject({ occasion, billing_reason: "subscription_cycle" });
    expect(plan.events).toEqual(["subscription.cycled", "subscription.updated"]);
  });

  test("SUB-12: leaving comes before pausing, and keeps the time at which it was said", () => {
    const [canceled_at, ends_at, now] = [at("2026-02-01"), end, later(end, 1)];
    const leaving = { cancel_at_period_end: true, pause_at_period_end: true, canceled_at, ends_at };
    const { patch, bill } = planCycle(ground(leaving), now);
    expect(patch).toMatchObject({
      status: "canceled",
      canceled_at,
      ends_at,
      ended_at: now,
      pause_at_period_end: false,
    });
    expect(bill).toBeNull();
  });

  test.each([
    [[], null],
    [[0], null],
    [[1], [1]],
    [[-1], [-1]],
    [
      [1, -1],
      [1, -1],
    ],
  ])("SUB-12: with %j left to be billed, a pause and an end bill %j", (amounts, billed) => {
    const entries = amounts.map(entry);
    const paused = planCycle(ground({ pause_at_period_end: true }, { entries }), end);
    const ended = planEnd(ground({}, { entries }), end);
    for (const { bill } of [paused, ended])
      expect(bill === null ? null : bill.lines.map(({ source }) => computeAmount(source))).toEqual(billed);
    expect(paused.patch).toEqual({ status: "paused", pause_at_period_end: false, paused_at: end });
    expect([paused.bill?.occasion, ended.bill?.occasion]).toEqual(
      billed ? ["paused", "ended"] : [undefined, undefined],
    );
  });

  test("SUB-18: a period of use alone is not billed while there is none; a free one is, with nothing to pay", () => {
    const metered = price(0, { amount_type: "metered_unit" });
    expect(planCycle(ground({}, { prices: [metered] }), end).bill).toBeNull();
    expect(planCycle(ground({}, { prices: [price(0, { amount_type: "free" })] }), end).bill?.lines).toHaveLength(1);
  });
});

describe("what begins and ends out of turn", () => {
  test.each([
    [null, "active", ["subscription.updated", "subscription.active", "subscription.resumed"]],
    [start, "past_due", ["subscription.updated", "subscription.resumed"]],
  ])("a pause that ends with payments behind since %j makes it %s", (past_due_at, status, events) => {
    const now = at("2026-04-30T10:00:00.000");
    const plan = planResume(ground({ status: "paused", past_due_at, paused_at: end, resumes_at: now }), now);
    expect(plan.patch).toMatchObject({
      status,
      anchor_day: 30,
      current_period_start: now,
      paused_at: null,
      resumes_at: null,
    });
    expect(plan.patch.current_period_end).toEqual(at("2026-05-30T10:00:00.000"));
    expect(plan.bill?.occasion).toBe("resumed");
    expect(plan.events).toEqual(events);
  });

  test("SUB-45: a trial that ends now is anchored to today, and billed from today", () => {
    const now = at("2026-02-10");
    const plan = planTrialEnd(ground({ status: "trialing", trial_end: end }), now);
    expect(plan.patch).toMatchObject({
      status: "active",
      trial_end: now,
      anchor_day: 10,
      current_period_end: at("2026-03-10"),
    });
    expect(plan.bill).toMatchObject({ occasion: "trial_over", period_start: now });
  });

  test.each(["active", "trialing", "past_due", "paused"] as const)("SUB-30: one that is %s can be ended", (status) =>
    expect(planRevoke(ground({ status }), {}, start).patch).toMatchObject({ status: "canceled", ended_at: start }),
  );
  test.each([{ status: "canceled" }, { status: "unpaid" }, { ended_at: start }] as const)(
    "SUB-30: one with %j cannot be ended again",
    (more) => expect(() => planRevoke(ground(more), {}, end)).toThrow("ended already"),
  );

  test("SUB-03, SUB-05: the first period is the trial, whose discount has not begun", () => {
    const terms = { recurring_interval: "month", recurring_interval_count: 2 } as const;
    expect(planStart(start, null, terms)).toMatchObject({
      ...{ status: "active", anchor_day: 31, current_period_end: at("2026-03-31"), due_at: at("2026-03-31") },
      ...{ trial_start: null, trial_end: null, discount_applied_at: start },
    });
    expect(planStart(start, end, terms)).toMatchObject({
      ...{ status: "trialing", anchor_day: 28, current_period_end: end, due_at: end },
      ...{ trial_start: start, trial_end: end, discount_applied_at: null },
    });
  });
});

describe("the clock of use (SUB-26)", () => {
  const weekly = { meter_interval: "week", meter_interval_count: 1 } as const;
  test("the stretches of a period follow each other, and the last one is cut at its end", () => {
    let clocked = row();
    const ends: unknown[] = [];
    for (let from = start; from < end; from = clocked.current_meter_period_end as Date) {
      clocked = { ...clocked, ...computeNextMeterPeriod(clocked, weekly, from) };
      expect(clocked.current_meter_period_start).toEqual(from);
      ends.push(clocked.current_meter_period_end);
    }
    expect(ends).toEqual(["2026-02-07", "2026-02-14", "2026-02-21", "2026-02-28"].map(at));
    const short = computeNextMeterPeriod(row({ current_period_end: at("2026-02-27") }), weekly, at("2026-02-21"));
    expect(short.current_meter_period_end).toEqual(at("2026-02-27"));
  });
  test.each([
    ["exactly as one ends", at("2026-02-14"), at("2026-02-21")],
    ["just before", later(at("2026-02-14"), -1), at("2026-02-14")],
    ["in the last", at("2026-02-27"), end],
  ])("a clock that is set within a period, %s, strikes next after now", (_, now, strikes) =>
    expect(getMeterPeriod(row(), row(), weekly, now).current_meter_period_end).toEqual(strikes),
  );
  test.each(["trialing", "paused", "canceled"] as const)("none runs while it is %s", (status) =>
    expect(getMeterPeriod(row({ status }), null, weekly, start).current_meter_period_end).toBeNull(),
  );
  test("of no use nothing is billed, and the next stretch begins", () => {
    const plan = planMeterCycle(ground({}, { meter: "week" }), at("2026-02-07"));
    expect(plan).toMatchObject({ bill: null, choice: null, events: ["subscription.updated"] });
    expect(plan.patch).toEqual({
      current_meter_period_start: at("2026-02-07"),
      current_meter_period_end: at("2026-02-14"),
    });
  });
  test.each([
    ["active", later(end, -1), true],
    ["active", end, false],
    ["active", null, false],
    ["past_due", later(end, -1), false],
  ] as const)("of one that is %s, with use until %j, its end comes first: %j", (status, meter_end, isOfUse) =>
    expect(findCycle(row({ status, current_meter_period_end: meter_end }))).toEqual({
      at: isOfUse ? meter_end : end,
      isOfUse,
    }),
  );
});

describe("when a subscription is looked at, and a customer reminded", () => {
  const retry = (next_payment_attempt_at: Date) => ({ order_id: "o", failed_payments: 1, next_payment_attempt_at });
  test.each<[string, Partial<SubscriptionRow>, Date[], Date | null]>([
    ["the end of its period", {}, [], end],
    ["an earlier try of a card", {}, [later(end, 1), later(end, -1)], later(end, -1)],
    ["not a later one", {}, [later(end, 1)], end],
    ["a card that is asked for", { card_due_at: start }, [], start],
    ["the end of its pause", { status: "paused", resumes_at: at("2026-05-01") }, [], at("2026-05-01")],
    ["no pause that has not begun", { resumes_at: start }, [], end],
    ["never, while it pauses without end", { status: "paused" }, [], null],
    ["a last try after its end", { status: "canceled" }, [end], end],
    ["never, once it has ended", { status: "canceled" }, [], null],
  ])("%s", (_, more, tries, time) => expect(findDueTime(row(more), tries.map(retry))).toEqual(time));

  const long = { current_period_end: later(start, 31 * dayMs + 1) };
  const told = later(long.current_period_end, -7 * dayMs);
  const trial = { status: "trialing", current_period_end: later(start, 3 * dayMs + 1) } as const;
  test.each<[string, Partial<SubscriptionRow>, Date, Date | null]>([
    ["a period of 31 days is not announced", { current_period_end: later(start, 31 * dayMs) }, start, null],
    ["a longer one is, 7 days before its end", long, start, told],
    ["one whose charge is nothing is not", { ...long, amount: 0 }, start, null],
    ["one that ends is not", { ...long, cancel_at_period_end: true }, start, null],
    ["one that pauses is not", { ...long, pause_at_period_end: true }, start, null],
    ["one that is behind is not", { ...long, status: "past_due" }, start, null],
    ["it is not at the very moment", long, told, null],
    ["it is just before", long, later(told, -1), told],
    ["what is due stays due", { ...long, reminder_due_at: told }, later(told, 1), told],
    ["a trial is announced 3 days before its end", trial, start, later(start, 1)],
    ["a trial of 3 days is not", { ...trial, current_period_end: later(start, 3 * dayMs) }, later(start, -1), null],
  ])("%s", (_, more, now, time) => expect(findReminderTime(row(more), now)).toEqual(time));
});

describe("what a period costs, and for how long less", () => {
  test.each<[string, number[], Partial<DiscountRow> | null, number]>([
    ["without a discount", [100, 200], null, 300],
    ["with no price", [], { type: "fixed", amounts: { jpy: 100 } }, 0],
    ["with a discount of another currency", [101], { type: "fixed", amounts: { usd: 100 } }, 101],
    ["with a fixed discount beyond it", [101], { type: "fixed", amounts: { jpy: 102 } }, 0],
    ["with half of an odd yen", [101], { basis_points: 5000 }, 50],
  ])("SUB-04: %s", (_, amounts, more, cost) => {
    const choice = { product: product as never, prices: amounts.map((one) => price(one)), seats: null };
    expect(computePlanAmount(choice, more && discountOf(more), "jpy")).toBe(cost);
  });
  test.each<[string, PaidPrice[], Partial<DiscountRow> | null, boolean]>([
    ["no price", [], null, false],
    ["nothing", [price(0)], null, false],
    ["one yen", [price(1)], null, true],
    ["use alone", [price(0, { amount_type: "metered_unit" })], null, true],
    ["all off for ever", [price(1)], { basis_points: 10_000, duration: "forever" }, false],
    ["almost all off for ever", [price(1)], { basis_points: 9_999, duration: "forever" }, true],
    ["all off once", [price(1)], { basis_points: 10_000 }, true],
  ])("%s costs something: %4$j", (_, prices, more, costs) =>
    expect(isCosting({ product: product as never, prices, seats: null }, more && discountOf(more))).toBe(costs),
  );
  test.each<[Partial<DiscountRow>, string, number, boolean]>([
    [{ duration: "once" }, "2026-01-31", 0, true],
    [{ duration: "once" }, "2026-01-31", 1, false],
    [{ duration: "repeating", duration_in_months: 2 }, "2026-02-28", 0, true],
    [{ duration: "repeating", duration_in_months: 2 }, "2026-02-28", 1, false],
    [{ duration: "repeating", duration_in_months: 3 }, "2026-03-31", 0, true],
    [{ duration: "forever" }, "2036-01-31", 1, true],
  ])("DSC-22: %j from 31 January holds at %s and %d ms: %j", (more, text, ms, holds) => {
    const [discount, now] = [discountOf(more), later(at(text), ms)];
    const period_discount = { id: "d", name: "D", code: null, type: "percentage", basis_points: 1000 } as const;
    const aggregate = { row: row({ discount_applied_at: start, discount_id: "d", period_discount }), discount };
    const { kept, columns, change } = renewDiscount(aggregate, now, { isReduced: () => true, isEnded: false });
    expect([kept !== null, "discount_id" in columns, "discount" in change]).toEqual([holds, !holds, !holds]);
    expect(columns.discount_applied_at).toEqual(holds ? start : null);
    expect(getUsageDiscount(aggregate, now)).toEqual(holds ? period_discount : null);
  });
  test("DSC-21: the time of a discount counts from the first order that it has reduced", () => {
    const aggregate = { row: row(), discount: discountOf({}) };
    expect(
      renewDiscount(aggregate, end, { isReduced: () => false, isEnded: false }).columns.discount_applied_at,
    ).toBeNull();
    expect(
      renewDiscount(aggregate, end, { isReduced: () => true, isEnded: false }).columns.discount_applied_at,
    ).toEqual(end);
  });
  test.each([
    [null, 2],
    [1, 2],
    [2, 2],
    [3, 3],
    [5, 5],
    [6, 5],
  ])("of %j seats there are %d where 2 to 5 can be bought", (seats, fits) => {
    const tiered = { amount_type: "seat_based", seat_tiers: { minimum_seats: 2, maximum_seats: 5 } } as PriceRow;
    expect(limitSeats([price(1), tiered], seats)).toBe(fits);
    expect(limitSeats([price(1)], seats)).toBeNull();
    expect(limitSeats([], seats)).toBeNull();
  });
});

describe("a payment that failed", () => {
  const deadline = computeDeadline(start);
  const behind = { past_due_at: start, cancel_at_period_end: false, ended_at: null };
  const order = (failed_payments: number, billing_reason = "subscription_cycle") =>
    ({ failed_payments, billing_reason }) as Parameters<typeof planFailure>[1];
  const timeOf = (now: Date, failed: number, more: object = {}, reason: string | null = null) => {
    const failure = planFailure({ ...behind, ...more }, order(failed), reason, now);
    return failure.is_over ? "over" : failure.next_payment_attempt_at;
  };
  test("SUB-51: the deadline is 21 days and a minute after the first one", () =>
    expect(deadline).toEqual(later(start, 21 * dayMs + 60_000)));
  test.each([
    ["SUB-50: the first", start, 0, later(start, 2 * dayMs)],
    ["SUB-50: the fourth", start, 3, later(start, 7 * dayMs)],
    ["SUB-51: the fifth", start, 4, "over"],
    ["SUB-51: one just before the deadline", later(deadline, -1), 0, deadline],
    ["SUB-51: one at the deadline", deadline, 0, "over"],
  ])("%s", (_, now, failed, next) => expect(timeOf(now, failed)).toEqual(next));
  test.each<[string, object, string | null, number, Date | null]>([
    ["SUB-51: a card that is refused for good waits for the deadline", {}, "expired_card", 0, deadline],
    ["SUB-54: who leaves is asked once", { cancel_at_period_end: true }, null, 0, null],
    ["SUB-54: who has gone is asked once", { ended_at: start }, null, 0, null],
    ["what was never asked is asked soon", {}, "processor_unavailable", 3, later(start, 600_000)],
    [
      "and of who leaves, the first time",
      { cancel_at_period_end: true },
      "processor_unavailable",
      0,
      later(start, 600_000),
    ],
    ["but not the second", { cancel_at_period_end: true }, "processor_unavailable", 1, null],
  ])("%s", (_, more, reason, failed, next) => expect(timeOf(start, failed, more, reason)).toEqual(next));
  test("SUB-26: use within a period that is not paid ends nothing", () =>
    expect(planFailure(behind, order(4, "subscription_meter_cycle"), null, start)).toMatchObject({ is_over: false }));
  test.each([
    [null, false],
    ["processor_unavailable", true],
    ["expired_card", false],
  ])("the reason %j is not the card's: %j", (reason, is) => expect(isUnasked(reason)).toBe(is));
});

describe("what is given back of what was sold (SUB-38)", () => {
  const vat = { name: "VAT", country: "DE", state: null, rate: "19" };
  const sold = (amount: number, more: Partial<SoldLine> = {}, order: object = {}): SoldLine => ({
    item_id: "item",
    product_price_id: "price",
    order: {
      ...{ id: "order", invoice_number: "1", is_open: false, tax: untaxed, is_elsewhere: false },
      ...{ taxed_amount: amount, left_amount: amount, left_tax_amount: 0, ...order },
    },
    start,
    amount,
    reversed_amount: 0,
    ...more,
  });
  const amountsOf = (lines: readonly LineTerms[]) => lines.map(({ source }) => computeAmount(source));
  test.each<[string, number, SoldLine[], number[]]>([
    ["one less than was sold", -99, [sold(100)], [-99]],
    ["as much as was sold", -100, [sold(100)], [-100]],
    ["one more than was sold", -101, [sold(100)], [-100]],
    ["more than was not given back before", -60, [sold(100, { reversed_amount: 50 })], [-50]],
    ["all of it a second time", -1, [sold(100, { reversed_amount: 100 })], []],
    ["more than was not refunded", -60, [sold(100, {}, { left_amount: 59 })], [-59]],
    ["another price", -60, [sold(100, { product_price_id: "other" })], []],
    ["nothing sold", -60, [], []],
  ])("%s", (_, amount, lines, back) => expect(amountsOf(resolveCredits([line(amount)], lines).lines)).toEqual(back));
  test("two credits of one sold line share what there is of it", () =>
    expect(amountsOf(resolveCredits([line(-60), line(-60)], [sold(100)]).lines)).toEqual([-60, -40]));
  test.each([
    ["exclusive", -100, 119, 19, -100, -19],
    ["exclusive", -100, 118, 19, -99, -19],
    ["exclusive", -100, 81, 19, -68, -13],
    ["exclusive", -100, 119, 18, -100, -18],
    ["inclusive", -119, 119, 19, -119, -19],
    ["inclusive", -119, 118, 19, -118, -19],
    ["inclusive", -119, 119, 18, -119, -18],
  ] as const)(
    "%s tax: %d, where %d with %d tax is left",
    (behavior, asked, left_amount, left_tax_amount, back, tax) => {
      const whole = behavior === "inclusive" ? 119 : 100;
      const treatment = { behavior, reason: "standard" as const, rates: [vat], source: null };
      const order = { tax: treatment, taxed_amount: whole, left_amount, left_tax_amount };
      const { lines } = resolveCredits([line(asked)], [sold(whole, {}, order)]);
      expect(amountsOf(lines)).toEqual([back]);
      expect(lines[0]?.reverses?.tax_lines.map(({ amount }) => amount)).toEqual([tax]);
    },
  );
  test("what is open waits, what is settled names its entry, and what is void leaves nothing", () => {
    const open = [sold(100, {}, { is_open: true })];
    expect(resolveEntries([entry(-5)], open)).toMatchObject({
      entries: [],
      settled_entry_ids: [],
      unpaid: [{ id: "entry" }],
    });
    expect(resolveEntries([entry(-5)], [])).toEqual({ entries: [], settled_entry_ids: ["entry"], unpaid: [] });
    expect(resolveEntries([entry(5)], []).entries).toMatchObject([{ id: "entry", line: { entry_id: "entry" } }]);
    expect(resolveEntries([], open)).toEqual({ entries: [], settled_entry_ids: [], unpaid: [] });
    const [back] = resolveCredits([line(-5)], open).unpaid;
    expect([isOfUnpaid(back as LineTerms, open), isOfUnpaid(line(-5), open)]).toEqual([true, false]);
  });
  test.each([
    [-1, true],
    [0, false],
    [1, false],
  ])("a proration of %d gives back: %j", (amount, is) => expect(isCredit(entry(amount))).toBe(is));
});
