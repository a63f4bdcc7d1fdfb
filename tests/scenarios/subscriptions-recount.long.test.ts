import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { addCredit } from "../../server/usage/meters/credits.ts";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";

/**
 * What is billed, and what every balance says, against a recount of the raw events that shares nothing with the server: events of
 * any kind, on time and late, in any order, beside credit, changes of price, and periods that end.
 */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

type Func = "count" | "sum" | "max" | "min" | "avg" | "unique";
type Value = number | string | boolean | undefined;
type Sent = { n: Value; kind: "a" | "b"; size: number; timestamp: Date };
/** Decimal hundredths of the smallest unit, and the smallest unit itself. */
type Price = { unit: number; cap: number | null };
/** An exact number. */
type Ratio = { over: bigint; under: bigint };

const ratio = (tenths: number): Ratio => ({ over: BigInt(tenths), under: 10n });
const plus = (a: Ratio, b: Ratio): Ratio => ({ over: a.over * b.under + b.over * a.under, under: a.under * b.under });
const minus = (a: Ratio, b: Ratio): Ratio => plus(a, { over: -b.over, under: b.under });
const numberOf = ({ over, under }: Ratio): number => Number(over) / Number(under);
const tenthsOf = (value: number): number => Math.round(value * 10);

/** What meters take here: as they are told of it, and as one says it. */
const filters = {
  kind: { clauses: [["kind", "eq", "a"]], takes: ({ kind }: Sent) => kind === "a" },
  size: { clauses: [["size", "gte", 3]], takes: ({ size }: Sent) => size >= 3 },
  both: {
    clauses: [
      ["kind", "ne", "b"],
      ["size", "lt", 4],
    ],
    takes: ({ kind, size }: Sent) => kind === "a" && size < 4,
  },
  either: {
    clauses: [
      {
        conjunction: "or",
        clauses: [
          ["kind", "like", "b"],
          ["size", "gt", 2],
          ["size", "eq", 0],
        ],
      },
    ],
    takes: ({ kind, size }: Sent) => kind === "b" || size > 2 || size === 0,
  },
  all: { clauses: [], takes: () => true },
} as const;
type Clauses = readonly (readonly [string, string, string | number] | { conjunction: string; clauses: Clauses })[];
const clausesOf = (some: Clauses): object[] =>
  some.map((one) =>
    "clauses" in one
      ? { conjunction: one.conjunction, clauses: clausesOf(one.clauses) }
      : { property: `metadata.${one[0]}`, operator: one[1], value: one[2] },
  );

/** What a meter makes of the events that it takes, by MTR-19. */
function consumed(func: Func, counted: readonly Sent[]): Ratio {
  if (func === "count") return ratio(counted.length * 10);
  if (func === "unique")
    return ratio(new Set(counted.flatMap(({ n }) => (n === undefined ? [] : `${typeof n} ${n}`))).size * 10);
  const tenths = counted.flatMap(({ n }) => (typeof n === "number" ? tenthsOf(n) : []));
  if (tenths.length === 0) return ratio(0);
  const sum = tenths.reduce((total, one) => total + one, 0);
  if (func === "avg") return { over: BigInt(sum), under: BigInt(tenths.length * 10) };
  return ratio(func === "sum" ? sum : func === "max" ? Math.max(...tenths) : Math.min(...tenths));
}

/** What units cost: rounded once, half away from zero, never below nothing, never above the cap. */
function priced(units: Ratio, { unit, cap }: Price): number {
  if (units.over <= 0n) return 0;
  const [over, under] = [units.over * BigInt(unit), units.under * 100n];
  return Math.min(Number((2n * over + under) / (2n * under)), cap ?? Number.MAX_SAFE_INTEGER);
}

const startAt = new Date("2027-01-01T00:00:00Z");
const dayMs = 24 * 60 * 60 * 1000;
const monthsLater = (months: number): Date => new Date(Date.UTC(2027, months, 1));

