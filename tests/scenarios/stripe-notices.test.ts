import { readFileSync } from "node:fs";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orders } from "../../server/billing/orders/tables.ts";
import { payments, processorEvents } from "../../server/billing/payments/tables.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type StripeStandIn, startStripe } from "../support/stripe-stand-in.ts";

/** What Stripe tells, and what others tell in its name: believed only where it is Stripe's own and about a payment as it is. */

const webhookSecret = "whsec_of_these_tests";
let floe: Floe;
let seller: Seller;
let standIn: StripeStandIn;
let productId: string;
beforeAll(async () => {
  standIn = await startStripe();
  floe = await start({
    settings: {
      STRIPE_SECRET_KEY: "sk_test_1",
      STRIPE_PUBLISHABLE_KEY: "pk_test_1",
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_URL: standIn.url,
    },
  });
  standIn.follow(floe.clock);
  seller = await floe.seller();
  const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
  productId = (await seller.client.products.create({ body: { name: "Field guide", prices } })).id;
});
afterAll(async () => {
  await floe?.close();
  await standIn?.close();
});

const post = (body: string, signature?: string) =>
  floe.request("POST", "/v1/integrations/stripe/webhook", {
    body,
    headers: signature === undefined ? {} : { "stripe-signature": signature },
  });
const send = (event: object) => {
  const { body, signature } = standIn.sign(event, webhookSecret);
  return post(body, signature);
};
const notify = (type: string, intent: object, more: Record<string, unknown> = {}) => {
  const { body, signature } = standIn.notice(type, intent, webhookSecret, `evt_${newId()}`, more);
  return post(body, signature);
};
const outcome = async (checkout_id: string) => ({
  status: (await seller.client.checkouts.get({ params: { id: checkout_id } })).status,
  orders: (await seller.client.orders.list({ query: { checkout_id } })).items.length,
  payments: (await seller.client.payments.list({ query: { checkout_id } })).items.map(({ status }) => status),
});
const sold = { status: "succeeded", orders: 1, payments: ["succeeded"] };
const waiting = { status: "confirmed", orders: 0, payments: ["pending"] };

/** A checkout whose buyer is asked by the bank, and its intent at Stripe. */
async function ask() {
  const checkout = await seller.client.checkouts.create({ body: { products: [productId] } });
  const body = {
    customer_email: "buyer@example.com",
    customer_billing_address: { country: "FR" },
    confirmation_token_id: "ctoken_threeDSecure2Required",
  };
  await floe.request("POST", `/v1/checkouts/client/${checkout.client_secret}/confirm`, { body });
  const [payment] = await floe.deps.db
    .select({ id: payments.id })
    .from(payments)
    .innerJoin(orders, eq(orders.id, payments.order_id))
    .where(eq(orders.checkout_id, checkout.id));
  const intent = [...standIn.intents.values()].find(({ metadata }) => metadata.payment_id === payment?.id);
  if (!intent) throw new Error("Stripe has no such intent.");
  const events = () => standIn.eventsOf(/^payment_intent/).filter(({ data }) => data.object.id === intent.id);
  return { id: checkout.id, intent, events };
}

describe("what Stripe tells", () => {
  test("CHK-51: the sale is made once Stripe has said so, and once only", async () => {
    const { id, intent, events } = await ask();
    standIn.authenticate(intent.client_secret, true);
    const succeeded = events().at(-1);
    expect(succeeded?.type).toBe("payment_intent.succeeded");
    for (let times = 0; times < 3; times += 1)
      expect((await send(succeeded as object)).json).toEqual({ received: true });
    expect(await outcome(id)).toEqual(waiting);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(sold);
    const kept = await floe.deps.db
      .select()
      .from(processorEvents)
      .where(eq(processorEvents.id, succeeded?.id ?? ""));
    expect(kept).toHaveLength(1);
    // Told again long after, and by another event.
    const before = standIn.requests.length;
    await send(succeeded as object);
    await notify("payment_intent.succeeded", intent);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(sold);
    expect(standIn.requests.slice(before).filter(({ method }) => method === "POST")).toEqual([]);
  });

  test("all that it told of a sale, in any order, each twice, at the same time", async () => {
    const { id, intent, events } = await ask();
    standIn.authenticate(intent.client_secret, true);
    const told = events();
    expect(told.map(({ type }) => type)).toEqual([
      "payment_intent.created",
      "payment_intent.requires_action",
      "payment_intent.succeeded",
    ]);
    const answers = await Promise.all([...told.toReversed(), ...told].map(send));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await Promise.all([floe.runJobs(), floe.runJobs()]);
    expect(await outcome(id)).toEqual(sold);
  });

  test("what a notice says is not believed but asked for: a failure told late does not undo a success", async () => {
    const { id, intent } = await ask();
    standIn.authenticate(intent.client_secret, true);
    for (let times = 0; times < 2; times += 1) {
      await notify("payment_intent.payment_failed", { ...intent, status: "requires_payment_method" });
      await floe.runJobs();
      expect(await outcome(id)).toEqual(sold);
    }
  });

  test("nor does a success that there was not make a sale", async () => {
    const { id, intent } = await ask();
    await notify("payment_intent.succeeded", { ...intent, status: "succeeded" });
    await floe.runJobs();
    expect(await outcome(id)).toEqual(waiting);
  });

  test("CHK-55: a refused challenge opens the checkout again", async () => {
    const { id, intent, events } = await ask();
    standIn.authenticate(intent.client_secret, false);
    await send(events().at(-1) as object);
    await floe.runJobs();
    expect(await outcome(id)).toEqual({ status: "open", orders: 0, payments: ["failed"] });
  });

  test("one that could not be written down is not said to be received, and works when it is sent again", async () => {
    const { id, intent, events } = await ask();
    standIn.authenticate(intent.client_secret, true);
    const refunded = { id: "re_1", object: "refund", payment_intent: intent.id, metadata: {} };
    const notice = standIn.notice("refund.created", refunded, webhookSecret, `evt_${newId()}`);
    standIn.trouble("unreached", { of: /^GET .*payment_intents/, times: 3 });
    expect((await post(notice.body, notice.signature)).status).toBeGreaterThanOrEqual(500);
    expect((await post(notice.body, notice.signature)).status).toBe(200);
    await send(events().at(-1) as object);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(sold);
  });
});

