import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { sealGuild } from "../../server/platform/external/discord.ts";
import { upload } from "../support/files.ts";
import { type Floe, start } from "../support/floe.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { cards, openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** A customer's own place, as its customer uses it. */

let browser: Browser;
let floe: Floe;
let platforms: Platforms;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  const [web, opened, services] = await Promise.all([buildWeb(), openChromium(), startPlatforms()]);
  [browser, platforms] = [opened, services];
  floe = await start({ listen: true, web, settings: platforms.settings });
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
  await platforms?.stop();
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints, { locale: "en-GB", timezoneId: "UTC" });
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

/** Somebody who subscribes, and a session of theirs. */
async function subscriber(
  card = cards.good,
  locale?: string,
  email = `portal-${crypto.randomUUID().slice(0, 8)}@example.com`,
) {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z", { proration_behavior: "invoice" });
  const basic = await shop.sells(
    "Field Guide to Ice",
    1900,
    card === cards.good ? {} : { trial_interval: "day", trial_interval_count: 2 },
  );
  const atlas = await shop.sells("Atlas of Ice", 4900);
  const id = await shop.subscribes(basic, {
    card,
    buyer: { customer_billing_address: { country: "ES" }, customer_email: email, ...(locale && { locale }) },
  });
  const { customer_id } = await shop.get(id);
  const made = await shop.accepted("POST", "/v1/customer-sessions/", { customer_id });
  return { shop, id, atlas, email, customer_id: String(customer_id), link: String(made.customer_portal_url) };
}
const region = (name: string) => page.getByRole("region", { name });
/** Go to a section by its link. */
const openSection = (name: string) => page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
const picture = async (name: string) => {
  if (process.env.FLOE_PICTURES)
    await page.screenshot({ path: `${process.env.FLOE_PICTURES}/portal-${name}.png`, fullPage: true });
};
const plain = (text: string | null) => (text ?? "").replaceAll(/[\u00a0\u202f]/g, " ");

test("what somebody has is seen by everybody, on any ground, on a telephone; the session leaves the address", async () => {
  const { link, email, shop } = await subscriber();
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    // A seller's color that cannot be read on this ground stands on buttons alone.
    const accent_color = colorScheme === "light" ? "#f2c400" : "#0b5c6b";
    await shop.accepted("PATCH", `/v1/organizations/${shop.seller.organization_id}`, { branding: { accent_color } });
    await page.emulateMedia({ colorScheme });
    await page.goto(link);
    await region("Subscriptions").getByText("Field Guide to Ice").waitFor();
    await region("Subscriptions").getByText("The next twelve months").waitFor();
    await openSection("Orders");
    await region("Orders").getByText("Paid").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await openSection("Payment");
    await region("Cards").getByText("Visa •••• 4242").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    await openSection("Subscriptions");
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    // The seller's name of two words is not broken into letters.
    expect((await page.locator(".seller-name").boundingBox())?.height).toBeLessThanOrEqual(2 * 24);
    await picture(colorScheme);
  }
  expect(page.url()).not.toMatch(/polar_cst|%40|token|email/);
  const said = plain(await region("Subscriptions").textContent());
  for (const words of ["US$19.00 a month", "Active", "Charged again on 1 July 2027"]) expect(said).toContain(words);
  await page.getByText(`Signed in as ${email}`).waitFor();
  await page.getByText("Test", { exact: true }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  await picture("wide");
  // The tab knows who it is, until it signs out.
  await page.reload();
  await region("Subscriptions").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "See what you have bought" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "See what you have bought" }).waitFor();
});

test("the page speaks the language in which its customer bought, whatever the browser's is, and is short", async () => {
  const { link } = await subscriber(cards.good, "de-DE");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(link);
  await region("Abonnements").getByText("19,00 $ pro Monat").waitFor();
  await region("Abonnements").getByText("1. Juli 2027").waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("de");
  await openSection("Zahlung");
  await region("Karten").getByText("Visa •••• 4242").waitFor();
  await picture("german");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page)).toEqual([]);
  }
});

