/** Credit: lots that are spent as meters count, expire, are taken back, and roll over. */
import { eq } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import {
  type CreditGrant,
  closeLots,
  consumeCreditGrants,
  getWorth,
  revokeCreditGrants,
} from "../../server/usage/meters/credit-grants.ts";
import {
  addCredit,
  type CreditGrantInput,
  resetMeter,
  revokeCredit,
  rolloverCredit,
} from "../../server/usage/meters/credits.ts";
import {
  customerMeterLots,
  customerMeters,
  customerMeterValues,
  customerMeterWindows,
  meters,
} from "../../server/usage/meters/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

let made = 0;
const nextLotId = (): string => {
  made += 1;
  return String(made).padStart(9, "0");
};
const lot = (over: Partial<CreditGrant> & { source_id?: string }) => ({
  ...{ id: nextLotId(), created_at: new Date(made), amount: 0, taken: 0, expired: 0 },
  ...{ rollover: false, expires_at: null, expired_at: null, priority: 0, source_kind: "grant", source_id: "a" },
  ...over,
});
const left = (lots: CreditGrant[], used: string, ends_at: Date | null = null) =>
  Object.fromEntries(consumeCreditGrants(lots, used, ends_at).map((one) => [one.lot.id, one.left]));

describe("how lots are spent", () => {
  test.each([
    [0, 100, "30", 70],
    [50, 100, "30", 100],
    [50, 100, "120", 30],
    [0, 100, "150", 0],
    [0, 100, "30.5", 69],
    [50, 0, "20", 0],
    [0, 100, "-5", 100],
  ])("BEN-53: of %i that ends and %i that rolls over, after %s of use %i go on", (ends, rolls, used, expected) => {
    const lots = [lot({ amount: rolls, rollover: true }), lot({ amount: ends })];
    const closed = closeLots(lots, used, null);
    expect(closed.reduce((sum, { rolled }) => sum + rolled, 0)).toBe(expected);
    for (const { lot: one, spent, expired, rolled } of closed) expect(spent + expired + rolled).toBe(one.amount);
  });
  test("those that expire first come first, then the lower priority, then the older", () => {
    const [late, soon] = [new Date(2_000), new Date(1_000)];
    const a = lot({ amount: 10, expires_at: late });
    const b = lot({ amount: 10, expires_at: soon, priority: 2 });
    const c = lot({ amount: 10, expires_at: soon, priority: 1 });
    const d = lot({ amount: 10, expires_at: soon, priority: 1 });
    expect(left([a, b, c, d], "25")).toEqual({ [c.id]: 0, [d.id]: 0, [b.id]: 5, [a.id]: 10 });
    // What ends with the period goes before what outlives it.
    const [e, f] = [lot({ amount: 10, expires_at: late, rollover: true }), lot({ amount: 10 })];
    expect(left([e, f], "5", new Date(1_500))).toEqual({ [f.id]: 5, [e.id]: 10 });
  });
  test("BEN-54: what is taken back is taken from its own source, and never more than there is", () => {
    const own = lot({ amount: 10, source_id: "own" });
    const alike = lot({ amount: 10 });
    const taken = revokeCreditGrants([alike, own], 15, { kind: "grant", id: "own" });
    expect(taken.map((one) => [one.lot.id, one.units])).toEqual([[own.id, 10]]);
  });
});

/** A customer and a meter of their own. */
async function open() {
  made += 1;
  const name = `credit-${made}`;
  const customer = await seller.client.customers.create({ body: { email: `${name}@example.com` } });
  const meter = await seller.client.meters.create({
    body: {
      name,
      filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
      aggregation: { func: "sum", property: "n" },
    },
  });
  const { organization_id } = seller;
  const key = { organization_id, customer_id: customer.id, meter_id: meter.id };
  const credit = (units: number, over: Partial<CreditGrantInput> = {}): CreditGrantInput => ({
    ...{ ...key, source: { kind: "grant", id: "a" }, units, rollover: false },
    ...over,
  });
  const run = (work: (tx: Parameters<Parameters<typeof transact>[1]>[0]) => Promise<unknown>) =>
    transact(floe.deps, work);
  return {
    key,
    credit,
    give: (units: number, over: Partial<CreditGrantInput> = {}) =>
      run((tx) => addCredit(tx, floe.deps, credit(units, over))),
    take: (units: number, over: Partial<CreditGrantInput> = {}) =>
      run((tx) => revokeCredit(tx, floe.deps, credit(units, over))),
    cycle: (units: number, last: Date | null, over: Partial<CreditGrantInput> = {}) =>
      run((tx) => rolloverCredit(tx, floe.deps, credit(units, over), last)),
    reset: () => run((tx) => resetMeter(tx, floe.deps, key)),
    use: (n: number, over: object = {}) =>
      seller.client.events.ingest({
        query: {},
        body: { events: [{ name, customer_id: customer.id, metadata: { n }, ...over }] },
      }),
    balance: async () => {
      const { items } = await seller.client.customerMeters.list({ query: { customer_id: [customer.id] } });
      return items.map((one) => [one.consumed_units, one.credited_units, one.balance]);
    },
    told: async () => {
      const query = { customer_id: [customer.id], source: ["system" as const], sorting: ["timestamp" as const] };
      const { items } = await seller.client.events.list({ query });
      return items.map((one) => [one.name, (one.metadata as { units?: number }).units]);
    },
  };
}

