import { and, eq } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { customerBalances } from "../../server/billing/orders/tables.ts";
import { paymentMethods } from "../../server/billing/payments/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { cards, openShop } from "../support/story.ts";
import { type Behavior, beginModel, type Card, type Currency, type Tax } from "../support/subscription-model.ts";
import { type Discount, type Plan, type Price, sure } from "../support/subscription-sums.ts";

/**
 * Whatever is done to a subscription, in whatever order: floe does what the model of its rules does, step by step, in
 * states, periods, orders, balance and events.
 */

let floe: Floe;
/** Cards that were reported lost, by the processor's ids of them, with that of a card that cannot be charged. */
const lost = new Map<string, string>();
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async chargeSaved(charge) {
          const other = lost.get(charge.method_processor_id);
          if (!other) return processor.chargeSaved(charge);
          const intent = await processor.chargeSaved({ ...charge, method_processor_id: other });
          return { ...intent, decline: intent.decline && { ...intent.decline, reason: "lost_card" } };
        },
      },
    }),
  });
});
afterAll(() => floe?.close());

const fixed = (amount: number): Price => ({ kind: "fixed", amount });
const seats = (...tiers: [number, number | null, number][]): Price => ({
  kind: "seat",
  tiers: tiers.map(([min_seats, max_seats, price_per_seat]) => ({ min_seats, max_seats, price_per_seat })),
});
const plan = (name: string, prices: Price[], more: Partial<Plan> = {}): Plan => ({
  name,
  prices,
  interval: "month",
  count: 1,
  trial: null,
  ...more,
});
const plans = [
  plan("Small", [fixed(1000)]),
  plan("Big", [fixed(3333)]),
  plan("Yearly", [fixed(29_999)], { interval: "year" }),
  plan("Team", [seats([1, 9, 1000], [10, 50, 800])]),
  plan("Crew", [fixed(1999), seats([2, null, 333])]),
  plan("Free", [{ kind: "free" }]),
  plan("Fortnight", [fixed(90)], { interval: "week", count: 2 }),
  plan("Tried", [fixed(2500)], { trial: { interval: "day", count: 14 } }),
  plan("Closed", [fixed(500)], { isClosed: true }),
  plan("Quarter", [fixed(4567)], { count: 3, trial: { interval: "month", count: 1 } }),
];
const discounts: Discount[] = [
  { duration: "once", off: { basis_points: 5000 } },
  { duration: "forever", off: { basis_points: 2050 } },
  { duration: "repeating", months: 3, off: { basis_points: 2500 } },
  { duration: "forever", off: { amount: 700 } },
  { duration: "once", off: { amount: 2500 } },
  { duration: "repeating", months: 2, off: { basis_points: 10_000 } },
];

type Command =
  | { do: "pass"; seconds: number; isLate: boolean }
  | { do: "plan"; to: number; as: Behavior | null }
  | { do: "seats"; to: number; as: Behavior | null }
  | { do: "discount"; to: number | null }
  | { do: "trial"; seconds: number | null }
  | { do: "period"; seconds: number }
  | { do: "pause"; seconds: number | null }
  | { do: "card"; to: Exclude<Card, null> }
  | { do: "refund"; order: number; amount: number }
  | { do: "cancel" | "uncancel" | "revoke" | "unpause" | "resume" | "forget" };

const hour = 3600;
const day = 24 * hour;
const span = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 45 * day }) },
  fc.integer({ min: 1, max: 40 }).map((days) => days * day),
  fc.integer({ min: 40 * day, max: 200 * day }),
);
const behavior = fc.option(fc.constantFrom<Behavior>("invoice", "prorate", "next_period", "reset"));
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ do: fc.constant("pass" as const), seconds: span, isLate: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("plan" as const), to: fc.nat(plans.length - 1), as: behavior }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("seats" as const), to: fc.nat(14), as: behavior }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("discount" as const), to: fc.option(fc.nat(discounts.length - 1)) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("trial" as const), seconds: fc.option(span) }) },
  fc.record({ do: fc.constant("period" as const), seconds: span }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pause" as const), seconds: fc.option(span) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("card" as const), to: fc.constantFrom("good", "failing", "lost") }),
  },
  fc.record({ do: fc.constant("refund" as const), order: fc.nat(20), amount: fc.integer({ min: 1, max: 2000 }) }),
  fc.record({
    do: fc.constantFrom("cancel", "cancel", "uncancel", "uncancel", "unpause", "resume", "resume", "forget"),
  }),
  fc.record({ do: fc.constantFrom("revoke", "unpause", "resume", "forget") }),
);
const sequence = fc.record({
  at: fc.integer({ min: 0, max: 4 * 366 * 24 }).map((hours) => new Date(Date.UTC(2027, 0, 1) + hours * hour * 1000)),
  plan: fc.constantFrom(...plans.keys()).filter((one) => !plans[one]?.isClosed),
  seats: fc.integer({ min: 2, max: 12 }),
  discount: fc.option(fc.nat(discounts.length - 1)),
  tax: fc.constantFrom<Tax>(
    { rate: 0, isInclusive: true },
    { rate: 20, isInclusive: false },
    { rate: 20, isInclusive: true },
  ),
  commands: fc.array(command, { minLength: 4, maxLength: 24, size: "max" }),
  currency: fc.constantFrom<Currency>("usd", "usd", "jpy"),
});
type Sequence = typeof sequence extends fc.Arbitrary<infer T> ? T : never;

