import { eq } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { dueWorkers } from "../../server/app/worker.ts";
import { subscriptionLetters } from "../../server/billing/subscriptions/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { findZone } from "../../server/messaging/email/rules.ts";
import { mails } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { type Floe, start } from "../support/floe.ts";
import { mailsTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";

/** What customers are told of their subscriptions by mail, date by date. */

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());
afterEach(() => {
  expect(floe.logged.filter((line) => line.startsWith("error"))).toEqual([]);
});

type Shop = Awaited<ReturnType<typeof openShop>>;
type Sale = Parameters<Shop["subscribes"]>[1];
const yearly = { recurring_interval: "year" };
/** Somebody who reads English, and whose time of day nobody knows. */
const buyer = { customer_billing_address: { country: "ES" } };
const twoWeeks = { trial_interval: "day", trial_interval_count: 14 };

/** A shop with a subscriber, and what they are written. */
async function subscribed({
  price = 1900,
  product = {},
  sale = {},
}: {
  price?: number;
  product?: Record<string, unknown>;
  sale?: Sale;
} = {}) {
  const shop = await openShop(floe, "2027-01-04");
  const id = await shop.subscribes(await shop.sells("News", price, product), { buyer, ...sale });
  const { customer } = await shop.get(id);
  const email = customer.email ?? "";
  let seen = 0;
  /** What was written since one was last asked, in its order. */
  const letters = async () => {
    const all = (await mailsTo(floe, email)).reverse();
    const fresh = all.slice(seen);
    seen = all.length;
    return fresh;
  };
  const subjects = async () => (await letters()).map(({ subject }) => subject);
  const settings = async (changed: object) => {
    const params = { id: shop.seller.organization_id };
    const { customer_email_settings } = await shop.seller.client.organizations.get({ params });
    const body = { customer_email_settings: { ...customer_email_settings, ...changed } };
    await shop.seller.client.organizations.update({ params, body });
  };
  return { shop, id, email, customer, letters, subjects, settings };
}