describe("a customer's credit", () => {
  test("BEN-51: is there without any use, and is said in the list of events", async () => {
    const { key, give, balance, told, use } = await open();
    await give(100);
    expect(await balance()).toEqual([[0, 100, 100]]);
    expect(await told()).toEqual([["meter.credited", 100]]);
    await use(30.5);
    expect(await balance()).toEqual([[30.5, 100, 69.5]]);
    const state = await seller.client.customers.getState({ params: { id: key.customer_id } });
    expect(state.active_meters).toMatchObject([
      { meter_id: key.meter_id, consumed_units: 30.5, credited_units: 100, balance: 69.5 },
    ]);
  });
  test("BEN-54, MTR-23: taking back goes below nothing, but credit itself does not", async () => {
    const { give, take, balance, use, told } = await open();
    await give(100);
    await use(60);
    await take(100);
    expect(await balance()).toEqual([[60, 0, -60]]);
    await take(150);
    await give(30);
    expect(await balance()).toEqual([[60, 30, -30]]);
    expect(await told()).toContainEqual(["meter.credited", -100]);
  });
  test("BEN-52: a period resets what was used, and what rolls over goes on", async () => {
    const { give, cycle, balance, use, told } = await open();
    await give(100, { rollover: true });
    await use(30);
    const credited = floe.clock.now();
    floe.clock.advance(1000);
    await cycle(100, credited, { rollover: true });
    expect(await balance()).toEqual([[0, 170, 170]]);
    expect((await told()).map(([name, units]) => `${name} ${units ?? ""}`).sort()).toEqual([
      "meter.credited 100",
      "meter.credited 100",
      "meter.credited 70",
      "meter.reset ",
    ]);
    await use(5);
    expect(await balance()).toEqual([[5, 170, 165]]);
  });
  test("BEN-52: where it was reset since, as billing does, it is not reset again", async () => {
    const { give, cycle, reset, balance, use } = await open();
    await give(100);
    const credited = floe.clock.now();
    floe.clock.advance(1000);
    await reset();
    await use(7);
    await cycle(100, credited);
    expect(await balance()).toEqual([[7, 100, 93]]);
  });
  test("BEN-52: a meter that was reset as its credit was given is reset before the next one", async () => {
    const { cycle, reset, balance, use } = await open();
    await reset();
    const credited = floe.clock.now();
    await cycle(100, new Date(credited.getTime() - 1000));
    await use(30);
    floe.clock.advance(1000);
    await cycle(100, credited);
    expect(await balance()).toEqual([[0, 100, 100]]);
  });
  test("what has expired is lost, but what was spent of it by then stays spent", async () => {
    const { give, balance, use } = await open();
    const expires_at = new Date(floe.clock.now().getTime() + 60_000);
    await give(100, { expires_at });
    await use(30);
    floe.clock.advance(60_000);
    // Whoever counts first after that finds it expired, whether a sweep was there or not.
    await use(50);
    expect(await balance()).toEqual([[80, 30, -50]]);
    const other = await open();
    await other.give(100, { expires_at: new Date(floe.clock.now().getTime() + 60_000), rollover: true });
    floe.clock.advance(60_000);
    await floe.runJobs();
    expect(await other.balance()).toEqual([[0, 0, 0]]);
  });
  test("use of before a reset that comes after it counts, and a recount says the same", async () => {
    const { use, reset, balance, key } = await open();
    const before = floe.clock.now();
    await use(10);
    floe.clock.advance(1000);
    await reset();
    await use(3, { timestamp: before });
    await use(4);
    expect(await balance()).toEqual([[7, 0, -7]]);
    await seller.client.meters.update({ params: { id: key.meter_id }, body: { is_archived: true } });
    await seller.client.meters.update({ params: { id: key.meter_id }, body: { is_archived: false } });
    await floe.runJobs();
    expect(await balance()).toEqual([[7, 0, -7]]);
  });
});

