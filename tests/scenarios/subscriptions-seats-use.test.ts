import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { addCredit } from "../../server/usage/meters/credits.ts";
import { customerMeterValues } from "../../server/usage/meters/tables.ts";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";

/** What those use who hold a seat of a subscription as customers of their own: its owner pays (SEAT-17, MTR-28). */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

type Shop = Awaited<ReturnType<typeof openShop>>;
const shops: Shop[] = [];
// Whatever a test has done, what is kept is what the events and credits come to.
afterEach(async () => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  for (const { seller } of shops.splice(0))
    for (const query of [{ limit: 1000 }, { limit: 1000, after: "p" }])
      expect((await seller.client.customerMeters.verify({ query })).differences).toEqual([]);
});

const seats = {
  amount_type: "seat_based",
  seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 100 }] },
};
let opened = 0;

/** A team with three seats, whose use of a meter is paid for at a cent for each unit, and people. */
async function open({
  func = "sum",
  cap_amount = null as number | null,
  more = {},
  benefit = {} as object | null,
} = {}) {
  opened += 1;
  const shop = await openShop(floe, "2027-01-01");
  shops.push(shop);
  const name = `seat-use-${opened}`;
  const { client, organization_id } = shop.seller;
  const meter = (await shop.accepted("POST", "/v1/meters/", {
    name: "Tokens",
    filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
    aggregation: func === "count" ? { func } : { func, property: "n" },
  })) as { id: string };
  const metered = (unit_amount: string) => ({
    amount_type: "metered_unit",
    meter_id: meter.id,
    unit_amount,
    cap_amount,
  });
  const product_id = await shop.sells("Team", [seats, metered("1")], more);
  if (benefit && Object.keys(benefit).length > 0) {
    const properties = { meter_id: meter.id, ...benefit };
    const made = await shop.accepted("POST", "/v1/benefits/", {
      type: "meter_credit",
      description: "Free",
      properties,
    });
    await shop.accepted("POST", `/v1/products/${product_id}/benefits`, { benefits: [made.id] });
  }
  const id = await shop.subscribes(product_id, { checkout: { seats: 3 } });
  const owner = (await shop.get(id)).customer_id;
  let people = 0;
  const person = async () => {
    people += 1;
    const body = { email: `holder-${opened}-${people}@example.com`, external_id: `holder-${opened}-${people}` };
    return (await client.customers.create({ body })).id;
  };
  const seat = async (customer_id: string, subscription_id = id) =>
    String(
      (await shop.accepted("POST", "/v1/customer-seats", { subscription_id, customer_id, immediate_claim: true })).id,
    );
  const revoke = (seat_id: string) => shop.accepted("DELETE", `/v1/customer-seats/${seat_id}`);
  const use = (customer_id: string, n: unknown, timestamp?: string) =>
    shop.accepted("POST", "/v1/events/ingest", {
      events: [{ name, customer_id, metadata: { n }, ...(timestamp ? { timestamp } : {}) }],
    });
  /** What one has used and was credited with, by their own meter. */
  const own = async (customer_id: string) => {
    const { items } = await client.customerMeters.list({ query: { customer_id: [customer_id] } });
    return items.map((one) => [one.consumed_units, one.credited_units]);
  };
  const meters = async (of = id) =>
    (await shop.get(of)).meters.map((one) => [one.consumed_units, one.credited_units, one.amount]);
  const credit = (customer_id: string, units: number, rollover = false) =>
    transact(floe.deps, (tx) =>
      addCredit(tx, floe.deps, {
        ...{ organization_id, customer_id, meter_id: meter.id, units, rollover },
        source: { kind: "test", id: "a" },
      }),
    );
  const tokens = async (of = id) => (await shop.lines(of)).filter(([label]) => String(label).startsWith("Tokens"));
  return { shop, client, id, owner, product_id, person, seat, revoke, use, own, meters, credit, tokens, metered };
}

