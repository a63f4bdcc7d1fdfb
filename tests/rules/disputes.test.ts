import { describe, expect, test } from "vitest";
import {
  decideAccess,
  evaluateDisputes,
  isAcceptable,
  isTooSmall,
  moveDispute,
  writeDisputeMail,
} from "../../server/billing/disputes/rules.ts";
import type { DisputePolicy } from "../../server/identity/organizations/rules.ts";
import type { DisputeStatus } from "../../shared/api/disputes.ts";

const statuses: DisputeStatus[] = ["early_warning", "needs_response", "under_review", "prevented", "won", "lost"];

describe("what an order shows of its disputes", () => {
  const order: DisputeStatus[] = ["lost", "needs_response", "under_review", "early_warning", "prevented", "won"];
  const pairs = order.flatMap((more, index) => order.slice(index).map((less) => [more, less] as const));
  test.each(pairs)("%s counts before %s, whichever came first", (more, less) => {
    expect(evaluateDisputes([more, less])).toBe(more);
    expect(evaluateDisputes([less, more])).toBe(more);
  });
  test("none shows nothing", () => expect(evaluateDisputes([])).toBeNull());
});

describe("the access to what was bought", () => {
  test.each<[DisputePolicy, (DisputeStatus | null)[]]>([
    ["keep", []],
    ["until_lost", ["lost"]],
    ["withhold", ["needs_response", "under_review", "lost"]],
  ])("by the policy %s is withheld while it is one of %j", (policy, withheld) => {
    for (const status of [null, ...statuses])
      expect(decideAccess(policy, status)).toBe(withheld.includes(status) ? "withheld" : "granted");
  });
});

test("what has ended does not begin again, and of two ends the later word counts", () => {
  expect(moveDispute(null, "won")).toBe("won");
  expect(moveDispute("under_review", "needs_response")).toBe("under_review");
  expect(moveDispute("lost", "under_review")).toBe("lost");
  expect(moveDispute("lost", "won")).toBe("won");
});

test.each(statuses)("a dispute that is %s can be accepted only while it needs an answer", (status) =>
  expect(isAcceptable({ status })).toBe(status === "needs_response"),
);

test.each([
  [1499, "jpy", 1500, true],
  [1500, "jpy", 1500, false],
  [1501, "jpy", 1500, false],
  [1499, "JPY", 1500, true],
  [1499, "usd", 1500, false],
  [0, "jpy", null, false],
])("one of %d %s is accepted by itself below %j yen: %j", (amount, currency, auto_accept_below_amount, is) => {
  const seller = { dispute_settings: { auto_accept_below_amount }, default_presentment_currency: "jpy" };
  expect(isTooSmall(seller as never, { amount, currency })).toBe(is);
});

test("a mail names all that is disputed, tax included, and nothing is said of what needs nothing", () => {
  const row = (status: DisputeStatus) => ({ id: "d", status, amount: 1000, tax_amount: 100, currency: "jpy" }) as never;
  expect(writeDisputeMail("a@b.c", "Shop", row("lost"))?.paragraphs.join(" ")).toContain("¥1,100");
  expect(writeDisputeMail("a@b.c", "Shop", row("under_review"))).toBeNull();
  expect(writeDisputeMail("a@b.c", "Shop", row("prevented"))).toBeNull();
});