test("sum of lots = granted − taken − spent − expired, in any order of events", async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant("give" as const),
      units: fc.integer({ min: 1, max: 50 }),
      rollover: fc.boolean(),
      lasts: fc.constantFrom(null, 3, 9),
    }),
    fc.record({ kind: fc.constant("take" as const), units: fc.integer({ min: 1, max: 60 }), rollover: fc.boolean() }),
    fc.record({ kind: fc.constant("use" as const), units: fc.integer({ min: -5, max: 40 }) }),
    fc.record({ kind: fc.constant("reset" as const) }),
    fc.record({ kind: fc.constant("wait" as const), ticks: fc.integer({ min: 1, max: 4 }) }),
  );
  await fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let now = 0;
      let used = 0;
      let lots: ReturnType<typeof lot>[] = [];
      const sums = { granted: 0, taken: 0, spent: 0, expired: 0, rolled: 0 };
      for (const one of steps) {
        if (one.kind === "wait") {
          // As it is done there: what is left of each whose time has come.
          for (let tick = 0; tick < one.ticks; tick += 1) {
            now += 1;
            const rest = new Map(consumeCreditGrants(lots, String(used), null).map((it) => [it.lot.id, it.left]));
            lots = lots.map((it) => {
              if (it.expires_at === null || it.expires_at.getTime() > now || it.expired_at) return it;
              const lost = rest.get(it.id) ?? 0;
              sums.expired += lost;
              return { ...it, expired: it.expired + lost, expired_at: new Date(now) };
            });
          }
        } else if (one.kind === "use") used += one.units;
        else if (one.kind === "give") {
          sums.granted += one.units;
          const expires_at = one.lasts === null ? null : new Date(now + one.lasts);
          lots.push(lot({ amount: one.units, rollover: one.rollover, expires_at, created_at: new Date(now) }));
        } else if (one.kind === "take") {
          const before = lots.reduce((sum, it) => sum + getWorth(it), 0);
          const taken = revokeCreditGrants(lots, one.units, { kind: "grant", id: "a" });
          for (const part of taken) part.lot.taken += part.units;
          const after = lots.reduce((sum, it) => sum + getWorth(it), 0);
          expect(after).toBe(Math.max(0, before - one.units));
          sums.taken += before - after;
        } else {
          const [ends, rolls] = [false, true].map((kind) =>
            lots.filter((it) => it.rollover === kind && !it.expired_at).reduce((sum, it) => sum + getWorth(it), 0),
          ) as [number, number];
          const closed = closeLots(lots, String(used), null);
          const rolled = closed.reduce((sum, it) => sum + it.rolled, 0);
          // What has expired took its part of the use with it.
          const gone = lots.filter((it) => it.expired_at).reduce((sum, it) => sum + getWorth(it), 0);
          if (lots.every((it) => it.expires_at === null))
            expect(rolled).toBe(Math.max(0, Math.min(Math.trunc(ends + rolls - Math.max(0, used - gone)), rolls)));
          for (const it of closed) {
            expect(it.lot.taken + it.spent + it.expired + it.rolled).toBe(it.lot.amount);
            sums.spent += it.spent;
            sums.expired += it.expired - it.lot.expired;
          }
          lots = closed
            .filter((it) => it.rolled > 0)
            .map((it) =>
              lot({
                ...it.lot,
                id: nextLotId(),
                amount: it.rolled,
                taken: 0,
                expired: 0,
                rollover: true,
              }),
            );
          used = 0;
        }
        for (const it of consumeCreditGrants(lots, String(used), null)) expect(it.left).toBeGreaterThanOrEqual(0);
        const open_sum = lots.reduce((sum, it) => sum + getWorth(it), 0);
        expect(open_sum).toBe(sums.granted - sums.taken - sums.spent - sums.expired);
      }
    }),
    { seed: Number(process.env.FLOE_TEST_SEED ?? 91), numRuns: Number(process.env.FLOE_TEST_RUNS ?? 300) },
  );
});

test("the database says the same: what closed lots came to is what was granted", async () => {
  const { give, take, use, reset } = await open();
  await give(40);
  await give(25, { rollover: true, source: { kind: "grant", id: "b" } });
  await use(50);
  await take(10);
  await reset();
  const lots = await floe.deps.db.select().from(customerMeterLots);
  for (const one of lots.filter(({ closed_at }) => closed_at))
    expect(one.taken + one.spent + one.expired + one.rolled).toBe(one.amount);
});

