import { describe, expect, test } from "vitest";
import {
  type Container,
  checkAssign,
  checkRoom,
  countSeatsLeft,
  planRevoked,
} from "../../server/entitlements/seats/rules.ts";
import type { SeatAssign } from "../../shared/api/seats.ts";

test.each<[string, number | null, number, number]>([
  ["SEAT-06: none taken", 3, 0, 3],
  ["SEAT-06: the last one left", 3, 2, 1],
  ["SEAT-06: none left", 3, 3, 0],
  ["SEAT-06: more given than there are is none, not less", 3, 4, 0],
  ["SEAT-06: what has no seats", null, 0, 0],
])("%s", (_, seats, taken, left) => expect(countSeatsLeft({ seats }, taken)).toBe(left));

const container: Container = {
  organization_id: "o",
  subscription_id: "s",
  order_id: null,
  customer_id: "c",
  product_id: "p",
  seats: 2,
  is_live: true,
};
const kindOf = (act: () => void): string | undefined => {
  try {
    act();
  } catch (error) {
    return `${(error as { error: string }).error}: ${(error as Error).message}`;
  }
  return undefined;
};

describe("room for one more", () => {
  test.each<[string, object, number, RegExp | undefined]>([
    ["the first", {}, 0, undefined],
    ["the last", {}, 1, undefined],
    ["one more than the last", {}, 2, /^SeatNotAvailable/],
    ["of what is for one person", { seats: null }, 0, /^BadRequest.*no seats/],
    ["of what is not paid, or has ended", { is_live: false }, 0, /^BadRequest.*not paid/],
    ["of what has ended and is full: that it has ended", { is_live: false }, 2, /^BadRequest.*not paid/],
    ["of no seats", { seats: 0 }, 0, /^SeatNotAvailable/],
  ])("SEAT-06: %s", (_, over, taken, refusal) => {
    const kind = kindOf(() => checkRoom({ ...container, ...over }, taken));
    if (refusal) expect(kind).toMatch(refusal);
    else expect(kind).toBeUndefined();
  });
});

describe("SEAT-07: one source and one person", () => {
  const sources = ["subscription_id", "order_id", "checkout_id"];
  const people = ["email", "customer_id", "external_customer_id", "member_id", "external_member_id"];
  const check = (...names: string[]) =>
    kindOf(() => checkAssign(Object.fromEntries(names.map((name) => [name, "x"])) as unknown as SeatAssign));
  const pairs = (names: string[]) =>
    names.flatMap((one, index) => names.slice(index + 1).map((other) => [one, other] as const));

  test.each(sources.flatMap((source) => people.map((person) => [source, person] as const)))(
    "%s and %s are fine",
    (source, person) => expect(check(source, person)).toBeUndefined(),
  );
  test.each(pairs(sources))("not %s and %s", (one, other) =>
    expect(check(one, other, "email")).toMatch(/^BadRequest: Name what/),
  );
  test.each(pairs(people))("not %s and %s", (one, other) =>
    expect(check("order_id", one, other)).toMatch(/^BadRequest: Name whom/),
  );
  test("not without a source, nor without a person, nor with an empty one", () => {
    expect(check("email")).toMatch(/^BadRequest: Name what/);
    expect(check("order_id")).toMatch(/^BadRequest: Name whom/);
    expect(kindOf(() => checkAssign({ order_id: "x", external_customer_id: "" } as SeatAssign))).toMatch(/^BadRequest/);
    expect(
      kindOf(() => checkAssign({ order_id: "x", subscription_id: null, email: "x" } as SeatAssign)),
    ).toBeUndefined();
  });
});

test("SEAT-12: of a seat that is taken back nothing is left of its person and its invitation", () => {
  const now = new Date(9);
  const { status, revoked_at, modified_at, ...rest } = planRevoked(now);
  expect({ status, revoked_at, modified_at }).toEqual({ status: "revoked", revoked_at: now, modified_at: now });
  const emptied = ["customer_id", "member_id", "email", "seat_metadata", "token_hash", "token"];
  const times = ["invitation_token_expires_at", "mail_due_at", "claimed_at"];
  expect(rest).toEqual(Object.fromEntries([...emptied, ...times].map((name) => [name, null])));
});