const toWire = (price: Price, { isInclusive }: Tax) => {
  const tax_behavior = isInclusive ? "inclusive" : "exclusive";
  if (price.kind === "free") return { amount_type: "free" };
  if (price.kind === "fixed") return { amount_type: "fixed", price_amount: price.amount, tax_behavior };
  return {
    amount_type: "seat_based",
    tax_behavior,
    seat_tiers: { seat_tier_type: "volume", tiers: price.tiers },
  };
};

/** A shop with this sequence's subscription in it, and the model of it. */
async function begin({ at, plan: chosen, seats: count, discount, tax, currency }: Sequence) {
  const shop = await openShop(floe, at.toISOString());
  await shop.accepted("PATCH", `/v1/organizations/${shop.seller.organization_id}`, {
    default_presentment_currency: currency,
  });
  if (tax.rate > 0) await shop.accepted("POST", "/v1/tax/registrations", { country: "FR" });
  const products = new Map<Plan, string>();
  const product = async (one: Plan) => {
    const known = products.get(one);
    if (known) return known;
    const made = await shop.sells(
      one.name,
      one.prices.map((price) => toWire(price, tax)),
      {
        recurring_interval: one.interval,
        recurring_interval_count: one.count,
        ...(one.trial ? { trial_interval: one.trial.interval, trial_interval_count: one.trial.count } : {}),
      },
    );
    if (one.isClosed) await shop.accepted("PATCH", `/v1/products/${made}`, { is_archived: true });
    products.set(one, made);
    return made;
  };
  const given = new Map<Discount, string>();
  const gift = async (one: Discount) => {
    const known = given.get(one);
    if (known) return known;
    const { duration, months, off } = one;
    const made = await shop.gives({ duration, ...(months ? { duration_in_months: months } : {}), ...off });
    given.set(one, made);
    return made;
  };
  const first = sure(plans[chosen]);
  const hasSeats = first.prices.some(({ kind }) => kind === "seat");
  const isFree = first.prices.every(({ kind }) => kind === "free");
  const off = discount === null || isFree ? null : sure(discounts[discount]);
  const model = beginModel({
    at,
    plan: first,
    seats: hasSeats ? count : null,
    discount: off,
    card: isFree ? null : "good",
    tax,
    currency,
  });
  const id = await shop.subscribes(await product(first), {
    ...(isFree ? { card: null } : {}),
    checkout: { ...(hasSeats ? { seats: count } : {}), ...(off ? { discount_id: await gift(off) } : {}) },
  });
  const { customer_id } = await shop.get(id);
  if (isFree) await shop.accepted("PATCH", `/v1/customers/${customer_id}`, { billing_address: { country: "FR" } });
  const left = new Map<string, string>();
  const methods = and(
    eq(paymentMethods.organization_id, shop.seller.organization_id),
    eq(paymentMethods.customer_id, customer_id),
  );
  if (!isFree) {
    const [method] = await floe.deps.db.select().from(paymentMethods).where(methods);
    left.set("good", sure(method).id);
  }
  /** A card of the customer's, left when it is first asked for. */
  const cardOf = async (which: Exclude<Card, null>): Promise<string> => {
    const known = left.get(which);
    if (known) return known;
    const made = await shop.leaves(customer_id, { ...cards, lost: cards.other }[which]);
    await shop.told();
    left.set(which, made);
    if (which === "lost") {
      const failing = await cardOf("failing");
      const rows = await floe.deps.db.select().from(paymentMethods).where(methods);
      const idOf = (id: string) => sure(rows.find((one) => one.id === id)).processor_id;
      lost.set(idOf(made), idOf(failing));
    }
    return made;
  };
  return { shop, id, customer_id, model, product, gift, cardOf };
}
type Play = Awaited<ReturnType<typeof begin>>;

