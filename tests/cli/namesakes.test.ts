/** Names in place of ids: of orders and license keys, and what is said where two things are called alike. */
import { beforeEach, expect, test } from "vitest";
import { floe, type Received, standIn } from "./support.ts";

const [first, second, order] = [1, 2, 3].map((place) => `0193a000-0000-7000-8000-00000000000${place}`) as [
  string,
  string,
  string,
];
const pageOf = (items: object[]) => ({ items, pagination: { total_count: items.length, max_page: 1 } });
let answer: (request: Received) => object = () => ({});
let status = 200;
const server = await standIn((request) => ({
  ...(request.method === "GET" && status !== 200
    ? { status, json: { error: "insufficient_scope", detail: "No." } }
    : { json: answer(request) }),
}));
const env = { FLOE_SERVER: server.url, FLOE_API_KEY: "floe_key", NO_COLOR: "1" };
const run = (...argv: string[]) => floe(argv, { env });

beforeEach(() => {
  server.received.length = 0;
  status = 200;
});

const books = (rows: object[]) => {
  answer = ({ method, path }) => {
    if (method === "GET" && path === "/v1/products/") return pageOf(rows);
    return method === "GET" ? pageOf([]) : { id: second, name: "E-book", is_archived: false };
  };
};
const create = () => run("products", "create", "--name", "E-book", "--price", "5.00usd");

test("a second product of one name is made, and one line on stderr says so", async () => {
  books([
    { id: first, name: "E-book" },
    { id: second, name: "E-book" },
  ]);
  const { code, out, err } = await create();
  expect([code, (JSON.parse(out) as { id: string }).id]).toEqual([0, second]);
  expect(err).toContain(`Another product is called "E-book", too (${first})`);
});

test("nothing is said of another name, of an archived one, or where nothing can be looked up", async () => {
  for (const rows of [
    [{ id: second, name: "E-book" }],
    [{ id: first, name: "E-book 2" }],
    [{ id: first, name: "E-book", is_archived: true }],
  ]) {
    books(rows);
    expect((await create()).err).not.toContain("called");
  }
  books([{ id: first, name: "E-book" }]);
  status = 403;
  const { code, err } = await create();
  expect([code, err.includes("called")]).toEqual([0, false]);
});

test("another name is looked at, another price is not", async () => {
  books([{ id: first, name: "E-book" }]);
  expect((await run("products", "update", second, "--name", "E-book")).err).toContain("Another product is called");
  expect((await run("products", "update", second, "--visibility", "public")).err).not.toContain("called");
});

test("an order is named by its number wherever its id is asked for", async () => {
  answer = ({ method, path }) => {
    if (method !== "GET") return { id: first };
    if (path === "/v1/orders/") return pageOf([{ id: order, invoice_number: "ACME-0042" }]);
    return path.startsWith("/v1/orders/")
      ? { id: order, currency: "usd", net_amount: 2000, refundable_amount: 2000 }
      : pageOf([]);
  };
  const flags = ["--reason", "duplicate", "--yes", "--amount", "50%"];
  const { code, err } = await run("refunds", "create", "--order-id", "ACME-0042", ...flags);
  expect([code, err]).toEqual([0, expect.any(String)]);
  const [sent] = server.received.filter(({ method }) => method === "POST");
  expect(sent?.body).toEqual({ order_id: order, reason: "duplicate", amount: 1000 });
  await run("refunds", "list", "--order-id", "ACME-0042");
  expect(server.received.at(-1)?.query.get("order_id")).toBe(order);
});

test("a license key is named by the part that lists show, with its stars or without", async () => {
  const keys = [
    { id: first, display_key: "****-C70FC7" },
    { id: second, display_key: "****-AB0FC7" },
  ];
  answer = ({ path }) => (path === "/v1/license-keys/" ? pageOf(keys) : { id: first });
  for (const name of ["****-C70FC7", "C70FC7", "c70fc7"]) {
    const { code, err } = await run("license-keys", "get", name);
    expect([name, code, err]).toEqual([name, 0, ""]);
    expect(server.received.at(-1)?.path).toBe(`/v1/license-keys/${first}`);
  }
  expect((await run("license-keys", "get", "0FC7")).code).toBe(6);
});

test("a list of orders has number, day, state and amount at 80 columns, and no id", async () => {
  const row = {
    ...{ id: order, invoice_number: "ACME-TOOLS-0042", status: "paid", total_amount: 4900, currency: "usd" },
    ...{
      created_at: "2026-01-15T10:00:00Z",
      customer: { email: "ada.lovelace@example.com" },
      product: { name: "Pro" },
    },
  };
  answer = () => pageOf([row]);
  const { out } = await floe(["orders", "list"], { env, tty: true, columns: 80 });
  expect(out).toMatch(/^INVOICE NUMBER +CREATED +STATUS +TOTAL/);
  expect(out).toMatch(/\nACME-TOOLS-0042 +2026-01-15 +paid +\$49\.00 +ada\.lovelace@example\.com/);
  expect(out).not.toContain(order);
});