describe("of each thing there is one mail", () => {
  test("a life: begun, renewed, changed, cancelled, taken back, cancelled again, ended", async () => {
    const { shop, id, letters, subjects } = await subscribed();
    const [begun, ...more] = await letters();
    expect(more).toEqual([]);
    expect(begun?.subject).toBe("Your subscription to News has begun");
    for (const words of [
      "your payment of US$19.00",
      "It runs until 4 February 2027 and is then renewed for US$19.00.",
      "Order ",
    ])
      expect(begun?.text).toContain(words);
    await shop.on("2027-02-04");
    const [renewed, ...others] = await letters();
    expect([renewed?.subject, others]).toEqual(["Your subscription to News was renewed", []]);
    expect(renewed?.text).toContain("It runs until 4 March 2027 and is then renewed for US$19.00.");
    const pro = await shop.sells("Pro", 4900);
    expect(await shop.changes(id, { product_id: pro, proration_behavior: "next_period" })).toBe("done");
    await floe.runJobs();
    const [planned] = await letters();
    expect(planned?.subject).toBe("Your subscription changes on 4 March 2027");
    for (const words of ["is: Pro.", "renewed for US$49.00"]) expect(planned?.text).toContain(words);
    expect(await shop.changes(id, { product_id: pro, proration_behavior: "prorate" })).toBe("done");
    await floe.runJobs();
    expect(await subjects()).toEqual(["Your subscription has changed to Pro"]);
    const team = await shop.sells("Team", 9900);
    expect(await shop.changes(id, { product_id: team, proration_behavior: "invoice" })).toBe("done");
    await floe.runJobs();
    const [paid, ...none] = await letters();
    expect([paid?.subject, none]).toEqual(["Your subscription has changed to Team", []]);
    expect(paid?.text).toContain("Thank you.");
    for (const ends of [true, false, true]) {
      expect(await shop.changes(id, { cancel_at_period_end: ends })).toBe("done");
      await floe.runJobs();
    }
    const [canceled, back] = await letters();
    expect([canceled?.subject, back?.subject]).toEqual([
      "Your subscription to Team is canceled",
      "Your subscription to Team goes on after all",
    ]);
    expect(canceled?.text).toContain("It runs until 4 March 2027 and is not renewed.");
    expect(back?.text).toContain("renewed for US$99.00");
    await shop.on("2027-03-04");
    expect(await subjects()).toEqual(["Your subscription to Team has ended"]);
  });

  test("a trial: begun, its end ahead, and over; a change of its end moves what is told of it", async () => {
    const { shop, id, letters, subjects } = await subscribed({ product: twoWeeks });
    const [begun] = await letters();
    expect(begun?.subject).toBe("Your free trial of News has begun");
    for (const words of ["Nothing was charged.", "The trial ends on 18 January 2027. Then US$19.00 is charged."])
      expect(begun?.text).toContain(words);
    await shop.on("2027-01-14T23:59:00Z");
    expect(await subjects()).toEqual([]);
    expect(await shop.changes(id, { trial_end: "2027-01-25T00:00:00Z" })).toBe("done");
    await shop.on("2027-01-21T23:59:00Z");
    expect(await subjects()).toEqual([]);
    await shop.on("2027-01-22");
    const [ahead, ...more] = await letters();
    expect([ahead?.subject, more]).toEqual(["Your trial of News ends on 25 January 2027", []]);
    for (const words of ["Then US$19.00 is charged.", "your card Visa •••• 4242"]) expect(ahead?.text).toContain(words);
    // Told once, whatever is changed after it.
    expect(await shop.changes(id, { metadata: { a: 1 } })).toBe("done");
    await shop.on("2027-01-25");
    expect(await subjects()).toEqual(["Your trial of News is over, and your subscription has begun"]);
  });

  test("a year: the renewal is told a week ahead, unless it does not come; who pays monthly is not reminded", async () => {
    const { shop, id, letters, subjects } = await subscribed({ product: yearly });
    await subjects();
    await shop.on("2027-12-27T23:00:00Z");
    expect(await subjects()).toEqual([]);
    await shop.on("2027-12-28");
    const [ahead] = await letters();
    expect(ahead?.subject).toBe("Your subscription to News is renewed on 4 January 2028");
    expect(ahead?.text).toContain("is renewed on 4 January 2028 for US$19.00.");
    await shop.on("2028-01-04");
    expect(await subjects()).toEqual(["Your subscription to News was renewed"]);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await shop.on("2028-12-31");
    expect(await subjects()).toEqual(["Your subscription to News is canceled"]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await shop.on("2029-01-02");
    expect(await subjects()).toEqual(["Your subscription to News goes on after all"]);
  });

  test("a pause: paused, and going on with the mail of what is paid for", async () => {
    const { shop, id, letters, subjects } = await subscribed();
    await subjects();
    expect(await shop.changes(id, { pause_at_period_end: true, resumes_at: "2027-03-01T00:00:00Z" })).toBe("done");
    await shop.on("2027-02-04");
    const [paused, ...more] = await letters();
    expect([paused?.subject, more]).toEqual(["Your subscription to News is paused", []]);
    expect(paused?.text).toContain("It goes on on 1 March 2027.");
    await shop.on("2027-03-01");
    const [resumed, ...others] = await letters();
    expect([resumed?.subject, others]).toEqual(["Your subscription to News goes on", []]);
    expect(resumed?.text).toContain("your payment of US$19.00");
  });

  test("what costs nothing goes on in silence, and says when it is paused and goes on", async () => {
    const { shop, id, subjects } = await subscribed({
      price: 0,
      sale: { card: null },
      product: { prices: [{ amount_type: "free" }] },
    });
    expect(await subjects()).toEqual(["Your subscription to News has begun"]);
    await shop.on("2027-02-04");
    expect(await subjects()).toEqual([]);
    expect(await shop.changes(id, { pause_at_period_end: true })).toBe("done");
    await shop.on("2027-03-04");
    expect(await shop.changes(id, { resume: true })).toBe("done");
    await floe.runJobs();
    expect(await subjects()).toEqual(["Your subscription to News is paused", "Your subscription to News goes on"]);
    expect(await shop.changes(id, { revoke: true })).toBe("done");
    await floe.runJobs();
    expect(await subjects()).toEqual(["Your subscription to News has ended"]);
  });
});

describe("payments that fail", () => {
  const failing = () =>
    subscribed({ product: { trial_interval: "day", trial_interval_count: 2 }, sale: { card: cards.failing } });

  test("each is told with the next try and the last one, to the minute that the seller is shown; then the end", async () => {
    const { shop, id, letters, subjects } = await failing();
    await subjects();
    for (const date of ["2027-01-06", "2027-01-08", "2027-01-13", "2027-01-20"]) {
      await shop.on(date);
      const [mail, ...more] = await letters();
      expect([date, mail?.subject, more]).toEqual([date, "Your payment for News did not go through", []]);
      const { payment_retries } = await shop.get(id);
      const at = (moment: Date | undefined) =>
        moment && `${moment.getUTCDate()} January 2027 at ${moment.toISOString().slice(11, 16)} UTC`;
      const [next, last] = [at(payment_retries?.orders[0]?.next_payment_attempt_at), at(payment_retries?.deadline_at)];
      expect(mail?.text).toContain(`It is tried again on ${next}, and for the last time by ${last}.`);
      for (const words of ["$19.00", "Visa •••• 0341"]) expect(mail?.text).toContain(words);
    }
    await shop.on("2027-01-27");
    const [ended, ...more] = await letters();
    expect([ended?.subject, more]).toEqual(["Your subscription to News has ended", []]);
    expect(ended?.text).toContain("because a payment was missing");
  });

  test("who is leaving is told until when it runs, and of no further try", async () => {
    const { shop, id, letters } = await failing();
    await letters();
    const silent = dueWorkers.filter(({ name }) => !["subscriptions.tell", "mails.send"].includes(name));
    await shop.set("2027-01-06");
    while ((await runWorkers(floe.deps, silent)) > 0);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await floe.runJobs();
    const mail = (await letters()).find(({ subject }) => subject.includes("did not go through"));
    expect(mail?.text).toContain("It runs until 6 February 2027 and is not renewed.");
    expect(mail?.text).not.toMatch(/tried/);
  });

  test("one that was paid meanwhile is not told of, and what was paid is told once", async () => {
    const { shop, id, customer, subjects } = await failing();
    const payment_method_id = await shop.leaves(customer.id, cards.other);
    await floe.runJobs();
    await subjects();
    // Charged, refused, and paid by another card, before anybody is told.
    const silent = dueWorkers.filter(({ name }) => !["subscriptions.tell", "mails.send"].includes(name));
    await shop.set("2027-01-06");
    while ((await runWorkers(floe.deps, silent)) > 0);
    expect(await floe.deps.db.$count(subscriptionLetters, eq(subscriptionLetters.subscription_id, id))).toBe(1);
    expect(await shop.changes(id, { payment_method_id })).toBe("done");
    await floe.runJobs();
    expect(await subjects()).toEqual(["Your trial of News is over, and your subscription has begun"]);
    expect(await floe.deps.db.$count(subscriptionLetters, eq(subscriptionLetters.subscription_id, id))).toBe(0);
  });
});

describe("who is told, and how", () => {
  test.each([
    ["subscription_confirmation", [], "2027-01-04"],
    ["subscription_cycled", ["Your subscription to News has begun"], "2027-02-04"],
  ] as const)("each setting switches its own off: %s", async (setting, before, date) => {
    const shop = await openShop(floe, "2027-01-04");
    const params = { id: shop.seller.organization_id };
    const had = (await shop.seller.client.organizations.get({ params })).customer_email_settings;
    await shop.seller.client.organizations.update({
      params,
      body: { customer_email_settings: { ...had, [setting]: false } },
    });
    const id = await shop.subscribes(await shop.sells("News", 1900), { buyer });
    await shop.on(date);
    const { customer } = await shop.get(id);
    expect((await mailsTo(floe, customer.email ?? "")).map(({ subject }) => subject)).toEqual(before);
  });

  test("a setting switched off says nothing late, and the others still speak", async () => {
    const { shop, id, subjects, settings } = await subscribed();
    await subjects();
    const off = { subscription_cancellation: false, subscription_updated: false, subscription_past_due: false };
    await settings(off);
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await floe.runJobs();
    await settings(Object.fromEntries(Object.keys(off).map((name) => [name, true])));
    await floe.runJobs();
    expect(await subjects()).toEqual([]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await floe.runJobs();
    expect(await subjects()).toEqual(["Your subscription to News goes on after all"]);
  });

  test("in the language and by the clock of where they are, as far as that is known", async () => {
    const { shop, letters } = await subscribed({
      product: { trial_interval: "day", trial_interval_count: 2 },
      sale: {
        card: cards.failing,
        checkout: { locale: "de" },
        buyer: { customer_billing_address: { country: "DE" }, locale: "de" },
      },
    });
    const [begun] = await letters();
    expect(begun?.subject).toBe("Ihre kostenlose Testphase von News hat begonnen");
    await shop.on("2027-01-06");
    const [failed] = await letters();
    expect(failed?.html).toContain('lang="de"');
    expect(failed?.text).toContain(
      "am 8. Januar 2027 um 01:00 MEZ wieder versucht, zuletzt bis 27. Januar 2027 um 01:01 MEZ",
    );
    expect(findZone("US", new Date())).toBe("UTC");
    expect(findZone("ES", new Date())).toBe("UTC");
    expect(findZone("IN", new Date())).toBe("Asia/Calcutta");
    expect(findZone("__proto__", new Date())).toBe("UTC");
  });

  test("nobody whose customer was deleted or erased, and nothing twice though two servers look", async () => {
    const { shop, id, customer, subjects } = await subscribed();
    await subjects();
    expect(await shop.changes(id, { cancel_at_period_end: true })).toBe("done");
    await Promise.all([runWorkers(floe.deps, dueWorkers), runWorkers(floe.deps, dueWorkers)]);
    expect(await subjects()).toEqual(["Your subscription to News is canceled"]);
    expect(await shop.changes(id, { cancel_at_period_end: false })).toBe("done");
    await shop.accepted("DELETE", `/v1/customers/${customer.id}?anonymize=true`);
    const before = await floe.deps.db.$count(mails);
    await floe.runJobs();
    // What was mailed is forgotten with them, and nothing comes after it.
    expect(await floe.deps.db.$count(mails)).toBeLessThanOrEqual(before);
    expect(await floe.deps.db.$count(mails, eq(mails.customer_id, customer.id))).toBe(0);
  });
});

test("a sandbox keeps its mails, and walking its clock meets them at their times, in their order", async () => {
  const shop = await openShop(floe, "2027-01-04");
  await floe.deps.db
    .update(organization)
    .set({ sandbox: true })
    .where(eq(organization.id, shop.seller.organization_id));
  const id = await shop.subscribes(await shop.sells("News", 1900, { ...twoWeeks, ...yearly }), { buyer });
  const clock = await shop.accepted("POST", "/v1/sandbox/clock", { to: "2028-01-20T00:00:00Z" });
  const { timeline } = clock as { timeline: { type: string; at: string; text: string }[] };
  const kept = timeline.filter(({ type }) => type === "mail.kept").map(({ at, text }) => [at.slice(0, 10), text]);
  expect(kept.map(([at, text = ""]) => [at, text.replace(/^.*?: /, "")])).toEqual([
    ["2027-01-15", "[TEST] Your trial of News ends on 18 January 2027"],
    ["2027-01-18", "[TEST] Your trial of News is over, and your subscription has begun"],
    ["2028-01-11", "[TEST] Your subscription to News is renewed on 18 January 2028"],
    ["2028-01-18", "[TEST] Your subscription to News was renewed"],
  ]);
  const outbox = (await shop.accepted("GET", "/v1/sandbox/mails")) as { items: { subject: string; to: string }[] };
  const { customer } = await shop.get(id);
  expect(outbox.items.map(({ to }) => to)).toEqual(Array(5).fill(customer.email));
});