const iso = (date: Date | null) => date?.toISOString() ?? null;

/** The orders in the order in which they were made: those of one moment have ids that are derived, and numbers in order. */
async function listOrders({ seller }: Play["shop"], id: string) {
  const query = { subscription_id: [id], sorting: ["created_at"], limit: 100 } as never;
  const { items } = await seller.client.orders.list({ query });
  return items.toSorted(
    (one, other) =>
      one.created_at.getTime() - other.created_at.getTime() ||
      (one.invoice_number ?? "").localeCompare(other.invoice_number ?? ""),
  );
}

/** What floe says of it. */
async function read({ shop, id, customer_id }: Play) {
  const one = await shop.get(id);
  const items = await listOrders(shop, id);
  const [balance] = await floe.deps.db
    .select()
    .from(customerBalances)
    .where(
      and(
        eq(customerBalances.organization_id, shop.seller.organization_id),
        eq(customerBalances.customer_id, customer_id),
      ),
    );
  return {
    status: one.status,
    product: one.product.name,
    seats: one.seats,
    amount: one.amount,
    period: [iso(one.current_period_start), iso(one.current_period_end)],
    trial: [iso(one.trial_start), iso(one.trial_end)],
    ending: [one.cancel_at_period_end, iso(one.canceled_at), iso(one.ends_at), iso(one.ended_at)],
    past_due_at: iso(one.past_due_at),
    pausing: [one.pause_at_period_end, iso(one.paused_at), iso(one.resumes_at)],
    pending: one.pending_update && [
      one.pending_update.product_id,
      one.pending_update.seats,
      iso(one.pending_update.applies_at),
    ],
    discounted: one.discount !== null,
    balance: balance?.amount ?? 0,
    retries: one.payment_retries?.orders.map((order) => iso(order.next_payment_attempt_at)).sort() ?? [],
    orders: items.map((order) =>
      [
        iso(order.created_at),
        order.billing_reason.replace("subscription_", ""),
        order.items.map(({ amount }) => amount).join("+"),
        `${order.subtotal_amount} - ${order.discount_amount} & ${order.tax_amount} = ${order.total_amount}`,
        `${order.applied_balance_amount} -> ${order.due_amount}`,
        order.status,
        `${order.refunded_amount} & ${order.refunded_tax_amount}`,
      ].join(", "),
    ),
    told: await shop.told(),
  };
}

/** What the model says of it. */
function tell({ model: { it, hear } }: Play, ids: Map<Plan, string>) {
  return {
    status: it.status as string,
    product: it.plan.name,
    seats: it.seats,
    amount: it.amount,
    period: [iso(it.start), iso(it.end)],
    trial: [iso(it.trial_start), iso(it.trial_end)],
    ending: [it.isEnding, iso(it.canceled_at), iso(it.ends_at), iso(it.ended_at)],
    past_due_at: iso(it.past_due_at),
    pausing: [it.isPausing, iso(it.paused_at), iso(it.resumes_at)],
    pending: it.pending && [it.pending.plan ? ids.get(it.pending.plan) : null, it.pending.seats, iso(it.end)],
    discounted: it.discount !== null,
    balance: it.balance,
    retries: it.orders.flatMap(({ status, next }) => (status === "pending" && next ? [iso(next)] : [])).sort(),
    orders: it.orders.map((order) =>
      [
        iso(order.at),
        order.reason,
        order.items.join("+"),
        `${order.subtotal} - ${order.discount} & ${order.tax} = ${order.total}`,
        `${order.applied} -> ${order.due}`,
        order.status,
        `${order.refunded} & ${order.refunded_tax}`,
      ].join(", "),
    ),
    told: hear(),
  };
}