describe("a recount", () => {
  /** The same, counted from the beginning by now. */
  const settled = async () => {
    const made = await open();
    await floe.runJobs();
    floe.clock.advance(1);
    return made;
  };
  const verify = async (query: object = {}) => {
    const answers = [];
    let after: string | undefined;
    do {
      const part = await seller.client.customerMeters.verify({
        query: { limit: 2, ...query, ...(after ? { after } : {}) },
      });
      answers.push(part);
      after = part.next ?? undefined;
    } while (after);
    return {
      checked: answers.reduce((sum, { checked }) => sum + checked, 0),
      skipped: answers.reduce((sum, { skipped }) => sum + skipped, 0),
      differences: answers.flatMap(({ differences }) => differences),
    };
  };
  test("of all that the tests above have left finds no difference, page by page", async () => {
    const all = await verify();
    expect(all.differences).toEqual([]);
    const rows = await floe.deps.db.$count(customerMeters);
    expect(all.checked).toBe(rows + (await floe.deps.db.$count(customerMeterWindows)) - all.skipped);
    expect(all.checked).toBeGreaterThan(6);
  });
  test("names what is kept otherwise: of a balance, a period that is over, values that were seen, and credit", async () => {
    const { key, give, use, reset } = await settled();
    await give(50);
    await use(30);
    await reset();
    await use(7);
    const { customer_id, meter_id } = key;
    const of = { customer_id, meter_id };
    expect(await verify(of)).toEqual({ checked: 2, skipped: 0, differences: [] });
    const { db } = floe.deps;
    const wrong = { consumed_units: "8", counted: 2, total: "6", credited_units: 1 };
    await db.update(customerMeters).set(wrong).where(eq(customerMeters.customer_id, customer_id));
    await db
      .update(customerMeterWindows)
      .set({ consumed_units: "29.5" })
      .where(eq(customerMeterWindows.customer_id, customer_id));
    await db.update(customerMeterLots).set({ spent: 1 }).where(eq(customerMeterLots.customer_id, customer_id));
    await db.insert(customerMeterValues).values({ ...key, value: key.meter_id });
    const { differences } = await verify(of);
    expect(
      differences.map(({ what, kept, recounted, ended_at }) => [what, kept, recounted, ended_at !== null]),
    ).toEqual([
      ["consumed_units", "8", "7", false],
      ["counted", "2", "1", false],
      ["total", "6", "7", false],
      ["distinct_values", "1", "0", false],
      ["credited_units", "1", "0", false],
      ["lots", "1", "0", false],
      ["consumed_units", "29.5", "30", true],
    ]);
    const other = await floe.seller("other");
    expect((await other.client.customerMeters.verify({ query: of })).checked).toBe(0);
  });
  test("counts what came before its customer was known where it was counted, and nowhere else", async () => {
    const { key, use, reset } = await settled();
    const { name } = await seller.client.meters.get({ params: { id: key.meter_id } });
    const event = (n: number) => ({ name, external_customer_id: `later-${name}`, metadata: { n } });
    await seller.client.events.ingest({ query: {}, body: { events: [event(100)] } });
    await use(1);
    floe.clock.advance(1000);
    await reset();
    await use(2);
    await seller.client.events.ingest({ query: {}, body: { events: [event(10)] } });
    const params = { id: key.customer_id };
    await seller.client.customers.update({ params, body: { external_id: `later-${name}` } });
    floe.clock.advance(1000);
    await floe.runJobs();
    floe.clock.advance(1000);
    await reset();
    const of = { customer_id: key.customer_id };
    expect(await verify(of)).toEqual({ checked: 3, skipped: 0, differences: [] });
    const rows = await floe.deps.db
      .select()
      .from(customerMeterWindows)
      .where(eq(customerMeterWindows.customer_id, of.customer_id));
    expect(rows.map(({ consumed_units }) => consumed_units).sort()).toEqual(["1", "12"]);
  });
  test("passes over what is counted anew", async () => {
    const { key, use } = await settled();
    await use(1);
    await floe.deps.db.update(meters).set({ recount_at: floe.clock.now() }).where(eq(meters.id, key.meter_id));
    expect(await verify({ meter_id: key.meter_id })).toEqual({ checked: 0, skipped: 1, differences: [] });
    await floe.runJobs();
    expect(await verify({ meter_id: key.meter_id })).toEqual({ checked: 1, skipped: 0, differences: [] });
  });
});
