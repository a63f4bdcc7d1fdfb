import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  assertSameSetup,
  findExpiryTime,
  hashFingerprint,
  isOverdue,
  type PaymentMethodRow,
  planSetup,
  type SetupRow,
  serializeMethod,
} from "../../server/billing/payments/rules.ts";
import type { Method, SetupOutcome } from "../../server/platform/processors/processor.ts";
import { outcomes, testMethods, testNumbers } from "../../server/platform/processors/test-cards.ts";

const now = new Date("2027-01-01T00:00:00Z");
const inTwoMinutes = new Date(now.getTime() + 120_000);
const method: Method = {
  processor_id: "pm_1",
  customer_processor_id: "cus_1",
  fingerprint: "fp_1",
  card: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
};
const setup = (fields: Partial<SetupRow> = {}) =>
  ({
    id: "setup-1",
    organization_id: "organization-1",
    status: "pending",
    reconcile_due_at: new Date(1),
    created_at: now,
    ...fields,
  }) as SetupRow;
const outcome = (status: SetupOutcome["status"], fields: Partial<SetupOutcome> = {}): SetupOutcome => ({
  organization_id: "organization-1",
  setup_id: "setup-1",
  processor_id: "seti_1",
  status,
  client_secret: "s",
  method: status === "succeeded" ? method : null,
  decline: status === "failed" ? { reason: "card_declined", message: "No." } : null,
  ...fields,
});

describe("what the processor's word makes of a set-up", () => {
  test.each([
    ["pending", "succeeded", { status: "succeeded", reconcile_due_at: null, decline_reason: null }],
    ["pending", "failed", { status: "failed", decline_reason: "card_declined", decline_message: "No." }],
    ["pending", "requires_action", { intent_status: "requires_action", reconcile_due_at: inTwoMinutes }],
    ["pending", "processing", { intent_status: "processing", reconcile_due_at: inTwoMinutes }],
    ["failed", "succeeded", { status: "succeeded" }],
    ["failed", "failed", { reconcile_due_at: null }],
    ["succeeded", "failed", { reconcile_due_at: null }],
    ["succeeded", "succeeded", { reconcile_due_at: null }],
  ] as const)("one that is %s and told %s", (status, told, patch) => {
    const planned = planSetup(setup({ status }), outcome(told), now);
    expect(planned).toMatchObject(patch);
    if (status !== "pending" && !("status" in patch)) expect(planned).toEqual(patch);
  });
  test.each([
    ["failed", "failed"],
    ["succeeded", "failed"],
    ["succeeded", "processing"],
    ["failed", "requires_action"],
  ] as const)("one that is %s for good is not changed by %s", (status, told) => {
    expect(planSetup(setup({ status, reconcile_due_at: null }), outcome(told), now)).toBeUndefined();
  });
  test("the card that was kept is known by its fingerprint, hashed", () => {
    const planned = planSetup(setup(), outcome("succeeded"), now);
    expect(planned).toMatchObject({ fingerprint: hashFingerprint("organization-1", "fp_1"), processor_id: "seti_1" });
    const nameless = outcome("succeeded", { method: { ...method, fingerprint: null } });
    expect(planSetup(setup(), nameless, now)).not.toHaveProperty("fingerprint");
  });
  test("another set-up is not this one", () => {
    expect(() => assertSameSetup(setup(), outcome("succeeded", { setup_id: "setup-2" }))).toThrow("than setup-1");
    expect(() => assertSameSetup(setup(), outcome("succeeded"))).not.toThrow();
  });
});

test("a fingerprint is the same with one seller, another with the next, and does not show what it was made of", () => {
  const hashed = hashFingerprint("organization-1", "fp_1");
  expect(hashFingerprint("organization-1", "fp_1")).toBe(hashed);
  expect(hashFingerprint("organization-2", "fp_1")).not.toBe(hashed);
  expect(hashFingerprint("organization-1", "fp_2")).not.toBe(hashed);
  expect(hashed).not.toContain("fp_1");
});

test("nobody answers a challenge after an hour; what the bank works on may take longer", () => {
  const at = (minutes: number) => new Date(now.getTime() + minutes * 60_000);
  expect([60, 61].map((minutes) => isOverdue(setup(), "requires_action", at(minutes)))).toEqual([false, true]);
  expect(isOverdue(setup(), "processing", at(600))).toBe(false);
});

test("a kept card is answered in four digits, and says whether it is the one that is charged", () => {
  const row = {
    id: "method-1",
    organization_id: "organization-1",
    customer_id: "customer-1",
    created_at: now,
    modified_at: null,
    deleted_at: null,
    account: "stripe_live",
    processor_id: "pm_1",
    customer_processor_id: "cus_1",
    fingerprint: "hash",
    expiry_due_at: null,
    card: method.card,
  } satisfies PaymentMethodRow;
  expect(serializeMethod(row, { default_payment_method_id: "method-1" })).toEqual({
    id: "method-1",
    created_at: now,
    modified_at: null,
    processor: "stripe",
    customer_id: "customer-1",
    type: "card",
    method_metadata: { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 },
    is_default: true,
  });
  expect(serializeMethod(row, { default_payment_method_id: null }).is_default).toBe(false);
});

test.each([
  [12, 2026, null],
  [1, 2027, "2027-01-01"],
  [2, 2027, "2027-02-01"],
])(
  "a card on which %i/%i stands is told of as its last month begins, unless that is over: %s",
  (exp_month, exp_year, day) => {
    const due = findExpiryTime({ ...method.card, exp_month, exp_year }, now);
    expect(due?.toISOString().slice(0, 10) ?? null).toBe(day);
  },
);

describe("the test cards", () => {
  test("each does something that is decided, and none is a number that somebody could own", () => {
    for (const { scenario } of [...Object.values(testNumbers), ...Object.values(testMethods)])
      expect(Object.hasOwn(outcomes, scenario), scenario).toBe(true);
    // The check digit, as printed cards have it.
    for (const number of Object.keys(testNumbers)) {
      const digits = [...number].reverse().map((digit, place) => Number(digit) * (place % 2 === 1 ? 2 : 1));
      const sum = digits.reduce((total, digit) => total + (digit > 9 ? digit - 9 : digit), 0);
      expect([number, sum % 10]).toEqual([number, 0]);
    }
  });

  test("stand in the manual, each with its number, and no others", () => {
    const page = readFileSync("docs/payments.md", "utf8");
    const told = [...page.matchAll(/^\| `([\d ]+)` +\|/gm)].map(([, number = ""]) => number.replaceAll(" ", ""));
    expect(told.sort()).toEqual(Object.keys(testNumbers).sort());
    const named = [...page.matchAll(/`(pm_card_\w+)`/g)].map(([, name = ""]) => name);
    for (const name of named) expect(Object.hasOwn(testMethods, name), name).toBe(true);
  });
});
