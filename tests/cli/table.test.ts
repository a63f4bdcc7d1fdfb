/** Tables as they stand on terminals of different widths. */
import { describe, expect, test } from "vitest";
import { renderDetail, renderTable } from "../../cli/ui/table.ts";
import { painter } from "../../cli/ui/theme.ts";

const paint = painter({ NO_COLOR: "1" }, undefined, {});
const id = "0193a000-0000-7000-8000-000000000001";
const columns = ["id:id", "name", "prices:price", "is_archived:flag", "created_at:date"];
const prices = [
  { amount_type: "fixed", price_amount: 2500, price_currency: "usd", recurring_interval: "month" },
  { amount_type: "metered_unit", unit_amount: "0.002", price_currency: "usd", meter: { name: "Tokens" } },
  {
    amount_type: "seat_based",
    price_currency: "eur",
    seat_tiers: { tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 900 }] },
  },
];
const row = { id, name: "Pro", prices, is_archived: false, created_at: new Date(2026, 0, 15, 10, 5).toISOString() };
const linesAt = (width: number, cells = columns, rows = [row]) =>
  renderTable(rows, cells, paint, width).trimEnd().split("\n");

test("one thing is told field by field, settings under the keys by which they are set", () => {
  const settings = { usage: { show: true }, subscription: { pause: false } };
  expect(renderDetail({ name: "Acme", customer_portal_settings: settings }, paint, 80).split("\n")).toEqual([
    "name                                         Acme",
    "customer_portal_settings.usage.show          yes",
    "customer_portal_settings.subscription.pause  no",
    "",
  ]);
});

describe("a table", () => {
  test("says every kind of price as people do", () => {
    expect(linesAt(200)[1]).toContain("$25.00/month, $0.00002/Tokens, €9.00/seat");
  });

  test("fits any terminal that has room for the id: the time of day goes first, then long texts, then last columns", () => {
    expect(linesAt(108)[1]).toMatch(/9.00\/seat +no +2026-01-15$/);
    expect(linesAt(90)[1]).toMatch(/Pro .*… +no +2026-01-15$/);
    for (const width of [56, 70, 80, 100, 120]) {
      const lines = linesAt(width);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
      expect(lines[1]).toContain(id);
    }
    expect(linesAt(58)[0]).toMatch(/^ID +NAME +PRICES$/);
    expect(linesAt(200)[1]).toMatch(/2026-01-15 10:05$/);
  });

  test("that begins with the time keeps it, and heads name what is in them", () => {
    const made = [{ ...row, size_readable: "70 B", aggregation: { func: "sum" } }];
    const [head, line] = linesAt(50, ["created_at:date", "size_readable", "aggregation.func", "id:id"], made);
    expect([head, line]).toEqual([
      expect.stringMatching(/^CREATED +SIZE +AGGREGATION +ID$/),
      expect.stringMatching(/^2026-01-15 10:05 +70 B +sum +0193a000/),
    ]);
  });
});
