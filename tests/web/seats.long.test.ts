import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The buyer of seats assigns them: on the page that follows the payment, and later in the portal. */

let browser: Browser;
let floe: Floe;
let page: Page;
let complaints: string[];
beforeAll(async () => {
  const [web, opened] = await Promise.all([buildWeb(), openChromium()]);
  browser = opened;
  floe = await start({ listen: true, web });
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});
beforeEach(async () => {
  complaints = [];
  page = await openPage(browser, complaints, { locale: "en-GB", timezoneId: "UTC" });
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

const tiers = { seat_tier_type: "volume", tiers: [{ min_seats: 1, max_seats: null, price_per_seat: 900 }] };
const newAddress = (name: string): string => `${name}-${crypto.randomUUID().slice(0, 8)}@example.com`;
const picture = async (name: string) => {
  if (process.env.FLOE_PICTURES)
    await page.screenshot({ path: `${process.env.FLOE_PICTURES}/seats-${name}.png`, fullPage: true });
};

async function pay(url: string, email: string): Promise<void> {
  await page.goto(url);
  await page
    .getByLabel(/^E.mail/)
    .first()
    .fill(email);
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Country").selectOption("GB");
  const consent = page.getByLabel(/^I agree that delivery begins/);
  if (await consent.isVisible()) await consent.check();
  await page.getByLabel("Card number").fill("4242 4242 4242 4242");
  await page.getByLabel("Expiry date").fill("12 / 40");
  await page.getByLabel("Security code").fill("123");
  await page.getByRole("button", { name: /^(Pay|Subscribe)/ }).click();
  await page.getByRole("heading", { name: "Thank you" }).waitFor();
}
/** Invite a person in the list of seats. */
async function invite(email: string): Promise<void> {
  await page.getByLabel("Email address of a colleague").fill(email);
  await page.getByRole("button", { name: "Send an invitation" }).click();
  await page.getByText(`${email} Invited`).waitFor();
}

test.each([
  ["of a subscription", { recurring_interval: "month" }],
  ["of something that is bought once", { recurring_interval: null }],
])("seats %s are assigned after the payment and in the portal, and each opens what comes with it", async (_, terms) => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z", {});
  // Whether customers may change how many seats they have is another question.
  const { organization_id } = shop.seller;
  const { customer_portal_settings: own } = await shop.accepted("GET", `/v1/organizations/${organization_id}`);
  const { subscription, ...rest } = own as { subscription: object };
  await shop.accepted("PATCH", `/v1/organizations/${organization_id}`, {
    customer_portal_settings: { ...rest, subscription: { ...subscription, update_seats: false } },
  });
  const product = await shop.sells("Team of Ice", [{ amount_type: "seat_based", seat_tiers: tiers }], terms);
  const note = await shop.accepted("POST", "/v1/benefits/", { type: "custom", description: "Ice news" });
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: [note.id] });
  const { url } = await shop.accepted("POST", "/v1/checkouts/", { products: [product], seats: 2 });
  const [buyer, first, second] = [newAddress("buyer"), newAddress("first"), newAddress("second")];
  await page.setViewportSize({ width: 320, height: 640 });
  await pay(String(url), buyer);
  await page.getByText("2 of 2 free").waitFor();
  // Nobody has the benefits before a seat is claimed.
  expect(await page.getByText("is being prepared").count()).toBe(0);
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`bought-${terms.recurring_interval}-${colorScheme}`);
  }
  await invite(first);
  await page.getByText("1 of 2 free").waitFor();
  await floe.runJobs();
  expect((await mailsTo(floe, first)).map(({ subject }) => subject)).toEqual([
    expect.stringMatching(/^You have a seat of Team of Ice/),
  ]);

  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("link", { name: "Open your purchases" }).click();
  const place = page.getByRole("region", { name: terms.recurring_interval ? "Subscriptions" : "Orders" });
  await place.getByText(`${first} Invited`).waitFor();
  await invite(second);
  expect(await page.getByLabel("Email address of a colleague").count()).toBe(0);
  expect(await seriousFaults(page)).toEqual([]);
  await picture(`portal-${terms.recurring_interval}`);
  await page.getByRole("button", { name: `Take back the seat of ${second}` }).click();
  await place.getByText("1 of 2 free").waitFor();

  await floe.runJobs();
  await page.goto(await linkTo(floe, first, "/portal/claim"));
  await page.getByRole("button", { name: "Take the seat" }).click();
  await page.getByRole("region", { name: "Your benefits" }).getByText("Ice news").waitFor();
});

test("an order that was paid back has no seats to assign", async () => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z", {});
  const product = await shop.sells("Team of Ice", [{ amount_type: "seat_based", seat_tiers: tiers }], {
    recurring_interval: null,
  });
  const made = await shop.accepted("POST", "/v1/checkouts/", { products: [product], seats: 2 });
  await pay(String(made.url), newAddress("buyer"));
  await page.getByText("2 of 2 free").waitFor();
  const { items } = await shop.accepted("GET", `/v1/orders/?checkout_id=${made.id}`);
  const [order] = items as { id: string; net_amount: number }[];
  await shop.accepted("POST", "/v1/refunds/", {
    order_id: order?.id,
    amount: order?.net_amount,
    reason: "customer_request",
  });
  await floe.runJobs();
  await page.getByRole("link", { name: "Open your purchases" }).click();
  const orders = page.getByRole("region", { name: "Orders" });
  await orders.getByText("Team of Ice").waitFor();
  await orders.getByText("Refunded", { exact: true }).waitFor();
  expect(await orders.getByText("free").count()).toBe(0);
});
