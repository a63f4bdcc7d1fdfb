import { and, eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { paymentMethods, paymentSetups, payments } from "../../server/billing/payments/tables.ts";
import type { CardLink } from "../../shared/api/card-links.ts";
import { type Floe, start } from "../support/floe.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { openShop } from "../support/story.ts";

/** A card that is about to expire: told of once, and replaced by the link of that mail, without anything being charged. */

let floe: Floe;
/** Whether the server dies as soon as the processor has kept a card. */
let dies = false;
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async saveMethod(attempt) {
          const outcome = await processor.saveMethod(attempt);
          if (dies) throw new Error("The server is gone.");
          return outcome;
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

const spain = { customer_billing_address: { country: "ES" } };
const subject = "The card for your subscription to News is about to expire";

/** A card on which a month stands. */
async function cardOf(exp_month: number, exp_year: number): Promise<string> {
  const card = { number: "4242424242424242", exp_month, exp_year, cvc: "123" };
  const { json } = await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body: { card } });
  return (json as { id: string }).id;
}
async function subscribed({ product = {}, buyer = {}, price = 1900 } = {}) {
  const shop = await openShop(floe, "2027-01-04");
  const news = await shop.sells("News", price, product);
  const id = await shop.subscribes(news, { card: await cardOf(3, 2027), buyer: { ...spain, ...buyer } });
  const { customer } = await shop.get(id);
  const email = customer.email ?? "";
  const warnings = async () =>
    (await mailsTo(floe, email)).filter(
      ({ text }) => text.includes("•••• 4242") && text.includes("2027") && text.includes("/card/"),
    );
  const link = async () => (await linkTo(floe, email, "/card/")).split("/").at(-1) ?? "";
  await shop.told();
  return { shop, id, customer, email, warnings, link };
}
const get = async (token: string) => (await floe.request("GET", `/v1/card-links/${token}`)).json as CardLink;
const leave = async (token: string, confirmation_token_id = "pm_card_mastercard") => {
  const { status, json } = await floe.request("POST", `/v1/card-links/${token}/confirm`, {
    body: { confirmation_token_id },
  });
  return { status, json: json as CardLink & { error?: string; detail?: string } };
};

test("is told once as its last month begins; another one is kept by the link, charged for nothing now, and from then on", async () => {
  const { shop, id, customer, warnings, link } = await subscribed();
  await shop.on("2027-02-28T23:59:00Z");
  expect(await warnings()).toEqual([]);
  await shop.on("2027-03-01");
  const [mail, ...more] = await warnings();
  expect([mail?.subject, more]).toEqual([subject, []]);
  for (const words of [
    "Your card Visa •••• 4242 expires at the end of March 2027. It pays for your subscription to News",
    "Leave another card, so that your subscription goes on.",
  ])
    expect(mail?.text).toContain(words);
  const token = await link();
  expect(await get(token)).toMatchObject({
    status: "expiring",
    product_name: "News",
    due_amount: 0,
    deadline_at: null,
    card: { brand: "visa", last4: "4242", exp_month: 3, exp_year: 2027 },
  });
  await shop.told();
  const refused = await leave(token, "pm_card_chargeDeclined");
  expect([refused.status, refused.json.error]).toEqual([400, "PaymentError"]);
  expect((await get(token)).status).toBe("expiring");
  expect(await leave(token)).toMatchObject({
    status: 200,
    json: { status: "paid", due_amount: 0, card: { last4: "4444" } },
  });
  expect(await shop.told()).toEqual(["subscription.updated"]);
  expect(await leave(token)).toMatchObject({ status: 410, json: { error: "ResourceUnavailable" } });
  await shop.on("2027-04-04");
  expect(await shop.orders(id)).toContain("2027-04-04 cycle 1900 paid");
  const paid = await floe.deps.db
    .select({ card: payments.card })
    .from(payments)
    .where(eq(payments.customer_id, customer.id))
    .orderBy(payments.id);
  expect(paid.map(({ card }) => card?.last4)).toEqual(["4242", "4242", "4444", "4444"]);
  expect(await warnings()).toHaveLength(1);
});

test("a bank that asks is answered before the card is taken over; two at once are one", async () => {
  const { shop, id, link } = await subscribed();
  await shop.on("2027-03-01");
  const token = await link();
  const asked = await leave(token, "pm_card_authenticationRequiredOnSetup");
  expect(asked).toMatchObject({ status: 200, json: { status: "keeping", card: { last4: "4242" } } });
  expect(await leave(token)).toMatchObject({ status: 409, json: { error: "PaymentAlreadyInProgress" } });
  const secret = (await get(token)).intent_client_secret ?? "";
  const path = `/v1/payment-processor/test/intents/${encodeURIComponent(secret)}/authenticate`;
  expect((await floe.request("POST", path, { body: { approved: true } })).status).toBe(200);
  expect(await get(token)).toMatchObject({ status: "paid", card: { last4: "3155" } });
  expect((await shop.get(id)).status).toBe("active");
});

