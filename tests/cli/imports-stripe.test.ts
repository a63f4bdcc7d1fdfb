import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readStripe } from "../../cli/imports/stripe-reader.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, standIn } from "./support.ts";

/** `floe import stripe`: an account is read page by page, and what Stripe bills otherwise than floe would stays there. */

let server: Floe;
beforeAll(async () => {
  server = await start({ listen: true });
  server.clock.time = new Date("2026-03-20T12:00:00Z");
});
afterAll(() => server?.close());

const key = "rk_live_abc";
const testKey = "rk_test_abc";
const getSeconds = (day: string): number => Date.parse(`${day}T10:00:00Z`) / 1000;
type Thing = { id: string } & Record<string, unknown>;
const price = (id: string, more: object = {}): Thing => ({
  ...{ id, product: "prod_1", active: true, currency: "usd", unit_amount: 2450, billing_scheme: "per_unit" },
  ...{ custom_unit_amount: null, transform_quantity: null, nickname: null },
  recurring: { interval: "month", interval_count: 1, usage_type: "licensed" },
  ...more,
});
const customer = (id: string, more: object = {}): Thing => ({
  ...{ id, email: `${id}@example.com`, name: id, balance: 0, discount: null, tax_exempt: "none", livemode: true },
  ...{
    address: { country: "DE", line1: "Street 1", city: "Berlin" },
    tax_ids: { data: [] },
    preferred_locales: ["de"],
  },
  ...more,
});
const item = (more: object = {}) => ({
  ...{ price: price("price_1"), quantity: 1, discounts: [], tax_rates: [] },
  ...{ current_period_start: getSeconds("2026-02-28"), current_period_end: getSeconds("2026-03-31"), ...more },
});
const subscription = (id: string, more: object = {}): Thing => ({
  ...{
    id,
    customer: "cus_1",
    status: "active",
    currency: "usd",
    livemode: true,
    start_date: getSeconds("2025-12-31"),
  },
  ...{ billing_cycle_anchor: getSeconds("2025-12-31"), cancel_at_period_end: false, cancel_at: null, discounts: [] },
  ...{ schedule: null, pending_update: null, pause_collection: null, collection_method: "charge_automatically" },
  ...{ items: { data: [item()], has_more: false }, ...more },
});
const withItem = (more: object) => ({ items: { data: [item(more)], has_more: false } });
const withPrice = (more: object) => withItem({ price: price("price_odd", more) });

type Account = Partial<Record<"products" | "prices" | "customers" | "subscriptions" | "invoiceitems", Thing[]>>;
const getAccount = (more: Account = {}): Required<Account> => ({
  products: [{ id: "prod_1", name: "Pro", description: null }],
  prices: [price("price_1")],
  customers: [customer("cus_1")],
  subscriptions: [subscription("sub_1")],
  invoiceitems: [],
  ...more,
});
/** An account in pages of two. `fail` answers in its place. */
function openStripe(account: Account, fail: (path: string, count: number) => object | undefined = () => undefined) {
  let count = 0;
  return standIn(({ path, query, headers }) => {
    count += 1;
    const failure = fail(path, count);
    if (failure) return failure;
    if (![key, testKey].includes(headers.authorization?.slice("Bearer ".length) ?? ""))
      return { status: 401, json: { error: {} } };
    const all = account[path.replace("/v1/", "") as keyof Account] ?? [];
    const begin = all.findIndex(({ id }) => id === query.get("starting_after")) + 1;
    return { json: { object: "list", data: all.slice(begin, begin + 2), has_more: begin + 2 < all.length } };
  });
}
const envOf = (seller: Seller, url: string) => ({
  ...{ FLOE_SERVER: server.url, FLOE_API_KEY: seller.key },
  ...{ FLOE_IMPORT_STRIPE_KEY: key, FLOE_IMPORT_STRIPE_URL: url },
});
const run = async (words: string[], env: Record<string, string>) => {
  const { code, out, err } = await floe(["import", ...words, "--json"], { env });
  return { code, out, err, json: out ? JSON.parse(out) : undefined };
};

