import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { linkTo, mailsTo } from "../support/mails.ts";
import { openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** The public page on which contracts are canceled without signing in. */

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
  page = await openPage(browser, complaints, { locale: "de-DE", timezoneId: "Europe/Berlin" });
});
afterEach(async () => {
  await page.context().close();
  expect(complaints).toEqual([]);
});

test("CUP-30, CUP-31: a buyer in Germany cancels by the mail of the order, without an account", async () => {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const product = await shop.sells("Feldführer", 1900);
  const buyer = { customer_billing_address: { country: "DE" }, locale: "de", withdrawal_consent: "2026-11" };
  const id = await shop.subscribes(product, { buyer, checkout: { locale: "de" } });
  const email = (await shop.get(id)).customer.email ?? "";
  await page.setViewportSize({ width: 320, height: 900 });
  await page.goto(await linkTo(floe, email, "/cancel?reference="));
  await page.getByRole("heading", { name: "Verträge hier kündigen" }).waitFor();
  const number = await page.getByLabel("Bestellnummer, Rechnungsnummer oder Produkt").inputValue();
  expect(number).toMatch(/-\d+$/);
  const axe = async () => {
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme });
      expect(await seriousFaults(page)).toEqual([]);
    }
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  };
  await axe();
  // What is missing is marked, and the keyboard goes to the first.
  await page.getByRole("button", { name: "Jetzt kündigen" }).click();
  expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).name)).toBe("name");
  await page.getByLabel("Ihr Name").fill("Ada Lovelace");
  await page.getByLabel("Adresse, mit der Sie bestellt haben").fill(email);
  await page.getByLabel("Art der Kündigung").selectOption("extraordinary");
  await page.getByLabel("Grund").fill("Es ging nie");
  await axe();
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Jetzt kündigen" }).press("Enter");
  await page.getByRole("heading", { name: "Ihre Kündigung ist eingegangen" }).waitFor();
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H1");
  await axe();
  expect((await shop.get(id)).cancel_at_period_end).toBe(false);

  const mail = (await mailsTo(floe, email)).find(({ text }) => text.includes("/cancel#token="));
  const link = /\S+\/cancel#token=\S+/.exec(mail?.text ?? "")?.[0] ?? "";
  await page.goto(link);
  await page.getByRole("button", { name: "Adresse bestätigen" }).waitFor();
  // Opening the link cancels nothing, and the token is out of the address.
  expect((await shop.get(id)).cancel_at_period_end).toBe(false);
  expect(page.url()).not.toContain("token");
  await axe();
  await page.getByRole("button", { name: "Adresse bestätigen" }).click();
  await page.getByRole("heading", { name: "Ihr Abonnement ist gekündigt" }).waitFor();
  expect((await shop.get(id)).cancel_at_period_end).toBe(true);
  await axe();
  await page.goto("about:blank");
  await page.goto(link);
  await page.getByRole("button", { name: "Adresse bestätigen" }).click();
  await page.getByRole("heading", { name: "Dieser Link gilt nicht mehr" }).waitFor();
  complaints = complaints.filter((line) => !line.includes("410"));
});

test("CUP-30: the page of a seller that does not exist says so", async () => {
  await page.goto(`${floe.url}/nobody-here/cancel`);
  await page.getByRole("heading", { name: "Diesen Verkäufer gibt es nicht" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  complaints = complaints.filter((line) => !line.includes("404"));
});
