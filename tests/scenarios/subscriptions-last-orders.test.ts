import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { paymentMethods, payments } from "../../server/billing/payments/tables.ts";
import type { CardLink } from "../../shared/api/card-links.ts";
import { type Floe, start } from "../support/floe.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";

/** What was left to be paid as a subscription ended, and its card refuses: its customer is told and may pay, and nobody else asks. */

let floe: Floe;
/** Why cards are refused, where it matters. */
let refusal: string | null = null;
beforeAll(async () => {
  floe = await start({
    replace: ({ processor }) => ({
      processor: {
        ...processor,
        async chargeSaved(charge) {
          const intent = await processor.chargeSaved(charge);
          return {
            ...intent,
            decline: refusal && intent.decline ? { ...intent.decline, reason: refusal } : intent.decline,
          };
        },
      },
    }),
  });
});
afterAll(() => floe?.close());
afterEach(() => {
  refusal = null;
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

const buyer = { customer_billing_address: { country: "ES" } };
/** Somebody who has more since the middle of the month, which is to be paid with the next order, by a card that refuses. */
async function owing(card: string | null = cards.failing) {
  const shop = await openShop(floe, "2027-06-01");
  const id = await shop.subscribes(await shop.sells("Pro", 1000), { buyer });
  await shop.set("2027-06-16");
  const proration_behavior = "prorate";
  expect(await shop.changes(id, { product_id: await shop.sells("Team", 3000), proration_behavior })).toBe("done");
  const { customer } = await shop.get(id);
  if (card !== null) {
    const payment_method_id = await shop.leaves(customer.id, card);
    expect(await shop.changes(id, { payment_method_id })).toBe("done");
  } else {
    const gone = { deleted_at: floe.clock.now() };
    await floe.deps.db.update(paymentMethods).set(gone).where(eq(paymentMethods.customer_id, customer.id));
  }
  await shop.told();
  return { shop, id, customer, email: customer.email ?? "" };
}
const ask = async (method: string, token: string, end = "", body?: object) => {
  const { status, json } = await floe.request(method, `/v1/card-links/${token}${end}`, body ? { body } : {});
  return { status, json: json as CardLink & { error?: string } };
};
const pay = (token: string) => ask("POST", token, "/confirm", { confirmation_token_id: "pm_card_mastercard" });
const tokenOf = async (email: string) => (await linkTo(floe, email, "/card/")).split("/").at(-1) ?? "";
const triedFor = async (customer_id: string) => {
  const rows = await floe.deps.db
    .select()
    .from(payments)
    .where(eq(payments.customer_id, customer_id))
    .orderBy(payments.id);
  return rows.map(({ status, trigger }) => `${trigger} ${status}`);
};
const last = "2027-06-16 cycle 1000";

test("SUB-54: it is told with a link that pays it, once, whatever comes of the subscription", async () => {
  const { shop, id, customer, email } = await owing();
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-06-16");
  expect(await shop.told()).toEqual([
    "subscription.updated",
    "subscription.canceled",
    "subscription.revoked",
    "order.created pending",
  ]);
  expect((await shop.orders(id)).at(-1)).toBe(`${last} pending`);
  const [order] = (await shop.seller.client.orders.list({ query: { status: ["pending"] } })).items;
  expect(order?.next_payment_attempt_at).toBeNull();

  const mails = (await mailsTo(floe, email)).filter(({ subject }) => /Team/.test(subject));
  const textOf = (subject: string) => mails.find((mail) => mail.subject === subject)?.text ?? "";
  const ended = textOf("Your subscription to Team has ended");
  expect(ended).toContain("US$10.00 is charged for what you had used and not paid yet.");
  expect(ended).not.toContain("Nothing more is charged.\n");
  const failed = textOf("Your payment for Team did not go through");
  expect(failed).toContain("could not charge US$10.00 for your subscription to Team to your card Visa •••• 0341.");
  expect(failed).toContain("Your subscription has ended, and it is not tried again by itself.");

  await shop.on("2027-09-01");
  expect(await shop.told()).toEqual([]);
  expect((await triedFor(customer.id)).slice(1)).toEqual(["subscription_cycle failed"]);

  await shop.set("2027-06-20");
  const token = await tokenOf(email);
  expect((await ask("GET", token)).json).toMatchObject({
    ...{ status: "open", due_amount: 1000, next_payment_attempt_at: null, deadline_at: null },
    ...{ ended_at: expect.stringContaining("2027-06-16"), product_name: "Team", card: { last4: "0341" } },
  });
  const kept = () => floe.deps.db.$count(paymentMethods, eq(paymentMethods.customer_id, customer.id));
  const before = await kept();
  expect((await pay(token)).json).toMatchObject({ status: "paid", due_amount: 0 });
  expect(await shop.told()).toEqual(["order.updated paid", "order.paid paid"]);
  expect((await shop.get(id)).status).toBe("canceled");
  expect((await shop.orders(id)).at(-1)).toBe(`${last} paid`);
  expect(await kept()).toBe(before);
  expect((await pay(token)).json.error).toBe("ResourceUnavailable");
  expect((await ask("GET", token)).json.status).toBe("paid");
});

test("SUB-54: its customer may pay it in the portal, too", async () => {
  const { shop, id, customer } = await owing();
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-06-16");
  const { token } = await shop.seller.client.customerSessions.create({ body: { customer_id: customer.id } });
  const path = "/v1/customer-portal/orders/";
  const listed = await floe.request("GET", path, { token });
  const { items } = listed.json as { items: { id: string; status: string }[] };
  const [open] = items.filter(({ status }) => status === "pending");
  const body = { confirmation_token_id: "pm_card_visa" };
  const paid = await floe.request("POST", `${path}${open?.id}/confirm-payment`, { token, body });
  expect(paid.json).toMatchObject({ status: "succeeded" });
  expect((await shop.orders(id)).at(-1)).toBe(`${last} paid`);
});

test("SUB-55: a card that was not asked is asked again, and then not any more", async () => {
  const { shop, id, customer } = await owing();
  refusal = "processor_unavailable";
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-06-16");
  const [order] = (await shop.seller.client.orders.list({ query: { status: ["pending"] } })).items;
  expect(order?.next_payment_attempt_at).toEqual(new Date("2027-06-16T00:10:00Z"));
  refusal = null;
  await shop.on("2027-06-16T00:09:59Z");
  expect((await triedFor(customer.id)).slice(1)).toEqual(["subscription_cycle failed"]);
  await shop.on("2027-07-16");
  expect((await triedFor(customer.id)).slice(1)).toEqual(["subscription_cycle failed", "retry_dunning failed"]);
  expect((await shop.orders(id)).at(-1)).toBe(`${last} pending`);
  expect((await shop.get(id)).status).toBe("canceled");
});

test("ORD-15: without a card it has failed at once, and is paid by the link", async () => {
  const { shop, id, email } = await owing(null);
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-06-16");
  expect((await shop.orders(id)).at(-1)).toBe(`${last} pending`);
  expect((await pay(await tokenOf(email))).json.status).toBe("paid");
  expect((await shop.orders(id)).at(-1)).toBe(`${last} paid`);
});

test("SUB-54: so it is with the end of a period, and of one that was behind for long", async () => {
  const { shop, id, customer } = await owing(cards.failing);
  await shop.on("2027-07-01");
  expect((await shop.get(id)).status).toBe("past_due");
  await shop.set("2027-07-10");
  const proration_behavior = "prorate";
  expect(await shop.changes(id, { product_id: await shop.sells("Firm", 9200), proration_behavior })).toBe("done");
  // Its card is asked after the day by which it would have ended for good.
  await shop.on("2027-07-21T23:55:00Z");
  await shop.told();
  refusal = "processor_unavailable";
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-07-21T23:56:00Z");
  refusal = null;
  await shop.on("2027-08-30");
  expect((await shop.told()).filter((type) => !type.startsWith("order"))).toEqual([
    "subscription.updated",
    "subscription.canceled",
    "subscription.revoked",
  ]);
  expect((await shop.orders(id)).map((line) => line.split(" ").at(-1))).toEqual(["paid", "void", "void", "pending"]);
  expect((await triedFor(customer.id)).at(-1)).toBe("retry_dunning failed");
});
