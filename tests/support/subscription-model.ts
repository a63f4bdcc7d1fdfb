/**
 * A subscription as docs/rules.md has it: states, periods, orders and the customer's balance of one customer with one
 * subscription, in plain steps and without anything that the server is made of. What happens is written down, so that a
 * test can hold floe against it step by step.
 */

import {
  addInterval,
  addMonths,
  after,
  type Discount,
  dayMs,
  type Plan,
  priceOf,
  share,
  spread,
  sum,
  sure,
} from "./subscription-sums.ts";

export type Behavior = "invoice" | "prorate" | "next_period" | "reset";
export type Card = "good" | "failing" | "lost" | null;

type Order = {
  at: Date;
  reason: "create" | "cycle" | "update";
  items: number[];
  subtotal: number;
  discount: number;
  tax: number;
  total: number;
  applied: number;
  due: number;
  status: "pending" | "paid" | "void" | "refunded" | "partially_refunded";
  next: Date | null;
  failed: number;
  refunded: number;
  refunded_tax: number;
};
type Entry = { amount: number; proration: boolean };
type Scheduled = { plan: Plan | null; seats: number | null };
type Status = "trialing" | "active" | "past_due" | "paused" | "canceled";

/** The least that a card can be charged with in each currency. */
const leastCharges = { usd: 50, jpy: 80 };
export type Currency = keyof typeof leastCharges;
const retryDays = [2, 5, 7, 7];
const deadlineMs = 21 * dayMs + 60_000;

const seconds = (from: Date, to: Date) => Math.floor((to.getTime() - from.getTime()) / 1000);

/** What the rules refuse. */
export class Refusal extends Error {}
const refuse = (what: string): never => {
  throw new Refusal(what);
};

export type Tax = { rate: 0 | 20; isInclusive: boolean };