test("SEAT-17, MTR-28: what a holder uses is on the owner's bill, in one line with what the owner uses, and on their own meter", async () => {
  const { shop, client, id, owner, person, seat, use, own, meters, tokens } = await open();
  const [ada, bob] = [await person(), await person()];
  await use(ada, 1000);
  await seat(ada);
  await seat(bob);
  expect(await meters()).toEqual([[0, 0, 0]]);
  await use(ada, 30);
  await use(bob, 12);
  await use(owner, 5);
  expect([await own(ada), await own(bob), await own(owner)]).toEqual([[[30, 0]], [[12, 0]], [[5, 0]]]);
  expect(await meters()).toEqual([[47, 0, 47]]);
  const state = await client.customers.getState({ params: { id: owner } });
  expect(state.active_subscriptions[0]?.meters).toMatchObject([{ consumed_units: 47, credited_units: 0, amount: 47 }]);
  const hers = await client.customers.getState({ params: { id: ada } });
  expect([hers.active_subscriptions, hers.active_meters]).toMatchObject([[], [{ consumed_units: 30, balance: -30 }]]);
  // Who holds a seat sees what it is of, and nothing of what the others use.
  const { token } = await client.customerSessions.create({ body: { customer_id: ada } });
  const { items } = await floe.client(token).portalSeats.listClaimed({ query: {} });
  expect(items).toMatchObject([{ id, meters: [] }]);
  await shop.on("2027-02-01");
  expect(await tokens()).toEqual([["Tokens — (47 consumed units) × $0.01", 47]]);
  expect([await own(ada), await meters()]).toEqual([[[0, 0]], [[0, 0, 0]]]);
  // Nobody has used anything, and the next one begins with what comes.
  await use(bob, 7);
  await shop.on("2027-03-01");
  expect(await tokens()).toEqual([["Tokens — (7 consumed units) × $0.01", 7]]);
  expect((await client.orders.list({ query: { customer_id: [ada] } as never })).items).toEqual([]);
  expect(await shop.get(id)).toMatchObject({ status: "active" });
});

test("SEAT-12, SEAT-17: a seat that is taken back in the middle leaves its use on the bill of the period, and no more; the cap is one", async () => {
  const { shop, owner, person, seat, revoke, use, own, meters, tokens } = await open({ cap_amount: 40 });
  const [ada, bob] = [await person(), await person()];
  const hers = await seat(ada);
  await use(ada, 30);
  await use(owner, 5);
  await shop.on("2027-01-10");
  await revoke(hers);
  expect([await own(ada), await meters()]).toEqual([[[0, 0]], [[35, 0, 35]]]);
  // Not theirs any more, by whatever name it comes, and of whatever time.
  await use(ada, 500);
  await use(ada, 500, "2027-01-05T00:00:00Z");
  await seat(bob);
  await shop.on("2027-01-20");
  await use(bob, 8, "2027-01-15T00:00:00Z");
  expect(await meters()).toEqual([[43, 0, 40]]);
  // Taken again: what came in between is nobody's.
  await seat(ada);
  await use(ada, 1);
  expect(await meters()).toEqual([[44, 0, 40]]);
  await shop.on("2027-02-01");
  expect(await tokens()).toEqual([["Tokens — (44 consumed units) × $0.01 — Capped at $0.40", 40]]);
  await use(ada, 2, "2027-01-31T00:00:00Z");
  await shop.on("2027-03-01");
  // January had reached its cap: what comes late costs nothing more.
  expect(await tokens()).toEqual([]);
});

test("SEAT-17, BEN-51: everybody's credit comes with their seat; what ends with the period covers the others, what goes on does not", async () => {
  const { shop, person, seat, revoke, use, own, meters, credit, tokens } = await open({
    benefit: { units: 100, rollover: false },
  });
  const [ada, bob, eve] = [await person(), await person(), await person()];
  // Credit that one has already is not lost by taking a seat.
  await credit(eve, 50);
  const hers = await seat(ada);
  await seat(bob);
  await seat(eve);
  expect([await own(ada), await own(eve)]).toEqual([[[0, 100]], [[0, 150]]]);
  await use(ada, 130);
  await use(bob, 20);
  expect(await meters()).toEqual([[150, 350, 0]]);
  await use(eve, 300);
  expect(await meters()).toEqual([[450, 350, 100]]);
  // What was spent of credit that is taken back stays spent.
  await revoke(hers);
  expect([await own(ada), await meters()]).toEqual([[[0, 0]], [[450, 350, 100]]]);
  await shop.on("2027-02-01");
  expect(await tokens()).toEqual([["Tokens — (100 consumed units) × $0.01", 100]]);
  expect([await own(ada), await own(bob), await own(eve)]).toEqual([[[0, 0]], [[0, 100]], [[0, 100]]]);
  // Of what rolls over, each spends their own alone.
  await credit(bob, 500, true);
  await use(eve, 300);
  await use(bob, 110);
  expect(await meters()).toEqual([[410, 210, 200]]);
  await shop.on("2027-03-01");
  expect([await tokens(), await own(bob)]).toEqual([[["Tokens — (200 consumed units) × $0.01", 200]], [[0, 590]]]);
});

