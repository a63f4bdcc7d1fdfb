import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { sellSeats } from "../support/portal-rows.ts";
import { openShop } from "../support/story.ts";
import { floe as run } from "./support.ts";

/** Subscriptions, seats and refunds by what people call them: addresses and numbers of orders. */

let floe: Floe;
let shop: Awaited<ReturnType<typeof openShop>>;
let env: Record<string, string>;
let email: string;
let subscription: string;
beforeAll(async () => {
  floe = await start({ listen: true });
  shop = await openShop(floe, "2027-01-04");
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: shop.seller.key };
  subscription = await shop.subscribes(await shop.sells("News", 1900));
  email = (await shop.get(subscription)).customer.email ?? "";
});
afterAll(() => floe.close());

const typed = (...argv: string[]) => run(argv, { env, tty: true, columns: 100 });
const piped = async (...argv: string[]) => {
  const { code, out, err } = await run(argv, { env });
  expect([code, err]).toEqual([0, expect.any(String)]);
  return JSON.parse(out) as Record<string, unknown>;
};
const uuid = /[\da-f]{8}-[\da-f]{4}-/;

test("a subscription is named by its customer, and of several by customer and product", async () => {
  expect(await piped("subscriptions", "get", email)).toMatchObject({ id: subscription });
  expect(await piped("subscriptions", "get", `${email} News`)).toMatchObject({ id: subscription });
  expect(await piped("subscriptions", "get", `${email} news`)).toMatchObject({ id: subscription });
  const shown = (await typed("subscriptions", "get", email)).out;
  expect(shown).toContain("$19.00 a month");
  expect(shown).not.toMatch(/^(customer|product) id/m);
  const { err, code } = await typed("subscriptions", "get", `${email} Pro`);
  expect([code, err]).toEqual([6, expect.stringContaining(`there is no subscription "${email} Pro"`)]);
  const stranger = await typed("subscriptions", "get", "nobody@example.com");
  expect([stranger.code, stranger.err]).toEqual([6, expect.stringContaining("nobody@example.com")]);
  // Of what has ended nothing is meant while something runs.
  await run(["subscriptions", "revoke", email, "--yes"], { env });
  const customer_id = (await shop.get(subscription)).customer_id;
  const free = await shop.seller.client.products.create({
    body: { name: "Free", recurring_interval: "month", prices: [{ amount_type: "free" }] },
  });
  const next = await shop.seller.client.subscriptions.create({ body: { product_id: free.id, customer_id } });
  expect(await piped("subscriptions", "get", email)).toMatchObject({ id: next.id });
  const other = await shop.seller.client.products.create({
    body: { name: "Extra", recurring_interval: "month", prices: [{ amount_type: "free" }] },
  });
  await shop.seller.client.organizations.update({
    params: { id: shop.seller.organization_id },
    body: {
      subscription_settings: {
        allow_multiple_subscriptions: true,
        allow_customer_updates: true,
        proration_behavior: "prorate",
      },
    },
  });
  const extra = await shop.seller.client.subscriptions.create({ body: { product_id: other.id, customer_id } });
  const unclear = await typed("subscriptions", "cancel", email, "--yes");
  expect([unclear.code, unclear.err]).toEqual([64, expect.stringContaining(`${extra.id} (${email} Extra)`)]);
  expect(await piped("subscriptions", "cancel", `${email} Extra`, "--yes")).toMatchObject({ id: extra.id });
});

test("another seller's subscription is nobody's", async () => {
  const stranger = await floe.seller();
  const theirs = { FLOE_SERVER: floe.url, FLOE_API_KEY: stranger.key };
  expect((await run(["subscriptions", "get", email], { env: theirs })).code).toBe(6);
  const [order] = (await shop.seller.client.orders.list({ query: {} })).items;
  const listed = await stranger.client.orders.list({ query: { id: [order?.id ?? ""] } });
  expect(listed.items).toEqual([]);
  expect((await run(["refunds", "get", order?.invoice_number ?? ""], { env: theirs })).code).toBe(6);
});

test("refunds are listed and read by the number of their order, which tables show in place of ids", async () => {
  await shop.subscribes(await shop.sells("Atlas", 900));
  const { items } = await shop.seller.client.orders.list({ query: { limit: 100 } });
  const [first] = items;
  expect(items.length).toBeGreaterThan(1);
  const found = await shop.seller.client.orders.list({ query: { id: [first?.id ?? ""] } });
  expect(found.items.map(({ id }) => id)).toEqual([first?.id]);
  const number = items.find(({ total_amount }) => total_amount > 0)?.invoice_number ?? "";
  const none = await typed("refunds", "get", number);
  expect([none.code, none.err]).toEqual([0, expect.stringContaining(`Nothing was refunded of ${number}.`)]);
  const argv = ["refunds", "create", "--order-id", number, "--amount", "5.00", "--reason", "other", "--yes"];
  const { id } = await piped(...argv);
  const table = (await typed("refunds", "list")).out;
  expect(table).toMatch(new RegExp(`^ORDER +AMOUNT .*\n${number} +\\$5\\.00`));
  expect((await typed("payments", "list")).out).toContain(number);
  expect(await piped("refunds", "list", "--order-id", number)).toMatchObject([{ id }]);
  expect(await piped("refunds", "get", number)).toMatchObject([{ id, amount: 500 }]);
  expect(await piped("refunds", "get", String(id), "--json", "id,amount")).toEqual({ id, amount: 500 });
  expect((await typed("refunds", "get", String(id))).out).toMatch(new RegExp(`order number +${number}`));
  expect((await typed("refunds", "get", shop.seller.organization_id)).code).toBe(6);
  // In a pipe nothing is added to what the server says.
  expect(Object.keys((await piped("refunds", "list"))[0] as object)).not.toContain("order_number");
  // A key that may not read orders shows ids.
  const key = await floe.keyOf(shop.seller, ["refunds:read"]);
  const narrow = await run(["refunds", "list"], { env: { ...env, FLOE_API_KEY: key }, tty: true, columns: 120 });
  expect([narrow.code, narrow.out]).toEqual([0, expect.stringMatching(uuid)]);
});

test("a seat is named by its holder and what it is of", async () => {
  const { subscription_id } = await sellSeats(floe, shop.seller, 3);
  const payer = (await shop.get(subscription_id)).customer.email ?? "";
  await run(["seats", "assign", "--subscription-id", payer, "--email", "lin@example.com"], { env });
  expect((await typed("seats", "list", "--subscription-id", payer)).out).toContain("lin@example.com");
  const unclear = await typed("seats", "resend", "lin@example.com");
  expect([unclear.code, unclear.err]).toEqual([64, expect.stringContaining("--of")]);
  const wrong = await typed("seats", "resend", "bob@example.com", "--of", payer);
  expect([wrong.code, wrong.err]).toEqual([6, expect.stringContaining("There are: lin@example.com")]);
  expect((await typed("seats", "resend", "LIN@example.com", "--of", payer)).err).toContain("Sent again");
  expect((await typed("seats", "revoke", "lin@example.com", "--of", payer, "--yes")).err).toContain("Revoked the seat");
  const gone = await typed("seats", "revoke", "lin@example.com", "--of", payer, "--yes");
  expect([gone.code, gone.err]).toEqual([6, expect.stringContaining("Nobody holds one.")]);
});