test("another plan is seen with its price before it is charged; a subscription is given up, and kept after all", async () => {
  const { shop, id, atlas, link } = await subscriber();
  await shop.set("2027-06-16T09:00:00Z");
  await page.goto(link);
  await page.getByRole("button", { name: "Change plan" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Then US$49.00 a month.").waitFor();
  await picture("plan");
  // On a telephone a name is no column of letters beside a long price.
  await page.setViewportSize({ width: 320, height: 640 });
  const names = await dialog
    .locator(".offer")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
  expect(Math.min(...names)).toBeGreaterThan(100);
  await page.setViewportSize({ width: 1280, height: 800 });
  const { charge } = await shop.previews(id, { product_id: atlas });
  const due = (charge?.due_amount ?? 0) / 100;
  expect(due).toBeGreaterThan(0);
  await dialog.getByRole("button", { name: `Pay US$${due.toFixed(2)}` }).click();
  await dialog.waitFor({ state: "detached" });
  await region("Subscriptions").getByText("Atlas of Ice").waitFor();
  expect((await shop.get(id)).product.name).toBe("Atlas of Ice");

  // Closed without a change, it leaves the focus where it was.
  const opener = page.getByRole("button", { name: "Cancel subscription" });
  for (const close of ["Escape", "Enter"]) {
    await opener.press("Enter");
    await dialog.getByRole("button", { name: "Keep it" }).focus();
    await page.keyboard.press(close);
    await dialog.waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.textContent === "Cancel subscription");
  }
  await opener.click();
  await dialog.getByLabel(/Why are you canceling/).selectOption("too_expensive");
  await dialog.getByLabel(/Anything/).fill("Penguins are cheaper.");
  await picture("cancel");
  await dialog.getByRole("button", { name: "Cancel subscription" }).click();
  await region("Subscriptions").getByText("Ends on 1 July 2027. Nothing more is charged.").waitFor();
  expect(await shop.get(id)).toMatchObject({
    cancel_at_period_end: true,
    customer_cancellation_reason: "too_expensive",
    customer_cancellation_comment: "Penguins are cheaper.",
  });
  await page.getByRole("button", { name: "Keep the subscription" }).click();
  await page.getByRole("button", { name: "Cancel subscription" }).waitFor();
  expect((await shop.get(id)).cancel_at_period_end).toBe(false);
});

test("what was given back stands beside the order, and a trial speaks of a first payment", async () => {
  const { shop, id, link } = await subscriber();
  const [order] = (await shop.seller.client.orders.list({ query: { subscription_id: [id] } })).items;
  await shop.accepted("POST", "/v1/refunds/", { order_id: order?.id, reason: "customer_request", amount: 400 });
  await floe.runJobs();
  await page.goto(`${link}#orders`);
  await region("Orders").getByText("US$4.00 refunded").waitFor();
  expect(plain(await region("Orders").textContent())).toContain("Partly refunded");
  const { link: trial } = await subscriber(cards.failing);
  await page.goto(trial);
  await region("Subscriptions")
    .getByText(/First payment on 3 June 2027/)
    .waitFor();
});

test("what was used is seen against what is included, and day by day as bars, in words and in a list", async () => {
  const { shop, customer_id, email, link } = await subscriber();
  const filter = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] };
  const aggregation = { func: "sum", property: "tokens" };
  await shop.accepted("POST", "/v1/meters/", { name: "Tokens", filter, aggregation });
  await shop.accepted("POST", "/v1/meters/", { name: "Calls", filter, aggregation: { func: "count" } });
  for (const [day, tokens] of [
    ["2027-06-02", 1200],
    ["2027-06-10", 300],
    ["2027-06-10", 450],
  ] as const) {
    await shop.set(`${day}T12:00:00Z`);
    await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "call", customer_id, metadata: { tokens } }] });
  }
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${link}#usage`);
    await region("Usage").getByText("Tokens", { exact: true }).waitFor();
    const bars = region("Usage").getByRole("img", { name: /at most 1,200 a day/ });
    await bars.waitFor();
    expect(await bars.locator("rect").count()).toBe(30);
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`usage-${colorScheme}`);
  }
  const tokens = region("Usage")
    .getByRole("listitem")
    .filter({ has: page.getByText("Tokens", { exact: true }) });
  await tokens.getByText("Used by the day").click();
  expect((await tokens.locator("details li").allTextContents()).map(plain)).toEqual(["2 Jun1,200", "10 Jun750"]);

  // With units included, and a price that charges no more than so much, the bars grow towards two lines.
  const { id: meter_id } = (await shop.seller.client.meters.list({ query: { query: "Tokens" } })).items[0] ?? {};
  const credit = {
    type: "meter_credit",
    description: "Tokens",
    properties: { meter_id, units: 2000, rollover: false },
  };
  const benefit = await shop.accepted("POST", "/v1/benefits/", credit);
  const product = await shop.sells("Tokens", [
    { amount_type: "metered_unit", meter_id, unit_amount: "0.5", cap_amount: 500 },
  ]);
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [benefit.id] });
  await shop.subscribes(product, { buyer: { customer_email: email } });
  // It counts anew from then on.
  await shop.set("2027-06-12T12:00:00Z");
  for (const tokens of [500, 300])
    await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "call", customer_id, metadata: { tokens } }] });
  await page.reload();
  const chart = tokens.getByRole("img", { name: /Used in all by each day.*800 so far/ });
  await chart.waitFor();
  await tokens.getByText("Dashed line: 2,000 are included.").waitFor();
  await tokens.getByText("US$0.00 so far, charged on 10 July 2027.").waitFor();
  await tokens.getByText("Dotted line: from 3,000 on nothing more is charged, US$5.00 at most.").waitFor();
  const heights = await chart
    .locator("line")
    .evaluateAll((lines) => lines.map((one) => Number(one.getAttribute("y1"))));
  expect(heights.map(Math.round)).toEqual([17, 1]);
  const tops = await chart.locator("rect").evaluateAll((bars) => bars.map((one) => Number(one.getAttribute("height"))));
  expect(tops.filter((tall) => tall > 0).map(Math.round)).toEqual([13]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  await picture("usage-limits");
  // Beyond what is included, the price so far is said.
  await shop.accepted("POST", "/v1/events/ingest", {
    events: [{ name: "call", customer_id, metadata: { tokens: 1900 } }],
  });
  await page.reload();
  await tokens.getByText("US$3.50 so far, charged on 10 July 2027.").waitFor();
  await tokens.getByText("700 over what is included").waitFor();
  await picture("usage-cost");
});