test("BEN-56: a seat that moves from one to the next has its credit once for each period", async () => {
  const { shop, person, seat, revoke, use, own, tokens } = await open({ benefit: { units: 100, rollover: false } });
  const [ada, bob, eve] = [await person(), await person(), await person()];
  // Two of the three seats are kept.
  await seat(await person());
  await seat(await person());
  const hers = await seat(ada);
  await use(ada, 70);
  await shop.on("2027-01-02");
  await revoke(hers);
  const his = await seat(bob);
  expect(await own(bob)).toEqual([[0, 30]]);
  await use(bob, 30);
  await shop.on("2027-01-03");
  await revoke(his);
  await seat(eve);
  expect((await own(eve))[0]?.[1] ?? 0).toBe(0);
  await use(eve, 250);
  await shop.on("2027-02-01");
  // Three hundred are included, and 350 were used.
  expect(await tokens()).toEqual([["Tokens — (50 consumed units) × $0.01", 50]]);
  expect(await own(eve)).toEqual([[0, 100]]);
});

test("SUB-66: a customer's fewer seats wait for the next period where seats have included credit; more are had at once", async () => {
  const { shop, client, id, owner, person, seat, use } = await open({ benefit: { units: 100, rollover: false } });
  const holder = await person();
  const held = await seat(holder);
  await floe.runJobs();
  await use(holder, 100);
  await shop.accepted("DELETE", `/v1/customer-seats/${held}`);
  await floe.runJobs();
  const { token } = await client.customerSessions.create({ body: { customer_id: owner } });
  const asks = async (seats: number) => {
    const body = { seats };
    return (await floe.request("PATCH", `/v1/customer-portal/subscriptions/${id}`, { token, body })).json;
  };
  expect(await asks(2)).toMatchObject({ seats: 3, pending_update: { seats: 2 } });
  expect(await asks(4)).toMatchObject({ seats: 4, pending_update: null });
  expect(await asks(3)).toMatchObject({ seats: 4, pending_update: { seats: 3 } });
  await shop.changes(id, { seats: 3 });
  expect(await shop.get(id)).toMatchObject({ seats: 3, pending_update: null });
});

test("SEAT-17: what one has subscribed to comes before what one holds a seat of; when it ends, the seat pays again", async () => {
  const { shop, id, person, seat, use, own, meters, metered, tokens } = await open();
  const solo = await shop.sells("Solo", [{ amount_type: "fixed", price_amount: 500 }, metered("3")]);
  const mine = await shop.subscribes(solo);
  const bob = (await shop.get(mine)).customer_id;
  await use(bob, 4);
  await seat(bob);
  await use(bob, 6);
  expect([await meters(mine), await meters()]).toEqual([[[10, 0, 30]], [[0, 0, 0]]]);
  const ada = await person();
  await seat(ada);
  await use(ada, 7);
  // Who subscribes while they hold a seat pays from then on.
  const email = String((await shop.seller.client.customers.get({ params: { id: ada } })).email);
  const hers = await shop.subscribes(solo, { buyer: { customer_email: email } });
  expect((await shop.get(hers)).customer_id).toBe(ada);
  await use(ada, 100);
  expect([await meters(hers), await meters()]).toEqual([[[100, 0, 300]], [[7, 0, 7]]]);
  await shop.accepted("DELETE", `/v1/subscriptions/${mine}`);
  expect(await tokens(mine)).toEqual([["Tokens — (10 consumed units) × $0.03", 30]]);
  await shop.told();
  await floe.runJobs();
  expect(await shop.told()).toContain("subscription.updated");
  await use(bob, 9);
  expect([await own(bob), await meters()]).toEqual([[[9, 0]], [[16, 0, 16]]]);
  await shop.on("2027-02-01");
  expect([await tokens(), await tokens(hers)]).toEqual([
    [["Tokens — (16 consumed units) × $0.01", 16]],
    [["Tokens — (100 consumed units) × $0.03", 300]],
  ]);
  expect((await shop.get(id)).seats).toBe(3);
});

test("MTR-28, MTR-31: what nobody pays for any more is passed on to what else its customer has subscribed to, and that is told", async () => {
  const { shop, client, meters, use, metered, tokens } = await open();
  const [one, other] = [
    await shop.sells("One", [{ amount_type: "fixed", price_amount: 500 }, metered("3")]),
    await shop.sells("Other", [{ amount_type: "fixed", price_amount: 500 }, metered("2")]),
  ];
  const first = await shop.subscribes(one);
  const bob = (await shop.get(first)).customer_id;
  const { email } = await client.customers.get({ params: { id: bob } });
  const second = await shop.subscribes(other, { buyer: { customer_email: String(email) } });
  expect((await shop.get(second)).customer_id).toBe(bob);
  await use(bob, 4);
  expect([await meters(first), await meters(second)]).toEqual([[[4, 0, 12]], []]);
  await shop.accepted("DELETE", `/v1/subscriptions/${first}`);
  expect(await tokens(first)).toEqual([["Tokens — (4 consumed units) × $0.03", 12]]);
  await shop.told();
  await floe.runJobs();
  // Nothing was used since: that this one pays now is all that there is to tell.
  expect(await shop.told()).toEqual(["subscription.updated"]);
  expect(await meters(second)).toEqual([[0, 0, 0]]);
  await use(bob, 5);
  expect(await meters(second)).toEqual([[5, 0, 10]]);
  await shop.on("2027-02-01");
  expect(await tokens(second)).toEqual([["Tokens — (5 consumed units) × $0.02", 10]]);
});

