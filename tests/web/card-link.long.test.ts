import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Floe, start } from "../support/floe.ts";
import { linkTo } from "../support/mails.ts";
import { cards, openShop } from "../support/story.ts";
import { buildWeb } from "./support/build.ts";
import { closePages, openChromium, openPage, seriousFaults } from "./support/chromium.ts";

/** What an address alone opens: another card, left by the link of a mail, and a seller's metrics. */

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

test("a server that can take no payment says so before anybody enters a card (ORG-05)", async () => {
  const { link } = await unpaid();
  floe.deps.config.test_cards = false;
  try {
    await page.goto(link);
    await page.getByText("This seller cannot take payments at the moment. Nothing is charged.").waitFor();
    expect(await page.getByLabel("Name on card").count()).toBe(0);
    expect(await seriousFaults(page)).toEqual([]);
  } finally {
    floe.deps.config.test_cards = true;
  }
});

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

test("what was left as a subscription ended is paid by the link, this once; read by everybody", async () => {
  const shop = await openShop(floe, "2027-06-01");
  const buyer = { customer_billing_address: { country: "ES" } };
  const id = await shop.subscribes(await shop.sells("Field Guide to Ice", 1000), { buyer });
  await shop.set("2027-06-16");
  const more = await shop.sells("Atlas of Ice", 3000);
  expect(await shop.changes(id, { product_id: more, proration_behavior: "prorate" })).toBe("done");
  const { customer } = await shop.get(id);
  expect(await shop.changes(id, { payment_method_id: await shop.leaves(customer.id, cards.failing) })).toBe("done");
  expect(await shop.changes(id, { revoke: true })).toBe("done");
  await shop.on("2027-06-16");
  const link = await linkTo(floe, customer.email ?? "", "/card/");
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(link);
    await page.getByLabel("Card number").waitFor();
    await page.getByText("The subscription has ended. It is not tried again by itself.").waitFor();
    await page.getByText("The card is charged this once, and not kept.").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`card-last-${colorScheme}`);
  }
  expect(await page.title()).toContain("Pay what is left");
  await type("5555555555554444");
  await page.getByRole("heading", { name: "Everything is paid" }).waitFor();
  await page.getByText("There is nothing more to do here.").waitFor();
  expect(await page.getByText("From now on").count()).toBe(0);
  await picture("card-last-paid");
  expect((await shop.orders(id)).at(-1)).toBe("2027-06-16 cycle 1000 paid");
});

test("a card that expires is replaced by the link of its mail, for nothing now; read by everybody; a link that is too old says so", async () => {
  const shop = await openShop(floe, "2027-01-04");
  const product = await shop.sells("Field Guide to Ice", 1900);
  const card = { number: "4242424242424242", exp_month: 3, exp_year: 2027, cvc: "123" };
  const { json } = await floe.request("POST", "/v1/payment-processor/test/confirmation-tokens", { body: { card } });
  const buyer = { customer_billing_address: { country: "ES" } };
  const id = await shop.subscribes(product, { card: (json as { id: string }).id, buyer });
  await shop.on("2027-03-01");
  const link = await linkTo(floe, (await shop.get(id)).customer.email ?? "", "/card/");
  const orders = (await shop.orders(id)).length;
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(link);
    await page.getByLabel("Card number").waitFor();
    await page.getByText("Your card Visa •••• 4242 expires at the end of March 2027.").waitFor();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`card-expiring-${colorScheme}`);
  }
  await type("4000000000000002");
  await page.getByText("Your card was declined.").waitFor();
  await picture("card-expiring-declined");
  await type("5555555555554444");
  await page.getByRole("heading", { name: "Your new card is kept" }).waitFor();
  await page.getByText("your card Mastercard •••• 4444 is charged").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("card-kept");
  expect(await shop.orders(id)).toHaveLength(orders);
  floe.clock.advance(31 * 24 * 3_600_000);
  await page.reload();
  await page.getByRole("heading", { name: "This link has expired" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await picture("card-expired");
  // Sessions of the other tests are of today.
  floe.clock.advance(-31 * 24 * 3_600_000);
});

