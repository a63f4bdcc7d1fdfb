import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { sealGuild } from "../../server/platform/external/discord.ts";
import { type Floe, start } from "../support/floe.ts";
import { type Platforms, startPlatforms } from "../support/platforms.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The page after a payment: of a first purchase, and of a later one. */

let browser: Browser;
let floe: Floe;
let platforms: Platforms;
let page: Page;
let complaints: string[];
let shop: Awaited<ReturnType<typeof openShop>>;
let url: () => Promise<string>;
beforeAll(async () => {
  const [web, opened, services] = await Promise.all([buildWeb(), openChromium(), startPlatforms()]);
  [browser, platforms] = [opened, services];
  floe = await start({ listen: true, worker: true, web, settings: platforms.settings });
  shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const { organization_id } = shop.seller;
  const guild_token = sealGuild(floe.deps.config.secret, { guild_id: platforms.state.guild.id, organization_id });
  const benefits = await Promise.all(
    [
      {
        type: "license_keys",
        description: "The key",
        properties: { activations: { limit: 3, enable_customer_admin: true } },
      },
      { type: "discord", description: "The lounge", properties: { guild_token, role_id: "10" } },
    ].map((body) => shop.accepted("POST", "/v1/benefits/", body)),
  );
  const product = await shop.sells("Ice app", 1900, { recurring_interval: null });
  await shop.accepted("POST", `/v1/products/${product}/benefits`, { benefits: benefits.map(({ id }) => id) });
  url = async () => String((await shop.accepted("POST", "/v1/checkouts/", { products: [product] })).url);
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

/** Pay for the app, to the page that thanks for it. */
async function buy(email: string): Promise<void> {
  await page.goto(await url());
  await page.getByLabel(/^E.mail/).fill(email);
  await page.getByLabel("Name").fill("Ada Lovelace");
  await page.getByLabel("Country").selectOption("GB");
  const consent = page.getByLabel(/^I agree that delivery begins/);
  if (await consent.isVisible()) await consent.check();
  await page.getByLabel("Card number").fill("4242 4242 4242 4242");
  await page.getByLabel("Expiry date").fill("12 / 40");
  await page.getByLabel("Security code").fill("123");
  await page.getByRole("button", { name: "Pay US$19.00" }).click();
  await page.getByRole("heading", { name: "Thank you" }).waitFor();
}
const mine = () => page.getByRole("region", { name: "Your benefits" });
const told = () => page.getByText("What you bought is in your purchases.");

test("one button leads on, also beside an account to connect; in the portal connecting is what there is to do", async () => {
  await buy("ada@example.com");
  await mine().getByRole("button", { name: "Connect Discord" }).waitFor();
  await mine().getByRole("button", { name: "Copy" }).waitFor();
  expect(await page.locator(".button:not(.quiet)").allTextContents()).toEqual(["Open your purchases"]);
  expect(await told().count()).toBe(0);
  expect(await seriousFaults(page)).toEqual([]);
  await page.getByRole("link", { name: "Open your purchases" }).click();
  await page.getByRole("navigation").getByRole("link", { name: "Your benefits" }).click();
  await mine().getByRole("button", { name: "Connect Discord" }).waitFor();
  expect(await mine().locator(".button:not(.quiet)").allTextContents()).toEqual(["Connect Discord"]);
});

test("a later purchase is said to be in the portal, where each key says in how many places it is in use", async () => {
  await buy("bob@example.com");
  await mine().getByText("Used on 0 of 3 devices").waitFor();
  await buy("bob@example.com");
  await told().waitFor();
  expect(await mine().count()).toBe(0);
  expect(await seriousFaults(page)).toEqual([]);
  const [customer] = (await shop.seller.client.customers.list({ query: { email: "bob@example.com" } })).items;
  const session = await shop.accepted("POST", "/v1/customer-sessions/", { customer_id: customer?.id });
  await page.goto(String(session.customer_portal_url));
  await page.getByRole("navigation").getByRole("link", { name: "Your benefits" }).click();
  const keys = mine()
    .getByRole("listitem")
    .filter({ has: page.locator("code") })
    .filter({ hasNot: page.locator("h3") });
  await expect.poll(() => keys.count()).toBe(2);
  for (const key of await keys.all()) await key.getByText("Used on 0 of 3 devices").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});
