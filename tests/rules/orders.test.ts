import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assertItems, checkAddress, computeTotals, isPaid, moves, type OrderRow } from "../../server/orders/rules.ts";
import type { Address } from "../../shared/addresses.ts";
import { orderStatuses } from "../../shared/api/orders.ts";

const amount = fc.integer({ min: 0, max: 99_999_999 });

describe("amounts (ORD-01)", () => {
  test.each([
    [
      { subtotal_amount: 1900, discount_amount: 0, tax_amount: 0, applied_balance_amount: 0 },
      { net_amount: 1900, total_amount: 1900, due_amount: 1900 },
    ],
    [
      { subtotal_amount: 1900, discount_amount: 400, tax_amount: 300, applied_balance_amount: 0 },
      { net_amount: 1500, total_amount: 1800, due_amount: 1800 },
    ],
    [
      { subtotal_amount: 1900, discount_amount: 0, tax_amount: 0, applied_balance_amount: -500 },
      { net_amount: 1900, total_amount: 1900, due_amount: 1400 },
    ],
    [
      { subtotal_amount: 100, discount_amount: 0, tax_amount: 0, applied_balance_amount: -500 },
      { net_amount: 100, total_amount: 100, due_amount: 0 },
    ],
    [
      { subtotal_amount: 0, discount_amount: 0, tax_amount: 0, applied_balance_amount: 0 },
      { net_amount: 0, total_amount: 0, due_amount: 0 },
    ],
  ])("%j makes %j", (row, totals) => {
    expect(computeTotals(row)).toEqual(totals);
  });

  test("nothing is ever due below nothing, and without a balance what is due is the total", () => {
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        fc.integer({ min: -99_999_999, max: 99_999_999 }),
        (subtotal_amount, tax_amount, cut, applied_balance_amount) => {
          const discount_amount = Math.min(cut, subtotal_amount);
          const row = { subtotal_amount, discount_amount, tax_amount };
          expect(computeTotals({ ...row, applied_balance_amount }).due_amount).toBeGreaterThanOrEqual(0);
          const { total_amount, due_amount } = computeTotals({ ...row, applied_balance_amount: 0 });
          expect(due_amount).toBe(total_amount);
        },
      ),
    );
  });

  test("lines that do not add up to the subtotal make no order", () => {
    fc.assert(
      fc.property(fc.array(amount, { maxLength: 5 }), fc.integer({ min: -1000, max: 1000 }), (amounts, wrong) => {
        const sum = amounts.reduce((total, one) => total + one, 0);
        const check = () =>
          assertItems(
            { subtotal_amount: sum + wrong },
            amounts.map((one) => ({ amount: one })),
          );
        if (wrong === 0) expect(check).not.toThrow();
        else expect(check).toThrow(/lines of an order/);
      }),
    );
  });
});

describe("states (ORD-13)", () => {
  const legal = orderStatuses.flatMap((from) => moves[from].map((to) => `${from} → ${to}`));
  test("these moves and no others", () => {
    expect(legal.sort()).toEqual(
      [
        "draft → pending",
        "pending → paid",
        "pending → void",
        "paid → partially_refunded",
        "paid → refunded",
        "partially_refunded → refunded",
        "partially_refunded → paid",
        "refunded → partially_refunded",
        "refunded → paid",
        "void → pending",
      ].sort(),
    );
  });
  test("paid means paid, refunded or partly refunded (ORD-01)", () => {
    expect(orderStatuses.filter(isPaid)).toEqual(["paid", "refunded", "partially_refunded"]);
  });
});

describe("the address on an invoice (ORD-25)", () => {
  const at = (country: Address["country"], state: string | null, line1: string | null = null): Address => ({
    country,
    state,
    line1,
    line2: null,
    city: null,
    postal_code: null,
  });
  const order = (billing_address: OrderRow["billing_address"]) => ({ billing_address }) as OrderRow;
  const places = (had: OrderRow["billing_address"], wanted: OrderRow["billing_address"] | undefined) =>
    checkAddress(order(had), wanted).map(({ loc }) => loc.join("."));
  test.each([
    ["another street", at("FR", null), at("FR", null, "1 rue"), []],
    ["another country", at("FR", null), at("DE", null), ["body.billing_address.country"]],
    ["another state", at("US", "US-NY"), at("US", "US-CA"), ["body.billing_address.state"]],
    ["both", at("US", "US-NY"), at("FR", null), ["body.billing_address.country", "body.billing_address.state"]],
    ["one where there was none", null, at("FR", null), []],
    ["none sent", at("FR", null), undefined, []],
  ])("%s", (_, had, wanted, expected) => {
    expect(places(had, wanted)).toEqual(expected);
  });
});
