/** `floe sandbox buy` against a server with its workers: what the buyer gets, and what is refused. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { scopes } from "../../shared/scopes.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { floe } from "./support.ts";

let server: Floe;
let live: Seller;
let client: ReturnType<Floe["client"]>;
let env: Record<string, string>;
const fixed = [{ amount_type: "fixed" as const, price_amount: 1900 }];

beforeAll(async () => {
  server = await start({ listen: true, worker: true });
  live = await server.seller("ada");
  const slug = `sandbox-${newId().slice(-12)}`;
  const { id } = await server
    .client(live.session)
    .organizations.create({ body: { name: "Sandbox", slug, sandbox: true } });
  const key = await server.keyOf({ ...live, organization_id: id }, [...scopes]);
  client = server.client(key);
  // What docs/sandbox.md says that a key needs.
  const least = ["organizations:read", "products:read", "checkouts:write", "customer_sessions:write"];
  const buyer = await server.keyOf({ ...live, organization_id: id }, least);
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: buyer };
  const properties = { prefix: "BOOK" };
  const license = await client.benefits.create({
    body: { type: "license_keys", description: "License key", properties },
  });
  const note = await client.benefits.create({ body: { type: "custom", description: "Thanks", properties: {} } });
  const book = await client.products.create({ body: { name: "E-book", prices: fixed } });
  await client.products.setBenefits({ params: { id: book.id }, body: { benefits: [license.id, note.id] } });
  const recurring_interval = "month" as const;
  const trial = { trial_interval: "day" as const, trial_interval_count: 14 };
  await client.products.create({ body: { name: "Pro", prices: fixed, recurring_interval, ...trial } });
  await client.products.create({ body: { name: "Tip", prices: [{ amount_type: "custom", minimum_amount: 500 }] } });
  await client.organizations.update({
    params: { id },
    body: { feature_settings: { seat_based_pricing_enabled: true } },
  });
  const tiers = [{ min_seats: 1, max_seats: null, price_per_seat: 1000 }];
  const prices = [{ amount_type: "seat_based" as const, seat_tiers: { tiers } }];
  const size = await client.customFields.create({
    body: { type: "number", slug: "size", name: "Size", properties: {} },
  });
  const attached_custom_fields = [{ custom_field_id: size.id, required: true }];
  await client.products.create({ body: { name: "Team", prices, recurring_interval, attached_custom_fields } });
  await client.discounts.create({
    body: { name: "Launch", code: "LAUNCH", type: "percentage", basis_points: 5000, duration: "forever" },
  });
});
afterAll(() => server?.close());

type Result = {
  checkout_id: string;
  customer_id: string;
  order: { invoice_number: string; status: string; due_amount: number; total_amount: number } | null;
  subscription: { status: string; seats: number | null } | null;
  benefits: { type: string; state: string; license_key: string | null }[];
  seats: number | null;
};
const buy = (...argv: string[]) => floe(["sandbox", "buy", ...argv], { env });
async function bought(...argv: string[]): Promise<Result> {
  const { code, out, err } = await buy(...argv);
  expect([argv.join(" "), code, err]).toEqual([argv.join(" "), 0, expect.any(String)]);
  return JSON.parse(out) as Result;
}
const countOrders = async (email: string): Promise<number> => {
  const { items } = await client.orders.list({ query: { limit: 100 } });
  return items.filter(({ customer }) => customer.email === email).length;
};

test("a purchase in a pipe answers the order, and the license key that the seller reads, too", async () => {
  const { order, subscription, benefits, checkout_id } = await bought("E-book", "--as", "ada@example.com");
  expect([order, subscription]).toMatchObject([{ status: "paid", due_amount: 1900 }, null]);
  const { items } = await client.licenseKeys.list({ query: {} });
  const kinds = benefits.map(({ type, state }) => [type, state]).sort();
  expect(kinds).toEqual([
    ["custom", "granted"],
    ["license_keys", "granted"],
  ]);
  expect(benefits.map(({ license_key }) => license_key).filter(Boolean)).toEqual([items[0]?.key]);
  expect((await client.orders.list({ query: { checkout_id: [checkout_id] } })).items[0]?.invoice_number).toBe(
    order?.invoice_number,
  );
});

test("a field that the answer does not have is refused before anything is bought", async () => {
  const asked = await bought("Tip", "--as", "ida@example.com", "--amount", "5.00", "--json", "order.due_amount");
  expect(asked).toEqual({ order: { due_amount: 500 } });
  const { code } = await buy("Tip", "--as", "ida@example.com", "--amount", "5.00", "--json", "price");
  expect([code, await countOrders("ida@example.com")]).toEqual([64, 1]);
});

test("a terminal shows what was bought and for how much, also for a buyer who has bought before", async () => {
  for (const time of [1, 2]) {
    const argv = ["sandbox", "buy", "e-book", "--as", "bob@example.com"];
    const { code, out, err } = await floe(argv, { env: { ...env, FLOE_PROMPT_DISABLED: "1" }, tty: true, columns: 80 });
    expect([time, code, err]).toEqual([time, 0, expect.stringContaining("✓ bob@example.com bought E-book.")]);
    expect(out).toMatch(/^order +\S+-\d+ {2}paid\npaid +\$19\.00\n/);
    expect(out).toMatch(/benefit +License key {2}BOOK-\S+\n/);
    expect(out.split("\n").every((line) => line.length <= 80)).toBe(true);
  }
  expect(await countOrders("bob@example.com")).toBe(2);
});

test("a trial begins, and a second one is refused with the way to buy without", async () => {
  const first = await bought("Pro", "--as", "cy@example.com");
  expect(first.subscription).toMatchObject({ status: "trialing" });
  const again = await buy("Pro", "--as", "cy@example.com");
  expect([again.code !== 0, again.out, again.err]).toEqual([true, "", expect.stringContaining("floe: ")]);
  const paid = await bought("Pro", "--as", "dee@example.com", "--no-trial");
  expect([paid.subscription, paid.order]).toMatchObject([{ status: "active" }, { due_amount: 1900 }]);
});

test("seats, a code, an answer and an amount are those of the order", async () => {
  const argv = ["Team", "--as", "eve@example.com", "--seats", "3", "--discount", "LAUNCH", "--answer", "size=42"];
  const team = await bought(...argv);
  expect([team.seats, team.order, team.subscription]).toMatchObject([3, { due_amount: 1500 }, { seats: 3 }]);
  const [made] = (await client.orders.list({ query: { checkout_id: [team.checkout_id] } })).items;
  expect(made?.custom_field_data).toEqual({ size: 42 });
  expect((await bought("Tip", "--as", "eve@example.com", "--amount", "24.50")).order?.due_amount).toBe(2450);
});

test("a declined card buys nothing, and a number that is no test card is neither taken nor repeated", async () => {
  for (const card of ["4000000000000002", "pm_card_chargeDeclined", "4111 1111 1111 1111"]) {
    const { code, out, err } = await buy("E-book", "--as", "fay@example.com", "--card", card);
    expect([card, code === 0, out]).toEqual([card, false, ""]);
    expect(err).not.toContain("4111");
  }
  expect(await countOrders("fay@example.com")).toBe(0);
});

test("where the bank asks, it is approved; refused, nothing is bought", async () => {
  const argv = ["E-book", "--as", "gil@example.com", "--card", "4000 0000 0000 3220"];
  const { order } = await bought(...argv);
  expect(order).toMatchObject({ status: "paid" });
  const refused = await buy(...argv, "--refuse");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("nothing was bought")]);
  expect(await countOrders("gil@example.com")).toBe(1);
});

test("wrong words are refused, each with the right way, and nothing is bought", async () => {
  for (const [argv, words] of [
    [["E-book"], "--as"],
    [["E-bok", "--as", "hal@example.com"], 'Did you mean "E-book"'],
    [["Tip", "--as", "hal@example.com", "--amount", "2450"], "2450"],
    [["Team", "--as", "hal@example.com", "--seats", "0"], "whole number"],
    [["E-book", "--as", "hal@example.com", "--answer", "size=1"], "does not ask for size"],
    [["E-book", "--as", "hal@example.com", "--discount", "NONE"], "discount"],
    [["E-book", "--as", "hal", "--country", "FR"], "email"],
    [["E-book", "--as", "hal@example.com", "--country", "XX"], "country"],
  ] as const) {
    const { code, out, err } = await buy(...argv);
    expect([argv.join(" "), code === 0, out]).toEqual([argv.join(" "), false, ""]);
    expect(err).toContain(words);
  }
  expect(await countOrders("hal@example.com")).toBe(0);
});

test("outside a sandbox it is refused before anything is made, and says how to make one", async () => {
  const key = await server.keyOf(live, [...scopes]);
  const mine = server.client(key);
  await mine.products.create({ body: { name: "E-book", prices: fixed } });
  const { code, out, err } = await floe(["sandbox", "buy", "E-book", "--as", "ada@example.com", "--json"], {
    env: { ...env, FLOE_API_KEY: key },
  });
  expect([code, out, JSON.parse(err)]).toEqual([
    1,
    "",
    expect.objectContaining({
      error: "not_a_sandbox",
      hint: expect.stringContaining("floe orgs create NAME --sandbox") as string,
    }),
  ]);
  expect((await mine.checkouts.list({ query: {} })).items).toEqual([]);
});
