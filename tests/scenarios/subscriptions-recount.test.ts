import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { transact } from "../../server/lib/unit-of-work.ts";
import { creditMeter } from "../../server/meters/credits.ts";
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
type Sent = { n: Value; kind: "a" | "b"; timestamp: Date };
/** Decimal hundredths of the smallest unit, and the smallest unit itself. */
type Price = { unit: number; cap: number | null };
/** An exact number. */
type Ratio = { over: bigint; under: bigint };

const ratio = (tenths: number): Ratio => ({ over: BigInt(tenths), under: 10n });
const plus = (a: Ratio, b: Ratio): Ratio => ({ over: a.over * b.under + b.over * a.under, under: a.under * b.under });
const minus = (a: Ratio, b: Ratio): Ratio => plus(a, { over: -b.over, under: b.under });
const numberOf = ({ over, under }: Ratio): number => Number(over) / Number(under);
const tenthsOf = (value: number): number => Math.round(value * 10);

/** What a meter makes of events, by MTR-19. */
function consumed(func: Func, events: readonly Sent[]): Ratio {
  const counted = events.filter(({ kind }) => kind === "a");
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

const start_at = new Date("2027-01-01T00:00:00Z");
const day_ms = 24 * 60 * 60 * 1000;
const monthsLater = (months: number): Date => new Date(Date.UTC(2027, months, 1));

/** The rules, computed from nothing but what was sent. */
function reference(func: Func, first: Price) {
  const isSum = func === "count" || func === "sum";
  let [events, price, ends, rolls, free, month, billed] = [[] as Sent[], first, 0, 0, ratio(0), 1, 0];
  const used = () => consumed(func, events);
  const open = () => minus(minus(used(), ratio((ends + rolls) * 10)), free);
  const close = () => {
    billed += priced(open(), price);
    // BEN-53: what ends with the period is spent first; a part of a unit takes a whole one.
    const { over, under } = used();
    const spent = over <= 0n ? 0 : Number((over + under - 1n) / under);
    rolls = Math.max(0, Math.min(ends + rolls - spent, rolls));
    [events, ends, free, month] = [[], 0, ratio(0), month + 1];
  };
  return {
    send(event: Sent) {
      events.push(event);
      // Of before the subscription: counted, and never billed (MTR-29).
      if (isSum && event.timestamp < start_at) free = plus(free, consumed(func, [event]));
    },
    credit(units: number, rollover: boolean) {
      if (rollover) rolls += units;
      else ends += units;
    },
    change(next: Price) {
      // SUB-22: what was used at the price that is gone is billed at none.
      if (isSum && open().over > 0n) free = plus(free, open());
      price = next;
    },
    at(now: Date) {
      while (monthsLater(month) <= now) close();
    },
    end: () => {
      billed += priced(open(), price);
    },
    balance: () => [numberOf(used()), ends + rolls],
    billed: () => billed,
  };
}

const price = fc.record({ unit: fc.integer({ min: 1, max: 500 }), cap: fc.option(fc.integer({ min: 1, max: 2000 })) });
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -30, max: 400 }).map((tenths) => tenths / 10) },
  { weight: 1, arbitrary: fc.constantFrom<Value>("7", true, undefined) },
);
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      events: fc.array(
        fc.record({ n: value, kind: fc.constantFrom("a" as const, "a" as const, "b" as const), ago: fc.nat(45) }),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("credit" as const),
      units: fc.integer({ min: 1, max: 60 }),
      rollover: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("change" as const), price }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("wait" as const), days: fc.integer({ min: 1, max: 40 }) }) },
);

let opened = 0;

test("what is billed, and every balance, is what a recount of the raw events by the rules says", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Func>("count", "sum", "max", "min", "avg", "unique"),
      price,
      fc.array(step, { minLength: 6, maxLength: 16 }),
      async (func, first, steps) => {
        opened += 1;
        const shop = await openShop(floe, "2027-01-01");
        const { organization_id, client } = shop.seller;
        const name = `use-${opened}`;
        const clause = (property: string, text: string) => ({ property, operator: "eq", value: text });
        const meter = await shop.accepted("POST", "/v1/meters/", {
          name: "Tokens",
          filter: { conjunction: "and", clauses: [clause("name", name), clause("metadata.kind", "a")] },
          aggregation: func === "count" ? { func } : { func, property: "n" },
        });
        const sells = ({ unit, cap }: { unit: number; cap: number | null }) =>
          shop.sells("API", [
            { amount_type: "fixed", price_amount: 100_000 },
            { amount_type: "metered_unit", meter_id: meter.id, unit_amount: (unit / 100).toFixed(2), cap_amount: cap },
          ]);
        const id = await shop.subscribes(await sells(first));
        const { customer_id } = await shop.get(id);
        const rules = reference(func, first);
        const key = { organization_id, customer_id, meter_id: String(meter.id) };
        const compare = async () => {
          const { items } = await client.customerMeters.list({ query: { customer_id: [customer_id] } });
          const [consumed_units = 0, credited_units] = rules.balance();
          expect(items[0]?.consumed_units ?? 0).toBeCloseTo(consumed_units, 9);
          expect(items[0]?.credited_units ?? 0).toBe(credited_units);
          const orders = await client.orders.list({ query: { subscription_id: [id], limit: 100 } as never });
          const lines = orders.items.flatMap((order) => order.items).filter(({ label }) => label.startsWith("Tokens"));
          expect(lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(rules.billed());
        };
        let now = start_at;
        for (const one of steps) {
          if (one.kind === "send") {
            const sent = one.events.map(({ n, kind, ago }): Sent => {
              // Of what is no sum, nothing is of before the subscription: it would count like any other.
              const at = new Date(now.getTime() - ago * day_ms);
              return { n, kind, timestamp: func === "count" || func === "sum" || at > start_at ? at : start_at };
            });
            const events = sent.map(({ n, kind, timestamp }) => ({
              name,
              customer_id,
              timestamp,
              metadata: { n, kind },
            }));
            await shop.accepted("POST", "/v1/events/ingest", { events });
            for (const event of sent) rules.send(event);
          } else if (one.kind === "credit") {
            const { units, rollover } = one;
            const credit = { ...key, source: { kind: "test", id: "a" }, units, rollover };
            const clock = { now: () => now };
            await transact(floe.deps, (tx) => creditMeter(tx, { ...floe.deps, clock }, credit));
            rules.credit(units, rollover);
          } else if (one.kind === "change") {
            const product_id = await sells(one.price);
            expect(await shop.changes(id, { product_id, proration_behavior: "prorate" })).toBe("done");
            rules.change(one.price);
          } else {
            now = new Date(now.getTime() + one.days * day_ms);
            await shop.on(now.toISOString().slice(0, 10));
            rules.at(now);
            await compare();
          }
        }
        await compare();
        await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
        rules.end();
        const orders = await client.orders.list({ query: { subscription_id: [id], limit: 100 } as never });
        const lines = orders.items.flatMap((order) => order.items).filter(({ label }) => label.startsWith("Tokens"));
        expect(lines.reduce((sum, { amount }) => sum + amount, 0)).toBe(rules.billed());
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
