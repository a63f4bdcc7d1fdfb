import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The seller's start page, as a seller uses it. */

let browser: Browser;
let floe: Floe;
let page: Page;
let complaints: string[];
let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  const [web, opened] = await Promise.all([buildWeb(), openChromium()]);
  browser = opened;
  floe = await start({ listen: true, web });
  shop = await openShop(floe, "2027-06-10T09:00:00Z");
  const guide = await shop.sells("Field Guide to Ice", 1900);
  await shop.subscribes(guide, { buyer: { customer_email: "ada@example.com", customer_name: "Ada Lovelace" } });
  await shop.on("2027-06-12T09:00:00Z");
  await shop.subscribes(guide, { buyer: { customer_email: "bob@example.com" } });
  const calls = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] };
  await shop.accepted("POST", "/v1/meters/", { name: "Calls", filter: calls, aggregation: { func: "count" } });
  const [customer] = (await shop.seller.client.customers.list({ query: {} })).items;
  await shop.accepted("POST", "/v1/events/ingest", { events: [{ name: "call", customer_id: customer?.id }] });
  const hook = { url: "https://hooks.example.com/floe", format: "raw", events: ["order.paid"] };
  const { id } = await shop.accepted("POST", "/v1/webhooks/endpoints", hook);
  await shop.accepted("PATCH", `/v1/webhooks/endpoints/${id}`, { enabled: false });
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});
beforeEach(async () => {
  complaints = [];
  await openAs("en-GB");
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

async function openAs(locale: string): Promise<void> {
  await page?.context().close();
  page = await openPage(browser, complaints, {
    locale,
    timezoneId: "UTC",
    permissions: ["clipboard-write", "clipboard-read"],
  });
}
/** Sign in by the form, which leads to the start page. */
async function signIn({ email, password } = shop.seller): Promise<void> {
  await page.goto(`${floe.url}/sign-in`);
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${floe.url}/`);
}
const region = (name: string) => page.getByRole("region", { name });
const picture = async (name: string) => {
  if (process.env.FLOE_PICTURES)
    await page.screenshot({ path: `${process.env.FLOE_PICTURES}/home-${name}.png`, fullPage: true });
};
const isNarrow = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

test("a seller sees revenue, faults, the latest orders, renewals and usage after the sign-in, in one request", async () => {
  const asked: string[] = [];
  page.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
  await signIn();
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  expect(asked.filter((line) => line.includes("/v1/"))).toEqual(["GET /v1/overview"]);
  const figures = (await page.locator("dl").allTextContents()).join().replaceAll("\u00a0", " ");
  for (const amount of ["US$19.00", "US$38.00"]) expect(figures).toContain(amount);
  await page
    .getByRole("img", { name: /^Revenue this month, last 30 days: between US\$0.00 and US\$19.00 a day$/ })
    .waitFor();
  await region("Needs attention").getByText("Switched off: no events are sent.").waitFor();
  await region("Next renewals").getByText("10 July 2027").waitFor();
  await region("Usage in current periods").getByText("1 customer").waitFor();
  await region("Latest orders").getByRole("button", { name: "Copy floe orders list" }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("floe orders list");
  await picture("wide");
});

test("it is seen by everybody, on any ground, on a telephone, and in German", async () => {
  await openAs("de-DE");
  await page.setViewportSize({ width: 320, height: 640 });
  await signIn();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await region("Letzte Bestellungen").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await isNarrow()).toBe(true);
    await picture(`narrow-${colorScheme}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await picture("wide-dark");
  expect(await seriousFaults(page)).toEqual([]);
  expect(await page.locator("html").getAttribute("lang")).toBe("de");
});

test("it follows the store while it is open, and leads to the sign-in once the session has ended", async () => {
  await page.clock.install();
  await signIn();
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  const map = await shop.sells("Map of the Ice", 700);
  await shop.subscribes(map);
  await page.clock.runFor(16_000);
  await region("Latest orders").getByRole("cell", { name: "Map of the Ice" }).waitFor();
  await page.context().clearCookies();
  await page.clock.runFor(16_000);
  await expect(page.waitForURL(`${floe.url}/sign-in?next=%2F`)).resolves.toBeUndefined();
});

test("who belongs to several organizations chooses the one that is shown, and finds it again", async () => {
  const { session, organization_id } = shop.seller;
  const body = { name: "Second shop", slug: `second-${organization_id.slice(-8)}` };
  const made = await floe.request("POST", "/v1/organizations/", { token: session, body });
  expect(made.status, made.text).toBe(201);
  await signIn();
  const choice = page.getByLabel("Organization");
  await choice.selectOption({ label: "Second shop" });
  await page.getByRole("heading", { level: 1, name: "Second shop" }).waitFor();
  await region("Latest orders").getByText("No orders yet.").waitFor();
  await page.reload();
  await page.getByRole("heading", { level: 1, name: "Second shop" }).waitFor();
  await choice.selectOption(organization_id);
  await region("Latest orders").getByRole("cell", { name: "Ada Lovelace" }).waitFor();
  expect(await choice.inputValue()).toBe(organization_id);
});