test("where the seller lets them, customers pause with the end of a period, and think better of it", async () => {
  const { shop, id, link } = await subscriber();
  const organization_id = shop.seller.organization_id;
  const { customer_portal_settings: portal } = await shop.seller.client.organizations.get({
    params: { id: organization_id },
  });
  await shop.accepted("PATCH", `/v1/organizations/${organization_id}`, {
    customer_portal_settings: { ...portal, subscription: { ...portal.subscription, pause: true } },
  });
  await page.goto(link);
  await page.getByRole("button", { name: "Pause" }).click();
  await region("Subscriptions").getByText("Pauses on 1 July 2027.").waitFor();
  expect((await shop.get(id)).pause_at_period_end).toBe(true);
  await page.getByRole("button", { name: "Keep the subscription" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  expect((await shop.get(id)).pause_at_period_end).toBe(false);
});

test("a server that can take no payment says so before a card is entered or a plan is chosen (ORG-05)", async () => {
  const { link } = await subscriber();
  floe.deps.config.test_cards = false;
  try {
    await page.goto(`${link}#cards`);
    const text = "This seller cannot take payments at the moment. Nothing is charged.";
    await region("Cards").getByText(text).waitFor();
    expect(await page.getByRole("button", { name: "Add a card" }).count()).toBe(0);
    await openSection("Subscriptions");
    await page.getByRole("button", { name: "Change plan" }).click();
    await page.getByRole("dialog").getByText(text).waitFor();
    expect(await page.getByRole("dialog").getByRole("button").allInnerTexts()).toEqual(["Cancel"]);
    expect(await seriousFaults(page)).toEqual([]);
  } finally {
    floe.deps.config.test_cards = true;
  }
});

test("a card is added by the keyboard and asked for by the bank, comes first, and another one is taken away", async () => {
  const { shop, customer_id, link } = await subscriber();
  await page.goto(`${link}#cards`);
  await region("Cards").getByRole("button", { name: "Add a card" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Add a card" });
  await dialog.getByRole("button", { name: "Save card" }).click();
  await dialog.getByText("Enter the card number.").waitFor();
  await dialog.getByLabel("Name on card").fill("Ada");
  await dialog.getByLabel("Card number").fill("4000 0000 0000 3220");
  await dialog.getByLabel("Expiry date").fill("12 / 40");
  await dialog.getByLabel("Security code").fill("123");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Approve" }).click();
  await region("Cards").getByText("The card is kept.").waitFor();
  const kept = await shop.accepted("GET", `/v1/customers/${customer_id}/payment-methods`);
  const items = kept.items as { is_default: boolean; method_metadata: { last4: string } }[];
  expect(items.map(({ is_default, method_metadata }) => `${method_metadata.last4} ${is_default}`).sort()).toEqual([
    "3220 true",
    "4242 false",
  ]);
  await region("Cards")
    .getByRole("button", { name: /Remove: Visa •••• 4242/ })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await region("Cards").getByRole("listitem").filter({ hasText: "•••• 4242" }).waitFor({ state: "detached" });
  expect((await shop.accepted("GET", `/v1/customers/${customer_id}/payment-methods`)).items).toHaveLength(1);
});

test("what is unpaid is paid with another card; billing details are kept, and an invoice is printed by them", async () => {
  const { shop, id, link } = await subscriber(cards.failing);
  await shop.on("2027-06-03T09:00:00Z");
  await page.goto(link);
  const subscriptions = region("Subscriptions");
  await subscriptions.getByText("US$19.00 could not be charged. It is tried again on 5 June 2027.").waitFor();
  await picture("unpaid");
  const dialog = page.getByRole("dialog");
  await subscriptions.getByRole("button", { name: "Cancel subscription" }).click();
  await dialog.getByText("It ends on 3 July 2027. What could not be charged is not tried again").waitFor();
  await page.keyboard.press("Escape");
  await subscriptions.getByRole("button", { name: "Pay US$19.00" }).click();
  await dialog.getByLabel("Card", { exact: true }).selectOption("Another card");
  await dialog.getByLabel("Name on card").fill("Ada");
  await dialog.getByLabel("Card number").fill("4242 4242 4242 4242");
  await dialog.getByLabel("Expiry date").fill("12 / 40");
  await dialog.getByLabel("Security code").fill("123");
  await dialog.getByRole("button", { name: "Pay US$19.00" }).click();
  await dialog.getByText("Paid. Thank you.").waitFor();
  await dialog.getByRole("button", { name: "Back" }).click();
  await subscriptions.getByText("Active").waitFor();
  expect((await shop.get(id)).status).toBe("active");

  // The details stand in a few lines, and the form comes where it is asked for.
  await openSection("Payment");
  await region("Billing details").getByText("Spain").waitFor();
  await region("Billing details").getByRole("button", { name: "Change billing details" }).press("Enter");
  await page.waitForFunction(() => document.activeElement?.getAttribute("name") === "billing_name");
  await region("Billing details").getByRole("button", { name: "Cancel" }).press("Enter");
  await page.waitForFunction(() => document.activeElement?.textContent === "Change billing details");
  await page.keyboard.press("Enter");
  await region("Billing details").getByLabel("Name on invoices").fill("Ada Lovelace");
  await region("Billing details").getByLabel("Street and number").fill("Calle Mayor 1");
  await region("Billing details").getByLabel("Postal code").fill("28013");
  await region("Billing details").getByLabel("City").fill("Madrid");
  await region("Billing details").getByRole("button", { name: "Save" }).click();
  await region("Billing details").getByText("Saved.").waitFor();
  await page.waitForFunction(() => document.activeElement?.textContent === "Change billing details");
  await region("Billing details").getByText("Ada Lovelace Calle Mayor 1 28013 Madrid Spain").waitFor();
  expect((await shop.get(id)).customer).toMatchObject({ billing_name: "Ada Lovelace" });
});

test("who has no session signs in by a code of a mail, in their language; a wrong one is refused", async () => {
  const { email, link } = await subscriber();
  const { origin, pathname } = new URL(link);
  await page.context().close();
  page = await openPage(browser, complaints, { locale: "de-DE", timezoneId: "UTC" });
  await page.goto(`${origin}${pathname}?email=${encodeURIComponent(email)}`);
  await page.getByRole("heading", { name: "Sehen, was Sie gekauft haben" }).waitFor();
  expect(await page.getByLabel("E-Mail").inputValue()).toBe(email);
  await picture("sign-in");
  await page.getByRole("button", { name: "Code senden" }).click();
  await page.getByLabel("Code").fill("WRONG1");
  await page.keyboard.press("Enter");
  await page.getByText(/invalid|expired/i).waitFor();
  await floe.runJobs();
  const code =
    (await mailsTo(floe, email)).map(({ text }) => /\b(?:is|ist|est) ([A-Z0-9]{6})\./.exec(text)?.[1]).find(Boolean) ??
    "";
  await page.getByLabel("Code").fill(code.toLowerCase());
  await page.keyboard.press("Enter");
  await region("Abonnements").getByText("Field Guide to Ice").waitFor();
  expect(plain(await region("Abonnements").textContent())).toContain("19,00 $ pro Monat");
});

test("a license key, a file and a note are there to be taken; a place where a key is in use is freed", async () => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const { client, organization_id } = shop.seller;
  const file = await upload(floe, client, Buffer.from("A map of ice."));
  const activations = { limit: 3, enable_customer_admin: true };
  const benefits = await Promise.all(
    [
      { type: "license_keys", description: "The key of the app", properties: { activations } },
      { type: "downloadables", description: "The map", properties: { files: [file.id] } },
      { type: "custom", description: "A word of thanks", properties: { note: "You are **kind**." } },
    ].map((body) => shop.accepted("POST", "/v1/benefits/", body)),
  );
  const product = await shop.sells("Ice app", 900);
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: benefits.map(({ id }) => id) });
  const id = await shop.subscribes(product);
  const { customer_id } = await shop.get(id);
  const [{ key } = { key: "" }] = (await client.licenseKeys.list({ query: {} })).items;
  await client.licenseKeys.activate({ body: { key, organization_id, label: "Ada's desk" } });
  const made = await shop.accepted("POST", "/v1/customer-sessions/", { customer_id });
  await page.goto(String(made.customer_portal_url));
  await openSection("Your benefits");
  const mine = region("Your benefits");
  await mine.getByText(key).waitFor();
  await mine.getByText("kind", { exact: true }).waitFor();
  await mine.getByText("Used on 1 of 3 devices").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("benefits");
  await mine.getByRole("button", { name: "Stop using it on Ada's desk" }).click();
  await mine.getByText("Used on 0 of 3 devices").waitFor();
  // A key that has become known is replaced, once it was asked whether that is meant.
  await mine.getByRole("button", { name: /^Replace: \*{4}-/ }).press("Enter");
  const question = page.getByRole("dialog", { name: "Replace this key?" });
  await question.getByText(`ends in ${key.slice(-6)} stops working`).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  expect((await client.licenseKeys.list({ query: {} })).items[0]?.key).toBe(key);
  await mine.getByRole("button", { name: /^Replace: / }).click();
  await question.getByRole("button", { name: "Replace" }).click();
  await mine.getByText(key).waitFor({ state: "detached" });
  const [{ key: second, id: key_id } = { key: "", id: "" }] = (await client.licenseKeys.list({ query: {} })).items;
  expect(second).not.toBe(key);
  await mine.getByText(second).waitFor();
  // One that was replaced elsewhere is seen here at once (CUP-25).
  await question.waitFor({ state: "detached" });
  const { key: third } = await client.licenseKeys.rotate({ params: { id: key_id } });
  await mine.getByText(third).waitFor();
  expect(await mine.getByText(second).count()).toBe(0);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    mine.getByRole("link", { name: /Download/ }).click(),
  ]);
  expect(readFileSync(await download.path(), "utf8")).toBe("A map of ice.");
});