/** The body of a change, and the same change of the model. */
async function toChange({ model, product, gift, cardOf }: Play, one: Command) {
  const at = (seconds: number) => new Date(model.it.now.getTime() + seconds * 1000);
  const how = (as: Behavior | null) => (as ? { proration_behavior: as } : {});
  type Steps = Parameters<Parameters<typeof model.take>[0]>[0];
  const change = (body: object, step: (steps: Steps) => void) => ({ body, step });
  switch (one.do) {
    case "plan": {
      const to = sure(plans[one.to]);
      return change({ product_id: await product(to), ...how(one.as) }, (steps) =>
        steps.changePlan(to, one.as ?? "prorate"),
      );
    }
    case "seats":
      return change({ seats: one.to, ...how(one.as) }, (steps) => steps.changeSeats(one.to, one.as ?? "prorate"));
    case "discount": {
      const to = one.to === null ? null : sure(discounts[one.to]);
      return change({ discount_id: to && (await gift(to)) }, (steps) => steps.changeDiscount(to));
    }
    case "trial": {
      const to = one.seconds === null ? "now" : at(one.seconds);
      return change({ trial_end: to === "now" ? to : iso(to) }, (steps) => steps.changeTrial(to));
    }
    case "period": {
      const to = at(one.seconds);
      return change({ current_billing_period_end: iso(to) }, (steps) => steps.changePeriod(to));
    }
    case "pause": {
      const to = one.seconds === null ? null : at(one.seconds);
      return change({ pause_at_period_end: true, ...(to ? { resumes_at: iso(to) } : {}) }, (steps) => steps.pause(to));
    }
    case "unpause":
      return change({ pause_at_period_end: false }, (steps) => steps.unpause());
    case "card":
      return change({ payment_method_id: await cardOf(one.to) }, (steps) => steps.changeCard(one.to));
    case "cancel":
      return change({ cancel_at_period_end: true }, (steps) => steps.cancel());
    case "uncancel":
      return change({ cancel_at_period_end: false }, (steps) => steps.uncancel());
    case "revoke":
      return change({ revoke: true }, (steps) => steps.revoke());
    case "resume":
      return change({ resume: true }, (steps) => steps.resume());
    case "forget":
      return change({ pending_update: null }, (steps) => steps.forget());
    default:
      throw new Error(`${one.do} is no change.`);
  }
}

type Preview = {
  charge: { due_amount: number } | null;
  after: {
    status: string;
    amount: number;
    seats: number | null;
    current_period_start: string;
    current_period_end: string;
    cancel_at_period_end: boolean;
    pause_at_period_end: boolean;
    pending_seats: number | null;
  };
};

/** One step of both: what each answered, and what a change was said to come to before it was made. */
async function perform(play: Play, one: Command): Promise<[string, string]> {
  const { shop, id, model } = play;
  if (one.do === "pass") {
    const to = new Date(model.it.now.getTime() + one.seconds * 1000);
    // Where several things are late, their order is nobody's promise.
    const isLate = one.isLate && model.it.status !== "past_due" && model.it.card === "good";
    if (isLate) await shop.on(to.toISOString());
    else
      for (let isDone = false; !isDone; )
        isDone = Boolean((await shop.accepted("POST", "/v1/sandbox/clock", { to: to.toISOString() })).done);
    model.take((steps) => steps.pass(to, { isLate }));
    return ["", ""];
  }
  if (one.do === "refund") {
    const items = await listOrders(shop, id);
    const at = one.order % items.length;
    const order = sure(items[at]);
    // Only what a card paid can go back to it.
    if (!order.paid || order.due_amount === 0 || order.status === "refunded") return ["", ""];
    const { status, json } = await shop.send("POST", "/v1/refunds/", {
      order_id: order.id,
      amount: one.amount,
      reason: "other",
    });
    await floe.runJobs();
    const said = status === 201 ? "done" : `${status} ${json.error} ${json.detail[0]?.loc.slice(1).join(".")}`;
    return [said, model.take((steps) => steps.refund(at, one.amount))];
  }
  const { body, step } = await toChange(play, one);
  const { status, json } = await shop.send("POST", `/v1/subscriptions/${id}/preview`, body);
  const quote = status === 200 ? { quote: json.quote } : {};
  const said = await shop.changes(id, { ...body, ...quote });
  await floe.runJobs();
  const { it } = model;
  const had = it.orders.length;
  const wanted = model.take(step);
  if (wanted !== "done") {
    // What is refused is refused when it is looked at, but for a card, of which nobody knows before it is charged.
    const isSeen = wanted.startsWith("402 ") ? status === 200 : status >= 400;
    return [`${said}${isSeen ? "" : `, previewed ${status}`}`, wanted];
  }
  const { charge, after } = json as unknown as Preview;
  const shown = [
    charge?.due_amount ?? 0,
    after.amount,
    after.seats,
    after.current_period_start,
    after.current_period_end,
  ];
  const flags = [after.cancel_at_period_end, after.pause_at_period_end, after.pending_seats];
  const due = it.orders.slice(had).reduce((sum, order) => sum + order.due, 0);
  const came = [due, it.amount, it.seats, it.start, it.end, it.isEnding, it.isPausing, it.pending?.seats ?? null];
  // Whether what is missing can be charged is not known before.
  const isBehind = it.past_due_at !== null || after.status === "past_due";
  const told = (values: unknown[], last: unknown) => `done ${JSON.stringify([...values, isBehind ? null : last])}`;
  return [said === "done" ? told([...shown, ...flags], after.status) : said, told(came, it.status)];
}