test("the events that an operator is told to subscribe to are those that are understood", () => {
  const named = [...readFileSync("docs/payments.md", "utf8").matchAll(/^- `([\w.]+)`$/gm)].map(([, name]) => name);
  const read = readFileSync("server/platform/processors/stripe-events.ts", "utf8").matchAll(/case "([\w.]+)":/g);
  expect(named.sort()).toEqual([...read].map(([, name]) => name).sort());
  expect(named.length).toBeGreaterThan(10);
});

describe("what is not Stripe's word about this payment", () => {
  const succeed = async () => {
    const asked = await ask();
    standIn.authenticate(asked.intent.client_secret, true);
    return asked;
  };
  const logOf = async (work: () => Promise<unknown>) => {
    const before = floe.logged.length;
    await work();
    await floe.runJobs();
    return floe.logged.slice(before).join("\n");
  };

  test("unsigned, signed by another, changed on its way, or older than five minutes: refused, and logged", async () => {
    const { id, events } = await succeed();
    const event = events().at(-1) as object;
    const { body, signature } = standIn.sign(event, webhookSecret);
    const minutes_ago = (minutes: number) => Math.floor(Date.now() / 1000) - minutes * 60;
    const old = standIn.sign(event, webhookSecret, minutes_ago(6)).signature;
    const log = await logOf(async () => {
      for (const wrong of [
        undefined,
        "",
        "t=1,v1=00",
        "nonsense",
        standIn.sign(event, "whsec_another").signature,
        signature.replace(/v1=./, "v1=x"),
        signature.replace("v1=", "v0="),
        old,
      ])
        expect((await post(body, wrong)).status, wrong).toBe(403);
      expect((await post(body.replace("succeeded", "canceled"), signature)).status).toBe(403);
      expect((await post(`${body} `, signature)).status).toBe(403);
    });
    expect(log).toContain("signature");
    expect(await outcome(id)).toEqual(waiting);
    // Up to five minutes may lie between Stripe's clock and ours; while the secret is changed, Stripe signs by both.
    const late = standIn.sign(event, webhookSecret, minutes_ago(4)).signature;
    const other = standIn.sign(event, "whsec_earlier").signature.replace(/^.*,/, "");
    expect((await post(body, `${late},${other}`)).status).toBe(200);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(sold);
  });

  test.each([
    ["another account", { account: "acct_another" }],
    ["the other mode", { livemode: true }],
  ])("of %s: left aside, and logged", async (_name, more) => {
    const { id, intent } = await succeed();
    const log = await logOf(() => notify("payment_intent.succeeded", intent, more));
    expect(log).toMatch(/warn An event of another account/);
    expect(await outcome(id)).toEqual(waiting);
    expect(
      await floe.deps.db.select().from(processorEvents).where(eq(processorEvents.processor_id, intent.id)),
    ).toEqual([]);
  });

  test.each([
    ["another amount", () => ({ amount: 1 })],
    ["another currency", () => ({ currency: "jpy" })],
    ["another seller's", (metadata: object) => ({ metadata: { ...metadata, organization_id: newId() } })],
  ])("an intent of %s: nothing is sold by it, and the operator is told", async (_name, patch) => {
    const { id, intent } = await succeed();
    const own = structuredClone(intent);
    Object.assign(intent, patch(own.metadata));
    const log = await logOf(() => notify("payment_intent.succeeded", own));
    expect(log).toMatch(new RegExp(`warn .*names another .*${intent.id}`, "s"));
    expect(await outcome(id)).toEqual(waiting);
  });

  test("one that names another intent for our payment does not move it", async () => {
    const { id, intent } = await ask();
    await logOf(() => notify("payment_intent.succeeded", { ...intent, id: "pi_stranger", status: "succeeded" }));
    expect(await outcome(id)).toEqual(waiting);
    // The bank's answer to the right one still counts.
    standIn.authenticate(intent.client_secret, true);
    await notify("payment_intent.succeeded", intent);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(sold);
  });

  test("those about what others made there are received, and mean nothing", async () => {
    const { id, intent } = await succeed();
    for (const metadata of [{}, { payment_id: "theirs" }, { ...intent.metadata, payment_id: newId() }])
      expect((await notify("payment_intent.succeeded", { ...intent, metadata })).status).toBe(200);
    expect((await notify("customer.created", { id: "cus_1", object: "customer" })).status).toBe(200);
    await floe.runJobs();
    expect(await outcome(id)).toEqual(waiting);
  });

  test("a huge one is refused unread; an odd one, though signed, changes nothing and is never a failure", async () => {
    expect((await post("x".repeat(2 * 1024 * 1024), "t=1,v1=00")).status).toBe(413);
    for (const body of [
      "",
      "null",
      "[]",
      "{}",
      "{",
      '{"type":"payment_intent.succeeded"}',
      '{"__proto__":{"type":"x"}}',
    ]) {
      const header = standIn.sign({}, webhookSecret).signature;
      expect((await post(body, header)).status, body).toBeLessThan(500);
      const { signature } = standIn.signText(body, webhookSecret);
      expect((await post(body, signature)).status, body).toBeLessThan(500);
    }
  });
});