test("a server that dies once the processor has kept the card leaves it to the next one", async () => {
  const { shop, id, customer, link } = await subscribed();
  await shop.on("2027-03-01");
  const token = await link();
  dies = true;
  expect(await leave(token)).toMatchObject({ status: 200, json: { status: "keeping" } });
  await shop.on("2027-03-02");
  expect(await get(token)).toMatchObject({ status: "paid", card: { last4: "4444" } });
  const kept = await floe.deps.db
    .select({ id: paymentSetups.id })
    .from(paymentSetups)
    .where(and(eq(paymentSetups.customer_id, customer.id), eq(paymentSetups.subscription_id, id)));
  expect(kept).toHaveLength(1);
});

test("one mail for all that it pays for, and the new card pays for all of it", async () => {
  const { shop, id, customer, email, warnings, link } = await subscribed();
  const more = await shop.subscribes(await shop.sells("Radio", 500), {
    card: await cardOf(3, 2027),
    buyer: { ...spain, customer_email: email },
  });
  const other = await shop.subscribes(await shop.sells("Paper", 700), {
    card: "pm_card_amex",
    buyer: { ...spain, customer_email: email },
  });
  await shop.on("2027-03-01");
  expect(await warnings()).toHaveLength(1);
  await leave(await link());
  const rows = await floe.deps.db
    .select({ card: paymentMethods.card, id: paymentMethods.id })
    .from(paymentMethods)
    .where(eq(paymentMethods.customer_id, customer.id));
  const last4 = new Map(rows.map((row) => [row.id, row.card.last4]));
  await shop.on("2027-03-05");
  const charged = await floe.deps.db
    .select({ method: payments.payment_method_id, amount: payments.amount, at: payments.created_at })
    .from(payments)
    .where(eq(payments.customer_id, customer.id))
    .orderBy(payments.amount, payments.id);
  const march = charged.filter(({ at }) => at >= new Date("2027-03-04"));
  expect(march.map(({ method, amount }) => [amount, last4.get(method ?? "")])).toEqual([
    [500, "4444"],
    [700, "0005"],
    [1900, "4444"],
  ]);
  expect(new Set([id, more, other]).size).toBe(3);
});

test.each([
  ["de-AT", "Die Karte für Ihr Abonnement von News läuft bald ab", "läuft Ende März 2027 ab"],
  ["fr", "La carte de votre abonnement à News expire bientôt", "expire fin mars 2027"],
])("is told in the customer's language: %s", async (locale, title, words) => {
  const { shop, customer, warnings } = await subscribed();
  await shop.seller.client.customers.update({ params: { id: customer.id }, body: { locale } as never });
  await shop.on("2027-03-01");
  const [mail] = await warnings();
  expect(mail?.subject).toBe(title);
  expect(mail?.text).toContain(words);
});

test.each<[string, (shop: Awaited<ReturnType<typeof openShop>>, id: string, customer: string) => Promise<unknown>]>([
  ["that is to end", (shop, id) => shop.changes(id, { cancel_at_period_end: true })],
  ["that has ended", (shop, id) => shop.changes(id, { revoke: true })],
  [
    "that is charged to another card",
    async (shop, id, customer) => shop.changes(id, { payment_method_id: await shop.leaves(customer, "pm_card_amex") }),
  ],
  [
    "of a seller who has it not told",
    async (shop) => {
      const params = { id: shop.seller.organization_id };
      const { customer_email_settings } = await shop.seller.client.organizations.get({ params });
      const settings = { ...customer_email_settings, payment_method_expiration_reminder: false };
      return shop.seller.client.organizations.update({ params, body: { customer_email_settings: settings } });
    },
  ],
])("is not told for a subscription %s", async (_, change) => {
  const { shop, id, customer, email, warnings } = await subscribed();
  await shop.on("2027-02-10");
  await change(shop, id, customer.id);
  await shop.on("2027-03-02");
  expect(await warnings()).toEqual([]);
  expect((await mailsTo(floe, email)).map((mail) => mail.subject)).not.toContain(subject);
});

test("a link leads to nothing once another card is charged, and a card left again with another month is told of again", async () => {
  const { shop, id, customer, warnings, link } = await subscribed();
  await shop.on("2027-03-01");
  const token = await link();
  // The same card with the same month is the one that was told of.
  await shop.leaves(customer.id, await cardOf(3, 2027));
  await shop.on("2027-03-02");
  expect(await warnings()).toHaveLength(1);
  expect(await shop.changes(id, { payment_method_id: await shop.leaves(customer.id, "pm_card_amex") })).toBe("done");
  expect(await get(token)).toMatchObject({ status: "paid", card: { last4: "0005" } });
  expect((await leave(token)).status).toBe(410);
  const renewed = await shop.leaves(customer.id, await cardOf(6, 2027));
  expect(await shop.changes(id, { payment_method_id: renewed })).toBe("done");
  await shop.on("2027-06-01");
  expect((await warnings()).map(({ text }) => /end of (\w+) 2027/.exec(text)?.[1])).toEqual(["June", "March"]);
});

test("of a subscription that has ended meanwhile, the link keeps nothing", async () => {
  const { shop, id, customer, link } = await subscribed();
  await shop.on("2027-03-01");
  const token = await link();
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  expect(await get(token)).toMatchObject({ status: "ended", card: { last4: "4242" } });
  expect((await leave(token)).status).toBe(410);
  const kept = await floe.deps.db.select().from(paymentMethods).where(eq(paymentMethods.customer_id, customer.id));
  expect(kept.map(({ card }) => card.last4)).toEqual(["4242"]);
});
