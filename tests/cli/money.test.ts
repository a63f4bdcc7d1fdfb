import { beforeEach, describe, expect, test } from "vitest";
import type { FlagEntry } from "../../cli/manifest.ts";
import { manifest, floe as run, standIn } from "./support.ts";

/** Money on the command line: as people write it, everywhere. A whole number that may be cents is refused; JSON has minor units. */

const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const orders: Record<string, object> = {
  [id(1)]: { id: id(1), currency: "usd", net_amount: 4901, refundable_amount: 3000, invoice_number: "ACME-0001" },
  [id(2)]: { id: id(2), currency: "jpy", net_amount: 4900, refundable_amount: 4900, invoice_number: "ACME-0002" },
};
let currency = "usd";
const server = await standIn(({ path, method }) => {
  const [, kind, named] = /^\/v1\/([a-z-]+)\/([^/]*)$/.exec(path) ?? [];
  if (method !== "GET") return { json: { id: id(9) } };
  if (kind === "orders" && named) return { json: orders[named] };
  if (kind === "checkouts" && named) return { json: { id: named, currency: "eur" } };
  const items = kind === "organizations" ? [{ id: id(5), default_presentment_currency: currency }] : [];
  return { json: { items, pagination: { total_count: items.length, max_page: 1 } } };
});
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "k" };
beforeEach(() => {
  currency = "usd";
  server.received.length = 0;
});

/** The body that would be sent, or is. */
async function send(...argv: string[]) {
  const { code, err } = await run(argv, { env });
  return { code, err, body: server.received.find(({ method }) => method !== "GET")?.body };
}
const refund = (order: number, amount: string) =>
  send(...["refunds", "create", "--order-id", id(order), "--reason", "duplicate", "--yes", "--amount", amount]);

describe("a refund", () => {
  test.each([
    [1, "24.50", 2450],
    [1, "$24", 2400],
    [1, "24usd", 2400],
    [1, "24.50usd", 2450],
    [1, "50%", 2451],
    [1, "12.5 %", 613],
    [1, "all", 3000],
    [2, "24", 24],
    [2, "100%", 4900],
  ])("of order %i: --amount %s is %i of its minor units", async (order, text, amount) => {
    expect((await refund(order, text)).body).toMatchObject({ order_id: id(order), amount });
  });

  test.each([
    [1, "24", "24 may mean 24.00 or 0.24: write the amount with its decimals"],
    [1, "2400", "2400 may mean 2400.00 or 24.00"],
    [1, "24.505", "usd has 2 decimals at most"],
    [1, "24.50eur", "is in eur, and usd is meant"],
    [1, "€24.50", "is in eur, and usd is meant"],
    [1, "100%", "is more than can be refunded: $30.00 is left"],
    [1, "0%", "is not a percentage above 0"],
    [1, "200%", "is not a percentage above 0"],
    [1, "half", "is not an amount"],
    [2, "24.00", "jpy has no decimals: write 24"],
  ])("of order %i: --amount %s is refused, and nothing is sent: %s", async (order, text, why) => {
    const { code, err, body } = await refund(order, text);
    expect([code, err, body]).toEqual([64, expect.stringContaining(why), undefined]);
  });

  test("previewed takes the same; JSON keeps the wire's minor units", async () => {
    await run(["refunds", "preview", "--order-id", id(1), "--amount", "50%"], { env });
    expect(server.received.at(-1)?.query.get("amount")).toBe("2451");
    const { body } = await send(
      "refunds",
      "create",
      "--yes",
      "--data",
      `{"order_id":"${id(1)}","reason":"duplicate","amount":24}`,
    );
    expect(body).toMatchObject({ amount: 24 });
  });
});

test.each([
  ["usd", ["checkouts", "create", "--products", id(3), "--amount", "24.50"], { amount: 2450 }],
  ["jpy", ["checkouts", "create", "--products", id(3), "--amount", "2450"], { amount: 2450 }],
  ["usd", ["checkouts", "create", "--products", id(3), "--amount", "24.50", "--currency", "eur"], { amount: 2450 }],
  ["usd", ["checkouts", "update", id(3), "--amount", "24.50eur"], { amount: 2450 }],
  ["usd", ["checkouts", "update", id(3), "--amount", "none"], { amount: null }],
  [
    "usd",
    [
      "discounts",
      "create",
      "--name",
      "Abc",
      "--for",
      "once",
      "--type",
      "fixed",
      "--amounts",
      "usd=5.00",
      "--amounts",
      "jpy=500",
    ],
    { amounts: { usd: 500, jpy: 500 } },
  ],
  [
    "usd",
    ["discounts", "create", "--name", "Abc", "--for", "once", "--type", "fixed", "--amounts", '{"usd":500}'],
    { amounts: { usd: 500 } },
  ],
])("in a store in %s, %j sends minor units", async (standard, argv, body) => {
  currency = standard;
  expect(await send(...argv)).toMatchObject({ code: 0, body });
});

test.each([
  [["checkouts", "create", "--products", id(3), "--amount", "2450"], "2450 may mean 2450.00 or 24.50"],
  [["checkouts", "create", "--products", id(3), "--amount", "50%"], "is not an amount"],
  [["checkouts", "update", id(3), "--amount", "24.50usd"], "is in usd, and eur is meant"],
  [["discounts", "create", "--name", "Abc", "--for", "once", "--amounts", "usd=500"], "500 may mean 500.00 or 5.00"],
  [["discounts", "create", "--name", "Abc", "--for", "once", "--amount", "500"], "500 may mean 500.00 or 5.00"],
])("%j is refused: %s", async (argv, why) => {
  const { code, err, body } = await send(...argv);
  expect([code, err, body]).toEqual([64, expect.stringContaining(why), undefined]);
});

test("every flag for an amount of the contract is one of money, and its help does not speak of minor units", () => {
  const flags = manifest
    .index()
    .groups.flatMap(({ name }) =>
      (manifest.group(name)?.operations ?? []).flatMap((op) =>
        [...op.query, ...(op.body ?? [])].map((flag): [string, FlagEntry] => [
          `${name} ${op.name} --${flag.name}`,
          flag,
        ]),
      ),
    );
  const amounts = flags.filter(
    ([, { name, kind }]) => /(^|_)(amount|amounts|price_per_seat)$/.test(name) && kind !== "text",
  );
  expect(amounts.length).toBeGreaterThan(7);
  expect(amounts.filter(([, { money }]) => !money).map(([flag]) => flag)).toEqual([]);
  const told = flags.filter(
    ([, { description = "", kind }]) => /minor unit|cents/i.test(description) && kind !== "json",
  );
  expect(told.map(([flag]) => flag)).toEqual([]);
});
