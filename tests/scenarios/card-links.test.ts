import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { linkDocument } from "../../server/billing/invoices/links.ts";
import { payments } from "../../server/billing/payments/tables.ts";
import { linkCard } from "../../server/billing/subscriptions/card-link.ts";
import { customers } from "../../server/customers/customers/tables.ts";
import { seal } from "../../server/platform/crypto/secrets.ts";
import type { CardLink } from "../../shared/api/card-links.ts";
import { type Floe, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";

/** The link in the mail of a payment that failed: another card, charged at once, and from then on. */

let floe: Floe;
/** Whether the server dies as soon as the processor has answered. */
let dies = false;
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async confirm(charge) {
          const intent = await processor.confirm(charge);
          if (dies) throw new Error("The server is gone.");
          return intent;
        },
      },
    }),
  });
});
afterAll(() => floe?.close());
afterEach(() => {
  if (!dies) expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
  dies = false;
  floe.logged.length = 0;
});

const buyer = { customer_billing_address: { country: "ES" } };
/** A subscription whose first payment after its trial was refused, and the link that its customer got. */
async function unpaid(product: Record<string, unknown> = {}) {
  const shop = await openShop(floe, "2027-01-04");
  const trial = { trial_interval: "day", trial_interval_count: 2 };
  const id = await shop.subscribes(await shop.sells("News", 1900, { ...trial, ...product }), {
    card: cards.failing,
    buyer,
  });
  await shop.on("2027-01-06");
  const { customer } = await shop.get(id);
  const link = await linkTo(floe, customer.email ?? "", "/card/");
  const token = link.split("/").at(-1) ?? "";
  await shop.told();
  return { shop, id, customer, token, link };
}
const get = async (token: string) => {
  const { status, json } = await floe.request("GET", `/v1/card-links/${token}`);
  return { status, json: json as CardLink & { error?: string; next_payment_attempt_at: string; deadline_at: string } };
};
const pay = async (token: string, confirmation_token_id = "pm_card_mastercard") => {
  const { status, json } = await floe.request("POST", `/v1/card-links/${token}/confirm`, {
    body: { confirmation_token_id },
  });
  return { status, json: json as CardLink & { error?: string; detail?: string } };
};
const paymentsOf = async (customer_id: string) => {
  const rows = await floe.deps.db
    .select()
    .from(payments)
    .where(eq(payments.customer_id, customer_id))
    .orderBy(payments.id);
  return rows.map(({ status, trigger }) => `${trigger} ${status}`);
};

describe("the link", () => {
  test("shows what failed, with the same times as the seller's API, and takes another card at once and for good", async () => {
    const { shop, id, customer, token } = await unpaid();
    const { status, json } = await get(token);
    const { payment_retries } = await shop.get(id);
    expect([status, json]).toEqual([
      200,
      {
        status: "open",
        ended_at: null,
        product_name: "News",
        organization: { name: expect.any(String), email: null, website: null, logo_url: null, accent_color: null },
        currency: "usd",
        due_amount: 1900,
        next_payment_attempt_at: payment_retries?.orders[0]?.next_payment_attempt_at.toISOString(),
        deadline_at: payment_retries?.deadline_at.toISOString(),
        card: { brand: "visa", last4: "0341", exp_month: expect.any(Number), exp_year: expect.any(Number) },
        locale: null,
        publishable_key: null,
        intent_client_secret: null,
        is_payment_available: true,
      },
    ]);
    const paid = await pay(token);
    expect([paid.status, paid.json.status, paid.json.due_amount, paid.json.card?.last4]).toEqual([
      200,
      "paid",
      0,
      "4444",
    ]);
    expect(await shop.told()).toEqual([
      "subscription.updated",
      "subscription.active",
      "order.updated paid",
      "order.paid paid",
    ]);
    expect(await shop.get(id)).toMatchObject({ status: "active", past_due_at: null, payment_retries: null });
    // From now on it is the card that is charged.
    await shop.on("2027-02-06");
    expect(await shop.orders(id)).toContain("2027-02-06 cycle 1900 paid");
    expect(await paymentsOf(customer.id)).toEqual([
      "subscription_cycle failed",
      "retry_payment_method_update succeeded",
      "subscription_cycle succeeded",
    ]);
    const again = await pay(token);
    expect([again.status, again.json.error]).toEqual([410, "ResourceUnavailable"]);
    expect((await get(token)).json.status).toBe("paid");
  });

  test("a card that is refused is not kept, and counts for nothing in the schedule", async () => {
    const { shop, id, token, customer } = await unpaid();
    const before = (await shop.get(id)).payment_retries;
    const refused = await pay(token, "pm_card_chargeDeclined");
    expect([refused.status, refused.json.error, refused.json.detail]).toEqual([
      400,
      "PaymentError",
      "Your card was declined.",
    ]);
    expect((await shop.get(id)).payment_retries).toEqual(before);
    expect((await get(token)).json).toMatchObject({ status: "open", card: { last4: "0341" } });
    expect(await mailsTo(floe, customer.email ?? "")).toHaveLength(2);
    expect((await pay(token, "nothing")).status).toBe(400);
    expect((await pay(token)).json.status).toBe("paid");
  });

  test("a bank that asks is answered, also after the page was loaded anew", async () => {
    const { shop, id, token } = await unpaid();
    const asked = await pay(token, "pm_card_threeDSecureRequired");
    expect([asked.status, asked.json.status]).toEqual([200, "paying"]);
    const { intent_client_secret } = (await get(token)).json;
    expect(intent_client_secret).toBe(asked.json.intent_client_secret);
    expect((await pay(token)).json.error).toBe("PaymentAlreadyInProgress");
    const path = `/v1/payment-processor/test/intents/${intent_client_secret}/authenticate`;
    expect((await floe.request("POST", path, { body: { approved: true } })).status).toBe(200);
    expect((await get(token)).json).toMatchObject({ status: "paid", card: { last4: "3063" } });
    expect((await shop.get(id)).status).toBe("active");
  });

  test("what else is unpaid is charged to the same card at once", async () => {
    const { shop, id, token } = await unpaid({ recurring_interval: "week" });
    await shop.on("2027-01-13T12:00:00Z");
    expect((await get(token)).json.due_amount).toBe(3800);
    expect((await pay(token)).json).toMatchObject({ status: "paid", due_amount: 0 });
    expect((await shop.orders(id)).map((line) => line.split(" ").at(-1))).toEqual(["paid", "paid", "paid"]);
    expect((await shop.get(id)).status).toBe("active");
  });
});