test("a link that is cut leads nowhere, and says so", async () => {
  const { link } = await unpaid();
  await page.goto(link.slice(0, -8));
  await page.getByRole("heading", { name: "This link leads nowhere" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
});

/** A shop that has sold for some months, and the address at which its metrics are. */
async function measured() {
  const shop = await openShop(floe, "2027-03-05T09:00:00Z");
  const club = await shop.sells("Club of Ice", 1900);
  const atlas = await shop.sells("Atlas of Ice", 4900);
  await shop.subscribes(club);
  for (const day of ["2027-04-05", "2027-05-05", "2027-05-20"]) await shop.on(`${day}T09:30:00Z`);
  await shop.subscribes(atlas);
  for (const day of ["2027-06-05", "2027-06-10"]) await shop.on(`${day}T09:30:00Z`);
  const link = async () => String((await shop.accepted("POST", "/v1/metrics/links", {})).url);
  return { shop, atlas, link };
}
const figure = (name: string) => page.getByRole("figure", { name, exact: true });
const totalOf = async (name: string) => plain(await figure(name).locator(".total").textContent());
const plain = (text: string | null) => (text ?? "").replaceAll(/[\u00a0\u202f]/g, " ");
const drawn = (name = "Revenue") => figure(name).locator(".recharts-surface").waitFor();
const picture = async (name: string) => {
  if (process.env.FLOE_PICTURES)
    await page.screenshot({ path: `${process.env.FLOE_PICTURES}/${name}.png`, fullPage: true });
};

test("metrics are read by everybody, on any ground, on a telephone; nothing jumps, and the address keeps no secret", async () => {
  const { link } = await measured();
  await page.setViewportSize({ width: 320, height: 640 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto("about:blank");
    await page.goto(await link());
    await drawn();
    expect(await seriousFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
    await picture(`metrics-${colorScheme}`);
  }
  expect(page.url()).not.toContain("floe_mtr_");
  const jumps = () =>
    page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          new PerformanceObserver((list) =>
            resolve(list.getEntries().reduce((sum, entry) => sum + (entry as unknown as { value: number }).value, 0)),
          ).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => resolve(0), 200);
        }),
    );
  expect(await jumps()).toBeLessThan(0.02);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.reload();
  await drawn();
  expect(await jumps()).toBeLessThan(0.02);
  await picture("metrics-wide");
  await page.getByRole("button", { name: "Subscriptions" }).click();
  await drawn("Active Subscriptions");
  expect(await seriousFaults(page)).toEqual([]);
  await picture("metrics-subscriptions");
});

test("metrics are what the server says, of the interval, the days, the zone and the product that are chosen; by keys alone", async () => {
  const { shop, atlas, link } = await measured();
  // By the shop's own clock, thirty days up to today, which a sandbox may have moved.
  await page.goto(await link());
  await drawn();
  expect(await page.getByLabel("Last day").inputValue()).toBe("2027-06-10");
  expect([await totalOf("Revenue"), await totalOf("Cumulative Revenue")]).toEqual(["US$68.00", "US$125.00"]);
  // One renewal in the thirty days before.
  await figure("Revenue").getByText("+257.9% on the period before (US$19.00)").waitFor();
  await page.getByLabel("Interval").selectOption("month");
  await page.getByLabel("First day").fill("2027-03-01");
  await expect.poll(() => totalOf("Revenue")).toBe("US$125.00");
  const chart = figure("Revenue").locator(".recharts-surface");
  await expect
    .poll(async () => plain(await chart.getAttribute("aria-label")))
    .toMatch(/^Revenue from Mar(ch)? 2027 to June? 2027: between US\$19.00 and US\$68.00/);
  await chart.focus();
  for (const [key, said] of [
    ["ArrowRight", "Apr 2027"],
    ["ArrowRight", "May 2027US$68.00"],
    ["ArrowLeft", "Apr 2027US$19.00"],
  ] as const) {
    await page.keyboard.press(key);
    await expect.poll(async () => plain(await figure("Revenue").getByRole("status").textContent())).toContain(said);
  }
  // The same numbers in a table.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const rows = figure("Revenue").getByRole("row");
  await expect
    .poll(async () => (await rows.allTextContents()).map(plain))
    .toEqual([
      "BeginsThis periodPeriod before",
      expect.stringContaining("2027US$19.00US$0.00"),
      expect.stringContaining("2027US$19.00US$0.00"),
      expect.stringContaining("2027US$68.00US$0.00"),
      expect.stringContaining("2027US$19.00US$0.00"),
    ]);
  await page.getByLabel("Product").selectOption({ label: "Atlas of Ice" });
  await expect.poll(() => totalOf("Revenue")).toBe("US$49.00");
  await page.reload();
  await drawn();
  expect(await totalOf("Revenue")).toBe("US$49.00");
  expect(page.url()).toContain(`product_id=${atlas}`);
  // A day that is none, and a range that is too long, are said at the field, and nothing is asked.
  await page.getByLabel("Interval").selectOption("day");
  await page.getByLabel("First day").fill("2025-01-01");
  await page.getByText("With this interval, at most 367 days.").waitFor();
  await page.getByLabel("First day").fill("2027-06-11");
  await page.getByText("The last day comes before the first.").waitFor();
  expect(await totalOf("Revenue")).toBe("US$49.00");
  await page.getByLabel("First day").fill("2027-06-10");
  await expect.poll(() => totalOf("Revenue")).toBe("US$0.00");
  // What is drawn stays once the address has run out.
  floe.clock.advance(600_000);
  await page.getByRole("button", { name: "Orders" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("This address has run out").waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.reload();
  await page.getByRole("heading", { name: "No metrics to show" }).waitFor();
  expect((await shop.send("GET", "/v1/metrics/about")).status).toBe(200);
});

test("metrics speak the reader's language, and know their zone; without an address there are none", async () => {
  const { link } = await measured();
  await page.context().close();
  page = await openPage(browser, complaints, { locale: "de-DE", timezoneId: "Asia/Tokyo" });
  await page.goto(`${floe.url}/metrics`);
  await page.getByRole("heading", { name: "Keine Kennzahlen zu zeigen" }).waitFor();
  expect(await seriousFaults(page)).toEqual([]);
  await page.goto(`${await link()}&interval=month&start_date=2027-03-01`);
  await page.reload();
  await drawn("Umsatz");
  expect(await page.getAttribute("html", "lang")).toBe("de");
  expect([await totalOf("Umsatz"), await page.getByLabel("Zeitzone").inputValue()]).toEqual(["125,00 $", "Asia/Tokyo"]);
});
