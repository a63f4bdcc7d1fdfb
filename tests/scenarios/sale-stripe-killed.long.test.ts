import { once } from "node:events";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import type { Floe, Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { startMortal } from "../support/mortal.ts";
import { spawnProgram } from "../support/programs.ts";
import { startOnPostgres } from "../support/races.ts";
import { type StripeStandIn, startStripe, type Trouble } from "../support/stripe-stand-in.ts";

/** A server ends at each call to Stripe, before it arrives and before it is answered: another one finishes or undoes what was begun. */

let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let settings: Record<string, string>;
let productId: string;
beforeAll(async () => {
  standIn = await startStripe();
  settings = {
    STRIPE_SECRET_KEY: "sk_test_1",
    STRIPE_PUBLISHABLE_KEY: "pk_test_1",
    STRIPE_WEBHOOK_SECRET: "whsec_of_these_tests",
    STRIPE_API_URL: standIn.url,
  };
  floe = await startOnPostgres({ settings });
  standIn.follow(floe.clock);
  seller = await floe.seller();
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  productId = (await seller.client.products.create({ body: { name: "Guide", prices } })).id;
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

/** A server of the same database with its worker, ended by Stripe's hand at this call: cut off, or really killed. */
async function startEnding(kind: Trouble, of: RegExp, how: "cut off" | "killed" = "cut off"): Promise<Ending> {
  const databaseUrl = String(floe.deps.config.DATABASE_URL);
  if (how === "cut off") {
    const { request, die, ended } = await startMortal({ databaseUrl, settings, worker: true });
    standIn.trouble(kind, { of, meanwhile: die });
    return { request, ended: () => ended };
  }
  const child = await spawnProgram("serving", [databaseUrl, JSON.stringify(settings)]);
  const exit = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  const { url } = JSON.parse(String(line)) as { url: string };
  standIn.trouble(kind, { of, meanwhile: () => child.kill("SIGKILL") });
  return {
    request: (method, path, { body }) =>
      fetch(url + path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    ended: async () => expect((await exit)[1]).toBe("SIGKILL"),
  };
}
type Ending = {
  request(method: string, path: string, sent: { body: object }): Promise<unknown>;
  ended(): Promise<void>;
};
const create = () => seller.client.checkouts.create({ body: { products: [productId] } });
const pay = (confirmation_token_id = "ctoken_visa") => ({
  customer_email: "buyer@example.com",
  customer_billing_address: { country: "FR" },
  confirmation_token_id,
});
const confirm = (secret: string, token?: string) =>
  floe.request("POST", `/v1/checkouts/client/${secret}/confirm`, { body: pay(token) });
const later = async (minutes: number) => {
  floe.clock.advance(minutes * 60_000);
  await floe.runJobs();
};
const paymentsOf = (checkout_id: string) =>
  floe.deps.db
    .select({ id: payments.id, created_at: payments.created_at })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .where(eq(orders.checkout_id, checkout_id))
    .orderBy(payments.created_at);
const intentsOf = async (checkout_id: string) => {
  const made = await paymentsOf(checkout_id);
  return [...standIn.intents.values()].filter((intent) => made.some(({ id }) => id === intent.metadata.payment_id));
};
/** How a checkout stands, and what Stripe has of it: what was taken, and what went back. */
const stateOf = async (checkout_id: string) => {
  const intents = await intentsOf(checkout_id);
  const back = [...standIn.refunds.values()].filter((one) => intents.some(({ id }) => id === one.payment_intent));
  return {
    checkout: (await seller.client.checkouts.get({ params: { id: checkout_id } })).status,
    orders: (await seller.client.orders.list({ query: { checkout_id } })).items.map(({ status }) => status),
    taken: intents.filter(({ status }) => status === "succeeded").map(({ amount }) => amount),
    back: back.map(({ amount }) => amount),
  };
};
const sold = { checkout: "succeeded", orders: ["paid"], taken: [1900], back: [] };

test.each([
  ["cut off", "unreached"],
  ["cut off", "lost"],
  ["killed", "lost"],
] as const)("%s while a card is charged, its answer %s", async (how, kind) => {
  const { id, client_secret } = await create();
  const mortal = await startEnding(kind, /^POST .*payment_intents$/, how);
  mortal.request("POST", `/v1/checkouts/client/${client_secret}/confirm`, { body: pay() }).catch(() => undefined);
  await mortal.ended();
  await later(3);
  if (kind === "unreached") {
    expect(await stateOf(id)).toEqual({ checkout: "open", orders: [], taken: [], back: [] });
    expect((await confirm(client_secret)).status).toBe(200);
  }
  expect(await stateOf(id)).toEqual(sold);
});

test("cut off while it asks what became of a charge", async () => {
  const { id, client_secret } = await create();
  standIn.trouble("lost", { times: 3 });
  await confirm(client_secret);
  expect((await stateOf(id)).checkout).toBe("confirmed");
  const [payment] = await paymentsOf(id);
  await floe.deps.db
    .update(payments)
    .set({ reconcile_due_at: new Date(0) })
    .where(eq(payments.id, payment?.id ?? ""));
  const mortal = await startEnding("lost", /^GET .*payment_intents$/);
  await mortal.ended();
  await later(5);
  expect(await stateOf(id)).toEqual(sold);
});

test.each(["unreached", "lost"] as const)("cut off while surplus money is given back, its answer %s", async (kind) => {
  const { id, client_secret } = await create();
  standIn.trouble("lost", { times: 3 });
  await confirm(client_secret);
  // It reached Stripe so late that nobody found it, and the buyer paid once more.
  const [late] = await intentsOf(id);
  if (!late) throw new Error("Stripe has no such intent.");
  standIn.intents.delete(late.id);
  await later(3);
  expect((await confirm(client_secret)).status).toBe(200);
  standIn.intents.set(late.id, late);
  const mortal = await startEnding(kind, /^POST .*refunds$/);
  const { body, signature } = standIn.notice(
    "payment_intent.succeeded",
    late,
    "whsec_of_these_tests",
    `evt_${newId()}`,
  );
  const headers = { "stripe-signature": signature };
  expect((await floe.request("POST", "/v1/integrations/stripe/webhook", { body, headers })).status).toBe(200);
  await mortal.ended();
  await later(20);
  expect(await stateOf(id)).toEqual({ ...sold, taken: [1900, 1900], back: [1900] });
});

test("cut off while a challenge that nobody answered is given up", async () => {
  const { id, client_secret } = await create();
  await confirm(client_secret, "ctoken_threeDSecure2Required");
  const [payment] = await paymentsOf(id);
  const long_ago = new Date((payment?.created_at.getTime() ?? 0) - 2 * 60 * 60_000);
  await floe.deps.db
    .update(payments)
    .set({ created_at: long_ago, reconcile_due_at: new Date(0) })
    .where(eq(payments.id, payment?.id ?? ""));
  const mortal = await startEnding("lost", /cancel$/);
  await mortal.ended();
  await later(5);
  expect((await intentsOf(id)).map(({ status }) => status)).toEqual(["canceled"]);
  expect(await stateOf(id)).toEqual({ checkout: "open", orders: [], taken: [], back: [] });
});