test("a session that is over leads to the sign-in; a seller that there is not is said so", async () => {
  const { link } = await subscriber();
  const url = new URL(link);
  await page.goto(`${url.origin}${url.pathname}?customer_session_token=polar_cst_nothing`);
  await page.getByText("You were signed out").waitFor();
  expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
  // So does one that ends while its page is open: the stream of news says so.
  await page.route("**/customers/stream", (route) => route.fulfill({ status: 401 }));
  await page.goto(link);
  await page.getByText("You were signed out").waitFor();
  await page.unroute("**/customers/stream");
  await page.goto(`${url.origin}/no-such-shop/portal`);
  await page.getByRole("heading", { name: "There is no such shop" }).waitFor();
});

test("a seat is taken by the link of its mail, and not by opening it; then its page is theirs", async () => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const tiers = { seat_tier_type: "volume", tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 900 }] };
  const product = await shop.sells("Team of Ice", [{ amount_type: "seat_based", seat_tiers: tiers }]);
  const subscription_id = await shop.subscribes(product, { checkout: { seats: 2 } });
  const email = `mate-${crypto.randomUUID().slice(0, 8)}@example.com`;
  const seat = await shop.accepted("POST", "/v1/customer-seats", { subscription_id, email });
  await floe.runJobs();
  const link = await linkTo(floe, email, "/portal/claim");
  await page.goto(link);
  await page.getByRole("heading", { name: "A seat of Team of Ice" }).waitFor();
  await picture("claim");
  const list = async () =>
    (
      (await shop.accepted("GET", `/v1/customer-seats?subscription_id=${subscription_id}`)).seats as {
        id: string;
        status: string;
      }[]
    ).find(({ id }) => id === seat.id)?.status;
  expect(await list()).toBe("pending");
  expect(page.url()).not.toContain("token");
  await page.getByRole("button", { name: "Take the seat" }).click();
  await region("Orders").waitFor();
  expect(await list()).toBe("claimed");
  await page.goto(link);
  await page.getByRole("heading", { name: "This invitation is not good any more" }).waitFor();
});