test("MOV-09: an account is read page by page, planned, applied, compared and switched as files are", async () => {
  const seller = await server.seller("stripe");
  const many = Array.from({ length: 5 }, (_, index) => customer(`cus_${index + 1}`));
  const account = getAccount({
    customers: [...many, customer("cus_none", { email: null }), customer("cus_bad", { email: "=cmd|' /C calc'!A0" })],
    subscriptions: [
      subscription("sub_1"),
      subscription("sub_2", { customer: "cus_2", cancel_at_period_end: true, cancel_at: getSeconds("2026-03-31") }),
      subscription("sub_3", { customer: "cus_bad" }),
    ],
  });
  const stripe = await openStripe(account, (_path, count) =>
    count % 3 === 2 ? { status: count % 2 ? 429 : 503, text: "<html>", headers: { "retry-after": "0" } } : undefined,
  );
  const env = envOf(seller, stripe.url);
  const planned = await run(["stripe"], env);
  expect([planned.code, planned.json?.run.status]).toEqual([0, "planned"]);
  expect(planned.json.left_out).toEqual([
    { kind: "customer", source_id: "cus_none", reason: "It has no email address." },
    { kind: "customer", source_id: "cus_bad", reason: expect.stringContaining("email") },
  ]);
  expect(planned.json.blocked).toMatchObject([{ source_id: "sub_3", reason: "customer_missing" }]);
  expect((await seller.client.customers.list({ query: {} })).pagination.total_count).toBe(0);
  expect((await run(["apply", "--yes"], env)).json).toMatchObject({ status: "applied" });
  expect(await run(["status"], env)).toMatchObject({ code: 0, json: { differences_total: 0 } });
  const again = await run(["stripe"], env);
  expect(again.json.run.counts.map(({ changed }: { changed: number }) => changed)).toEqual([0, 0, 0, 0]);
  expect((await run(["apply", "--yes", "--update"], env)).json).toMatchObject({ status: "applied" });
  const switched = await run(["switch", "--source-has-stopped", "--without-card", "--yes"], env);
  expect(switched.json.switched.toSorted()).toEqual(["sub_1", "sub_2"]);
  const { items } = await seller.client.subscriptions.list({ query: {} });
  expect(items.map((one) => [one.amount, one.currency, one.current_period_end, one.cancel_at_period_end])).toEqual(
    expect.arrayContaining([
      [2450, "usd", new Date("2026-03-31T10:00:00Z"), false],
      [2450, "usd", new Date("2026-03-31T10:00:00Z"), true],
    ]),
  );
  expect((await seller.client.customers.list({ query: {} })).pagination.total_count).toBe(5);
  // It only ever reads, and floe has not got the key.
  expect(new Set(stripe.received.map(({ method }) => method))).toEqual(new Set(["GET"]));
  expect(planned.out + planned.err).not.toContain(key);
});

test("MOV-15: what Stripe bills otherwise than floe would is in the plan with its reason, and stays there", async () => {
  const seller = await server.seller("shapes");
  const shapes: [string, object, string][] = [
    ["tiers", withPrice({ billing_scheme: "tiered", unit_amount: null }), "tiers"],
    ["metered", withPrice({ recurring: { interval: "month", interval_count: 1, usage_type: "metered" } }), "by use"],
    ["fraction", withPrice({ unit_amount: null }), "fraction"],
    ["divided", withPrice({ transform_quantity: { divide_by: 5 } }), "divided"],
    ["free_choice", withPrice({ custom_unit_amount: { minimum: 1 } }), "choose"],
    ["many", withItem({ quantity: 3 }), "3 units"],
    ["two_items", { items: { data: [item(), item()], has_more: false } }, "one item"],
    ["no_items", { items: { data: [], has_more: false } }, "one item"],
    ["discount", { discounts: ["di_1"] }, "discount"],
    ["item_discount", withItem({ discounts: ["di_1"] }), "discount"],
    ["tax_rate", withItem({ tax_rates: [{ id: "txr_1" }] }), "tax rates"],
    ["tax_rates", { default_tax_rates: [{ id: "txr_1" }] }, "tax rates"],
    ["schedule", { schedule: "sub_sched_1" }, "schedule"],
    ["by_hand", { collection_method: "send_invoice" }, "by hand"],
    ["unpaid_change", { pending_update: {} }, "not paid yet"],
    ["other_currency", { currency: "eur" }, "another currency"],
    ["other_end", { cancel_at: getSeconds("2026-06-01") }, "another time"],
    ["connected", { transfer_data: { destination: "acct_1" } }, "connected account"],
    ["balance", { customer: "cus_balance" }, "balance"],
    ["discounted", { customer: "cus_discount" }, "discount"],
    ["exempt", { customer: "cus_exempt" }, "exempt"],
    ["reverse", { customer: "cus_reverse" }, "tax number"],
    ["pending", { customer: "cus_pending" }, "charged more"],
    ["stranger", { customer: "cus_of_nobody" }, "not in the account"],
    ["past_due", { status: "past_due" }, "past_due"],
    ["paused", { pause_collection: { behavior: "void" } }, "paused"],
    ["incomplete", { status: "incomplete" }, "unpaid"],
    ["new_status", { status: "resting" }, "unpaid"],
  ];
  const stripe = await openStripe(
    getAccount({
      customers: [
        customer("cus_1"),
        customer("cus_balance", { balance: -500 }),
        customer("cus_discount", { discount: { id: "di_1" } }),
        customer("cus_exempt", { tax_exempt: "exempt" }),
        customer("cus_reverse", { tax_exempt: "reverse" }),
        customer("cus_pending"),
      ],
      invoiceitems: [{ id: "ii_1", customer: "cus_pending" }],
      subscriptions: [subscription("fine"), ...shapes.map(([id, more]) => subscription(id, more))],
    }),
  );
  const planned = await run(["stripe"], envOf(seller, stripe.url));
  const found = new Map<string, { reason: string; detail: string }>(
    planned.json.blocked.map((one: { source_id: string }) => [one.source_id, one]),
  );
  expect([...found.keys()].toSorted()).toEqual(shapes.map(([id]) => id).toSorted());
  for (const [id, , words] of shapes) expect([id, found.get(id)?.detail]).toEqual([id, expect.stringContaining(words)]);
});