/** Play a sequence; answers where floe and the model differ first, and what led there. */
async function play(told: Sequence): Promise<{ steps: number; story: string } | null> {
  const playing = await begin(told);
  const story = [`${iso(told.at)} ${JSON.stringify({ ...told, plan: plans[told.plan]?.name, commands: undefined })}`];
  const products = new Map<Plan, string>();
  const differ = async (said: [string, string]) => {
    for (const one of plans) if (playing.model.it.pending?.plan === one) products.set(one, await playing.product(one));
    const floes = { said: said[0], ...(await read(playing)) };
    const models = { said: said[1], ...tell(playing, products) };
    const parts = Object.keys(floes) as (keyof typeof floes)[];
    const lines = parts.flatMap((part) => {
      const [a, b] = [JSON.stringify(floes[part]), JSON.stringify(models[part])];
      return a === b ? [] : [`${part}\n  floe:  ${a}\n  model: ${b}`];
    });
    return lines.length === 0 ? null : [...story, ...lines].join("\n");
  };
  let said: [string, string] = ["", ""];
  for (const [at, one] of [null, ...told.commands].entries()) {
    if (one) {
      story.push(`${iso(playing.model.it.now)} ${JSON.stringify(one)}`);
      said = await perform(playing, one);
    }
    const difference = await differ(said);
    if (difference) return { steps: at, story: difference };
  }
  return null;
}

const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);
const runs = Number(process.env.FLOE_TEST_RUNS ?? 5);
const shorteningMs = 30_000;

/** The same difference with fewer steps, as far as there is time. */
async function shorten(told: Sequence, found: { steps: number; story: string }): Promise<string> {
  const until = performance.now() + shorteningMs;
  let commands = told.commands.slice(0, found.steps);
  let { story } = found;
  for (let at = commands.length - 2; at >= 0 && performance.now() < until; at -= 1) {
    const fewer = await play({ ...told, commands: commands.toSpliced(at, 1) }).catch(() => null);
    if (!fewer) continue;
    commands = commands.toSpliced(at, 1).slice(0, fewer.steps);
    story = fewer.story;
    at = Math.min(at, commands.length - 1);
  }
  return story;
}

test(
  "floe does what the model of its rules does",
  async () => {
    for (let at = seed; at < seed + runs; at += 1) {
      const [told] = fc.sample(fc.noBias(sequence), { seed: at, numRuns: 1 });
      if (!told) throw new Error("Nothing was drawn.");
      floe.logged.length = 0;
      const found = await play(told);
      const again = `FLOE_TEST_SEED=${at} FLOE_TEST_RUNS=1 npx vitest run tests/scenarios/subscriptions-model.long.test.ts`;
      if (found) throw new Error(`${again}\n${await shorten(told, found)}`);
      expect([again, floe.logged.filter((line) => line.startsWith("error"))]).toEqual([again, []]);
    }
  },
  60_000 + runs * 10_000,
);

const untaxed: Tax = { rate: 0, isInclusive: true };
const indexOf = (name: string): number => plans.findIndex((one) => one.name === name);
const april = { at: new Date("2027-04-01T00:00:00Z"), seats: 2, discount: null, tax: untaxed };

/** What chance seldom draws. */
const rare: [string, Sequence][] = [
  [
    "another seat costs less than a card can be charged with in yen, and more than in dollars",
    {
      ...{ ...april, plan: indexOf("Crew"), currency: "jpy" },
      commands: [
        { do: "pass", seconds: 24.5 * day, isLate: false },
        { do: "seats", to: 3, as: "invoice" },
        { do: "pass", seconds: 10 * day, isLate: false },
      ],
    },
  ],
];
test.each(rare)("floe does what the model does where %s", async (_, told) => {
  expect((await play(told))?.story ?? "no difference").toBe("no difference");
});
