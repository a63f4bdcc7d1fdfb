/** Tables as they stand on terminals of different widths. */
import { describe, expect, test } from "vitest";
import { renderDetail } from "../../cli/ui/detail.ts";
import { renderTable } from "../../cli/ui/table.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { floe, standIn } from "./support.ts";

const paint = createPaint({ NO_COLOR: "1" }, undefined, {});
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

test("what is inside of a thing is told by what people call it, and never as JSON", () => {
  const text = renderDetail(
    {
      benefits: [
        { id, type: "license_keys", description: "API key" },
        { id, type: "custom", description: "Our thanks" },
      ],
      attached_custom_fields: [
        { custom_field_id: id, custom_field: { id, slug: "size", name: "Size" }, required: true },
      ],
      address: { country: "US", inner: { name: "Inner", id } },
    },
    paint,
    80,
  );
  expect(text).toContain("API key, Our thanks");
  expect(text).toMatch(/attached custom fields +Size\n/);
  expect(text).not.toMatch(/[{}]/);
});

test("one thing is told field by field, settings under the keys by which they are set", () => {
  const settings = { usage: { show: true }, subscription: { pause: false } };
  const acme = {
    id,
    created_at: "soon",
    is_archived: false,
    is_recurring: true,
    organization_id: id,
    total_amount: 1900,
    currency: "usd",
    customer_portal_settings: settings,
    status: "paid",
    metadata: {},
    name: "Acme",
  };
  expect(renderDetail(acme, paint, 80).split("\n")).toEqual([
    "status        paid",
    "name          Acme",
    "recurring     yes",
    "total amount  $19.00",
    "currency      usd",
    "created at    soon",
    `id            ${id}`,
    "",
    "customer_portal_settings",
    "  usage.show          yes",
    "  subscription.pause  no",
    "",
  ]);
});

describe("a table", () => {
  test("says every kind of price as people do", () => {
    expect(linesAt(200)[1]).toContain("$25.00/month, $0.00002/Tokens, €9.00/seat");
    expect(linesAt(200)[1]).not.toContain("(1+)");
  });

  test("fits any terminal that has room for the name: texts are cut first, then the last columns go", () => {
    const columns = ["name:name", "prices:price", "is_archived:flag", "created_at:date", "id:id"];
    expect(linesAt(120, columns)[1]).toMatch(/^Pro +\$25.00\/month.* no +2026-01-15 +0193a000/);
    for (const width of [30, 44, 56, 70, 80, 100, 120]) {
      const lines = linesAt(width, columns);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
      expect(lines[1]).toMatch(/^Pro /);
    }
    expect(linesAt(44, columns)[0]).toMatch(/^NAME +PRICES +ARCHIVED +CREATED$/);
  });

  test("says how long ago something was, how far it is, and the day where that says more", () => {
    const at = (ms: number) =>
      linesAt(80, ["created_at:date"], [{ ...row, created_at: new Date(Date.now() - ms).toISOString() }])[1];
    const hour = 3_600_000;
    expect([at(5000), at(150_000), at(5 * hour), at(49 * hour), at(-3 * hour - 5000)]).toEqual([
      "just now",
      "2 min ago",
      "5 h ago",
      "2 d ago",
      "in 3 h",
    ]);
    expect(at(60 * 24 * hour)).toMatch(/^\d{4}-\d\d-\d\d$/);
  });

  test("says how much a discount takes off and for how long, and aligns amounts to the right", () => {
    const off = [
      { name: "A", basis_points: 2050, duration: "repeating", duration_in_months: 3 },
      { name: "B", basis_points: null, amounts: { usd: 500, eur: 450 }, duration: "once" },
    ];
    expect(linesAt(80, ["name:name", "basis_points:off", "duration:lasts"], off as never)).toEqual([
      "NAME  OFF           DURATION",
      "A     20.5 %        3 months",
      "B     $5.00, €4.50  once",
    ]);
    const paid = [900, 123_456].map((amount) => ({ status: "paid", amount, currency: "usd" }));
    expect(linesAt(80, ["status:state", "amount:money"], paid as never)).toEqual([
      "STATUS     AMOUNT",
      "paid        $9.00",
      "paid    $1,234.56",
    ]);
  });
});