type Lot = { units: number; rolls: boolean; given: Date };
/** One who uses something: what they have used since they were last counted from nothing, and their credit. */
type Person = { events: Sent[]; lots: Lot[]; since: Date | null; isSeated: boolean };
/** What one has used in a period that is over, their credit, and what of it has gone on. */
type Window = { who: number; start: Date; end: Date; events: Sent[]; credit: number; rolls: number; rolled: number };
/** What is billed as one: at which price, for whom, and the units that it was billed for. */
type Group = { price: Price; windows: Window[]; parts: Window[]; before: Ratio | null; isOpen: boolean };

const wholes = ({ over, under }: Ratio) => (over <= 0n ? 0 : Number((over + under - 1n) / under));
const total = (numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0);
/** BEN-53: what ends with the period is spent first; a part of a unit takes a whole one. */
function spend(lots: Lot[], units: Ratio): { lot: Lot; left: number }[] {
  let used = wholes(units);
  return [...lots.filter(({ rolls }) => !rolls), ...lots.filter(({ rolls }) => rolls)].map((lot) => {
    const spent = Math.min(lot.units, used);
    used -= spent;
    return { lot, left: lot.units - spent };
  });
}

/**
 * The rules, computed from nothing but what was sent: the first of the people pays, and the others are on that bill while they hold
 * a seat (SEAT-17). What happened in a period is of that period, whenever it comes (SUB-21).
 */
function reference(func: Func, filter: keyof typeof filters, first: Price, seated: boolean) {
  const people = [0, 1, 2].map(
    (index): Person => ({ events: [], lots: [], since: index === 0 ? startAt : null, isSeated: index === 0 }),
  );
  const groups: Group[] = [];
  let [price, month, billed, pending, left] = [first, 1, 0, 0, [] as Window[]];
  const used = ({ events }: { events: Sent[] }) => consumed(func, events);
  const paying = () => people.filter(({ isSeated }) => isSeated);
  // What ends with the period is there for all, what goes on for oneself.
  const covers = (one: Window) => {
    const ends = one.credit - one.rolls;
    return ends + Math.min(one.rolls, Math.max(0, wholes(used(one)) - ends));
  };
  function bill(group: Group): number {
    const all = [...group.windows, ...group.parts];
    const units = consumed(
      func,
      all.flatMap(({ events }) => events),
    );
    const credit = ratio(total(all.map(covers)) * 10);
    const cost = (some: Ratio) => priced(minus(some, credit), group.price);
    const { before } = group;
    group.isOpen = false;
    if (before === null || cost(units) >= cost(before)) group.before = units;
    return before === null ? cost(units) : Math.max(0, cost(units) - cost(before));
  }
  /** Count what one uses from nothing: with what is left of all credit, or of what goes on after the period. */
  function close(one: Person, end: Date, keeps: boolean): Window {
    const spent = spend(one.lots, used(one));
    const goOn = spent.filter(({ lot, left: units }) => units > 0 && (keeps || lot.rolls));
    const gone = total(spent.map(({ lot, left: units }) => lot.units - units));
    const rolls = total(one.lots.filter((lot) => lot.rolls).map(({ units }) => units));
    const window = {
      ...{ who: people.indexOf(one), start: one.since ?? new Date(0), end, events: one.events },
      credit: keeps ? gone : total(one.lots.map(({ units }) => units)),
      rolls: keeps ? 0 : rolls,
      rolled: keeps ? 0 : total(goOn.map(({ left: units }) => units)),
    };
    const lots = goOn.map(({ lot, left: units }) => ({ ...lot, units }));
    Object.assign(one, { events: [], lots, since: end });
    return window;
  }
  /** A period of the bill is over, or a stretch of it. */
  function closeAll(end: Date, keeps: boolean): number {
    const windows = paying().map((one) => close(one, end, keeps));
    groups.push({ price, windows, parts: left, before: null, isOpen: true });
    left = [];
    return total(groups.filter(({ isOpen }) => isOpen).map(bill));
  }
  function addLate(one: Person, group: Group, window: Window, events: Sent[]) {
    window.events.push(...events);
    group.isOpen = true;
    window.credit -= window.rolled;
    window.rolls -= window.rolled;
    window.rolled = 0;
    let missing = wholes(used(window)) - window.credit;
    for (const { lot, left: units } of spend(one.lots, used(one))) {
      const more = lot.given < window.end ? Math.max(0, Math.min(units, missing)) : 0;
      missing -= more;
      lot.units -= more;
      window.credit += more;
    }
  }
  return {
    send(who: number, all: Sent[]) {
      const one = people[who];
      if (!one) return;
      const late = new Map<Window, Sent[]>();
      for (const event of all.filter(filters[filter].takes)) {
        const { timestamp } = event;
        const isLate = one.since !== null && timestamp < one.since;
        const isOf = (window: Window) => window.who === who && window.start <= timestamp && timestamp < window.end;
        const window = isLate ? groups.flatMap(({ windows }) => windows).find(isOf) : undefined;
        if (window) late.set(window, [...(late.get(window) ?? []), event]);
        // Of before the subscription, or the seat: billed in no way (MTR-29).
        else if (!isLate || !one.isSeated) one.events.push(event);
      }
      for (const [window, events] of late)
        for (const group of groups) if (group.windows.includes(window)) addLate(one, group, window, events);
    },
    credit(who: number, units: number, rolls: boolean, given: Date) {
      people[who]?.lots.push({ units, rolls, given });
    },
    seat(who: number, now: Date) {
      const one = people[who];
      if (!one || !seated) return;
      const window = close(one, now, true);
      if (one.isSeated) left.push(window);
      one.isSeated = !one.isSeated;
    },
    change(next: Price, now: Date) {
      // SUB-22: what was used at the price that is gone is billed at that price.
      pending += closeAll(now, true);
      price = next;
    },
    at(now: Date) {
      for (; monthsLater(month) <= now; month += 1) {
        billed += closeAll(monthsLater(month), false) + pending;
        pending = 0;
      }
    },
    end(now: Date) {
      billed += closeAll(now, false) + pending;
    },
    balance: (who: number) =>
      people.slice(who, who + 1).flatMap((one) => [numberOf(used(one)), total(one.lots.map(({ units }) => units))]),
    billed: () => billed,
  };
}

