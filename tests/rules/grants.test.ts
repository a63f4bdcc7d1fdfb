import { describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import { limitCreditedUnits } from "../../server/entitlements/grants/credit-rules.ts";
import {
  findGraceEnd,
  type Grant,
  type GrantContext,
  getSource,
  hashGrantTerms,
  isGiving,
  planGrants,
} from "../../server/entitlements/grants/rules.ts";

const dayMs = 24 * 60 * 60 * 1000;
const since = new Date("2026-03-28T12:00:00Z");
const later = (ms: number) => new Date(since.getTime() + ms);

const holder = (id: string, member: string | null = null, deleted_at: Date | null = null) =>
  ({ customer: { id, deleted_at }, member: member && { id: member } }) as unknown as GrantContext["holders"][number];
const benefit = (id: string) => ({ id }) as GrantContext["benefits"][number];
const [a, b] = [benefit("a"), benefit("b")];
const context = (over: object): GrantContext =>
  ({
    source: { organization_id: "o", subscription_id: null, order_id: "1" },
    subscription: null,
    order: { status: "paid" },
    is_withheld: false,
    unpaid_period: null,
    grace_days: 0,
    holders: [holder("c")],
    benefits: [a],
    grants: [],
    ...over,
  }) as GrantContext;
const subscribed = (status: string, more: object = {}) =>
  context({ order: null, subscription: { status, past_due_at: null }, ...more });
const pastDue = (grace_days: number, more: object = {}) =>
  context({ order: null, subscription: { status: "past_due", past_due_at: since }, grace_days, ...more });

describe("whether a source gives", () => {
  test.each<[string, GrantContext, number, boolean]>([
    ["an order that is paid", context({}), 0, true],
    ["partly given back", context({ order: { status: "partially_refunded" } }), 0, true],
    ["given back without what it gave", context({ order: { status: "refunded" } }), 0, true],
    ["pending", context({ order: { status: "pending" } }), 0, false],
    ["void", context({ order: { status: "void" } }), 0, false],
    ["paid, and withheld", context({ is_withheld: true }), 0, false],
    ["active", subscribed("active"), 0, true],
    ["active, and withheld", subscribed("active", { is_withheld: true }), 0, false],
    ["in its trial", subscribed("trialing"), 0, true],
    ["canceled", subscribed("canceled"), 0, false],
    ["paused", subscribed("paused"), 0, false],
    ["unpaid", subscribed("unpaid"), 0, false],
    ["neither order nor subscription", context({ order: null }), 0, false],
    ["SUB-49: past due without days of grace, at once", pastDue(0), 0, false],
    ["SUB-49: one millisecond before the last day of grace is over", pastDue(3), 3 * dayMs - 1, true],
    ["SUB-49: as it is over", pastDue(3), 3 * dayMs, false],
    ["SUB-49: in its grace, and withheld", pastDue(3, { is_withheld: true }), 0, false],
    ["SUB-49: past due since nobody knows when", subscribed("past_due", { grace_days: 3 }), 0, false],
  ])("%s", (_, ground, ms, gives) => expect(isGiving(ground, later(ms))).toBe(gives));

  test("SUB-49: grace is days of 24 hours, also over a change of clocks, and matters to what is past due alone", () => {
    expect(findGraceEnd(pastDue(2))).toEqual(later(2 * dayMs));
    expect(findGraceEnd(context({ order: null, subscription: { status: "active", past_due_at: since } }))).toBeNull();
    expect(findGraceEnd(context({}))).toBeNull();
  });

  test("an order of a subscription has that give", () => {
    const order = { organization_id: "o", id: "1", subscription_id: null } as OrderRow;
    expect(getSource(order)).toEqual({ organization_id: "o", subscription_id: null, order_id: "1" });
    expect(getSource({ ...order, subscription_id: "s" })).toEqual({
      organization_id: "o",
      subscription_id: "s",
      order_id: null,
    });
  });
});

describe("what is to be done", () => {
  type State = "granted" | "revoked" | "waiting";
  const grant = (of: string, to: string, state: State, terms = "new", member: string | null = null): Grant =>
    ({
      benefit: benefit(of),
      row: {
        benefit_id: of,
        customer_id: to,
        member_id: member,
        terms,
        granted_at: state === "granted" ? since : null,
        revoked_at: state === "revoked" ? since : null,
      },
    }) as Grant;
  /** Each as `benefit>customer/member`; a grant that is made again with its row ends in `!`. */
  const plan = (ground: GrantContext, cycles = false) => {
    const { revoke, update, cycle, grant: given } = planGrants(ground, () => "new", since, cycles);
    const nameOf = ({ row }: Grant) =>
      `${row.benefit_id}>${row.customer_id}${row.member_id ? `/${row.member_id}` : ""}`;
    return [
      ...revoke.map((one) => `revoke ${nameOf(one)}`),
      ...update.map((one) => `update ${nameOf(one)}`),
      ...cycle.map((one) => `cycle ${nameOf(one)}`),
      ...given.map(
        ({ benefit: { id }, holder: { customer, member }, row }) =>
          `grant ${id}>${customer.id}${member ? `/${member.id}` : ""}${row ? "!" : ""}`,
      ),
    ];
  };

  test.each<[string, GrantContext, boolean, string[]]>([
    ["BEN-11: nothing given yet", context({ benefits: [a, b] }), false, ["grant a>c", "grant b>c"]],
    ["BEN-11: no benefits", context({ benefits: [] }), false, []],
    ["BEN-11: nobody to give to", context({ holders: [] }), false, []],
    ["BEN-11: second time round nothing", context({ grants: [grant("a", "c", "granted")] }), false, []],
    ["BEN-11: what waits or failed is not tried again", context({ grants: [grant("a", "c", "waiting")] }), false, []],
    [
      "BEN-11: revoked is given again by its row",
      context({ grants: [grant("a", "c", "revoked")] }),
      false,
      ["grant a>c!"],
    ],
    [
      "BEN-11: another benefit takes its place, and the old one goes first",
      context({ benefits: [b], grants: [grant("a", "c", "granted")] }),
      false,
      ["revoke a>c", "grant b>c"],
    ],
    [
      "BEN-11: what waits is revoked as well where it is not given any more",
      context({ benefits: [], grants: [grant("a", "c", "waiting")] }),
      false,
      ["revoke a>c"],
    ],
    [
      "BEN-11: revoked is not revoked twice",
      context({ benefits: [], grants: [grant("a", "c", "revoked")] }),
      false,
      [],
    ],
    ["BEN-12: other terms", context({ grants: [grant("a", "c", "granted", "old")] }), false, ["update a>c"]],
    ["BEN-12: other terms of what waits", context({ grants: [grant("a", "c", "waiting", "old")] }), false, []],
    [
      "BEN-12: other terms of what was revoked: it is given by those of now",
      context({ grants: [grant("a", "c", "revoked", "old")] }),
      false,
      ["grant a>c!"],
    ],
    ["BEN-13: a renewal cycles what is live", context({ grants: [grant("a", "c", "granted")] }), true, ["cycle a>c"]],
    ["BEN-13: not what waits", context({ grants: [grant("a", "c", "waiting")] }), true, []],
    [
      "BEN-13: nor what goes",
      context({ benefits: [b], grants: [grant("a", "c", "granted"), grant("b", "c", "granted")] }),
      true,
      ["revoke a>c", "cycle b>c"],
    ],
    ["BEN-15: nobody who is deleted is given anything", context({ holders: [holder("c", null, since)] }), false, []],
    [
      "BEN-15: from whom is deleted it is taken",
      context({ holders: [holder("c", null, since)], grants: [grant("a", "c", "granted")] }),
      false,
      ["revoke a>c"],
    ],
    [
      "withheld: everything goes",
      context({ is_withheld: true, grants: [grant("a", "c", "granted")] }),
      true,
      ["revoke a>c"],
    ],
    [
      "each member of one customer by themselves",
      context({ holders: [holder("c", "m"), holder("c", "n")], grants: [grant("a", "c", "granted", "new", "m")] }),
      false,
      ["grant a>c/n"],
    ],
    [
      "the customer's own is not the member's",
      context({ holders: [holder("c", "m")], grants: [grant("a", "c", "granted")] }),
      false,
      ["revoke a>c", "grant a>c/m"],
    ],
  ])("%s", (_, ground, cycles, steps) => expect(plan(ground, cycles)).toEqual(steps));

  test("terms that nothing depends on are none; others are told apart", () => {
    expect(hashGrantTerms(null)).toBeNull();
    expect(hashGrantTerms({ files: ["1"] })).toBe(hashGrantTerms({ files: ["1"] }));
    expect(hashGrantTerms({ files: ["1"] })).not.toBe(hashGrantTerms({ files: ["1", "2"] }));
  });
});

describe("BEN-56: how many units are credited", () => {
  const day = (n: number) => later(n * dayMs);
  const period = { starts_at: day(0), ends_at: day(30) };
  const had = { last_credited_at: day(0).toISOString(), last_credited_until: day(30).toISOString() };
  test.each<[string, object, Date | null, number, typeof period | null, number]>([
    ["for the first time", {}, null, 0, period, 10],
    ["again, after a refusal", {}, day(1), 1, period, 10],
    ["again in its period", { ...had, last_credited_units: 10, last_revoked_units: 4 }, day(1), 1, period, 4],
    ["again, all used", { ...had, last_credited_units: 10, last_revoked_units: 0 }, day(1), 1, period, 0],
    ["again, fewer by now", { ...had, last_credited_units: 20, last_revoked_units: 15 }, day(1), 1, period, 10],
    ["of an order", { ...had, last_credited_units: 10, last_revoked_units: 4 }, day(1), 900, null, 4],
    [
      "in the next period",
      { ...had, last_credited_units: 10, last_revoked_units: 0 },
      day(1),
      30,
      { starts_at: day(30), ends_at: day(60) },
      10,
    ],
    [
      "in a period that began early",
      { ...had, last_credited_units: 10, last_revoked_units: 0 },
      day(1),
      15,
      { starts_at: day(15), ends_at: day(45) },
      5,
    ],
    [
      "in one that began early, with less used than its share",
      { ...had, last_credited_units: 10, last_revoked_units: 6 },
      day(1),
      15,
      { starts_at: day(15), ends_at: day(45) },
      10,
    ],
    [
      "in the third period that began early, of what was used in the first",
      { ...had, last_credited_units: 6, last_withheld_units: 4, last_revoked_units: 6 },
      day(1),
      3,
      { starts_at: day(3), ends_at: day(33) },
      7,
    ],
    ["as revoked by an earlier version", { ...had, last_credited_units: 10 }, day(1), 1, period, 10],
  ])("%s", (_, properties, revoked_at, now, current, units) =>
    expect(limitCreditedUnits(10, { properties, revoked_at }, { period: current, pool: null }, day(now))).toBe(units),
  );

  test.each([
    ["the first seat", { seats: 2, granted: 0, used: 0 }, 10],
    ["the last seat", { seats: 2, granted: 1, used: 0 }, 10],
    ["a seat of which half was used", { seats: 1, granted: 0, used: 5 }, 5],
    ["a seat of which all was used", { seats: 2, granted: 1, used: 10 }, 0],
    ["one seat of two, the other was used", { seats: 2, granted: 0, used: 10 }, 10],
    ["more than there are", { seats: 1, granted: 2, used: 0 }, 0],
  ])("to %s", (_, pool, units) =>
    expect(limitCreditedUnits(10, { properties: {}, revoked_at: null }, { period, pool }, day(1))).toBe(units),
  );
});