test("a member of a team sees what is theirs, and nothing of what the team pays", async () => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const tiers = { seat_tier_type: "volume", tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 900 }] };
  const product = await shop.sells("Team of Ice", [{ amount_type: "seat_based", seat_tiers: tiers }]);
  const subscription_id = await shop.subscribes(product, { checkout: { seats: 2 } });
  const { customer_id } = await shop.get(subscription_id);
  await shop.accepted("PATCH", `/v1/customers/${customer_id}`, { type: "team", name: "Acme" });
  const note = await shop.accepted("POST", "/v1/benefits/", { type: "custom", description: "Ice news" });
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [note.id] });
  const email = `member-${crypto.randomUUID().slice(0, 8)}@example.com`;
  const member = await shop.accepted("POST", `/v1/customers/${customer_id}/members`, { email });
  await shop.accepted("POST", "/v1/customer-seats", { subscription_id, member_id: member.id });
  await floe.runJobs();
  await page.goto(await linkTo(floe, email, "/portal/claim"));
  await page.getByRole("button", { name: "Take the seat" }).click();
  await region("Your benefits").getByText("Ice news").waitFor();
  await page.getByText(`Signed in as ${email}`).waitFor();
  expect(await page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["Your benefits"]);
  // What is taken from them goes at once.
  const { seats } = await shop.accepted("GET", `/v1/customer-seats?subscription_id=${subscription_id}`);
  await shop.accepted("DELETE", `/v1/customer-seats/${(seats as { id: string }[])[0]?.id}`);
  await region("Your benefits").getByText("Ice news").waitFor({ state: "detached" });
});