const price = fc.record({ unit: fc.integer({ min: 1, max: 500 }), cap: fc.option(fc.integer({ min: 1, max: 2000 })) });
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -30, max: 400 }).map((tenths) => tenths / 10) },
  { weight: 1, arbitrary: fc.constantFrom<Value>("7", true, undefined) },
);
const event = fc.record({
  n: value,
  kind: fc.constantFrom("a" as const, "a" as const, "b" as const),
  size: fc.nat(5),
  ago: fc.nat(45),
});
const who = fc.nat(2);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      who,
      events: fc.array(event, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("credit" as const),
      who,
      units: fc.integer({ min: 1, max: 60 }),
      rollover: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("seat" as const), who: fc.constantFrom(1, 2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("change" as const), price }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 40 }) }) },
);

let opened = 0;

test("what is billed, and every balance, is what a recount of the raw events by the rules says", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Func>("count", "sum", "max", "min", "avg", "unique"),
      fc.constantFrom(...(Object.keys(filters) as (keyof typeof filters)[])),
      fc.boolean(),
      price,
      fc.array(step, { minLength: 6, maxLength: 18 }),
      async (func, filter, seated, first, steps) => {
        opened += 1;
        const shop = await openShop(floe, "2027-01-01");
        const { organization_id, client } = shop.seller;
        const name = `use-${opened}`;
        const meter = await shop.accepted("POST", "/v1/meters/", {
          name: "Tokens",
          filter: {
            conjunction: "and",
            clauses: [{ property: "name", operator: "eq", value: name }, ...clausesOf(filters[filter].clauses)],
          },
          aggregation: func === "count" ? { func } : { func, property: "n" },
        });
        const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
        const sells = ({ unit, cap }: { unit: number; cap: number | null }) =>
          shop.sells("API", [
            seated
              ? { amount_type: "seat_based", seat_tiers: { tiers } }
              : { amount_type: "fixed", price_amount: 100_000 },
            { amount_type: "metered_unit", meter_id: meter.id, unit_amount: (unit / 100).toFixed(2), cap_amount: cap },
          ]);
        const id = await shop.subscribes(await sells(first), { checkout: seated ? { seats: 3 } : {} });
        const people = [(await shop.get(id)).customer_id];
        for (const index of [1, 2]) {
          const body = { email: `use-${opened}-${index}@example.com` };
          people.push((await client.customers.create({ body })).id);
        }
        const rules = reference(func, filter, first, seated);
        const seats = new Map<number, string>();
        const lines = async () => {
          const orders = await client.orders.list({ query: { subscription_id: [id], limit: 100 } as never });
          const all = orders.items.flatMap((order) => order.items).filter(({ label }) => label.startsWith("Tokens"));
          return all.reduce((sum, { amount }) => sum + amount, 0);
        };
        const compare = async () => {
          for (const [index, customer_id] of people.entries()) {
            const { items } = await client.customerMeters.list({ query: { customer_id: [customer_id] } });
            const [consumed_units = 0, credited_units] = rules.balance(index);
            expect(items[0]?.consumed_units ?? 0).toBeCloseTo(consumed_units, 9);
            expect(items[0]?.credited_units ?? 0).toBe(credited_units);
          }
          expect(await lines()).toBe(rules.billed());
        };
        let now = startAt;
        for (const one of steps) {
          if (one.kind === "send") {
            const sent = one.events.map(
              ({ ago, ...rest }): Sent => ({ ...rest, timestamp: new Date(now.getTime() - ago * dayMs) }),
            );
            const events = sent.map(({ timestamp, ...metadata }) => ({
              name,
              customer_id: people[one.who],
              timestamp,
              metadata,
            }));
            await shop.accepted("POST", "/v1/events/ingest", { events });
            rules.send(one.who, sent);
          } else if (one.kind === "credit") {
            const { units, rollover } = one;
            const key = { organization_id, customer_id: people[one.who] ?? "", meter_id: String(meter.id) };
            const credit = { ...key, source: { kind: "test", id: "a" }, units, rollover };
            const clock = { now: () => now };
            await transact(floe.deps, (tx) => addCredit(tx, { ...floe.deps, clock }, credit));
            rules.credit(one.who, units, rollover, now);
          } else if (one.kind === "seat") {
            if (!seated) continue;
            const held = seats.get(one.who);
            const body = { subscription_id: id, customer_id: people[one.who], immediate_claim: true };
            if (held) await shop.accepted("DELETE", `/v1/customer-seats/${held}`);
            else seats.set(one.who, String((await shop.accepted("POST", "/v1/customer-seats", body)).id));
            if (held) seats.delete(one.who);
            rules.seat(one.who, now);
          } else if (one.kind === "change") {
            const product_id = await sells(one.price);
            expect(await shop.changes(id, { product_id, proration_behavior: "prorate" })).toBe("done");
            rules.change(one.price, now);
          } else {
            now = new Date(now.getTime() + one.days * dayMs);
            await shop.on(now.toISOString().slice(0, 10));
            rules.at(now);
            await compare();
          }
        }
        await compare();
        await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
        rules.end(now);
        expect(await lines()).toBe(rules.billed());
        for (const after of [{}, { after: "p" }]) {
          const verified = await client.customerMeters.verify({ query: { ...after, limit: 1000 } });
          expect([verified.differences, verified.skipped]).toEqual([[], 0]);
        }
      },
    ),
    {
      seed: Number(process.env.FLOE_TEST_SEED ?? 4455),
      numRuns: Number(process.env.FLOE_TEST_RUNS ?? 8),
      endOnFailure: process.env.FLOE_TEST_RUNS === undefined,
    },
  );
}, 240_000);