describe("the link is for whom it was sent to, for a while", () => {
  test("guessed, cut, of another kind, of another secret, of another customer or organization: there is nothing", async () => {
    const { shop, id, customer, token } = await unpaid();
    const { config } = floe.deps;
    const organization_id = shop.seller.organization_id;
    const now = floe.clock.now();
    const tokenOf = (url: string) => url.split("/").at(-1) ?? "";
    const other = await openShop(floe, "2027-01-04");
    const own = { organization_id, id, customer_id: customer.id };
    const forged = linkCard({ ...config, secret: "another secret, long enough to be one" }, own, now);
    const wrong = [
      "guessed",
      "__proto__",
      "%00",
      token.slice(0, -4),
      token.replace(/.(?=.{5}$)/, (one) => (one === "x" ? "y" : "x")),
      tokenOf(forged.url),
      tokenOf(linkDocument(config, { organization_id, order_id: id, kind: "invoice" }, now)),
      tokenOf(linkCard(config, { ...own, organization_id: other.seller.organization_id }, now).url),
      tokenOf(linkCard(config, { ...own, customer_id: newId() }, now).url),
      seal(config.secret, "document-link", "", JSON.stringify([organization_id, id, customer.id, 9e15, null])),
    ];
    for (const one of wrong) {
      expect([one, (await get(one)).status]).toEqual([one, 404]);
      expect([one, (await pay(one)).status]).toEqual([one, 404]);
    }
    expect(await paymentsOf(customer.id)).toEqual(["subscription_cycle failed"]);
    const old = linkCard(config, own, new Date(now.getTime() - 31 * 24 * 60 * 60 * 1000));
    expect((await get(tokenOf(old.url))).json.error).toBe("ResourceUnavailable");
    expect((await pay(tokenOf(old.url))).json.error).toBe("ResourceUnavailable");
  });

  test("ended, it says so and takes nothing; of a customer who was deleted or erased there is nothing", async () => {
    const { shop, id, customer, token } = await unpaid();
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    expect((await get(token)).json).toMatchObject({ status: "ended", due_amount: 0 });
    expect((await pay(token)).json.error).toBe("ResourceUnavailable");
    await floe.deps.db.update(customers).set({ anonymized_at: floe.clock.now() }).where(eq(customers.id, customer.id));
    expect((await get(token)).status).toBe(404);
    const gone = await unpaid();
    await gone.shop.accepted("DELETE", `/v1/customers/${gone.customer.id}`);
    for (const ask of [get, pay]) expect((await ask(gone.token)).status).toBe(404);
  });

  test("a hundred at once charge once", async () => {
    const { customer, token } = await unpaid();
    const all = await Promise.all(Array.from({ length: 100 }, () => pay(token)));
    const known = ["PaymentAlreadyInProgress", "ResourceUnavailable", "SubscriptionLocked"];
    for (const { status, json } of all) if (status !== 200) expect(known).toContain(json.error);
    expect(all.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    const made = await paymentsOf(customer.id);
    expect(made.filter((one) => one.endsWith("succeeded"))).toEqual(["retry_payment_method_update succeeded"]);
  });

  test("a server that dies with the processor's answer leaves a payment that is found, and a card that is charged", async () => {
    const { shop, id, customer, token } = await unpaid();
    dies = true;
    expect((await pay(token)).json.status).toBe("paying");
    await shop.on("2027-01-06T00:05:00Z");
    expect(await paymentsOf(customer.id)).toEqual([
      "subscription_cycle failed",
      "retry_payment_method_update succeeded",
    ]);
    expect((await get(token)).json).toMatchObject({ status: "paid", card: { last4: "4444" } });
    expect((await shop.get(id)).status).toBe("active");
  });
});