test("amounts of one thing end in one column, those of nothing are left out, and times say how far they are", () => {
  const order = {
    ...{ total_amount: 120_050, net_amount: 900, tax_amount: 0, refunded_amount: 0, currency: "usd" },
    ...{ created_at: new Date(2026, 0, 15, 10, 5).toISOString(), ends_at: new Date(2026, 5, 1).toISOString() },
  };
  const lines = renderDetail(order, paint, 80, new Date(2026, 0, 15, 12, 6).getTime())
    .trimEnd()
    .split("\n");
  expect(lines).toEqual([
    "total amount  $1,200.50",
    "net amount        $9.00",
    "currency      usd",
    "created at    2026-01-15 10:05, 2 h ago",
    "ends at       2026-06-01 00:00",
  ]);
  expect(renderDetail({ total_amount: 0, currency: "usd" }, paint, 80)).toContain("$0.00");
});

describe("addresses", () => {
  const linkStart = "\u001b]8;;";
  const linkEnd = "\u001b\\";
  const address = "https://hooks.example.com/a/long/address/of/a/receiver?with=parameters";
  const linking = createPaint({ NO_COLOR: "1", TERM: "xterm-kitty" }, undefined, { isTTY: true });

  test("are links to all of them where they are cut, and the column keeps its width", () => {
    const rows = [
      { url: address, name: "Main" },
      { url: "https://b.example", name: "Other" },
    ];
    const [head, first, second] = renderTable(rows, ["url", "name:name"], linking, 30).split("\n");
    expect(first).toBe(`${linkStart}${address}${linkEnd}https://hooks.example.…${linkStart}${linkEnd}  Main`);
    expect(second).toBe(`${linkStart}https://b.example${linkEnd}https://b.example${linkStart}${linkEnd}        Other`);
    expect(head?.indexOf("NAME")).toBe(25);
    expect(renderDetail({ url: address }, linking, 120)).toBe(
      `url  ${linkStart}${address}${linkEnd}${address}${linkStart}${linkEnd}\n`,
    );
  });

  test.each([
    ["javascript:alert(1)"],
    [`https://a.example/${linkEnd}${linkStart}https://evil.example${linkEnd}`],
    ["https://a.example/\u0007evil"],
    [`https://a.example/${"a".repeat(3000)}`],
  ])("that are none, or would end the link, are text: %j", (url) => {
    expect(renderDetail({ url }, linking, 120)).not.toContain(linkStart);
  });

  test.each([
    [true, { TERM_PROGRAM: "iTerm.app" }],
    [true, { VTE_VERSION: "7200" }],
    [true, { TMUX: "/tmp/t", TERM_PROGRAM: "tmux", TERM_PROGRAM_VERSION: "3.4" }],
    [true, { FORCE_HYPERLINK: "1", TERM: "dumb" }],
    [false, { TMUX: "/tmp/t", TERM_PROGRAM: "tmux", TERM_PROGRAM_VERSION: "3.3a", VTE_VERSION: "7200" }],
    [false, { VTE_VERSION: "5001" }],
    [false, { TERM: "xterm-256color" }],
    [false, { TERM: "dumb", WT_SESSION: "1" }],
    [false, { WT_SESSION: "1", CI: "true" }],
    [false, { WT_SESSION: "1", FORCE_HYPERLINK: "0" }],
  ])("are links on a terminal: %s in %j", (isLink, env) => {
    const text = renderDetail({ url: address }, createPaint(env, undefined, { isTTY: true }), 120);
    expect(text.includes(linkStart)).toBe(isLink);
  });

  test("are text in a pipe, and in a program that leafs through them", async () => {
    expect(renderDetail({ url: address }, createPaint({ WT_SESSION: "1" }, undefined, {}), 120)).not.toContain(
      linkStart,
    );
    const items = Array.from({ length: 60 }, () => ({ id, url: address, events: [], enabled: true }));
    const server = await standIn(() => ({ json: { items, pagination: { total_count: 60, max_page: 1 } } }));
    const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k", WT_SESSION: "1", NO_COLOR: "1" };
    const { leafed } = await floe(["webhooks", "list"], { tty: true, env });
    expect(leafed[0]?.text).toContain("https://hooks.example.com");
    expect(leafed[0]?.text).not.toContain("\u001b");
  });
});