test("MOV-15: test data is not imported into a live organization, nor beside another source; a wrong key says so", async () => {
  const seller = await server.seller("live");
  const stripe = await openStripe(
    getAccount({ customers: [customer("cus_1", { livemode: false })], subscriptions: [] }),
  );
  const env = { ...envOf(seller, stripe.url), FLOE_IMPORT_STRIPE_KEY: testKey };
  const live = await run(["stripe"], env);
  expect([live.code, live.err]).toEqual([7, expect.stringContaining("test data")]);
  await seller.client.imports.create({ body: { source: "csv" } });
  const before = stripe.received.length;
  expect((await run(["stripe"], env)).err).toContain("an import from csv is under way");
  expect(stripe.received.length).toBe(before);
  const wrong: [Record<string, string>, string][] = [
    [{ FLOE_IMPORT_STRIPE_KEY: "" }, "a key of the Stripe account is needed"],
    [{ FLOE_IMPORT_STRIPE_KEY: "pk_test_abc" }, "no key of Stripe's API"],
    [{ FLOE_IMPORT_STRIPE_KEY: "rk_test_a\r\nx: y" }, "no key of Stripe's API"],
    [{ FLOE_IMPORT_STRIPE_URL: "https://stripe.example.com" }, "not an address of this machine"],
    [{ FLOE_IMPORT_STRIPE_KEY: "rk_test_other" }, "does not know this key"],
  ];
  const other = await server.seller("wrong");
  for (const [more, words] of wrong) {
    const { code, err } = await run(["stripe"], { ...envOf(other, stripe.url), ...more });
    expect([words, code, err]).toEqual([words, 64, expect.stringContaining(words)]);
  }
  expect((await other.client.imports.list({ query: {} })).pagination.total_count).toBe(0);
});

test("MOV-15: a Stripe that lies, hangs, never ends or refuses a right ends the reading, and says how", async () => {
  const page = (data: unknown[], has_more: boolean) => ({ json: { object: "list", data, has_more } });
  const seen: [string, () => object | undefined, string][] = [
    ["html", () => ({ text: "<html>" }), "is not Stripe's API"],
    ["other", () => ({ json: { data: [{ no: 1 }], has_more: false } }), "is not Stripe's API"],
    ["null", () => ({ text: "null" }), "is not Stripe's API"],
    ["500", () => ({ status: 500, text: "" }), "answered 500"],
    ["429", () => ({ status: 429, text: "" }), "answered 429"],
    ["403", () => ({ status: 403, json: { error: { message: key } } }), "no right to read products"],
    ["400", () => ({ status: 400, json: {} }), "answered 400"],
    ["away", () => ({ status: 302, headers: { location: "http://127.0.0.1:1/" }, text: "" }), "cannot be reached"],
    ["repeats", () => page([{ id: "prod_1" }], true), "repeats itself"],
    ["empty", () => page([], true), "repeats itself"],
    ["hangs", () => undefined, "does not answer"],
    ["long", () => ({ text: " ".repeat(21 * 1024 * 1024) }), "too long"],
  ];
  for (const [name, answer, words] of seen) {
    const stripe = await standIn(answer);
    const timeoutMs = name === "hangs" ? 50 : 5000;
    const access = { key, url: stripe.url, waitMs: 1, timeoutMs, signal: new AbortController().signal };
    const message = await readStripe(access, () => undefined).then(
      () => "read",
      (error: Error) => error.message,
    );
    expect([name, message]).toEqual([name, expect.stringContaining(words)]);
    expect(message).not.toContain(key);
    expect([name, stripe.received.length <= 6]).toEqual([name, true]);
    await stripe.close();
  }
  const stripe = await openStripe(getAccount({ customers: [customer("cus_1", { livemode: false })] }));
  await expect(
    readStripe({ key, url: stripe.url, waitMs: 1, signal: new AbortController().signal }, () => undefined),
  ).rejects.toThrow("other mode");
});

test.each([
  ["while Stripe does not answer", () => undefined],
  ["before it is asked again", () => ({ status: 500, text: "" })],
])("MOV-15: Ctrl-C ends the reading %s", async (_, answer) => {
  const stripe = await standIn(answer);
  const stop = new AbortController();
  const read = readStripe({ key, url: stripe.url, waitMs: 20_000, signal: stop.signal }, () => undefined);
  const ended = expect(read).rejects.toMatchObject({ kind: "interrupted" });
  await vi.waitUntil(() => stripe.received.length === 1);
  stop.abort("SIGINT");
  const began = performance.now();
  await ended;
  expect(performance.now() - began).toBeLessThan(5000);
  await stripe.close();
});