test.each([
  ["max", [5, 9, 7], 9],
  ["min", [5, 3, 7], 3],
  ["avg", [5, 10, 12], 9],
  ["count", [5, 5, 5], 3],
  ["unique", ["a", "b", "a"], 2],
])(
  "SEAT-17, MTR-19: the %s of what all use together is one number, also after the period",
  async (func, [x, y, z], expected) => {
    const { shop, client, owner, person, seat, revoke, use, meters, tokens } = await open({ func });
    const { seller } = shop;
    const [ada, bob] = [await person(), await person()];
    const hers = await seat(ada);
    await seat(bob);
    await use(owner, x);
    await use(ada, y);
    await use(bob, z);
    expect(await meters()).toEqual([[expected, 0, expected]]);
    await revoke(hers);
    await use(ada, "c");
    const { active_subscriptions } = await client.customers.getState({ params: { id: owner } });
    expect([await meters(), active_subscriptions[0]?.meters[0]?.consumed_units]).toEqual([
      [[expected, 0, expected]],
      expected,
    ]);
    await shop.on("2027-02-01");
    expect(await tokens()).toEqual([[`Tokens — (${expected} consumed units) × $0.01`, expected]]);
    expect(
      await floe.deps.db.$count(customerMeterValues, eq(customerMeterValues.organization_id, seller.organization_id)),
      // Those of the period stay, as what comes late may show them again.
    ).toBe(func === "unique" ? 4 : 0);
    await use(bob, x);
    const anew = func === "count" || func === "unique" ? 1 : x;
    expect(await meters()).toEqual([[anew, 0, anew]]);
  },
);

test("SEAT-17, SUB-22: what was used before another price is billed at its own, also of who has left", async () => {
  const { shop, id, owner, person, seat, revoke, use, meters, metered, tokens } = await open();
  const ada = await person();
  const hers = await seat(ada);
  await use(ada, 30);
  await use(owner, 5);
  await revoke(hers);
  expect(await meters()).toEqual([[35, 0, 35]]);
  const product_id = await shop.sells("Team", [seats, metered("2")]);
  expect(await shop.changes(id, { product_id, proration_behavior: "prorate" })).toBe("done");
  expect((await meters()).map(([, , amount]) => amount)).toEqual([0]);
  await seat(ada);
  await use(ada, 4);
  expect((await meters()).map(([, , amount]) => amount)).toEqual([8]);
  await shop.on("2027-02-01");
  expect((await tokens()).map(([, amount]) => amount)).toEqual([35, 8]);
});

test("SEAT-14, MTR-29: nothing of a trial is billed, nothing of a pause, and what is open when it ends is billed last", async () => {
  const trial = { trial_interval: "day", trial_interval_count: 10 };
  const { shop, id, person, seat, use, own, meters, tokens } = await open({ more: trial });
  const [ada, bob] = [await person(), await person()];
  await seat(ada);
  await use(ada, 100);
  expect(await meters()).toEqual([[100, 0, 0]]);
  await shop.on("2027-01-11");
  expect((await shop.get(id)).status).toBe("active");
  await use(ada, 20);
  await use(ada, 50, "2027-01-05T00:00:00Z");
  expect(await meters()).toEqual([[20, 0, 20]]);
  await shop.on("2027-02-11");
  expect(await tokens()).toEqual([["Tokens — (20 consumed units) × $0.01", 20]]);
  await seat(bob);
  await use(bob, 11);
  expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
  await shop.on("2027-03-11");
  expect((await shop.get(id)).status).toBe("paused");
  expect(await tokens()).toEqual([["Tokens — (11 consumed units) × $0.01", 11]]);
  await use(bob, 1000);
  // Orders of one moment have no order.
  await shop.on("2027-03-11T01:00:00Z");
  expect(await shop.changes(id, { resume: true })).toBe("done");
  expect(await tokens()).toEqual([]);
  await use(bob, 13);
  await shop.on("2027-03-11T02:00:00Z");
  await shop.accepted("DELETE", `/v1/subscriptions/${id}`);
  expect(await tokens()).toEqual([["Tokens — (13 consumed units) × $0.01", 13]]);
  await use(bob, 17);
  expect(await own(bob)).toEqual([[17, 0]]);
  await shop.on("2027-05-01");
  expect((await shop.orders(id)).length).toBe(6);
});
