import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { linkTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** Another card, left by the link of a mail, as its customer does it. */

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
  await browser?.close();
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

async function unpaid(locale = "en") {
  const shop = await openShop(floe, "2027-06-01T09:00:00Z");
  const product = await shop.sells("Field Guide to Ice", 1900, { trial_interval: "day", trial_interval_count: 2 });
  const buyer = { customer_billing_address: { country: "ES" }, locale };
  const id = await shop.subscribes(product, { card: cards.failing, buyer, checkout: { locale } });
  await shop.on("2027-06-03T09:00:00Z");
  return { shop, id, link: await linkTo(floe, (await shop.get(id)).customer.email ?? "", "/card/") };
}
/** Fill the form in by the keyboard alone, and send it. */
async function type(number: string) {
  await page.getByLabel("Name on card").focus();
  for (const [text, next] of [
    ["Ada", true],
    [number, true],
    ["12 / 40", true],
    ["123", false],
  ] as const) {
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type(text);
    if (next) await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
}

test("a card that is refused is told of, another one is charged at once; read by everybody, on any ground, on a telephone", async () => {
  const { shop, id, link } = await unpaid();
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(link);
    await page.getByLabel("Card number").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    if (process.env.FLOE_PICTURES)
      await page.screenshot({ path: `${process.env.FLOE_PICTURES}/card-${colorScheme}.png`, fullPage: true });
  }
  const shown = ((await page.locator("body").textContent()) ?? "").replaceAll(/[\u00a0\u202f]/g, " ");
  for (const words of [
    "Field Guide to Ice",
    "$19.00",
    "Visa •••• 0341",
    "It is tried again on June 5, 2027 at 09:00 AM UTC.",
    "for the last time by June 24, 2027 at 09:01 AM UTC",
  ])
    expect(shown).toContain(words);
  await page.getByRole("button", { name: "Pay $19.00" }).click();
  await page.getByText("Enter your name.").waitFor();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("name");
  await type("4000000000000002");
  await page.getByText("Your card was declined.").waitFor();
  expect((await shop.get(id)).status).toBe("past_due");
  await type("5555555555554444");
  await page.getByRole("heading", { name: "Everything is paid" }).waitFor();
  await page.getByText("your card Mastercard •••• 4444 is charged").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  expect((await shop.get(id)).status).toBe("active");
  await page.reload();
  await page.getByRole("heading", { name: "Everything is paid" }).waitFor();
});

test("a bank that asks: declined it can be tried again, approved it is paid; in the customer's language", async () => {
  const { shop, id, link } = await unpaid("de");
  await page.goto(link);
  await page.getByText("Mit einer anderen Karte bezahlen").first().waitFor();
  expect(await page.getAttribute("html", "lang")).toBe("de");
  const fill = async () => {
    await page.getByLabel("Name auf der Karte").fill("Ada");
    await page.getByLabel("Kartennummer").fill("4000 0000 0000 3220");
    await page.locator('[name="card_expiry"]').fill("12 / 40");
    await page.locator('[name="card_cvc"]').fill("123");
    await page.locator('button[type="submit"]').click();
  };
  await fill();
  await page.getByRole("dialog").getByRole("button").nth(1).click();
  await page.getByRole("alert").first().waitFor();
  expect((await shop.get(id)).status).toBe("past_due");
  await fill();
  // What the bank asks is asked again after the page was loaded anew.
  await page.getByRole("dialog").waitFor();
  await page.reload();
  await page.getByRole("dialog").getByRole("button").first().click();
  await page.getByRole("heading", { name: "Alles ist bezahlt" }).waitFor();
  expect((await shop.get(id)).status).toBe("active");
});

test("a link that is cut leads nowhere, and says so", async () => {
  const { link } = await unpaid();
  await page.goto(link.slice(0, -8));
  await page.getByRole("heading", { name: "This link leads nowhere" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});
