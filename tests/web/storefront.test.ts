import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Storefront } from "../../shared/api/storefront.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** What visitors see at the address of the server, who are nobody's. */

let browser: Browser;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  const [web, opened] = await Promise.all([buildWeb(), openChromium()]);
  browser = opened;
  floe = await start({ listen: true, web });
  seller = await floe.seller("ada");
});
afterAll(async () => {
  await closePages(browser);
  await floe?.close();
});

async function sell(name: string, fields: object = {}): Promise<{ id: string; url: string }> {
  const prices = [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }];
  const { id } = await seller.client.products.create({ body: { name, prices, ...fields } as never });
  const { url } = await seller.client.checkoutLinks.create({ body: { products: [id] } as never });
  return { id, url };
}
const show = (storefront_enabled: boolean, key = seller.key, id = seller.organization_id) =>
  floe.request("PATCH", `/v1/organizations/${id}`, { token: key, body: { feature_settings: { storefront_enabled } } });
const read = async (): Promise<Storefront> => (await floe.request("GET", "/v1/storefront")).json;

test("is empty until the seller switches it on, and then has the public products with their links alone", async () => {
  const guide = await sell("Field Guide to Ice", { description: "A **small** book." });
  await sell("For friends", { visibility: "private" });
  await sell("Not ready", { visibility: "draft" });
  const old = await sell("Out of print");
  await seller.client.products.update({ params: { id: old.id }, body: { is_archived: true } as never });
  const other = await floe.seller("bob");
  const front = () => floe.request("GET", "/", { headers: { accept: "text/html" } });
  expect(await read()).toEqual({ sellers: [] });
  expect((await front()).headers.location).toBe("/sign-in");
  expect((await show(true, other.key)).status).toBe(404);
  expect((await show(true, await floe.keyOf(seller, ["organizations:read"]))).status).toBe(403);
  expect((await show(true)).status).toBe(200);
  const { sellers } = await read();
  expect(sellers.map(({ products }) => products.map(({ name, url }) => [name, url]))).toEqual([
    [["Field Guide to Ice", guide.url]],
  ]);
  expect(JSON.stringify(sellers)).not.toMatch(/metadata|@example\.com|organization_id/);

  const page = await openPage(browser, [], { locale: "de-DE" });
  await page.setViewportSize({ width: 320, height: 640 });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(floe.url);
  const buy = page.getByRole("link", { name: "Kaufen Field Guide to Ice" });
  await buy.waitFor();
  expect(asked.filter((path) => path.startsWith("/v1/"))).toEqual([]);
  expect(await seriousFaults(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  if (process.env.FLOE_PICTURES) await page.screenshot({ path: `${process.env.FLOE_PICTURES}/storefront.png` });
  await buy.click();
  await page.waitForURL(/\/checkout\//);

  expect((await show(false)).status).toBe(200);
  expect((await front()).headers.location).toBe("/sign-in");
});
