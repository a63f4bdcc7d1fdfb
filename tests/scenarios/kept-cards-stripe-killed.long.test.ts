import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { paymentMethods } from "../../server/billing/payments/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { watchStatements } from "../support/statements.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/**
 * A server that dies at each of its calls by which Stripe keeps a card or charges one that is kept: before Stripe has the call,
 * or after Stripe has done it. From then on nothing that it says reaches Stripe or the database; then it starts anew. Whatever
 * happened, in the end there is one customer, one card and one charge there, and one order and one subscription here.
 */

let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let products: Record<"trial" | "paid", string>;
beforeAll(async () => {
  standIn = await startStripe();
  floe = await start({
    settings: {
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_PUBLISHABLE_KEY: "pk_test_1",
      STRIPE_API_URL: standIn.url,
    },
  });
  standIn.follow(floe.clock);
  seller = await floe.seller();
  const month = {
    recurring_interval: "month" as const,
    prices: [{ amount_type: "fixed" as const, price_amount: 1900 }],
  };
  const trial = { trial_interval: "day" as const, trial_interval_count: 7 };
  products = {
    trial: (await seller.client.products.create({ body: { name: "Club", ...month, ...trial } })).id,
    paid: (await seller.client.products.create({ body: { name: "Circle", ...month } })).id,
  };
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

/** Have the server die at its next call of this kind; `restart` has it begin anew. */
function killAt(of: RegExp, when: "before" | "after") {
  let isDead = false;
  const watch = watchStatements(floe, () => {
    if (isDead) throw new Error("killed");
  });
  const meanwhile = () => {
    isDead = true;
    standIn.trouble("unreached", { of: /./, times: 999 });
  };
  standIn.trouble(when === "before" ? "unreached" : "lost", { of, meanwhile });
  return {
    restart() {
      expect(isDead, "it did not get there").toBe(true);
      watch.stop();
      standIn.calm();
    },
  };
}
const settle = async (minutes: number) => {
  for (let turn = 0; turn < 3; turn += 1) {
    floe.clock.advance((minutes / 3) * 60_000);
    await floe.runJobs();
  }
};

let buyers = 0;
async function open(kind: keyof typeof products) {
  buyers += 1;
  const customer_email = `buyer-${buyers}@example.com`;
  const body = { products: [products[kind]], customer_email, customer_billing_address: { country: "FR" as const } };
  const { id, client_secret } = await seller.client.checkouts.create({ body });
  const path = `/v1/checkouts/client/${client_secret}/confirm`;
  return { id, confirm: () => floe.request("POST", path, { body: { confirmation_token_id: "ctoken_visa" } }) };
}
const statusOf = async (id: string) => (await seller.client.checkouts.get({ params: { id } })).status;
const outcome = async (checkout_id: string) => {
  const { items } = await seller.client.orders.list({ query: { checkout_id } });
  const customer_id = items[0]?.customer_id ?? "";
  const of = [...standIn.customers.values()].filter(
    ({ metadata }) => (metadata as { customer_id?: string }).customer_id === customer_id,
  );
  const theirs = new Set<unknown>(of.map(({ id }) => id));
  const done = (all: Iterable<{ customer?: unknown; status: string }>) =>
    [...all].filter(({ customer, status }) => theirs.has(customer) && status === "succeeded").length;
  const kept = await floe.deps.db.select().from(paymentMethods).where(eq(paymentMethods.customer_id, customer_id));
  const subscriptions = await seller.client.subscriptions.list({ query: { customer_id: [customer_id] } });
  return {
    orders: items.map(({ status, total_amount }) => `${status} ${total_amount}`),
    subscriptions: subscriptions.items.map(({ status }) => status),
    cards: kept.length,
    at_stripe: { customers: of.length, set_up: done(standIn.setups.values()), charged: done(standIn.intents.values()) },
  };
};

const calls = {
  "looks for the customer": /GET \/v1\/customers\/search/,
  "makes the customer": /POST \/v1\/customers$/,
};
describe.each([
  [
    "trial",
    { ...calls, "keeps the card": /POST \/v1\/setup_intents$/ },
    { orders: ["paid 0"], subscriptions: ["trialing"], cards: 1, at_stripe: { customers: 1, set_up: 1, charged: 0 } },
  ],
  [
    "paid",
    { ...calls, "charges and keeps the card": /POST \/v1\/payment_intents$/ },
    { orders: ["paid 1900"], subscriptions: ["active"], cards: 1, at_stripe: { customers: 1, set_up: 0, charged: 1 } },
  ],
] as const)("a %s subscription", (kind, steps, expected) => {
  test.each(
    Object.keys(steps).flatMap(
      (name) =>
        [
          [name, "before"],
          [name, "after"],
        ] as const,
    ),
  )("begins once where the server dies as it %s: %s Stripe does", async (name, when) => {
    const checkout = await open(kind);
    const kill = killAt(steps[name as keyof typeof steps], when);
    // What Stripe has made of it nobody knows by then.
    await checkout.confirm();
    kill.restart();
    expect(await statusOf(checkout.id)).toBe("confirmed");
    await settle(15);
    // What Stripe has not done is given up, and the buyer tries again.
    const isDone = when === "after" && !(name in calls);
    expect(await statusOf(checkout.id)).toBe(isDone ? "succeeded" : "open");
    if (!isDone) expect((await checkout.confirm()).status).toBe(200);
    await settle(15);
    expect(await outcome(checkout.id)).toEqual(expected);
  });
});

test.each(["before", "after"] as const)(
  "a renewal is charged once where the server dies %s Stripe does",
  async (when) => {
    const checkout = await open("paid");
    expect((await checkout.confirm()).status).toBe(200);
    await floe.runJobs();
    const [first] = (await seller.client.orders.list({ query: { checkout_id: checkout.id } })).items;
    const customer_id = [first?.customer_id ?? ""];
    floe.clock.advance(32 * 86_400_000);
    const kill = killAt(/POST \/v1\/payment_intents$/, when);
    await floe.runJobs().catch(() => undefined);
    kill.restart();
    const charged = () =>
      [...standIn.intents.values()].filter(
        ({ status, metadata, amount }) =>
          status === "succeeded" && amount === 1900 && metadata.organization_id === seller.organization_id,
      );
    for (let day = 0; day < 8; day += 1) await settle(24 * 60);
    const { items } = await seller.client.orders.list({ query: { customer_id } });
    expect(items.map(({ status, billing_reason }) => `${billing_reason} ${status}`).sort()).toEqual([
      "subscription_create paid",
      "subscription_cycle paid",
    ]);
    const paid = await seller.client.payments.list({ query: { customer_id, status: ["succeeded"] } as never });
    const theirs = new Set(
      (await Promise.all(items.map(({ id }) => seller.client.payments.list({ query: { order_id: [id] } })))).flatMap(
        ({ items: some }) => some.map(({ id }) => id),
      ),
    );
    expect(charged().filter(({ metadata }) => theirs.has(metadata.payment_id ?? ""))).toHaveLength(2);
    expect(paid.items.filter(({ status }) => status === "succeeded")).toHaveLength(2);
    const { items: subscriptions } = await seller.client.subscriptions.list({ query: { customer_id } });
    expect(subscriptions.map(({ status }) => status)).toEqual(["active"]);
  },
);