/** Someone subscribes at a time; what happens from then on, the answer's steps say. */
export function beginModel({
  at,
  plan,
  seats,
  discount,
  card,
  tax,
  currency = "usd",
  isMade = false,
}: {
  at: Date;
  plan: Plan;
  seats: number | null;
  discount: Discount | null;
  card: Card;
  tax: Tax;
  currency?: Currency;
  /** Made by the seller: there is no first order. */
  isMade?: boolean;
}) {
  const told: string[] = [];
  const it = {
    now: at,
    status: "active" as Status,
    plan,
    seats,
    amount: 0,
    start: at,
    end: at,
    anchor: at.getUTCDate(),
    trial_start: null as Date | null,
    trial_end: null as Date | null,
    isEnding: false,
    canceled_at: null as Date | null,
    ends_at: null as Date | null,
    ended_at: null as Date | null,
    past_due_at: null as Date | null,
    isPausing: false,
    paused_at: null as Date | null,
    resumes_at: null as Date | null,
    pending: null as Scheduled | null,
    discount,
    /** The discount that the period was billed with. */
    period_discount: discount,
    applied_at: null as Date | null,
    card,
    entries: [] as Entry[],
    orders: [] as Order[],
    balance: 0,
  };

  const isBillable = () => ["trialing", "active", "past_due"].includes(it.status);
  const statics = (of: Plan, count: number | null) => of.prices.map((price) => priceOf(price, count));
  function recompute() {
    const prices = statics(it.plan, it.seats);
    // What a renewal takes off (DSC-18), so that it says what is charged.
    it.amount = sum(prices) - sum(spread(it.discount, prices));
  }

  /** Bill some lines: discount, tax, balance, and what is left to be paid (ORD-01 to ORD-04). */
  function bill(reason: Order["reason"], entries: Entry[], { usesBalance = true } = {}): Order {
    const discountable = entries.filter(({ proration }) => !proration).map(({ amount }) => amount);
    const subtotal = sum(entries.map(({ amount }) => amount));
    const off = sum(spread(it.period_discount, discountable));
    const net = subtotal - off;
    const taxed = tax.isInclusive ? share(net, tax.rate, 100 + tax.rate) : share(net, tax.rate, 100);
    const total = tax.isInclusive ? net : net + taxed;
    let applied = 0;
    if (usesBalance) {
      if (total >= 0) applied = -Math.min(total, it.balance);
      else applied = it.balance < 0 ? Math.min(-total, -it.balance) : 0;
      it.balance += total >= 0 ? applied : -total;
    }
    let due = Math.max(0, total + applied);
    if (due > 0 && due < leastCharges[currency]) {
      it.balance -= due;
      applied -= due;
      due = 0;
    }
    const order: Order = {
      at: it.now,
      reason,
      items: entries.map(({ amount }) => amount),
      subtotal,
      discount: off,
      tax: taxed,
      total,
      applied,
      due,
      status: due > 0 ? "pending" : "paid",
      next: null,
      failed: 0,
      refunded: 0,
      refunded_tax: 0,
    };
    it.orders.push(order);
    return order;
  }
  const tellPaid = () => told.push("order.updated paid", "order.paid paid");
  const inDunning = () => it.orders.filter(({ status, next }) => status === "pending" && next !== null);

  /** The end, at once: what waits to be paid is not asked for any more (SUB-30, SUB-50). */
  function end({ keepsCancellation = false } = {}) {
    const waiting = it.orders.filter(({ status }) => status === "pending");
    it.status = "canceled";
    it.ended_at = it.now;
    if (!keepsCancellation) {
      it.canceled_at = it.now;
      it.ends_at = it.now;
    }
    it.isPausing = false;
    it.resumes_at = null;
    it.pending = null;
    told.push("subscription.updated", "subscription.canceled", "subscription.revoked");
    for (const order of waiting) {
      order.status = "void";
      order.next = null;
      // What it had used of the balance is given back.
      it.balance -= order.applied;
      told.push("order.updated void");
    }
  }

  /** Charge an order that waits; a try that is not of the schedule does not count in it (SUB-49 to SUB-53). */
  function charge(order: Order, { counts = true } = {}) {
    if (it.card === "good") {
      order.status = "paid";
      order.next = null;
      if (it.past_due_at && inDunning().length === 0) {
        it.past_due_at = null;
        told.push("subscription.updated");
        if (it.status === "past_due") {
          it.status = "active";
          told.push("subscription.active");
        }
      }
      tellPaid();
      return;
    }
    if (it.status === "canceled" || !counts) return;
    order.failed += 1;
    it.past_due_at ??= it.now;
    const deadline = after(it.past_due_at, deadlineMs);
    const days = retryDays[order.failed - 1];
    if (it.now >= deadline || days === undefined) {
      end();
      return;
    }
    const next = after(it.now, days * dayMs);
    order.next = it.card === "lost" || next > deadline ? deadline : next;
    if (it.card === null) told.push("order.updated pending");
    if (it.status === "active") {
      it.status = "past_due";
      told.push("subscription.updated", "subscription.past_due");
    }
  }
  function billAndCharge(entries: Entry[]) {
    const order = bill("cycle", entries);
    told.push(`order.created ${order.status}`);
    if (order.status === "paid") tellPaid();
    else charge(order);
  }
  const takeEntries = () => it.entries.splice(0);
  const cycleEntries = () => statics(it.plan, it.seats).map((amount) => ({ amount, proration: false }));

  /** A discount that is over is gone before the period is billed (DSC-21 to DSC-23). */
  function renewDiscount() {
    const { discount: current, applied_at } = it;
    if (current && applied_at) {
      const months =
        current.duration === "once" ? 1 : current.duration === "repeating" ? sure(current.months) : Infinity;
      const last = months === Infinity ? null : addMonths(applied_at, months - 1, applied_at.getUTCDate());
      if (last && it.start > last) it.discount = null;
    } else if (current && sum(spread(current, statics(it.plan, it.seats))) > 0) it.applied_at = it.start;
    if (!it.discount) it.applied_at = null;
    it.period_discount = it.discount;
  }
  function takePending() {
    if (!it.pending) return;
    it.plan = it.pending.plan ?? it.plan;
    it.seats = keepSeats(it.plan, it.pending.seats ?? it.seats);
    it.pending = null;
  }
  /** A period begins, and is billed. */
  function begin(from: Date, says: string[]) {
    takePending();
    it.start = from;
    it.end = addInterval(from, it.plan, it.anchor);
    renewDiscount();
    recompute();
    told.push(...says);
    const entries = [...cycleEntries(), ...takeEntries()];
    if (entries.length > 0) billAndCharge(entries);
  }

  /** What is due at the end of a period (SUB-12, SUB-13). */
  function cycle() {
    if (it.isEnding) {
      end({ keepsCancellation: true });
      const left = takeEntries();
      if (left.length > 0) billAndCharge(left);
      return;
    }
    if (it.isPausing) {
      it.status = "paused";
      it.isPausing = false;
      it.paused_at = it.now;
      told.push("subscription.updated", "subscription.paused");
      const left = takeEntries();
      if (left.length > 0) billAndCharge(left);
      return;
    }
    if (it.status === "trialing") {
      it.status = "active";
      it.anchor = it.end.getUTCDate();
    }
    begin(it.end, ["subscription.cycled", "subscription.updated"]);
  }
  function goOn(from: Date) {
    // Who was behind with payments before the pause still is.
    it.status = it.past_due_at ? "past_due" : "active";
    it.paused_at = null;
    it.resumes_at = null;
    it.anchor = from.getUTCDate();
    const isActive = it.status === "active";
    begin(from, ["subscription.updated", ...(isActive ? ["subscription.active"] : []), "subscription.resumed"]);
  }

  /** The next thing that is due: when, and what it is. */
  function nextDue(): { at: Date; act: () => void } | null {
    // At the same moment money that is missing comes first.
    const due = inDunning().map((order) => ({ at: sure(order.next), act: () => charge(order) }));
    if (isBillable()) due.push({ at: it.end, act: cycle });
    const { resumes_at } = it;
    if (it.status === "paused" && resumes_at) due.push({ at: resumes_at, act: () => goOn(resumes_at) });
    return due.sort((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
  }

  /** Time passes; each thing is done when it is due, or all of it late. */
  function pass(to: Date, { isLate = false } = {}) {
    if (isLate) it.now = to;
    for (let due = nextDue(); due && due.at <= to; due = nextDue()) {
      if (!isLate) it.now = due.at;
      due.act();
    }
    it.now = to;
  }

  /** What is left of a period, given back or asked for (SUB-35, SUB-36). */
  const left = () => Math.max(0, seconds(it.now, it.end));
  const length = () => seconds(it.start, it.end);
  function prorations(of: Plan, count: number | null, sign: 1 | -1, part: number, whole: number): Entry[] {
    const prices = statics(of, count);
    const offs = spread(it.period_discount, prices);
    return prices
      .map((price, at) => ({ amount: sign * share(price - sure(offs[at]), part, whole), proration: true }))
      .filter(({ amount }) => amount !== 0);
  }
  /** A change that is paid at once, or not made at all (SUB-39). */
  function invoice() {
    const entries = takeEntries();
    told.push("subscription.updated");
    if (entries.length === 0) return;
    const order = bill("update", entries);
    if (order.status === "pending" && it.card !== "good") refuse("402 PaymentFailed");
    order.status = "paid";
    told.push("order.created paid");
    tellPaid();
  }

  function checkChangeable() {
    if (it.status === "canceled" || it.isEnding) refuse("403 AlreadyCanceledSubscription");
    if (it.status === "paused") refuse("403 InactiveSubscription");
  }
  /** Nothing but a card pays for a plan (CUP-29). */
  function checkPayable(of: Plan) {
    if (it.card === null && of.prices.some(({ kind }) => kind !== "free")) refuse("402 MissingPaymentMethod");
  }
  const seatsOf = (of: Plan) => {
    const price = of.prices.find(({ kind }) => kind === "seat");
    if (price?.kind !== "seat") return null;
    const least = sure(price.tiers[0]).min_seats;
    const most = sure(price.tiers.at(-1)).max_seats ?? Infinity;
    return { least, most };
  };
  /** How many seats there are after a change of the plan. */
  const keepSeats = (of: Plan, count: number | null): number | null => {
    const range = seatsOf(of);
    if (!range) return null;
    return Math.min(range.most, Math.max(range.least, count ?? range.least));
  };

  /** A trial ends now, and what follows is billed (SUB-42, SUB-45). */
  function endTrial() {
    it.trial_end = it.now;
    it.status = "active";
    it.anchor = it.now.getUTCDate();
    begin(it.now, ["subscription.cycled", "subscription.updated"]);
  }

  function changePlan(to: Plan, behavior: Behavior) {
    checkChangeable();
    if (to.isClosed || (seatsOf(it.plan) && !seatsOf(to))) refuse("422 PolarRequestValidationError product_id");
    if (to === it.plan) {
      if (it.pending?.plan) {
        it.pending.plan = null;
        if (it.pending.seats === null) it.pending = null;
        told.push("subscription.updated");
      }
      return;
    }
    checkPayable(to);
    if (behavior === "next_period") {
      if (it.pending?.plan === to) return;
      it.pending = { plan: to, seats: it.pending?.seats ?? null };
      told.push("subscription.updated");
      return;
    }
    it.pending = null;
    const count = keepSeats(to, it.seats);
    if (it.status === "trialing") {
      it.plan = to;
      it.seats = count;
      const began = sure(it.trial_start);
      const ends = to.trial ? addInterval(began, to.trial, began.getUTCDate()) : it.now;
      if (ends <= it.now) return endTrial();
      it.trial_end = ends;
      it.end = ends;
      recompute();
      told.push("subscription.updated");
      return;
    }
    exchange(to, count, behavior);
  }
  /** The old is given back for the rest of the period, and the new is asked for (SUB-36, SUB-37). */
  function exchange(to: Plan, count: number | null, behavior: Behavior) {
    const isNew = behavior === "reset" || to.interval !== it.plan.interval || to.count !== it.plan.count;
    const waiting = takeEntries();
    it.entries.push(...prorations(it.plan, it.seats, -1, left(), length()));
    it.plan = to;
    if (isNew) {
      it.start = it.now;
      it.anchor = it.now.getUTCDate();
      it.end = addInterval(it.now, to, it.anchor);
    }
    it.seats = count;
    if (isNew) renewDiscount();
    it.entries.push(...prorations(to, count, 1, left(), length()));
    recompute();
    const isNow = behavior === "invoice" || isNew;
    // What waited is billed with it, and comes last.
    it.entries = isNow ? [...it.entries, ...waiting] : [...waiting, ...it.entries];
    if (isNow) invoice();
    else told.push("subscription.updated");
  }

  function changeSeats(count: number, behavior: Behavior) {
    checkChangeable();
    const range = seatsOf(it.plan);
    if (!range) return refuse("400 NotASeatBasedSubscription");
    if (count < range.least || count > range.most) refuse("400 BadRequest");
    if (count === it.seats) {
      if (it.pending?.seats != null) {
        it.pending.seats = null;
        if (!it.pending.plan) it.pending = null;
        told.push("subscription.updated");
      }
      return;
    }
    if (behavior === "next_period") {
      if (it.pending?.seats === count) return;
      it.pending = { plan: it.pending?.plan ?? null, seats: count };
      told.push("subscription.updated");
      return;
    }
    it.pending = null;
    if (behavior === "reset" && it.status !== "trialing") return exchange(it.plan, count, behavior);
    const before = sum(statics(it.plan, it.seats)) - sum(spread(it.period_discount, statics(it.plan, it.seats)));
    const now = sum(statics(it.plan, count)) - sum(spread(it.period_discount, statics(it.plan, count)));
    // Rounded towards zero (SUB-47).
    const amount = Number((BigInt(now - before) * BigInt(left())) / BigInt(length()));
    if (it.status !== "trialing" && amount !== 0)
      if (behavior === "invoice") it.entries.unshift({ amount, proration: true });
      else it.entries.push({ amount, proration: true });
    it.seats = count;
    recompute();
    if (behavior === "invoice" && it.status !== "trialing") invoice();
    else told.push("subscription.updated");
  }

  const steps = {
    pass,
    changePlan,
    changeSeats,
    changeDiscount(to: Discount | null) {
      checkChangeable();
      if (to === it.discount) {
        if (to) refuse("422 PolarRequestValidationError discount_id");
        return;
      }
      it.discount = to;
      it.applied_at = null;
      recompute();
      told.push("subscription.updated");
    },
    changeTrial(to: Date | "now") {
      if (it.status === "canceled") refuse("403 InactiveSubscription");
      checkChangeable();
      if (it.status === "past_due") refuse("403 InactiveSubscription");
      const bad = () => refuse("422 PolarRequestValidationError trial_end");
      if (to === "now") {
        if (it.status !== "trialing") bad();
        endTrial();
        return;
      }
      if (to <= it.now || (it.status === "active" && to <= it.end)) bad();
      if (it.status === "active") it.trial_start = it.now;
      it.status = "trialing";
      it.trial_end = to;
      it.end = to;
      told.push("subscription.updated");
    },
    changePeriod(to: Date) {
      checkChangeable();
      if (it.status === "trialing") refuse("403 InactiveSubscription");
      if (to <= it.now) refuse("422 PolarRequestValidationError current_billing_period_end");
      it.end = to;
      it.anchor = to.getUTCDate();
      told.push("subscription.updated");
    },
    cancel() {
      if (it.status === "canceled" || it.isEnding) refuse("403 AlreadyCanceledSubscription");
      if (it.status === "paused") refuse("403 InactiveSubscription");
      it.isEnding = true;
      it.isPausing = false;
      it.resumes_at = null;
      it.canceled_at = it.now;
      it.ends_at = it.end;
      for (const order of inDunning()) order.next = null;
      told.push("subscription.updated", "subscription.canceled");
    },
    uncancel() {
      if (it.status === "canceled") refuse("410 ResourceUnavailable");
      if (!it.isEnding) refuse("400 BadRequest");
      it.isEnding = false;
      it.canceled_at = null;
      it.ends_at = null;
      told.push("subscription.updated", "subscription.uncanceled");
      for (const order of it.orders) if (order.status === "pending") charge(order);
    },
    revoke() {
      if (it.status === "canceled") refuse("403 AlreadyCanceledSubscription");
      end();
      const rest = takeEntries();
      if (rest.length > 0) billAndCharge(rest);
    },
    pause(resumes_at: Date | null) {
      checkChangeable();
      if (it.status !== "active") refuse("403 InactiveSubscription");
      if (resumes_at && resumes_at <= it.end) refuse("422 PolarRequestValidationError resumes_at");
      if (it.isPausing && it.resumes_at?.getTime() === resumes_at?.getTime()) return;
      it.isPausing = true;
      it.resumes_at = resumes_at;
      told.push("subscription.updated");
    },
    unpause() {
      if (!it.isPausing) refuse("400 BadRequest");
      it.isPausing = false;
      it.resumes_at = null;
      told.push("subscription.updated");
    },
    resume() {
      if (it.status !== "paused") refuse("400 BadRequest");
      goOn(it.now);
    },
    forget() {
      if (!it.pending) return;
      it.pending = null;
      told.push("subscription.updated");
    },
    changeCard(to: Card) {
      if (to !== it.card) told.push("subscription.updated");
      it.card = to;
      for (const order of inDunning()) charge(order, { counts: false });
    },
    /** Part of an order is given back, before tax (RFD-04, RFD-05, RFD-08, RFD-13). */
    refund(at: number, amount: number) {
      const order = sure(it.orders[at]);
      const net = order.total - order.tax;
      const rest = Math.max(0, net + order.applied - order.refunded);
      const rest_tax = Math.max(0, order.tax - order.refunded_tax);
      if (amount > rest) refuse("422 PolarRequestValidationError amount");
      const part = amount === rest ? rest_tax : Math.min(rest_tax, share(amount, order.tax, net));
      order.refunded += amount;
      order.refunded_tax += part;
      order.status = order.refunded >= net + order.applied ? "refunded" : "partially_refunded";
      if (it.balance > 0) it.balance -= Math.min(it.balance, amount + part);
      told.push("refund.created", `order.updated ${order.status}`, `order.refunded ${order.status}`);
    },
  };

  /** Take a step: "done", or the refusal, after which nothing has changed. */
  function take(step: (steps_: typeof steps) => void): string {
    const before = structuredClone({ ...it, plan: null, discount: null, period_discount: null, pending: null });
    const kept = { plan: it.plan, discount: it.discount, period_discount: it.period_discount };
    const pending = it.pending && { ...it.pending };
    const said = told.length;
    try {
      step(steps);
      return "done";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      Object.assign(it, before, kept, { pending });
      told.length = said;
      return error.message;
    }
  }

  // The first day.
  if (plan.trial) {
    it.status = "trialing";
    it.trial_start = at;
    it.trial_end = addInterval(at, plan.trial, at.getUTCDate());
    it.end = it.trial_end;
    it.period_discount = null;
  } else {
    it.end = addInterval(at, plan, it.anchor);
    if (discount) it.applied_at = at;
  }
  recompute();
  told.push("subscription.created", "subscription.active", "subscription.updated");
  if (!isMade) {
    const first = plan.trial ? [{ amount: 0, proration: true }] : cycleEntries();
    bill("create", first, { usesBalance: false }).status = "paid";
    told.push("order.created paid");
    tellPaid();
  }
  return { it, take, hear: () => told.splice(0) };
}