test("an account is connected, seen with what it was given, and disconnected, by keyboard, on a telephone", async () => {
  const { shop, atlas, customer_id, link } = await subscriber();
  const { organization_id } = shop.seller;
  const { guild } = platforms.state;
  const guild_token = sealGuild(floe.deps.config.secret, { guild_id: guild.id, organization_id });
  const properties = { guild_token, role_id: "10" };
  const role = await shop.accepted("POST", "/v1/benefits/", { type: "discord", description: "The lounge", properties });
  await shop.accepted("POST", `/v1/products/${atlas}/benefits`, { benefits: [role.id] });
  await shop.subscribes(atlas, { checkout: { customer_id }, buyer: { customer_email: undefined } });
  await page.setViewportSize({ width: 320, height: 640 });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(link);
  await openSection("Your benefits");
  const benefits = region("Your benefits");
  await benefits.getByText("Connect your Discord account to get this.").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("connect");
  await benefits.getByRole("button", { name: "Connect Discord" }).press("Enter");
  await benefits.getByText("Your Discord account is connected.").waitFor();
  expect(page.url()).toMatch(/\/portal#benefits$/);
  await benefits.getByText("Discord is being told.").waitFor();
  await floe.runJobs();
  await benefits.getByText("Discord is being told.").waitFor({ state: "detached" });
  await benefits.getByText("Your account at Discord: nelly").waitFor();
  expect([...(guild.members.get(platforms.state.person.discord) ?? [])]).toEqual(["10"]);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`connected-${colorScheme}`);
  }
  await benefits.getByRole("button", { name: "Disconnect nelly (Discord)" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await picture("disconnect");
  await dialog.getByRole("button", { name: "Disconnect" }).press("Enter");
  await benefits.getByRole("button", { name: "Connect Discord" }).waitFor();
  await floe.runJobs();
  expect([...(guild.members.get(platforms.state.person.discord) ?? [])]).toEqual([]);
  await page.goto(`${page.url().replace("#benefits", "")}?error=access_denied`);
  await benefits.getByText("You did not allow it, so no account was connected.").waitFor();
});
